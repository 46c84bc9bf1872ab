#!/usr/bin/env python3
"""What quantised weights, and KV caches of 8 bits, do to the shipped models: log-probabilities, rewards and accuracies beside the dense model's.

tools/results_quantised.py PROGRAM FOLDER [MODEL/VARIANT ...]   makes, scores and evaluates them; what is there already is kept
tools/results_quantised.py PROGRAM FOLDER --scores [...]        the same without evaluating
tools/results_quantised.py PROGRAM FOLDER --table               prints the tables of docs/results.md on weights
tools/results_quantised.py PROGRAM FOLDER --cache-table         and those on caches

Scored, in float32: answers to 100 development problems of each task, one drawn as in the training text (perplexity, distances), one right and
one wrong (whether the reward prefers the right one). Evaluated, in bf16: the first 200 problems of tiny-math. Calibration text: training samples.
"""
import json, math, pathlib, random, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tools/train'))
import corpus, prompts

TASKS = ['math', 'code', 'choice']
VARIANTS = {'dense': None, 'fp8': '--to fp8', 'int8': '--to int8', 'int4': '--to int4', 'int4 calibrated': '--to int4 --calibrate {text}',
            'int4 group 32': '--to int4 --group 32'}
INT8 = ', int8 activations'   # the same weights with --activations int8
VARIANTS |= {variant + INT8: VARIANTS[variant] for variant in ('int8', 'int4', 'int4 group 32')}
# The dense model with another cache: options of every command.
CACHES = {'fp8 cache': '--cache-dtype fp8', 'int8 cache': '--cache-dtype int8'}
METHODS = ['greedy', 'cbs:steer=0.7']
MODELS = ['tiny-dense', 'tiny-hybrid']


def training_text():
    rng = random.Random(7)
    return ''.join(''.join(corpus.draw_sample(rng, task)) + '\n' for _ in range(60) for task in TASKS)


def answers():
    """Rows of `score --jsonl`, and what each is: drawn, right or wrong."""
    rng, rows = random.Random(8), []
    for task in TASKS:
        for problem, row in corpus.fixed_problems(task, 'dev', 100, 9):
            asked = {'question': prompts.user_text(task, row), 'system': prompts.SYSTEM[task]}
            wrong = problem.answer(rng, misled=problem.mislead > 0, slip=problem.mislead == 0)
            for kind, answer in (('drawn', problem.draw_answer(rng, 0)), ('right', problem.answer(rng)), ('wrong', wrong)):
                rows.append((kind, asked | {'answer': answer}))
    return rows


def place(folder, model, variant):
    return folder / model / variant.replace(',', '').replace(' ', '-')


def make(program, folder, model, variant, evaluated):
    out = place(folder, model, variant)
    out.mkdir(parents=True, exist_ok=True)
    source = ROOT / 'models' / model
    path = source
    command = [program, '-q', '--device', 'cpu', *CACHES.get(variant, '').split(), *(['--activations', 'int8'] if variant.endswith(INT8) else [])]
    if VARIANTS.get(variant):
        path = out / 'model'
        (folder / 'text.txt').write_text(training_text())
        options = VARIANTS[variant].replace('{text}', str(folder / 'text.txt')).split()
        if not path.exists():
            subprocess.run([program, 'quantize', '-q', *options, source, path], check=True)
    if not (out / 'scores.jsonl').exists():
        given = ''.join(json.dumps(row) + '\n' for _, row in answers())
        done = subprocess.run([*command, '--dtype', 'f32', '--model', path, 'score', '--jsonl'], input=given, check=True, capture_output=True, text=True)
        (out / 'scores.jsonl').write_text(done.stdout)
    if not evaluated:
        return
    subprocess.run([*command, '--model', path, 'eval', '--task', 'tiny-math', '--limit', '200', '--methods', ','.join(METHODS), '--out', out / 'run',
                    '--resume'], check=True, stdout=subprocess.DEVNULL)


