"""The pieces of a search: sequences that are opened from prompts, extended by sampling, read under other prompts and forked.

    seqs = model.engine.open([prompt])
    drawn = model.engine.extend(seqs, max_tokens=32, seed=0)[0]
    drawn.tokens, drawn.logprobs            # numpy arrays

Every call blocks without the GIL, and the engine runs the calls of all threads in one batch. A method made of these calls runs at the
speed of the built-in ones (examples/python/cbs.py).
"""
from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as ListOf
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from counterbeam._errors import BadInput
from counterbeam._native import _core

Sequence = _core.Sequence
Extension = _core.Extension
Ids = ListOf[int] | npt.NDArray[Any]


@dataclass(frozen=True)
class Prompts:
    """The ids that a question becomes. Without contexts, positive and negative are empty."""
    base: list[int]
    positive: list[int]
    negative: list[int]


def ids_of(values: Ids) -> list[int]:
    """Plain ids of a list or an array with one dimension."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
            raise BadInput(f"ids: an array of whole numbers with one dimension is needed, not {values.dtype} with {values.ndim}")
        values = values.tolist()
    return list(values)


class Engine:
    """The engine of a model. Any thread may make any call; a sequence may be in one call at a time."""

    def __init__(self, inner: _core.Model) -> None:
        self._inner = inner
        info = inner.info()
        self.end_tokens: list[int] = info.end_tokens  # end an answer
        self.vocabulary: int = info.vocabulary
        self.max_length: int = info.max_length  # tokens of a sequence, the prompt included

    def open(self, prompts: Iterable[Ids | str], *, cancellation: _core.CancelToken | None = None) -> list[Sequence]:
        """Computes the prompts, a shared prefix once, and returns a sequence for each. A text is encoded as it stands."""
        given = [self._inner.encode(one, False) if isinstance(one, str) else ids_of(one) for one in prompts]
        return _core.open(self._inner, given, cancellation)[0]

    def extend(self, sequences: ListOf[Sequence], *, max_tokens: int, followers: ListOf[ListOf[Sequence]] | None = None,
               temperature: float = 1.0, top_p: float = 1.0, top_k: int = 0, min_p: float = 0.0, seed: int = 0, question: int = 0,
               block: int = 0, beams: ListOf[int] | None = None, positions: ListOf[int] | None = None, stop: ListOf[int] | None = None,
               mix: ListOf[float] | None = None, plausibility: float = 0.0, top: int = 0,
               cancellation: _core.CancelToken | None = None) -> list[Extension]:
        """Draws up to max_tokens tokens for every sequence, which grows by them. Its followers read the same tokens under other prompts.

        A draw depends only on its distribution and on (seed, question, block, beam, position). By default beam is the place in the list
        and position the number of tokens after the prompt, as in the built-in methods. stop: ids that end a sequence (default: the
        model's end tokens). mix: draw from the weighted sum of the log-probabilities of the sequence and its followers. top: likeliest
        tokens to return per token.
        """
        how = _core.Sampler()
        how.max_tokens = max_tokens
        how.temperature = temperature
        how.top_p = top_p
        how.top_k = top_k
        how.min_p = min_p
        how.seed = seed
        how.question = question
        how.block = block
        how.stop = self.end_tokens if stop is None else list(stop)
        how.mix = [] if mix is None else list(mix)
        how.plausibility = plausibility
        how.top = top
        return _core.extend(self._inner, sequences, [] if followers is None else followers, how, beams, positions, cancellation)

    def score(self, sequences: ListOf[Sequence], tokens: ListOf[Ids], *,
              cancellation: _core.CancelToken | None = None) -> list[npt.NDArray[np.float32]]:
        """The log-probabilities (temperature 1) of the tokens that each sequence reads next; it grows by them."""
        return [values for values, _ in _core.read(self._inner, sequences, [ids_of(one) for one in tokens], 0, cancellation)]

    def score_top(self, sequences: ListOf[Sequence], tokens: ListOf[Ids], top: int, *, cancellation: _core.CancelToken | None = None
                  ) -> list[tuple[npt.NDArray[np.float32], list[list[tuple[int, float]]]]]:
        """The same with the `top` likeliest (id, log-probability) at the place of every token."""
        return _core.read(self._inner, sequences, [ids_of(one) for one in tokens], top, cancellation)
