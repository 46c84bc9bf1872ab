"""Reports made by the program from samples that follow a fixed pattern, and how tests read them."""
import json
import random

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

import browser as web

NASTY = "</script><b>bold</b><img src=x onerror=alert(1)> & \u2028 {} /*DATA*/ <!--ANSWERS-->"


def sample(task, question, method, number, correct, **rest):
    """A sample as the program writes it."""
    return {"task": task, "id": f"{task}/{question}", "question": question, "method": method, "sample": number,
            "answer": "", "extracted": "7", "correct": correct, "correct_strict": correct, "score": -0.25 * question,
            "truncated": False, "answer_tokens": 20, "generated_tokens": 20, "scored_tokens": 0, "prompt_tokens": 90,
            "cached_tokens": 10, "seconds": 0.5, **rest}


def write_report(rows, problems, run=None):
    """The folder of the report of these samples. Without `run` they are samples of an unknown run."""
    place = web.folder()
    for name, lines in (("samples.jsonl", rows), ("problems.jsonl", problems)):
        if not lines:
            continue
        with open(place / name, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(json.dumps(line) + "\n")
    if run:
        tasks, methods = (sorted({row[what] for row in rows}) for what in ("task", "method"))
        problems_of_each = 1 + max(row["question"] for row in rows)
        whole = {"format": 2, "fingerprint": {}, "tasks": {task: {"problems": problems_of_each} for task in tasks},
                 "methods": {}, "sessions": [],
                 "parts": [{"tasks": tasks, "methods": methods, "limit": 0, "samples": 1, "shard": "0/1"}], **run}
        (place / "run.json").write_text(json.dumps(whole))
    web.run("merge", str(place), "--out", str(place / "report"), "--allow-failures", *([] if run else ["--partial"]))
    return place / "report"


PAIRS = ("accurate", "careful", "certain", "detailed", "expert", "honest", "logical", "precise", "thorough", "valid")
LARGE_METHODS = ("best-of-n",) + tuple(f"best-of-n:steer={steer}:contexts={pair}" for steer in ("0.25", "0.7")
                                       for pair in PAIRS)
WORDS = "Let us first compute the sum of the terms and then divide $\\frac{a}{b}$ by the number of cases .".split()


def large_report(count=1500):
    """21 methods on many questions, one sample each, with answers of about a kilobyte."""
    dice = random.Random(7)
    rows, problems = [], []
    for question in range(count):
        ease = dice.random()
        problems.append({"task": "math500", "id": f"test/algebra/{question}.json", "gold": str(question % 100),
                         "question": f"Question {question}: " + " ".join(dice.choices(WORDS, k=40))})
        for number, method in enumerate(LARGE_METHODS):
            correct = dice.random() < 0.15 + 0.6 * ease + 0.01 * number
            rows.append(sample("math500", question, method, 0, correct, id=problems[-1]["id"],
                               answer=" ".join(dice.choices(WORDS, k=200)) + f" \\boxed{{{question % 100}}}",
                               extracted=str(question % 100 if correct else dice.randrange(1000)),
                               truncated=dice.random() < 0.02, answer_tokens=dice.randrange(50, 900),
                               generated_tokens=400 * (1 + number), scored_tokens=300 * (number % 11)))
    return write_report(rows, problems), rows, problems


class ReportTest(web.PageTest):
    """What the tests of reports share."""

    def table(self, identity):
        return self.page.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map(r => [...r.cells].map(c => c.textContent))",
            f"#{identity} tr")

    def question_rows(self):
        return self.page.find_elements(By.CSS_SELECTOR, "#questions tr.row")

    def shown_ids(self):
        return self.page.execute_script("return [...document.querySelectorAll('#questions tr.row td:first-child')].map(c => c.textContent)")

    def choose(self, identity, value):
        Select(self.page.find_element(By.ID, identity)).select_by_value(value)

    def texts(self, selector):
        return self.page.execute_script("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def open_row(self, index):
        self.page.execute_script("document.querySelectorAll('#questions tr.row')[arguments[0]].click()", index)

    def click(self, selector):
        self.page.execute_script("document.querySelector(arguments[0]).click()", selector)
