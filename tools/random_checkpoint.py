#!/usr/bin/env python3
"""Writes a checkpoint of Qwen2.5's shape with random bf16 weights, for timing.

    tools/random_checkpoint.py FOLDER [--shape qwen2.5-7b] [--layers N] [--tokenizer tokenizer.json]
    counterbeam --model FOLDER bench

qwen2.5-7b has 15.2 GB in four shards, like the published one (28 layers), qwen2.5-0.5b 1 GB in one. The
data is one repeated random block. With a tokenizer the folder can be served. Needs only Python.
"""
import argparse
import json
import multiprocessing
import os
import shutil
import struct
import sys

SHAPES = {"qwen2.5-7b": {"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
                         "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
                         "tie_word_embeddings": False},
          "qwen2.5-0.5b": {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
                           "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936,
                           "tie_word_embeddings": True}}
SHARD_BYTES = 3900 << 20
BLOCK_BYTES = 64 << 20


def tensors(shape):
    hidden, inner, heads = (shape[name] for name in ("hidden_size", "intermediate_size", "num_attention_heads"))
    head = hidden // heads
    narrow = shape["num_key_value_heads"] * head
    yield "model.embed_tokens.weight", [shape["vocab_size"], hidden]
    for i in range(shape["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        yield layer + "input_layernorm.weight", [hidden]
        yield layer + "mlp.down_proj.weight", [hidden, inner]
        yield layer + "mlp.gate_proj.weight", [inner, hidden]
        yield layer + "mlp.up_proj.weight", [inner, hidden]
        yield layer + "post_attention_layernorm.weight", [hidden]
        for name, width in (("q", hidden), ("k", narrow), ("v", narrow)):
            yield layer + f"self_attn.{name}_proj.bias", [width]
            yield layer + f"self_attn.{name}_proj.weight", [width, hidden]
        yield layer + "self_attn.o_proj.weight", [hidden, hidden]
    yield "model.norm.weight", [hidden]
    if not shape["tie_word_embeddings"]:
        yield "lm_head.weight", [shape["vocab_size"], hidden]


def size(shape):
    count = 2
    for extent in shape:
        count *= extent
    return count


def random_block():
    """bf16 numbers between 2^-7 and 2^-5, of both signs."""
    repeat = BLOCK_BYTES // 2
    bits = int.from_bytes(os.urandom(BLOCK_BYTES), "little")
    bits &= int.from_bytes(b"\xff\x80" * repeat, "little")
    bits |= int.from_bytes(b"\x00\x3c" * repeat, "little")
    return bits.to_bytes(BLOCK_BYTES, "little")


def write_shard(path, shard):
    header, at = {}, 0
    for name, shape in shard:
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size(shape)]}
        at += size(shape)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    block = random_block()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in shard:
            if "norm" in name:
                file.write(b"\x80\x3f" * (size(shape) // 2))
                continue
            for left in range(size(shape), 0, -BLOCK_BYTES):
                file.write(block[: min(left, BLOCK_BYTES)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--shape", choices=SHAPES, default="qwen2.5-7b")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--tokenizer", help="a tokenizer.json to put beside the weights")
    options = parser.parse_args()
    folder, model = options.folder, dict(SHAPES[options.shape])
    if options.layers:
        model["num_hidden_layers"] = options.layers
    os.makedirs(folder, exist_ok=True)
    shards, filled = [[]], 0
    for name, shape in tensors(model):
        if filled + size(shape) > SHARD_BYTES:
            shards.append([])
            filled = 0
        shards[-1].append((name, shape))
        filled += size(shape)
    names = [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))]
    writers = [
        multiprocessing.Process(target=write_shard, args=(os.path.join(folder, name), shard))
        for name, shard in zip(names, shards)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        if writer.exitcode != 0:
            sys.exit(f"{folder}: a shard could not be written")
    places = {tensor: name for name, shard in zip(names, shards) for tensor, _ in shard}
    total = sum(size(shape) for shard in shards for _, shape in shard)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {"total_size": total}, "weight_map": places}, file)
    config = {
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "torch_dtype": "bfloat16",
        "max_position_embeddings": 32768, "rope_theta": 1000000.0, "rms_norm_eps": 1e-06,
        "hidden_act": "silu", "eos_token_id": 151643, **model,
    }
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1)
    if options.tokenizer:
        shutil.copy(options.tokenizer, os.path.join(folder, "tokenizer.json"))
    print(f"{folder}: {total / 1e9:.2f} GB in {len(shards)} shards")


if __name__ == "__main__":
    main()
