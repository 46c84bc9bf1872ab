"""Tests the page of a trace in a real browser: the tree by mouse and keyboard, replay, a candidate's figures, comparison, and the
pool at another steering strength. The page of the chat uses the same tree."""
import json
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import browser as web

QUESTION = "What is 17 + 4 * 6? </script><b>bold</b>"
ASK = ("ask", QUESTION, "--max-tokens", "160", "--block", "4", "--seed", "3", "--steer", "0.7", "--temperature", "1.3")


class TraceTest(web.PageTest):
    """A page of a search that the program has run, and the same search as JSON."""
    arguments = ASK

    @classmethod
    def setUpClass(cls):
        place = web.folder()
        web.run(*cls.arguments, "--trace", str(place / "trace.html"))
        web.run(*cls.arguments, "--trace", str(place / "trace.json"))
        cls.url = (place / "trace.html").as_uri()
        cls.trace = json.loads((place / "trace.json").read_text())
        cls.nodes = {c["id"]: c for block in cls.trace["blocks"] for c in block["candidates"]}
        super().setUpClass()

    def setUp(self):
        super().setUp()
        web.wait_for(lambda: self.script("return tree.drawing.stats.frames"), what="the first frame")

    def script(self, text, *arguments):
        return self.page.execute_script(text, *arguments)

    def all(self, selector):
        return self.page.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.page.find_element(By.CSS_SELECTOR, selector).text

    def press(self, selector):
        self.page.find_element(By.CSS_SELECTOR, selector).click()

    def heading(self):
        return self.text("#candidate h2")

    def path(self, identity):
        path = []
        while identity is not None:
            path.insert(0, self.nodes[identity])
            identity = self.nodes[identity]["parent"]
        return path

    def tokens(self, identity):
        return [token for part in self.path(identity) for token in part["tokens"]]

    def click_node(self, identity):
        """Clicks where the node is drawn, zoomed in so that no other covers it."""
        self.script("""const node = model.nodes.get(arguments[0]); tree.view.kx = 4; tree.view.ky = 60;
                       tree.view.x = node.x - 60; tree.view.y = node.y - 3; tree.redraw(); scrollTo(0, 0)""", identity)
        web.click_at(self.page, self.script("return tree.place_of(model.nodes.get(arguments[0]))", identity))

    def key(self, *keys):
        self.script("tree.area.focus()")
        ActionChains(self.page).send_keys(*keys).perform()

    def current(self):
        return self.script("return tree.current.id")


