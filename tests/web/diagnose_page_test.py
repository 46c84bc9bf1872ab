"""Tests the page of a diagnosis in a real browser: its figures are those of diagnose.json, labels keep apart at every
width and in both colour schemes, and nothing is interpreted as HTML or loaded from the network."""
import json
import unittest

from selenium.webdriver.common.by import By

import browser as web

NASTY = "</script><b>bold</b> & good:"


class DiagnosePage(web.PageTest):
    @classmethod
    def setUpClass(cls):
        place = web.folder()
        (place / "pairs.json").write_text(json.dumps({"mine": {"positive": NASTY, "negative": "Bad </b>:"}}))
        web.run("diagnose", "--task", "tiny-math,tiny-choice", "--limit", "6", "--samples", "4", "--block", "16", "--max-tokens", "200",
                "--rollouts", "3", "--rollout-problems", "3", "--contexts", f"@{place / 'pairs.json'},reasoning,neutral,mine",
                "--out", str(place / "out"))
        cls.diagnosis = json.loads((place / "out/diagnose.json").read_text())
        cls.url = (place / "out/diagnose.html").as_uri()
        super().setUpClass()

    def texts(self, selector):
        return [element.text for element in self.page.find_elements(By.CSS_SELECTOR, selector)]

    def test_every_task_and_pair_has_its_verdict(self):
        self.assertEqual(self.texts("main h2"), [task["task"] for task in self.diagnosis["tasks"]])
        self.assertEqual(self.texts(".verdict"), [f"{pair['contexts']}: {pair['sentence']}." for task in self.diagnosis["tasks"] for pair in task["pairs"]])

    def test_the_tables_are_the_figures(self):
        for index, task in enumerate(self.diagnosis["tasks"]):
            rows = self.page.execute_script("return [...document.querySelectorAll(`#task-${arguments[0]} [aria-label=Separation] tbody tr`)].map(r => [...r.cells].map(c => c.textContent))", index)
            self.assertEqual(len(rows), 1 + 3 * len(task["pairs"]))
            auc = task["likelihood"]["auc"]["within"]
            self.assertEqual(rows[0][1], f"{auc['mean']:.3f} ({auc['low']:.3f} to {auc['high']:.3f})")
            self.assertEqual(rows[0][3], f"{task['likelihood']['best_of'][-1]:.3f}")
            futures = sum(len(point["steers"]) for pair in task["pairs"] for point in pair["future"])
            rows = self.page.execute_script("return document.querySelectorAll(`#task-${arguments[0]} [aria-label='Future correction'] tbody tr`).length", index)
            self.assertEqual(rows, futures)
            self.assertGreater(futures, 0)

    def test_tokens_with_large_rewards_are_listed_as_text(self):
        pair = self.diagnosis["tasks"][0]["pairs"][0]
        rows = self.page.execute_script("return [...document.querySelectorAll('#task-0 details')][0].querySelectorAll('tbody tr').length")
        self.assertEqual(rows, len(pair["highest_tokens"]) + len(pair["lowest_tokens"]))
        self.assertEqual(self.page.find_elements(By.CSS_SELECTOR, ".verdict b b"), [])

    def test_labels_keep_apart_and_nothing_overflows(self):
        for width in (None, 390, 700):
            web.emulate(self.page, width)
            self.assertEqual(web.overlapping_labels(self.page), [], width)
            wide = self.page.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
            self.assertLessEqual(wide, 0, width)

    def test_rows_of_tables_are_not_tall(self):
        for width, most in ((None, 40), (390, 90)):  # one line; on a phone the name takes a few
            web.emulate(self.page, width)
            tall = self.page.execute_script("return [...document.querySelectorAll('[role=region] tbody tr')].filter(r => !r.closest('.tokens') && r.offsetHeight > arguments[0]).map(r => r.textContent)", most)
            self.assertEqual(tall, [], width)

    def test_texts_are_readable_in_both_schemes(self):
        for dark in (False, True):
            web.emulate(self.page, dark=dark)
            self.assertEqual(web.low_contrast(self.page), [], dark)

    def test_needs_no_network_and_says_nothing_wrong(self):
        self.assertEqual(web.complaints(self.page), [])
        self.assertNotIn("http://", self.page.page_source.replace("http://www.w3.org", ""))


if __name__ == "__main__":
    unittest.main()
