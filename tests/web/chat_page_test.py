"""Tests the page of the server in a real browser, every feature by a click: first against recorded searches, whose blocks come when
the test says so, then against `counterbeam serve`."""
import json
import os
import re
import subprocess
import unittest
import urllib.request

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import browser as web
from recorded_server import RecordedServer

NASTY = "<img src=x onerror=\"window.hacked = 1\"><b>bold</b> & </script>"
ANSWER = ("<think> The product comes first. </think>\n\nWe **add** both, as *before*:\n\n$$17 + 4 \\cdot 6 = \\boxed{41}$$\n\n1. product\n2. sum of $a_1$\n\n"
          "```python\ndef f(x):\n    return x + 1  # one\n```\n\n" + NASTY + " [link](https://example.org/x) [bad](javascript:alert(1)) `code`")


class Server:
    """`counterbeam serve` on a free port."""

    def __init__(self, *options):
        self.process = subprocess.Popen([web.PROGRAM, "serve", "--port", "0", *options], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"listening on (http://\S+)", line)
            if found:
                self.url = found.group(1).rstrip("/") + "/"
                return
        raise AssertionError(f"serve: ended with {self.process.wait()}")

    def get(self, path):
        with urllib.request.urlopen(self.url + path) as answer:
            return answer.read().decode()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


def has_server():
    return subprocess.run([web.PROGRAM, "serve", "--help"], capture_output=True).returncode == 0


FILES = ("index.html", "page.css", "page.js", "favicon.svg")


def page_files():
    """The files of the page as the program serves them."""
    if "COUNTERBEAM_PAGE" in os.environ:
        return {name: (web.Path(os.environ["COUNTERBEAM_PAGE"]) / name).read_bytes() for name in FILES}
    server = Server()
    try:
        return {name: server.get(name).encode() for name in FILES}
    finally:
        server.close()


class ChatTest(unittest.TestCase):
    """A page in a browser whose storage is empty at the beginning of each test."""

    def script(self, text, *arguments):
        return self.page.execute_script(text, *arguments)

    def all(self, selector):
        return self.page.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.page.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        """What can be read in the elements, at one moment of a page that changes."""
        return self.script("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText.trim())", selector)

    def press(self, selector, number=0):
        for attempt in range(5):
            try:
                return self.all(selector)[number].click()
            except StaleElementReferenceException:  # the page has just drawn it anew
                if attempt == 4:
                    raise

    def open(self, fresh=True):
        self.page.get(self.server.url)
        if fresh:
            self.page.execute_async_script("""localStorage.clear(); sessionStorage.clear();
                const ask = indexedDB.deleteDatabase('counterbeam'); ask.onsuccess = ask.onerror = ask.onblocked = () => arguments[0]();""")
            self.page.get(self.server.url)
        web.wait_for(lambda: self.script("return Boolean(chat)"), what="the page")
        web.complaints(self.page)  # those of earlier tests

    def ask(self, text, wait=True):
        self.one("#question").send_keys(text, Keys.ENTER)
        if wait:
            self.finish()

    def finish(self):
        web.wait_for(lambda: not self.script("return chat.asker.busy") and not self.all(".working"), 120, "the answer")

    def add_column(self, method, **values):
        self.press(".add-column")
        self.configure(len(self.all(".chip")) - 1, method, **values)

    def configure(self, column, method=None, **values):
        self.press(".chip .method", column)
        if method:
            Select(self.one("#setting-method")).select_by_value(method)
        for name, value in values.items():
            field = self.one(f"[data-setting='{name.replace('_', '-')}']")
            self.script("const d = arguments[0].closest('details'); if (d) d.open = true", field)
            if field.tag_name == "select":
                Select(field).select_by_value(value)
            elif field.get_attribute("type") == "checkbox":
                field.click()
            else:
                field.clear()
                field.send_keys(str(value), Keys.TAB)
        self.press("#settings-close")

    def select_node(self, expression):
        """Clicks on the node in the drawing, zoomed in so that no other covers it."""
        self.script(f"""const node = {expression}; chat.tree.view.kx = 4; chat.tree.view.ky = 200; chat.tree.view.x = node.x - 60;
                        chat.tree.view.y = node.y - 1; chat.tree.redraw(); by_id('inspector').scrollTop = 0; window.sought = node""")
        web.click_at(self.page, self.script("return chat.tree.place_of(sought)"))
        self.assertTrue(self.script("return chat.tree.current === sought"))

    def check_for_everyone(self, widths=(1400, 390)):
        self.assertEqual(web.unnamed_controls(self.page), [])
        for width in widths:
            for dark in (False, True):
                web.emulate(self.page, width, dark)
                self.assertEqual(web.low_contrast(self.page), [], (width, dark))
                self.assertEqual(web.sideways(self.page), 0, (width, dark))
        web.emulate(self.page)


