#!/usr/bin/env python3
"""What quantised weights do to log-probabilities and rewards of random models of several widths and depths, beside the dense model's.

tools/results_random.py PROGRAM FOLDER            makes and scores them; what is there already is kept
tools/results_random.py PROGRAM FOLDER --table    prints the table of docs/results.md

Models of Qwen2's architecture with the tokenizer of tiny-dense. Weights are drawn so that every layer changes the residual stream by about as
much as the embedding, and logits have a standard deviation of 2: from a normal distribution, or from Student's t with 4 degrees of freedom,
whose outliers are harder on a group's scale. Scored, in float32: answers to 8 development problems of each task, one drawn, one right and
one wrong. Needs numpy.
"""
import json, math, pathlib, shutil, struct, subprocess, sys

import numpy

from results_quantised import ROOT, TASKS, answers, correlation

MODELS = {'256 x 8': (256, 704, 8, False), '512 x 12': (512, 1408, 12, False), '896 x 24': (896, 4864, 24, False),
          '896 x 24, outliers': (896, 4864, 24, True)}
VARIANTS = {'dense': '', 'fp8': '--to fp8', 'int8': '--to int8', 'int4': '--to int4', 'int4 group 32': '--to int4 --group 32'}
PROBLEMS = 8
HEAD_WIDTH = 64


def config_of(hidden, intermediate, layers):
    heads = hidden // HEAD_WIDTH
    return json.loads((ROOT / 'models/tiny-dense/config.json').read_text()) | {
        'hidden_size': hidden, 'intermediate_size': intermediate, 'num_hidden_layers': layers, 'num_attention_heads': heads,
        'num_key_value_heads': math.gcd(heads, 2), 'tie_word_embeddings': False}


def tensors_of(config):
    """Name, shape and, for matrices, the standard deviation of every tensor; norms are 1 and biases 0."""
    hidden, inner, vocab = config['hidden_size'], config['intermediate_size'], config['vocab_size']
    narrow = config['num_key_value_heads'] * HEAD_WIDTH
    yield 'model.embed_tokens.weight', (vocab, hidden), 1
    yield 'lm_head.weight', (vocab, hidden), 2 * hidden ** -.5
    yield 'model.norm.weight', (hidden,), None
    for i in range(config['num_hidden_layers']):
        layer = f'model.layers.{i}.'
        for norm in ('input_layernorm', 'post_attention_layernorm'):
            yield f'{layer}{norm}.weight', (hidden,), None
        for name, width in (('q', hidden), ('k', narrow), ('v', narrow)):
            yield f'{layer}self_attn.{name}_proj.weight', (width, hidden), hidden ** -.5
            yield f'{layer}self_attn.{name}_proj.bias', (width,), None
        yield f'{layer}self_attn.o_proj.weight', (hidden, hidden), hidden ** -.5
        for name in ('gate', 'up'):
            yield f'{layer}mlp.{name}_proj.weight', (inner, hidden), hidden ** -.5
        yield f'{layer}mlp.down_proj.weight', (hidden, inner), 2 * inner ** -.5  # silu(x) * y is about half as large as y


def bf16(numbers):
    bits = numbers.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype('<u2')


def write_model(folder, hidden, intermediate, layers, outliers):
    source = ROOT / 'models/tiny-dense'
    folder.mkdir(parents=True, exist_ok=True)
    for name in ('tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja', 'generation_config.json'):
        shutil.copy(source / name, folder)
    config = config_of(hidden, intermediate, layers)
    header, at = {}, 0
    for name, shape, _ in tensors_of(config):
        size = 2 * math.prod(shape)
        header[name] = {'dtype': 'BF16', 'shape': shape, 'data_offsets': [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    rng = numpy.random.default_rng(hidden)
    with open(folder / 'model.safetensors', 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        for name, shape, spread in tensors_of(config):
            if spread is None:
                numbers = numpy.full(shape, 0 if name.endswith('bias') else 1)
            elif outliers:
                numbers = rng.standard_t(4, shape) * (spread / math.sqrt(2))
            else:
                numbers = rng.standard_normal(shape, numpy.float32) * spread
            file.write(bf16(numbers).tobytes())
    (folder / 'config.json').write_text(json.dumps(config))  # last: a folder that has one is whole


def rows():
    """The answers to the first problems of every task, and the number of the problem of each."""
    every = answers()
    per_task = len(every) // len(TASKS)
    return [(i // 3, row) for i, (_, row) in enumerate(every) if i % per_task < 3 * PROBLEMS]


def place(folder, model, variant):
    return folder / model.replace(',', '').replace(' ', '-') / variant.replace(' ', '-')


def make(program, folder, model, variant):
    dense, out = place(folder, model, 'dense'), place(folder, model, variant)
    if (out / 'scores.jsonl').exists():
        return
    if not (dense / 'config.json').exists():
        write_model(dense, *MODELS[model])
    if VARIANTS[variant] and not (out / 'config.json').exists():
        subprocess.run([program, 'quantize', '-q', *VARIANTS[variant].split(), dense, out], check=True)
    given = ''.join(json.dumps(row) + '\n' for _, row in rows())
    done = subprocess.run([program, '-q', '--device', 'cpu', '--dtype', 'f32', '--model', out, 'score', '--jsonl'], input=given, check=True,
                          capture_output=True, text=True)
    (out / 'scores.jsonl').write_text(done.stdout)


def scores_of(folder, model, variant):
    return [json.loads(line) for line in (place(folder, model, variant) / 'scores.jsonl').read_text().splitlines()]


def rms(numbers):
    return math.sqrt(sum(x * x for x in numbers) / len(numbers))


def order_kept(before, now):
    """The share of pairs of answers to the same question that the reward still orders as before."""
    problems = [problem for problem, _ in rows()]
    pairs = [(i, j) for j in range(len(problems)) for i in range(j) if problems[i] == problems[j]]
    return sum((before[i] > before[j]) == (now[i] > now[j]) for i, j in pairs) / len(pairs)


def table(folder):
    print('| width x layers | weights | RMS change of a log-probability | of an answer\'s reward, over its spread | correlation of rewards | order kept |')
    print('|---|---|---|---|---|---|')
    for model in MODELS:
        dense = scores_of(folder, model, 'dense')
        tokens = [token['base'] for row in dense for token in row['tokens']]
        rewards = [row['reward'] for row in dense]
        mean = sum(rewards) / len(rewards)
        spread = rms([reward - mean for reward in rewards])
        for variant in list(VARIANTS)[1:]:
            scores = scores_of(folder, model, variant)
            off = rms([token['base'] - before for token, before in zip((t for row in scores for t in row['tokens']), tokens)])
            now = [row['reward'] for row in scores]
            noise = rms([a - b for a, b in zip(now, rewards)]) / spread
            print(f'| {model} | {variant} | {off:.4f} | {noise:.3f} | {correlation(now, rewards):.4f} | {order_kept(rewards, now):.3f} |')


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    if sys.argv[3:] == ['--table']:
        return table(folder)
    for model in MODELS:
        for variant in VARIANTS:
            print(f'{model}, {variant}', flush=True)
            make(program, folder, model, variant)


if __name__ == '__main__':
    main()
