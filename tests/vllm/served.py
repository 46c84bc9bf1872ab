"""Real vLLM servers on this machine, and the program against them. Servers start in the background, and end with the tests."""
import atexit
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get('COUNTERBEAM', str(ROOT / 'build/release/counterbeam'))
VLLM = Path(os.environ.get('VLLM', str(ROOT / 'build/vllm'))) / 'bin/vllm'
MODEL = ROOT / 'models/tiny-dense'
START_SECONDS = 900  # up to 100 s on an idle machine

# Ways to score, by what the server offers; the first is what docs/remote.md recommends.
WAYS = {
    'cached': ['--enable-scale-out', '--enable-prompt-tokens-details'],
    'uncached': ['--enable-scale-out'],
    'echo': [],
}


def free_port():
    with socket.socket() as each:
        each.bind(('127.0.0.1', 0))
        return each.getsockname()[1]


class Process:
    """A vLLM process with all its children, in a session of its own."""

    def __init__(self, *arguments):
        self.log = tempfile.NamedTemporaryFile(prefix='vllm-', suffix='.log', delete=False)
        # Blocks of 32 tokens, so that short prompts are cached too. No prompt is split: on a CPU vLLM 0.32 dies where a
        # request with a seed is ("CPU Generator does not use offset").
        environment = {**os.environ, 'VLLM_CPU_KVCACHE_SPACE': '1', 'VLLM_CPU_OMP_THREADS_BIND': 'nobind', 'OMP_NUM_THREADS': '2',
                       'VLLM_NO_USAGE_STATS': '1', 'HF_HUB_OFFLINE': '1', 'VLLM_HOST_IP': '127.0.0.1', 'GLOO_SOCKET_IFNAME': 'lo'}
        self.process = subprocess.Popen(
            [VLLM, 'serve', MODEL, '--served-model-name', 'tiny', '--max-model-len', '1024', '--dtype', 'float32', '--enforce-eager', '--max-num-seqs', '64',
             '--block-size', '32', '--max-num-batched-tokens', '65536', *map(str, arguments)], env=environment, stdout=self.log, stderr=self.log, start_new_session=True)
        atexit.register(self.kill)

    def said(self):
        return Path(self.log.name).read_text(errors='replace')

    def kill(self):
        """kill -9 of everything it started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        atexit.unregister(self.kill)
        if not self.log.closed:
            self.log.close()
            os.unlink(self.log.name)


class Server(Process):
    def __init__(self, *options):
        self.port = free_port()
        self.url = f'http://127.0.0.1:{self.port}'
        self.ready = False
        super().__init__('--host', '127.0.0.1', '--port', self.port, *options)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return answer.read().decode()

    def post(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {'Content-Type': 'application/json'})
        with urllib.request.urlopen(request, timeout=START_SECONDS) as answer:
            return json.load(answer)

    def wait(self):
        """Until it answers. The first request takes long, so it is made here."""
        end = time.time() + START_SECONDS
        while not self.ready:
            if self.process.poll() is not None or time.time() > end:
                raise AssertionError(f'vLLM did not start:\n{self.said()[-4000:]}')
            try:
                self.get('/health')
                self.post('/v1/completions', {'model': 'tiny', 'prompt': [1, 2, 3], 'max_tokens': 1})
                self.ready = True
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(1)
        return self

    def running(self):
        """Requests that run or wait on the server."""
        found = re.findall(r'^vllm:num_requests_(?:running|waiting)\{[^}]*\} (\S+)$', self.get('/metrics'), re.M)
        if not found:
            raise AssertionError('no vllm:num_requests_running in /metrics')
        return sum(map(float, found))

    def wait_idle(self, seconds):
        end = time.time() + seconds
        while self.running() > 0:
            if time.time() > end:
                raise AssertionError(f'{self.running():.0f} requests still run after {seconds} s')
            time.sleep(0.1)


_servers = {}


def server(way):
    """The server of a way to score, shared by all tests and started on first use."""
    if way not in _servers or _servers[way].process.poll() is not None:
        _servers[way] = Server(*WAYS[way])
    return _servers[way]


def stop_servers():
    for each in _servers.values():
        each.kill()
    _servers.clear()


def command(*arguments, engine=None):
    where = ['--engine', engine] if engine else ['--device', 'cpu', '--dtype', 'f32']
    return [PROGRAM, *map(str, arguments), '--model', str(MODEL), *where]


def run(*arguments, engine=None, input=None, codes=(0,)):
    """Standard output of the program."""
    done = subprocess.run(command(*arguments, engine=engine), capture_output=True, text=True, input=input, timeout=1800)
    if done.returncode not in codes:
        raise AssertionError(f'{" ".join(map(str, arguments))} with {engine or "the local engine"}: exit {done.returncode}\n{done.stderr}')
    return done.stdout


def problems(count):
    return [json.loads(line) for line in (ROOT / 'tasks/tiny-math.jsonl').read_text().splitlines()[:count]]


def samples(folder):
    """The samples of a run by problem, method and sample; fails if one is there twice."""
    rows = [json.loads(line) for line in (folder / 'samples.jsonl').read_text().splitlines()]
    found = {(row['task'], row['id'], row['method'], row['sample']): row for row in rows}
    if len(found) != len(rows):
        raise AssertionError(f'{folder}: {len(rows) - len(found)} samples are there twice')
    return found
