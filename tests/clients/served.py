"""A real `counterbeam serve` on a free port, for tests with the programs that users connect to it."""
import atexit
import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("COUNTERBEAM", str(ROOT / "build/release/counterbeam"))
MODELS = ROOT / "models"
QUESTION = "Compute 12 + 3 * 7."


class Server:
    """Runs until stop(), or the end of a with block. log holds its request lines, as JSON objects."""

    def __init__(self, *options, model="tiny-dense"):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", "--model", str(MODELS / model), "--log-format", "json", *options],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # where a test fails before it stops its server
        self.log, said = [], []
        for line in self.process.stderr:
            found = re.match(r"listening on (\S+)", line)
            if found:
                self.root = found[1]
                self.url = self.root + "/v1"
                # Whatever it writes must be read, or the pipe fills.
                threading.Thread(target=self._read_log, daemon=True).start()
                return
            said.append(line)
        raise AssertionError(f"{PROGRAM} serve did not start: {''.join(said)}")

    def _read_log(self):
        for line in self.process.stderr:
            with contextlib.suppress(ValueError):
                self.log.append(json.loads(line))

    def get(self, path):
        with urllib.request.urlopen(self.root + path, timeout=60) as answer:
            return answer.read().decode()

    def metric(self, name):
        """The value of a metric whose labels do not matter."""
        return float(re.search(rf"^{re.escape(name)}\{{[^}}]*\}} (\S+)$", self.get("/metrics"), re.M)[1])

    def wait_idle(self, seconds=60):
        """Waits until no search runs."""
        end = time.time() + seconds
        while self.metric("vllm:num_requests_running") > 0:
            if time.time() > end:
                raise AssertionError("a search still runs")
            time.sleep(0.05)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        atexit.unregister(self.process.kill)
        if code:
            raise AssertionError(f"the server ended with exit code {code}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def run(*arguments):
    """Standard output of the program, which must succeed."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def folder():
    return Path(tempfile.mkdtemp(prefix="counterbeam-clients-"))
