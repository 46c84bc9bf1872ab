"""Tests the report of 21 methods and 1,500 questions: it opens and filters fast, and stays legible."""
import time
import unittest

from selenium.webdriver.common.by import By

import browser as web
from report_data import LARGE_METHODS, ReportTest, large_report

HANGS = 30  # seconds; times are printed, and only a page that hangs fails


class LargeReport(ReportTest):
    @classmethod
    def setUpClass(cls):
        place, cls.rows, cls.problems = large_report()
        cls.url = (place / "report.html").as_uri()
        cls.size = (place / "report.html").stat().st_size
        super().setUpClass()

    def setUp(self):
        start = time.monotonic()
        super().setUp()
        self.loaded = time.monotonic() - start

    def test_opens_filters_and_turns_pages_fast(self):
        times = {"open": self.loaded}
        for name, script in (("filter", "by_id('filter').value = 'differ'; update_questions()"),
                             ("find", "by_id('find').value = 'question 14'; update_questions()"),
                             ("sort", "sort_by('disagreement')"), ("page", "by_id('reset').click(); by_id('next').click()"),
                             ("question", "document.querySelector('#questions tr.row').click()"),
                             ("matrix", "show_task()")):
            times[name] = self.page.execute_script(f"const start = performance.now(); {script}; document.body.offsetHeight; return (performance.now() - start) / 1000")
        print(f"\n{self.size / 1e6:.1f} MB:", ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in times.items()))
        self.assertLess(max(times.values()), HANGS)
        self.assertEqual(web.complaints(self.page), [])

    def test_filters_are_exact_over_all_pages(self):
        verdicts = {}
        for row in self.rows:
            verdicts.setdefault(row["id"], {})[row["method"]] = row["correct"]
        a, b = LARGE_METHODS[20], LARGE_METHODS[1]
        self.choose("right", a)
        self.choose("wrong", b)
        shown = self.shown_ids()
        while self.page.find_element(By.ID, "next").is_enabled():
            self.click("#next")
            shown += self.shown_ids()
        self.assertEqual(shown, [q for q, v in verdicts.items() if v[a] and not v[b]])
        self.click("#reset")
        self.choose("filter", "none")
        self.assertEqual(self.page.execute_script("return state.list.map(q => q.id)"), [q for q, v in verdicts.items() if not any(v.values())])

    def test_stays_legible(self):
        names = self.page.execute_script("return [...names.values()]")
        self.assertEqual(names, ["best-of-n"] + [" ".join(["best-of-n"] + [s.split("=")[1] for s in m.split(":")[1:]]) for m in LARGE_METHODS[1:]])
        for width in (None, 390):
            web.emulate(self.page, width)
            self.assertEqual(web.overlapping_labels(self.page), [], width)
            wide, seen = self.page.execute_script("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            self.assertLessEqual(wide, seen)
        web.emulate(self.page)
        self.assertEqual(web.low_contrast(self.page), [])
        heads = self.page.execute_script("return [...document.querySelectorAll('#questions thead button')].map(b => b.getBoundingClientRect()).map(b => [b.left, b.right])")
        for one, two in zip(heads, heads[1:]):
            self.assertLessEqual(one[1], two[0] + 0.5, "headings do not overlap")

    def test_an_answer_is_that_of_the_samples(self):
        self.page.find_element(By.ID, "find").send_keys("question 1234:")
        self.assertEqual(self.shown_ids(), ["test/algebra/1234.json"])
        self.open_row(0)
        self.click(".raw-toggle")
        self.assertEqual(self.texts(".answer .text"), [r["answer"] for r in self.rows if r["question"] == 1234])


if __name__ == "__main__":
    unittest.main(verbosity=2)
