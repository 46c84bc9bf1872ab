"""The tests of the Python package, run against an installed wheel: `make test-python`."""
import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import counterbeam as cb

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "Compute 12 + 3 * 7."
SHORT = dict(steer=0.7, beams=4, prune=2, block=16, max_tokens=96)


@pytest.fixture(scope="session")
def model():
    return cb.LanguageModel(device="cpu")


def run_python(code, *arguments, timeout=120, **options):
    """A program in an interpreter of its own."""
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=timeout, **options)


def command(*arguments):
    """The command that came with the wheel."""
    program = Path(sys.executable).parent / "counterbeam"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300, env={**os.environ, "NO_COLOR": "1"})
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def serving(*options):
    """The address of `counterbeam serve` with the shipped model."""
    program = Path(sys.executable).parent / "counterbeam"
    server = subprocess.Popen([program, "serve", "--port", "0", "--device", "cpu", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        found = next(filter(None, (re.search(r"http://[\d.]+:\d+", line) for line in server.stdout)), None)
        assert found, "the server gave no address"
        yield found[0]
    finally:
        server.terminate()
        server.wait(60)
        server.stdout.close()
