"""Draws problems and training samples; the split of problem.py keeps train, dev and eval apart by construction."""
import random

import cues
import prompts
import tiny_choice
import tiny_code
import tiny_math
from problem import split

FAMILIES = {"math": tiny_math.KINDS, "code": tiny_code.KINDS, "choice": tiny_choice.KINDS}
SEEDS = {"dev": 2001, "eval": 2002}
PAPER_QUOTES = 0.1      # share of choice prompts whose quotation opens with a back-tick, as the paper prints it


def draw_problem(rng, task, part, kind=None):
    """A problem of the given part (train, dev or eval); kinds are equally frequent."""
    kind = kind or rng.choice(FAMILIES[task])
    while True:
        problem = kind(rng)
        if problem and split(task, problem.kind, problem.key) == part:
            return problem


def draw_sample(rng, task, boost=1.0):
    """(prompt text, answer text) of one training sample; boost multiplies the strength of the cue."""
    problem = draw_problem(rng, task, "train")
    context, strength = cues.draw(rng, task)
    user = prompts.user_text(task, problem.row, task == "choice" and rng.random() < PAPER_QUOTES)
    prompt = prompts.chat(task, prompts.with_context(user, context))
    return prompt, problem.draw_answer(rng, strength * boost) + prompts.END_OF_TURN


def fixed_problems(task, part, count, seed):
    """`count` distinct problems of the part, with the kinds in rotation."""
    rng, kinds, seen, rows = random.Random(seed), FAMILIES[task], set(), []
    turn = 0
    while len(rows) < count:
        kind = kinds[turn % len(kinds)]
        problem = draw_problem(rng, task, part, kind)
        if (problem.kind, problem.key) in seen:
            continue
        row = tiny_code.with_tests(problem, rng) if task == "code" else dict(problem.row)
        if row is None:
            continue
        seen.add((problem.kind, problem.key))
        turn += 1
        rows.append((problem, row))
    rng.shuffle(rows)
    return rows
