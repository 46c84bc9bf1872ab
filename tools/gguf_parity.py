#!/usr/bin/env python3
"""Compares what Counterbeam reads from GGUF files with gguf-py, Hugging Face and sentencepiece.

Needs the PyPI packages gguf, numpy and safetensors; `tokenizers` for the byte-level tokenizers,
sentencepiece for the others. The tests of the repository need none of them.

  tools/gguf_parity.py golden tests/tensor/golden/blocks.jsonl        blocks of every type, decoded by gguf-py
  tools/gguf_parity.py pieces tests/text/golden/sentencepiece.json    a small sentencepiece model and its ids
  tools/gguf_parity.py tokens --binary B --texts 2000                 ids of random texts, GGUF beside the originals
  tools/gguf_parity.py logits --binary B FOLDER...                    FOLDER/*.gguf beside FOLDER/reference.safetensors
  tools/gguf_parity.py types --binary B --quantize PROGRAM            logits of every type beside gguf-py's numbers in F32
                                                                      (PROGRAM is llama.cpp's llama-quantize)
  tools/gguf_parity.py convert --llama DIR FOLDER...                  FOLDER to FOLDER/{f32,f16,bf16,q8_0}.gguf by
                                                                      llama.cpp's converter (DIR is its checkout)
"""
import argparse
import base64
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np

TYPES = ("Q2_K", "Q3_K", "Q4_0", "Q4_1", "Q4_K", "Q5_0", "Q5_1", "Q5_K", "Q6_K", "Q8_0", "IQ4_NL", "IQ4_XS")
# Where a block has its float16 scales.
HALVES = {"Q2_K": (80, 82), "Q3_K": (108,), "Q4_0": (0,), "Q4_1": (0, 2), "Q4_K": (0, 2), "Q5_0": (0,),
          "Q5_1": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,), "Q8_0": (0,), "IQ4_NL": (0,), "IQ4_XS": (0,)}
TEXT = """The quick brown fox jumps over the lazy dog. It's 12345 o'clock, we'll see; THEY'RE here!
def main(argv):\n    for i in range(100):\n\t\tprint(f"{i:>3} {argv[i]}")\n\nNaïve café, über Straße.
Привет, мир! Это проверка. 你好，世界。今天天气很好。こんにちは世界 안녕하세요 세계 aaaa bbbb abab aabb   spaces   here
""".split("\n")


def random_blocks(name, rng, count=256):
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (max(1, count // elements), size), dtype=np.uint8)
    for place in HALVES[name]:
        scales = (rng.standard_normal(len(blocks)) * 0.1).astype(np.float16)
        blocks[:, place:place + 2] = scales.view(np.uint8).reshape(-1, 2)
    return kind, blocks.reshape(1, -1)


def write_golden(path):
    rng = np.random.default_rng(7)
    with open(path, "w", encoding="utf-8") as out:
        for name in TYPES:
            kind, row = random_blocks(name, rng)
            values = gguf.dequantize(row, kind).astype("<f4")
            out.write(json.dumps({"type": name, "blocks": base64.b64encode(row.tobytes()).decode(),
                                  "values": base64.b64encode(values.tobytes()).decode()}) + "\n")


def random_text(rng):
    parts = []
    for _ in range(rng.randint(0, 14)):
        kind = rng.random()
        if kind < 0.45:
            parts.append(rng.choice(rng.choice(TEXT).split(" ") or [""]))
        elif kind < 0.6:
            parts.append(rng.choice([" ", "  ", "\n", "\t", "   ", "\u00a0", "\r\n", "\n\n"]))
        elif kind < 0.7:
            parts.append(rng.choice(["<s>", "</s>", "<|im_end|>", "▁", "<0x41>", "'s", "'LL", "1234567"]))
        elif kind < 0.8:
            parts.append(rng.choice("ab1 .") * rng.randint(1, 40))
        else:
            low, high = rng.choice([(0x20, 0x7E), (0xA0, 0x24F), (0x400, 0x4FF), (0x4E00, 0x4FFF), (0x1F600, 0x1F64F)])
            parts.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 6))))
        if rng.random() < 0.5:
            parts.append(" ")
    return "".join(parts)


