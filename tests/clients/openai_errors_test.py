"""openai-python against the server: what is refused and how, keys, retries, timeouts and going away."""
import threading
import unittest

import httpx
import openai
from openai import OpenAI

from served import QUESTION, Server

MESSAGES = [{"role": "user", "content": QUESTION}]
# Runs for seconds: at this temperature the model hardly ever ends an answer.
LONG = {"model": "tiny-dense", "prompt": QUESTION, "max_tokens": 900, "n": 32, "temperature": 5}


class ErrorsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.client = OpenAI(base_url=cls.server.url, api_key="any", max_retries=0)  # 9

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.stop()

    def refused(self, param, kind=openai.BadRequestError, **fields):
        with self.assertRaises(kind) as caught:
            self.client.chat.completions.create(**{"model": "tiny-dense", "messages": MESSAGES, **fields})
        self.assertEqual(caught.exception.param, param)
        self.assertTrue(caught.exception.body["message"])
        self.assertTrue(caught.exception.request_id)
        return caught.exception

    def test_what_is_not_supported_is_named(self):  # 10, 11, 15, 16
        tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
        self.refused("tools", tools=[tool])
        self.refused("response_format", response_format={"type": "json_object"})
        self.refused("frequency_penalty", frequency_penalty=1)
        self.refused("presence_penalty", presence_penalty=1)
        self.refused("logit_bias", logit_bias={"5": 1})
        self.refused("modalities", modalities=["text", "audio"])
        self.refused("messages[0].content[0].type", messages=[{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]}])
        # What says no more than the default is taken.
        self.client.chat.completions.create(model="tiny-dense", messages=MESSAGES, max_tokens=1, tools=[], frequency_penalty=0,
                                            presence_penalty=0, logit_bias={}, response_format={"type": "text"}, modalities=["text"],
                                            user="kim", store=False, service_tier="auto", parallel_tool_calls=False, metadata={})

    def test_wrong_values_are_named(self):
        self.refused("temperature", temperature="warm")
        self.refused("temperature", temperature=-1)
        self.refused("top_p", top_p=2)
        self.refused("n", n=0)
        self.refused("max_tokens", max_tokens=0)
        self.refused("top_logprobs", logprobs=True, top_logprobs=21)
        self.refused("stop", stop=["x"] * 17)
        self.refused("messages", messages=[])
        self.refused("messages[0].role", messages=[{"role": "robot", "content": "x"}])
        self.refused("search.steer", extra_body={"search": {"method": "cbs", "steer": "much"}})
        long = self.refused("messages", messages=[{"role": "user", "content": QUESTION * 400}])  # 49
        self.assertRegex(str(long), r"1024|1,024")

    def test_an_unknown_model(self):
        error = self.refused("model", openai.NotFoundError, model="gpt-4")
        self.assertEqual(error.code, "model_not_found")
        self.assertIn("tiny-dense@cbs", str(error))
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("gpt-4")

    def test_paths_of_the_api_that_are_not_here(self):
        for call in (lambda: self.client.embeddings.create(model="tiny-dense", input="x"),
                     lambda: self.client.responses.create(model="tiny-dense", input="x")):
            with self.assertRaises(openai.NotFoundError):
                call()

    def test_keys(self):
        with Server("--api-key", "secret") as server:
            OpenAI(base_url=server.url, api_key="secret").models.list()
            for key in ("wrong", "secret2"):
                with self.assertRaises(openai.AuthenticationError):
                    OpenAI(base_url=server.url, api_key=key, max_retries=0).models.list()
            self.assertIn("ok", server.get("/health"))  # 5

    def test_a_timeout_frees_the_search(self):  # 46
        with self.assertRaises(openai.APITimeoutError):
            self.client.with_options(timeout=1).completions.create(**LONG)
        self.server.wait_idle()

    def test_a_closed_stream_frees_the_search(self):  # 46
        stream = self.client.completions.create(**LONG, stream=True)
        next(iter(stream))
        stream.close()
        self.server.wait_idle()


class RetryTest(unittest.TestCase):
    def test_a_full_server_is_tried_again(self):  # 13, 48
        with Server("--searches", "1", "--queue", "0") as server:
            stream = OpenAI(base_url=server.url, api_key="none").completions.create(**LONG, stream=True)
            next(iter(stream))
            ask = {"model": "tiny-dense", "messages": MESSAGES, "max_tokens": 4}
            with self.assertRaises(openai.RateLimitError) as caught:
                OpenAI(base_url=server.url, api_key="none", max_retries=0).chat.completions.create(**ask)
            self.assertGreaterEqual(int(caught.exception.response.headers["retry-after"]), 1)
            self.assertNotIn("x-should-retry", caught.exception.response.headers)
            statuses = []

            def seen(response):
                statuses.append(response.status_code)
                if response.status_code == 429:
                    stream.close()  # from now on there is room

            with httpx.Client(event_hooks={"response": [seen]}) as http:
                client = OpenAI(base_url=server.url, api_key="none", max_retries=10, http_client=http)
                raw = client.chat.completions.with_raw_response.create(**ask)
            self.assertGreaterEqual(raw.retries_taken, 1)
            self.assertEqual((statuses[0], statuses[-1]), (429, 200))
            self.assertEqual(raw.parse().usage.completion_tokens, 4)

    def test_a_draining_server_finishes_what_runs_and_refuses_the_rest(self):
        server = Server()
        client = OpenAI(base_url=server.url, api_key="none", max_retries=0)
        stream = client.completions.create(**{**LONG, "n": 8}, stream=True)
        chunks = iter(stream)
        next(chunks)
        stopper = threading.Thread(target=server.stop)
        stopper.start()
        statuses = set()
        while not statuses:
            try:
                client.chat.completions.create(model="tiny-dense", messages=MESSAGES, max_tokens=1)
            except openai.InternalServerError as error:
                self.assertEqual(error.status_code, 503)
                self.assertIn("retry-after", error.response.headers)
                statuses.add(503)
            except openai.APIConnectionError:
                statuses.add("closed")
        finished = {choice.index for chunk in chunks for choice in chunk.choices if choice.finish_reason}
        self.assertEqual(finished, set(range(8)))
        stopper.join()
        self.assertEqual(server.process.returncode, 0)


if __name__ == "__main__":
    unittest.main()
