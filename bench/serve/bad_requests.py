"""Bad requests, generated: every field of every endpoint with values of the wrong type, sign, size and
shape, broken JSON, and abuse of the raw socket. Each must be answered with 4xx and an error object that
tells neither a path nor an address, at once; memory must not grow, and the server must still answer."""
import json
import random
import re
import time

from client import Server, connect, read_answer, request

# As JSON text, since JSON of Python's own making cannot be wrong in all these ways.
VALUES = ['"nonsense"', '""', "-1", "-0.5", "1e300", "-1e300", "1e999", "NaN", "Infinity", "-Infinity",
          "9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775809",
          "true", "[]", "[null]", "{}", '{"a": 1}', "[{}]", "[[]]", "[-1, 1073741824]", '["a", 1]',
          "[" * 100 + "]" * 100, '{"a":' * 100 + "1" + "}" * 100, "[" * 5000, '"\\ud800"', '"\\u0000"',
          '"' + "a" * 5000 + '"', "[" + "0," * 5000 + "0]", "0x10", "01", "1.", "'a'", "nul", ""]
COMMON = ["model", "max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "min_p", "n",
          "stop", "stop_token_ids", "seed", "stream", "stream_options", "logprobs", "logit_bias", "search",
          "prompt_logprobs", "return_token_ids", "frequency_penalty", "presence_penalty",
          "repetition_penalty", "include_stop_str_in_output", "response_format", "tools", "modalities"]
POSTS = {"/v1/chat/completions": ({"messages": [{"role": "user", "content": "Compute 1 + 1."}],
                                   "max_tokens": 1},
                                  COMMON + ["messages", "top_logprobs", "reasoning_format",
                                            "continue_final_message", "add_generation_prompt",
                                            "chat_template_kwargs"]),
         "/v1/completions": ({"prompt": "Compute 1 + 1.", "max_tokens": 1},
                             COMMON + ["prompt", "echo", "best_of", "suffix"]),
         "/tokenize": ({"prompt": "a"}, ["prompt", "content", "messages", "add_special_tokens",
                                         "add_special", "return_token_strs"]),
         "/detokenize": ({"tokens": [1]}, ["tokens"]),
         "/inference/v1/generate": ({"token_ids": [1, 2], "sampling_params": {"max_tokens": 1}},
                                    ["model", "token_ids", "sampling_params", "stream"])}
SEARCH = ["method", "steer", "beams", "prune", "block", "contexts", "positive", "negative", "id", "trace",
          "temperature", "top_p", "max_tokens", "nosuch"]
SAMPLING = ["max_tokens", "temperature", "top_p", "top_k", "min_p", "seed", "draw_key", "stop_token_ids",
            "ignore_eos", "logprobs", "prompt_logprobs", "prompt_logprob_start", "allowed_token_ids"]
GETS = ["/", "/health", "/version", "/metrics", "/v1/models", "/v1/methods", "/tokenizer_info"]
SUBJECTS = ["/v1/models/%s", "/v1/searches/%s", "/v1/searches/search-%s/events"]
TELLTALE = re.compile(rb"0x[0-9a-f]{4}|/home|/usr|/tmp|/work|/root|models/tiny|\.cpp|\.h:|std::")


def with_field(body, field, text):
    rest = {name: value for name, value in body.items() if name != field}
    return "{%s\"%s\": %s}" % (json.dumps(rest)[1:-1] + ", " if rest else "", field, text)


def bodies(path):
    """Bodies of which nearly all are wrong; those that happen to be right are answered with 200."""
    body, fields = POSTS[path]
    text = json.dumps(body)
    for field in fields:
        for value in VALUES:
            yield with_field(body, field, value)
        yield "{\"%s\": 1, \"%s\": 1, %s" % (field, field, text[1:])  # twice
    if "search" in fields:
        for name in SEARCH:
            for value in VALUES:
                yield with_field(body, "search", "{\"method\": \"cbs\", \"%s\": %s}" % (name, value))
    if "sampling_params" in fields:
        for name in SAMPLING:
            for value in VALUES:
                yield with_field(body, "sampling_params", "{\"%s\": %s}" % (name, value))
    for end in range(len(text)):
        yield text[:end]
    choose = random.Random(path)
    for _ in range(500):
        place = choose.randrange(len(text))
        yield text[:place] + choose.choice("\0\x1f\"\\{}[]:,-.eE\x7f\u00ff") + text[place + 1:]


def head(method, path, more="", host="127.0.0.1", version="1.1"):
    return ("%s %s HTTP/%s\r\nHost: %s\r\n%s\r\n" % (method, path, version, host, more)).encode("latin1")


