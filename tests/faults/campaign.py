#!/usr/bin/env python3
"""Makes every allocation, mapping, thread, open, read, write, fsync and rename of a command fail, and every read and write short, one run each.

For every scenario and kind of call, a first run counts the calls. Then call k fails, once or from then on, for every k (or the share of
--part I/N; with --most M, one call of each of M equal stretches, which --day chooses). A run is sound if it ends by itself within its time with one of:
- exit code 1 or 2 and a message "counterbeam: ..." on standard error;
- exit code 0 and the same results as without a fault: it was absorbed.
For `serve`, serve_session.py says what is sound. In both cases no temporary file and no process may be left; and a command that can be repeated (eval --resume) must then give the same files,
byte for byte, as if nothing had happened. Everything else (a signal, a hang, another result with exit code 0) is listed, and ends the campaign
with exit code 1.
"""
import argparse, concurrent.futures, ctypes, dataclasses, json, math, os, pathlib, shutil, subprocess, sys, tempfile, time

import serve_session

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KINDS = ['malloc', 'mmap', 'thread', 'open', 'read', 'write', 'fsync', 'rename', 'short-read', 'short-write']
SECONDS = 60  # for a run that takes less than one alone

CODE = {'prompt': 'def twice(x):\n    """Twice x."""\n', 'test': 'def check(candidate):\n    assert candidate(2) == 4\n',
        'entry_point': 'twice', 'pred': '```python\ndef twice(x):\n    return 2 * x\n```'}
SEARCH = f'--threads 2 --cache-memory 16M -q --model {ROOT}/models/tiny-dense'.split()
EVAL = ('eval --task tiny-math,tiny-code --limit 2 --methods sample,cbs:beams=4:prune=2:block=8 --max-tokens 24 --concurrency 2 '
        '--deterministic --out {out}/run').split() + SEARCH

QUANTIZE = f'quantize --to int4 --threads 2 -q {ROOT}/models/tiny-dense {{out}}/int4'.split()


@dataclasses.dataclass
class Scenario:
    arguments: list
    input: str = ''
    files: dict = dataclasses.field(default_factory=dict)   # made before the run
    again: list = None                                      # a run without faults that must mend everything


SCENARIOS = {
    'ask': Scenario(['ask', 'Compute 7 * 3^2 + 24.', '--beams', '4', '--prune', '2', '--block', '8', '--max-tokens', '16', '--trace',
                     '{out}/tree.html', *SEARCH]),
    'logits': Scenario(['logits', '--ids', '{out}/ids.json', '--out', '{out}/logits.npy', *SEARCH], files={'ids.json': '[1, 2, 3, 4, 5]'}),
    'quantize': Scenario(QUANTIZE, again=QUANTIZE),
    'eval': Scenario(EVAL, again=[*EVAL, '--resume']),
    'grade': Scenario(['grade', '--task', 'math', '--jsonl'],
                      input=''.join(json.dumps({'gold': gold, 'pred': pred}) + '\n'
                                    for gold, pred in [('\\frac12', '0.5'), ('x^2-1', '(x-1)(x+1)'), ('3', '\\boxed{4}')])),
    'grade-code': Scenario(['grade', '--task', 'code', '--jsonl'], input=json.dumps(CODE) + '\n'),
    'serve': None,  # serve_session.py
}
MODEL = ROOT / 'models/tiny-dense'


def environment_with(shim=None, faults=None):
    environment = {'PATH': os.environ['PATH'], 'LC_ALL': 'C.UTF-8'}
    return environment | faults | {'LD_PRELOAD': str(shim)} if faults else environment


def run(binary, arguments, scenario, folder, shim=None, faults=None, seconds=SECONDS):
    environment = environment_with(shim, faults)
    command = [str(binary), *(a.replace('{out}', str(folder)) for a in arguments)]
    try:
        done = subprocess.run(command, input=scenario.input.encode(), capture_output=True, timeout=seconds, env=environment, cwd=ROOT)
        return done.returncode, done.stdout, done.stderr.decode(errors='replace')
    except subprocess.TimeoutExpired:
        return 'hang', b'', ''


def make_folder(scenario, place):
    folder = pathlib.Path(tempfile.mkdtemp(dir=place))
    for name, text in scenario.files.items():
        (folder / name).write_text(text)
    return folder


