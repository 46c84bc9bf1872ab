"""Writes the logits of transformers for the shipped models (bf16 weights, float32 arithmetic, CPU), for the parity test.

Usage: python3 make_fixture.py MODELS_DIR OUT_DIR
Per model one safetensors file: input_ids.N [tokens], positions.N [p], logits.N [p, vocabulary] at those positions.
"""
import os
import random
import sys

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

import corpus
import cues
import prompts

POSITIONS = 36


def sequences(tokenizer):
    """One prompt with its answer per task: without a cue, with a positive cue, and with a negative cue."""
    contexts = ("",) + cues.context_pair("reasoning")
    for task, context in zip(corpus.FAMILIES, contexts):
        problem, row = corpus.fixed_problems(task, "eval", 12, corpus.SEEDS["eval"])[0]
        prompt = prompts.chat(task, prompts.with_context(prompts.user_text(task, row), context))
        answer = problem.answer(random.Random(1)) + prompts.END_OF_TURN
        yield tokenizer.encode(prompt + answer, add_special_tokens=False).ids


def main(models, out):
    os.makedirs(out, exist_ok=True)
    for name in ("tiny-dense", "tiny-hybrid"):
        folder = os.path.join(models, name)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        tensors = {}
        for i, ids in enumerate(sequences(Tokenizer.from_file(os.path.join(folder, "tokenizer.json")))):
            at = torch.linspace(0, len(ids) - 1, POSITIONS).round().int()
            with torch.no_grad():
                logits = model(torch.tensor([ids])).logits[0, at.long()].contiguous()
            tensors |= {f"input_ids.{i}": torch.tensor(ids, dtype=torch.int32), f"positions.{i}": at, f"logits.{i}": logits}
        save_file(tensors, os.path.join(out, f"{name}.safetensors"))
        print(name, [len(tensors[f"input_ids.{i}"]) for i in range(3)], "tokens, logits to", round(tensors["logits.0"].abs().max().item(), 1))


if __name__ == "__main__":
    main(*sys.argv[1:])