class RecordedChat(ChatTest):
    @classmethod
    def setUpClass(cls):
        if not has_server() and "COUNTERBEAM_PAGE" not in os.environ:
            raise unittest.SkipTest("the program has no command serve")
        place = web.folder()
        web.run("ask", "What is 17 + 4 * 6?", "--max-tokens", "160", "--block", "8", "--seed", "3", "--steer", "0.7", "--temperature", "1.3",
                "--trace", str(place / "trace.html"))
        found = re.search(r'id="trace">(.*?)</script>', (place / "trace.html").read_text(), re.S)
        cls.trace, cls.files = json.loads(found.group(1)), page_files()
        cls.page = web.open_browser()

    @classmethod
    def tearDownClass(cls):
        cls.page.quit()

    def setUp(self):
        self.server = RecordedServer(self.files, self.trace, ANSWER)
        self.addCleanup(self.server.close)
        self.open()

    def test_an_answer_is_rendered_and_says_what_it_cost(self):
        self.ask("What is 17 + 4 * 6?")
        self.assertEqual(self.texts(".question .text"), ["What is 17 + 4 * 6?"])
        self.assertEqual(self.script("return document.querySelector('.prose math').getAttribute('title')"), "17 + 4 \\cdot 6 = \\boxed{41}")
        self.assertEqual(self.texts(".prose li")[0], "product")
        self.assertEqual([self.texts(".answer-text .prose strong"), self.texts(".answer-text .prose em"), self.texts(".prose code")], [["add"], ["before"], ["code"]])
        self.assertEqual(self.texts(".code-word"), ["def", "return"])
        self.assertIn("The product comes first.", self.script("return document.querySelector('.thinking').textContent"))
        cost = self.texts(".cost")[0]
        self.assertEqual(web.complaints(self.page), [])
        for words in ("40 tokens", "2.5 s", "640 generated", "1,280 scored", "48.0 \u00d7", "\u22120.125"):
            self.assertIn(words, cost)

    def test_markdown(self):
        for text, expected in (
                ("# A *b*", '<p class="heading" role="heading" aria-level="4">A <em>b</em></p>'),
                ("a\nb\n\nc", "<p>a\nb</p><p>c</p>"), ("- x\n- y\n  z", "<ul><li>x</li><li>y\nz</li></ul>"),
                ("3. x\n4. y", '<ol start="3"><li>x</li><li>y</li></ol>'), ("> q", "<blockquote>q</blockquote>"), ("a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"),
                ("2 * 3 * 4 and a_b_c", "<p>2 * 3 * 4 and a_b_c</p>"), ("`$x$ <b>`", "<p><code>$x$ &lt;b&gt;</code></p>"),
                ("\ue000 and \ue001", "<p>\ue000 and \ue001</p>"), ("**a `b` c**", "<p><strong>a <code>b</code> c</strong></p>"),
                ("|a|b|\n|-|-|\n|1|`x\\|y`|", '<tr><th class="text" scope="col">a</th><th class="text" scope="col">b</th></tr><tr><td class="text">1</td><td class="text"><code>x|y</code></td></tr>'),
                ("a | b\nc", "<p>a | b\nc</p>"), ("", ""), ("[x](javascript:a)", "<p>[x](javascript:a)</p>")):
            shown = self.script("const e = document.createElement('div'); render_markdown(e, arguments[0]); return (e.querySelector('table') ?? e).innerHTML", text)
            self.assertEqual(shown, expected, text)
        both = self.script("const e = document.createElement('div'); render_markdown(e, 'a \ue000 $y$'); return [e.querySelectorAll('math').length, e.textContent[2]]")
        self.assertEqual(both, [1, "\ue000"])

    def test_text_is_never_markup(self):
        self.ask(NASTY)
        self.assertIn(NASTY, self.texts(".question .text")[0])
        self.assertIn("<img src=x", self.texts(".answer-text")[0])
        self.assertEqual(self.texts(".prose b") + self.texts(".question b") + self.texts(".prose img"), [])
        self.assertEqual(self.script("return [...document.querySelectorAll('.prose a')].map(a => [a.href, a.rel])"), [["https://example.org/x", "noopener noreferrer"]])
        self.assertIsNone(self.script("return window.hacked ?? null"))
        self.assertIn("<b>bold", self.texts(".chat-name")[0])

    def test_several_turns_and_the_system_message_are_sent(self):
        self.press("#toggle-system")
        self.one("#system").send_keys("Be brief.", Keys.TAB)
        self.ask("first")
        self.ask("second")
        messages = self.server.requests[-1]["messages"]
        self.assertEqual([(m["role"], m["content"]) for m in messages],
                         [("system", "Be brief."), ("user", "first"), ("assistant", ANSWER), ("user", "second")])
        self.assertEqual(self.texts(".question .text"), ["first", "second"])
        self.press("#new-chat")
        self.assertEqual(self.texts(".question"), [])
        self.ask("third")
        self.assertEqual([m["content"] for m in self.server.requests[-1]["messages"]], ["third"])
        self.assertEqual(self.texts(".chat-name"), ["third", "first"])
        self.press(".chat-name", 1)
        self.assertEqual(self.texts(".question .text"), ["first", "second"])

    def test_settings_have_help_and_only_changes_are_sent(self):
        self.press(".chip .method")
        self.assertIn("contrastive beam search", self.one("#help-method").text)
        self.assertIn("Steering strength 1/alpha of the reward (default 0.25", self.one("#help-steer").text)
        self.assertIn("excellent reasoning", self.one("#help-contexts").text)
        self.press("#settings-close")
        self.configure(0, steer="0.7", aggregate="sum", contexts="brevity", seed=5)
        self.ask("one")
        search = self.server.requests[-1]["search"]
        self.assertEqual({k: v for k, v in search.items() if k != "id"},
                         {"method": "cbs", "steer": 0.7, "aggregate": "sum", "contexts": "brevity"})
        self.assertEqual(self.server.requests[-1]["seed"], 5)
        self.assertIn("steer 0.7", self.texts(".chip")[0])
        self.press(".chip .method")
        self.press("#settings-reset")
        self.press("#settings-close")
        self.assertEqual(self.texts(".chip"), ["cbs"])
        self.configure(0, "power", jackknife=False)
        self.ask("two")
        self.assertEqual({k: v for k, v in self.server.requests[-1]["search"].items() if k != "id"}, {"method": "power", "jackknife": False})
        self.configure(0, "token-contrast", policy="cfg")
        self.press(".chip .method")
        self.assertEqual(self.one("[data-setting=steer]").get_attribute("value"), "1.5", "a default that depends on another setting")
        self.press("#settings-close")

    def test_a_value_out_of_range_is_not_taken(self):
        self.press(".chip .method")
        field = self.one("[data-setting=beams]")
        field.clear()
        field.send_keys("0", Keys.TAB)
        self.assertEqual(field.get_attribute("aria-invalid"), "true")
        self.assertEqual(self.script("return chat.store.columns[0].values"), {})

    def test_methods_side_by_side_and_which_goes_on(self):
        self.add_column("beam", beams=4)
        self.add_column("mcmc-power")
        self.assertEqual(self.all(".add-column"), [])
        self.ask("same question")
        self.assertEqual([r["search"]["method"] for r in sorted(self.server.requests, key=lambda r: r["search"]["method"])], ["beam", "cbs", "mcmc-power"])
        self.assertEqual(self.texts(".answer h3"), ["cbs", "beam, beams 4", "mcmc-power"])
        boxes = self.script("return [...document.querySelectorAll('.answer')].map(e => e.getBoundingClientRect().top)")
        self.assertEqual(len(set(boxes)), 1, "side by side")
        self.assertEqual(len(self.texts(".cost")), 3)
        self.assertEqual(len(self.all(".answer.chosen h3")), 1)
        self.press(".choose", 1)
        self.assertEqual(self.texts(".answer.chosen h3"), ["beam, beams 4"])
        self.script("const m = Object.values(chat.store.current.messages).find(m => m.column?.method === 'beam'); m.content = 'from beam'")
        self.press(".choose", 1)
        self.press(".differences")
        self.assertEqual(self.texts(".answer.chosen mark"), ["from", "beam"])
        self.press(".differences")
        self.assertEqual(self.texts(".answer mark"), [])
        self.press(".chip .quiet", 2)
        self.press(".chip .quiet", 1)
        self.ask("next")
        self.assertEqual([m["content"] for m in self.server.requests[-1]["messages"]], ["same question", "from beam", "next"])

    def test_the_tree_grows_while_the_search_runs(self):
        self.server.steps = True
        self.ask("live", wait=False)
        web.wait_for(lambda: self.script("return !by_id('inspector').hidden"))
        self.assertIn("grows here", self.one("#candidate").text)
        for number in range(1, 4):
            self.server.blocks.release()
            web.wait_for(lambda: self.one(".blocks").text == f"block {number} of {number}", what=f"block {number}")
            self.assertEqual(self.script("return chat.tree.current.block"), number - 1)
            self.assertIn(f"{number} block", self.one(".working").text)
        self.assertIn("The product comes first", self.script("return document.querySelector('.answer-text').textContent"), "what all beams agree on is shown meanwhile")
        for _ in self.trace["blocks"]:
            self.server.blocks.release()
        self.finish()
        web.wait_for(lambda: self.script("return chat.tree.model.selected?.id") == self.trace["selected"])
        self.press(".prompts summary")
        prompts = web.wait_for(lambda: self.texts(".prompt .tokens"))
        self.assertEqual(len(prompts), 3)
        self.assertIn("excellent reasoning", prompts[1])
        self.press(".replay .first")
        self.assertEqual(self.one(".blocks").text, f"block 1 of {len(self.trace['blocks'])}")

    def test_a_node_that_the_reader_chose_stays_chosen_while_the_tree_grows(self):
        self.server.steps = True
        self.ask("live", wait=False)
        self.server.blocks.release()
        web.wait_for(lambda: self.script("return chat.tree.model.blocks.length") == 1)
        node = self.script("const n = chat.tree.model.blocks[0].at(-1); chat.tree.select(n); return n.id")
        self.server.blocks.release()
        web.wait_for(lambda: self.script("return chat.tree.model.blocks.length") == 2)
        self.assertEqual(self.script("return chat.tree.current.id"), node)
        for _ in self.trace["blocks"]:
            self.server.blocks.release()
        self.finish()
        web.wait_for(lambda: self.script("return chat.tree.model.pool.length"))
        self.assertEqual(self.script("return chat.tree.current.id"), node)

    def test_a_node_is_continued_in_a_branch(self):
        self.ask("question")
        web.wait_for(lambda: self.script("return chat.tree.model.pool.length"))
        self.select_node("chat.tree.model.blocks[1].find(n => n.fate === 'kept')")
        text = self.script("return chat.tree.model.text(sought)")
        self.press("#candidate .continue")
        self.finish()
        request = self.server.requests[-1]
        self.assertEqual(request["messages"], [{"role": "user", "content": "question"}, {"role": "assistant", "content": text}])
        self.assertTrue(request["continue_final_message"])
        self.assertFalse(request["add_generation_prompt"])
        self.assertEqual(self.texts(".branches .figure"), ["2 / 2"])
        self.assertTrue(self.script("return chosen_path(chat.store.current).at(-1).content").startswith(text))
        self.assertEqual(self.texts(".answer .badge"), ["continued"])
        self.press(".branches button", 0)
        self.assertEqual(self.texts(".branches .figure"), ["1 / 2"])

    def test_a_finished_candidate_is_taken_as_it_is(self):
        self.ask("question")
        web.wait_for(lambda: self.script("return chat.tree.model.pool.length"))
        self.select_node("chat.tree.model.pool.find(n => n !== chat.tree.model.selected)")
        self.assertEqual(self.one("#candidate .continue").text, "Take this answer")
        self.press("#candidate .continue")
        self.assertEqual(len(self.server.requests), 1)
        content = self.script("return chosen_path(chat.store.current).at(-1).content")
        self.assertEqual(content, re.sub(r"<\|im_end\|>$", "", self.script("return chat.tree.model.text(sought)")))
        self.ask("next")
        self.assertEqual(self.server.requests[-1]["messages"][1]["content"], content)

    def test_the_pool_at_another_strength_and_two_candidates(self):
        self.ask("question")
        web.wait_for(lambda: self.script("return chat.tree.model.pool.length"))
        self.script("const s = document.querySelector('.steer input'); s.value = 0; s.dispatchEvent(new Event('input'))")
        self.assertIn("Beam search would have chosen", self.one(".steer-words").text)
        self.press("#candidate .pin")
        self.select_node("chat.tree.model.blocks.at(-1).at(-1)")
        self.assertIn("Candidates", self.one("#candidate h2").text)
        self.assertEqual(len(self.all(".side")), 2)

    def test_editing_and_asking_again_keep_the_branches(self):
        self.ask("first")
        self.press(".edit")
        self.one(".edit-form textarea").clear()
        self.one(".edit-form textarea").send_keys("second")
        self.press(".edit-form .primary")
        self.finish()
        self.assertEqual(self.texts(".question .text"), ["second"])
        self.assertEqual(self.texts(".question .branches .figure"), ["2 / 2"])
        self.press(".question .branches button", 0)
        self.assertEqual(self.texts(".question .text"), ["first"])
        self.press(".again")
        self.finish()
        self.assertEqual(self.texts(".answer .branches .figure"), ["2 / 2"])
        self.assertEqual([m["content"] for m in self.server.requests[-1]["messages"]], ["first"])

    def test_a_reload_loses_nothing(self):
        self.add_column("beam")
        self.ask("kept")
        self.script("by_id('theme').value = 'dark'; by_id('theme').dispatchEvent(new Event('change'))")
        web.wait_for(lambda: self.script("return chat.tree.model.pool.length"))
        self.script("chat.store.save()")
        before = self.script("return JSON.stringify(chat.store.conversations)")
        self.server.trace = {"error": "the server has forgotten"}
        self.open(fresh=False)
        self.assertEqual(self.script("return JSON.stringify(chat.store.conversations)"), before)
        self.assertEqual(self.texts(".question .text"), ["kept"])
        self.assertEqual(self.texts(".chip .method"), ["cbs", "beam"])
        self.assertEqual(self.script("return [document.documentElement.dataset.theme, getComputedStyle(document.body).colorScheme]"), ["dark", "dark"])
        self.press(".tree-button")
        web.wait_for(lambda: self.script("return chat.tree.model.selected?.id") == self.trace["selected"], what="the kept trace")

    def test_what_ran_when_the_page_was_closed_is_stopped(self):
        self.server.steps = True
        self.ask("interrupted", wait=False)
        web.wait_for(lambda: self.server.requests)
        self.open(fresh=False)
        self.assertIn("Stopped", self.texts(".state")[0])
        for _ in self.trace["blocks"]:
            self.server.blocks.release()

    def test_export_and_import(self):
        place = web.folder()
        self.add_column("beam")
        self.ask("exported question")
        web.wait_for(lambda: self.script("return chat.tree.model.pool.length"))
        before = self.script("return JSON.stringify(chat.store.conversations)")
        path = web.download(self.page, lambda: self.press("#export"), place)
        self.assertEqual(path.name, "exported-question.json")
        content = json.loads(path.read_text())
        self.assertEqual([content["format"], content["version"], len(content["conversations"]), len(content["traces"])], ["counterbeam-chat", 1, 1, 2])
        self.open()
        self.assertEqual(self.texts(".question"), [])
        self.server.trace = {"error": "the server has forgotten"}
        self.one("#import-file").send_keys(str(path))
        web.wait_for(lambda: self.texts(".question .text") == ["exported question"], what="the imported chat")
        self.assertEqual(json.loads(self.script("return JSON.stringify(chat.store.conversations[0])")), json.loads(before)[0])
        self.press(".tree-button")
        web.wait_for(lambda: self.script("return chat.tree.model.selected?.id") == self.trace["selected"], what="the imported trace")
        self.one("#import-file").send_keys(str(path))
        web.wait_for(lambda: self.texts(".chat-name").count("exported question") == 2)
        everything = web.download(self.page, lambda: self.press("#export-all"), place)
        self.assertEqual(len(json.loads(everything.read_text())["conversations"]), len(self.texts(".chat-name")))

    def test_files_that_are_no_chats_are_refused_with_the_reason(self):
        place = web.folder()
        message = {"id": "m", "role": "user", "content": "x", "parent": None}
        chat = {"id": "a", "title": "t", "messages": {"m": message}, "chosen": {"": "m"}}
        wrap = lambda **changes: json.dumps({"format": "counterbeam-chat", "version": 1, "conversations": [chat | changes]})
        for text, expected in (("{", "not JSON"), ("[]", '"format"'), ('{"format": "counterbeam-chat", "version": 2}', "version 2"),
                               ('{"format": "counterbeam-chat", "version": 1}', '"conversations"'), (wrap(title=7), 'no text "title"'),
                               (wrap(messages={"m": message | {"role": "robot"}}), "neither user nor assistant"),
                               (wrap(messages={"m": message | {"parent": "m"}}), "its own ancestor"),
                               (wrap(messages={"m": message | {"parent": "z"}}), "parent is missing")):
            (place / "file.json").write_text(text)
            self.one("#import-file").send_keys(str(place / "file.json"))
            web.wait_for(lambda: expected in self.one("#notice").text, 10, expected)
            self.assertEqual(self.script("return chat.store.conversations.length"), 1)

    def test_chats_can_be_renamed(self):
        self.ask("one")
        self.script("window.prompt = () => ' Another name '; document.querySelector('.rename').click()")
        self.assertEqual([self.texts(".chat-name"), self.one("#title").text], [["Another name"], "Another name"])
        self.open(fresh=False)
        self.assertEqual(self.texts(".chat-name"), ["Another name"])

    def test_two_tabs_keep_the_chats_of_both(self):
        first = self.page.current_window_handle
        self.page.switch_to.new_window("tab")
        second = self.page.current_window_handle
        try:
            self.open(fresh=False)
            self.press("#new-chat")
            self.ask("in the second tab")
            self.script("chat.store.save()")
            self.page.switch_to.window(first)
            web.wait_for(lambda: "in the second tab" in self.texts(".chat-name"), what="the chat of the other tab")
            self.ask("in the first tab")
            self.script("chat.store.save()")
            self.open(fresh=False)
            self.assertEqual(sorted(self.texts(".chat-name")), ["in the first tab", "in the second tab"])
        finally:
            self.page.switch_to.window(second)
            self.page.close()
            self.page.switch_to.window(first)

    def test_a_full_storage_is_told(self):
        self.script("Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }")
        self.ask("one")
        web.wait_for(lambda: "storage is full" in self.one("#notice").text)

    def test_chats_are_deleted_after_a_question(self):
        self.ask("one")
        self.script("window.confirm = () => true; document.querySelector('.remove').click()")
        self.assertEqual(self.texts(".question"), [])
        self.assertEqual(self.texts(".chat-name"), ["New chat"])

    def test_stop_cancels_the_search(self):
        self.server.steps = True
        self.ask("long", wait=False)
        web.wait_for(lambda: self.server.requests)
        self.press("#stop")
        self.finish()
        self.assertEqual(self.server.cancelled, [self.server.requests[0]["search"]["id"]])
        self.assertIn("Stopped: the best answer so far.", self.texts(".state")[0])
        self.assertTrue(self.one("#send").is_displayed())
        for _ in self.trace["blocks"]:
            self.server.blocks.release()

    def test_failures_say_what_is_wrong(self):
        for failure, words in (("refused", "search.beams: 0 is out of range"), ("broken", "connection to the server was lost"), ("error", "ran out of memory")):
            self.server.failure = failure
            self.ask(f"{failure}?")
            self.assertIn(words, self.texts(".state")[-1])
        self.server.failure = None
        self.press(".again", 2)
        self.finish()
        self.assertIn("40 tokens", self.texts(".state")[-1])

    def test_a_key_is_asked_for(self):
        self.server.key = "secret"
        self.page.get(self.server.url)
        web.wait_for(lambda: self.one("#key-dialog").is_displayed())
        self.one("#key").send_keys("wrong", Keys.ENTER)
        web.wait_for(lambda: self.one("#key-dialog").is_displayed())
        self.one("#key").clear()
        self.one("#key").send_keys("secret", Keys.ENTER)
        web.wait_for(lambda: self.script("return Boolean(chat)"))
        self.ask("with a key")
        self.assertEqual(len(self.server.requests), 1)

    def test_a_server_that_is_gone(self):
        self.server.failure = "gone"
        self.ask("anyone?")
        self.assertIn("does not answer", self.texts(".state")[0])

    def test_no_other_host_is_asked(self):
        self.ask("question")
        names = self.script("return performance.getEntriesByType('resource').map(e => e.name)")
        self.assertEqual([name for name in names if not name.startswith(self.server.url) and not name.startswith("data:")], [])
        policy = self.script("return document.querySelector('meta[http-equiv=Content-Security-Policy]').content")
        self.assertIn("default-src 'none'", policy)
        blocked = self.page.execute_async_script("document.addEventListener('securitypolicyviolation', e => arguments[0](e.effectiveDirective)); fetch('http://127.0.0.2:9/').catch(() => {})")
        self.assertEqual(blocked, "connect-src")

    def test_can_be_read_by_everyone(self):
        self.check_for_everyone()
        self.add_column("beam")
        self.ask("question")
        self.script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        self.check_for_everyone()
        stops = web.tab_stops(self.page, 100)
        self.assertGreater(len(stops), 25)
        self.assertEqual([stop for stop in stops if not stop[2]], [], "every stop of the Tab key can be seen")
        self.press(".chip .method")
        self.script("document.querySelectorAll('dialog details').forEach(d => { d.open = true; })")
        self.check_for_everyone()

    def test_a_phone(self):
        web.emulate(self.page, 390)
        self.addCleanup(web.emulate, self.page)
        self.assertFalse(self.one("#sidebar").is_displayed())
        self.add_column("beam")
        self.ask("question")
        self.assertFalse(self.one("#inspector").is_displayed(), "the tree would cover the answer")
        tops = self.script("return [...document.querySelectorAll('.answer')].map(e => e.getBoundingClientRect().top)")
        self.assertGreater(tops[1], tops[0], "one below the other")
        self.press(".tree-button")
        self.assertTrue(self.one("#inspector").is_displayed())
        self.press("#hide-tree")
        self.assertFalse(self.one("#inspector").is_displayed())
        self.press("#show-chats")
        self.assertTrue(self.one("#sidebar").is_displayed())
        self.press("#hide-chats")
        self.assertFalse(self.one("#sidebar").is_displayed())


