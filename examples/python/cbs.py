"""Contrastive beam search in Python, made of the engine's pieces. It gives the answers of the built-in method, token by token.

    python examples/python/cbs.py 'Compute 7 * 3^2 + 24.' --steer 0.7
"""
from __future__ import annotations

import argparse
from dataclasses import dataclass, field

import counterbeam as cb


@dataclass
class Beam:
    """A partial answer: its sequences after the base, positive and negative prompt, and the sums of its log-probabilities."""
    sequences: list[cb.Sequence]
    tokens: list[int] = field(default_factory=list)
    sums: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    ended: bool = False

    def fork(self) -> Beam:
        return Beam([one.fork() for one in self.sequences], list(self.tokens), list(self.sums))

    def score(self, steer: float) -> float:
        base, positive, negative = self.sums
        return (base + steer * (positive - negative)) / len(self.tokens)


def search(model: cb.LanguageModel, question: str, *, beams: int = 16, prune: int = 4, block: int = 32, max_tokens: int = 3072,
           steer: float = 0.25, temperature: float = 1.0, contexts: str = "reasoning", seed: int = 0) -> tuple[Beam, list[Beam]]:
    """The best answer, and all that were found."""
    prompts = model.prompts(question, steer=steer, contexts=contexts)
    rows = [ids for ids in (prompts.base, prompts.positive, prompts.negative) if ids]
    limit = min(max_tokens, model.max_length - max(map(len, rows)))
    alive, pool = [Beam(model.engine.open(rows))], []
    blocks = -(-limit // block)
    for t in range(blocks):
        alive = [alive[i % len(alive)].fork() for i in range(beams)]
        drawn = model.engine.extend([beam.sequences[0] for beam in alive], followers=[beam.sequences[1:] for beam in alive],
                                    max_tokens=min(block, limit - t * block), temperature=temperature, seed=seed, block=t)
        for beam, fresh in zip(alive, drawn):
            beam.tokens += fresh.tokens.tolist()
            beam.ended = fresh.stopped
            for side, values in enumerate([fresh.logprobs, *fresh.follower_logprobs]):
                for value in values.tolist():
                    beam.sums[side] += value
        pool += [beam for beam in alive if beam.ended or t == blocks - 1]
        distinct = {tuple(beam.tokens): beam for beam in reversed(alive) if not beam.ended}  # of equal beams the first
        alive = [beam for beam in alive if distinct.get(tuple(beam.tokens)) is beam]
        alive = sorted(alive, key=lambda beam: -beam.score(steer))[:max(1, beams // prune)]
        if not alive or t == blocks - 1:
            break
    return max(pool, key=lambda beam: beam.score(steer)), pool


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("question")
    arguments.add_argument("--model", default="")
    arguments.add_argument("--steer", type=float, default=0.25)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    loaded = cb.LanguageModel(given.model)
    best, _ = search(loaded, given.question, steer=given.steer, seed=given.seed)
    print(loaded.tokenizer.decode(best.tokens))
