"""Searches on threads of their own: events as they come, and answers to be awaited."""
from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from counterbeam._errors import BadInput
from counterbeam._native import _core
from counterbeam.answer import Answer, Event

Ask = Callable[..., Any]


class _Events:
    """Turns what a search tells into events."""

    def __init__(self) -> None:
        self._last = Event(0, 0, 0, 0, 0.0, "", "", "")

    def block(self, told: _core.AskProgress) -> Event:
        text = told.agreed[len(self._last.agreed):]
        self._last = Event(told.block, told.blocks, told.alive, told.finished, told.best, told.best_text, told.agreed, text)
        return self._last

    def end(self, answer: Answer) -> Event:
        last = self._last
        return Event(last.block, last.blocks, 0, last.finished, answer.score, answer.text, answer.text, answer.text[len(last.agreed):],
                     answer)


def _token(options: dict[str, Any]) -> _core.CancelToken:
    if options.get("on_block") is not None:
        raise BadInput("on_block: the events take its place")
    token = options.pop("cancellation", None)
    return token if token is not None else _core.CancelToken()


def _start(ask: Ask, question: Any, options: dict[str, Any], put: Callable[[object], None]) -> tuple[threading.Thread, _core.CancelToken]:
    """Searches on a daemon thread and puts events, and at last the error or None."""
    token = _token(options)
    events = _Events()

    def work() -> None:
        try:
            answer = ask(question, on_block=lambda told: put(events.block(told)), cancellation=token, **options)
            if not isinstance(answer, Answer):
                raise BadInput("stream: one question is needed, not a list")
            put(events.end(answer))
            put(None)
        except BaseException as error:
            put(error)

    thread = threading.Thread(target=work, name="counterbeam-stream", daemon=True)
    thread.start()
    return thread, token


def _event(item: object) -> Event | None:
    """What a queue gave: an event, None at the end, or an exception, which is raised."""
    if isinstance(item, BaseException):
        raise item
    assert item is None or isinstance(item, Event)
    return item


def stream(ask: Ask, question: Any, options: dict[str, Any]) -> Iterator[Event]:
    items: queue.SimpleQueue[object] = queue.SimpleQueue()
    thread, token = _start(ask, question, options, items.put)
    try:
        while event := _event(items.get()):
            yield event
    finally:
        token.cancel()
        thread.join()


async def stream_async(ask: Ask, question: Any, options: dict[str, Any]) -> AsyncIterator[Event]:
    loop = asyncio.get_running_loop()
    items: asyncio.Queue[object] = asyncio.Queue()

    def put(item: object) -> None:
        try:
            loop.call_soon_threadsafe(items.put_nowait, item)
        except RuntimeError:  # the loop is closed: nobody waits any more
            token.cancel()

    thread, token = _start(ask, question, options, put)
    try:
        while event := _event(await items.get()):
            yield event
    finally:
        token.cancel()


async def ask_async(ask: Ask, question: Any, options: dict[str, Any]) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    token = options.pop("cancellation", None) or _core.CancelToken()

    def settle(set_it: Callable[[Any], None], value: object) -> None:
        if not future.done():
            set_it(value)

    def work() -> None:
        try:
            set_it, value = future.set_result, ask(question, cancellation=token, **options)
        except BaseException as error:
            set_it, value = future.set_exception, error
        try:
            loop.call_soon_threadsafe(settle, set_it, value)
        except RuntimeError:  # the loop is closed: nobody waits any more
            pass

    threading.Thread(target=work, name="counterbeam-ask", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        token.cancel()
        raise
