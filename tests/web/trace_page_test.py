"""Tests the page of a trace in a real browser: every candidate is shown, and a click shows its text."""
import json
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import browser as web

QUESTION = "What is 17 + 4 * 6? </script><b>bold</b>"
ASK = ("ask", QUESTION, "--max-tokens", "160", "--block", "4", "--seed", "3")


class TracePage(web.PageTest):
    @classmethod
    def setUpClass(cls):
        place = web.folder()
        web.run(*ASK, "--trace", str(place / "trace.html"))
        web.run(*ASK, "--trace", str(place / "trace.json"))
        cls.url = (place / "trace.html").as_uri()
        cls.trace = json.loads((place / "trace.json").read_text())
        cls.nodes = {c["id"]: c for block in cls.trace["blocks"] for c in block["candidates"]}
        super().setUpClass()

    def text_of(self, identity):
        return self.page.find_element(By.ID, identity).text

    def length(self, identity):
        total = 0
        while identity is not None:
            total += len(self.nodes[identity]["tokens"])
            identity = self.nodes[identity]["parent"]
        return total

    def test_every_candidate_is_a_node_with_its_fate(self):
        self.assertEqual(len(self.page.find_elements(By.CSS_SELECTOR, "#tree .node")), len(self.nodes))
        for fate in ("kept", "pruned", "duplicate", "finished"):
            expected = sum(c["fate"] == fate for c in self.nodes.values())
            self.assertEqual(len(self.page.find_elements(By.CSS_SELECTOR, f"#tree .node.{fate}")), expected)
        self.assertGreaterEqual(len(self.nodes), 300)

    def test_opens_at_the_selected_answer_with_its_path_marked(self):
        self.assertIn(f"Candidate {self.trace['selected']}", self.text_of("name"))
        depth, identity = 0, self.trace["selected"]
        while identity is not None:
            depth, identity = depth + 1, self.nodes[identity]["parent"]
        self.assertEqual(len(self.page.find_elements(By.CSS_SELECTOR, "#tree .node.path")), depth)
        self.assertEqual(len(self.page.find_elements(By.CSS_SELECTOR, "#text .tok")),
                         self.length(self.trace["selected"]))

    def test_click_and_keyboard_show_a_node(self):
        pruned = next(i for i, c in self.nodes.items() if c["fate"] == "pruned")
        self.page.find_element(By.ID, f"node-{pruned}").click()
        self.assertIn(f"Candidate {pruned}", self.text_of("name"))
        self.assertIn("pruned", self.text_of("facts"))
        self.assertEqual(len(self.page.find_elements(By.CSS_SELECTOR, "#text .tok")), self.length(pruned))
        other = next(i for i, c in self.nodes.items() if c["fate"] == "kept")
        self.page.find_element(By.ID, f"node-{other}").send_keys(Keys.ENTER)
        self.assertIn(f"Candidate {other}", self.text_of("name"))
        self.page.find_element(By.ID, "home").click()
        self.assertIn("(selected)", self.text_of("name"))

    def test_hover_shows_the_three_log_probs(self):
        token = self.page.find_elements(By.CSS_SELECTOR, "#text .tok")[2]
        ActionChains(self.page).move_to_element(token).perform()
        first = self.trace["selected"]
        while self.nodes[first]["parent"] is not None:
            first = self.nodes[first]["parent"]
        tip = self.text_of("tip").replace("\u2212", "-")
        for key in ("token_base", "token_positive", "token_negative"):
            self.assertIn(f"{self.nodes[first][key][2]:.3f}".replace("-0.000", "0.000"), tip.replace("-0.000", "0.000"))
        self.assertIn("reward", tip)

    def test_user_text_stays_text(self):
        self.assertEqual(self.text_of("question"), QUESTION)
        self.assertEqual(self.page.find_elements(By.CSS_SELECTOR, "#question b"), [])

    def test_needs_no_network_and_says_nothing_wrong(self):
        self.assertEqual(web.complaints(self.page), [])
        requests = self.page.execute_script("return performance.getEntriesByType('resource').length")
        self.assertEqual(requests, 0)

    def test_a_phone_sees_no_sideways_scroll(self):
        phone = web.open_browser(width=420, height=800, dark=True)
        try:
            phone.get(self.url)
            wide, seen = phone.execute_script(
                "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            self.assertLessEqual(wide, seen)
        finally:
            phone.quit()


if __name__ == "__main__":
    unittest.main(verbosity=2)