def scores_of(folder, model, variant):
    lines = (place(folder, model, variant) / 'scores.jsonl').read_text().splitlines()
    return [(kind, json.loads(line)) for (kind, _), line in zip(answers(), lines)]


def correlation(a, b):
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    product = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    return product / math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))


def score_row(variant, scores, dense):
    drawn = [token['base'] for kind, row in scores if kind == 'drawn' for token in row['tokens']]
    before = [token['base'] for kind, row in dense if kind == 'drawn' for token in row['tokens']]
    rewards, rewards_before = [row['reward'] for _, row in scores], [row['reward'] for _, row in dense]
    off = math.sqrt(sum((a - b) ** 2 for a, b in zip(rewards, rewards_before)) / len(rewards))
    right, wrong = ([row['reward'] for kind, row in scores if kind == wanted] for wanted in ('right', 'wrong'))
    preferred = sum(a > b for a, b in zip(right, wrong)) / len(right)
    return (f'| {variant} | {math.exp(-sum(drawn) / len(drawn)):.4f} | {sum(abs(a - b) for a, b in zip(drawn, before)) / len(drawn):.4f} | {off:.3f} | '
            f'{correlation(rewards, rewards_before):.4f} | {preferred:.3f} |')


def accuracy_row(folder, model, variant):
    summary = json.loads((place(folder, model, variant) / 'run/summary.json').read_text())
    found = {method['method']: method['accuracy'] for method in summary['tasks'][0]['methods']}
    return f'| {variant} | ' + ' | '.join(f"{found[m]['mean']:.3f} ({found[m]['low']:.3f} to {found[m]['high']:.3f})" for m in METHODS) + ' |'


def same_answers(folder, model, variant):
    def texts(which):
        rows = [json.loads(line) for line in (folder / model / which / 'run/samples.jsonl').read_text().splitlines()]
        return {(row['method'], row['id']): row['answer'] for row in rows}
    before, now = texts('dense'), texts(variant.replace(' ', '-'))
    return ', '.join(f"{sum(now[key] == before[key] for key in before if key[0] == m)} of {sum(key[0] == m for key in before)} ({m})" for m in METHODS)


def table(folder, variants):
    for model in MODELS:
        dense = scores_of(folder, model, 'dense')
        rewards = [row['reward'] for _, row in dense]
        spread = math.sqrt(sum((r - sum(rewards) / len(rewards)) ** 2 for r in rewards) / len(rewards))
        print(f'{model}, {len(dense)} answers; rewards of the dense model have a standard deviation of {spread:.2f}:\n')
        print('| weights | perplexity | mean change of a log-probability | RMS change of an answer\'s reward | correlation of rewards | right preferred |')
        print('|---|---|---|---|---|---|')
        print('\n'.join(score_row(variant, scores_of(folder, model, variant), dense) for variant in variants) + '\n')
        print('| weights | ' + ' | '.join(METHODS) + ' |\n|---' + '|---' * len(METHODS) + '|')
        evaluated = [variant for variant in variants if (place(folder, model, variant) / 'run/summary.json').exists()]
        print('\n'.join(accuracy_row(folder, model, variant) for variant in evaluated) + '\n')
        for variant in evaluated[1:]:
            print(f'Answers that are word for word those of the dense model, {variant}: {same_answers(folder, model, variant)}')
        print()


def main():
    program, folder, wanted = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    if wanted == ['--table']:
        return table(folder, list(VARIANTS))
    if wanted == ['--cache-table']:
        return table(folder, ['dense', *CACHES])
    evaluated = '--scores' not in wanted
    wanted = [one for one in wanted if one != '--scores']
    for one in wanted or [f'{model}/{variant}' for model in MODELS for variant in [*VARIANTS, *CACHES]]:
        make(program, folder, *one.split('/'), evaluated)


if __name__ == '__main__':
    main()
