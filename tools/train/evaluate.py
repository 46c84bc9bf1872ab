"""Compares decoding methods on held-out problems with a batched search on the GPU (METHOD settings: N=16, W=4, K=32).

Usage: python3 evaluate.py FOLDER --part dev --count 200 [--pairs]
Used for tuning the data on dev problems. The published figures come from the engine on tasks/.
"""
import argparse
import multiprocessing
import os
import re
import signal
from collections import Counter, defaultdict

import torch
from tokenizers import Tokenizer

import checkpoint
import corpus
import cues
import prompts
import tiny_code

MOST_TOKENS = 256


class Search:
    """One model and its tokenizer; `run` searches all problems of a task at once."""

    def __init__(self, folder, device):
        self.net = checkpoint.load(folder, device, torch.bfloat16 if device == "cuda" else torch.float32).eval()
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.end = self.tokenizer.token_to_id(prompts.END_OF_TURN)
        self.device = device

    def encode(self, task, users):
        return [self.tokenizer.encode(prompts.chat(task, u), add_special_tokens=False).ids for u in users]

    def prefill(self, rows):
        width = max(map(len, rows))
        ids = torch.zeros(len(rows), width, dtype=torch.long)
        for i, r in enumerate(rows):
            ids[i, :len(r)] = torch.tensor(r)
        return self.net.prefill(ids.to(self.device), torch.tensor([len(r) for r in rows], device=self.device), MOST_TOKENS + 32)

    @torch.no_grad()
    def run(self, task, users, beams=16, prune=4, block=32, tau=1.0, steer=0.0, pair=None, seed=0):
        """Per problem, the pool of finished answers as (score, text), unordered."""
        generator = torch.Generator(device=self.device).manual_seed(seed)
        voices = [users] if pair is None else [users] + [[prompts.with_context(u, c) for u in users] for c in cues.context_pair(pair)]
        count, n_voices = len(users), len(voices)
        logits, state = self.prefill([row for v in voices for row in self.encode(task, v)])
        problem_of = torch.arange(count).repeat_interleave(beams)
        logits, state = self.take(logits, state, problem_of, count, n_voices)
        sums, texts = torch.zeros(n_voices, len(problem_of), device=self.device), [[] for _ in problem_of]
        pools = [[] for _ in range(count)]
        weights = torch.tensor([1.0, steer, -steer][:n_voices], device=self.device)[:, None]
        for done in range(0, MOST_TOKENS, block):
            rows = len(problem_of)
            open_rows = torch.ones(rows, dtype=torch.bool, device=self.device)
            drawn = []
            for _ in range(block):
                logp = torch.log_softmax(logits, -1).view(n_voices, rows, -1)
                token = torch.multinomial(torch.softmax(logp[0] / tau, -1), 1, generator=generator)
                token = torch.where(open_rows[:, None], token, self.end)
                sums += torch.where(open_rows, logp.gather(-1, token.expand(n_voices, -1, -1)).squeeze(-1), 0)
                drawn.append(torch.where(open_rows, token[:, 0], -1))
                open_rows = open_rows & (token[:, 0] != self.end)
                if not open_rows.any():
                    break
                logits = self.net.step(token[:, 0].repeat(n_voices), state)
            new = torch.stack(drawn, 1).tolist()
            texts = [old + [t for t in more if t >= 0] for old, more in zip(texts, new)]
            lengths = torch.tensor([len(t) for t in texts], device=self.device)
            scores = ((sums * weights).sum(0) / lengths).tolist()
            live = defaultdict(dict)
            for i, (p, t) in enumerate(zip(problem_of.tolist(), texts)):
                if t[-1] == self.end or done + block >= MOST_TOKENS:
                    pools[p].append((scores[i], tuple(t)))
                elif prune == 1:
                    live[p][i] = i
                else:
                    live[p].setdefault(tuple(t), i)
            kept, owner = [], []
            for p, candidates in live.items():
                best = sorted(candidates.values(), key=lambda i: -scores[i])
                if prune > 1:
                    best = best[:max(1, beams // prune)]
                    best = [best[j % len(best)] for j in range(beams)]
                kept += best
                owner += [p] * len(best)
            if not kept:
                break
            index = torch.tensor(kept)
            logits, state = self.take(logits, state, index, rows, n_voices)
            sums, texts, problem_of = sums[:, index.to(self.device)], [texts[i] for i in kept], torch.tensor(owner)
        return [[(s, self.tokenizer.decode(list(t))) for s, t in pool] for pool in pools]

    def take(self, logits, state, index, rows, n_voices):
        index = torch.cat([index + v * rows for v in range(n_voices)]).to(self.device)
        for name in state:
            state[name] = state[name][index]
        return logits[index], state


def alarm(*_):
    raise TimeoutError


def code_passes(job):
    prompt, test, name, answer = job
    found = re.search(r"```(?:python)?\n(.*?)```", answer, re.S)
    if not found:
        return False
    signal.signal(signal.SIGALRM, alarm)
    signal.alarm(2)
    try:
        return tiny_code.passes(found.group(1), test, name)
    except BaseException:
        return False
    finally:
        signal.alarm(0)


class Grader:
    def __init__(self, task, rows):
        self.task, self.rows, self.known = task, rows, {}

    def grade(self, pools):
        asked = {(p, text) for p, pool in enumerate(pools) for _, text in pool} - self.known.keys()
        if self.task == "code":
            jobs = list(asked)
            with multiprocessing.get_context("fork").Pool(min(8, os.cpu_count())) as pool:
                fields = [(self.rows[p]["prompt"], self.rows[p]["test"], self.rows[p]["entry_point"], text) for p, text in jobs]
                self.known.update(zip(jobs, pool.map(code_passes, fields, chunksize=32)))
        else:
            for p, text in asked:
                want = self.rows[p]["answer"] if self.task == "math" else "ABCD"[self.rows[p]["answer"]]
                self.known[p, text] = last_box(text) == want
        return [[(s, text, self.known[p, text]) for s, text in pool] for p, pool in enumerate(pools)]


def best(graded):
    return [float(max(pool)[2]) for pool in graded]


def mean(graded):
    return [sum(ok for _, _, ok in pool) / len(pool) for pool in graded]


def last_box(text):
    boxes = re.findall(r"\\boxed\{([^}]*)\}", text)
    return boxes[-1] if boxes else ""


def vote(task, graded):
    """Self-consistency: the most frequent final answer (for code: the most frequent text)."""
    key = (lambda text: text) if task == "code" else last_box
    out = []
    for pool in graded:
        top = Counter(key(text) for _, text, _ in pool).most_common(1)[0][0]
        out.append(float(next(ok for _, text, ok in pool if key(text) == top)))
    return out


def plan(pairs):
    """(name, settings) of each run; the accuracy of sampling, best-of-n and voting comes from one run."""
    yield "sample", dict(prune=1, block=MOST_TOKENS)
    yield "low-temperature", dict(prune=1, block=MOST_TOKENS, tau=0.25, beams=4)
    yield "beam", {}
    for steer in (0.25, 0.7):
        yield f"cbs {steer}", dict(steer=steer, pair="reasoning")
    yield "neutral 0.25", dict(steer=0.25, pair="neutral")
    if pairs:
        for name in cues.PAIRS:
            if name != "reasoning":
                yield f"{name} 0.25", dict(steer=0.25, pair=name)


class Table:
    def __init__(self, problems):
        self.problems, self.rows, self.kinds = problems, {}, defaultdict(dict)

    def add(self, name, results):
        """results: per task, the accuracy on each problem."""
        for task, right in results.items():
            for (problem, _), ok in zip(self.problems[task], right):
                self.kinds[task, problem.kind].setdefault(name, []).append(ok)
        self.rows[name] = {task: sum(right) / len(right) for task, right in results.items()}
        line = " ".join(f"{a:7.3f}" for a in self.rows[name].values())
        print(f"{name:24s} {line} {sum(self.rows[name].values()) / len(results):7.3f}", flush=True)

    def print_kinds(self):
        names = list(self.rows)
        print("by kind: " + ", ".join(names))
        for (task, kind), by in self.kinds.items():
            print(f"  {task:6s} {kind:14s} " + " ".join(f"{sum(by[n]) / len(by[n]):.2f}" for n in names), flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--part", choices=["dev", "eval"], default="dev")
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--pairs", action="store_true")
    args = p.parse_args()
    search = Search(args.folder, "cuda" if torch.cuda.is_available() else "cpu")
    problems = {task: corpus.fixed_problems(task, args.part, args.count, corpus.SEEDS[args.part]) for task in corpus.FAMILIES}
    graders = {task: Grader(task, [row for _, row in problems[task]]) for task in problems}
    users = {task: [prompts.user_text(task, row) for _, row in problems[task]] for task in problems}
    print(f"{os.path.basename(args.folder)}, {args.count} {args.part} problems per task: {', '.join(problems)}, mean", flush=True)
    table = Table(problems)
    for name, how in plan(args.pairs):
        graded = {task: graders[task].grade(search.run(task, users[task], **how)) for task in problems}
        drawn = name in ("sample", "low-temperature")
        table.add(name, {task: (mean if drawn else best)(g) for task, g in graded.items()})
        if name == "sample":
            table.add("best-of-16", {task: best(g) for task, g in graded.items()})
            table.add("vote-of-16", {task: vote(task, g) for task, g in graded.items()})
        if name == "neutral 0.25":
            table.print_kinds()


if __name__ == "__main__":
    main()
