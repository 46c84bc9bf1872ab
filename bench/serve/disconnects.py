"""Clients that go away in every phase: queued, prefill, stream, and a reader that stalls. Pages,
sequences, threads and file descriptors must be back at the base line within a second."""
import socket
import struct
import time

from client import Server, connect, request, request_bytes, wait_until


def long_body(model, stream, prompt="Write a long story."):
    return {"model": model + "@beam:beams=4:prune=2:block=4", "stream": stream, "max_tokens": 4000,
            "temperature": 1.5, "messages": [{"role": "user", "content": prompt}]}


def go_away(connection, reset):
    if reset:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def run(program, model, count):
    server = Server(program, "--searches", "4", "--queue", "64", "--stall-seconds", "1")
    try:
        request(server.port, "POST", "/v1/chat/completions",
                {"messages": [{"role": "user", "content": "Compute 1 + 1."}], "max_tokens": 4})
        time.sleep(0.5)
        base = {"files": server.files(), "threads": server.threads(),
                "sequences": server.metric("counterbeam:sequences"),
                "pages": server.metric("counterbeam:cache_pages_used")}

        def at_base():
            return (server.metric("vllm:num_requests_running") == 0
                    and server.metric("vllm:num_requests_waiting") == 0
                    and server.metric("counterbeam:sequences") == base["sequences"]
                    and server.metric("counterbeam:cache_pages_used") == base["pages"]
                    and server.files() <= base["files"] + 1 and server.threads() == base["threads"])

        done, worst, failed = 0, 0.0, 0
        phases = ["queued", "prefill", "stream", "stalled"]
        while done < count:
            phase = phases[(done // 16) % len(phases)]
            connections = []
            for i in range(16):
                connection = connect(server.port)
                if phase == "stalled":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                prompt = "12 + 3 * 7, " * (60 if phase == "prefill" else 1)
                connection.sendall(request_bytes("POST", "/v1/chat/completions",
                                                 long_body(model, phase != "queued", prompt)))
                connections.append(connection)
            if phase == "stream":
                for connection in connections[:4]:
                    connection.recv(64)
            elif phase == "stalled":
                time.sleep(0.2)
            for i, connection in enumerate(connections):
                go_away(connection, reset=i % 2 == 0)
            done += len(connections)
            took = wait_until(at_base, 10)
            if took is None or took > 1:
                failed += 1
                print("      %s: not back at the base line within a second (%s)" % (phase, took))
            worst = max(worst, took or 10)
        print("disconnects: %d in %d phases, worst time back to the base line %.3f s, %d late"
              % (done, len(phases), worst, failed))
        return failed == 0
    finally:
        server.stop()
