#!/usr/bin/env python3
"""Counts where bf16 and float32 choose different greedy tokens, for ours and for transformers' bf16.

    python tools/bf16_ties.py PROGRAM FOLDER [TOKENS]

FOLDER contains checkpoints with a reference.safetensors (`input_ids.I`) each. Every prompt, and its
first quarter and half, is continued greedily by transformers in float32 for TOKENS tokens (64); the
others are evaluated on that text. A line shows how many positions have another most likely token, in
brackets those where the reference's logits of the two differ by more than one bf16 ulp of the
largest, and the same for the first such position of each prompt. The last line compares two bf16
runs of transformers that differ only in attention. Needs torch and transformers 5, on the CPU.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM
from transformers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()


def model_of(folder, dtype, **options):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **options).eval()


def logits_of(model, sequences):
    return [model(input_ids=ids[None]).logits[0].float() for ids in sequences]


def continued(model, ids, tokens):
    for _ in range(tokens):
        likeliest = model(input_ids=ids[None]).logits[0, -1].argmax()
        ids = torch.cat([ids, likeliest[None]])
    return ids


def ours(program, folder, sequences, place):
    results = []
    for ids in sequences:
        (place / "ids.json").write_text(json.dumps(ids.tolist()))
        subprocess.run([program, "--model", str(folder), "--device", "cpu", "--dtype", "bf16",
                        "--quiet", "logits", "--ids", str(place / "ids.json"),
                        "--out", str(place / "logits.npy")], check=True)
        results.append(torch.from_numpy(numpy.load(place / "logits.npy")))
    return results


def tally(reference, other, first):
    """Counts over the positions that predict token `first` and all later ones."""
    reference, other = reference[first - 1:-1], other[first - 1:-1]
    top, likeliest = reference.max(-1)
    choice = other.argmax(-1)
    differs = choice != likeliest
    gap = top - reference.gather(-1, choice[:, None])[:, 0]
    broken = differs & (gap > torch.exp2(torch.floor(torch.log2(top.abs())) - 7))
    where = differs.nonzero()[:1, 0]
    return Counter(positions=len(top), differ=int(differs.sum()), broken=int(broken.sum()),
                   prompts=1, first=len(where), first_broken=int(broken[where].sum()))


@torch.no_grad()
def main():
    program, root = sys.argv[1], Path(sys.argv[2])
    tokens = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    counts = {}
    for folder in sorted(path.parent for path in root.glob("*/reference.safetensors")):
        stored = load_file(folder / "reference.safetensors")
        prompts = [stored[name].long()[:max(1, len(stored[name]) // part)]
                   for name in sorted(stored) if name.startswith("input_ids") for part in (4, 2, 1)]
        exact = model_of(folder, torch.float32)
        sequences = [continued(exact, ids, tokens) for ids in prompts]
        reference = logits_of(exact, sequences)
        for parameter in exact.parameters():
            parameter.data = parameter.data.bfloat16().float()
        others = {"float32 on rounded weights": logits_of(exact, sequences)}
        for attention in ("eager", "sdpa"):
            rounded = model_of(folder, torch.bfloat16, attn_implementation=attention)
            others[f"transformers bf16, {attention}"] = logits_of(rounded, sequences)
        with tempfile.TemporaryDirectory() as place:
            others["ours, bf16"] = ours(program, folder, sequences, Path(place))
        pairs = {name: (reference, logits) for name, logits in others.items()}
        pairs["its sdpa, against its eager"] = (others["transformers bf16, eager"],
                                                others["transformers bf16, sdpa"])
        for name, (against, logits) in pairs.items():
            for ids, a, b in zip(prompts, against, logits):
                counts.setdefault(name, Counter()).update(tally(a, b, len(ids)))
    for name, count in counts.items():
        print(f"{name:28} {count['differ']:4} ({count['broken']}) of {count['positions']} positions, "
              f"first of a prompt {count['first']} ({count['first_broken']}) of {count['prompts']}")


if __name__ == "__main__":
    main()