def trained_pieces(folder, size=480):
    """A sentencepiece BPE model with byte fallback, trained on a few lines."""
    import sentencepiece
    corpus = Path(folder) / "corpus.txt"
    corpus.write_text("\n".join(TEXT * 20), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(Path(folder) / "m"), vocab_size=size, model_type="bpe",
        byte_fallback=True, character_coverage=0.99, normalization_rule_name="identity",
        remove_extra_whitespaces=False, add_dummy_prefix=True, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_file=str(Path(folder) / "m.model"))


def kind_of(pieces, token):
    if pieces.IsUnknown(token):
        return 2
    if pieces.IsControl(token):
        return 3
    if pieces.IsUnused(token):
        return 5
    return 6 if pieces.IsByte(token) else 1


def plain_text(rng, pieces):
    """No text of a control token: sentencepiece does not recognise them, and neither does untrusted text."""
    while True:
        text = random_text(rng)
        if text and "▁" not in text:
            return text


def write_pieces(path):
    rng = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        pieces = trained_pieces(folder)
        count = pieces.GetPieceSize()
        row = {"tokens": [pieces.IdToPiece(i) for i in range(count)],
               "scores": [pieces.GetScore(i) for i in range(count)],
               "kinds": [kind_of(pieces, i) for i in range(count)], "cases": []}
        for _ in range(60):
            text = plain_text(rng, pieces)
            row["cases"].append({"text": text, "ids": pieces.EncodeAsIds(text)})
    Path(path).write_text(json.dumps(row) + "\n", encoding="utf-8")


