"""A language model: load it, ask it, score answers, look at its numbers."""
from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from counterbeam import streaming
from counterbeam._errors import BadInput
from counterbeam._native import _core
from counterbeam.answer import Answer, Event, Score, make_trace
from counterbeam.engine import Engine, Ids, Prompts, ids_of
from counterbeam.settings import Contexts, Pairs, Scorer, ask_options, set_contexts, settings_help

# A conversation: messages {"role": ..., "content": ...}, the last of them the user's.
Conversation = Sequence[Mapping[str, Any]]


def _bytes_of(memory: int | str | None) -> int:
    """"8G", "512M" or a number of bytes."""
    if memory is None:
        return 0
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", str(memory), re.IGNORECASE)
    if not match or isinstance(memory, bool):
        raise BadInput(f'cache_memory: {memory!r} is not a size; give bytes, or a text such as "8G"')
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def _is_conversation(question: Any) -> bool:
    return isinstance(question, Sequence) and not isinstance(question, str) and bool(question) and all(
        isinstance(one, Mapping) for one in question)


def _messages(conversation: Conversation) -> list[_core.Message]:
    messages = []
    for i, message in enumerate(conversation):
        role, content, name = message.get("role"), message.get("content"), message.get("name", "")
        if not isinstance(role, str) or not isinstance(content, str) or not isinstance(name, str):
            raise BadInput(f'message {i}: {{"role": TEXT, "content": TEXT}} is needed')
        messages.append(_core.Message(role, content, name))
    return messages


def _shown(question: Any) -> str:
    """The question as people read it."""
    if isinstance(question, str):
        return question
    return str(question[-1].get("content", "")) if _is_conversation(question) else ""


class Tokenizer:
    """The tokenizer and the chat template of a model."""

    def __init__(self, inner: _core.Model) -> None:
        self._inner = inner

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """The ids of a text. Control tokens that are written out in it become their ids only with `special`."""
        return self._inner.encode(text, special)

    def decode(self, ids: Ids, *, special: bool = False) -> str:
        """The text of ids; control tokens are left out unless `special`."""
        plain = ids_of(ids)
        return "".join(self._inner.token_text(one) for one in plain) if special else self._inner.decode(plain)

    def render(self, messages: Conversation | str, *, add_generation_prompt: bool = True, **arguments: Any) -> str:
        """The prompt that the chat template makes of a conversation."""
        conversation = [{"role": "user", "content": messages}] if isinstance(messages, str) else [dict(one) for one in messages]
        return self._inner.render(json.dumps(conversation), json.dumps({"add_generation_prompt": add_generation_prompt, **arguments}))


