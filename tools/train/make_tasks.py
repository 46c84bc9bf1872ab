"""Writes the fixed problems of the three tasks, with the fields of the public data sets that they imitate.

Usage: python3 make_tasks.py OUT_DIR [dev|eval] [COUNT]     (tasks/ was made with: eval 500)
"""
import json
import os
import random
import sys

import corpus
from problem import Work


def fields(task, index, problem, row):
    work = Work(random.Random(0))
    problem.solver(work, False)
    level = max(1, min(5, work.asked - 1))
    if task == "math":
        return {"problem": row["problem"], "answer": row["answer"], "subject": problem.kind, "level": level,
                "unique_id": f"tiny-math/{index}"}
    if task == "code":
        return {"task_id": f"tiny-code/{index}", "prompt": row["prompt"], "entry_point": row["entry_point"],
                "canonical_solution": row["canonical_solution"], "test": row["test"], "subject": problem.kind}
    return {"id": f"tiny-choice/{index}", "question": row["question"], "choices": row["choices"],
            "answer": row["answer"], "subject": problem.kind, "level": level}


def main(out, part="eval", count=500):
    os.makedirs(out, exist_ok=True)
    for task in corpus.FAMILIES:
        path = os.path.join(out, f"tiny-{task}.jsonl")
        with open(path, "w") as f:
            for index, (problem, row) in enumerate(corpus.fixed_problems(task, part, int(count), corpus.SEEDS[part])):
                f.write(json.dumps(fields(task, index, problem, row)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
