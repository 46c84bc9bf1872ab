"""openai-python against the server: chat, streams, models. The numbers are lines of the conformance list."""
import asyncio
import unittest

from openai import AsyncOpenAI, OpenAI

from served import QUESTION, Server, run, MODELS

MESSAGES = [{"role": "user", "content": QUESTION}]


def text_of(stream):
    """The pieces of a stream put together: {index: (content, reasoning, finish_reason)}, and its last chunks."""
    choices, usage, search = {}, None, None
    for chunk in stream:
        usage = chunk.usage or usage
        search = getattr(chunk, "search", None) or search
        for choice in chunk.choices:
            content, reasoning, finish = choices.get(choice.index, ("", "", None))
            choices[choice.index] = (content + (choice.delta.content or ""),
                                     reasoning + (getattr(choice.delta, "reasoning_content", None) or ""),
                                     choice.finish_reason or finish)
    return choices, usage, search


class ChatTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--alias", "strong=cbs:steer=0.7")
        cls.client = OpenAI(base_url=cls.server.url, api_key="none", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.stop()

    def chat(self, model="tiny-dense", messages=MESSAGES, **fields):
        return self.client.chat.completions.create(model=model, messages=messages, **fields)

    def test_models(self):  # 1, 2, 3
        ids = [model.id for model in self.client.models.list()]
        self.assertEqual(len(ids), len(set(ids)))
        for name in ("tiny-dense", "tiny-dense@cbs", "tiny-dense@beam", "tiny-dense@self-consistency", "strong"):
            self.assertIn(name, ids)
            self.assertEqual(self.client.models.retrieve(name).id, name)
        self.assertEqual(self.client.models.retrieve("tiny-dense@cbs:steer=0.7").object, "model")

    def test_a_search_answers_as_ask_does(self):
        reply = self.chat("tiny-dense@cbs:steer=0.7", seed=7)
        asked = run("ask", QUESTION, "--model", MODELS / "tiny-dense", "--method", "cbs:steer=0.7", "--seed", 7, "-q").strip()
        message = reply.choices[0].message
        self.assertEqual(f"<think> {message.reasoning_content} </think> {message.content}", asked)
        self.assertEqual((reply.object, reply.model), ("chat.completion", "tiny-dense@cbs:steer=0.7"))
        self.assertTrue(reply.id.startswith("chatcmpl-"))
        self.assertTrue(reply.system_fingerprint)
        self.assertEqual(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens)
        self.assertGreater(reply.search["generated_tokens"], reply.usage.completion_tokens)
        self.assertGreater(reply.search["scored_tokens"], 0)

    def test_settings_in_extra_body_an_alias_and_the_name_are_the_same(self):
        answers = {self.chat("strong", seed=3).choices[0].message.content,
                   self.chat("tiny-dense@cbs:steer=0.7", seed=3).choices[0].message.content,
                   self.chat("tiny-dense", seed=3, extra_body={"search": {"method": "cbs", "steer": 0.7}}).choices[0].message.content}
        self.assertEqual(len(answers), 1)

    def test_parts_roles_and_names(self):  # 31, 38
        whole = self.chat(temperature=0).choices[0].message
        parts = self.chat(messages=[{"role": "user", "content": [{"type": "text", "text": QUESTION}]}], temperature=0)
        self.assertEqual(parts.choices[0].message.content, whole.content)
        tokens = [self.chat(messages=[{"role": role, "content": "Be brief."},
                                      {"role": "user", "content": "Compute 1 + 1.", "name": "kim"},
                                      {"role": "assistant", "content": "2"}, *MESSAGES],
                            temperature=0, max_tokens=8).usage.prompt_tokens for role in ("system", "developer")]
        self.assertEqual(tokens[0], tokens[1])
        self.assertNotEqual(tokens[0], parts.usage.prompt_tokens)

    def test_max_tokens_by_both_names_ends_with_length(self):  # 32, 34
        for name in ("max_tokens", "max_completion_tokens"):
            reply = self.chat(temperature=0, **{name: 5})
            self.assertEqual((reply.choices[0].finish_reason, reply.usage.completion_tokens), ("length", 5))
        self.assertEqual(self.chat(temperature=0).choices[0].finish_reason, "stop")

    def test_log_probabilities(self):  # 33
        reply = self.chat(temperature=0, logprobs=True, top_logprobs=5, max_tokens=20, extra_body={"reasoning_format": "none"})
        content = reply.choices[0].logprobs.content
        self.assertEqual(len(content), 20)
        for token in content:
            self.assertEqual(bytes(token.bytes).decode(), token.token)
            self.assertEqual(len(token.top_logprobs), 5)
            tops = [top.logprob for top in token.top_logprobs]
            self.assertEqual(tops, sorted(tops, reverse=True))
            self.assertEqual((token.token, token.logprob), (token.top_logprobs[0].token, tops[0]))  # greedy
        self.assertEqual("".join(token.token for token in content), reply.choices[0].message.content)
        self.assertIsNone(self.chat(temperature=0, max_tokens=2).choices[0].logprobs)

    def test_thoughts_apart_or_within(self):  # 36
        message = self.chat(temperature=0).choices[0].message
        self.assertTrue(message.reasoning_content)
        self.assertEqual(message.reasoning, message.reasoning_content)
        within = self.chat(temperature=0, extra_body={"reasoning_format": "none"}).choices[0].message
        self.assertTrue(within.content.startswith("<think>"))
        self.assertFalse(getattr(within, "reasoning_content", None))

    def test_an_answer_can_be_continued(self):  # 37
        whole = self.chat(temperature=0, extra_body={"reasoning_format": "none"}).choices[0].message.content
        start = whole[:whole.index(". ") + 1]
        rest = self.chat(messages=[*MESSAGES, {"role": "assistant", "content": start}], temperature=0,
                         extra_body={"continue_final_message": True, "add_generation_prompt": False, "reasoning_format": "none"})
        self.assertEqual(start + rest.choices[0].message.content, whole)

    def test_seeds_and_several_answers(self):  # 27, 35
        three = self.chat(n=3, seed=11, temperature=1)
        self.assertEqual([choice.index for choice in three.choices], [0, 1, 2])
        for choice in three.choices:
            alone = self.chat(seed=11 + choice.index, temperature=1).choices[0].message
            self.assertEqual((alone.content, alone.reasoning_content), (choice.message.content, choice.message.reasoning_content))
        distinct = [c.message.reasoning_content for c in self.chat("tiny-dense@cbs", n=3, seed=1).choices]
        self.assertEqual(len(set(distinct)), len(distinct))

    def test_stop_texts_are_never_shown(self):  # 26
        reply = self.chat(temperature=0, stop=["comes fir", "never there"], extra_body={"reasoning_format": "none"})
        self.assertEqual(reply.choices[0].finish_reason, "stop")
        whole = self.chat(temperature=0, extra_body={"reasoning_format": "none"}).choices[0].message.content
        marker = whole[20:29]
        cut = self.chat(temperature=0, stop=marker, extra_body={"reasoning_format": "none"}).choices[0].message.content
        self.assertEqual(cut, whole[:whole.index(marker)])

    def test_streams_are_the_whole_answer(self):  # 40, 41, 42
        for model in ("tiny-dense", "tiny-dense@cbs:steer=0.7", "tiny-dense@beam"):
            whole = self.chat(model, seed=5)
            chunks = list(self.chat(model, seed=5, stream=True, stream_options={"include_usage": True}))
            choices, usage, search = text_of(chunks)
            message = whole.choices[0].message
            self.assertEqual(choices, {0: (message.content, message.reasoning_content, "stop")})
            self.assertEqual((usage.prompt_tokens, usage.completion_tokens), (whole.usage.prompt_tokens, whole.usage.completion_tokens))
            self.assertEqual(search["generated_tokens"], whole.search["generated_tokens"])
            self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
            self.assertEqual([len(chunk.choices) for chunk in chunks].count(0), 1)
            self.assertEqual(chunks[-1].choices, [])
            self.assertEqual(chunks[-2].choices[0].delta.model_dump(exclude_none=True), {})
            self.assertEqual({chunk.id for chunk in chunks}, {chunks[0].id})
            self.assertEqual({chunk.object for chunk in chunks}, {"chat.completion.chunk"})
        without = list(self.chat(seed=5, stream=True))
        self.assertTrue(all(chunk.choices and chunk.usage is None for chunk in without))

    def test_streams_of_several_answers_and_log_probabilities(self):
        fields = {"n": 2, "seed": 2, "temperature": 1, "logprobs": True, "top_logprobs": 2}
        whole = self.chat(**fields)
        streamed = {0: [], 1: []}
        for chunk in self.chat(stream=True, **fields):
            for choice in chunk.choices:
                if choice.logprobs:
                    streamed[choice.index] += choice.logprobs.content
        for choice in whole.choices:
            self.assertEqual(streamed[choice.index], choice.logprobs.content)

    def test_the_accumulating_stream_helper(self):
        with self.client.chat.completions.stream(model="tiny-dense@cbs", messages=MESSAGES, seed=4) as stream:
            pieces = [event.delta for event in stream if event.type == "content.delta"]
            final = stream.get_final_completion()
        self.assertEqual("".join(pieces), final.choices[0].message.content)
        self.assertEqual(final.choices[0].finish_reason, "stop")

    def test_async_answers_are_those_given_alone(self):  # 50
        alone = {seed: self.chat("tiny-dense@cbs:beams=4", seed=seed).choices[0].message for seed in range(8)}

        async def one(client, seed):
            if seed % 2:
                return (await client.chat.completions.create(model="tiny-dense@cbs:beams=4", messages=MESSAGES, seed=seed)).choices[0].message.content
            stream = await client.chat.completions.create(model="tiny-dense@cbs:beams=4", messages=MESSAGES, seed=seed, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

        async def together():
            async with AsyncOpenAI(base_url=self.server.url, api_key="none", max_retries=0) as client:
                return await asyncio.gather(*(one(client, seed) for seed in alone))

        self.assertEqual(asyncio.run(together()), [message.content for message in alone.values()])


if __name__ == "__main__":
    unittest.main()