def ours(binary, model, texts, *flags):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    done = subprocess.run([binary, "tokenize", "--model", str(model), "--jsonl", *flags], input=lines.encode(),
                          capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{model}: {done.stderr.decode()}")
    return [json.loads(line)["ids"] for line in done.stdout.decode().strip("\n").split("\n")]


def writer_of(path, arch="llama"):
    writer = gguf.GGUFWriter(str(path), arch)
    writer.add_tensor("token_embd.weight", np.zeros((1, 32), dtype=np.float32))
    return writer


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def report(name, wrong, total):
    print(f"{name}: {wrong} of {total} differ")
    return wrong


def compare_pieces(binary, texts, rng):
    with tempfile.TemporaryDirectory() as folder:
        pieces = trained_pieces(folder, 640)
        path = Path(folder) / "m.gguf"
        writer = writer_of(path)
        count = pieces.GetPieceSize()
        writer.add_tokenizer_model("llama")
        writer.add_token_list([pieces.IdToPiece(i).encode() for i in range(count)])
        writer.add_token_scores([pieces.GetScore(i) for i in range(count)])
        writer.add_token_types([kind_of(pieces, i) for i in range(count)])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        finish(writer)
        given = [plain_text(rng, pieces) for _ in range(texts)]
        found = ours(binary, path, given, "--no-special")
        bad = [(t, a) for t, a in zip(given, found) if pieces.EncodeAsIds(t) != a]
        for text, ids in bad[:2]:
            print(f"sentencepiece: {text!r}\n  theirs {pieces.EncodeAsIds(text)}\n  ours   {ids}")
        return report("sentencepiece", len(bad), texts)


def compare_byte_level(binary, texts, rng):
    sys.path.insert(0, str(Path(__file__).parent))
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    source = (Path(__file__).parent / "tokenizer_parity.py").read_text(encoding="utf-8")
    scope = {"__name__": "patterns"}
    exec(source[:source.index("\ndef random_text")], scope)  # its patterns and the texts it trains on
    split = lambda *p: [pre_tokenizers.Split(Regex(x), "isolated") for x in p]
    digits = pre_tokenizers.Digits(individual_digits=True)
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    kinds = {"qwen2": (split(scope["QWEN2"]) + [plain], True, False),
             "qwen35": (split(scope["QWEN35"]) + [plain], True, False),
             "llama-bpe": (split(scope["LLAMA3"]) + [plain], False, True),
             "dbrx": (split(scope["LLAMA3"]) + [plain], False, False),
             "tekken": (split(scope["TEKKEN"]) + [plain], False, True),
             "gpt-4o": (split(scope["GPT4O"]) + [plain], False, False),
             "gpt-2": ([gpt2], False, False), "smollm": ([digits, gpt2], False, False),
             "command-r": ([digits, gpt2], True, False),
             "deepseek-v3": (split(*scope["DEEPSEEK_V3_STEPS"]) + [plain], False, False),
             "deepseek-coder": (split("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+") + [digits, plain],
                                False, False)}
    wrong = 0
    for name, (steps, nfc, ignore) in kinds.items():
        theirs = Tokenizer(models.BPE(ignore_merges=ignore))
        theirs.pre_tokenizer = pre_tokenizers.Sequence(steps)
        theirs.decoder = decoders.ByteLevel()
        if nfc:
            theirs.normalizer = normalizers.NFC()
        theirs.train_from_iterator(scope["CORPUS"] * 3, trainers.BpeTrainer(
            vocab_size=600, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        theirs.add_special_tokens(["<|im_end|>", "<s>"])
        theirs.add_tokens(["added word"])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.gguf"
            model = json.loads(theirs.to_str())
            vocab = sorted(model["model"]["vocab"].items(), key=lambda item: item[1])
            tokens = [t for t, _ in vocab] + [a["content"] for a in model["added_tokens"]]
            kinds_of = [1] * len(vocab) + [3 if a["special"] else 4 for a in model["added_tokens"]]
            writer = writer_of(path)
            writer.add_tokenizer_model("gpt2")
            writer.add_tokenizer_pre(name)
            writer.add_token_list([t.encode() for t in tokens])
            writer.add_token_types(kinds_of)
            writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in model["model"]["merges"]])
            finish(writer)
            given = [random_text(rng) for _ in range(texts)]
            found = ours(binary, path, given)
            bad = [(t, a) for t, a in zip(given, found) if theirs.encode(t, add_special_tokens=False).ids != a]
            for text, ids in bad[:2]:
                print(f"{name}: {text!r}\n  theirs {theirs.encode(text, add_special_tokens=False).ids}\n  ours   {ids}")
            wrong += report(name, len(bad), texts)
    return wrong


def compare_tokens(options):
    rng = random.Random(options.seed)
    wrong = compare_pieces(options.binary, options.texts, rng)
    wrong += compare_byte_level(options.binary, options.texts, rng)
    sys.exit(1 if wrong else 0)


def write_random_llama(path, hidden, inner, heads, kv, vocab=320, layers=2):
    rng = np.random.default_rng(3)
    writer = gguf.GGUFWriter(str(path), "llama")
    width = hidden // heads
    for add, value in [(writer.add_block_count, layers), (writer.add_context_length, 256), (writer.add_embedding_length, hidden),
                       (writer.add_feed_forward_length, inner), (writer.add_head_count, heads), (writer.add_head_count_kv, kv),
                       (writer.add_layer_norm_rms_eps, 1e-6), (writer.add_vocab_size, vocab), (writer.add_rope_dimension_count, width)]:
        add(value)
    writer.add_tokenizer_model("none")
    shapes = {"token_embd": (vocab, hidden), "output": (vocab, hidden), "output_norm": (hidden,)}
    for i in range(layers):
        shapes |= {f"blk.{i}.{name}": shape for name, shape in {
            "attn_norm": (hidden,), "attn_q": (hidden, hidden), "attn_k": (kv * width, hidden), "attn_v": (kv * width, hidden),
            "attn_output": (hidden, hidden), "ffn_norm": (hidden,), "ffn_gate": (inner, hidden), "ffn_up": (inner, hidden),
            "ffn_down": (hidden, inner)}.items()}
    for name, shape in shapes.items():
        values = rng.standard_normal(shape)
        values = values * shape[-1] ** -0.5 if len(shape) == 2 else 1 + 0.1 * values
        writer.add_tensor(name + ".weight", values.astype(np.float32))
    finish(writer)


def write_decoded(source, path):
    """The same model with the numbers of gguf-py's decoding in F32."""
    reader = gguf.GGUFReader(str(source))
    writer = gguf.GGUFWriter(str(path), "llama")
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            writer.add_key_value(name, field.contents(), field.types[0], field.types[-1] if len(field.types) > 1 else None)
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, np.ascontiguousarray(values.reshape(tensor.shape.tolist()[::-1])))
    finish(writer)


def logits_of(binary, model, ids, flags):
    with tempfile.TemporaryDirectory() as out:
        Path(out, "ids.json").write_text(json.dumps(ids))
        subprocess.run([binary, "--model", str(model), *flags.split(), "logits", "--ids", f"{out}/ids.json", "--out",
                        f"{out}/x.npy", "--quiet"], check=True)
        return np.load(f"{out}/x.npy").astype(np.float64)