def raw_requests(path):
    """Abuse of the protocol on one path: wrong methods, names, origins, lengths, encodings, versions."""
    choose = random.Random(path)
    odd = ["PUT", "PATCH", "TRACE", "DELETE" if "searches" not in path else "PUT", "get", "FOO", "M-SEARCH"]
    for _ in range(40):
        for method in odd:
            yield head(method, path, "X-%d: %d\r\n" % (choose.randrange(10**6), choose.randrange(10**6)))
        name = "%x" % choose.getrandbits(64)
        yield head("GET", path, host=name + ".example")
        yield head("GET", path, "Origin: https://%s.example\r\n" % name)
        yield head("GET", path, "Host: %s\r\n" % name)
        yield head("GET", path, version="%d.%d" % (choose.randrange(2, 9), choose.randrange(9)))
        yield head("GET", path + "%" + choose.choice(["zz", "0", "", "00", "g1"]))
        yield head("GET", "/" + name + path)
        yield head("POST", path, "Content-Length: %s\r\n" % choose.choice(["-1", "+1", "1x", "9" * 30, "1, 2"]))
        yield head("POST", path, "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n") + name.encode()
        yield head("POST", path, "Transfer-Encoding: chunked\r\n") + b"zz" + name.encode() + b"\r\n"
        yield head("GET", path, "Bad Header\x01: %s\r\n" % name)
        yield head("GET", path, "X: %s\r\n" % (name * 8000))
        yield ("%s %s\r\n\r\n" % (name, path)).encode()


class Tally:
    def __init__(self, path):
        self.path, self.times, self.right, self.faults = path, [], 0, []

    def add(self, sent, seconds, status, body):
        if status == 200:
            self.right += 1
            return
        self.times.append(seconds)
        good = 400 <= status < 500 and TELLTALE.search(body) is None
        try:
            good = good and isinstance(json.loads(body)["error"]["message"], str)
        except (ValueError, KeyError, TypeError):
            good = False
        if not good:
            self.faults.append((status, sent[:200], body[:200]))

    def line(self):
        times = sorted(self.times)
        return "%-32s %5d refused, %4d were right, %d faults; median %.1f ms, slowest %.1f ms, %d over 50 ms" % (
            self.path, len(times), self.right, len(self.faults), 1e3 * times[len(times) // 2],
            1e3 * times[-1], sum(one > 0.05 for one in times))


def send_bodies(port, path):
    tally = Tally(path)
    connection = connect(port, 60)
    for body in bodies(path):
        data = body.encode("utf-8", "surrogatepass")
        sent = head("POST", path, "Content-Type: application/json\r\nContent-Length: %d\r\n" % len(data)) + data
        start = time.perf_counter()
        connection.sendall(sent)
        status, headers, answer = read_answer(connection)
        tally.add(sent, time.perf_counter() - start, status, answer)
        if headers.get("connection") != "keep-alive":
            connection.close()
            connection = connect(port, 60)
    connection.close()
    return tally


def send_raw(port, path, requests):
    tally = Tally(path)
    for sent in requests:
        with connect(port, 60) as connection:
            start = time.perf_counter()
            connection.sendall(sent)
            status, _, answer = read_answer(connection)
            tally.add(sent, time.perf_counter() - start, status, answer)
    return tally


def subjects(pattern):
    """Ids that do not exist, in every spelling."""
    choose = random.Random(pattern)
    letters = "abcABC019-_.@:=/%~!$&'()*+,;"
    for _ in range(300):
        name = "".join(choose.choice(letters) for _ in range(choose.randrange(1, 40)))
        yield head("GET", pattern % name.replace("%", "%25"))
        yield head("DELETE", pattern % ("%%%02x" % choose.randrange(1, 256) + name.replace("%", "%2F")))


def run(program, model):
    server = Server(program)
    try:
        request(server.port, "POST", "/v1/chat/completions", dict(POSTS["/v1/chat/completions"][0], model=model))
        before = server.memory()
        tallies = [send_bodies(server.port, path) for path in POSTS]
        tallies += [send_raw(server.port, path, raw_requests(path)) for path in GETS]
        tallies += [send_raw(server.port, pattern, subjects(pattern)) for pattern in SUBJECTS]
        grown = server.memory() - before
        for tally in tallies:
            print("bad requests:", tally.line())
            for fault in tally.faults[:3]:
                print("      fault:", fault)
        refused = sum(len(tally.times) for tally in tallies)
        over = sum(one > 0.05 for tally in tallies for one in tally.times)
        print("bad requests: %d refused in all, %d over 50 ms; memory grew by %.1f MiB" % (refused, over, grown / 2**20))
        alive = request(server.port, "GET", "/health")[0] == 200
        return alive and grown < 64 * 2**20 and all(not t.faults and len(t.times) >= 500 for t in tallies)
    finally:
        server.stop()