class TracePage(TraceTest):
    def test_every_candidate_is_in_a_node_and_copies_are_folded_into_counts(self):
        folded = self.script("return model.blocks.map(b => b.map(n => [n.id, n.fate, n.copies]))")
        for block, nodes in zip(self.trace["blocks"], folded, strict=True):
            self.assertEqual(sorted(i for _, _, copies in nodes for i in copies), sorted(c["id"] for c in block["candidates"]))
            for identity, fate, copies in nodes:
                texts = {(c["parent"], tuple(c["tokens"])) for c in block["candidates"] if c["id"] in copies}
                self.assertEqual(len(texts), 1)
                self.assertEqual(fate, self.nodes[identity]["fate"])
                self.assertNotEqual(fate, "duplicate")
            self.assertEqual(len(nodes), len({(c["parent"], tuple(c["tokens"])) for c in block["candidates"]}))
        self.assertTrue(any(len(copies) > 1 for nodes in folded for _, _, copies in nodes))

    def test_height_follows_the_score_and_the_line_parts_kept_from_pruned(self):
        blocks = self.script("return model.blocks.map((b, i) => [b.map(n => [n.score, n.y, n.fate]), tree.layout.lines[i] ?? null])")
        lines = 0
        for nodes, line in blocks:
            self.assertEqual([n[1] for n in nodes], sorted(n[1] for n in nodes), "the better the higher")
            self.assertEqual([n[0] for n in nodes], sorted((n[0] for n in nodes), reverse=True))
            if line is not None:
                lines += 1
                self.assertTrue(all(y <= line for _, y, fate in nodes if fate == "kept"))
                self.assertTrue(all(y >= line for _, y, fate in nodes if fate == "pruned"))
        self.assertGreater(lines, 3)
        ys = self.script("return model.blocks.flat().map(n => [n.score, n.y])")
        self.assertEqual([s for s, _ in sorted(ys, key=lambda p: p[1])], sorted((s for s, _ in ys), reverse=True), "one scale for all blocks")

    def test_colour_follows_the_reward(self):
        steps = self.script("return model.blocks.flat().map(n => [n.reward, tree.palette.step(n.reward, tree.layout.full_reward)])")
        ordered = sorted(steps)
        self.assertEqual([s for _, s in ordered], sorted(s for _, s in ordered))
        self.assertGreater(len({s for _, s in ordered}), 4)
        candidate = self.nodes[self.trace["selected"]]
        reward = (candidate["positive"] - candidate["negative"]) / len(self.tokens(candidate["id"]))
        self.assertAlmostEqual(self.script("return model.selected.reward"), reward)

    def test_something_is_drawn_and_nodes_are_where_they_are_said_to_be(self):
        colours = self.script("""
            const box = tree.area.getBoundingClientRect(), ratio = tree.drawing.canvas.width / box.width;
            return [...tree.chosen].map(n => { const p = tree.place_of(n); return [...tree.drawing.context.getImageData(
              Math.round((p.x - box.left) * ratio), Math.round((p.y - box.top) * ratio), 1, 1).data].join(); })""")
        background = self.script("return [...tree.drawing.context.getImageData(tree.drawing.canvas.width - 3, tree.drawing.canvas.height - 3, 1, 1).data].join()")
        self.assertNotIn(background, colours)

    def test_opens_at_the_answer_with_its_path(self):
        self.assertEqual(self.heading(), f"Candidate {self.trace['selected']}")
        self.assertEqual(self.script("return [...tree.chosen].map(n => n.id)"), [c["id"] for c in self.path(self.trace["selected"])])
        self.assertEqual(self.script("return model.tokens(tree.current).map(t => t.id)"), self.tokens(self.trace["selected"]))
        answer = web.run(*ASK[:2], "-q", *ASK[2:]).strip()
        self.assertIn(answer, self.text("#candidate .tokens"))

    def test_a_click_shows_a_node_and_the_address_keeps_it(self):
        pruned = next(i for i, c in self.nodes.items() if c["fate"] == "pruned")
        self.click_node(pruned)
        self.assertEqual(self.heading(), f"Candidate {pruned}")
        self.assertIn("pruned", self.text("#candidate .candidate-head"))
        self.page.refresh()
        self.assertEqual(self.heading(), f"Candidate {pruned}")
        self.press("#candidate .home")
        self.assertEqual(self.heading(), f"Candidate {self.trace['selected']}")

    def test_arrow_keys_walk_the_tree(self):
        start = self.script("const n = model.blocks[2].find(n => n.children.length && n.row > 0) ?? model.blocks[2][0]; tree.select(n); return n.id")
        self.key(Keys.ARROW_RIGHT)
        children = [c for c in self.nodes.values() if c["parent"] in self.script("return model.nodes.get(arguments[0]).copies", start)]
        self.assertEqual(self.nodes[self.current()]["score"], max(c["score"] for c in children))
        self.key(Keys.ARROW_LEFT)
        self.assertEqual(self.current(), start)
        row = self.script("return tree.current.row")
        self.key(Keys.ARROW_DOWN)
        self.assertEqual(self.script("return tree.current.row"), row + 1)
        self.key(Keys.ARROW_UP, Keys.HOME)
        self.assertEqual(self.current(), self.trace["selected"])
        label = self.script("return document.getElementById(tree.area.getAttribute('aria-activedescendant')).getAttribute('aria-label')")
        self.assertIn(f"Candidate {self.trace['selected']}, finished, score", label)

    def test_zoom_and_pan(self):
        state = lambda: self.script("return [tree.view.kx, tree.view.ky, tree.view.x, tree.view.y]")
        fitted = state()
        self.press(".zoom .in")
        self.assertGreater(state()[0], fitted[0])
        self.press(".zoom .out")
        self.press(".zoom .fit")
        self.assertEqual(state(), fitted)
        place = {key: round(value) for key, value in self.script("return tree.place_of(model.blocks[1][0])").items()}
        before = self.script("const p = arguments[0], b = tree.area.getBoundingClientRect(); return [tree.view.world_x(p.x - b.left), tree.view.world_y(p.y - b.top)]", place)
        self.script("tree.area.dispatchEvent(new WheelEvent('wheel', {deltaY: -200, clientX: arguments[0].x, clientY: arguments[0].y, cancelable: true}))", place)
        after = self.script("const p = arguments[0], b = tree.area.getBoundingClientRect(); return [tree.view.world_x(p.x - b.left), tree.view.world_y(p.y - b.top)]", place)
        self.assertGreater(state()[0], fitted[0])
        for one, other in zip(before, after):
            self.assertAlmostEqual(one, other, places=6, msg="what is under the mouse stays there")
        x = state()[2]
        ActionChains(self.page).move_to_element(self.page.find_element(By.CSS_SELECTOR, ".tree-area")).click_and_hold().move_by_offset(-80, 0).release().perform()
        self.assertAlmostEqual(state()[2], x + 80 / state()[0], places=3)
        self.key("0")
        self.assertEqual(state(), fitted)
        self.key("+")
        self.assertGreater(state()[1], fitted[1])

    def test_replay_goes_block_by_block(self):
        count = len(self.trace["blocks"])
        self.assertEqual(self.text(".blocks"), f"block {count} of {count}")
        self.press(".replay .first")
        self.assertEqual(self.text(".blocks"), f"block 1 of {count}")
        self.assertEqual(self.script("return tree.current.block"), 0)
        first = self.script("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(tree.drawing.stats.nodes))))")
        self.assertLessEqual(first, len(self.script("return model.blocks[0].map(n => n.id)")))
        self.press(".replay .next")
        self.assertEqual(self.text(".blocks"), f"block 2 of {count}")
        self.press(".replay .previous")
        self.press(".replay .play")
        web.wait_for(lambda: self.text(".blocks") == f"block {count} of {count}", what="the end of the replay")
        self.assertEqual(self.page.find_element(By.CSS_SELECTOR, ".replay .play").get_attribute("aria-label"), "Play")

    def test_the_formula_has_the_numbers_of_the_trace(self):
        node = self.nodes[self.trace["selected"]]
        tex = self.script("return document.querySelector('.formula math').getAttribute('title')")
        for value in (node["base"], node["positive"], node["negative"], node["score"]):
            self.assertIn(f"{value:.3f}".replace("-0.000", "0.000"), tex)
        self.assertIn(f"{{{len(self.tokens(node['id']))}}}", tex)
        self.assertIn("0.7", tex)

    def test_tokens_are_coloured_by_reward_and_tell_their_figures(self):
        path = self.path(self.trace["selected"])
        rewards = [p - n for c in path for p, n in zip(c["token_positive"], c["token_negative"])]
        shown = self.script("return [...document.querySelectorAll('#candidate .token')].map(e => [Number(e.dataset.token), e.style.background])")
        for index, background in shown:
            if abs(rewards[index]) > 0.05:
                self.assertIn("--gain" if rewards[index] > 0 else "--loss", background)
            elif abs(rewards[index]) < 0.01:
                self.assertEqual(background, "")
        ActionChains(self.page).move_to_element(self.all("#candidate .token")[2]).perform()
        tip = self.script("return document.getElementById('tip').textContent").replace("\u2212", "-")
        for key in ("token_base", "token_positive", "token_negative"):
            self.assertIn(f"{path[0][key][2]:.3f}".replace("-0.000", "0.000"), tip)
        total = path[-1]["positive"] - path[-1]["negative"]
        self.assertIn(f"{abs(total):.3f}", self.text(".curve figcaption"))
        self.press("#candidate details:last-of-type summary")
        self.assertEqual(len(self.all("#candidate details:last-of-type tbody tr")), len(rewards))

    def test_the_three_prompts(self):
        self.press(".prompts summary")
        prompts = web.wait_for(lambda: [e.text for e in self.all(".prompt .tokens")])
        self.assertEqual(len(prompts), 3)
        self.assertTrue(all("What is 17 + 4 * 6? </script><b>bold</b>" in text for text in prompts))
        marks = [e.text for e in self.all(".prompt mark")]
        self.assertIn("excellent reasoning", prompts[1])
        self.assertIn("wrong reasoning", prompts[2])
        self.assertTrue(any("excellent" in text for text in marks) and any("wrong" in text for text in marks), marks)

    def test_two_candidates_are_compared(self):
        first, second = self.trace["selected"], self.script("return model.blocks.at(-1).at(-1).id")
        self.press("#candidate .pin")
        self.click_node(second)
        self.assertEqual(self.heading(), f"Candidates {first} and {second}")
        for side, identity in enumerate((first, second), 1):
            text = self.script("return document.querySelector(arguments[0]).textContent", f".side-{side} .tokens")
            self.assertEqual(text, self.script("return model.text(model.nodes.get(arguments[0]))", identity))
        differs = self.script("return [...document.querySelectorAll('.side .differs')].length")
        self.assertGreater(differs, 0)
        same = self.script("return [...document.querySelectorAll('.side')].map(s => [...s.querySelectorAll('.token:not(.differs)')].map(e => e.textContent).join(''))")
        self.assertEqual(same[0], same[1], "what is not marked is common to both")
        self.press(".unpin")
        self.assertEqual(self.heading(), f"Candidate {second}")

    def scored(self, identity, steer):
        node = self.nodes[identity]
        return (node["base"] + steer * (node["positive"] - node["negative"])) / len(self.tokens(identity))

    def steer(self, value):
        self.script("const s = document.querySelector('.steer input'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))", value)

    def test_steer_ranks_the_pool_again(self):
        self.assertIn("strength of the run", self.text(".steer-words"))
        for steer in (0, 0.3, 1.9):
            self.steer(steer)
            best = max(self.trace["pool"], key=lambda i: (self.scored(i, steer), -i))
            self.assertEqual(self.text(".would-choose"), f"candidate {best}")
            self.assertIn("Beam search would have chosen" if steer == 0 else f"at {steer:.2f} would have chosen", self.text(".steer-words"))
            shown = self.all(".pool li")[0].text.replace("\u2212", "-")
            self.assertIn(f"{self.scored(best, steer):.3f}".replace("-0.000", "0.000"), shown)
            self.assertEqual(self.script("return [...tree.other].map(n => n.id).at(-1) ?? null"), None if best == self.trace["selected"] else best)
        self.press(".would-choose")
        self.assertEqual(self.heading(), f"Candidate {best}")
        self.press(".steer .quiet")
        self.assertIn("strength of the run", self.text(".steer-words"))

    def test_a_block_as_a_table(self):
        self.press(".block-table summary")
        rows = web.wait_for(lambda: self.all(".block-table tbody tr"))
        self.assertEqual(len(rows), self.script("return model.blocks[tree.current.block].length"))
        self.all(".block-table tbody button")[-1].click()
        self.assertEqual(self.current(), self.script("return model.blocks[tree.current.block].at(-1).id"))

    def test_height_by_place(self):
        Select(self.page.find_element(By.CSS_SELECTOR, ".vertical")).select_by_value("rank")
        ys = self.script("return model.blocks[0].map(n => n.y)")
        self.assertEqual(len(set(ys)), len(ys))
        self.assertEqual(ys, sorted(ys))

    def test_user_text_stays_text(self):
        self.assertEqual(self.text("#question"), QUESTION)
        self.assertEqual(self.all("#question b"), [])

    def test_needs_no_network_and_says_nothing_wrong(self):
        self.assertEqual(web.complaints(self.page), [])
        self.assertEqual(self.script("return performance.getEntriesByType('resource').length"), 0)

    def test_can_be_read_by_everyone(self):
        self.script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        self.assertEqual(web.unnamed_controls(self.page), [])
        stops = web.tab_stops(self.page)
        self.assertGreater(len(stops), 10)
        self.assertEqual([stop for stop in stops if not stop[2]], [], "every stop of the Tab key can be seen")
        for width, dark in ((1400, False), (1400, True), (390, False), (390, True)):
            web.emulate(self.page, width, dark)
            self.assertEqual(web.low_contrast(self.page), [], (width, dark))
            self.assertEqual(web.sideways(self.page), 0, (width, dark))
        web.emulate(self.page)