class LanguageModel:
    """A model that is ready to be asked, from any number of threads at once.

    name: a Hugging Face folder, ORG/NAME in the local hub cache, the name of a model that ships, or nothing for the first of those.
    device: auto, cpu or cuda. dtype: auto, f32 or bf16. activations: auto, or int8 (docs/engine.md). threads: 0 for all cores. cache_memory: for keys and values, as "8G".
    cache_dtype: auto, or fp8 or int8 for keys and values in half the memory of bf16; answers change.
    stop_at: "turn" ends answers where the chat template ends a turn too, "eos" at the checkpoint's own end tokens alone.
    engine: URLs of servers that compute instead ("http://HOST:PORT", docs/remote.md); the model's folder then gives tokenizer and chat
    template.
    """

    def __init__(self, name: str | Path = "", *, device: str = "auto", dtype: str = "auto", activations: str = "auto", threads: int = 0,
                 cache_memory: int | str | None = None, cache_dtype: str = "auto", stop_at: str = "turn",
                 engine: str | Sequence[str] = "", engine_key: str = "", engine_model: str = "", progress: bool | None = None) -> None:
        options = _core.LoadOptions()
        options.device = device
        options.dtype = dtype
        options.activations = activations
        options.threads = threads
        options.cache_bytes = _bytes_of(cache_memory)
        options.cache_dtype = cache_dtype
        options.stop_at = stop_at
        options.engine = engine if isinstance(engine, str) else ",".join(engine)
        options.engine_key = engine_key or os.environ.get("COUNTERBEAM_ENGINE_KEY", "")
        options.engine_model = engine_model
        options.progress = sys.stderr.isatty() if progress is None else progress
        self._inner = _core.Model(str(name), options)
        info = self._inner.info()
        self.name: str = info.name
        self.device: str = info.device
        self.dtype: str = info.dtype
        self.activations: str = info.activations  # "int8", or empty: as dtype
        self.description: str = info.engine  # model and back end, for people
        self.vocabulary: int = info.vocabulary
        self.max_length: int = info.max_length  # prompt and answer together
        self.end_tokens: list[int] = info.end_tokens
        self.chat_template: bool = info.chat_template  # without one, questions need raw=True
        self.tokenizer = Tokenizer(self._inner)
        self.engine = Engine(self._inner)

    def __repr__(self) -> str:
        return f"<LanguageModel {self.name}: {self.description}>"

    @overload
    def ask(self, question: str | Conversation, *, method: str = ..., contexts: Contexts | None = ..., seed: int = ...,
            stop: str | Sequence[str] | None = ..., stop_ids: Sequence[int] | None = ..., system: str | None = ..., raw: bool = ...,
            template_args: Mapping[str, Any] | None = ..., system_as_user: bool = ..., pairs: Pairs | None = ..., number: int = ...,
            trace: bool = ..., scorer: Scorer | None = ..., on_block: Callable[[_core.AskProgress], object] | None = ...,
            keep_partial: bool = ..., cancellation: _core.CancelToken | None = ..., concurrency: int = ...,
            errors: Literal["raise", "keep"] = ..., **settings: Any) -> Answer: ...

    @overload
    def ask(self, question: list[str] | tuple[str, ...] | Sequence[Conversation], *, method: str = ..., contexts: Contexts | None = ...,
            seed: int = ..., stop: str | Sequence[str] | None = ..., stop_ids: Sequence[int] | None = ..., system: str | None = ...,
            raw: bool = ..., template_args: Mapping[str, Any] | None = ..., system_as_user: bool = ..., pairs: Pairs | None = ...,
            number: int = ..., trace: bool = ..., scorer: Scorer | None = ...,
            on_block: Callable[[_core.AskProgress], object] | None = ..., keep_partial: bool = ...,
            cancellation: _core.CancelToken | None = ..., concurrency: int = ..., errors: Literal["raise", "keep"] = ...,
            **settings: Any) -> list[Answer]: ...

    def ask(self, question: Any, *, method: str = "cbs", contexts: Contexts | None = None, seed: int = 0,
            stop: str | Sequence[str] | None = None, stop_ids: Sequence[int] | None = None, system: str | None = None, raw: bool = False,
            template_args: Mapping[str, Any] | None = None, system_as_user: bool = False, pairs: Pairs | None = None, number: int = 0,
            trace: bool = False, scorer: Scorer | None = None, on_block: Callable[[_core.AskProgress], object] | None = None,
            keep_partial: bool = False, cancellation: _core.CancelToken | None = None, concurrency: int = 16,
            errors: Literal["raise", "keep"] = "raise", **settings: Any) -> Answer | list[Answer]:
        """Answers a question, a conversation, or a list of them, which are searched together.

        method: with settings, as on the command line ("cbs:steer=0.7"), or with settings as keywords (steer=0.7); see below.
        contexts: the name of a pair (counterbeam.contexts()), "none", or your own texts (positive, negative); pairs: named ones of yours.
        seed: the same seed gives the same answer. number: the number of the question in a series, part of the randomness; the questions
        of a list are numbered from there. stop, stop_ids: texts and ids that end an answer. trace: keep the tree. scorer: scores of your
        own, one per candidate, for methods that rank. on_block: called after every block. cancellation: a counterbeam.Cancellation.
        keep_partial: when cancelled, return the best answer so far. errors: "keep" leaves the error of a question of a list in
        Answer.error instead of raising it.
        """
        options = ask_options(method=method, settings=settings, given_contexts=contexts, pairs=pairs, seed=seed, number=number, stop=stop,
                              stop_ids=stop_ids, system=system, raw=raw, template_args=template_args, system_as_user=system_as_user,
                              trace=trace, keep_partial=keep_partial)
        if isinstance(question, str):
            return self._answer(self._inner.ask(question, options, on_block, scorer, cancellation), question)
        if _is_conversation(question):
            return self._answer(self._inner.ask(_messages(question), options, on_block, scorer, cancellation), _shown(question))
        questions = list(question)
        if not questions:
            return []
        if all(isinstance(one, str) for one in questions):
            inner = self._inner.ask_all(questions, options, concurrency, on_block, scorer, cancellation)
        elif all(_is_conversation(one) for one in questions):
            inner = self._inner.ask_all([_messages(one) for one in questions], options, concurrency, on_block, scorer, cancellation)
        else:
            raise BadInput("question: a text, a conversation [{\"role\": ..., \"content\": ...}, ...], or a list of either is needed")
        return self._answers(inner, [_shown(one) for one in questions], errors)

    def _answer(self, inner: _core.Answer, question: str) -> Answer:
        return Answer(inner, question, make_trace(inner, question, self._inner.token_text))

    def _answers(self, inner: list[_core.Answer], questions: list[str], errors: str) -> list[Answer]:
        for i, one in enumerate(inner):
            if one.error and errors == "raise":
                raise BadInput(f"question {i}: {one.error}")
        return [self._answer(one, question) for one, question in zip(inner, questions)]

    def stream(self, question: str | Conversation, **options: Any) -> Iterator[Event]:
        """Asks, and yields an event after every block: the text that all candidates agree on, which is never taken back, and the best
        answer so far. The last event has the answer. Leaving the loop cancels the search. Takes what ask() takes."""
        return streaming.stream(self.ask, question, options)

    def stream_async(self, question: str | Conversation, **options: Any) -> AsyncIterator[Event]:
        """The same for `async for`."""
        return streaming.stream_async(self.ask, question, options)

    async def ask_async(self, question: Any, **options: Any) -> Any:
        """ask() on a thread of its own. Cancelling the task cancels the search."""
        return await streaming.ask_async(self.ask, question, options)

    def prompts(self, question: str | Conversation, *, method: str = "cbs", contexts: Contexts | None = None, system: str | None = None,
                raw: bool = False, template_args: Mapping[str, Any] | None = None, system_as_user: bool = False,
                pairs: Pairs | None = None, **settings: Any) -> Prompts:
        """The ids that ask() would search with, under each of the contexts."""
        options = ask_options(method=method, settings=settings, given_contexts=contexts, pairs=pairs, seed=0, number=0, stop=None,
                              stop_ids=None, system=system, raw=raw, template_args=template_args, system_as_user=system_as_user,
                              trace=False, keep_partial=False)
        ids = self._inner.prompts(question if isinstance(question, str) else _messages(question), options)
        return Prompts(ids.base, ids.positive, ids.negative)

    def score(self, question: str | Conversation, answer: str, *, contexts: Contexts | None = None, steer: float = 0.25,
              contrast: str = "both", aggregate: str = "mean", end: bool = False, system: str | None = None, raw: bool = False,
              template_args: Mapping[str, Any] | None = None, system_as_user: bool = False, pairs: Pairs | None = None) -> Score:
        """The log-probabilities of an answer under the three prompts, token by token, as numpy arrays."""
        options = _core.ScoreOptions()
        set_contexts(options, contexts, pairs)
        options.steer = steer
        options.contrast = contrast
        options.aggregate = aggregate
        options.end = end
        options.system = system or ""
        options.raw = raw
        options.template_arguments = json.dumps(dict(template_args or {}))
        options.system_as_user = system_as_user
        return Score(*self._inner.score(question if isinstance(question, str) else _messages(question), answer, options))

    def logits(self, ids: Ids, *, cancellation: _core.CancelToken | None = None) -> npt.NDArray[np.float32]:
        """float32 [len(ids), vocabulary]: row i holds the logits of the token after ids[:i + 1]. The array is the memory that they were
        written to."""
        return self._inner.logits(ids_of(ids), cancellation)

    def logprobs(self, ids: Ids, *, cancellation: _core.CancelToken | None = None) -> npt.NDArray[np.float32]:
        """float32 [len(ids)]: the log-probability of every id after those before it. The first is NaN, since nothing predicts it."""
        plain = ids_of(ids)
        values = np.full(len(plain), np.nan, np.float32)
        if len(plain) > 1:
            sequences = self.engine.open([plain[:1]], cancellation=cancellation)
            values[1:] = self.engine.score(sequences, [plain[1:]], cancellation=cancellation)[0]
        return values

    def generate(self, inputs: Any, *, max_new_tokens: int | None = None, do_sample: bool = False, method: str | None = None,
                 attention_mask: Any = None, pad_token_id: int | None = None, seed: int = 0, **settings: Any) -> npt.NDArray[np.int64]:
        """As in transformers: ids in, ids out, [batch, longest], the prompts included, padded at the end with pad_token_id (default: the
        first end token). inputs: ids of one or two dimensions, or what a tokenizer returns ({"input_ids", "attention_mask"}). Without a
        method it is greedy, or sampled with do_sample; any other method and its settings may be given."""
        if isinstance(inputs, Mapping) or hasattr(inputs, "keys"):
            attention_mask = inputs.get("attention_mask") if attention_mask is None else attention_mask
            inputs = inputs["input_ids"]
        rows = [list(map(int, row)) for row in (inputs if np.ndim(inputs[0]) else [inputs])]
        if attention_mask is not None:
            mask = np.atleast_2d(np.asarray(attention_mask))
            rows = [[one for one, kept in zip(row, keep) if kept] for row, keep in zip(rows, mask)]
        if max_new_tokens is not None:
            settings["max_tokens"] = max_new_tokens
        options = ask_options(method=method or ("sample" if do_sample else "greedy"), settings=settings, given_contexts=None, pairs=None,
                              seed=seed, number=0, stop=None, stop_ids=None, system=None, raw=True, template_args=None,
                              system_as_user=False, trace=False, keep_partial=False)
        answers = self._answers(self._inner.ask_all(rows, options, 16, None, None, None), [""] * len(rows), "raise")
        made = [row + answer.tokens for row, answer in zip(rows, answers)]
        padding = pad_token_id if pad_token_id is not None else self.end_tokens[0] if self.end_tokens else 0
        result = np.full((len(made), max(map(len, made))), padding, np.int64)
        for row, ids in zip(result, made):
            row[:len(ids)] = ids
        return result


LanguageModel.ask.__doc__ = (LanguageModel.ask.__doc__ or "") + "\n        Methods and their settings, with defaults:\n" + settings_help()
