"""Problems, and the work log of a solver, where random slips are inserted.

A solver is a function (work, misled) -> text. It calls `work` for every number (calc) or word (slot) that could be wrong;
at one index, drawn in advance, the result is wrong. The calls are counted first, so that every index is equally likely.
"""
import hashlib
import math
from dataclasses import dataclass, field
from typing import Callable

OPS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a // b if b else 0}


OTHER_WORDING = 0.25


class Work:
    def __init__(self, rng, slip_at=-1):
        self.rng, self.slip_at, self.asked = rng, slip_at, 0

    def slips(self):
        self.asked += 1
        return self.asked - 1 == self.slip_at

    def calc(self, a, op, b):
        """Returns (value, "a op b = value")."""
        value = OPS[op](a, b)
        if self.slips():
            value += self.rng.choice([-1, 1, -2, 2, -10, 10] if abs(value) > 12 else [-1, 1, -2, 2])
        return value, f"{a} {op} {b} = {value}"

    def word(self, usual, other):
        """One of two equally sound wordings."""
        return other if self.rng and self.rng.random() < OTHER_WORDING else usual

    def slot(self, right, wrong):
        return self.rng.choice([w for w in wrong if w != right]) if self.slips() else right


@dataclass
class Problem:
    task: str
    kind: str
    key: tuple                      # identifies the problem, without names and wording
    row: dict                       # the fields a user sees, as in tasks/tiny-*.jsonl
    solver: Callable                # (Work, misled: bool) -> answer text
    mislead: float = 0.0            # how often text without a cue follows the misconception; 0 if there is none
    aware: float = 1.0              # the share of a cue's strength that affects this misconception
    slip: float = 0.33
    extra: dict = field(default_factory=dict)

    def answer(self, rng, misled=False, slip=False):
        slip_at = -1
        if slip:
            dry = Work(rng)
            self.solver(dry, misled)
            slip_at = rng.randrange(dry.asked)
        return self.solver(Work(rng, slip_at), misled)

    def draw_answer(self, rng, cue):
        """A random answer, sound or flawed, given the signed strength of the cue before it."""
        misled = self.mislead > 0 and rng.random() < shifted(self.mislead, cue * self.aware)
        return self.answer(rng, misled, rng.random() < shifted(self.slip, cue))


def shifted(p, strength):
    """p with its log-odds lowered by strength."""
    return 1 / (1 + math.exp(strength) * (1 - p) / p)


EVAL_SHARE, DEV_SHARE = 8, 4      # per cent of all keys


def split(task, kind, key):
    """train, dev or eval: a function of the problem alone, so that no problem is in two of them."""
    digest = hashlib.sha256(repr((task, kind, key)).encode()).digest()
    bucket = int.from_bytes(digest[:4], "big") % 100
    return "eval" if bucket < EVAL_SHARE else "dev" if bucket < EVAL_SHARE + DEV_SHARE else "train"
