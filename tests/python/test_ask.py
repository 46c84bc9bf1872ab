"""Asking: the same answers as the command line, every form of question, every way to end early."""
import json

import numpy as np
import pytest
from conftest import QUESTION, SHORT, command

import counterbeam as cb


def test_three_lines_run_at_once():
    model = cb.LanguageModel()
    answer = model.ask("Compute 7 * 3^2 + 24.", steer=0.7)
    assert "boxed{87}" in answer.text and str(answer) == answer.text
    assert answer.finished and answer.error == "" and answer.trace is None


@pytest.mark.parametrize("seed, method, settings", [
    (0, "cbs", {"steer": 0.7, "beams": 4, "prune": 2}), (3, "cbs:block=8", {"max_tokens": 48}), (1, "beam", {"beams": 3, "prune": 3}),
    (2, "sample", {"temperature": 0.8, "top_p": 0.9}), (0, "greedy", {}), (5, "best-of-n", {"beams": 3, "steer": 0.5}),
    (1, "self-consistency", {"beams": 3}), (2, "token-contrast", {"policy": "cfg"}), (4, "power", {"max_tokens": 32, "rollouts": 2, "draws": 4, "candidates": 4}),
])
def test_same_seed_same_answer_as_the_command(model, seed, method, settings):
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    name, *given = method.split(":")
    flags += [f"--{one.split('=')[0]}={one.split('=')[1]}" for one in given]
    printed = json.loads(command("ask", QUESTION, "--method", name, "--seed", str(seed), "--device", "cpu", "--json", *flags))
    answer = model.ask(QUESTION, method=method, seed=seed, **settings)
    mine = answer.to_dict()
    for field in ("answer", "score", "method", "settings", "tokens", "generated_tokens", "scored_tokens", "finished", "truncated"):
        if field in printed:
            assert mine[field] == printed[field], field
    assert answer.text.encode() == printed["answer"].encode()


def test_an_answer_has_its_parts(model):
    answer = model.ask(QUESTION, trace=True, **SHORT)
    chosen = answer.candidates[answer.selected]
    assert chosen.tokens == answer.tokens and chosen.score == answer.score == max(one.score for one in answer.candidates)
    assert "".join(answer.pieces) == answer.text
    assert len(answer.rewards) == len(answer.tokens) and answer.rewards.dtype == np.float32
    assert sum(chosen.token_base) == pytest.approx(chosen.base)
    assert answer.cost.scored_tokens == 2 * answer.cost.generated_tokens > 0
    assert answer.settings["steer"] == 0.7 and answer.settings["method"] == "cbs"
    assert answer.trace.data["selected"] in answer.trace.data["pool"]
    assert len(answer.trace.blocks[0]) == 4


def test_lists_in_lists_out(model):
    questions = [QUESTION, "Compute 2 + 2.", "Compute 9 - 4."]
    answers = model.ask(questions, seed=7, **SHORT)
    assert [one.question for one in answers] == questions
    alone = [model.ask(one, seed=7, number=i, **SHORT) for i, one in enumerate(questions)]
    assert [one.text for one in answers] == [one.text for one in alone]
    assert model.ask([]) == []


def test_conversations(model):
    messages = [{"role": "user", "content": QUESTION}]
    assert model.ask(messages, **SHORT).text == model.ask(QUESTION, **SHORT).text
    both = model.ask([messages, messages], **SHORT)
    assert len(both) == 2 and both[0].question == QUESTION


def test_contexts_by_name_as_texts_and_as_pairs(model):
    positive, negative = cb.contexts()["reasoning"]
    named = model.ask(QUESTION, contexts="reasoning", **SHORT)
    assert model.ask(QUESTION, contexts=(positive, negative), **SHORT).tokens == named.tokens
    assert model.ask(QUESTION, contexts="mine", pairs={"mine": (positive, negative)}, **SHORT).tokens == named.tokens
    plain = model.ask(QUESTION, contexts="none", **SHORT)
    assert plain.cost.scored_tokens == 0 and len(plain.rewards) == 0


def test_stops(model):
    whole = model.ask(QUESTION, **SHORT)
    stopped = model.ask(QUESTION, stop=["</think>"], **SHORT)
    assert "</think>" in whole.text and "</think>" not in stopped.text and stopped.finished
    assert model.ask(QUESTION, stop="</think>", **SHORT).text == stopped.text


def test_a_scorer_of_ones_own(model):
    seen = []

    def shortest(candidates):
        seen.append(len(candidates))
        return [-len(one.tokens) for one in candidates]

    answer = model.ask(QUESTION, method="beam", scorer=shortest, beams=4, prune=2, block=16, max_tokens=64)
    assert seen and seen[0] == 4
    assert answer.score == -min(len(one.tokens) for one in answer.candidates)


def test_streams_agreed_text_that_is_never_taken_back(model):
    events = list(model.stream(QUESTION, **SHORT))
    assert "".join(event.text for event in events) == events[-1].answer.text == model.ask(QUESTION, **SHORT).text
    for before, after in zip(events, events[1:]):
        assert after.agreed.startswith(before.agreed)
    assert [event.block for event in events[:-1]] == list(range(1, len(events)))
    assert all(event.answer is None for event in events[:-1])


def test_methods_come_from_the_table(model):
    table = cb.methods()
    assert list(table)[0] == "cbs"
    printed = json.loads(command("ask", QUESTION, "--json", "--max-tokens=4", "--beams=1", "--prune=1"))["settings"]
    printed.pop("method", None)
    assert {name.replace("-", "_") for name in printed} == set(table["cbs"].settings)
    assert table["cbs"].settings["max_tokens"].type is int and table["cbs"].settings["max_tokens"].default == 3072
    for method in table.values():
        for setting in method.settings.values():
            assert isinstance(setting.default, setting.type) and setting.help
            assert f"{setting.name}=" in cb.LanguageModel.ask.__doc__


def test_generate_is_like_transformers(model):
    prompts = [model.tokenizer.encode(model.tokenizer.render(text), special=True) for text in (QUESTION, "Compute 2 + 2.")]
    made = model.generate(prompts, max_new_tokens=24)
    assert made.dtype == np.int64 and made.shape[0] == 2
    for row, prompt in zip(made, prompts):
        assert row[:len(prompt)].tolist() == prompt
        # Greedy: every token is the likeliest after those before it.
        whole = row[:len(prompt) + 24]
        logits = model.logits(whole)
        for i in range(len(prompt), len(whole)):
            if whole[i - 1] in model.end_tokens:
                break
            assert logits[i - 1].argmax() == whole[i]
    padded = np.zeros((2, max(map(len, prompts))), int)
    mask = np.zeros_like(padded)
    for row, keep, prompt in zip(padded, mask, prompts):
        row[-len(prompt):], keep[-len(prompt):] = prompt, 1
    assert (model.generate({"input_ids": padded, "attention_mask": mask}, max_new_tokens=24) == made).all()
    assert model.generate(prompts[0], max_new_tokens=8, method="cbs:beams=2:prune=1:contexts=none").shape[1] <= len(prompts[0]) + 8
