"""A method of your own: sample whole answers block by block, and keep those that a reward function likes.

Any function of (text so far) works as the reward. Here it prefers answers that the model itself finds likely, and that show their steps.
The same idea without a search of one's own: model.ask(question, scorer=...), which ranks the beams of a built-in method.

    python examples/python/own_reward.py 'Compute 7 * 3^2 + 24.'
"""
from __future__ import annotations

import sys
from collections.abc import Callable

import counterbeam as cb

Reward = Callable[[str], float]


def steps(text: str) -> float:
    """How many intermediate results an answer writes down."""
    return float(text.count("="))


def rewarded_search(model: cb.LanguageModel, question: str, reward: Reward, *, width: int = 8, keep: int = 2, block: int = 16,
                    blocks: int = 16, strength: float = 0.2, seed: int = 0) -> str:
    """The text of the best answer by mean log-probability plus strength times the reward."""
    prompt = model.prompts(question, method="beam").base
    alive: list[tuple[cb.Sequence, list[int], float]] = [(model.engine.open([prompt])[0], [], 0.0)]
    pool: list[tuple[float, str]] = []
    for t in range(blocks):
        beams = [alive[i % len(alive)] for i in range(width)]
        forks = [sequence.fork() for sequence, _, _ in beams]
        drawn = model.engine.extend(forks, max_tokens=block, seed=seed, block=t)
        ranked = []
        for fork, (_, tokens, total), fresh in zip(forks, beams, drawn):
            tokens, total = tokens + fresh.tokens.tolist(), total + float(fresh.logprobs.sum())
            text = model.tokenizer.decode(tokens)
            score = total / len(tokens) + strength * reward(text)
            if fresh.stopped or t == blocks - 1:
                pool.append((score, text))
            else:
                ranked.append((score, (fork, tokens, total)))
        alive = [beam for _, beam in sorted(ranked, key=lambda one: -one[0])[:keep]]
        if not alive:
            break
    return max(pool)[1]


if __name__ == "__main__":
    loaded = cb.LanguageModel()
    asked = sys.argv[1] if len(sys.argv) > 1 else "Compute 7 * 3^2 + 24."
    print("by steps:   ", rewarded_search(loaded, asked, steps))
    print("by scorer:  ", loaded.ask(asked, method="beam", scorer=lambda all: [one.score + 0.2 * steps(one.text) for one in all]))