class PlainTrace(TraceTest):
    """Beam search has no contexts: no rewards, no steering, one prompt."""
    arguments = ("ask", "Compute 3 + 4.", "--method", "beam", "--block", "8", "--beams", "4", "--max-tokens", "60")

    def test_what_needs_contexts_is_not_shown(self):
        self.assertFalse(self.page.find_element(By.CSS_SELECTOR, ".steer").is_displayed())
        self.assertEqual(self.all(".curve"), [])
        self.assertIn("The prompt", self.text(".prompts summary"))
        self.assertIn("\\ell}{n}", self.script("return document.querySelector('.formula math').getAttribute('title')"))
        self.assertEqual(web.complaints(self.page), [])


class GrowingTrace(TraceTest):
    """A model that gets its blocks one at a time ends as the one that gets them at once."""

    def test_blocks_may_come_one_at_a_time(self):
        self.script("""window.complete = JSON.parse(by_id('trace').textContent); window.live = new TraceModel({...complete, blocks: [], pool: undefined});
                       tree.show(live)""")
        self.assertIn("grows here", self.text("#candidate"))
        for number in range(len(self.trace["blocks"])):
            self.script("live.add_block(complete.blocks[arguments[0]]); tree.grew()", number)
            self.assertEqual(self.script("return [tree.shown, tree.current.block]"), [number + 1, number])
        self.script("live.finish(complete); tree.grew()")
        self.assertEqual(self.heading(), f"Candidate {self.trace['selected']}")
        same = self.script("""const list = m => JSON.stringify(m.blocks.map(b => b.map(n => [n.id, n.fate, n.y, n.x, n.copies, n.length])));
                              const again = new TraceModel(complete); new TreeLayout(again); return list(again) === list(live)""")
        self.assertTrue(same)
        self.assertEqual(web.complaints(self.page), [])


