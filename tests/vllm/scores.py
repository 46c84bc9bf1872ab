"""Answers to a few problems, their log-probabilities by the local engine in float32, and what differs over a server."""
import json
import math
import tempfile
from pathlib import Path

import numpy

from served import problems, run

PROBLEMS = 20
ANSWERS = 3  # candidates per problem
TOLERANCE = 1e-4


def rows_of(output):
    rows = [json.loads(line) for line in output.splitlines()]
    for row in rows:
        if 'error' in row:
            raise AssertionError(row['error'])
    return rows


def asked(method, seed, engine=None):
    """One answer to every problem."""
    lines = ''.join(json.dumps({'question': problem['problem']}) + '\n' for problem in problems(PROBLEMS))
    return [row['answer'] for row in rows_of(run('ask', '--jsonl', '-q', '--method', *method, '--seed', seed, engine=engine, input=lines))]


class Candidates:
    def __init__(self):
        drawn = [asked(['sample', '--max-tokens', 200], seed) for seed in range(ANSWERS)]
        questions = [problem['problem'] for problem in problems(PROBLEMS)]
        self.lines = ''.join(json.dumps({'question': question, 'answer': answers[i]}) + '\n' for i, question in enumerate(questions) for answers in drawn)
        self.local = self.scored()
        self.tokens = sum(len(row['tokens']) for row in self.local)

    def scored(self, engine=None):
        return rows_of(run('score', '--jsonl', '--steer', '0.7', engine=engine, input=self.lines))

    def worst(self, rows):
        """The largest difference of a token's log-probability under any of the three prompts."""
        if len(rows) != len(self.local):
            raise AssertionError(f'{len(rows)} rows, not {len(self.local)}')
        worst = 0.0
        for got, wanted in zip(rows, self.local):
            if [token['id'] for token in got['tokens']] != [token['id'] for token in wanted['tokens']]:
                raise AssertionError('other tokens')
            for one, other in zip(got['tokens'], wanted['tokens']):
                for prompt in ('base', 'positive', 'negative'):
                    if not math.isfinite(one[prompt]):
                        raise AssertionError(f'{prompt}: {one[prompt]}')
                    worst = max(worst, abs(one[prompt] - other[prompt]))
        return worst

    @staticmethod
    def choices(rows):
        """The best answer to every problem."""
        scores = [row['score'] for row in rows]
        return [max(range(ANSWERS), key=lambda i: scores[at + i]) for at in range(0, len(scores), ANSWERS)]


def local_sum(prompt, answer):
    """The log-probability of an answer after a prompt, both as ids, by the local engine."""
    with tempfile.TemporaryDirectory() as place:
        ids, out = Path(place) / 'ids.json', Path(place) / 'logits.npy'
        ids.write_text(json.dumps(prompt + answer))
        run('logits', '--ids', ids, '--out', out, '-q')
        logits = numpy.load(out).astype(numpy.float64)
    rows = logits[len(prompt) - 1:-1]
    rows = rows - rows.max(-1, keepdims=True)
    rows -= numpy.log(numpy.exp(rows).sum(-1, keepdims=True))
    return float(rows[numpy.arange(len(answer)), answer].sum())


def worst_of_trace(trace):
    """The largest difference, per token, between the three sums of a search's chosen candidate and those of the local engine."""
    known = {candidate['id']: candidate for block in trace['blocks'] for candidate in block['candidates']}
    chosen = known[trace['selected']]
    answer, at = [], chosen
    while at:
        answer, at = at['tokens'] + answer, known.get(at['parent'])
    return max(abs(chosen[name] - local_sum(prompt, answer)) for name, prompt in trace['prompts'].items()) / len(answer)
