#!/usr/bin/env python3
"""Kills evaluations and checks that nothing is lost, doubled or changed.

- kills: `eval` is killed with SIGKILL at a random time and resumed, again and again; after each kill the samples file may also lose the end of its
  last record, at a byte that moves on from kill to kill. Every fifth time it may finish: the files must be those of a run without a kill.
- torn: a finished run whose last record is cut at every byte, then resumed.
- two: two processes on one folder; one is refused, and the other's results are those of a run alone.
- clock: the calendar clock is set back by a day during the run.
- full: the disk (a small tmpfs; needs root) is full at various sizes; the run fails with a message, and --resume finishes it on a larger one.
"""
import argparse, ctypes, os, pathlib, random, shutil, subprocess, sys, tempfile, time

from campaign import EVAL, ROOT, build_shim, environment_with, results

def command(options, folder, resume):
    return [str(options.binary), *(a.replace('{out}', str(folder)) for a in EVAL), *(['--resume'] if resume else [])]


def start(options, folder, resume=True, faults=None):
    return subprocess.Popen(command(options, folder, resume), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            env=environment_with(options.shim, faults), cwd=ROOT)


def finish(process):
    message = process.communicate(timeout=300)[1].decode(errors='replace')
    return process.returncode, message


def check(options, what, folder):
    made = results(folder)
    if made != options.golden:
        names = [n for n in {**made, **options.golden} if made.get(n) != options.golden.get(n)]
        sys.exit(f'{what}: the results differ in {names}; they are kept in {shutil.copytree(folder, tempfile.mkdtemp() + "/kept")}')


def fresh(options):
    return pathlib.Path(tempfile.mkdtemp(dir=options.place))


def tear(path, cut):
    """Takes bytes from the end of the last record, which is then incomplete: at least its line end."""
    content = path.read_bytes() if path.exists() else b''
    if not content.endswith(b'\n'):
        return
    record = len(content) - (content[:-1].rfind(b'\n') + 1)
    path.write_bytes(content[:len(content) - 1 - cut % record])


def kills(options):
    chance = random.Random(options.seed)
    folder, done, torn, late = fresh(options), 0, 0, 0
    while done < options.kills:
        process = start(options, folder)
        try:
            process.wait(chance.uniform(0, options.seconds))
            late += 1  # it was faster than the kill
            process.communicate()
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            done += 1
            if chance.random() < 0.5:
                tear(folder / 'run/samples.jsonl', done)
                torn += 1
        if done % 5 == 0 or late > 5 * options.kills:
            code, message = finish(start(options, folder))
            if code != 0:
                sys.exit(f'kills: after {done} kills, --resume ends with {code}: {message}')
            check(options, f'kills, after {done}', folder)
            shutil.rmtree(folder)
            folder = fresh(options)
    return f'{done} kills, {torn} of them with a torn record: every result is that of a whole run'


def torn(options):
    folder, cuts = fresh(options), 0
    finish(start(options, folder))
    path = folder / 'run/samples.jsonl'
    whole = path.read_bytes()
    record = len(whole) - (whole[:-1].rfind(b'\n') + 1)
    for cut in range(0, record, max(1, record // options.cuts)):
        path.write_bytes(whole[:len(whole) - 1 - cut])
        code, message = finish(start(options, folder))
        if code != 0:
            sys.exit(f'torn: cut {cut + 1} bytes before the end, --resume ends with {code}: {message}')
        check(options, f'torn {cut + 1} bytes before the end', folder)
        cuts += 1
    return f'{cuts} cuts of a record of {record} bytes mended (tests/eval/samples_test.cpp cuts at every byte)'


def two(options):
    refused = 0
    for _ in range(options.pairs):
        folder = fresh(options)
        pair = [finish(process) for process in [start(options, folder), start(options, folder)]]
        codes = sorted(code for code, _ in pair)
        if codes not in ([0, 0], [0, 1], [0, 2]) or any(code and 'counterbeam: ' not in message for code, message in pair):
            sys.exit(f'two: {pair}')
        refused += codes != [0, 0]
        check(options, 'two processes', folder)
    return f'{options.pairs} pairs on one folder, {refused} times the second was refused (else it came after the first and had nothing to do)'


def clock(options):
    folder = fresh(options)
    code, message = finish(start(options, folder, faults={'FAULT_CLOCK': '86400'}))
    if code != 0:
        sys.exit(f'clock: exit code {code}: {message}')
    check(options, 'clock', folder)
    return 'the calendar clock set back by a day: the same results'


def full(options):
    folder, sizes = fresh(options), 0
    need = sum(len(content) for content in options.golden.values())
    libc = ctypes.CDLL(None, use_errno=True)
    for size in sorted({4096 * (1 + need * step // (options.sizes * 4096)) for step in range(options.sizes)}):
        if libc.mount(b'tmpfs', str(folder).encode(), b'tmpfs', 0, f'size={size}'.encode()) != 0:
            return f'skipped: a tmpfs cannot be mounted ({os.strerror(ctypes.get_errno())})'
        try:
            code, message = finish(start(options, folder, resume=False))
            if code == 0:
                check(options, f'full at {size}', folder)
                continue
            if code != 1 or 'counterbeam: ' not in message:
                sys.exit(f'full: with {size} bytes, exit code {code}: {message}')
            libc.mount(b'tmpfs', str(folder).encode(), b'tmpfs', 32, b'size=1G')  # MS_REMOUNT
            code, message = finish(start(options, folder))
            if code != 0:
                sys.exit(f'full: at {size} bytes, --resume on a larger disk ends with {code}: {message}')
            check(options, f'full at {size}', folder)
            sizes += 1
        finally:
            libc.umount(str(folder).encode())
    return f'full at {sizes} sizes up to {need} bytes: each a message, and resumed to the same results'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('binary', nargs='?', default=ROOT / 'build/release/counterbeam')
    parser.add_argument('--parts', default='kills,torn,two,clock,full')
    parser.add_argument('--kills', type=int, default=200)
    parser.add_argument('--cuts', type=int, default=40)
    parser.add_argument('--pairs', type=int, default=10)
    parser.add_argument('--sizes', type=int, default=25)
    parser.add_argument('--seed', type=int, default=int(time.time()))
    options = parser.parse_args()
    options.binary = pathlib.Path(options.binary).resolve()
    print(f'seed {options.seed}')
    with tempfile.TemporaryDirectory() as place:
        options.place = place
        options.shim = build_shim(place)
        folder = fresh(options)
        began = time.time()
        code, message = finish(start(options, folder))
        if code != 0:
            sys.exit(f'fails without a kill: {message}')
        options.seconds = time.time() - began
        options.golden = results(folder)
        for part in options.parts.split(','):
            began = time.time()
            print(f'{part}: {globals()[part](options)}, {time.time() - began:.0f} s', flush=True)


if __name__ == '__main__':
    main()