class LargeTrace(TraceTest):
    arguments = ("ask", "Compute 3 + 4.", "--block", "8", "--beams", "4", "--max-tokens", "24")

    def test_the_work_of_a_frame_is_bounded_while_zooming(self):
        script = (web.ROOT / "tests/web/large_trace.js").read_text()
        self.script(script + "tree.show(new TraceModel(large_trace(96, 400)));")
        self.assertEqual(self.script("return tree.model.nodes.size"), 96 * 400)
        self.page.set_script_timeout(120)
        frames, seconds, most_nodes, most_edges = self.page.execute_async_script("""
            const done = arguments[0], began = performance.now(), stats = tree.drawing.stats, first = stats.frames;
            let n = 0, nodes = 0, edges = 0;
            const step = () => {
              const box = tree.area.getBoundingClientRect();
              tree.area.dispatchEvent(new WheelEvent('wheel', {deltaY: n % 60 < 30 ? -60 : 60, clientX: box.left + 400, clientY: box.top + 200, cancelable: true}));
              requestAnimationFrame(() => {
                nodes = Math.max(nodes, stats.nodes);
                edges = Math.max(edges, stats.edges);
                if (++n < 90) step();
                else done([stats.frames - first, (performance.now() - began) / 1000, nodes, edges]);
              });
            };
            step();""")
        print(f"\n  38,400 nodes: {frames / seconds:.0f} frames/s while zooming, at most {most_nodes} nodes and {most_edges} edges in one", flush=True)
        self.assertGreaterEqual(frames, 89, "every frame was drawn")
        self.assertLess(most_nodes, 6000)
        self.assertLess(most_edges, 6000)
        self.assertEqual(web.complaints(self.page), [])

    def test_a_node_of_a_large_tree_can_be_found_by_a_click(self):
        script = (web.ROOT / "tests/web/large_trace.js").read_text()
        self.script(script + "tree.show(new TraceModel(large_trace(96, 400))); const n = tree.model.blocks[40][3]; tree.view.kx = 4; tree.view.ky = 400; tree.view.x = n.x - 60; tree.view.y = n.y - 0.5; scrollTo(0, 0)")
        place = self.script("return tree.place_of(tree.model.blocks[40][3])")
        web.click_at(self.page, place)
        self.assertEqual(self.current(), self.script("return tree.model.blocks[40][3].id"))


