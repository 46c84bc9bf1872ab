"""Evaluations: the same folder as the command's, resumed, with graders of one's own, and their display."""
import json

import pytest
from conftest import command

import counterbeam as cb

METHODS = ["greedy", "cbs:steer=0.7:beams=4:prune=2"]
ROWS = [{"id": f"sum-{i}", "question": f"Compute {i} + {i + 3}.", "answer": str(2 * i + 3)} for i in range(4)]


def test_the_samples_are_those_of_the_command(model, tmp_path):
    result = cb.evaluate(model, "tiny-math", METHODS, limit=3, out=tmp_path / "a", deterministic=True, progress=False)
    command("eval", "--task", "tiny-math", "--methods", ",".join(METHODS), "--limit", "3", "--out", str(tmp_path / "b"), "--deterministic", "-q",
            "--device", "cpu")
    assert (tmp_path / "a/samples.jsonl").read_bytes() == (tmp_path / "b/samples.jsonl").read_bytes()
    assert result.data == json.loads((tmp_path / "b/summary.json").read_text())
    assert len(result.samples) == 6 and [row["method"] for row in result.rows] == METHODS
    assert result.report.exists() and "tiny-math" in repr(result)
    for row in result.rows:
        assert row["low"] <= row["accuracy"] <= row["high"]


def test_a_stopped_run_goes_on(model, tmp_path):
    calls = []

    def grader(answer, row):
        calls.append(row["id"])
        return row["answer"] in answer, row["answer"]

    token = cb.Cancellation()

    def stops(answer, row):
        if len(calls) == 2:
            token.cancel()
        return grader(answer, row)

    stops.__qualname__ = grader.__qualname__ = "grader"
    with pytest.raises(cb.Cancelled):
        cb.evaluate(model, ROWS, "greedy", grader=stops, out=tmp_path / "run", concurrency=1, deterministic=True, cancellation=token, progress=False)
    done = (tmp_path / "run/samples.jsonl").read_text().count("\n")
    assert 0 < done < 4
    with pytest.raises(cb.BadInput, match="grader|digest|differ"):  # another grader
        cb.evaluate(model, ROWS, "greedy", grader=lambda answer, row: True, out=tmp_path / "run", deterministic=True, progress=False)
    before = len(calls)
    result = cb.evaluate(model, ROWS, "greedy", grader=stops, out=tmp_path / "run", concurrency=1, deterministic=True, progress=False)
    assert len(result.samples) == 4 and len(calls) - before == 4 - done
    assert all(sample["extracted"] == row["answer"] for sample, row in zip(result.samples, ROWS))


def test_own_rows_with_a_grader_by_name(model, tmp_path):
    methods = ["greedy", {"method": "cbs", "contexts": "mine", "steer": 0.5, "beams": 2, "prune": 2}]
    result = cb.evaluate(model, ROWS, methods, grader="math", name="sums", out=tmp_path / "x", progress=False,
                         pairs={"mine": ("Good: step by step", "Bad, wrong")})
    assert {sample["task"] for sample in result.samples} == {"sums"} and len(result.samples) == 8
    for sample, row in zip([one for one in result.samples if one["method"] == "greedy"], ROWS):
        assert sample["correct"] == cb.grade("math", row["answer"], sample["answer"])[0]
    again = cb.Evaluation(tmp_path / "x")
    assert again.rows == result.rows


def test_rows_never_replace_a_file(model, tmp_path):
    own = tmp_path / "mine.jsonl"
    own.write_text("precious")
    with pytest.raises(cb.BadInput, match="other content"):
        cb.evaluate(model, ROWS, "greedy", grader="math", name="mine", out=tmp_path, progress=False)
    assert own.read_text() == "precious" and [one.name for one in tmp_path.iterdir()] == ["mine.jsonl"]
    for name in ["samples", "problems", "../mine", "a/b", ""]:
        with pytest.raises(cb.BadInput, match="name"):
            cb.evaluate(model, ROWS, "greedy", grader="math", name=name, out=tmp_path / "new", progress=False)
    assert not (tmp_path / "new").exists()


def test_a_grader_that_raises_ends_the_run(model, tmp_path):
    with pytest.raises(ZeroDivisionError):
        cb.evaluate(model, ROWS, "greedy", grader=lambda answer, row: 1 / 0, out=tmp_path, progress=False)


@pytest.mark.parametrize("arguments, message", [
    (dict(task="tiny-maths"), "tiny-math"), (dict(task=ROWS), "grader"), (dict(task=[{"answer": "1"}], grader=lambda a, r: True), "question"),
    (dict(task="tiny-math", grader=lambda a, r: True), "rows of your own"), (dict(task="tiny-math", methods=["greedy", "greedy"]), "twice"),
    (dict(task="tiny-math", methods=[]), "methods"), (dict(task=ROWS + ROWS, grader=lambda a, r: True), "id"),
    (dict(task="tiny-math", methods=[{"steer": 1}]), "method"), (dict(task=ROWS, grader=lambda a, r: True, name="tiny-math"), "name"),
    (dict(task="tiny-math", samples=0), "samples"),
])
def test_bad_input(model, tmp_path, arguments, message):
    with pytest.raises(cb.BadInput, match=message):
        cb.evaluate(model, **{"methods": "greedy", "out": tmp_path / "x", "limit": 1, "progress": False, **arguments})


def test_summary_and_plot_with_what_is_installed(model, tmp_path):
    result = cb.evaluate(model, "tiny-choice", ["greedy", "sample"], limit=2, out=tmp_path, progress=True)
    pandas = pytest.importorskip("pandas")
    assert isinstance(result.summary, pandas.DataFrame) and list(result.summary["method"]) == ["greedy", "sample"]
    assert "<table" in result._repr_html_()
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = result.plot()
    assert [one.get_text() for one in axes.get_yticklabels()] == ["greedy", "sample"]
