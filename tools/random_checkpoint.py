#!/usr/bin/env python3
"""Writes a checkpoint of Qwen2.5-7B's shape with random bf16 weights, for timing the loading of a model.

    tools/random_checkpoint.py FOLDER [LAYERS]
    counterbeam --model FOLDER bench

15.2 GB in four shards, like the published one (28 layers). The data is one repeated random block.
Needs only Python.
"""
import json
import multiprocessing
import os
import struct
import sys

HIDDEN, INNER, LAYERS, HEADS, KV_HEADS, VOCAB = 3584, 18944, 28, 28, 4, 152064
SHARD_BYTES = 3900 << 20
BLOCK_BYTES = 64 << 20


def tensors(layers):
    head = HIDDEN // HEADS
    yield "model.embed_tokens.weight", [VOCAB, HIDDEN]
    for i in range(layers):
        layer = f"model.layers.{i}."
        yield layer + "input_layernorm.weight", [HIDDEN]
        yield layer + "mlp.down_proj.weight", [HIDDEN, INNER]
        yield layer + "mlp.gate_proj.weight", [INNER, HIDDEN]
        yield layer + "mlp.up_proj.weight", [INNER, HIDDEN]
        yield layer + "post_attention_layernorm.weight", [HIDDEN]
        for name, width in (("q", HEADS * head), ("k", KV_HEADS * head), ("v", KV_HEADS * head)):
            yield layer + f"self_attn.{name}_proj.bias", [width]
            yield layer + f"self_attn.{name}_proj.weight", [width, HIDDEN]
        yield layer + "self_attn.o_proj.weight", [HIDDEN, HEADS * head]
    yield "model.norm.weight", [HIDDEN]
    yield "lm_head.weight", [VOCAB, HIDDEN]


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
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = sys.argv[1]
    layers = int(sys.argv[2]) if len(sys.argv) > 2 else LAYERS
    os.makedirs(folder, exist_ok=True)
    shards, filled = [[]], 0
    for name, shape in tensors(layers):
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
        "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": layers,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "vocab_size": VOCAB,
        "max_position_embeddings": 32768, "rope_theta": 1000000.0, "rms_norm_eps": 1e-06,
        "hidden_act": "silu", "tie_word_embeddings": False, "eos_token_id": 151643,
    }
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1)
    print(f"{folder}: {total / 1e9:.2f} GB in {len(shards)} shards")


if __name__ == "__main__":
    main()