class EveryMethod(TraceTest):
    """Traces of all methods, and of settings that change what is recorded, can be read."""
    arguments = ("ask", "Compute 3 + 4.", "--block", "8", "--beams", "4", "--max-tokens", "24")

    def test_the_page_of_every_method(self):
        small = ("--block", "8", "--max-tokens", "40", "--seed", "2")
        beams = ("--beams", "4")
        for options in (("--method", "sample"), ("--method", "low-temperature"), ("--method", "greedy"), ("--method", "best-of-n", *beams), ("--method", "self-consistency", *beams),
                        ("--method", "best-of-n", "--steer", "0.5", *beams), ("--method", "token-contrast"), ("--method", "token-contrast", "--policy", "cfg"),
                        ("--method", "power", "--draws", "4", "--candidates", "2", "--rollouts", "2"), (*beams, "--lookahead", "2"), (*beams, "--aggregate", "sum"),
                        (*beams, "--contrast", "positive"), (*beams, "--contrast", "negative"), (*beams, "--contexts", "none"), ("--beams", "1", "--prune", "1")):
            path = web.folder() / "trace.html"
            web.run("ask", "Compute 3 + 4.", *small, *options, "--trace", str(path))
            self.page.get(path.as_uri())
            with self.subTest(options=options):
                web.wait_for(lambda: self.script("return tree.drawing.stats.nodes"), what="the tree")
                self.assertIn("Candidate", self.heading())
                self.assertTrue(self.all(".formula math") or "given by the method" in self.text("#candidate"))
                self.script("for (const node of model.blocks.flat()) tree.select(node)")
                self.assertEqual(web.complaints(self.page), [])


class ReportTrace(web.PageTest):
    """The report of an evaluation leads to the same tree."""

    @classmethod
    def setUpClass(cls):
        place = web.folder() / "run"
        web.run("eval", "--task", "tiny-math", "--methods", "cbs:steer=0.7:beams=4:prune=2", "--limit", "1", "--traces", "--out", str(place), "-q")
        cls.url = (place / "report.html").as_uri()
        super().setUpClass()

    def test_a_click_opens_the_tree_of_an_answer(self):
        self.page.find_element(By.CSS_SELECTOR, "tr.row").click()
        self.page.find_element(By.CSS_SELECTOR, ".answer a").click()
        web.wait_for(lambda: self.page.execute_script("return typeof tree === 'object' && tree.drawing.stats.nodes > 3"), what="the tree")
        self.assertIn("Candidate", self.page.find_element(By.CSS_SELECTOR, "#candidate h2").text)
        self.assertEqual(web.complaints(self.page), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
