"""The requests that open-webui makes of an OpenAI connection, replayed. The bodies follow its back end, which passes on
what its page sends; open_webui_program_test.py runs the program itself."""
import json
import unittest
import urllib.error
import urllib.request

from served import QUESTION, Server

TITLE = ("### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Output:\nJSON format: "
         "{ \"title\": \"your concise title here\" }\n### Chat History:\n<chat_history>\nUSER: " + QUESTION + "\n</chat_history>")


class OpenWebuiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--api-key", "secret", "--alias", "strong=cbs:steer=0.7")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def send(self, path, body=None, key="secret"):
        request = urllib.request.Request(self.server.url + path, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json",
                                                  "X-OpenWebUI-User-Name": "kim"})
        return urllib.request.urlopen(request, timeout=60)

    def test_the_connection_is_verified_by_the_list_of_models(self):
        with self.send("/models") as answer:
            self.assertIn("application/json", answer.headers["Content-Type"])
            models = json.load(answer)["data"]
        self.assertIn("strong", [model["id"] for model in models])
        with self.assertRaises(urllib.error.HTTPError) as caught:
            self.send("/models", key="wrong")
        self.assertEqual(caught.exception.code, 401)
        self.assertIn("message", json.load(caught.exception)["error"])

    def test_a_question_is_streamed(self):
        body = {"stream": True, "model": "strong", "messages": [{"role": "user", "content": QUESTION}],
                "stream_options": {"include_usage": True}, "seed": 1}
        with self.send("/chat/completions", body) as answer:
            # The back end passes a stream on by its content type, and anything else as JSON.
            self.assertIn("text/event-stream", answer.headers["Content-Type"])
            lines = [line.decode().rstrip("\n") for line in answer]
        data = [line[6:] for line in lines if line.startswith("data: ")]
        self.assertEqual(data[-1], "[DONE]")
        self.assertTrue(all(not line or line.startswith((":", "data: ")) for line in lines), "one event is one line")
        chunks = [json.loads(one) for one in data[:-1]]
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
        self.assertIn("boxed", "".join(delta.get("content") or "" for delta in deltas))
        self.assertTrue("".join(delta.get("reasoning_content") or "" for delta in deltas))
        self.assertEqual([chunk["usage"]["total_tokens"] > 0 for chunk in chunks if chunk.get("usage")], [True])

    def test_titles_and_tags_are_not_streamed(self):
        before = self.server_tokens()
        with self.send("/chat/completions", {"model": "tiny-dense", "stream": False, "max_tokens": 1000,
                                             "messages": [{"role": "user", "content": TITLE}]}) as answer:
            reply = json.load(answer)
        self.assertIsInstance(reply["choices"][0]["message"]["content"], str)
        self.assertEqual(self.server_tokens() - before, reply["usage"]["completion_tokens"], "plain sampling draws no more than it returns")

    def server_tokens(self):
        request = urllib.request.Request(self.server.root + "/metrics", headers={"Authorization": "Bearer secret"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith("counterbeam:generated_tokens_total{"):
                    return float(line.split()[-1])
        raise AssertionError("no such metric")

    def test_a_chat_that_goes_on(self):
        body = {"stream": False, "model": "strong", "messages": [
            {"role": "system", "content": "You are brief."}, {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": "33"}, {"role": "user", "content": [{"type": "text", "text": "Compute 5 * 6."}]}]}
        with self.send("/chat/completions", body) as answer:
            self.assertTrue(json.load(answer)["choices"][0]["message"]["content"])


if __name__ == "__main__":
    unittest.main()
