"""One life of the server for the fault campaign: it starts, answers a plain request, a search and a stream, and ends by SIGTERM.

Sound is: every reply is the one of a run without faults, or an error of that request (a status of 400 or more with a JSON body that says why, an
error event in a stream, a connection that ends before its reply is complete); and the server ends by itself, with exit code 0, or 1 and a message.
After a single fault the server is either gone with its message or answers all three requests as if nothing had happened.
"""
import json, os, pathlib, re, signal, subprocess, sys, threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / 'bench/serve'))
from client import connect, read_answer, request_bytes, stable

QUESTION = {'messages': [{'role': 'user', 'content': 'Compute 7 * 3^2 + 24.'}], 'max_tokens': 12, 'seed': 1}
REQUESTS = [QUESTION,
            {**QUESTION, 'search': {'method': 'cbs', 'beams': 4, 'prune': 2, 'block': 8}},
            {**QUESTION, 'stream': True}]
ARGUMENTS = 'serve --port 0 --searches 2 --drain-seconds 10 --threads 2 --cache-memory 16M'.split()
SECONDS = 30  # for the server to start, to reply and to end


class Life:
    def __init__(self, binary, model, environment, cwd):
        self.process = subprocess.Popen([str(binary), *ARGUMENTS, '-q', '--model', str(model)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, env=environment, cwd=cwd)
        self.lines, self.port = [], None
        self.heard = threading.Event()
        self.reader = threading.Thread(target=self.listen)
        self.reader.start()
        self.heard.wait(SECONDS)

    def listen(self):
        for line in self.process.stderr:
            self.lines.append(line.decode(errors='replace'))
            if found := re.match(r'listening on http://[^:]+:(\d+)', self.lines[-1]):
                self.port = int(found.group(1))
                self.heard.set()
        self.heard.set()

    def ask(self, body):
        """(status, what must not change of the body); status 0: no complete reply."""
        try:
            with connect(self.port, SECONDS) as connection:
                connection.sendall(request_bytes('POST', '/v1/chat/completions', body))
                status, _, reply = read_answer(connection)
        except TimeoutError:
            return 'hang', ''
        except (OSError, ValueError):
            return 0, ''
        if status == 200 and body.get('stream') and b'"error"' in reply:
            return 500, reply.decode(errors='replace')
        return (status, stable(reply)) if status == 200 else (status, reply.decode(errors='replace'))

    def end(self):
        """The exit code, or 'hang'."""
        try:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return 'hang'
        finally:
            self.reader.join()
            self.process.stderr.close()


def replies(life):
    got = []
    for body in REQUESTS if life.port else []:
        got.append(life.ask(body))
        if got[-1][0] == 'hang':
            break  # so would the others
    return got


def golden_life(binary, model, environment, cwd):
    life = Life(binary, model, environment, cwd)
    golden = replies(life)
    code = life.end()
    if code != 0 or len(golden) != len(REQUESTS) or any(status != 200 for status, _ in golden):
        sys.exit(f'serve: fails without faults: exit code {code}, {golden}, {"".join(life.lines)}')
    return golden


def wrong_reply(got, golden, may_wait=False):
    for (status, body), (_, expected) in zip(got, golden):
        if status == 'hang' and not may_wait:
            return 'a request gets no reply'
        if status == 'hang':
            continue
        if status == 200 and body != expected:
            return f'another reply: {body[:200]}'
        if status and status != 200 and (status < 400 or '"error"' not in body):
            return f'status {status}: {body[:200]}'
    return None


def one_life(binary, model, environment, cwd, golden, always):
    """None, or what is wrong with a life in which a call fails."""
    life = Life(binary, model, environment, cwd)
    first = replies(life)
    second = replies(life) if life.port and not always else []
    code = life.end()
    message = ''.join(life.lines)
    if code == 'hang':
        return f'hangs: {message[-300:]}'
    if code < 0:
        return f'ends by signal {-code}: {message[-300:]}'
    if code not in (0, 1, 2) or (code and 'counterbeam: ' not in message):
        return f'exit code {code}: {message[-300:]}'
    # A server that can never accept another connection lets clients wait, as the kernel does.
    may_wait = always and environment.get('FAULT_KIND') == 'open'
    if wrong := wrong_reply(first, golden, may_wait) or wrong_reply(second, golden):
        return wrong
    if not life.port and code == 0:
        return 'exit code 0 without listening'
    # The fault may strike as late as in the second round, so at most one of its replies may be an error.
    if second and code == 0 and sum(status != 200 for status, _ in second) > (1 if all(s == 200 for s, _ in first) else 0):
        return f'does not recover: {[status for status, _ in first + second]}'
    return None
