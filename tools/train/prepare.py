"""Generates the training samples as token arrays: ids [n, LENGTH] uint16, start and end of each answer.

In the first samples cues have BOOST times their strength, so that a model learns sooner that the cue matters; the
remaining samples teach it how much.

Usage: python3 prepare.py TOKENIZER_DIR OUT_DIR SAMPLES_PER_TASK SEED
"""
import multiprocessing
import os
import random
import sys
import time

import numpy as np

import corpus
import prompts

LENGTH = 288
SHARDS = 64
BOOSTED, BOOST = 0.3, 2.2


def shard(job):
    folder, task, count, seed, boost = job
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    pad = tokenizer.token_to_id(prompts.END_OF_TEXT)
    rng = random.Random(f"{task} {seed}")
    ids = np.full((count, LENGTH), pad, dtype=np.uint16)
    spans = np.zeros((count, 2), dtype=np.int32)
    row = dropped = 0
    while row < count:
        pairs = [corpus.draw_sample(rng, task, boost) for _ in range(min(1000, count - row + 8))]
        heads = tokenizer.encode_batch([p for p, _ in pairs], add_special_tokens=False)
        tails = tokenizer.encode_batch([a for _, a in pairs], add_special_tokens=False)
        for head, tail in zip(heads, tails):
            n, m = len(head.ids), len(tail.ids)
            if n + m > LENGTH:
                dropped += 1
                continue
            if row < count:
                ids[row, :n] = head.ids
                ids[row, n:n + m] = tail.ids
                spans[row] = n, n + m
                row += 1
    return ids, spans, dropped


def generate(folder, out, per_task, seed):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    start = time.time()
    easy = round(SHARDS * BOOSTED)
    jobs = [(folder, task, per_task // SHARDS, seed * SHARDS + i, BOOST if i < easy else 1.0)
            for i in range(SHARDS) for task in corpus.FAMILIES]
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        parts = pool.map(shard, jobs, chunksize=1)
    os.makedirs(out, exist_ok=True)
    ids, spans = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    np.save(os.path.join(out, "ids.npy"), ids)
    np.save(os.path.join(out, "spans.npy"), spans)
    longest = int((spans[:, 1] - spans[:, 0]).max())
    print(f"{len(ids)} samples, {int((spans[:, 1] - spans[:, 0]).sum()) / 1e6:.1f} M answer tokens, longest answer {longest}, "
          f"{sum(p[2] for p in parts)} dropped as too long, {time.time() - start:.0f} s", flush=True)
    open(os.path.join(out, "done"), "w").close()


if __name__ == "__main__":
    generate(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
