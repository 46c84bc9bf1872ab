"""Tests the page of an evaluation in a real browser: its figures are those of summary.json, the answers of
a question can be opened side by side, and text of a model or user is not interpreted as HTML."""
import json
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import browser as web

METHODS = ("sample", "beam:beams=4:prune=2:block=8", "cbs:steer=0.7:beams=4:prune=2:block=8")
NASTY = "</script><b>bold</b><img src=x onerror=alert(1)> & \u2028 {}"


def sample(task, question, method, number):
    """A sample as the program writes it; which are correct follows a fixed pattern."""
    correct = (question + 2 * METHODS.index(method) + number) % 5 < 2
    return {"task": task, "id": f"{task}/{question}", "question": question, "method": method, "sample": number,
            "answer": f"{NASTY} answer {question} of {method}", "extracted": "<i>7</i>", "correct": correct,
            "correct_strict": correct and question != 3, "score": -0.25 * question, "truncated": question == 1,
            "answer_tokens": 20, "generated_tokens": 20 + 300 * METHODS.index(method),
            "scored_tokens": 400 * (METHODS.index(method) == 2), "prompt_tokens": 90, "cached_tokens": 10,
            "seconds": 0.5}


def percent(value):
    return f"{100 * value:.1f}"


class ReportPage(web.PageTest):
    @classmethod
    def setUpClass(cls):
        place = web.folder()
        rows = [sample(task, question, method, number) for task in ("tiny-math", "tiny-choice")
                for question in range(12) for method in METHODS for number in range(3)]
        rows[0]["trace"] = "traces/one.html"
        rows[-1]["answer"] = "begins " + "\u6f22" * 9000 + " ends"
        problems = [{"task": "tiny-math", "id": f"tiny-math/{number}", "question": f"Question {number}: {NASTY}",
                     "gold": f"<b>{number}</b>"} for number in range(12)]
        problems += [{"task": "tiny-choice", "id": f"tiny-choice/{number}", "gold": "B"} for number in range(12)]
        for name, lines in (("samples.jsonl", rows), ("problems.jsonl", problems)):
            (place / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        web.run("merge", str(place), "--out", str(place / "report"))
        cls.problems = problems
        cls.rows = rows
        cls.summary = json.loads((place / "report/summary.json").read_text())
        cls.url = (place / "report/report.html").as_uri()
        super().setUpClass()

    def table(self, identity):
        return self.page.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map(r => [...r.cells].map(c => c.textContent))",
            f"#{identity} tr")

    def question_rows(self):
        return self.page.find_elements(By.CSS_SELECTOR, "#questions tr.row")

    def test_grid_is_the_summary(self):
        head, *rows = self.table("grid")
        columns = self.summary["tasks"] + [self.summary["average"]]
        self.assertEqual(head, ["method"] + [task["task"] for task in columns])
        self.assertEqual([row[0] for row in rows], list(METHODS))
        for row in rows:
            for cell, task in zip(row[1:], columns):
                accuracy = next(m for m in task["methods"] if m["method"] == row[0])["accuracy"]
                self.assertEqual(cell, f"{percent(accuracy['mean'])} {percent(accuracy['low'])} to {percent(accuracy['high'])}")

    def test_pairs_costs_and_equal_compute_are_the_summary(self):
        columns = self.summary["tasks"] + [self.summary["average"]]
        self.assertEqual(len(self.table("pairs")) - 1, sum(len(task["pairs"]) for task in columns))
        expected = [[task["task"], row["method"], percent(row["accuracy"]),
                     percent(row["others"]) if "others" in row else "-"]
                    for task in columns for row in task["equal_compute"]]
        self.assertEqual([[r[0], r[1], r[3], r[4]] for r in self.table("equal")[1:]], expected)
        costs = self.table("costs")[1:]
        for row, method in zip(costs, [m for task in self.summary["tasks"] for m in task["methods"]]):
            self.assertEqual(row[1], method["method"])
            self.assertEqual(row[3], f"{method['generated_tokens']:.0f}")
            self.assertEqual(row[7], percent(method["truncated"]) + " %")

    def test_figures_are_drawn(self):
        titles = [f.text for f in self.page.find_elements(By.CSS_SELECTOR, "figcaption")]
        self.assertEqual(titles, ["pass@k: tiny-math", "pass@k: tiny-choice", "Accuracy against compute: average",
                                  "Tokens per sample: average"])
        self.assertEqual(len(self.page.find_elements(By.CSS_SELECTOR, "polyline")), 6)
        bad = self.page.execute_script(
            "return [...document.querySelectorAll('svg *')].filter(e => [...e.attributes].some(a => a.value.includes('NaN'))).length")
        self.assertEqual(bad, 0)

    def test_a_click_and_a_key_show_every_answer_side_by_side(self):
        first = self.question_rows()[0]
        first.click()
        answers = self.page.find_elements(By.CSS_SELECTOR, ".answer:not(.problem)")
        self.assertEqual(len(answers), 9)
        for method in METHODS:
            self.assertEqual(sum(a.find_element(By.TAG_NAME, "b").text.startswith(method) for a in answers), 3)
        tops = {a.rect["y"] for a in answers[:3]}
        self.assertEqual(len(tops), 1, "side by side")
        trace = self.page.find_element(By.LINK_TEXT, "trace").get_attribute("href")
        self.assertEqual(trace, self.url.replace("report/report.html", "traces/one.html"), "the page is where it was")
        first.send_keys(Keys.ENTER)
        self.assertEqual(self.page.find_elements(By.CSS_SELECTOR, ".answer"), [])

    def texts(self, selector):
        return [e.get_attribute("textContent") for e in self.page.find_elements(By.CSS_SELECTOR, selector)]

    def test_the_question_and_the_right_answer_stand_in_front(self):
        self.question_rows()[3].click()
        self.assertEqual(self.texts(".problem pre"), [self.problems[3]["question"], self.problems[3]["gold"]])
        box, answer = (self.page.find_element(By.CSS_SELECTOR, s).rect for s in (".problem", ".answer:not(.problem)"))
        self.assertLessEqual(box["y"] + box["height"], answer["y"])
        question, gold = (e.rect for e in self.page.find_elements(By.CSS_SELECTOR, ".problem pre"))
        self.assertGreater(gold["x"], question["x"] + question["width"], "side by side")

    def test_a_question_that_is_withheld_is_not_in_the_page(self):
        Select(self.page.find_element(By.ID, "task")).select_by_visible_text("tiny-choice")
        self.question_rows()[0].click()
        self.assertEqual(self.texts(".problem pre"), ["B"])
        self.assertIn("its authors ask not to publish it", self.page.find_element(By.CSS_SELECTOR, ".problem").text)

    def test_a_long_answer_is_clipped_to_its_head_and_tail(self):
        Select(self.page.find_element(By.ID, "task")).select_by_visible_text("tiny-choice")
        self.question_rows()[-1].click()
        last = self.texts(".answer:not(.problem) pre")[-1]
        self.assertTrue(last.startswith("begins \u6f22") and last.endswith("\u6f22 ends"))
        self.assertIn("bytes are left out here", last)
        self.assertNotIn("\ufffd", last)
        self.assertLess(len(last), 7000)

    def test_find_looks_into_the_question(self):
        self.page.find_element(By.ID, "find").send_keys("question 7:")
        self.assertEqual([r.find_element(By.TAG_NAME, "td").text for r in self.question_rows()], ["tiny-math/7"])

    def test_user_text_stays_text(self):
        self.question_rows()[0].click()
        self.assertEqual(self.page.find_element(By.CSS_SELECTOR, ".answer:not(.problem) pre").get_attribute("textContent"),
                         self.rows[0]["answer"])
        for selector in (".answer pre *", ".answer i", "img"):
            self.assertEqual(self.page.find_elements(By.CSS_SELECTOR, selector), [])

    def test_filters(self):
        self.assertEqual(len(self.question_rows()), 12)
        groups = {}
        for row in self.rows:
            if row["task"] == "tiny-math":
                groups.setdefault(row["id"], {}).setdefault(row["method"], []).append(row["correct"])
        Select(self.page.find_element(By.ID, "filter")).select_by_value("differ")
        differ = sum(len({sum(v) for v in methods.values()}) > 1 for methods in groups.values())
        self.assertEqual(len(self.question_rows()), differ)
        Select(self.page.find_element(By.ID, "filter")).select_by_value("all")
        self.page.find_element(By.ID, "find").send_keys("/11")
        self.assertEqual([r.find_element(By.TAG_NAME, "td").text for r in self.question_rows()], ["tiny-math/11"])
        Select(self.page.find_element(By.ID, "task")).select_by_visible_text("tiny-choice")
        self.assertEqual([r.find_element(By.TAG_NAME, "td").text for r in self.question_rows()], ["tiny-choice/11"])
        self.assertIn("1 of 12", self.page.find_element(By.ID, "count").text)

    def test_needs_no_network_and_says_nothing_wrong(self):
        self.question_rows()[0].click()
        self.assertEqual(web.complaints(self.page), [])
        self.assertEqual(self.page.execute_script("return performance.getEntriesByType('resource').length"), 0)

    def test_a_phone_in_the_dark_sees_no_sideways_scroll(self):
        light = self.page.execute_script("return getComputedStyle(document.body).backgroundColor")
        phone = web.open_browser(width=420, height=800, dark=True)
        try:
            phone.get(self.url)
            phone.execute_script("document.querySelector('#questions tr.row').click()")
            wide, seen = phone.execute_script(
                "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            self.assertLessEqual(wide, seen)
            for box in phone.find_elements(By.CSS_SELECTOR, ".answer"):
                self.assertLessEqual(box.rect["x"] + box.rect["width"], seen, "answers fit the screen")
            self.assertNotEqual(phone.execute_script("return getComputedStyle(document.body).backgroundColor"), light)
        finally:
            phone.quit()


class PublishedFigures(unittest.TestCase):
    def test_the_papers_figures_stand_beside_ours(self):
        place = web.folder()
        methods = ("cbs:steer=.7", "sample")
        rows = [{**sample("math500", question, METHODS[0], 0), "method": method, "correct": question < 3}
                for question in range(12) for method in methods]
        (place / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (place / "run.json").write_text(json.dumps({"model": "Qwen/Qwen2.5-7B", "seed": 0, "tasks": {}}))
        web.run("merge", str(place), "--out", str(place / "report"))
        page = web.open_browser()
        try:
            page.get((place / "report/report.html").as_uri())
            table = page.execute_script(
                "return [...document.querySelectorAll('#published tr')].map(r => [...r.cells].map(c => c.textContent))")
            self.assertEqual(table[0], ["the paper", "math500", "ours"])
            figures = {row[0]: row[1:] for row in table[1:]}
            self.assertEqual(len(figures), 7)
            self.assertEqual(figures["CBS 0.7"][0], "64.0")
            self.assertTrue(figures["CBS 0.7"][1].startswith("25.0 "))
            self.assertEqual(figures["beam search"], ["57.0", "-"])
            self.assertIn("Qwen2.5-7B", page.find_element(By.ID, "about").text)
            self.assertEqual(web.complaints(page), [])
        finally:
            page.quit()


if __name__ == "__main__":
    unittest.main(verbosity=2)
