"""Seconds a block over vLLM: plain, scored with and without its prefix cache, at 128 and 700 prompt tokens. Prints; times decide nothing."""
import json
import statistics
import tempfile
import unittest
from pathlib import Path

from served import run, server

BEAMS, BLOCK, BLOCKS, ROUNDS = 8, 16, 3, 5


def question(tokens):
    """A text of about that many tokens."""
    text, number = '', 11
    while True:
        longer = text + f'Compute {number} + {number * 7 % 90}. '
        [row] = [json.loads(line) for line in run('tokenize', '--jsonl', input=json.dumps({'text': longer}) + '\n').splitlines()]
        if len(row['ids']) > tokens:
            return text
        text, number = longer, number + 1


def seconds_a_block(way, method, text):
    """(median, fastest) of several searches; each has a seed of its own, so that nothing is remembered."""
    found = []
    for seed in range(ROUNDS):
        with tempfile.TemporaryDirectory() as place:
            trace = Path(place) / 'trace.json'
            out = run('ask', text, '--raw', '--method', *method, '--beams', BEAMS, '--prune', 2, '--block', BLOCK, '--max-tokens', BLOCK * BLOCKS, '--seed', seed,
                      '--trace', trace, '--json', engine=server(way).wait().url)
            found.append(json.loads(out)['seconds'] / len(json.loads(trace.read_text())['blocks']))
    return statistics.median(found), min(found)


class FiguresTest(unittest.TestCase):
    def test_seconds_a_block(self):
        print(f'\nseconds a block, {BEAMS} beams, {BLOCK} tokens, {ROUNDS} searches of up to {BLOCKS} blocks: median / fastest')
        for tokens in (128, 700):
            text = question(tokens)
            for name, way, method in (('plain', 'cached', ['beam']), ('scored, cached', 'cached', ['cbs']), ('scored, uncached', 'uncached', ['cbs'])):
                median, fastest = seconds_a_block(way, method, text)
                print(f'{tokens} prompt tokens, {name}: {median:.2f} / {fastest:.2f}', flush=True)
                self.assertGreater(fastest, 0)


if __name__ == '__main__':
    unittest.main(verbosity=2)
