"""Load: many clients at once with chats, streams, echoes and searches. Every reply is compared with
the answer that the same request gets alone."""
import random
import threading
import time

from client import Server, request, stable


def kinds(model):
    questions = ["Compute %d + %d * %d." % (a, a + 3, b) for a in (3, 12, 25) for b in (2, 7)]
    made = []
    for i, question in enumerate(questions):
        messages = [{"role": "user", "content": question}]
        made.append(("chat", "/v1/chat/completions",
                     {"model": model, "messages": messages, "max_tokens": 24, "seed": i}))
        made.append(("stream", "/v1/chat/completions",
                     {"model": model, "messages": messages, "max_tokens": 24, "seed": i,
                      "stream": True}))
        made.append(("echo", "/v1/completions",
                     {"model": model, "prompt": question + " 33", "max_tokens": 1,
                      "temperature": 0, "logprobs": 1, "echo": True}))
        made.append(("search", "/v1/chat/completions",
                     {"model": model + "@cbs:beams=4:prune=2:steer=0.7", "messages": messages,
                      "max_tokens": 24, "seed": i, "stream": i % 2 == 0}))
    return made


def run(program, model, clients, requests):
    server = Server(program, "--queue", "512", "--searches", "32")
    try:
        cases = kinds(model)
        alone = [stable(request(server.port, "POST", path, body)[2]) for _, path, body in cases]
        before = server.memory()
        lock, left, halves = threading.Lock(), [requests], []
        wrong, refused, latencies, waiting = [], [0], [], [0]

        def work(number):
            choose = random.Random(number)
            while True:
                with lock:
                    if left[0] == 0:
                        return
                    left[0] -= 1
                    if left[0] == requests // 2:
                        halves.append(server.memory())
                index = choose.randrange(len(cases))
                _, path, body = cases[index]
                start = time.time()
                status, headers, reply = request(server.port, "POST", path, body)
                with lock:
                    latencies.append(time.time() - start)
                    if status == 429 and "retry-after" in headers:
                        refused[0] += 1
                    elif status != 200 or stable(reply) != alone[index]:
                        wrong.append((status, body, reply[:300]))

        start = time.time()
        threads = [threading.Thread(target=work, args=(i,)) for i in range(clients)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            waiting[0] = max(waiting[0], server.metric("vllm:num_requests_waiting") or 0)
            time.sleep(0.5)
        seconds = time.time() - start
        latencies.sort()
        print("load: %d clients, %d requests in %.1f s (%.0f a second), %d wrong, %d refused with 429"
              % (clients, requests, seconds, requests / seconds, len(wrong), refused[0]))
        print("      latency p50 %.3f s, p99 %.3f s; longest queue %d; memory %.0f MiB before, %.0f halfway, %.0f after"
              % (latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100], waiting[0],
                 before / 2**20, halves[0] / 2**20, server.memory() / 2**20))
        for one in wrong[:3]:
            print("      wrong:", one)
        return not wrong
    finally:
        server.stop()
