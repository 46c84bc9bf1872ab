"""Tests the page of `report` in a real browser: its figures are those of report.json, filters show exactly what they name,
labels of figures keep apart, and text of a user or model is never interpreted as HTML."""
import csv
import io
import json
import unittest
from decimal import ROUND_HALF_UP, Decimal
from xml.etree import ElementTree

from selenium.webdriver.common.by import By

import browser as web
from report_data import NASTY, ReportTest, sample

MODELS = ("Qwen/Qwen2.5-7B", "tiny-dense")
PAIRS = ("reasoning", "completeness", "step-verification", "reliability", "logical-validity", "reviewer", "coherence", "decomposition",
         "detail", "self-correction")
EXPERIMENTS = {
    "table1": ["sample", "low-temperature", "beam", "power:temperature=0.25", "power:temperature=1", "cbs:steer=0.25", "cbs:steer=0.7"],
    "contexts": ["cbs:contexts=none", "cbs:steer=0.25:contexts=neutral", "cbs:steer=0.7:contexts=neutral", "cbs:steer=0.25", "cbs:steer=0.7"],
    "pairs": ["beam", "best-of-n"] + [f"best-of-n:steer={steer}:contexts={pair}" for pair in PAIRS for steer in ("0.25", "0.7")],
    "population": ["beam", "beam:beams=24", "cbs:steer=0.25", "cbs:steer=0.7"],
    "block-size": [f"cbs:block={block}" for block in (8, 16, 32, 64, 128)],
    "pass-at-k": ["beam", "power:temperature=0.25", "cbs:steer=0.25", "cbs:steer=0.7"],
    "efficiency": ["sample", "low-temperature", "beam", "beam:beams=24", "cbs:steer=0.25", "cbs:steer=0.7"],
    "": [f'cbs:positive="{NASTY}":negative="b, c"'],
}
TASKS = ("math500", "gpqa")


