#!/usr/bin/env python3
"""Compares greedy answers of the shipped models with transformers, token by token.

    python tools/gpu_greedy.py PROGRAM [PROMPTS [TOKENS [DEVICE]]]

Every model answers the first PROMPTS (200) problems of tiny-math with at most TOKENS (128) tokens in
bf16. transformers then reads the same prompts and answers, in bf16 too. Two implementations round
differently, so that nearly equal logits may change places; the first token of an answer that
transformers would not have chosen must be among its five likeliest. Exit code 1 if one is not.
Needs torch and transformers 5; DEVICE is cuda or cpu.
"""

import json
import subprocess
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

ROOT = Path(__file__).resolve().parent.parent
LIKELIEST = 5


def questions(prompts):
    lines = (ROOT / "tasks/tiny-math.jsonl").read_text().splitlines()
    return [json.loads(line)["problem"] for line in lines[:prompts]]


def answers(program, model, asked, tokens, device):
    """The tokens of our answers."""
    lines = "".join(json.dumps({"question": question}) + "\n" for question in asked)
    command = [program, "--model", str(model), "--device", device, "--dtype", "bf16", "--quiet", "ask",
               "--jsonl", "--method", "greedy", "--max-tokens", str(tokens)]
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line)["tokens"] for line in done.stdout.splitlines()]


def first_difference(model, prompt, answer):
    """The place of the first token that transformers would not choose, and its rank there."""
    ids = torch.tensor([prompt + answer], device=model.device)
    with torch.no_grad():
        logits = model(ids, use_cache=False).logits[0, len(prompt) - 1:-1].float().cpu()
    chosen = torch.tensor(answer, dtype=torch.long)
    ranks = (logits > logits.gather(1, chosen[:, None])).sum(1)
    places = ranks.nonzero()
    if len(places) == 0:
        return None
    place = int(places[0])
    return place, int(ranks[place])


def compare(program, folder, prompts, tokens, device):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).to(device).eval()
    asked = questions(prompts)
    equal, ranks, read = 0, [], 0
    for question, answer in zip(asked, answers(program, folder, asked, tokens, device), strict=True):
        turn = [{"role": "user", "content": question}]
        text = tokenizer.apply_chat_template(turn, add_generation_prompt=True, tokenize=False)
        prompt = tokenizer(text, add_special_tokens=False)["input_ids"]
        read += len(answer)
        difference = first_difference(model, prompt, answer)
        if difference is None:
            equal += 1
        else:
            ranks.append(difference[1])
    worst = max(ranks, default=0)
    print(f"{folder.name:12} {len(asked):>8} {read:>8} {equal:>8} {worst + 1:>12}", flush=True)
    return worst < LIKELIEST


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    prompts = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    tokens = int(sys.argv[3]) if len(sys.argv) > 3 else 128
    device = sys.argv[4] if len(sys.argv) > 4 else "cuda"
    print(f"{'model':12} {'prompts':>8} {'tokens':>8} {'the same':>8} {'worst rank':>12}")
    good = [compare(sys.argv[1], folder, prompts, tokens, device)
            for folder in (ROOT / "models" / "tiny-dense", ROOT / "models" / "tiny-hybrid")]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
