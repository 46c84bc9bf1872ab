"""This server beside llama-server on the same cores and the same weights: 16 streams at once, and the
log-likelihoods of prompts that share a long prefix, as lm-evaluation-harness asks for them.

  bench/serve/beside.py ours PROGRAM MODEL [--prompts 200]
  bench/serve/beside.py llama FOLDER/llama-server MODEL.gguf [--prompts 200]

llama-server gives no log-probabilities of a prompt. Its nearest way is one request per token of the
continuation, each for the probabilities of one next token, with the prompt kept in its cache."""
import argparse
import json
import queue
import random
import subprocess
import threading
import time

from client import Server, connect, read_answer, request, request_bytes

STREAMS, PROMPT, TOKENS = 16, 256, 128
PREFIX, CONTINUATION = 512, 8


class Ours(Server):
    def __init__(self, options):
        super().__init__(options.program, "--model", options.model, "--name", "m",
                         "--searches", str(STREAMS), "--threads", str(options.threads))

    def stream_request(self, ids, seed):
        return "/v1/completions", {"prompt": ids, "max_tokens": TOKENS, "seed": seed, "stream": True}

    def log_likelihoods(self, prefix, ends, clients):
        def score(end):
            status, _, body = request(self.port, "POST", "/v1/completions", {
                "model": "m", "prompt": [prefix + end], "temperature": 0, "max_tokens": 1, "logprobs": 1,
                "seed": 1234, "echo": True})
            values = json.loads(body)["choices"][0]["logprobs"]["token_logprobs"]
            assert status == 200 and len(values) == len(prefix) + len(end) + 1
            return sum(values[len(prefix):-1])
        return in_parallel(score, ends, clients)


class Llama(Server):
    def __init__(self, options):
        self.port = options.port
        self.process = subprocess.Popen(
            [options.program, "-m", options.model, "--port", str(self.port), "-np", str(STREAMS), "-c",
             str(STREAMS * 1024), "-t", str(options.threads), "-tb", str(options.threads), "--no-webui"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            time.sleep(0.1)
            try:
                if request(self.port, "GET", "/health")[0] == 200:
                    return
            except OSError:
                pass
        raise SystemExit("llama-server did not start")

    def stream_request(self, ids, seed):
        return "/completion", {"prompt": ids, "n_predict": TOKENS, "seed": seed, "stream": True,
                               "ignore_eos": True, "cache_prompt": False, "temperature": 1, "top_k": 0,
                               "top_p": 1, "min_p": 0}

    def log_likelihoods(self, prefix, ends, clients):
        def score(end):
            for count in range(len(end)):
                status, _, body = request(self.port, "POST", "/completion", {
                    "prompt": prefix + end[:count], "n_predict": 1, "n_probs": 1, "temperature": 0,
                    "cache_prompt": True})
                assert status == 200 and json.loads(body)["completion_probabilities"]
        return in_parallel(score, ends, clients)


def in_parallel(work, items, clients):
    waiting = queue.SimpleQueue()
    for item in items:
        waiting.put(item)

    def take():
        while True:
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                return
            work(item)
    threads = [threading.Thread(target=take) for _ in range(clients)]
    start = time.time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.time() - start


def streams(server, choose):
    firsts, ends = [0.0] * STREAMS, [0.0] * STREAMS

    def work(i):
        path, body = server.stream_request([choose.randrange(1000, 100000) for _ in range(PROMPT)], i)
        with connect(server.port) as connection:
            connection.sendall(request_bytes("POST", path, body))
            while b"data: " not in connection.recv(65536, 2):  # MSG_PEEK: the answer is read below
                time.sleep(0.005)
            firsts[i] = time.time()
            status, _, _ = read_answer(connection)
            assert status == 200
            ends[i] = time.time()
    start = time.time()
    in_parallel(work, range(STREAMS), STREAMS)
    total, first = max(ends) - start, max(firsts) - start
    print("%d streams, %d tokens after %d: %.2f s in all (%.0f tokens a second), the last first token after %.2f s, "
          "%.0f tokens a second after it" % (STREAMS, TOKENS, PROMPT, total, STREAMS * TOKENS / total, first,
                                             STREAMS * (TOKENS - 1) / (total - first)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=["ours", "llama"])
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--clients", default="1,8", help="clients that ask for log-likelihoods at once")
    parser.add_argument("--rounds", type=int, default=2, help="of the streams")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--port", type=int, default=18080)
    options = parser.parse_args()
    choose = random.Random(1)
    server = Ours(options) if options.which == "ours" else Llama(options)
    try:
        for _ in range(options.rounds):
            streams(server, choose)
        for clients in map(int, options.clients.split(",")):
            prefix = [choose.randrange(1000, 100000) for _ in range(PREFIX)]
            ends = [[choose.randrange(1000, 100000) for _ in range(CONTINUATION)] for _ in range(options.prompts)]
            seconds = server.log_likelihoods(prefix, ends, clients)
            print("%d log-likelihoods of %d tokens after a prefix of %d, %d at once: %.2f s"
                  % (options.prompts, CONTINUATION, PREFIX, clients, seconds))
    finally:
        server.stop()


if __name__ == "__main__":
    main()
