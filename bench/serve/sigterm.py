"""SIGTERM under load: every request is finished or gets a proper error, and the process ends."""
import json
import threading
import time

from client import Server, connect, read_answer, request_bytes


def run(program, model, count):
    finished = refused = lost = 0
    slowest = 0.0
    for number in range(count):
        server = Server(program, "--searches", "2", "--queue", "8")
        answers, lock = [], threading.Lock()

        def work(i):
            body = {"model": model if i % 2 else model + "@cbs:beams=4:prune=2",
                    "messages": [{"role": "user", "content": "Compute %d + 4." % i}],
                    "max_tokens": 40, "seed": i, "stream": i % 3 == 0}
            try:
                with connect(server.port) as connection:
                    connection.sendall(request_bytes("POST", "/v1/chat/completions", body))
                    answer = read_answer(connection)
            except OSError:
                answer = None  # refused by the system: the server had ended
            with lock:
                answers.append(answer)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(12)]
        for thread in threads:
            thread.start()
        time.sleep(0.01 * (number % 10))
        start = time.time()
        server.signal()
        code = server.wait()
        slowest = max(slowest, time.time() - start)
        for thread in threads:
            thread.join()
        for answer in answers:
            if answer is None:
                refused += 1
                continue
            status, headers, body = answer
            if status == 200 and (headers.get("content-type", "").startswith("application/json")
                                  or body.endswith(b"data: [DONE]\n\n")):
                finished += 1
            elif status in (429, 503) and "error" in json.loads(body):
                refused += 1
            else:
                lost += 1
        lost += code != 0
    print("sigterm: %d times, %d requests finished, %d refused with an error, %d lost; slowest end %.2f s"
          % (count, finished, refused, lost, slowest))
    return lost == 0
