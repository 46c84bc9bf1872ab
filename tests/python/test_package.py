"""The package itself: types, documentation, the command, what ships."""
import inspect
import re
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import pytest
from conftest import ROOT, SHORT, command, run_python

import counterbeam as cb

TYPED = '''
import counterbeam as cb
import numpy as np
import numpy.typing as npt

def use(model: cb.LanguageModel) -> str:
    one: cb.Answer = model.ask("question", steer=0.7)
    chat: cb.Answer = model.ask([{"role": "user", "content": "question"}])
    many: list[cb.Answer] = model.ask(["a", "b"])
    rows: npt.NDArray[np.float32] = model.logits([1, 2])
    sequences: list[cb.Sequence] = model.engine.open([[1, 2]])
    drawn = model.engine.extend(sequences, max_tokens=3)[0]
    total = float(drawn.logprobs.sum()) + float(rows.sum())
    for event in model.stream("question"):
        print(event.text)
    return one.text + chat.text + many[0].text + str(total)

async def later(model: cb.LanguageModel) -> None:
    print(await model.ask_async("question"))
'''


def test_types_are_strict(tmp_path):
    pytest.importorskip("mypy")
    user = tmp_path / "user.py"
    user.write_text(TYPED)
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import counterbeam as cb\nx: int = cb.LanguageModel().ask('a').text\n")
    check = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run([*check, "-p", "counterbeam"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    examples = [str(path) for path in (ROOT / "examples/python").glob("*.py")]
    done = subprocess.run([*check, str(user), *examples], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert subprocess.run([*check, str(wrong)], capture_output=True, cwd=tmp_path).returncode == 1


def test_everything_public_is_documented():
    for name in cb.__all__:
        thing = getattr(cb, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and thing.__module__.startswith("counterbeam."):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    assert inspect.getdoc(value), f"{name}.{member}"


def test_the_documentation_names_what_there_is():
    text = (ROOT / "docs/python.md").read_text()
    for name in cb.__all__:
        assert re.search(rf"\b{name}\b", text), name


def test_the_command_and_what_ships():
    assert command("--version").strip().split()[-1].startswith(cb.__version__) or cb.__version__ in command("--version")
    package = Path(str(resources.files("counterbeam")))
    assert (package / "py.typed").exists() and (package / "_native/_core.pyi").exists()
    assert {path.name for path in (package / "share/counterbeam/models").iterdir()} >= {"tiny-dense", "tiny-hybrid"}
    assert cb.LanguageModel().name == "tiny-dense" and cb.LanguageModel("tiny-hybrid").name == "tiny-hybrid"
    assert metadata.version("counterbeam") == cb.__version__


def test_it_needs_no_repository_and_no_gpu_library(tmp_path):
    done = run_python("import counterbeam as cb; print(cb.LanguageModel(device='cpu').ask('Compute 1 + 1.', max_tokens=8).finished in (0, 1))\n"
                      "print('libcuda' in open('/proc/self/maps').read())", cwd=tmp_path)
    assert done.stdout == "True\nFalse\n", done.stderr


def test_display(model):
    answer = model.ask("Compute 1 < 2 & 3.", trace=True, **SHORT)
    shown = answer._repr_html_()
    assert "background: rgba" in shown and "tokens generated" in shown
    frame = answer.trace._repr_html_()
    assert frame.startswith("<iframe") and "srcdoc=" in frame and "<script" not in frame
    assert "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", answer.trace.html()).replace("https://", "")
    plain = model.ask("Compute 1 < 2 & 3.", method="greedy", max_tokens=8)
    assert "rgba" not in plain._repr_html_()


def test_traces_are_saved_as_the_command_does(model, tmp_path):
    import json
    answer = model.ask("Compute 12 + 3 * 7.", trace=True, **SHORT)
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SHORT.items()]
    for ending in ("html", "json"):
        answer.trace.save(tmp_path / f"mine.{ending}")
        command("ask", "Compute 12 + 3 * 7.", "--device", "cpu", "--trace", str(tmp_path / f"its.{ending}"), *flags)
    assert json.loads((tmp_path / "mine.json").read_text()) == json.loads((tmp_path / "its.json").read_text())
    assert (tmp_path / "mine.html").read_text() == (tmp_path / "its.html").read_text()
