"""A server that replays recorded searches, for what a test cannot make the real one do at will: blocks that come when the test says
so, connections that break, errors, keys. Everything else is tested against `counterbeam serve`."""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

METHODS = {
    "methods": [
        {"name": "cbs", "help": "contrastive beam search", "uses_contexts": True, "traced": True,
         "settings": {"beams": 16, "block": 32, "max-tokens": 3072, "steer": 0.25, "contexts": "reasoning", "joiner": " ", "aggregate": "mean"}},
        {"name": "beam", "help": "beam search over mean log-likelihood", "uses_contexts": False, "traced": True,
         "settings": {"beams": 16, "block": 32, "max-tokens": 3072}},
        {"name": "power", "help": "power sampling", "uses_contexts": False, "traced": True, "settings": {"alpha": 4.0, "jackknife": True}},
        {"name": "mcmc-power", "help": "power sampling by Metropolis-Hastings", "uses_contexts": False, "traced": False, "settings": {"steps": 10}}],
    "settings": [
        {"name": "beams", "type": "int", "min": 1, "max": 4096, "help": "Population N: answers searched at once"},
        {"name": "block", "type": "int", "min": 1, "max": 4096, "help": "Tokens K between two rankings"},
        {"name": "max-tokens", "type": "int", "min": 1, "max": 1048576, "help": "Tokens of an answer at most"},
        {"name": "steer", "type": "number", "min": -1000, "max": 1000, "help": "Steering strength 1/alpha of the reward"},
        {"name": "contexts", "type": "text", "help": "Context pair by name"},
        {"name": "joiner", "type": "text", "help": "Between question and context"},
        {"name": "aggregate", "type": "name", "choices": ["mean", "sum"], "help": "Score of an answer"},
        {"name": "alpha", "type": "number", "min": 1, "max": 1000, "help": "Exponent of the target"},
        {"name": "jackknife", "type": "bool", "help": "Correct the bias of the estimate"},
        {"name": "steps", "type": "int", "min": 0, "max": 1000000, "help": "Metropolis steps per block"}],
    "contexts": [{"name": "reasoning", "positive": "excellent reasoning:", "negative": "wrong reasoning:"},
                 {"name": "brevity", "positive": "short:", "negative": "long:"}]}


class RecordedServer:
    """`trace` is the JSON of a page of a trace (with "texts"), `answer` the text that is streamed in two pieces around the blocks."""

    def __init__(self, page, trace, answer, key=None):
        self.page, self.answer, self.key = page, answer, key
        self.trace = {key: trace[key] for key in ("settings", "prompts", "pool", "selected")} | {"blocks": [
            {"block": number + 1, "generated_tokens": 32 * (number + 1), "finished": 0,
             "candidates": [c | {"texts": [trace["texts"][str(token)] for token in c["tokens"]]} for c in block["candidates"]]}
            for number, block in enumerate(trace["blocks"])]}
        self.texts = trace["texts"]
        self.requests, self.cancelled, self.failure = [], [], None
        self.blocks = threading.Semaphore(0)  # the test releases one per block
        self.steps = None  # None: all at once
        self.known = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def send(self, status, body, kind="application/json"):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def fail(self, status, message):
                self.send(status, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}})

            def stream(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True

            def event(self, data, name=None):
                text = data if isinstance(data, str) else json.dumps(data)
                try:
                    self.wfile.write(((f"event: {name}\n" if name else "") + f"data: {text}\n\n").encode())
                    self.wfile.flush()
                except ConnectionError:  # the page has gone away
                    pass

            def allowed(self):
                return outer.key is None or self.headers.get("Authorization") == f"Bearer {outer.key}"

            def do_GET(self):
                if self.path == "/":
                    return self.send(200, outer.page.encode(), "text/html; charset=utf-8")
                if not self.allowed():
                    return self.fail(401, "The key is missing or wrong.")
                if self.path == "/v1/methods":
                    return self.send(200, METHODS)
                if self.path == "/v1/models":
                    return self.send(200, {"object": "list", "data": [{"id": "recorded", "object": "model"}]})
                identity = self.path.split("/")[3]
                if self.path.endswith("/events"):  # also before the search begins
                    done = outer.known.setdefault(identity, threading.Event())
                    self.stream()
                    for block in outer.trace["blocks"]:
                        if outer.steps is not None:
                            outer.blocks.acquire()
                        self.event(block, "block")
                    done.set()
                    return self.event({"pool": outer.trace["pool"], "selected": outer.trace["selected"]}, "done")
                return self.send(200, outer.trace)

            def do_DELETE(self):
                outer.cancelled.append(self.path.split("/")[3])
                self.send(200, {"cancelled": True})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if not self.allowed():
                    return self.fail(401, "The key is missing or wrong.")
                if self.path == "/detokenize":
                    return self.send(200, {"prompt": "".join(outer.texts[str(token)] for token in body["tokens"])})
                outer.requests.append(body)
                if outer.failure == "gone":
                    self.close_connection = True
                    return None
                if outer.failure == "refused":
                    return self.fail(400, "search.beams: 0 is out of range; allowed: 1 to 4096")
                done = outer.known.setdefault(body["search"]["id"], threading.Event())
                self.stream()
                half = len(outer.answer) // 2

                def chunk(delta, finish=None, **more):
                    self.event({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})
                chunk({"role": "assistant", "content": ""})
                self.wfile.write(b": working\n\n")
                chunk({"content": outer.answer[:half]})
                if outer.failure == "broken":
                    return None
                if outer.failure == "error":
                    return self.event({"error": {"message": "The search ran out of memory.", "type": "server_error"}})
                if outer.steps is not None:
                    done.wait(60)
                chunk({"content": outer.answer[half:]})
                chunk({}, "stop")
                self.event({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 40, "total_tokens": 60},
                            "search": {"id": body["search"]["id"], "method": body["search"]["method"], "score": -0.125, "generated_tokens": 640,
                                       "scored_tokens": 1280, "seconds": 2.5, "blocks": len(outer.trace["blocks"])}})
                return self.event("[DONE]")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
