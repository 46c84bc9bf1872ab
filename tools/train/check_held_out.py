"""Checks that no problem of tasks/ occurs in the training text. Exits with 1 and names the problem if one does.

Usage: python3 check_held_out.py [TASKS_DIR] [SAMPLES_PER_TASK]
It checks in two ways: every committed problem must belong to the eval part of the split, which training never draws from,
and newly drawn training problems are compared with the committed ones as text.
"""
import json
import os
import random
import sys

import corpus
from problem import split

HERE = os.path.dirname(os.path.abspath(__file__))


def surface(task, row):
    """The problem as text, without the order of options and the name of the function."""
    if task == "math":
        return row["problem"]
    if task == "code":
        return row["prompt"].split("\n", 1)[1]
    return row["question"]


def committed(folder, task):
    with open(os.path.join(folder, f"tiny-{task}.jsonl")) as f:
        return [json.loads(line) for line in f]


def check(folder, task, samples):
    rows = committed(folder, task)
    made = corpus.fixed_problems(task, "eval", len(rows), corpus.SEEDS["eval"])
    for row, (problem, fresh) in zip(rows, made):
        if surface(task, row) != surface(task, fresh):
            return f"tiny-{task}: {surface(task, row)!r} is not what the generator makes; run make_tasks.py"
        if split(task, problem.kind, problem.key) != "eval":
            return f"tiny-{task}: {surface(task, row)!r} is not in the eval part of the split"
    held = {surface(task, row) for row in rows}
    if len(held) != len(rows):
        return f"tiny-{task}: {len(rows) - len(held)} problems occur twice"
    dev = {surface(task, row) for _, row in corpus.fixed_problems(task, "dev", 200, corpus.SEEDS["dev"])}
    if held & dev:
        return f"tiny-{task}: {min(held & dev)!r} is a dev problem too"
    rng = random.Random(f"{task} held out")
    for _ in range(samples):
        text = surface(task, corpus.draw_problem(rng, task, "train").row)
        if text in held:
            return f"tiny-{task}: {text!r} occurs in training"
    print(f"tiny-{task}: {len(rows)} problems, none in dev or among {samples} training samples")
    return None


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "../../tasks")
    samples = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    for task in corpus.FAMILIES:
        fault = check(folder, task, samples)
        if fault:
            print(fault, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
