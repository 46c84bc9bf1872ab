#!/usr/bin/env python3
"""Throughput of contrastive beam search on paper: the model of docs/scaling.md, its check against measured points, and fleets.

    tools/scaling.py check                      predicted beside measured figures
    tools/scaling.py fleet [options]            answers per hour of 1 to 1,000 GPUs; --help has the options

One step with R rows takes
    max(weights / B, R * operations / F) + keys_and_values / (0.8 * B) + t0 + R * t1
and a block is K steps. B: bandwidth of the memory, F: arithmetic of a GEMM with R rows; t0 and t1: what launches, norms and sampling add.
"""
import argparse
import dataclasses
import math


@dataclasses.dataclass
class Shape:
    """A model: bytes that every step reads, operations per row, bytes of keys and values per token, layers, width."""
    weights: float
    operations: float
    context: float
    layers: int
    hidden: int


@dataclasses.dataclass
class Machine:
    bandwidth: float     # bytes/s
    arithmetic: float    # FLOP/s of GEMMs with some hundred rows
    step: float          # t0, s
    row: float           # t1, s
    sharing: int = 1     # most rows that read a shared page together


ATTENTION = 0.8  # share of the bandwidth at which keys and values are read
CHUNK = 4  # tokens that a follower reads at once where several searches run
SHAPES = {
    'qwen2.5-7b': Shape(14.14e9, 14.14e9, 57344, 28, 3584),  # the input table is not read by a step
    'deepseek-math-7b': Shape(12.98e9, 12.98e9, 491520, 30, 4096),
    'qwen2.5-0.5b': Shape(0.988e9, 0.988e9, 12288, 24, 896),
    '70b': Shape(139e9, 139e9, 327680, 80, 8192),
}
MACHINES = {
    'h200': Machine(4.2e12, 590e12, 0.38e-3, 6.3e-6, sharing=4),
    'zen4': Machine(36e9, 440e9, 1e-3, 0.2e-3),
}


def step_seconds(machine, shape, rows, context, readers=None):
    """One decoding step. `readers`: sequences whose keys and values are read, where rows share them."""
    read = (rows if readers is None else readers) * context * shape.context
    return (max(shape.weights / machine.bandwidth, rows * shape.operations / machine.arithmetic) + read / (ATTENTION * machine.bandwidth) +
            machine.step + rows * machine.row)


