"""What a search leaves: an answer with its candidates, its cost and its tree."""
from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from counterbeam import display
from counterbeam._native import _core

Floats = npt.NDArray[np.float32]
Candidate = _core.AnswerCandidate


@dataclass(frozen=True)
class Cost:
    """What was computed for an answer, over all candidates."""
    generated_tokens: int  # sampled
    scored_tokens: int  # read under the other prompts
    prompt_tokens: int  # computed
    cached_tokens: int  # prompt tokens that were shared instead
    seconds: float


class Trace:
    """The tree of a search. In a notebook it shows itself; save() writes the same page to a file."""

    def __init__(self, text: str, question: str, texts: dict[int, str]) -> None:
        self.json = text  # as the command line writes it (docs/formats.md)
        self.question = question
        self._texts = texts

    @functools.cached_property
    def data(self) -> dict[str, Any]:
        """The tree as dicts and lists: settings, prompts, blocks of candidates, pool, selected."""
        data: dict[str, Any] = json.loads(self.json)
        return data

    @property
    def blocks(self) -> list[list[dict[str, Any]]]:
        """The candidates of every block."""
        return [block["candidates"] for block in self.data["blocks"]]

    def html(self) -> str:
        """One self-contained page."""
        return _core.trace_page(self.json, self.question, self._texts)

    def save(self, path: str | Path) -> None:
        """Writes the page (.html), or the JSON (any other ending)."""
        Path(path).write_text(self.html() if str(path).endswith(".html") else self.json + "\n", encoding="utf-8")

    def _repr_html_(self) -> str:
        return display.frame(self.html())

    def __repr__(self) -> str:
        blocks = self.blocks
        return f"<Trace of {len(blocks)} blocks, {sum(map(len, blocks))} candidates>"


def make_trace(answer: _core.Answer, question: str, token_text: Callable[[int], str]) -> Trace | None:
    if not answer.trace:
        return None
    data = json.loads(answer.trace)
    ids = {token for block in data["blocks"] for one in block["candidates"] for token in one["tokens"]}
    for prompt in data["prompts"].values():
        ids.update(prompt)
    return Trace(answer.trace, question, {token: token_text(token) for token in ids})


class Answer:
    """The answer of a search. str(answer) is its text; in a notebook the text is coloured by the reward of its tokens."""

    def __init__(self, inner: _core.Answer, question: str, trace: Trace | None) -> None:
        self._inner = inner
        self.question = question
        self.trace = trace  # None unless asked for
        self.text: str = inner.text
        self.score: float = inner.score
        self.finished: bool = inner.finished  # ended by itself or at a stop; otherwise cut at the token limit
        self.interrupted: bool = inner.interrupted  # cancelled: this was the best answer so far
        self.selected: int = inner.selected  # which of the candidates it is
        self.error: str = inner.error  # of a list of questions: why this one has no answer
        self.cost = Cost(inner.generated_tokens, inner.scored_tokens, inner.prompt_tokens, inner.cached_tokens, inner.seconds)

    @functools.cached_property
    def tokens(self) -> list[int]:
        """The ids, the end token included."""
        return self._inner.tokens

    @functools.cached_property
    def candidates(self) -> list[Candidate]:
        """Every answer that the search closed, in that order."""
        return self._inner.candidates

    @functools.cached_property
    def settings(self) -> dict[str, Any]:
        """The method and all of its settings."""
        settings: dict[str, Any] = json.loads(self._inner.settings) if self._inner.settings else {}
        return settings

    @functools.cached_property
    def rewards(self) -> Floats:
        """Per token: its log-probability after the positive context less that after the negative one. Empty without contexts."""
        if not self.candidates:
            return np.zeros(0, np.float32)
        chosen = self.candidates[self.selected]
        return np.subtract(chosen.token_positive, chosen.token_negative, dtype=np.float32)

    @property
    def pieces(self) -> list[str]:
        """The text of every token, without the end token. A character that several tokens make up belongs to the last of them."""
        data, pieces, at = self.text.encode(), [], 0
        for size in self._inner.token_bytes:
            pieces.append(data[at:at + size].decode(errors="replace"))
            at += size
        return pieces

    def to_dict(self) -> dict[str, Any]:
        """What `counterbeam ask --json` prints."""
        return {"answer": self.text, "score": self.score, "method": self.settings.get("method"), "settings": self.settings, "tokens": self.tokens,
                "completion_tokens": len(self.tokens), "generated_tokens": self.cost.generated_tokens,
                "scored_tokens": self.cost.scored_tokens, "seconds": self.cost.seconds, "finished": self.finished,
                "truncated": not self.finished}

    def _repr_html_(self) -> str:
        note = (f"score {self.score:.4f}, {self.cost.generated_tokens} tokens generated, {self.cost.scored_tokens} scored, "
                f"{self.cost.seconds:.2f} s" + ("" if self.finished else ", cut at the token limit"))
        return display.coloured(self.pieces, self.rewards, self.text, note)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Answer {self.text!r}, score {self.score:.4f}>"


@dataclass(frozen=True)
class Event:
    """What stream() tells after every block, and once more at the end."""
    block: int  # counted from 1
    blocks: int  # at most
    alive: int  # beams that go on
    finished: int  # answers found
    best: float  # score of the best answer so far
    best_text: str
    agreed: str  # the beginning of the answer that all candidates share; it is never taken back
    text: str  # what `agreed` has gained since the event before
    answer: Answer | None = None  # of the last event


@dataclass(frozen=True)
class Score:
    """The log-probabilities of a given answer, token by token (temperature 1)."""
    score: float
    texts: list[str]
    tokens: npt.NDArray[np.int32]
    base: Floats
    positive: Floats
    negative: Floats
    reward: Floats

    def _repr_html_(self) -> str:
        return display.coloured(self.texts, self.reward, "".join(self.texts), f"score {self.score:.4f}")