class ServedChat(ChatTest):
    """The page with the server it belongs to."""

    @classmethod
    def setUpClass(cls):
        if not has_server():
            raise unittest.SkipTest("the program has no command serve")
        cls.server = Server()
        cls.page = web.open_browser()

    @classmethod
    def tearDownClass(cls):
        cls.page.quit()
        cls.server.close()

    def setUp(self):
        self.open()
        self.script("window.grown = []; const grew = chat.asker.events.grew; chat.asker.events.grew = (m, b) => { grown.push(m.id); grew(m, b); }")

    def answers(self):
        return self.script("return chosen_path(chat.store.current).filter(m => m.role === 'assistant')")

    def test_answers_and_costs_are_those_of_the_command_line(self):
        question = "Compute 7 * 3^2 + 24."
        self.configure(0, "cbs", steer="0.7", block=8, seed=5)
        self.add_column("beam", block=8, seed=5)
        self.ask(question)
        group = self.script("return Object.values(chat.store.current.messages).filter(m => m.role === 'assistant').map(m => [m.content, m.cost, m.usage, m.state])")
        for (content, cost, usage, state), options in zip(group, (("--steer", "0.7"), ("--method", "beam")), strict=True):
            told = json.loads(web.run("ask", question, "--json", "--block", "8", "--seed", "5", *options))
            self.assertEqual([state, content.strip()], ["done", told["answer"].strip()])
            for key in ("generated_tokens", "scored_tokens"):
                self.assertEqual(cost[key], told[key], key)
            self.assertEqual(usage["completion_tokens"], told["tokens"] if isinstance(told["tokens"], int) else len(told["tokens"]))
            self.assertAlmostEqual(cost["score"], told["score"], places=4)
        self.assertEqual(len(self.script("return [...new Set(grown)]")), 2, "both trees grew while they ran")
        self.assertEqual(web.complaints(self.page), [])

    def test_the_tree_of_a_real_search(self):
        self.configure(0, "cbs", steer="0.7", block=4, temperature="1.3")
        self.ask("What is 17 + 4 * 6?")
        web.wait_for(lambda: self.script("return chat.tree.model.pool.length"), what="the whole trace")
        self.assertEqual(self.script("return chat.tree.model.answer_text(chat.tree.model.selected)").strip(), self.answers()[0]["content"].strip())
        self.assertIn("0.7", self.script("return document.querySelector('.formula math').getAttribute('title')"))
        self.press(".prompts summary")
        prompts = web.wait_for(lambda: self.texts(".prompt .tokens"))
        self.assertEqual(len(prompts), 3)
        self.assertIn("excellent reasoning", prompts[1])
        self.assertIn("What is 17 + 4 * 6?", prompts[0])
        self.assertTrue(self.one(".steer").is_displayed())
        self.select_node("chat.tree.model.blocks[2].find(n => n.fate === 'kept')")
        text = self.script("return chat.tree.model.text(sought)")
        self.press("#candidate .continue")
        self.finish()
        last = self.answers()[-1]
        self.assertEqual(last["state"], "done", last)
        self.assertTrue(last["content"].startswith(text) and len(last["content"]) > len(text), last["content"])
        self.assertEqual(self.texts(".branches .figure"), ["2 / 2"])
        self.assertEqual(web.complaints(self.page), [])

    def test_several_turns_a_reload_and_the_trace_from_the_server(self):
        self.configure(0, "beam", beams=4, block=8)
        self.ask("Compute 3 + 4.")
        self.ask("Compute 5 + 6.")
        self.assertEqual([m["state"] for m in self.answers()], ["done", "done"])
        self.page.execute_async_script("chat.traces.forget(Object.values(chat.store.current.messages).at(-1).search).then(() => arguments[0]())")
        self.open(fresh=False)
        self.assertEqual(self.texts(".question .text"), ["Compute 3 + 4.", "Compute 5 + 6."])
        self.press(".tree-button", 1)
        web.wait_for(lambda: self.script("return chat.tree.model.selected?.id !== undefined"), what="the trace from the server")

    def test_every_method_of_the_server_answers(self):
        names = [method["name"] for method in json.loads(self.server.get("v1/methods"))["data"]]
        small = {"beams": 4, "prune": 2, "block": 8, "max-tokens": 48, "draws": 4, "candidates": 2, "rollouts": 2, "steps": 2}
        for name in names:
            self.script("""const method = chat.catalogue.method(arguments[0]); chat.store.columns = [{method: method.name, values: Object.fromEntries(
                           Object.entries(arguments[1]).filter(([key]) => method.settings.some(s => s.name === key)))}]; chat.columns.show(); by_id('new-chat').click()""", name, small)
            self.ask("Compute 2 + 2.")
            message = self.answers()[-1]
            self.assertEqual(message["state"], "done", (name, message))
            self.assertGreater(len(message["content"]), 5, name)
        self.assertEqual(web.complaints(self.page), [])

    def test_stop_gives_the_best_answer_so_far(self):
        self.configure(0, "cbs", beams=64, block=2, max_tokens=3000, temperature="3")
        self.ask("Compute 12 + 3 * 7 - 4 * 5.", wait=False)
        web.wait_for(lambda: self.script("return grown.length > 1"), what="the second block")
        self.press("#stop")
        self.finish()
        message = self.answers()[-1]
        self.assertEqual(message["state"], "stopped", message)
        self.assertGreater(message["cost"]["generated_tokens"], 0, "the server ended it")
        self.assertGreater(len(message["content"]), 0)
        self.assertEqual(web.complaints(self.page), [])

    def test_the_server_says_what_is_wrong_with_a_setting(self):
        self.configure(0, "cbs", prune=32)
        self.ask("Compute 2 + 2.")
        self.assertIn("prune", self.texts(".state .alarm")[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
