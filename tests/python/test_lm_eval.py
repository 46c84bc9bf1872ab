"""lm-evaluation-harness through the model class, and through our server: the same numbers and the same texts."""
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from conftest import ROOT, serving

import counterbeam as cb

lm_eval = pytest.importorskip("lm_eval")
import lm_eval.tasks  # noqa: E402

import counterbeam.lm_eval  # noqa: E402,F401
TASKS = ROOT / "tests/clients/lm_eval_tasks"


def evaluate(kind, arguments, task, limit=6, chat=False):
    """The samples of a run, by document. Only our tasks are looked up: the harness's own take most of a minute."""
    os.chdir(ROOT / "tests/clients")  # where the tasks look for their data
    os.environ.update(HF_HUB_OFFLINE="1", OPENAI_API_KEY="none")
    manager = lm_eval.tasks.TaskManager(include_path=str(TASKS), include_defaults=False)
    results = lm_eval.simple_evaluate(kind, arguments, tasks=[task], task_manager=manager, limit=limit, apply_chat_template=chat, log_samples=True,
                                      batch_size=4, bootstrap_iters=0)
    return sorted(results["samples"][task], key=lambda sample: sample["doc_id"])


@pytest.fixture(scope="module")
def served():
    with serving("--dtype", "f32") as url:
        yield url


def test_the_entry_point_names_the_class():
    entry, = metadata.entry_points(group="lm_eval.models", name="counterbeam")
    from lm_eval.api.registry import get_model
    assert entry.load() is get_model("counterbeam")


MINE = {"pretrained": "tiny-dense", "dtype": "f32", "device": "cpu"}


def theirs_of(served, name, task, **options):
    folder = Path(cb.__file__).parent / "share/counterbeam/models/tiny-dense"
    return evaluate("local-completions", {"model": name, "base_url": served + "/v1/completions", "tokenizer_backend": "huggingface",
                                          "tokenizer": str(folder), "num_concurrent": 4}, task, **options)


def test_log_likelihoods_agree_with_the_server(served):
    mine = evaluate("counterbeam", MINE, "counterbeam_choice")
    theirs = theirs_of(served, "tiny-dense", "counterbeam_choice")
    assert len(mine) == len(theirs) == 6
    for a, b in zip(mine, theirs):
        for (value, greedy), (expected, expected_greedy) in zip(a["filtered_resps"], b["filtered_resps"]):
            assert float(value) == pytest.approx(float(expected), abs=1e-4) and str(greedy) == str(expected_greedy)
        assert a["acc"] == b["acc"]


@pytest.mark.parametrize("method", ["", "cbs:steer=0.7:beams=4:prune=2:block=16:temperature=1"])
def test_generations_agree_with_the_server(served, method):
    mine = evaluate("counterbeam", {**MINE, "method": method}, "counterbeam_math", chat=True)
    theirs = theirs_of(served, f"tiny-dense@{method}" if method else "tiny-dense", "counterbeam_math", chat=True)
    assert len(mine) == 6 and [one["resps"] for one in mine] == [one["resps"] for one in theirs]
    assert [one["exact_match"] for one in mine] == [one["exact_match"] for one in theirs]


def test_the_command_knows_the_class(tmp_path):
    done = subprocess.run([sys.executable, "-m", "counterbeam.lm_eval", "run", "--model", "counterbeam", "--model_args", "pretrained=tiny-dense,method=greedy",
                           "--tasks", "counterbeam_math", "--include_path", str(TASKS), "--limit", "2", "--apply_chat_template", "--output_path", str(tmp_path)],
                          cwd=ROOT / "tests/clients", env={**os.environ, "HF_HUB_OFFLINE": "1"}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(next(tmp_path.rglob("results_*.json")).read_text())["results"]["counterbeam_math"]
    assert 0 <= results["exact_match,boxed"] <= 1


def test_bad_arguments():
    from counterbeam.lm_eval import CounterbeamLM
    with pytest.raises(cb.BadInput, match="colour"):
        CounterbeamLM(colour="red")
    model = CounterbeamLM("tiny-dense", method="none such")

    class Request:
        args = ("Compute 1.", {"until": ["x"]})

    with pytest.raises(cb.BadInput, match="none such"):
        model.generate_until([Request])
