"""Evaluations: methods compared on tasks, resumable in a folder, as `counterbeam eval` does it."""
from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import random
import re
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from counterbeam._errors import BadInput
from counterbeam._native import _core
from counterbeam.model import LanguageModel
from counterbeam.settings import Pairs, context_pairs, method_string, texts_of

Row = Mapping[str, Any]
# Gets the answer and the row of its problem; says whether it is right, or (whether it is right, what was graded).
Grader = Callable[[str, Row], bool | tuple[bool, str]]


def grade(grader: str, gold: str, answer: str) -> tuple[bool, str]:
    """Whether an answer is right by the grader math, choice or exact, and what of it was graded."""
    return _core.grade(grader, gold, answer)


class Evaluation:
    """The results of an evaluation, in the folder where they lie."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / "summary.json").exists():
            raise BadInput(f"{self.folder}: has no summary.json; it is not the folder of a finished evaluation")

    @property
    def report(self) -> Path:
        """The page with all results."""
        return self.folder / "report.html"

    @functools.cached_property
    def data(self) -> dict[str, Any]:
        """summary.json: intervals, paired tests and costs (docs/formats.md)."""
        data: dict[str, Any] = json.loads((self.folder / "summary.json").read_text(encoding="utf-8"))
        return data

    @functools.cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One row per task and method: accuracy with its interval, and costs per sample."""
        rows = []
        for task in self.data["tasks"]:
            for one in task["methods"]:
                row = {"task": task["task"], "method": one["method"], "questions": one["questions"], "samples": one["samples"]}
                interval = one["accuracy"]
                row.update(accuracy=interval["mean"], low=interval["low"], high=interval["high"])
                row.update({name: one[name] for name in ("truncated", "unparsed", "errors", "generated_tokens", "scored_tokens", "seconds")
                            if one.get(name) is not None})
                rows.append(row)
        return rows

    @property
    def summary(self) -> Any:
        """rows as a pandas.DataFrame, or as they are where pandas is not installed."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            return self.rows
        return pandas.DataFrame(self.rows)

    @functools.cached_property
    def samples(self) -> list[dict[str, Any]]:
        """Every graded answer (samples.jsonl)."""
        lines = (self.folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def plot(self, ax: Any = None) -> Any:
        """Accuracies with their intervals, as a matplotlib chart; returns its axes."""
        try:
            pyplot = importlib.import_module("matplotlib.pyplot")
        except ImportError as error:
            raise BadInput("plot: matplotlib is not installed; pip install matplotlib") from error
        if ax is None:
            ax = pyplot.subplots(figsize=(7, 0.5 + 0.45 * len(self.rows)), layout="constrained")[1]
        tasks = {row["task"] for row in self.rows}
        names = [row["method"] if len(tasks) == 1 else f"{row['task']}: {row['method']}" for row in self.rows]
        values = [row["accuracy"] for row in self.rows]
        spread = [[max(0.0, row["accuracy"] - row["low"]) for row in self.rows], [max(0.0, row["high"] - row["accuracy"]) for row in self.rows]]
        ax.errorbar(values, range(len(names)), xerr=spread, fmt="o", capsize=3)
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set_xlim(0, 1)
        ax.set_xlabel(f"accuracy, {', '.join(sorted(tasks))}")
        ax.grid(axis="x", alpha=0.3)
        return ax

    def _repr_html_(self) -> str | None:
        html = getattr(self.summary, "_repr_html_", None)
        return html() if html else None

    def __repr__(self) -> str:
        lines = [f"{row['task']}  {row['method']}  {row['accuracy']:.3f} ({row['low']:.3f} to {row['high']:.3f})" for row in self.rows]
        return "\n".join([f"<Evaluation in {self.folder}>", *lines])


def _progress(all_samples: str, show: bool) -> tuple[Callable[[int, int], None] | None, Callable[[], None]]:
    """What to call after every sample, and at the end. A bar by tqdm where it is installed."""
    if not show:
        return None, lambda: None
    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return None, lambda: None
    bar: list[Any] = []
    lock = threading.Lock()

    def told(done: int, total: int) -> None:
        with lock:
            if not bar:
                bar.append(tqdm(total=total, desc=all_samples))
            bar[0].update(max(0, done - bar[0].n))

    return told, lambda: bar[0].close() if bar else None


def _filled(template: str, row: Row) -> str:
    return re.sub(r"\{(\w+)\}", lambda field: str(row[field[1]]) if field[1] in row else field[0], template)


def _own_task(name: str, rows: Sequence[Row], grader: Grader, system: str | None, prompt: str | None) -> _core.OwnTask:
    problems, by_id = [], {}
    for i, row in enumerate(rows):
        if not isinstance(row.get("question"), str):
            raise BadInput(f'task: row {i} has no text "question"')
        id_ = str(row.get("id", i))
        by_id[id_] = row
        own_system = system if system is not None else str(row.get("system", ""))
        problems.append((id_, _filled(prompt or "{question}", row), str(row.get("answer", "")), own_system))

    def judge(id_: str, answer: str) -> tuple[bool, str]:
        verdict = grader(answer, by_id[id_])
        right, extracted = verdict if isinstance(verdict, tuple) else (verdict, answer)
        return bool(right), str(extracted)

    try:
        source = inspect.getsource(grader)
    except (OSError, TypeError):
        source = ""
    # A resumed run compares the grader by its name and its text.
    return _core.OwnTask(name, f"{getattr(grader, '__qualname__', type(grader).__qualname__)}\n{source}", problems, judge)


def _check_file_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,200}", name):
        raise BadInput(f"name: {name!r} must consist of letters, digits, \"-\", \"_\" and \".\", at most 200")
    if name in ("samples", "problems"):
        raise BadInput(f"name: {name}.jsonl is a file of the evaluation; give your rows another name")


def _write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Writes rows for a grader of the engine. A file with other content is kept, and is an error."""
    content = "".join(json.dumps(dict(row)) + "\n" for row in rows).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name that the engine removes if this process is killed.
    partial = path.parent / f".counterbeam-{os.getpid()}-{random.randrange(1 << 30)}.part"
    try:
        with open(partial, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(partial, path)  # never replaces a file
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            if not path.exists():
                os.rename(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    if not path.is_file() or path.read_bytes() != content:
        raise BadInput(f"{path}: exists with other content; give another name or out, or move the file away")


def evaluate(model: LanguageModel, task: str | Path | Sequence[str] | Sequence[Row] = "tiny-math",
             methods: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]] = ("sample", "beam", "cbs"), *,
             limit: int | None = None, samples: int = 1, seed: int = 0, out: str | Path | None = None, resume: bool = True,
             grader: str | Grader | None = None, name: str = "own", data: str | Path | None = None, pairs: Pairs | None = None,
             system: str | None = None, prompt: str | None = None, raw: bool = False, template_args: Mapping[str, Any] | None = None,
             system_as_user: bool = False, stop: str | Sequence[str] | None = None, extract: str = "strict", concurrency: int = 16,
             traces: bool = False, deterministic: bool = False, allow_failures: bool = False, progress: bool = True,
             cancellation: _core.CancelToken | None = None) -> Evaluation:
    """Compares methods on a task and returns the results.

    task: the name of a task (tiny-math, math500, ...) or a list of names; a file .jsonl with a `grader`; or rows {"question", "answer",
    "id", "system"} of your own with a `grader`: math, choice, exact, regex, or a function of (answer, row), which must be safe to call
    from several threads in turn. methods: "cbs:steer=0.7", {"method": "cbs", "steer": 0.7}, or a list of them.
    out: the folder; a run that was stopped goes on there, unless resume is False. Without it, a new folder under the system's temporary
    one. concurrency: searches at once; with 1, seconds are measured.
    Samples that could not be run or judged raise Failed once the folder is written, unless allow_failures; Evaluation(out) opens it.
    """
    options = _core.EvaluationOptions()
    given = [methods] if isinstance(methods, (str, Mapping)) else list(methods)
    options.methods = [method_string(one) for one in given]
    options.pairs = context_pairs(pairs)
    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="counterbeam-"))
    own: list[_core.OwnTask] = []
    tasks: list[str] = []
    if isinstance(task, (str, Path)):
        tasks = [str(task)]
    elif all(isinstance(one, str) for one in task):
        tasks = [str(one) for one in task]
    else:
        rows = [one for one in task if isinstance(one, Mapping)]
        if len(rows) != len(task):
            raise BadInput("task: rows {\"question\": ..., \"answer\": ...} and names cannot be mixed")
        if callable(grader):
            own = [_own_task(name, rows, grader, system, prompt)]
        else:
            if grader is None:
                raise BadInput("grader: rows of your own need one: math, choice, exact, regex, or a function")
            _check_file_name(name)
            tasks = [str(folder / f"{name}.jsonl")]
            _write_rows(Path(tasks[0]), rows)
    if callable(grader) and not own:
        raise BadInput("grader: a function grades rows of your own; tasks have theirs")
    options.tasks = tasks
    options.grader = "" if callable(grader) or grader is None else grader
    options.data = "" if data is None else str(data)
    options.limit = limit or 0
    options.samples = samples
    options.seed = seed
    options.out = str(folder)
    options.resume = resume
    options.system = system
    options.prompt = prompt or ""
    options.raw = raw
    options.template_arguments = json.dumps(dict(template_args or {}))
    options.system_as_user = system_as_user
    options.stop = texts_of(stop)
    options.extract = extract
    options.concurrency = concurrency
    options.traces = traces
    options.deterministic = deterministic
    options.allow_failures = allow_failures
    options.program = _core.version()
    options.command = f"counterbeam.evaluate(task={', '.join(tasks) or name!r}, methods={options.methods!r})"
    on_sample, close = _progress("eval", progress)
    try:
        _core.evaluate(model._inner, options, own, on_sample, cancellation)
    finally:
        close()
    return Evaluation(folder)
