#!/usr/bin/env python3
"""The accuracy of every method with the shipped models in every format of `counterbeam quantize`.

tools/results_formats.py PROGRAM FOLDER [--limit N]   quantises and evaluates them; what is there already is kept
tools/results_formats.py PROGRAM FOLDER --table       prints the tables of docs/results.md

The first N problems of each tiny task, in bf16 on the CPU. The same seed everywhere, so that rows are paired.
"""
import json, pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORMATS = ['dense', 'fp8', 'int8', 'int4']
MODELS = ['tiny-dense', 'tiny-hybrid']
TASKS = ['tiny-math', 'tiny-code', 'tiny-choice']
METHODS = ['greedy', 'sample', 'low-temperature', 'best-of-n', 'self-consistency', 'beam', 'power:temperature=0.25',
           'token-contrast', 'cbs:steer=0.25', 'cbs:steer=0.7']


def evaluate(program, folder, model, format, limit):
    out, path = folder / model / format, ROOT / 'models' / model
    if format != 'dense':
        out.mkdir(parents=True, exist_ok=True)
        subprocess.run([program, 'quantize', '-q', '--to', format, path, out / 'model'], check=True)
        path = out / 'model'
    subprocess.run([program, '-q', '--device', 'cpu', '--model', path, 'eval', '--task', ','.join(TASKS), '--limit', str(limit), '--methods',
                    ','.join(METHODS), '--out', out / 'run', '--resume'], check=True, stdout=subprocess.DEVNULL)


def answers(folder, model, format):
    rows = map(json.loads, (folder / model / format / 'run/samples.jsonl').read_text().splitlines())
    return {(row['task'], row['id'], row['method'], row['sample']): row for row in rows}


def cell(method):
    a = method['accuracy']
    return f"{a['mean']:.3f} ({a['low']:.3f} to {a['high']:.3f})"


def table(folder):
    for model in MODELS:
        formats = [f for f in FORMATS if (folder / model / f / 'run/summary.json').exists()]
        summaries = {f: json.loads((folder / model / f / 'run/summary.json').read_text()) for f in formats}
        rows = {f: answers(folder, model, f) for f in formats}
        counts = ', '.join(f"{t['task']} {max(m['questions'] for m in t['methods'])}" for t in summaries[formats[0]]['tasks'])
        print(f'{model}, mean of the tasks ({counts}):\n\n| method | ' + ' | '.join(formats) + ' |\n|---' + '|---' * len(formats) + '|')
        for method in METHODS:
            found = [next(m for m in summaries[f]['average']['methods'] if m['method'] == method) for f in formats]
            print(f'| {method} | ' + ' | '.join(map(cell, found)) + ' |')
        print(f'\nAnswers that differ from those of the dense model; verdicts gained and lost:\n\n| method | ' + ' | '.join(formats[1:]) + ' |\n|---' +
              '|---' * (len(formats) - 1) + '|')
        for method in METHODS:
            keys = [k for k in rows['dense'] if k[2] == method]
            cells = []
            for f in formats[1:]:
                pairs = [(rows['dense'][k], rows[f][k]) for k in keys if k in rows[f]]
                gained = sum(b['correct'] and not a['correct'] for a, b in pairs)
                lost = sum(a['correct'] and not b['correct'] for a, b in pairs)
                cells.append(f"{sum(a['answer'] != b['answer'] for a, b in pairs)} of {len(pairs)}, +{gained} -{lost}")
            print(f'| {method} | ' + ' | '.join(cells) + ' |')
        print()


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    if '--table' in sys.argv:
        return table(folder)
    limit = int(sys.argv[sys.argv.index('--limit') + 1]) if '--limit' in sys.argv else 100
    for model in MODELS:
        for format in FORMATS:
            evaluate(program, folder, model, format, limit)


if __name__ == '__main__':
    main()
