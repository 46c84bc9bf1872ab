"""What the server costs: a search through it beside the same search by `ask` with the model loaded, and
the speed at which 16 streams decode beside the engine's own, at the same rows, context and tokens."""
import json
import statistics
import subprocess
import threading
import time

from client import Server, connect, request, request_bytes

QUESTION = "Compute 12 + 3 * 7."


def search_overhead(program, folder, tokens, repeats):
    settings = "cbs:beams=16:prune=4:temperature=1.3:max-tokens=%d" % tokens
    model = ["--model", folder] if folder else []
    lines = "".join(json.dumps({"question": QUESTION}) + "\n" for _ in range(repeats + 1))
    raw = ["--raw"] if folder else []  # random weights have no chat template
    asked = subprocess.run([program, "ask", *model, *raw, "--jsonl", "--concurrency", "1", "--method", settings,
                            "--seed", "1", "-q"], input=lines, capture_output=True, text=True, check=True)
    alone = [json.loads(line)["seconds"] for line in asked.stdout.splitlines()][1:]
    server = Server(program, *model, "--name", "m")
    try:
        body = {"model": "m@" + settings, "seed": 1}
        path = "/v1/completions" if folder else "/v1/chat/completions"
        body.update({"prompt": QUESTION} if folder else {"messages": [{"role": "user", "content": QUESTION}]})
        served = []
        for _ in range(repeats + 1):  # the first one warms the caches up
            start = time.time()
            request(server.port, "POST", path, body)
            served.append(time.time() - start)
    finally:
        server.stop()
    a, b = statistics.median(alone), statistics.median(served[1:])
    print("search: %.1f ms by ask, %.1f ms through the server: %+.1f %% (medians of %d)"
          % (1e3 * a, 1e3 * b, 100 * (b / a - 1), repeats))


def engine_speed(program, model, rows, context, tokens):
    bench = subprocess.run([program, "bench", *model, "--rows", str(rows), "--context", str(context), "--tokens",
                            str(tokens), "--prefill", "1", "--beams", "1", "--block", "1", "--rounds", "1", "--json", "-q"],
                           capture_output=True, text=True, check=True)
    return next(figure["tokens_per_second"] for figure in json.loads(bench.stdout)["figures"]
                if figure["name"].startswith("decode"))


def stream_speed(server, rows, context, tokens):
    """Tokens a second while all streams decode: from the last first chunk to the first end."""
    begun, ended, lock, drawn = [0], [0], threading.Lock(), []

    def mark():
        drawn.append((time.time(), server.metric("llamacpp:tokens_predicted_total")))

    def work(i):
        body = {"prompt": [100 + (7 * j + i) % 300 for j in range(context)], "max_tokens": tokens, "seed": i,
                "stream": True}
        with connect(server.port) as connection:
            connection.sendall(request_bytes("POST", "/v1/completions", body))
            text, first = b"", True
            while b"[DONE]" not in text:
                text = text[-8:] + connection.recv(65536)
                if first and b"data: " in text:
                    first = False
                    with lock:
                        begun[0] += 1
                        if begun[0] == rows:
                            mark()
            with lock:
                ended[0] += 1
                if ended[0] == 1:
                    mark()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(rows)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (start, before), (end, after) = drawn
    return (after - before) / (end - start)


def stream_overhead(program, folder, rows, context, tokens):
    model = ["--model", folder] if folder else []
    engine = [engine_speed(program, model, rows, context, tokens)]
    server = Server(program, *model, "--searches", str(rows))
    try:
        served = [stream_speed(server, rows, context, tokens) for _ in range(3)]
    finally:
        server.stop()
    engine.append(engine_speed(program, model, rows, context, tokens))  # the machine may have changed
    print("streams: %d at once after %d tokens: %.0f tokens a second, bench %.0f: %.1f %%"
          % (rows, context, max(served), max(engine), 100 * max(served) / max(engine)))


def run(program, folder, repeats):
    search_overhead(program, folder, 64 if folder else 256, repeats)
    stream_overhead(program, folder, 16, 256, 128)
    return True
