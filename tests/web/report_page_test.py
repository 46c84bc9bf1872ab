"""Tests the page of an evaluation in a real browser: its figures are those of summary.json, filters show exactly the
questions they name, answers can be compared, and text of a model or user is never interpreted as HTML."""
import csv
import io
import json
import unittest
from xml.etree import ElementTree

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import browser as web
from report_data import NASTY, ReportTest, sample, write_report

METHODS = ("sample", "beam:beams=4:prune=2:block=8", "cbs:steer=0.7:beams=4:prune=2:block=8",
           "cbs:steer=0.7:contexts=neutral:beams=4:prune=2:block=8", "greedy-nothing")
SHORT = ["sample", "beam", "cbs", "cbs neutral", "greedy-nothing"]
MATH = "We add: $x^2 + \\frac{1}{2}$ and so \\boxed{\\sqrt{7}}. It costs $5 or $6."


def graded(task, question, method, number):
    """Which are correct follows a fixed pattern; the last method has nothing right."""
    index = METHODS.index(method)
    correct = index < 4 and (question + 2 * index + number) % 5 < 2
    return sample(task, question, method, number, correct, answer=f"{NASTY} answer {question} of {method}",
                  extracted="<i>7</i>", correct_strict=correct and question != 3, truncated=question == 1,
                  answer_tokens=20 + 3 * question, generated_tokens=20 + 300 * index, scored_tokens=400 * (index > 1))


def percent(value):
    return f"{100 * value:.1f}"


def signed(value):
    text = percent(abs(value))
    return text if text == "0.0" else ("+" if value > 0 else "\u2212") + text