def block_seconds(machine, shape, beams, survivors, tokens, context, followers=2, questions=1):
    """One block of one or more searches that run at once; followers: contexts that are scored beside the beams."""
    together = max(1, min(beams // survivors, machine.sharing))  # beams that were forked from one parent read its pages once
    chunk = CHUNK if questions > 1 else 1
    readers = questions * beams * (1 + followers / chunk) / together
    return tokens * step_seconds(machine, shape, questions * beams * (1 + followers), context + tokens / 2, readers)


def tensor_parallel(machine, shape, rows, gpus, latency, link):
    """Seconds that all-reduces add to a step: two per layer of rows x hidden bf16 values over a ring."""
    if gpus == 1:
        return 0.0
    return 2 * shape.layers * (latency + 2 * (gpus - 1) / gpus * rows * shape.hidden * 2 / link)


def remote_score(server, beams, followers, block, length, cached):
    """Seconds in which a server scores a block after `length` tokens: all of them, or what a prefix cache of whole pages leaves."""
    known = length // server.page * server.page if cached else 0
    requests = beams * followers
    return requests * ((length - known + block) / server.prefill + known * server.reread)


@dataclasses.dataclass
class Server:
    prefill: float  # tokens/s
    reread: float   # seconds per request and token of cached context
    page: int       # tokens of a page of its prefix cache


# vLLM 0.32 on two CPU cores, tiny-dense in float32.
VLLM_CPU = Server(7000, 7.4e-6, 32)


def check_rows():
    h200, qwen, deepseek = MACHINES['h200'], SHAPES['qwen2.5-7b'], SHAPES['deepseek-math-7b']
    zen, small = MACHINES['zen4'], SHAPES['qwen2.5-0.5b']
    decode = lambda machine, shape, rows, context: rows / step_seconds(machine, shape, rows, context)
    middle = 1024 + 32  # bench decodes 64 tokens from there on
    yield 'H200, qwen2.5-7b, tokens/s: 1 row, context 256', decode(h200, qwen, 1, 288), 267, True
    yield '16 rows, context 256', decode(h200, qwen, 16, 288), 4149, True
    yield '48 rows, context 256', decode(h200, qwen, 48, 288), 11404, True
    yield '16 rows, context 1,024', decode(h200, qwen, 16, middle), 3901, False
    yield '48 rows, context 1,024, 256 of it shared', decode(h200, qwen, 48, middle - 256 * 47 / 48), 10131, False
    ratio = block_seconds(h200, qwen, 16, 4, 32, 1024) / block_seconds(h200, qwen, 16, 4, 32, 1024, followers=0)
    yield 'block with two contexts over one without', ratio, 1.092, False
    yield '8 questions, contrastive', 8 * 16 * 32 / block_seconds(h200, qwen, 16, 4, 32, 1024, questions=8), 9873, False
    yield 'H200, deepseek-math-7b: 1 row, context 1,024', decode(h200, deepseek, 1, middle), 260, False
    yield '16 rows, context 1,024', decode(h200, deepseek, 16, middle), 2773, False
    yield '48 rows, context 1,024', decode(h200, deepseek, 48, middle), 4743, False
    ratio = block_seconds(h200, deepseek, 16, 4, 32, 1024) / block_seconds(h200, deepseek, 16, 4, 32, 1024, followers=0)
    yield 'block with two contexts over one without', ratio, 1.329, False
    yield '8 questions, contrastive', 8 * 16 * 32 / block_seconds(h200, deepseek, 16, 4, 32, 1024, questions=8), 6979, True
    yield 'two Zen 4 cores, qwen2.5-0.5b: 1 row', decode(zen, small, 1, 160), 34.8, True
    yield '16 rows', decode(zen, small, 16, 160), 363, False
    yield '48 rows', decode(zen, small, 48, 160), 384, True


def remote_check_rows():
    """Seconds a block, N = 8, K = 16, two followers; the fastest of several runs."""
    score = lambda prompt, cached: remote_score(VLLM_CPU, 8, 2, 16, prompt, cached)
    yield 'vLLM on two cores, scoring s/block: prompt 690, uncached', score(690, False), 1.67, True
    yield 'prompt 690, cached', score(690, True), 0.16, True
    yield 'prompt 125, uncached', score(125, False), 0.31, False
    yield 'prompt 125, cached', score(125, True), 0.11, False


def check():
    print(f'{"figure":56} {"measured":>9} {"model":>9} {"off":>7}')
    worst = 0.0
    for name, predicted, measured, fitted in [*check_rows(), *remote_check_rows()]:
        off = predicted / measured - 1
        if not fitted:
            worst = max(worst, abs(off))
        digits = 0 if measured >= 100 else 3 if measured < 2 else 1
        print(f'{name:56} {measured:9,.{digits}f} {predicted:9,.{digits}f} {100 * off:+6.1f} %{" (fitted)" if fitted else ""}')
    print(f'largest error of a point that was not fitted: {100 * worst:.0f} %')


def fleet(options):
    """Independent shards: a GPU, or a group of --tensor-parallel ones, answers its own questions."""
    machine, shape = MACHINES['h200'], SHAPES[options.shape]
    group = options.tensor_parallel
    part = dataclasses.replace(shape, weights=shape.weights / group, operations=shape.operations / group, context=shape.context / group)
    context = options.prompt + options.answer / 2
    rows = options.questions_at_once * options.beams * 3
    more = tensor_parallel(machine, shape, rows, group, options.latency, options.link)
    block = block_seconds(machine, part, options.beams, options.survivors, options.block, context, questions=options.questions_at_once)
    block += options.block * more + options.rounds * options.round_trip
    blocks = math.ceil(options.answer / options.block)
    seconds = blocks * block  # of questions_at_once answers
    print(f'{options.shape}, {group} GPU{"s" if group > 1 else ""} a copy, {options.questions_at_once} searches at once: '
          f'{block * 1e3:.0f} ms a block, {seconds:.1f} s for {options.questions_at_once} answers of {options.answer} tokens')
    print(f'{"GPUs":>6} {"blocks/s":>10} {"answers/h":>12} {"hours for " + format(options.answers, ",") + " answers":>28} {"use of the GPUs":>16}')
    for gpus in (1, 8, 64, 256, 1000):
        copies = gpus // group
        if copies == 0:
            continue
        rate = copies * options.questions_at_once / seconds
        per_copy = options.answers / copies
        # The slowest of the copies: its answers' lengths vary by a standard deviation of `spread`, and the last round is not full.
        rounds = math.ceil(per_copy / options.questions_at_once)
        slow = 1 + options.spread / math.sqrt(max(per_copy, 1)) * math.sqrt(2 * math.log(copies)) if copies > 1 else 1
        total = options.load + rounds * seconds * slow
        print(f'{gpus:6,} {copies * options.questions_at_once / block:10,.0f} {rate * 3600:12,.0f} {total / 3600:28.2f} '
              f'{100 * options.answers / rate / total:14.0f} %')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest='command', required=True)
    commands.add_parser('check', help='predicted beside measured figures')
    f = commands.add_parser('fleet', help='1 to 1,000 H200', formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    count = lambda text: int(text) if int(text) > 0 else parser.error(f'{text}: at least 1')
    f.add_argument('--shape', choices=SHAPES, default='qwen2.5-7b', help='model')
    f.add_argument('--beams', type=count, default=16, help='beams of a search')
    f.add_argument('--survivors', type=count, default=4, help='beams that are kept after a block')
    f.add_argument('--block', type=count, default=32, help='tokens of a block')
    f.add_argument('--prompt', type=count, default=256, help='tokens of a prompt')
    f.add_argument('--answer', type=count, default=512, help='tokens of an answer')
    f.add_argument('--answers', type=count, default=100000, help='answers of the whole evaluation')
    f.add_argument('--questions-at-once', type=count, default=8, help='searches at once on one copy of the model')
    f.add_argument('--tensor-parallel', type=count, default=1, help='GPUs that share a copy')
    f.add_argument('--latency', type=float, default=15e-6, help='seconds of one all-reduce without its data (not measured here)')
    f.add_argument('--link', type=float, default=450e9, help='bytes/s between the GPUs of a copy (not measured here)')
    f.add_argument('--rounds', type=int, default=0, help='rounds of requests a block, for a remote engine: 3')
    f.add_argument('--round-trip', type=float, default=0.0, help='seconds of one round of requests')
    f.add_argument('--load', type=float, default=60.0, help='seconds until a process searches: queue, start, reading the weights')
    f.add_argument('--spread', type=float, default=0.5, help='standard deviation of the time of an answer, as a share of its mean')
    options = parser.parse_args()
    if options.command == 'fleet' and options.survivors > options.beams:
        parser.error('--survivors: at most --beams')
    check() if options.command == 'check' else fleet(options)


if __name__ == '__main__':
    main()
