"""A server that replays recorded searches, for what a test cannot make the real one do at will: blocks that come when the test says
so, connections that break, errors, keys. Everything else is tested against `counterbeam serve`."""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

def setting(name, kind, default, text, **more):
    return {"name": name, "type": kind, "default": default, "help": text, **more}


BEAMS = [setting("beams", "INT", 16, "Population N: answers searched at once", least=1, most=4096),
         setting("block", "INT", 32, "Tokens K of a block; beams are ranked after each block", least=1, most=4096),
         setting("max-tokens", "INT", 3072, "Maximum number of tokens of an answer", least=1, most=1048576)]
STEER = setting("steer", "NUMBER", 0.25, "Steering strength 1/alpha of the reward", least=-1000, most=1000)
METHODS = {
    "object": "list", "model": "recorded",
    "data": [
        {"name": "cbs", "help": "contrastive beam search", "contexts": True, "traced": True, "settings": BEAMS + [
            STEER, setting("contexts", "TEXT", "reasoning", "Context pair by name"), setting("joiner", "TEXT", " ", "Between question and context"),
            setting("aggregate", "NAME", "mean", "Score of an answer", choices=["mean", "sum"])]},
        {"name": "beam", "help": "beam search over mean log-likelihood", "contexts": False, "traced": True, "settings": BEAMS},
        {"name": "power", "help": "power sampling", "contexts": False, "traced": True, "settings": [
            setting("alpha", "NUMBER", 4.0, "Exponent of the target", least=1, most=1000),
            setting("jackknife", "true|false", True, "Correct the bias of the estimate")]},
        {"name": "mcmc-power", "help": "power sampling by Metropolis-Hastings", "contexts": False, "traced": False, "settings": [
            setting("steps", "INT", 10, "Metropolis steps per block", least=0, most=1000000)]},
        {"name": "token-contrast", "help": "every token from the contrast", "contexts": True, "traced": True, "settings": [
            STEER | {"default_when": [{"setting": "policy", "value": "cfg", "default": 1.5}]},
            setting("policy", "NAME", "tilt", "What is drawn from", choices=["tilt", "cfg", "cad"])]}],
    "contexts": [{"name": "reasoning", "positive": "excellent reasoning:", "negative": "wrong reasoning:"},
                 {"name": "brevity", "positive": "short:", "negative": "long:"}]}
KINDS = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}


class RecordedServer:
    """`files` are those of the page by path, `trace` is the JSON of a page of a trace (with "texts"), and `answer` the text that is
    streamed in two pieces around the blocks."""

    def __init__(self, files, trace, answer, key=None):
        self.files, self.answer, self.key = files, answer, key
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
                name = "index.html" if self.path == "/" else self.path[1:]
                if name in outer.files:
                    return self.send(200, outer.files[name], KINDS[name.rsplit(".")[-1]])
                if not self.allowed():
                    return self.fail(401, "The key is missing or wrong.")
                if self.path == "/v1/methods":
                    return self.send(200, METHODS)
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
                identity = self.path.split("/")[3]
                outer.cancelled.append(identity)
                outer.known[identity].set()  # the search ends with the best answer so far
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
