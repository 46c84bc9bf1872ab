"""What the server costs: a search through it beside the same search by `ask`, and 16 streams beside
the engine's own decode speed."""
import json
import statistics
import subprocess
import threading
import time

from client import Server, request


def search_overhead(program, model, repeats):
    question = "Compute 12 + 3 * 7."
    settings = "cbs:beams=16:prune=4:max-tokens=256:temperature=1.3"
    lines = "".join(json.dumps({"question": question}) + "\n" for _ in range(repeats))
    asked = subprocess.run([program, "ask", "--jsonl", "--concurrency", "1", "--method", settings,
                            "--seed", "1", "-q"], input=lines, capture_output=True, text=True,
                           check=True)
    alone = [json.loads(line)["seconds"] for line in asked.stdout.splitlines()]
    server = Server(program)
    try:
        served = []
        for _ in range(repeats):
            start = time.time()
            request(server.port, "POST", "/v1/chat/completions",
                    {"model": "%s@%s" % (model, settings), "seed": 1,
                     "messages": [{"role": "user", "content": question}]})
            served.append(time.time() - start)
    finally:
        server.stop()
    a, b = statistics.median(alone), statistics.median(served)
    print("search: %.1f ms by ask, %.1f ms through the server: %+.1f %%"
          % (1e3 * a, 1e3 * b, 100 * (b / a - 1)))


def stream_speed(program, model, streams, tokens):
    bench = subprocess.run([program, "bench", "--rows", str(streams), "--context", "64", "--tokens",
                            str(tokens), "--json", "-q"], capture_output=True, text=True)
    print("bench:", bench.stdout.strip()[:400] if bench.returncode == 0 else bench.stderr.strip())
    server = Server(program, "--searches", str(streams))
    try:
        def work(i):
            request(server.port, "POST", "/v1/completions",
                    {"model": model, "prompt": "Compute 12 + 3 * 7.", "max_tokens": tokens,
                     "temperature": 5, "seed": i, "stream": True})
        before, start = server.metric("llamacpp:tokens_predicted_total"), time.time()
        threads = [threading.Thread(target=work, args=(i,)) for i in range(streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.time() - start
        drawn = server.metric("llamacpp:tokens_predicted_total") - before
        print("streams: %d at once, %.0f tokens a second" % (streams, drawn / seconds))
    finally:
        server.stop()


def run(program, model, repeats):
    search_overhead(program, model, repeats)
    stream_speed(program, model, 16, 256)
    return True
