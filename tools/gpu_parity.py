#!/usr/bin/env python3
"""Compares teacher-forced log-probabilities on the GPU with transformers, for mid-size random models.

    python tools/gpu_parity.py PROGRAM [TOKENS]

For each architecture a random model (some 100 M parameters, bf16) is written, loaded by both, and
given the same random tokens. The table shows the distance of the log-probabilities of those tokens
from transformers in float32: ours (bf16), and transformers' own bf16 on the same GPU. Exit code 1 if
our mean distance is more than twice that of transformers' bf16. Needs torch with CUDA and
transformers 5.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import torch
from transformers.utils import logging

sys.path.insert(0, str(Path(__file__).parent))
from parity_checkpoints import (  # noqa: E402
    Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM, MistralConfig,
    MistralForCausalLM, Phi3Config, Phi3ForCausalLM, Qwen2Config, Qwen2ForCausalLM,
    Qwen3_5ForCausalLM, Qwen3_5TextConfig, Qwen3Config, Qwen3ForCausalLM, delta, llama3_rope,
    longrope, randomise, sizes)

MID = {"hidden": 1024, "intermediate": 2816, "vocab": 32000}
DENSE = {**MID, "layers": 8, "heads": 16, "kv": 4}
HYBRID = {"hidden_size": 1024, "intermediate_size": 2816, "vocab_size": 32000,
          "num_attention_heads": 8, "num_key_value_heads": 2}
MODELS = {
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, sizes(**DENSE)),
    "llama": (LlamaForCausalLM, LlamaConfig, sizes(**DENSE, rope_parameters=llama3_rope())),
    "mistral": (MistralForCausalLM, MistralConfig, sizes(**DENSE, sliding_window=200)),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config, sizes(**DENSE, head_dim=128)),
    # Heads of 96 columns, as in Phi-3-mini; every prompt is beyond the original context.
    "phi3": (Phi3ForCausalLM, Phi3Config, sizes(
        **{**DENSE, "hidden": 1536}, sliding_window=200, original_max_position_embeddings=8,
        rope_parameters=longrope(48))),
    "gemma3": (Gemma3ForCausalLM, Gemma3TextConfig, sizes(
        **DENSE, head_dim=256, sliding_window=200)),
    "qwen3_5": (Qwen3_5ForCausalLM, Qwen3_5TextConfig, {
        **delta("lllflllf", key_heads=16, value_heads=16, dk=128, dv=128, head_dim=256,
                tie_word_embeddings=True), **HYBRID}),
}


def token_logprobs(logits, ids):
    return torch.log_softmax(logits[:-1].double(), -1).gather(1, ids[1:, None].long())[:, 0]


def theirs(model_class, folder, dtype, ids):
    """Loads from the folder, because casting a model would also round its RoPE frequencies."""
    model = model_class.from_pretrained(folder, dtype=dtype).cuda().eval()
    with torch.no_grad():
        return token_logprobs(model(ids[None].cuda(), use_cache=False).logits[0].cpu(), ids)


def ours(program, folder, ids):
    (folder / "ids.json").write_text(json.dumps(ids.tolist()))
    out = folder / "logits.npy"
    subprocess.run([program, "--model", str(folder), "--device", "cuda", "--quiet", "logits",
                    "--ids", str(folder / "ids.json"), "--out", str(out)], check=True)
    return token_logprobs(torch.from_numpy(numpy.load(out)), ids)


def row(name, program, tokens):
    model_class, config_class, settings = MODELS[name]
    torch.manual_seed(sum(map(ord, name)))
    config = config_class(**settings, dtype="bfloat16")
    with tempfile.TemporaryDirectory() as temporary, torch.no_grad():
        folder = Path(temporary)
        model = model_class(config).float().eval()
        randomise(model)
        model.tie_weights()
        model.bfloat16().save_pretrained(folder)
        ids = torch.randint(0, config.vocab_size, (tokens,))
        bf16 = theirs(model_class, folder, torch.bfloat16, ids)
        exact = theirs(model_class, folder, torch.float32, ids)
        mine = ours(program, folder, ids)
    return (mine - exact).abs(), (bf16 - exact).abs()


def main():
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    program = sys.argv[1]
    tokens = int(sys.argv[2]) if len(sys.argv) > 2 else 700
    print("distance of log-probabilities from transformers in float32")
    print(f"{'':10} {'ours: mean':>11} {'largest':>9} {'transformers bf16: mean':>24} {'largest':>9}")
    worse = False
    for name in MODELS:
        mine, other = row(name, program, tokens)
        worse |= not mine.mean() <= 2 * other.mean()
        print(f"{name:10} {mine.mean():11.5f} {mine.max():9.4f} {other.mean():24.5f} "
              f"{other.max():9.4f}", flush=True)
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
