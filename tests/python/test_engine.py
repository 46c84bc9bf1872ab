"""The pieces of a search, and methods made of them."""
import importlib.util
import time

import numpy as np
import pytest
from conftest import QUESTION, ROOT

import counterbeam as cb


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples/python" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    import sys
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("question, seed, settings", [
    (QUESTION, 0, dict(steer=0.7)), ("Compute 7 * 3^2 + 24.", 1, dict(steer=0.25, beams=8, prune=2, block=16)),
    ("Compute 40 - 4 * 5.", 2, dict(steer=0.7, beams=6, prune=4, block=7, max_tokens=40)), (QUESTION, 3, dict(steer=-0.5, beams=4, prune=4, block=24, max_tokens=96)),
    (QUESTION, 4, dict(steer=0.3, beams=5, prune=1, block=32, max_tokens=128, temperature=0.6)),
    ("Compute 2 + 2.", 2**63 + 5, dict(steer=0.7, beams=1, prune=1, block=8, max_tokens=64)),
])
def test_cbs_in_python_is_the_built_in_one(model, question, seed, settings):
    best, pool = example("cbs").search(model, question, seed=seed, **settings)
    answer = model.ask(question, method="cbs", seed=seed, **settings)
    assert [one.tokens for one in pool] == [one.tokens for one in answer.candidates]
    assert [one.score(settings["steer"]) for one in pool] == [one.score for one in answer.candidates]  # bit by bit
    assert best.tokens == answer.tokens and best.score(settings["steer"]) == answer.score


def test_a_method_with_a_reward(model):
    own = example("own_reward")
    text = own.rewarded_search(model, QUESTION, own.steps)
    assert "boxed" in text and text == own.rewarded_search(model, QUESTION, own.steps)
    assert own.rewarded_search(model, QUESTION, lambda text: -own.steps(text), strength=5).count("=") <= text.count("=")


def test_extend_score_and_fork_agree(model):
    prompt = model.prompts(QUESTION).base
    first, second = model.engine.open([prompt, prompt])
    drawn, = model.engine.extend([first], max_tokens=12, seed=9, stop=[])
    assert drawn.tokens.dtype == np.int32 and len(drawn.tokens) == 12 and not drawn.stopped
    assert (model.engine.score([second], [drawn.tokens])[0] == drawn.logprobs).all()
    assert first.length == second.length == len(prompt) + 12 and first.prompt_length == len(prompt)
    # A fork goes on by itself, and with the same key draws the same.
    fork = first.fork()
    a, b = model.engine.extend([first], max_tokens=5, seed=1, stop=[])[0], model.engine.extend([fork], max_tokens=5, seed=1, stop=[])[0]
    assert (a.tokens == b.tokens).all() and (a.logprobs == b.logprobs).all()
    whole = prompt + drawn.tokens.tolist()
    assert (model.logprobs(whole)[len(prompt):] == drawn.logprobs).all()


def test_followers_mixtures_and_alternatives(model):
    prompts = model.prompts(QUESTION)
    base, positive = model.engine.open([prompts.base, prompts.positive])
    drawn, = model.engine.extend([base], followers=[[positive]], max_tokens=6, temperature=0, top=3, stop=[])
    other, = model.engine.open([prompts.positive])
    assert (model.engine.score([other], [drawn.tokens])[0] == drawn.follower_logprobs[0]).all()
    assert [likely[0][0] for likely in drawn.top] == drawn.tokens.tolist()
    # All weight on the follower: its likeliest token.
    base, positive = model.engine.open([prompts.base, prompts.positive])
    mixed, = model.engine.extend([base], followers=[[positive]], max_tokens=1, temperature=0, mix=[0, 1], stop=[])
    assert mixed.tokens[0] == model.logits(prompts.positive)[-1].argmax()


