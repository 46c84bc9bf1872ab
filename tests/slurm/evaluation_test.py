"""tools/slurm on a real cluster: however its tasks are ended, the merged samples are those of a single run, byte for byte."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from cluster import PROGRAM, ROOT, Cluster

EVAL = ['eval', '--task', 'tiny-math,tiny-choice', '--limit', '24', '--methods', 'sample,cbs:beams=8:block=8', '--samples', '2', '--deterministic', '-q',
        '--threads', '1', '--concurrency', '2', '--seed', '3']


def folder():
    return Path(tempfile.mkdtemp(dir=ROOT / 'build', prefix='slurm test '))  # a blank in the name, as users have them


def lines(path):
    return path.read_text().count('\n') if path.exists() else 0


class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=2)
        cls.addClassCleanup(cls.cluster.stop)
        cls.place = folder()
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.single = cls.place / 'single'
        subprocess.run([PROGRAM, *EVAL, '--out', str(cls.single)], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)

    def submit(self, out, *options, evaluation=EVAL):
        """The ids of the array and of the merge."""
        said = self.cluster.run('tools/slurm', '--out', str(out), '--program', PROGRAM, *options, '--', *evaluation)
        return said.split('shards: job ')[1].split(',')[0], said.split('merge:  job ')[1].split(',')[0]

    def started(self, out, shard, samples=2):
        """Waits until a shard is in the middle: it has samples, and more to come."""
        file = out / 'shards' / str(shard) / 'samples.jsonl'
        self.cluster.until(f'shard {shard} has {samples} samples', lambda: lines(file) >= samples, 120)

    def processes(self, out, shard):
        """Ids of the programs that run a shard."""
        found = []
        for entry in Path('/proc').iterdir():
            try:
                words = (entry / 'cmdline').read_bytes().split(b'\0') if entry.name.isdigit() else []
            except OSError:
                continue
            if words and words[0] == PROGRAM.encode() and str(out / 'shards' / str(shard)).encode() in words:
                found.append(int(entry.name))
        return found

    def check_merged(self, out, merge, seconds=240):
        self.cluster.until('the merge has ended', lambda: self.cluster.ended(merge), seconds)
        log = (out / 'slurm/merge.log').read_text() if (out / 'slurm/merge.log').exists() else 'no merge.log'
        self.assertEqual(self.cluster.job(merge)['JobState'], 'COMPLETED', log)
        for name in ('samples.jsonl', 'problems.jsonl', 'summary.json'):
            self.assertEqual((out / name).read_bytes(), (self.single / name).read_bytes(), name)
        self.assertTrue((out / 'report.html').exists())

    def log(self, out, shard):
        return (out / f'slurm/shard-{shard}.log').read_text()

    def test_a_killed_task_is_requeued(self):
        out = self.place / 'killed'
        array, merge = self.submit(out, '--shards', '4', '--partition', 'batch')
        self.started(out, 1)
        [process] = self.processes(out, 1)
        os.kill(process, signal.SIGKILL)
        self.check_merged(out, merge)
        self.assertIn('exit code 137', self.log(out, 1))
        self.assertIn('requeued', self.log(out, 1))
        self.assertIn('start 2', self.log(out, 1))
        self.assertNotIn('start 2', self.log(out, 0))
        self.assertEqual(self.cluster.job(f'{array}_1')['Restarts'], '1')

    def test_a_preempted_task_resumes(self):
        out = self.place / 'preempted'
        array, merge = self.submit(out, '--shards', '2', '--partition', 'batch')
        self.started(out, 0)
        before = lines(out / 'shards/0/samples.jsonl')
        self.cluster.run('sbatch', '--partition=urgent', '--exclusive', '--nodelist=node0', '--output=/dev/null', '--wrap', 'sleep 3')
        self.cluster.run('sbatch', '--partition=urgent', '--exclusive', '--nodelist=node1', '--output=/dev/null', '--wrap', 'sleep 3')
        self.cluster.until('both tasks were preempted', lambda: all(self.cluster.job(f'{array}_{i}')['Restarts'] == '1' for i in (0, 1)), 60)
        self.check_merged(out, merge)
        self.assertIn('terminated by Slurm', self.log(out, 0))
        resumed = int(self.log(out, 0).split('start 2, ')[1].split()[0])
        self.assertGreaterEqual(resumed, before)

    def test_a_task_near_its_time_limit_is_requeued(self):
        out = self.place / 'limit'
        # Slurm may signal up to a minute early: with a notice of 50 s before the end of two minutes, after 10 to 70 s.
        slow = [*EVAL[:4], '500', *EVAL[5:]]
        array, merge = self.submit(out, '--shards', '1', '--time', '2', '--notice', '105', evaluation=slow)
        self.cluster.until('the task was requeued', lambda: self.cluster.job(f'{array}_0')['Restarts'] == '1', 120)
        self.assertIn('the time limit is near', self.log(out, 0))
        self.cluster.run('scancel', array, merge)
        self.cluster.until('it is gone', lambda: not self.processes(out, 0), 60)
        # What it has is intact, and a shorter run goes on from there.
        samples = [json.loads(line) for line in (out / 'shards/0/samples.jsonl').read_text().splitlines()]
        keys = {(s['task'], s['id'], s['method'], s['sample']) for s in samples}
        self.assertEqual(len(keys), len(samples))
        self.assertGreater(len(samples), 0)

    def test_an_error_is_not_repeated_and_the_merge_names_the_shard(self):
        out = self.place / 'error'
        wrong = [*EVAL, '--model', str(self.place / 'absent')]
        array, merge = self.submit(out, '--shards', '2', evaluation=wrong)
        self.cluster.until('the merge has ended', lambda: self.cluster.ended(merge), 60)
        self.assertEqual(self.cluster.job(merge)['JobState'], 'FAILED')
        self.assertEqual(self.cluster.job(f'{array}_0')['Restarts'], '0')
        self.assertIn('absent', self.log(out, 0))
        self.assertIn('shards/0', (out / 'slurm/merge.log').read_text())
        # The same folder with the right model: only --wait is new.
        said = self.cluster.run('tools/slurm', '--out', str(out), '--program', PROGRAM, '--shards', '2', '--wait', '--', *EVAL)
        self.assertIn('cbs:beams=8:block=8', said)
        self.assertEqual((out / 'samples.jsonl').read_bytes(), (self.single / 'samples.jsonl').read_bytes())


if __name__ == '__main__':
    unittest.main(verbosity=2)