def compare_types(options):
    wrong = 0
    ids = np.random.default_rng(1).integers(0, 320, 40).tolist()
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes in [("even", (256, 512, 4, 2)), ("odd", (192, 352, 6, 3))]:
            base = Path(folder) / f"{name}.gguf"
            write_random_llama(base, *sizes)
            for kind in "Q2_K Q3_K_M Q4_0 Q4_1 Q4_K_M Q5_0 Q5_1 Q5_K_M Q6_K Q8_0 IQ4_NL IQ4_XS".split():
                quantised, plain = Path(folder) / f"{kind}.gguf", Path(folder) / f"{kind}-f32.gguf"
                subprocess.run([options.quantize, str(base), str(quantised), kind], check=True, capture_output=True)
                write_decoded(quantised, plain)
                wanted = logits_of(options.binary, plain, ids, "--dtype f32")
                for flags, limit in [("--dtype f32", 1e-9), ("--dtype bf16", 1e-3)]:
                    error = ((logits_of(options.binary, quantised, ids, flags) - wanted) ** 2).sum() / (wanted ** 2).sum()
                    wrong += error > limit
                    print(f"{name} {kind} {flags}: normalised squared error {error:.1e}", flush=True)
    sys.exit(1 if wrong else 0)


def compare_logits(options):
    from safetensors.numpy import load_file
    for folder in map(Path, options.folders):
        reference = load_file(folder / "reference.safetensors")
        for model in sorted(folder.glob("*.gguf")):
            error = power = 0.0
            largest = 0.0
            for i in range(len(reference) // 2):
                found = logits_of(options.binary, model, reference[f"input_ids.{i}"].tolist(), options.flags)
                wanted = reference[f"logits.{i}"].astype(np.float64)
                error += ((found - wanted) ** 2).sum()
                power += (wanted ** 2).sum()
                largest = max(largest, np.abs(found - wanted).max())
            print(f"{folder.name}/{model.name}: normalised squared error {error / power:.1e}, largest {largest:.3f}")


def convert(options):
    """Without a tokenizer: those of random checkpoints are none that the converter knows."""
    sys.path.insert(0, options.llama)
    import torch
    from conversion import ModelBase, ModelType, get_model_architecture, get_model_class
    kinds = {"f32": gguf.LlamaFileType.ALL_F32, "f16": gguf.LlamaFileType.MOSTLY_F16,
             "bf16": gguf.LlamaFileType.MOSTLY_BF16, "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0}
    for folder in map(Path, options.folders):
        settings = ModelBase.load_hparams(folder, False)
        vocab = {"model": {"vocab": {str(i): i for i in range(settings["vocab_size"])}}, "added_tokens": []}
        (folder / "tokenizer.json").write_text(json.dumps(vocab))  # Gemma 3's converter counts the tokens
        made = get_model_class(get_model_architecture(settings, ModelType.TEXT))
        made.set_vocab = lambda self: self._set_vocab_none()
        if hasattr(made, "no_mtp"):
            made.no_mtp = True
        for kind in options.types.split(","):
            with torch.inference_mode():
                made(folder, kinds[kind], folder / f"{kind}.gguf").write()
        (folder / "tokenizer.json").unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function in [("golden", lambda o: write_golden(o.out)), ("pieces", lambda o: write_pieces(o.out))]:
        command = commands.add_parser(name)
        command.add_argument("out")
        command.set_defaults(run=function)
    tokens = commands.add_parser("tokens")
    tokens.add_argument("--texts", type=int, default=500)
    tokens.add_argument("--seed", type=int, default=1)
    tokens.set_defaults(run=compare_tokens)
    logits = commands.add_parser("logits")
    logits.add_argument("--flags", default="--dtype f32")
    logits.set_defaults(run=compare_logits)
    converting = commands.add_parser("convert")
    converting.add_argument("--llama", required=True)
    converting.add_argument("--types", default="f32,f16,bf16,q8_0")
    converting.set_defaults(run=convert)
    types = commands.add_parser("types")
    types.add_argument("--quantize", required=True)
    types.set_defaults(run=compare_types)
    for command in (tokens, logits, types):
        command.add_argument("--binary", default="build/release/counterbeam")
    for command in (logits, converting):
        command.add_argument("folders", nargs="+")
    options = parser.parse_args()
    options.run(options)


main()