def test_draws_depend_on_their_key_alone(model):
    prompt = model.prompts(QUESTION).base
    together = model.engine.extend(model.engine.open([prompt] * 6), max_tokens=8, seed=3)
    for beam, expected in enumerate(together):
        alone = model.engine.extend(model.engine.open([prompt]), max_tokens=8, seed=3, beams=[beam])[0]
        assert (alone.tokens == expected.tokens).all()
    assert len({tuple(one.tokens.tolist()) for one in together}) > 1


def test_logits_are_one_array_and_agree_with_the_log_probabilities(model):
    ids = model.tokenizer.encode("Compute 12 + 3 * 7.")
    logits = model.logits(ids)
    assert logits.shape == (len(ids), model.vocabulary) and logits.dtype == np.float32 and logits.flags.c_contiguous
    assert not logits.flags.owndata  # the engine's memory, not a copy of it
    assert (model.logits(np.array(ids)) == logits).all()
    exact = logits.astype(float)
    exact -= np.log(np.exp(exact - exact.max(1, keepdims=True)).sum(1, keepdims=True)) + exact.max(1, keepdims=True)
    values = model.logprobs(ids)
    assert np.isnan(values[0])
    np.testing.assert_allclose(values[1:], [exact[i - 1, ids[i]] for i in range(1, len(ids))], atol=2e-5)
    logits[:] = 0  # it is the caller's


def test_arrays_outlive_what_they_came_from():
    model = cb.LanguageModel()
    drawn = model.engine.extend(model.engine.open(["Some text."]), max_tokens=4, stop=[])[0]
    tokens, logits = drawn.tokens, model.logits([1, 2, 3])
    before, first = tokens.tolist(), float(logits[2, 5])
    sequence = model.engine.open(["Some text."])[0]
    del model, drawn
    assert tokens.tolist() == before and float(logits[2, 5]) == first
    assert sequence.fork().length == sequence.length


def test_scores_of_a_given_answer(model):
    answer = "<think> 3 * 7 = 21. </think> <answer> \\boxed{33} </answer>"
    score = model.score(QUESTION, answer, steer=0.5)
    assert "".join(score.texts) == answer and len(score.tokens) == len(score.base) == len(score.reward)
    np.testing.assert_allclose(score.reward, score.positive - score.negative)
    assert score.score == pytest.approx(float(np.mean(score.base.astype(float) + 0.5 * score.reward.astype(float))), abs=1e-5)
    assert "reward" in score._repr_html_()


def test_tokenizer(model):
    text = "Größe: 漢字 <|im_end|> 12"
    assert model.tokenizer.decode(model.tokenizer.encode(text)) == text
    rendered = model.tokenizer.render(QUESTION)
    assert QUESTION in rendered
    ids = model.tokenizer.encode(rendered, special=True)
    assert ids == model.prompts(QUESTION, method="beam").base
    assert model.tokenizer.decode(ids, special=True) == rendered
    with pytest.raises(cb.BadInput):
        model.tokenizer.render([{"nothing": 1}, 5] if False else [{"role": 3}])


def test_the_cost_of_a_call_from_python_is_small(model):
    """Printed; a bound that a busy machine keeps too. docs/python.md has the figures of a quiet one."""
    from counterbeam._native import _core
    sequence = model.engine.open([model.prompts(QUESTION).base])[0]
    costs = []
    for _ in range(300):
        fork = sequence.fork()
        start = time.perf_counter()
        model.engine.extend([fork], max_tokens=1, stop=[])
        costs.append(time.perf_counter() - start - _core.seconds_outside())
    print(f"\nextend: median {np.median(costs) * 1e6:.1f} us beside the engine's own time")
    start = time.perf_counter()
    answer = model.ask(QUESTION, steer=0.7)
    whole = time.perf_counter() - start
    print(f"ask: {whole:.3f} s, of which {whole - answer.cost.seconds:.6f} s ({100 * (1 - answer.cost.seconds / whole):.3f} %) are not the search's own")
    assert np.median(costs) < 1e-3
