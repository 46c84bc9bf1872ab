"""Evaluations over vLLM: accuracy, clients and servers that are killed."""
import json
import random
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from served import ROOT, command, run, samples, server

METHODS = 'sample:max-tokens=200,cbs:steer=0.7:beams=4:prune=2:block=64:max-tokens=200'


class EvaluationTest(unittest.TestCase):
    def setUp(self):
        self.place = Path(tempfile.mkdtemp(dir=ROOT / 'build', prefix='vllm-test-'))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    def arguments(self, name, limit, methods=METHODS, *more):
        return ['eval', '--task', 'tiny-math', '--limit', limit, '--methods', methods, '--out', self.place / name, '-q', *more]

    def complete(self, name, limit, methods=METHODS):
        """The samples of a run: all of them, each once, none failed."""
        found = samples(self.place / name)
        self.assertEqual(len(found), limit * len(methods.split(',')))
        self.assertEqual([row['error'] for row in found.values() if row.get('error')], [])
        return found

    def test_accuracy_is_that_of_the_local_engine_within_noise(self):
        limit = 100
        run(*self.arguments('remote', limit), engine=server('cached').wait().url)
        run(*self.arguments('local', limit))
        remote, local = self.complete('remote', limit), self.complete('local', limit)
        for method in METHODS.split(','):
            pairs = [(remote[key]['correct'], local[key]['correct']) for key in local if key[2] == method]
            better, worse = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
            print(f'\n{method}: remote {sum(a for a, _ in pairs)}, local {sum(b for _, b in pairs)} of {limit}; {better} only remote, {worse} only local',
                  flush=True)
            # Other draws of the same distribution: the difference of discordant pairs is binomial. Four standard deviations.
            self.assertLessEqual(abs(better - worse), 4 * max(better + worse, 1) ** 0.5)

    def test_fifty_kills_of_the_client(self):
        limit, methods = 12, METHODS.split(',')[1]
        each, rng = server('cached').wait(), random.Random(1)
        arguments = command(*self.arguments('killed', limit, methods, '--resume', '--concurrency', '4'), engine=each.url)
        kills, before = 0, 0
        while kills < 50:
            client = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                client.communicate(timeout=rng.uniform(0.3, 4.0))
            except subprocess.TimeoutExpired:
                client.kill()
                client.communicate()
                kills += 1
                continue
            self.assertEqual(client.returncode, 0)  # it was done before it could be killed: begin anew, and go on killing
            self.complete('killed', limit, methods)
            before += 1
            shutil.rmtree(self.place / 'killed')
        begun = time.time()
        each.wait_idle(30)
        print(f'\n50 kills: the server was free {time.time() - begun:.1f} s after the last; {before} runs ended in between', flush=True)
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=1800)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.complete('killed', limit, methods)
        each.wait_idle(30)

    def test_one_of_two_servers_is_killed(self):
        limit = 12
        first, second = server('cached').wait(), server('uncached').wait()
        client = subprocess.Popen(command(*self.arguments('two', limit, METHODS, '--concurrency', '4'), engine=f'{first.url},{second.url}'),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        file = self.place / 'two/samples.jsonl'
        end = time.time() + 900
        while (file.read_text().count('\n') if file.exists() else 0) < 3 or second.running() == 0:
            self.assertIsNone(client.poll(), 'it ended too early')
            self.assertLess(time.time(), end)
            time.sleep(0.05)
        held = second.running()
        second.kill()
        at = file.read_text().count('\n')
        _, said = client.communicate(timeout=1800)
        self.assertEqual(client.returncode, 0, said)
        self.complete('two', limit)
        print(f'\none of two servers killed after {at} of {2 * limit} samples, with {held:.0f} requests: none lost, none twice', flush=True)


if __name__ == '__main__':
    unittest.main(verbosity=2)
