"""Threads, cancellation, Ctrl-C, the end of the interpreter, and what many questions leave behind."""
import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import QUESTION, SHORT, run_python

import counterbeam as cb

# Goes on to the model's longest answer, since beams that end are replaced by copies of others: seconds even where nothing else runs.
LONG = dict(method="beam", beams=256, prune=1, max_tokens=2000, block=8, temperature=3.0)


def test_64_threads_ask_at_once(model):
    settings = dict(steer=0.7, beams=2, prune=2, block=16, max_tokens=32)
    alone = [model.ask(QUESTION, seed=i, **settings).text for i in range(4)]
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda i: model.ask(QUESTION, seed=i % 4, **settings).text, range(64)))
    assert answers == [alone[i % 4] for i in range(64)]


def test_the_gil_is_free_while_a_search_runs(model):
    done = threading.Event()
    thread = threading.Thread(target=lambda: (model.ask(QUESTION, seed=1), done.set()))
    thread.start()
    steps = 0
    while not done.is_set():
        steps += 1
        time.sleep(0.0005)
    thread.join()
    assert steps > 10


def test_cancellation_from_another_thread(model):
    token = cb.Cancellation()
    threading.Timer(0.2, token.cancel).start()
    with pytest.raises(cb.Cancelled):
        model.ask(QUESTION, cancellation=token, **LONG)
    assert token.cancelled
    with pytest.raises(cb.Cancelled):
        model.ask(QUESTION, cancellation=token)
    partial = cb.Cancellation()
    answer = model.ask(QUESTION, cancellation=partial, keep_partial=True, on_block=lambda told: told.block > 2 and partial.cancel(), **LONG)
    assert answer.interrupted and answer.tokens


def test_leaving_a_stream_cancels_the_search(model):
    for event in model.stream(QUESTION, **LONG):
        if event.block == 3:
            break
    assert not [one for one in threading.enumerate() if one.name == "counterbeam-stream"]
    with pytest.raises(cb.BadInput):
        list(model.stream(QUESTION, method="none such"))


def test_async(model):
    async def several():
        answers = await asyncio.gather(*(model.ask_async(QUESTION, seed=i, **SHORT) for i in range(6)))
        task = asyncio.create_task(model.ask_async(QUESTION, **LONG))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(cb.BadInput):
            await model.ask_async(QUESTION, method="none such")
        events = [event async for event in model.stream_async(QUESTION, **SHORT)]
        return answers, events

    answers, events = asyncio.run(several())
    assert [one.text for one in answers] == [model.ask(QUESTION, seed=i, **SHORT).text for i in range(6)]
    assert events[-1].answer.text == answers[0].text


INTERRUPTED = """
import sys, time, counterbeam as cb
model = cb.LanguageModel()
print("ready", flush=True)
start = time.time()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(model.ask("Compute 2 + 2.", beams=2, prune=1, max_tokens=16).text != "", flush=True)
"""


@pytest.mark.parametrize("call", ["model.ask('Compute 1.', method='beam', beams=256, prune=1, block=8, max_tokens=2000, temperature=3.0)",
                                  "model.engine.extend(model.engine.open([[1, 2]] * 256), max_tokens=model.max_length - 2, temperature=3.0, stop=[])",
                                  "list(model.stream('Compute 1.', method='beam', beams=256, prune=1, block=8, max_tokens=2000, temperature=3.0))",
                                  "model.ask(['Compute 1.'] * 8, method='beam', beams=256, prune=1, block=8, max_tokens=2000, temperature=3.0)"])
def test_ctrl_c(call):
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED.format(call=call)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (out, process.returncode) == ("interrupted\nTrue\n", 0), errors


def test_handlers_of_other_signals_run_between_blocks():
    done = run_python("""
import signal, counterbeam as cb
model = cb.LanguageModel()
def ring(*_): raise TimeoutError
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try: model.ask("Compute 1.", method="beam", beams=256, prune=1, max_tokens=2000, block=8, temperature=3.0)
except TimeoutError: print("rang")
""")
    assert done.stdout == "rang\n", done.stderr


@pytest.mark.parametrize("start", [
    "threading.Thread(target=work, daemon=True).start()",
    "[threading.Thread(target=work, daemon=True).start() for _ in range(8)]",
    "threading.Thread(target=lambda: list(model.stream('Compute 1.', **LONG)), daemon=True).start()",
    "stream = model.stream('Compute 1.', **LONG); next(stream)",
    "asyncio.run(leave())",
])
@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise ValueError"])
def test_the_interpreter_exits_while_searches_run(start, end):
    code = f"""
import asyncio, sys, threading, time, counterbeam as cb
LONG = dict(method="beam", beams=256, prune=1, max_tokens=2000, block=8, temperature=3.0)
model = cb.LanguageModel()
def work(): model.ask("Compute 1.", on_block=lambda told: None, **LONG)
async def leave():
    asyncio.create_task(model.ask_async("Compute 1.", **LONG))
    await asyncio.sleep(0.1)
{start}
time.sleep(0.2)
{end}
"""
    done = run_python(code, timeout=60)
    assert done.returncode == {"": 0, "sys.exit(3)": 3, "raise ValueError": 1}[end], done.stderr
    for complaint in ("terminate", "Fatal", "leak", "Aborted"):
        assert complaint not in done.stderr, done.stderr


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_thousand_questions_leave_nothing(model):
    def ask(count):
        for i in range(count):
            answer = model.ask(QUESTION, method="cbs", seed=i, beams=2, prune=2, block=4, max_tokens=4, trace=True,
                               on_block=lambda told: told.best, scorer=lambda all: [one.score for one in all])
            answer.candidates, answer.rewards, answer.pieces, answer.trace.data
            with pytest.raises(cb.BadInput):
                model.ask(QUESTION, method="nothing")

    ask(100)
    gc.collect()
    memory, objects = resident(), len(gc.get_objects())
    ask(1000)
    gc.collect()
    assert len(gc.get_objects()) - objects < 200
    assert resident() - memory < 8 << 20
    sequences = model.engine.open([[1, 2, 3]] * 50)
    del sequences
