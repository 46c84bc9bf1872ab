"""A server process and a small HTTP client over raw sockets, with the standard library alone."""
import json
import os
import re
import signal
import socket
import subprocess
import time


class Server:
    """Starts `counterbeam serve` on a free port of 127.0.0.1 and waits until it listens."""

    def __init__(self, program, *options):
        self.process = subprocess.Popen([program, "serve", "--port", "0", "-q", *options],
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.match(r"listening on http://([^:]+):(\d+)", line)
            if found:
                self.port = int(found.group(2))
                return
        raise SystemExit("the server did not start")

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self, seconds=120):
        return self.process.wait(seconds)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(120)

    def metric(self, name):
        _, _, body = request(self.port, "GET", "/metrics")
        found = re.search(r"^%s\{[^}]*\} (\S+)$" % re.escape(name), body.decode(), re.M)
        return float(found.group(1)) if found else None

    def memory(self):
        """Resident bytes."""
        with open("/proc/%d/statm" % self.process.pid) as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def files(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def threads(self):
        return len(os.listdir("/proc/%d/task" % self.process.pid))


def connect(port, timeout=300):
    return socket.create_connection(("127.0.0.1", port), timeout)


def request_bytes(method, path, body=None):
    data = b"" if body is None else json.dumps(body).encode()
    head = "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" \
           "Content-Length: %d\r\n\r\n" % (method, path, len(data))
    return head.encode() + data


def read_answer(connection):
    """(status, headers, body); status 0 where the connection ended without an answer."""
    file = connection.makefile("rb")
    first = file.readline()
    if not first:
        return 0, {}, b""
    headers = {}
    for line in iter(file.readline, b"\r\n"):
        if not line:
            return 0, {}, b""
        name, value = line.decode().split(":", 1)
        headers[name.lower()] = value.strip()
    status = int(first.split()[1])
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while True:
            line = file.readline()
            if not line:
                return 0, headers, body
            size = int(line, 16)
            body += file.read(size)
            file.readline()
            if size == 0:
                return status, headers, body
    size = int(headers.get("content-length", 0))
    body = file.read(size)
    return (status if len(body) == size else 0), headers, body


def request(port, method, path, body=None):
    with connect(port) as connection:
        connection.sendall(request_bytes(method, path, body))
        return read_answer(connection)


def stable(body):
    """What of an answer must not change: all but ids, times and what is cached."""
    text = body.decode()
    if text.startswith("data: ") or text.startswith(":"):
        pieces = {}
        for event in text.split("\n\n"):
            if not event.startswith("data: {"):
                continue
            chunk = json.loads(event[6:])
            for choice in chunk.get("choices", []):
                one = pieces.setdefault(choice["index"], ["", None])
                one[0] += choice.get("delta", {}).get("content") or choice.get("text") or ""
                one[1] = choice["finish_reason"] or one[1]
        return json.dumps([pieces, text.endswith("data: [DONE]\n\n")], sort_keys=True)
    return json.dumps(json.loads(text).get("choices"), sort_keys=True)


def wait_until(condition, seconds):
    """The seconds until the condition held; None: it did not."""
    start = time.time()
    while time.time() - start < seconds:
        if condition():
            return time.time() - start
        time.sleep(0.01)
    return None
