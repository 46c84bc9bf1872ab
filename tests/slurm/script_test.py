"""tools/slurm without a cluster: what it refuses, and the scripts it prints."""
import os
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVAL = ['--', 'eval', '--task', 'tiny-math', '--methods', 'cbs:contexts="a, b"']


class ScriptTest(unittest.TestCase):
    def setUp(self):
        self.place = Path(tempfile.mkdtemp(prefix='slurm scripts $x '))
        self.addCleanup(shutil.rmtree, self.place)
        self.program = self.place / 'counter beam'
        self.program.write_text('#!/bin/sh\nfor word; do echo "[$word]"; done; echo "threads $OMP_NUM_THREADS"\n')
        self.program.chmod(0o755)

    def tool(self, *arguments, path=None):
        environment = {**os.environ, **({'PATH': path} if path else {})}
        return subprocess.run(['/usr/bin/python3', ROOT / 'tools/slurm', *map(str, arguments)], capture_output=True, text=True, env=environment)

    def dry(self, *options, evaluation=EVAL):
        done = self.tool('--out', self.place / 'run', '--program', self.program, '--dry-run', *options, *evaluation)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_bad_usage_is_refused_with_its_remedy(self):
        out = ['--out', self.place / 'run', '--program', self.program, '--shards']
        cases = [([*out, '0', *EVAL], '--shards 0: at least 1'),
                 ([*out, 'x', *EVAL], "invalid int value: 'x'"),
                 (['--shards', '2', *EVAL], '--out'),
                 ([*out, '2'], 'no evaluation: put it after --'),
                 ([*out, '2', '--', 'ask', 'why'], '"ask": only eval and reproduce can be split'),
                 ([*out, '2', *EVAL, '--shard', '0/2'], '--shard after --: give --shards before the --'),
                 ([*out, '2', *EVAL, '--out=x'], '--out after --: give --out before the --'),
                 ([*out, '2', *EVAL, '--resume'], 'shards always resume'),
                 ([*out, '2', '--', 'reproduce', 'all'], 'reproduce all: submit its experiments one by one'),
                 ([*out, '2', '--gpus', '-1', *EVAL], '--gpus -1: 0 or more'),
                 ([*out, '2', '--at-once', '0', *EVAL], '--at-once 0: at least 1'),
                 ([*out, '2', '--notice', '70000', *EVAL], '--notice 70000: 1 to 65535 seconds'),
                 ([*out, '2', '--sbatch', 'constraint=h200', *EVAL], 'an option of sbatch starts with -'),
                 ([*out, '2', '--setup', 'a\nb', *EVAL], '--setup: one line at a time'),
                 ([*out, '2', '--part', 'x', *EVAL], 'unrecognized arguments: --part'),
                 (['--out', 'x', '--program', self.place / 'absent', '--shards', '2', *EVAL], 'is not an executable file'),
                 (['--out', 'x', '--program', self.place, '--shards', '2', *EVAL], 'is not an executable file')]
        for arguments, message in cases:
            done = self.tool(*arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stdout, done.stderr))
            self.assertIn(message, done.stderr)
        self.assertFalse((self.place / 'run').exists())

    def test_without_slurm_it_says_so(self):
        done = self.tool('--out', self.place / 'run', '--program', self.program, '--shards', 2, *EVAL, path=str(self.place))
        self.assertEqual(done.returncode, 1)
        self.assertIn('no sbatch here', done.stderr)

    def test_an_error_of_sbatch_is_passed_on(self):
        fake = self.place / 'sbatch'
        fake.write_text('#!/bin/sh\necho "sbatch: error: invalid partition specified: nope" >&2; exit 1\n')
        fake.chmod(0o755)
        done = self.tool('--out', self.place / 'run', '--program', self.program, '--shards', 2, '--partition', 'nope', *EVAL, path=f'{self.place}:/usr/bin:/bin')
        self.assertEqual(done.returncode, 1)
        self.assertIn('invalid partition specified: nope', done.stderr)

    def test_another_number_of_shards_is_refused(self):
        for shard in range(4):
            (self.place / f'run/shards/{shard}').mkdir(parents=True)
            (self.place / f'run/shards/{shard}/run.json').write_text('{}')
        done = self.tool('--out', self.place / 'run', '--program', self.program, '--shards', 2, *EVAL)
        self.assertEqual(done.returncode, 2)
        self.assertIn('give the same number, or another --out', done.stderr)

    def test_options_reach_the_scripts(self):
        text = self.dry('--shards', '3', '--at-once', '2', '--gpus', '1', '--cpus', '8', '--mem', '64G', '--time', '1:00:00', '--notice', '300', '--account',
                        'a', '--sbatch=--constraint=h200', '--merge-sbatch=--mem=2G', '--setup', 'module load cuda')
        shard, merge = text.split('# sbatch --parsable --dependency=afterany:JOB')
        for line in ('--array=0-2%2', '--gres=gpu:1', '--cpus-per-task=8', '--mem=64G', '--time=1:00:00', '--signal=B:USR1@300', '--account=a', '--requeue',
                     '--constraint=h200'):
            self.assertIn(f'#SBATCH {line}\n', shard)
        self.assertIn('\nmodule load cuda\n', shard)
        self.assertIn('#SBATCH --mem=2G\n', merge)
        self.assertIn('#SBATCH --account=a\n', merge)
        for line in ('gres', 'constraint', '--array', '64G'):
            self.assertNotIn(line, merge)
        self.assertFalse((self.place / 'run').exists())  # a dry run writes nothing

    def test_every_word_reaches_the_program_as_it_was_given(self):
        shard = self.dry('--shards', '3', '--cpus', '8').split('# sbatch')[1].split('\n', 1)[1]
        done = subprocess.run(['bash', '-c', shard], capture_output=True, text=True, env={**os.environ, 'SLURM_ARRAY_TASK_ID': '1'})
        self.assertEqual(done.returncode, 0, done.stderr)
        words = [line[1:-1] for line in done.stdout.splitlines() if line.startswith('[')]
        self.assertEqual(words, [*EVAL[1:], '--threads', '8', '--shard', '1/3', '--out', str(self.place / 'run/shards/1'), '--resume'])

    def test_a_merge_accepts_failures_where_the_evaluation_does(self):
        merge = self.dry('--shards', '2', evaluation=[*EVAL, '--allow-failures']).split('# sbatch')[2].split('\n', 1)[1]
        done = subprocess.run(['bash', '-c', merge], capture_output=True, text=True)
        words = [line[1:-1] for line in done.stdout.splitlines() if line.startswith('[')]
        run = self.place / 'run'
        self.assertEqual(words, ['merge', str(run / 'shards/0'), str(run / 'shards/1'), '--out', str(run), '--allow-failures'])

    def test_exit_codes_of_a_shard(self):
        """An error ends it, a kill without progress too; a kill after progress asks for a requeue."""
        requeued = self.place / 'scontrol'
        requeued.write_text(f'#!/bin/sh\necho "$@" > {shlex.quote(str(self.place / "asked"))}; exit 1\n')
        requeued.chmod(0o755)
        samples = self.place / 'run/shards/0/samples.jsonl'
        samples.parent.mkdir(parents=True)
        for body, code, asked in [('exit 2', 2, False), ('exit 1', 1, False), ('kill -KILL $$', 1, False),
                                  (f'echo x >> {shlex.quote(str(samples))}; kill -KILL $$', 1, True)]:
            self.program.write_text(f'#!/bin/bash\n{body}\n')
            shard = self.dry('--shards', '1').split('# sbatch')[1].split('\n', 1)[1]
            done = subprocess.run(['bash', '-c', shard], capture_output=True, text=True, env={
                **os.environ, 'SLURM_ARRAY_TASK_ID': '0', 'SLURM_ARRAY_JOB_ID': '7', 'PATH': f'{self.place}:{os.environ["PATH"]}'})
            self.assertEqual(done.returncode, code, (body, done.stdout, done.stderr))
            self.assertEqual((self.place / 'asked').exists(), asked, body)
        self.assertEqual((self.place / 'asked').read_text(), 'requeue 7_0\n')


if __name__ == '__main__':
    unittest.main(verbosity=2)