def write_run(place, model, experiment, methods, digest="d"):
    """A run of 20 questions per task; which answers are right follows a fixed pattern."""
    place.mkdir(parents=True)
    rows = []
    for task in TASKS:
        for question in range(20):
            for number, method in enumerate(methods):
                for k in range(4 if experiment == "pass-at-k" else 1):
                    seed = sum(map(ord, method)) + 7 * question + 3 * k + 5 * MODELS.index(model) + len(task)
                    rows.append(sample(task, question, method, k, seed % 11 < 4 + number % 3, generated_tokens=100 * (1 + number) + seed % 50,
                                       seconds=0.2 * (1 + number), **({"alone": True} if experiment == "efficiency" else {})))
    (place / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (place / "run.json").write_text(json.dumps({
        "experiment": experiment, "model": model, "dtype": "bf16", "device": "cpu", "seed": 0, "fingerprint": {"weights": model},
        "tasks": {task: {"problems": 20, "digest": digest + task, "grader": "math", "extract": "strict"} for task in TASKS}}))
    return rows


def percent(value):
    """As the page rounds: half away from zero, on the shortest decimal."""
    return str(Decimal(repr(100 * value)).quantize(Decimal("0.1"), ROUND_HALF_UP))


class ComparisonPage(ReportTest):
    @classmethod
    def setUpClass(cls):
        place = web.folder()
        for model in MODELS:
            for experiment, methods in EXPERIMENTS.items():
                write_run(place / "runs" / model.split("/")[-1] / (experiment or "own"), model, experiment, methods)
        (place / "runs/tiny-dense/own/report.html").write_text("<title>a report</title>")
        web.run("report", str(place / "runs"), "--out", str(place / "report"))
        cls.place = place / "report"
        cls.report = json.loads((cls.place / "report.json").read_text())
        cls.url = (cls.place / "index.html").as_uri()
        super().setUpClass()

    def column(self, label, task, experiment=""):
        sets = self.report["experiments"] if experiment else self.report["models"]
        one = next(s for s in sets if s.get("label", s.get("model")) == label and s.get("experiment", "") == experiment)
        tasks = one["summary"]["tasks"] + ([one["summary"]["average"]] if "average" in one["summary"] else [])
        return {m["method"]: m for t in tasks if t["task"] == task for m in t["methods"]}

    def accuracy_cells(self):
        return self.page.execute_script("""return [...document.querySelectorAll('#accuracy-table tbody tr')].map(r =>
            [r.cells[0].title, ...[...r.cells].slice(1).map(c => c.firstChild.textContent)])""")

    def test_the_table_is_the_report(self):
        heads = self.texts("#accuracy-table thead tr:first-child th")
        self.assertEqual(heads, ["method", *MODELS])
        tasks = self.texts("#accuracy-table thead tr:last-child th")
        self.assertEqual(tasks, [*TASKS, "average"] * 2)
        rows = self.accuracy_cells()
        self.assertEqual(len(rows), len(self.column(MODELS[0], "math500")))
        self.assertEqual(len(rows), len({m for methods in EXPERIMENTS.values() for m in methods}) - 1, "cbs:block=32 is cbs:steer=0.25")
        for method, *cells in rows:
            for cell, (model, task) in zip(cells, [(m, t) for m in MODELS for t in (*TASKS, "average")]):
                found = self.column(model, task).get(method)
                self.assertEqual(cell, percent(found["accuracy"]["mean"]) if found else "-", (method, model, task))

    def test_filters_show_what_they_name(self):
        self.choose("experiment", "population")
        self.assertEqual([row[0] for row in self.accuracy_cells()], EXPERIMENTS["population"])
        self.choose("model", "tiny-dense")
        self.choose("task", "gpqa")
        self.assertEqual(self.texts("#accuracy-table thead th"), ["method", "tiny-dense", "gpqa"])
        for method, cell in self.accuracy_cells():
            self.assertEqual(cell, percent(self.column("tiny-dense", "gpqa", "population")[method]["accuracy"]["mean"]))
        self.page.find_element(By.ID, "find").send_keys("beams 24")
        self.assertEqual([row[0] for row in self.accuracy_cells()], ["beam:beams=24"])
        self.assertEqual(self.page.find_element(By.ID, "count").text, "1 of 4 methods")
        self.click("#reset")
        self.assertGreater(len(self.accuracy_cells()), 30)

    def test_the_papers_figures_stand_beside_ours(self):
        rows = self.table("published")[1:]
        self.assertEqual({row[0] for row in rows}, {"Qwen/Qwen2.5-7B"})
        self.assertIn(["table1", "math500", "CBS 0.7", "64.0"], [row[1:5] for row in rows])
        self.assertIn(["population", "math500", "beam search, N = 24", "60.0"], [row[1:5] for row in rows])
        wide = next(row for row in rows if row[3] == "beam search, N = 24" and row[1] == "population")
        ours = self.column("Qwen/Qwen2.5-7B", "math500", "population")["beam:beams=24"]["accuracy"]["mean"]
        self.assertTrue(wide[5].startswith(percent(ours)))
        self.assertIn("paper 57.0", self.texts("#accuracy-table small.published"))
        self.assertTrue(any("CBS lies above power sampling" in note for note in self.texts("#published-notes p")))

    def test_models_are_compared_by_method(self):
        for task in (*TASKS, "average"):
            self.choose("between-task", task)
            head, *rows = self.table("between")
            self.assertEqual(head, ["method", "tiny-dense \u2212 Qwen/Qwen2.5-7B"])
            pairs = [p for p in self.report["between_models"] if p["task"] == task]
            self.assertEqual(len(rows), len(pairs))
            for row, pair in zip(rows, pairs):
                self.assertTrue(row[1].replace("\u2212", "-").replace("+", "").startswith(percent(pair["difference"]).replace("-0.0", "0.0")), (row, pair))

    def test_every_experiment_of_every_model_has_its_figures(self):
        self.assertEqual(len(self.texts("#given-figures figcaption span")), 2 * len(MODELS), "those of the first experiment")
        self.choose("figure-experiment", "*")
        shown = self.texts("#given-figures figcaption span")
        self.assertEqual(len(shown), sum(len(e["figures"]) for e in self.report["experiments"]))
        self.choose("figure-experiment", "pairs")
        self.choose("figure-model", "tiny-dense")
        self.assertEqual(len(self.texts("#given-figures figcaption span")), 2)
        self.assertEqual(len(self.texts("#all-figures figcaption span")), len(TASKS))

    def test_details_follow_the_choice(self):
        number = next(i for i, text in enumerate(self.texts("#detail-set option")) if text == "tiny-dense: pass-at-k")
        self.choose("detail-set", str(number))
        self.choose("detail-task", "0")
        self.assertEqual(len(self.table("matrix")), 5)
        self.assertEqual([row[0] for row in self.table("costs")[1:]], [row[0] for row in self.table("pass")[1:]])
        own = self.column("tiny-dense", "math500", "pass-at-k")["beam"]
        self.assertEqual(self.table("pass")[1][1:5], [percent(v) for v in own["pass_at"]])

    def test_text_is_never_html(self):
        self.assertEqual(self.page.find_elements(By.CSS_SELECTOR, "img, th b, td b, svg b"), [])
        self.assertTrue(any(NASTY.replace("\u2028", "") in row[0].replace("\u2028", "") for row in self.accuracy_cells()))

    def test_runs_link_to_their_pages(self):
        links = self.page.find_elements(By.CSS_SELECTOR, "#runs a")
        self.assertEqual(len(links), 1, "one of them has a page")
        self.page.get(links[0].get_attribute("href"))
        self.assertIn("report", self.page.title)
        self.page.back()

    def test_exports_open(self):
        self.choose("experiment", "table1")
        file = web.download(self.page, lambda: self.click("#accuracy-csv"), self.place.parent)
        rows = list(csv.DictReader(io.StringIO(file.read_text(), newline="")))
        self.assertEqual(len(rows), 7 * 3 * 2)
        for name in ("#all-figures", "#given-figures"):
            file = web.download(self.page, lambda: self.click(f"{name} figcaption button"), self.place.parent)
            self.assertEqual(ElementTree.parse(file).getroot().tag, "{http://www.w3.org/2000/svg}svg")

    def test_every_file_opens(self):
        kinds = set()
        for name in self.report["files"]:
            path = self.place / name
            kinds.add(path.suffix)
            if path.suffix == ".svg":
                self.assertEqual(ElementTree.parse(path).getroot().tag, "{http://www.w3.org/2000/svg}svg")
            if path.suffix == ".csv":
                rows = list(csv.reader(io.StringIO(path.read_text(), newline=""), strict=True))
                self.assertEqual({len(row) for row in rows}, {len(rows[0])}, name)
        self.assertEqual(kinds, {".html", ".csv", ".tex", ".svg"})

    def test_labels_do_not_overlap(self):
        for width in (None, 390):
            web.emulate(self.page, width)
            self.page.get(self.url)
            self.choose("figure-experiment", "*")
            self.page.execute_script("by_id('all-details').open = true")
            self.assertEqual(web.overlapping_labels(self.page), [], width)
        web.emulate(self.page)

    def test_reads_in_light_and_dark_and_on_a_phone(self):
        for width in (None, 390):
            for dark in (False, True):
                web.emulate(self.page, width, dark)
                self.page.get(self.url)
                self.choose("figure-experiment", "*")
                self.page.execute_script("by_id('all-details').open = true")
                self.assertEqual(web.low_contrast(self.page), [], (width, dark))
                wide, seen = self.page.execute_script("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
                self.assertLessEqual(wide, seen)
                heads = self.page.execute_script("return [...document.querySelectorAll('#accuracy-table tbody th, #between tbody th')].map(e => [e.textContent, e.clientHeight])")
                self.assertEqual([head for head in heads if head[1] > 110 and len(head[0]) < 40], [], "names are not broken letter by letter")
        web.emulate(self.page)

    def test_needs_no_network_and_says_nothing_wrong(self):
        self.assertEqual(web.complaints(self.page), [])
        self.assertEqual(self.page.execute_script("return performance.getEntriesByType('resource').length"), 0)

    def test_controls_have_names(self):
        nameless = self.page.execute_script("""return [...document.querySelectorAll('button, select, input, svg')].filter(
            e => !(e.getAttribute('aria-label') || e.querySelector('title') || e.textContent.trim() && e.localName === 'button' || (e.labels || []).length)).map(e => e.outerHTML.slice(0, 200))""")
        self.assertEqual(nameless, [])


class OtherProblems(ReportTest):
    """Two models with other problems, and a run that is not finished."""

    @classmethod
    def setUpClass(cls):
        place = web.folder()
        write_run(place / "runs/a", MODELS[0], "population", EXPERIMENTS["population"])
        write_run(place / "runs/b", MODELS[1], "population", EXPERIMENTS["population"], "other ")
        web.run("report", str(place / "runs"), "--out", str(place / "report"))
        cls.url = (place / "report/index.html").as_uri()
        super().setUpClass()

    def test_models_are_not_paired_and_the_page_says_why(self):
        self.assertFalse(self.page.find_element(By.ID, "between-section").is_displayed())
        notes = self.texts("#notes li")
        self.assertEqual(len([note for note in notes if "problems, prompts or grading are not the same" in note]), 2, notes)
        self.assertNotIn("Between models", self.texts("nav a"))
        self.assertEqual(web.complaints(self.page), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
