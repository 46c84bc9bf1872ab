"""Errors cross as named exceptions that say what is wrong, in the words of Python."""
import pytest
from conftest import QUESTION, SHORT

import counterbeam as cb


@pytest.mark.parametrize("options, message", [
    (dict(method="cbz"), "did you mean"), (dict(stear=0.7), "stear"), (dict(steer="much"), "not a number"), (dict(steer=5000), "out of range"),
    (dict(beams=2.5), "not a whole number"), (dict(beams=2, prune=4), "prune: 4 is more than beams"), (dict(contexts="no such pair"), "no such pair"),
    (dict(contexts=("only one", "")), "positive"), (dict(seed=-1), "seed"), (dict(stop=[""]), "stop"), (dict(stop_ids=[10**6]), "stop_id"),
    (dict(method="beam", contexts="reasoning"), "does not use any"), (dict(method="mcmc-power", trace=True), "no tree"),
    (dict(template_args={"x": 1}, system="a", method="nothing"), "nothing"), (dict(steer=[1]), "steer"),
])
def test_bad_input(model, options, message):
    with pytest.raises(cb.BadInput, match=message) as error:
        model.ask(QUESTION, **options)
    assert isinstance(error.value, (cb.Error, ValueError)) and "--" not in str(error.value)


def test_bad_questions(model):
    for question in ("", [{"role": "user"}], [{"role": "robot", "content": "x"}], ["text", [{"role": "user", "content": "x"}]]):
        with pytest.raises(cb.BadInput):
            model.ask(question)
    with pytest.raises(cb.BadInput, match="question 1: "):
        model.ask([QUESTION, ""], **SHORT)
    kept = model.ask([QUESTION, ""], errors="keep", **SHORT)
    assert kept[0].text and not kept[0].error and kept[1].error


def test_bad_models(tmp_path):
    with pytest.raises(cb.BadInput, match="models that ship"):
        cb.LanguageModel("nonsense")
    with pytest.raises(cb.BadInput, match="config.json"):
        cb.LanguageModel(tmp_path)
    with pytest.raises(cb.BadInput, match="cache_memory"):
        cb.LanguageModel(cache_memory="much")
    with pytest.raises(cb.BadInput):
        cb.LanguageModel(device="abacus")


def test_errors_of_callbacks_come_back_themselves(model):
    class Mine(Exception):
        pass

    def fails(_):
        raise Mine("no")

    for options in (dict(on_block=fails), dict(scorer=fails)):
        with pytest.raises(Mine, match="no"):
            model.ask(QUESTION, **SHORT, **options)
        with pytest.raises(Mine, match="no"):
            model.ask([QUESTION] * 3, **SHORT, **options)
    with pytest.raises(TypeError, match="list of numbers"):
        model.ask(QUESTION, scorer=lambda all: ["a"] * len(all), **SHORT)
    with pytest.raises(cb.Error):
        model.ask(QUESTION, scorer=lambda all: [1.0], **SHORT)
    assert model.ask(QUESTION, **SHORT).text  # the model is none the worse


def test_ids_outside_the_vocabulary(model):
    for bad in ([-1], [model.vocabulary], []):
        with pytest.raises(cb.BadInput):
            model.logits(bad)
        with pytest.raises(cb.BadInput):
            model.engine.open([bad])
    with pytest.raises(cb.BadInput):
        model.tokenizer.decode([model.vocabulary])
    with pytest.raises(cb.BadInput):
        model.generate([[]])


def test_sequences_are_in_one_call_at_a_time(model):
    one = model.engine.open(["A text."])[0]
    with pytest.raises(cb.BadInput, match="twice"):
        model.engine.extend([one, one], max_tokens=1)
    with pytest.raises(cb.BadInput, match="one number per sequence"):
        model.engine.extend([one], max_tokens=1, beams=[1, 2])
    with pytest.raises(cb.BadInput):
        model.engine.extend([one], max_tokens=-1)
    with pytest.raises(cb.BadInput):
        model.engine.extend([one], max_tokens=1, temperature=-1)
    with pytest.raises(cb.BadInput, match="one list per sequence"):
        model.engine.score([one], [])
    length = one.length
    with pytest.raises(cb.BadInput):
        model.engine.score([one], [[model.vocabulary]])
    assert one.length == length