def results(folder):
    """Every file the command wrote, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob('*')) if path.is_file()}


def clean(out, folder):
    return out.replace(str(folder).encode(), b'{out}')


def one_run(options, name, golden, kind, at, always):
    """None, or what is wrong with the run in which call `at` fails."""
    scenario = SCENARIOS[name]
    faults = {'FAULT_KIND': kind, 'FAULT_AT': str(at)} | ({'FAULT_ALWAYS': '1'} if always else {})
    if name == 'serve':
        return serve_session.one_life(options.binary, MODEL, environment_with(options.shim, faults), ROOT, golden, always)
    folder = make_folder(scenario, options.place)
    try:
        code, out, message = run(options.binary, scenario.arguments, scenario, folder, options.shim, faults)
        if code == 'hang':
            return 'hangs'
        if code < 0:
            return f'ends by signal {-code}: {message[-300:]}'
        made = results(folder)
        left = [path for path in made if '.part' in path]
        if left:
            return f'leaves {left}'
        if code == 0:
            if clean(out, folder) != golden['out']:
                return f'exit code 0 with another output: {out[:200]}'
            if made != golden['files']:
                return f'exit code 0 with other files: {[n for n in golden["files"] if made.get(n) != golden["files"][n]]}'
        elif code not in (1, 2) or 'counterbeam: ' not in message:
            return f'exit code {code}: {message[-300:]}'
        if scenario.again:
            code, out, message = run(options.binary, scenario.again, scenario, folder)
            if code != 0:
                return f'cannot be mended: exit code {code}: {message[-300:]}'
            made = results(folder)
            if made != golden['files']:
                return f'mended, but differs in {[n for n in {**made, **golden["files"]} if made.get(n) != golden["files"].get(n)]}'
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def golden_run(options, name):
    if name == 'serve':
        return serve_session.golden_life(options.binary, MODEL, environment_with(), ROOT)
    scenario = SCENARIOS[name]
    folder = make_folder(scenario, options.place)
    code, out, message = run(options.binary, scenario.arguments, scenario, folder)
    if code != 0:
        sys.exit(f'{name}: fails without faults: {message}')
    golden = {'out': clean(out, folder), 'files': results(folder)}
    shutil.rmtree(folder)
    return golden


def build_shim(place):
    shim = pathlib.Path(place) / 'fault_shim.so'
    subprocess.run(['cc', '-O2', '-shared', '-fPIC', '-o', shim, HERE / 'fault_shim.c', HERE / 'fault_files.c', '-ldl'], check=True)
    return shim


def count_calls(options, name):
    """The number of calls of every kind."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=options.place))
    count = folder / 'count'
    faults = {'FAULT_COUNT': str(count)}
    if name == 'serve':
        serve_session.golden_life(options.binary, MODEL, environment_with(options.shim, faults), ROOT)
    else:
        scenario = SCENARIOS[name]
        for file, text in scenario.files.items():
            (folder / file).write_text(text)
        run(options.binary, scenario.arguments, scenario, folder, options.shim, faults)
    calls = {kind: int(number) for kind, number in map(str.split, count.read_text().splitlines())}
    shutil.rmtree(folder)
    return calls


def points(part, most, day, calls):
    """The calls to fail: those of this part; if there are more than `most`, one of each of `most` stretches of equal length.

    The day chooses which one: on as many days as a stretch has calls, each of them has its turn, in steps that are far apart.

    >>> points((0, 1), 4, 0, 12), points((0, 1), 4, 1, 12)
    ([1, 4, 7, 10], [3, 6, 9, 12])
    >>> all({k for day in range(-(-calls // 4)) for k in points((0, 1), 4, day, calls)} == {*range(1, calls + 1)} for calls in range(200))
    True
    >>> points((1, 4), 0, 0, 12)
    [1, 5, 9]
    """
    number, parts = part
    chosen = [k for k in range(1, calls + 1) if k % parts == number]
    if not most or len(chosen) <= most:
        return chosen
    ends = [i * len(chosen) // most for i in range(most + 1)]
    return [chosen[begin + day * far_step(end - begin) % (end - begin)] for begin, end in zip(ends, ends[1:])]


def far_step(length):
    """A step of about .62 of the length that has no factor in common with it, so that it visits everything."""
    return next(step for step in range(max(1, round(.618 * length)), length + 1) if math.gcd(step, length) == 1)


def orphans():
    """The command lines of processes that runs left and that do not end by themselves: this process adopts them."""
    deadline = time.time() + 5
    while time.time() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.1)
        except ChildProcessError:
            return []
    children = ' '.join(path.read_text() for path in pathlib.Path('/proc/self/task').glob('*/children')).split()
    return [pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().replace(b'\0', b' ')[:200].decode(errors='replace') for pid in children]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('binary', nargs='?', default=ROOT / 'build/release/counterbeam')
    parser.add_argument('--scenario', default=','.join(SCENARIOS))
    parser.add_argument('--kind', default=','.join(KINDS))
    parser.add_argument('--part', default='0/1', help='I/N: the calls whose number mod N is I')
    parser.add_argument('--most', type=int, default=0, help='at most this many points of a scenario and kind')
    parser.add_argument('--day', type=int, default=0, help='which points of --most: another number, other points')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.binary = pathlib.Path(options.binary).resolve()
    options.part = tuple(map(int, options.part.split('/')))
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    bad = total = 0
    began = time.time()
    with tempfile.TemporaryDirectory() as place, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        options.place = place
        options.shim = build_shim(place)
        for name in options.scenario.split(','):
            golden = golden_run(options, name)
            counts = count_calls(options, name)
            for kind in options.kind.split(','):
                calls = counts[kind]
                tasks = {(at, always): pool.submit(one_run, options, name, golden, kind, at, always)
                         for at in points(options.part, options.most, options.day, calls) for always in (False, True)}
                wrong = {key: task.result() for key, task in tasks.items() if task.result()}
                print(f'{name:11} {kind:11} {calls:6} calls, {len(tasks):6} runs, {len(wrong)} unsound', flush=True)
                for (at, always), what in list(wrong.items())[:20]:
                    print(f'    {"from call" if always else "call"} {at}: {what}', flush=True)
                bad += len(wrong)
                total += len(tasks)
    left = orphans()
    print(f'{total} runs, {bad} unsound, {len(left)} processes left, {time.time() - began:.0f} s')
    for command in left:
        print('   ', command)
    sys.exit(1 if bad or left else 0)


if __name__ == '__main__':
    main()
