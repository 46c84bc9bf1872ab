"""A model whose engine is a server: `counterbeam serve` of the same wheel. Its draws are keyed, so answers are those of a local model."""
import pytest
from conftest import QUESTION, SHORT, serving
from test_engine import example

import counterbeam as cb


def test_a_served_model_gives_the_answers_of_a_local_one():
    with serving("--dtype", "f32") as url:
        remote = cb.LanguageModel("tiny-dense", engine=url)
        local = cb.LanguageModel("tiny-dense", device="cpu", dtype="f32")
        for options in (dict(method="greedy", max_tokens=64), SHORT, dict(method="best-of-n", beams=3, max_tokens=48, seed=4)):
            mine, expected = remote.ask(QUESTION, **options), local.ask(QUESTION, **options)
            assert mine.tokens == expected.tokens and mine.score == expected.score
        assert [one.text for one in remote.ask([QUESTION] * 3, **SHORT)] == [one.text for one in local.ask([QUESTION] * 3, **SHORT)]
        best, _ = example("cbs").search(remote, QUESTION, **SHORT)
        assert best.tokens == local.ask(QUESTION, **SHORT).tokens
        ids = local.tokenizer.encode(QUESTION)
        assert (remote.logprobs(ids)[1:] == local.logprobs(ids)[1:]).all()
        with pytest.raises(cb.Failed, match="logits"):
            remote.logits(ids)


def test_a_server_that_is_not_there():
    with pytest.raises((cb.Failed, cb.BadInput), match="127.0.0.1:9"):
        cb.LanguageModel("tiny-dense", engine="http://127.0.0.1:9")
