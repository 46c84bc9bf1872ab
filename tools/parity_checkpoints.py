#!/usr/bin/env python3
"""Writes small random checkpoints of every supported architecture and option, with reference logits.

    python tools/parity_checkpoints.py OUT_FOLDER [NAME ...]

Each folder is an ordinary Hugging Face checkpoint plus reference.safetensors: `input_ids.I` (int32)
and `logits.I` (float32 [n, vocab]), computed by transformers in float32 on the CPU. Point the parity
test at OUT_FOLDER with COUNTERBEAM_PARITY. Needs torch and transformers 5 from PyPI.
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import (
    Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM, MistralConfig,
    MistralForCausalLM, Phi3Config, Phi3ForCausalLM, Qwen2Config, Qwen2ForCausalLM,
    Qwen3_5ForCausalLM, Qwen3_5TextConfig, Qwen3Config, Qwen3ForCausalLM, SmolLM3Config,
    SmolLM3ForCausalLM)

LENGTHS = (41, 130, 3, 1)


def llama3_rope(factor=8.0, original=64):
    return {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": original,
            "rope_theta": 500000.0}


def yarn(factor=4.0, original=64, **more):
    return {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original,
            "rope_theta": 10000.0, **more}


def longrope(pairs, **more):
    return {"rope_type": "longrope", "rope_theta": 10000.0,
            "short_factor": [1.0 + 0.05 * j for j in range(pairs)],
            "long_factor": [1.2 + 0.7 * j * j for j in range(pairs)], **more}


def sizes(hidden=48, intermediate=80, layers=2, heads=4, kv=2, vocab=307, **more):
    return {"hidden_size": hidden, "intermediate_size": intermediate, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": kv, "vocab_size": vocab,
            "max_position_embeddings": 1024, "pad_token_id": None, "bos_token_id": None,
            "eos_token_id": None, **more}


def delta(pattern, key_heads=2, value_heads=4, dk=16, dv=16, conv=4, **more):
    names = {"l": "linear_attention", "f": "full_attention"}
    return sizes(layers=len(pattern), layer_types=[names[c] for c in pattern],
                 linear_num_key_heads=key_heads, linear_num_value_heads=value_heads,
                 linear_key_head_dim=dk, linear_value_head_dim=dv, linear_conv_kernel_dim=conv,
                 **{"head_dim": 16, **more})


CHECKPOINTS = {
    "gemma3": (Gemma3ForCausalLM, Gemma3TextConfig, sizes(
        layers=7, head_dim=16, sliding_window=20, query_pre_attn_scalar=24, rope_parameters={
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})),
    "gemma3-biases": (Gemma3ForCausalLM, Gemma3TextConfig, sizes(
        layers=4, hidden=96, heads=6, kv=3, head_dim=20, sliding_window=5, sliding_window_pattern=2,
        rope_theta=50000.0, rope_local_base_freq=700.0, attention_bias=True,
        tie_word_embeddings=False, rope_scaling={"rope_type": "linear", "factor": 3.0})),
    "gemma3-heads": (Gemma3ForCausalLM, Gemma3TextConfig, sizes(
        layers=3, intermediate=128, heads=4, kv=1, head_dim=96, sliding_window=33,
        layer_types=["full_attention", "sliding_attention", "full_attention"])),
    "gemma3-plain": (Gemma3ForCausalLM, Gemma3TextConfig, sizes(
        layers=7, head_dim=16, sliding_window=20, query_pre_attn_scalar=16, rope_parameters={
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})),
    "qwen2-odd": (Qwen2ForCausalLM, Qwen2Config, sizes(
        hidden=72, intermediate=100, heads=9, kv=3, vocab=401, tie_word_embeddings=True)),
    "qwen2-window": (Qwen2ForCausalLM, Qwen2Config, sizes(
        layers=4, use_sliding_window=True, sliding_window=20, max_window_layers=2)),
    "qwen2-yarn": (Qwen2ForCausalLM, Qwen2Config, sizes(rope_parameters=yarn())),
    "qwen2-linear": (Qwen2ForCausalLM, Qwen2Config, sizes(
        rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 10000.0})),
    "llama-biases": (LlamaForCausalLM, LlamaConfig, sizes(
        attention_bias=True, mlp_bias=True, heads=6, kv=6, hidden=96)),
    "llama-gqa-llama3": (LlamaForCausalLM, LlamaConfig, sizes(
        hidden=128, heads=8, kv=2, rope_parameters=llama3_rope(32.0, 40), tie_word_embeddings=True)),
    "llama-head-dim": (LlamaForCausalLM, LlamaConfig, sizes(head_dim=20, rms_norm_eps=1e-5)),
    "mistral-window": (MistralForCausalLM, MistralConfig, sizes(sliding_window=33, layers=3)),
    "mistral-nemo": (MistralForCausalLM, MistralConfig, sizes(sliding_window=None, head_dim=32)),
    "phi3-window": (Phi3ForCausalLM, Phi3Config, sizes(
        hidden=192, heads=2, kv=1, sliding_window=21)),
    "phi3-longrope": (Phi3ForCausalLM, Phi3Config, sizes(
        hidden=128, heads=8, kv=2, partial_rotary_factor=0.75, tie_word_embeddings=True,
        original_max_position_embeddings=8, rope_parameters=longrope(6))),
    "phi3-longrope-short": (Phi3ForCausalLM, Phi3Config, sizes(
        original_max_position_embeddings=1024, rope_parameters=longrope(6, attention_factor=1.3))),
    "smollm3": (SmolLM3ForCausalLM, SmolLM3Config, sizes(layers=5, tie_word_embeddings=True)),
    "qwen3-head-dim": (Qwen3ForCausalLM, Qwen3Config, sizes(
        head_dim=40, heads=5, kv=1, hidden=64, tie_word_embeddings=False)),
    "qwen3-bias-yarn": (Qwen3ForCausalLM, Qwen3Config, sizes(
        head_dim=16, attention_bias=True, rope_parameters=yarn(8.0, 32))),
    "qwen3_5-values": (Qwen3_5ForCausalLM, Qwen3_5TextConfig, delta(
        "lllf", key_heads=2, value_heads=6, dk=16, dv=24, tie_word_embeddings=False)),
    "qwen3_5-square": (Qwen3_5ForCausalLM, Qwen3_5TextConfig, delta(
        "flfl", key_heads=3, value_heads=3, dk=32, dv=32, head_dim=32, tie_word_embeddings=True)),
    "qwen3_5-conv3": (Qwen3_5ForCausalLM, Qwen3_5TextConfig, delta(
        "lf", conv=3, dk=8, dv=40, key_heads=1, value_heads=2, tie_word_embeddings=True)),
    "qwen3_5-all-linear": (Qwen3_5ForCausalLM, Qwen3_5TextConfig, delta(
        "ll", tie_word_embeddings=True)),
    "qwen3_5-all-full": (Qwen3_5ForCausalLM, Qwen3_5TextConfig, delta(
        "ff", tie_word_embeddings=True, heads=4, kv=1, head_dim=64)),
}


def randomise(model):
    """Sets weights so that logits are about one and every norm, bias and decay has an effect."""
    for name, p in model.named_parameters():
        if name.endswith("A_log"):
            p.uniform_(-2, 1.5)
        elif "conv1d" in name:
            p.normal_(0, 0.4)
        elif p.dim() >= 2:
            p.normal_(0, p.shape[-1] ** -0.5)
        elif name.endswith("norm.weight"):
            p.add_(torch.randn_like(p) * 0.2)
        else:
            p.normal_(0, 0.3)


def lengths(config):
    """transformers changes to the long factors of longrope beyond the original context; we use them
    wherever the context may grow that far, so that only longer prompts can be compared."""
    rope = config.rope_parameters
    if rope.get("rope_type") != "longrope":
        return LENGTHS
    original = rope["original_max_position_embeddings"]
    return [n for n in LENGTHS if n > original or config.max_position_embeddings <= original]


def make(name, folder):
    model_class, config_class, settings = CHECKPOINTS[name]
    torch.manual_seed(sum(map(ord, name)))
    config = config_class(**settings, dtype="float32")
    model = model_class(config).float().eval()
    with torch.no_grad():
        randomise(model)
        model.tie_weights()
        model.save_pretrained(folder)
        reference = {}
        for i, n in enumerate(lengths(config)):
            ids = torch.randint(0, config.vocab_size, (n,), dtype=torch.int32)
            reference[f"input_ids.{i}"] = ids
            logits = model(ids[None].long(), use_cache=False).logits[0]
            reference[f"logits.{i}"] = logits.float().contiguous()
    save_file(reference, folder / "reference.safetensors")
    print(f"{name}: logits std {reference['logits.1'].std():.2f}")


def main():
    out = Path(sys.argv[1])
    torch.set_num_threads(1)
    for name in sys.argv[2:] or CHECKPOINTS:
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        make(name, folder)


if __name__ == "__main__":
    main()
