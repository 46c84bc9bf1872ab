"""openai-python against the server: /v1/completions, with its log-probabilities and echo."""
import unittest

from openai import OpenAI

from served import Server

PROMPT = "Compute 12 + 3 * 7."


class CompletionsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.client = OpenAI(base_url=cls.server.url, api_key="none", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.stop()

    def complete(self, prompt=PROMPT, **fields):
        return self.client.completions.create(model="tiny-dense", prompt=prompt, **{"temperature": 0, **fields})

    def ids(self, text):
        return self.complete(text, max_tokens=1, extra_body={"return_token_ids": True}).choices[0].prompt_token_ids

    def test_every_form_of_a_prompt(self):  # 17, 24, 25, 29
        other = "Compute 5 * 6."
        texts = [self.complete(text).choices[0].text for text in (PROMPT, other)]
        ids, other_ids = self.ids(PROMPT), self.ids(other)
        self.assertEqual([choice.text for choice in self.complete([PROMPT, other]).choices], texts)
        self.assertEqual(self.complete(ids).choices[0].text, texts[0])
        both = self.complete([ids, other_ids], n=2, temperature=1, seed=1)
        self.assertEqual([choice.index for choice in both.choices], [0, 1, 2, 3])
        self.assertEqual(self.complete([ids, other_ids]).usage.prompt_tokens, len(ids) + len(other_ids))
        self.assertEqual([choice.text for choice in self.complete([ids, other_ids]).choices], texts)

    def test_sixteen_tokens_unless_told(self):  # 23
        reply = self.complete()
        self.assertEqual(reply.usage.completion_tokens, 16)
        self.assertEqual((reply.object, reply.choices[0].finish_reason), ("text_completion", "length"))
        self.assertTrue(reply.id.startswith("cmpl-"))

    def test_echo_has_prompt_and_one_entries(self):  # 18, 19, 20
        ids = self.ids("a \u20ac b")
        found = self.complete(ids, echo=True, logprobs=1, max_tokens=1).choices[0]
        scores = found.logprobs
        for entries in (scores.tokens, scores.token_logprobs, scores.top_logprobs, scores.text_offset):
            self.assertEqual(len(entries), len(ids) + 1)
        self.assertIsNone(scores.token_logprobs[0])
        self.assertIsNone(scores.top_logprobs[0])
        for token, value, tops in list(zip(scores.tokens, scores.token_logprobs, scores.top_logprobs))[1:]:
            self.assertEqual(tops[token], value)
        self.assertEqual(scores.text_offset, sorted(scores.text_offset))
        self.assertTrue(found.text.startswith("a \u20ac b"))

    def test_zero_tokens_with_echo(self):  # 22
        found = self.complete(echo=True, logprobs=0, max_tokens=0).choices[0]
        self.assertEqual(found.text, PROMPT)
        self.assertEqual(len(found.logprobs.tokens), len(self.ids(PROMPT)))

    def test_as_many_log_probabilities_as_asked(self):  # 21
        for number in (0, 1, 20):
            tops = self.complete(logprobs=number, max_tokens=3).choices[0].logprobs.top_logprobs
            self.assertEqual([len(top) for top in tops], [max(number, 1)] * 3)

    def test_prompt_log_probabilities(self):  # 30
        reply = self.complete(max_tokens=1, extra_body={"prompt_logprobs": 1})
        self.assertEqual(len(reply.prompt_logprobs), reply.usage.prompt_tokens)
        self.assertIsNone(reply.prompt_logprobs[0])

    def test_stop_across_tokens_and_stream(self):  # 26
        whole = self.complete(max_tokens=40).choices[0].text
        marker = whole[7:14]
        cut = self.complete(max_tokens=40, stop=[marker]).choices[0]
        self.assertEqual((cut.text, cut.finish_reason), (whole[:whole.index(marker)], "stop"))
        chunks = list(self.complete(max_tokens=40, stop=[marker], stream=True))
        self.assertEqual("".join(chunk.choices[0].text for chunk in chunks), cut.text)
        self.assertEqual(chunks[-1].choices[0].finish_reason, "stop")

    def test_temperature_zero_is_greedy_and_seeds_repeat(self):  # 27, 28
        self.assertEqual(self.complete(seed=1).choices[0].text, self.complete(seed=2).choices[0].text)
        first, again, other = (self.complete(seed=seed, temperature=2).choices[0].text for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)


if __name__ == "__main__":
    unittest.main()