class ReportPage(ReportTest):
    @classmethod
    def setUpClass(cls):
        rows = [graded(task, question, method, number) for task in ("tiny-math", "tiny-choice")
                for question in range(12) for method in METHODS for number in range(3)]
        rows[0]["trace"] = "traces/one.html"
        rows[1]["trace"] = "javascript:alert(1)"
        rows[-1]["answer"] = "begins " + "\u6f22" * 9000 + " ends"
        rows[45]["answer"] = MATH  # the first answer of tiny-math/3
        problems = [{"task": "tiny-math", "id": f"tiny-math/{number}", "question": f"Question {number}: {NASTY}",
                     "gold": f"<b>{number}</b>"} for number in range(12)]
        problems += [{"task": "tiny-choice", "id": f"tiny-choice/{number}", "gold": "B"} for number in range(12)]
        place = write_report(rows, problems)
        cls.problems, cls.rows = problems, rows
        cls.summary = json.loads((place / "summary.json").read_text())
        cls.columns = cls.summary["tasks"] + [cls.summary["average"]]
        cls.url = (place / "report.html").as_uri()
        super().setUpClass()

    def groups(self, task="tiny-math"):
        """The samples of a task by question and method."""
        groups = {}
        for row in self.rows:
            if row["task"] == task:
                groups.setdefault(row["id"], {}).setdefault(row["method"], []).append(row)
        return groups

    def test_the_header_says_what_was_run(self):
        about = self.page.find_element(By.ID, "about").text
        self.assertIn("tiny-math: 12 questions, tiny-choice: 12 questions; 5 methods; 360 samples", about)
        self.assertEqual(self.texts(".alarm"), [], "nothing failed")

    def test_names_show_what_differs_and_the_rest_on_hover(self):
        self.assertEqual(self.page.execute_script("return [...names.values()]"), SHORT)
        titles = self.page.execute_script("return [...document.querySelectorAll('#grid tbody th, #grid th[scope=row]')].map(e => e.title)")
        self.assertEqual(titles, list(METHODS))

    def test_short_names(self):
        for methods, expected in (
                (["cbs:steer=0.25", "cbs:steer=0.7", "beam"], ["cbs 0.25", "cbs 0.7", "beam"]),
                (["cbs:block=8", "cbs:block=16"], ["cbs block 8", "cbs block 16"]),
                (["cbs", "cbs:steer=0.7"], ["cbs", "cbs 0.7"]),
                (["beam:block=8", "cbs:steer=0.25:block=8", "cbs:steer=0.7:block=8"], ["beam", "cbs 0.25", "cbs 0.7"]),
                (["beam:block=8", "cbs:block=16"], ["beam block 8", "cbs block 16"]),
                (["sample", "beam:block=8"], ["sample", "beam block 8"]),
                (['cbs:positive="a: b":negative="c"', 'cbs:positive="d":negative="c"'], ["cbs positive a: b", "cbs positive d"]),
                (["a:x=" + "y" * 90 + "1", "a:x=" + "y" * 90 + "2"], None), (["", ":", "::"], None), (["a b", "a:b"], None)):
            names = self.page.execute_script("return [...short_names(arguments[0]).values()]", methods)
            self.assertEqual(len(set(names)), len(methods), names)
            if expected:
                self.assertEqual(names, expected)

    def test_forest_plots_and_the_table_are_the_summary(self):
        head, *rows = self.table("grid")
        self.assertEqual(head, ["method"] + [task["task"] for task in self.columns])
        self.assertEqual([row[0] for row in rows], SHORT)
        figures = self.page.execute_script(
            "return [...document.querySelectorAll('#forests svg')].map(s => [...s.querySelectorAll('.row')].map(r => [...r.querySelectorAll('text')].map(t => t.textContent)))")
        for index, task in enumerate(self.columns):
            for row, drawn, method in zip(rows, figures[index], task["methods"]):
                accuracy = {key: percent(value) for key, value in method["accuracy"].items()}
                self.assertEqual(row[index + 1], "{mean} {low} to {high}".format(**accuracy))
                self.assertEqual(drawn, [row[0], "{mean} ({low} to {high})".format(**accuracy)])
        self.choose("order", "accuracy")
        means = self.page.execute_script("return [...document.querySelectorAll('#forests svg')].map(s => [...s.querySelectorAll('.value')].map(t => parseFloat(t.textContent)))")
        for drawn, task in zip(means, self.columns):
            self.assertEqual(drawn, sorted(drawn, reverse=True))

    def best_group(self, task):
        able = [m for m in task["methods"] if m["accuracy"]["mean"] > 0]
        best = max(able, key=lambda m: m["accuracy"]["mean"])
        p = {frozenset((pair["a"], pair["b"])): pair["p"] for pair in task["pairs"]}
        return [m["method"] for m in able if m["accuracy"]["mean"] == best["accuracy"]["mean"] or
                p[frozenset((m["method"], best["method"]))] >= 0.05]

    def test_the_best_group_is_marked_and_nothing_right_is_never_best(self):
        for index, task in enumerate(self.columns):
            drawn = self.page.execute_script(
                "return [...document.querySelectorAll('#forests svg')[arguments[0]].querySelectorAll('.row.group title')].map(t => t.textContent)", index)
            self.assertEqual([text.rsplit(": ", 1)[0] for text in drawn], self.best_group(task))
        self.assertNotIn("greedy-nothing", self.best_group(self.columns[0]))
        hopeless = {"task": "t", "methods": [{"method": m, "accuracy": {"mean": 0}} for m in "ab"],
                    "pairs": [{"a": "a", "b": "b", "difference": 0, "p": 1}]}
        self.assertEqual(self.page.execute_script("return best_group(arguments[0]).size", hopeless), 0)

    def test_the_matrix_is_row_minus_column(self):
        for index, task in enumerate(self.columns):
            self.choose("detail-task", str(index))
            cells = self.table("matrix")
            kinds = self.page.execute_script("return [...document.querySelectorAll('#matrix tbody tr')].map(r => [...r.cells].map(c => c.className))")
            for pair in task["pairs"]:
                a, b = METHODS.index(pair["a"]), METHODS.index(pair["b"])
                self.assertEqual(cells[b + 1][a + 1], signed(pair["difference"]))
                self.assertEqual(cells[a + 1][b + 1], signed(-pair["difference"]))
                self.assertEqual(kinds[a][b + 1], "sure" if pair["p"] < 0.05 else "tie")

    def test_costs_samples_and_equal_compute_are_the_summary(self):
        for index, task in enumerate(self.columns):
            self.choose("detail-task", str(index))
            expected = [[percent(row["accuracy"]), percent(row["others"]) if "others" in row else "-"] for row in task["equal_compute"]]
            self.assertEqual([[r[2], r[3]] for r in self.table("equal")[1:]], expected)
            head, *costs = self.table("costs")
            timed = any(method.get("seconds") is not None for method in task["methods"])
            self.assertEqual("seconds" in head, timed)
            for row, method in zip(costs, task["methods"]):
                self.assertEqual(row[2], f"{method['generated_tokens']:,.0f}")
                self.assertEqual(row[head.index("truncated")], percent(method["truncated"]) + " %")
            for row, method in zip(self.table("pass")[1:], task["methods"]):
                self.assertEqual(row[1:], [percent(v) for v in method["pass_at"] + method["best_of"][1:]])

    def test_labels_of_charts_keep_apart(self):
        for width in (None, 390, 700):
            web.emulate(self.page, width)
            self.assertEqual(web.overlapping_labels(self.page), [], width)
        web.emulate(self.page)
        bad = "return [...document.querySelectorAll('svg *')].filter(e => [...e.attributes].some(a => /NaN|undefined/.test(a.value))).length"
        self.assertEqual(self.page.execute_script(bad), 0)

    def test_filters_show_exactly_what_they_name(self):
        groups = self.groups()
        share = lambda samples: sum(s["correct"] for s in samples) / len(samples)
        right = lambda q, method: share(groups[q][method]) > 0.5
        every = lambda q: [s for samples in groups[q].values() for s in samples]
        expected = {
            "all": lambda q: True,
            "differ": lambda q: len({share(s) for s in groups[q].values()}) > 1,
            "none": lambda q: not any(s["correct"] for s in every(q)),
            "some": lambda q: any(s["correct"] for s in every(q)),
            "every": lambda q: all(s["correct"] for s in every(q)),
            "truncated": lambda q: any(s["truncated"] for s in every(q)),
            "unparsed": lambda q: False,
            "failed": lambda q: False,
            "graders": lambda q: any(s["correct"] != s["correct_strict"] for s in every(q)),
        }
        offered = self.page.execute_script("return [...document.getElementById('filter').options].map(o => o.value)")
        self.assertEqual(offered, list(expected))
        for name, keep in expected.items():
            self.choose("filter", name)
            self.assertEqual(self.shown_ids(), [q for q in groups if keep(q)], name)
        self.choose("filter", "all")
        for a in METHODS[:4]:
            for b in METHODS:
                self.choose("right", a)
                self.choose("wrong", b)
                self.assertEqual(self.shown_ids(), [q for q in groups if right(q, a) and not right(q, b)], (a, b))
        self.page.find_element(By.ID, "swap").click()
        self.assertEqual(self.page.find_element(By.ID, "right").get_attribute("value"), METHODS[4])
        self.page.find_element(By.ID, "reset").click()
        self.page.find_element(By.ID, "find").send_keys("question 7:")
        self.assertEqual(self.shown_ids(), ["tiny-math/7"])
        self.choose("task", "tiny-choice")
        self.assertEqual(self.shown_ids(), [])
        self.page.find_element(By.ID, "find").clear()
        self.page.find_element(By.ID, "find").send_keys("/11")
        self.assertEqual(self.shown_ids(), ["tiny-choice/11"])
        self.assertIn("1 of 12", self.page.find_element(By.ID, "count").text)
        self.choose("task", "")
        self.assertEqual(self.shown_ids(), ["tiny-math/11", "tiny-choice/11"])

    def test_headings_sort(self):
        groups = self.groups()
        number = lambda q: int(q.rsplit("/", 1)[1])
        right = lambda q: sum(sum(s["correct"] for s in samples) > 1 for samples in groups[q].values())
        for order, key in (("right", right), ("tokens", number), ("length", lambda q: len(self.problems[number(q)]["question"])),
                           (METHODS[0], lambda q: sum(s["correct"] for s in groups[q][METHODS[0]]))):
            for down in (True, False):
                self.page.execute_script("[...document.querySelectorAll('#questions thead button')].find(b => b.dataset.order === arguments[0]).click()", order)
                self.assertEqual(self.shown_ids(), sorted(groups, key=lambda q: (-key(q) if down else key(q), number(q))), order)
                self.assertEqual(self.page.find_element(By.CSS_SELECTOR, "#questions th[aria-sort]").get_attribute("aria-sort"),
                                 "descending" if down else "ascending")

    def test_a_click_and_a_key_show_every_answer_side_by_side(self):
        first = self.question_rows()[0]
        first.click()
        answers = self.page.find_elements(By.CSS_SELECTOR, ".answer")
        self.assertEqual(len(answers), 15)
        self.assertEqual([a.find_element(By.TAG_NAME, "b").text for a in answers],
                         [f"{name} #{number}" for name in SHORT for number in (1, 2, 3)])
        self.assertEqual(len({a.rect["y"] for a in answers[:3]}), 1, "side by side")
        links = self.page.find_elements(By.LINK_TEXT, "trace")
        self.assertEqual([e.get_attribute("href") for e in links], [self.url.replace("report/report.html", "traces/one.html")],
                         "the page is where it was, and no script is a trace")
        first.send_keys(Keys.ENTER)
        self.assertEqual(self.page.find_elements(By.CSS_SELECTOR, ".answer"), [])

    def test_the_question_and_the_right_answer_stand_in_front(self):
        self.open_row(3)
        self.assertEqual(self.texts(".problem .text"), [self.problems[3]["question"], self.problems[3]["gold"]])
        question, gold = (e.rect for e in self.page.find_elements(By.CSS_SELECTOR, ".problem .text"))
        self.assertGreater(gold["x"], question["x"] + question["width"], "side by side")
        self.choose("task", "tiny-choice")
        self.open_row(0)
        self.assertEqual(self.texts(".problem .text"), ["B"])
        self.assertIn("its authors ask not to publish it", self.page.find_element(By.CSS_SELECTOR, ".problem").text)

    def test_a_long_answer_is_clipped_to_its_head_and_tail(self):
        self.choose("task", "tiny-choice")
        self.open_row(11)
        last = self.texts(".answer .text")[-1]
        self.assertTrue(last.startswith("begins \u6f22") and last.endswith("\u6f22 ends"))
        self.assertIn("bytes are left out here", last)
        self.assertNotIn("\ufffd", last)
        self.assertLess(len(last), 7000)

    def test_formulas_are_drawn_and_the_raw_text_is_one_click_away(self):
        self.open_row(3)
        answer = self.page.find_element(By.CSS_SELECTOR, ".answer .text")
        self.assertEqual(len(answer.find_elements(By.CSS_SELECTOR, "math")), 2)
        self.assertEqual(len(answer.find_elements(By.CSS_SELECTOR, "math mfrac, math msup, math .boxed msqrt")), 3)
        self.assertIn("It costs $5 or $6.", answer.get_attribute("textContent"))
        self.click(".raw-toggle")
        self.assertEqual(self.texts(".answer .text")[0], MATH)

    def test_two_answers_are_compared_word_by_word(self):
        self.open_row(3)
        one, two = self.page.find_elements(By.CSS_SELECTOR, "select.chosen")
        Select(one).select_by_index(1)
        Select(two).select_by_index(4)
        sides = self.page.execute_script("return [...document.querySelectorAll('.side .text')].map(e => [e.textContent, [...e.querySelectorAll('.other')].map(o => o.textContent)])")
        self.assertEqual([side[0] for side in sides], [self.rows[46]["answer"], self.rows[49]["answer"]])
        self.assertEqual(sides[0][1], ["sample"])
        self.assertEqual("".join(sides[1][1]), METHODS[1])
        common = self.page.execute_script("return differing_ranges('a b c d e', 'a x c d')")
        self.assertEqual(common, [[[2, 3], [7, 9]], [[2, 3]]])
        whole = self.page.execute_script("return differing_ranges('word '.repeat(40000), 'other '.repeat(40000)).map(r => r.length)")
        self.assertEqual(whole, [1, 1], "texts too long to compare word by word")

    def test_user_text_stays_text(self):
        self.open_row(0)
        for raw in (False, True):
            if raw:
                self.click(".raw-toggle")
            self.assertEqual(self.texts(".answer .text")[0], self.rows[0]["answer"])
            for selector in (".opened img", ".opened i", ".answer .text b", ".answer .text *", "img", "body > b"):
                self.assertEqual(self.texts(selector), [], selector)
        self.assertEqual(self.page.execute_script("return document.scripts.length"), 4, "data, questions, one piece of answers, code")

    def test_exports_are_complete_and_parse(self):
        place = web.folder()
        get = lambda selector: web.download(self.page, lambda: self.click(selector), place)
        table = list(csv.DictReader(io.StringIO(get("#summary-csv").read_text())))
        self.assertEqual([(r["task"], r["method"]) for r in table], [(t["task"], m["method"]) for t in self.columns for m in t["methods"]])
        self.assertEqual([float(r["accuracy"]) for r in table], [m["accuracy"]["mean"] for t in self.columns for m in t["methods"]])
        self.assertEqual([float(r["pass@3"]) for r in table], [m["pass_at"][2] for t in self.columns for m in t["methods"]])
        pairs = list(csv.DictReader(io.StringIO(get("#differences-csv").read_text())))
        self.assertEqual([float(r["p"]) for r in pairs], [p["p"] for t in self.columns for p in t["pairs"]])
        self.choose("filter", "truncated")
        rows = list(csv.DictReader(io.StringIO(get("#questions-csv").read_text())))
        mine = [r for r in self.rows if r["task"] == "tiny-math" and r["question"] == 1]
        self.assertEqual([(r["method"], r["extracted"], r["gold"]) for r in rows], [(r["method"], r["extracted"], "<b>1</b>") for r in mine])
        found = json.loads(get("#questions-json").read_text())
        self.assertEqual([s["answer"] for s in found[0]["samples"]], [r["answer"] for r in mine])
        for number in range(len(self.page.find_elements(By.CSS_SELECTOR, "figure"))):
            drawing = ElementTree.fromstring(web.download(self.page, lambda: self.page.execute_script(
                "document.querySelectorAll('figure figcaption button')[arguments[0]].click()", number), place).read_text())
            self.assertEqual(drawing.tag, "{http://www.w3.org/2000/svg}svg")
            self.assertGreaterEqual(len(list(drawing.iter("{http://www.w3.org/2000/svg}text"))), len(METHODS))
            self.assertNotIn("var(", ElementTree.tostring(drawing, encoding="unicode"))

    def test_needs_no_network_and_says_nothing_wrong(self):
        self.open_row(0)
        self.assertEqual(web.complaints(self.page), [])
        self.assertEqual(self.page.execute_script("return performance.getEntriesByType('resource').length"), 0)

    def test_reads_in_light_and_dark_and_on_a_phone(self):
        for width in (None, 390):
            for dark in (False, True):
                web.emulate(self.page, width, dark)
                self.page.get(self.url)
                self.page.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
                self.open_row(3)
                ground = self.page.execute_script("return getComputedStyle(document.body).backgroundColor")
                self.assertEqual(ground, "rgb(21, 24, 28)" if dark else "rgb(251, 251, 249)")
                self.assertEqual(web.low_contrast(self.page), [], (width, dark))
                wide, seen = self.page.execute_script("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
                self.assertLessEqual(wide, seen)
                for box in self.page.find_elements(By.CSS_SELECTOR, ".answer, .problem, .compare"):
                    self.assertLessEqual(box.rect["x"] + box.rect["width"], seen, "fits the screen")
        web.emulate(self.page)

    def test_controls_have_names(self):
        self.open_row(0)
        nameless = self.page.execute_script("""return [...document.querySelectorAll('button, select, input, svg')].filter(
            e => !(e.getAttribute('aria-label') || e.textContent.trim() && e.localName === 'button' || (e.labels || []).length)).map(e => e.outerHTML)""")
        self.assertEqual(nameless, [])


class RealRun(ReportTest):
    """A run of a shipped model, so that run.json is what the program writes."""

    @classmethod
    def setUpClass(cls):
        place = web.folder() / "run"
        web.run("eval", "--task", "tiny-math", "--limit", "2", "--methods", "sample,cbs:beams=4:prune=2", "--prompt", f"{NASTY} {{problem}}",
                "--out", str(place), "--quiet")
        cls.run_file = json.loads((place / "run.json").read_text())
        cls.url = (place / "report.html").as_uri()
        super().setUpClass()

    def test_the_header_says_where_the_results_come_from(self):
        chips = self.texts(".chips li")
        session = (self.run_file.get("sessions") or [{}])[-1]
        for name, value in (("model", self.run_file["model"]), ("seed", self.run_file["seed"]), ("dtype", self.run_file.get("dtype")),
                            ("device", self.run_file.get("device")), ("weights", self.run_file.get("fingerprint", {}).get("weights", "")[:12]),
                            ("version", session.get("version")), ("date", session.get("started"))):
            if value not in (None, ""):
                self.assertIn(f"{name}{value}", chips)
        facts = dict(zip(self.texts(".facts dt"), self.texts(".facts dd")))
        self.assertEqual(facts["tasks.tiny-math.digest"], self.run_file["tasks"]["tiny-math"]["digest"])
        if "command" in session:
            self.assertEqual(facts[f"sessions.{len(self.run_file['sessions'])}.command"], session["command"])
        self.assertEqual(self.page.find_elements(By.CSS_SELECTOR, "img, header b > b"), [])
        self.assertEqual(web.complaints(self.page), [])


class Failures(ReportTest):
    @classmethod
    def setUpClass(cls):
        rows = [sample("tiny-math", question, method, 0, question % 2 == 0, answer="\\boxed{7}") for question in range(6) for method in ("sample", "beam")]
        for row in rows:
            if row["method"] == "beam" and row["question"] < 2:
                row.update(error=f"the prompt of <b>{5000 + row['question']}</b> tokens is too long", answer="", extracted="", correct=False, correct_strict=False)
        place = write_report(rows, [])
        cls.summary = json.loads((place / "summary.json").read_text())
        cls.url = (place / "report.html").as_uri()
        super().setUpClass()

    def test_failures_stand_in_a_banner_and_can_be_shown(self):
        self.assertEqual(sum(failure["samples"] for failure in self.summary["failures"]), 2)
        banner = self.page.find_element(By.CSS_SELECTOR, ".alarm").text
        self.assertIn("2 samples of 12 failed", banner)
        self.assertIn("<b>5000</b> tokens is too long", banner)
        self.click(".alarm button")
        self.assertEqual(self.shown_ids(), ["tiny-math/0", "tiny-math/1"])
        self.assertEqual(self.texts("#questions .failed"), ["!", "!"])
        self.choose("filter", "all")
        self.choose("wrong", "beam")
        self.assertEqual(self.shown_ids(), ["tiny-math/3", "tiny-math/5"], "what failed is not wrong")
        self.assertEqual(web.complaints(self.page), [])


class DamagedWeights(ReportTest):
    @classmethod
    def setUpClass(cls):
        rows = [sample("tiny-math", question, "sample", 0, question < 3) for question in range(6)]
        weight = "tensor <b>x</b>, element 1 of 4, is inf"
        cls.url = (write_report(rows, [], {"model": "mine", "seed": 0, "damaged_weights": weight}) / "report.html").as_uri()
        super().setUpClass()

    def test_a_banner_names_the_weight(self):
        banner = self.page.find_element(By.CSS_SELECTOR, ".alarm").text
        self.assertIn("The weights of the model are damaged. tensor <b>x</b>, element 1 of 4, is inf", banner)
        self.assertEqual(web.complaints(self.page), [])


class PublishedFigures(ReportTest):
    @classmethod
    def setUpClass(cls):
        rows = [sample("math500", question, method, 0, question < 3) for question in range(12) for method in ("cbs:steer=.7", "sample")]
        cls.url = (write_report(rows, [], {"model": "Qwen/Qwen2.5-7B", "seed": 0}) / "report.html").as_uri()
        super().setUpClass()

    def test_the_papers_figures_stand_beside_ours(self):
        table = self.table("published")
        self.assertEqual(table[0], ["the paper", "math500", "ours"])
        figures = {row[0]: row[1:] for row in table[1:]}
        self.assertEqual(len(figures), 7)
        self.assertEqual(figures["CBS 0.7"][0], "64.0")
        self.assertTrue(figures["CBS 0.7"][1].startswith("25.0 "))
        self.assertEqual(figures["beam search"], ["57.0", "-"])
        self.assertIn("Qwen2.5-7B", self.page.find_element(By.ID, "title").text)
        self.assertIn("the paper: 64.0", self.texts("#forests svg path.paper title"))
        self.assertEqual(web.overlapping_labels(self.page), [])
        self.assertEqual(web.complaints(self.page), [])


class PageWithRewards(ReportTest):
    """Answers whose tokens have rewards, with characters of one to four bytes, and one that is too long to be shown."""
    TOKENS = [("So ", 1.5), ("", 0.0), ("\u00e9 ", -2.0), ("\U0001f600 ", 0.25), ("\u6f22", -0.01), (" <b>", 3.0), ("\\boxed{7}", 0.0)]
    LONG = [("\u6f22x ", 0.01 * (number % 300 - 150)) for number in range(3000)]

    @classmethod
    def rewarded(cls, question, method, tokens, correct):
        answer = "".join(text for text, _ in tokens)
        return sample("math500", question, method, 0, correct, answer=answer, token_bytes=[len(text.encode()) for text, _ in tokens],
                      token_rewards=[round(100 * reward) for _, reward in tokens])

    @classmethod
    def setUpClass(cls):
        other = cls.TOKENS[:3] + [("then ", 1.0)] + cls.TOKENS[4:]
        again = [(text, -reward) for text, reward in cls.TOKENS]  # the same answer under other contexts
        rows = [cls.rewarded(0, "cbs", cls.TOKENS, True), cls.rewarded(0, "cbs:contexts=detail", again, True),
                cls.rewarded(0, "cbs:steer=0.7", other, False), sample("math500", 0, "beam", 0, False, answer="So no."),
                cls.rewarded(1, "cbs", cls.LONG, True), sample("math500", 1, "beam", 0, False, answer="So no.")]
        cls.url = (write_report(rows, []) / "report.html").as_uri()
        super().setUpClass()

    def setUp(self):
        self.page.get(self.url)

    def spans(self, selector):
        """The text and reward of every coloured span."""
        found = self.page.execute_script("return [...document.querySelectorAll(arguments[0] + ' span')].map(e => [e.textContent, e.title])", selector)
        return [(text, float(title.removeprefix("reward ").replace("\u2212", "-")) if title else None) for text, title in found]

    @staticmethod
    def shown(tokens):
        return [(text, reward) for text, reward in tokens if text]

    def test_the_comparison_colours_tokens_and_marks_differences(self):
        self.open_row(0)
        boxes = self.texts(".sides .side b")
        self.assertEqual(len(boxes), 2)
        for number in range(2):
            Select(self.page.find_elements(By.CSS_SELECTOR, "select.chosen")[number]).select_by_value(str(number))
        for number, tokens in enumerate((self.TOKENS, [(text, -reward) for text, reward in self.TOKENS])):
            self.assertEqual(self.spans(f".side:nth-child({number + 1}) .rewarded"), self.shown(tokens))
        self.assertEqual(self.texts(".sides .other"), [], "the same answer twice")
        Select(self.page.find_elements(By.CSS_SELECTOR, "select.chosen")[1]).select_by_value("2")
        self.assertEqual("".join(self.texts(".side:nth-child(1) .other")).strip(), "\U0001f600")
        self.assertEqual("".join(self.texts(".side:nth-child(2) .other")).strip(), "then")
        colours = self.page.execute_script("return [...document.querySelectorAll('.side:nth-child(1) .rewarded span')].map(e => getComputedStyle(e).backgroundColor)")
        self.assertGreater(len(set(colours)), 3, "by sign and size")
        Select(self.page.find_elements(By.CSS_SELECTOR, "select.chosen")[1]).select_by_value("3")
        self.assertEqual(self.texts(".side:nth-child(2) .text"), ["So no."])
        self.assertEqual(self.texts(".scale"), ["reward \u22122+2"])
        self.assertEqual(web.complaints(self.page), [])

    def test_answers_show_rewards_when_asked(self):
        self.open_row(0)
        self.assertEqual(self.texts(".answer .rewarded"), [])
        self.click(".reward-toggle")
        self.assertEqual(self.spans(".answer:nth-child(1) .rewarded"), self.shown(self.TOKENS))
        self.assertEqual(len(self.texts(".answer .rewarded")), 3, "beam has none")
        for dark in (False, True):
            web.emulate(self.page, dark=dark)
            self.assertEqual(web.low_contrast(self.page), [], "dark" if dark else "light")
        web.emulate(self.page)
        self.click(".reward-toggle")
        self.assertEqual(self.texts(".answer .rewarded"), [])

    def test_a_shortened_answer_keeps_the_rewards_of_what_is_shown(self):
        self.open_row(1)
        self.click(".reward-toggle")
        spans = self.spans(".answer:nth-child(1) .rewarded")
        gaps = [i for i, (text, reward) in enumerate(spans) if reward is None]
        self.assertEqual(len(gaps), 1)
        self.assertIn("bytes are left out here", spans[gaps[0]][0])
        self.assertEqual([text for text, _ in spans[:gaps[0] - 1]], [text for text, _ in self.LONG[:gaps[0] - 1]])
        tail = len(spans) - gaps[0] - 2
        for (text, reward), (was, kept) in zip(spans[-tail:], self.LONG[-tail:], strict=True):
            self.assertEqual(text, was)
            self.assertAlmostEqual(reward, kept, places=2)
        self.assertEqual("".join(text for text, _ in spans), self.page.execute_script("return answers_of(questions[1])[0].text"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
