#!/usr/bin/env python3
"""Compares `counterbeam tokenize` with Hugging Face's tokenizers on tokenizers of many kinds.

Trains small tokenizers of each kind, then encodes and decodes random texts with both. Needs the
PyPI package tokenizers (0.23), which the tests of the repository do not need.

  tools/tokenizer_parity.py --binary build/release/counterbeam --texts 2000
  tools/tokenizer_parity.py --golden tests/text/golden/tokenizers.jsonl
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
          r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = QWEN2.replace(r"\p{N}|", r"\p{N}{1,3}|")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}"
         r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = GPT4O.replace(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace(r"\p{N}{1,3}", r"\p{N}")
KIMI_K2 = r"[\p{Han}]+|" + GPT4O.replace(r"\p{M}]", r"\p{M}&&[^\p{Han}]]").replace(r"[\r\n/]*", r"[\r\n]*")
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
DEEPSEEK_V3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?"
               r"[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK_V3_STEPS = [r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK_V3]
ODD = [r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", r"[一-龥ࠀ-一가-퟿]+", r"(?<=\p{L})\d+(?!\p{L})",
       r"(?<!a)b+|\bc", r"\p{Lu}?\p{Ll}++(?>'\w)?", r"[[:punct:]]|[^\W_]{2,4}?", r"^\s*\S|\S$",
       r"(?i)[k-s]+|straße", r"[\p{L}&&[^a-z]]+", r"a*?b|(?:ab|a){2,}", r"\h{2}|\R", r"(a|b)*c|",
       r"(?=[A-Z])|(?<=\.)", r"[^\S\r\n]+|\N", r"\P{^L}{3}|\p{^L}", r"(?x: \d+ | [a-c] ) # end",
       r"\p{Han}+|\p{Hiragana}+|\p{Katakana}+|[\p{Hangul}\p{Thai}]+|\p{Arab}+", r"\p{Cyrillic}+|\p{Greek}|\p{Latin}{2}",
       r"\P{Common}+|\p{Hebrew}|\p{Devanagari}", r"[[:alpha:]]+|[[:digit:]]", r"[[:alnum:]]+|[[:space:]]+",
       r"[[:upper:]]+|[[:lower:]]{2}", r"[[:word:]]+", r"\w+|\b.", r"[[:graph:]]+", r"[^[:print:]]+|[[:^alpha:]]{3}",
       r"(?i:[[:upper:]]+|\p{Lu})", r"\p{Emoji_Presentation}|\p{Extended_Pictographic}+|\p{Ideographic}"]
CORPUS = """The quick brown fox jumps over the lazy dog. It's 12345 o'clock, we'll see; THEY'RE here!
def main(argv):\n    for i in range(100):\n\t\tprint(f"{i:>3} {argv[i]}")\n\nNaïve café, über Straße.
Привет, мир! Это проверка. 你好，世界。今天天气很好。こんにちは世界 안녕하세요 세계 مرحبا بالعالم שלום עולם
नमस्ते दुनिया สวัสดีชาวโลก 🙂🚀👩‍👩‍👧 ½ ² ① Ⅷ e\u0301 n\u0303 \u00a0\u2003\u3000 <tag>value</tag> a_b-c+d=e*f/g
aaaa bbbb abab aabb   spaces   \n\n\n newlines \r\n tabs\t\tend. http://example.com/x?y=1&z=2 1,234.56 $99
""".split("\n")
TOKENS = ["<|im_start|>", "<|im_end|>", "<s>", "</s>", "<pad>", "[CLS]", "added", "new word", "ö", "<mask>",
          "<|im", "im_end", "İ", "Foo", " lead", "é"]
RANGES = [(0x20, 0x7E), (0x20, 0x7E), (0x61, 0x7A), (0x30, 0x39), (0x00, 0x1F), (0x7F, 0xFF), (0x100, 0x24F),
          (0x300, 0x36F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F), (0x1100, 0x11FF),
          (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x21FF), (0x2460, 0x24FF), (0x3000, 0x30FF),
          (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xE0FF), (0xF900, 0xFFFD), (0x10000, 0x10FFF),
          (0x1D400, 0x1D7FF), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1FAFF), (0x20000, 0x2FFFF), (0, 0x10FFFF)]
SPACES = [" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2028", "\u3000", "\u0085", "\u200b", "\u180e", "\n\n "]


def random_text(rng):
    parts = []
    for _ in range(rng.randint(0, 12)):
        kind = rng.random()
        if kind < 0.3:
            parts.append(rng.choice(rng.choice(CORPUS).split(" ") or [""]))
        elif kind < 0.45:
            parts.append(rng.choice(SPACES))
        elif kind < 0.57:
            parts.append(rng.choice(TOKENS))
        elif kind < 0.63:
            parts.append(rng.choice(["'s", "'T", "'RE", "'ll", "'\u017f", "'", "don't", "I'VE", "K", "ﬁ", "\u2581"]))
        elif kind < 0.68:
            parts.append(rng.choice("ab1 .\n") * rng.randint(1, 60))
        else:
            low, high = rng.choice(RANGES)
            points = (rng.randint(low, high) for _ in range(rng.randint(1, 8)))
            parts.append("".join(chr(p) for p in points if not 0xD800 <= p < 0xE000))
        if rng.random() < 0.4:
            parts.append(" ")
    return "".join(parts)


def trained(pre=None, normalizer=None, decoder=None, post=None, size=600, alphabet=True, tokens=(), special=(),
            **model):
    """A BPE tokenizer trained on the corpus; extra settings go to the model."""
    tokenizer = Tokenizer(models.BPE(**{k: v for k, v in model.items() if k != "initial"}))
    if pre is not None:
        tokenizer.pre_tokenizer = pre
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    affixes = {k: v for k, v in model.items() if k in ("continuing_subword_prefix", "end_of_word_suffix")}
    trainer = trainers.BpeTrainer(
        vocab_size=size, show_progress=False, special_tokens=list(model.get("initial", [])),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet() if alphabet else [], **affixes)
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    tokenizer.add_tokens(list(tokens))
    tokenizer.add_special_tokens(list(special))
    if decoder is not None:
        tokenizer.decoder = decoder
    if post is not None:
        tokenizer.post_processor = post(tokenizer)
    return tokenizer


def byte_level(*patterns, **more):
    steps = [*(pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns),
             pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    more.setdefault("special", ["<|im_start|>", "<|im_end|>"])
    return trained(pre=pre_tokenizers.Sequence(steps), decoder=decoders.ByteLevel(), **more)


def sentencepiece(pre=None, normalizer=None, strip=1, **more):
    fallback = [f"<0x{b:02X}>" for b in range(256)]
    chain = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if strip:
        chain.append(decoders.Strip(" ", strip, 0))
    more.setdefault("initial", ["<unk>", "<s>", "</s>"] + fallback)
    return trained(pre=pre, normalizer=normalizer, alphabet=False, size=900, decoder=decoders.Sequence(chain),
                   unk_token="<unk>", fuse_unk=True, byte_fallback=True, **more)


def odd_tokens():
    return [AddedToken("added", single_word=True), AddedToken("new word", lstrip=True, rstrip=True),
            AddedToken("<mask>", lstrip=True, special=True), AddedToken("ö", normalized=False),
            AddedToken("Foo", normalized=True, rstrip=True), AddedToken("<|im", normalized=False),
            AddedToken("im_end", normalized=True), AddedToken(" lead", normalized=False)]


GOLDEN = ("gpt2-prefix qwen3.5 llama3 cl100k smollm llama2 metaspace-first gemma word-suffix no-decoder prefix "
          "byte-normalizer split-merged_with_next-True split-contiguous-False regex-3 regex-6").split()


def kinds():
    """(name, function that makes the tokenizer) of every kind."""
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
    yield "gpt2", lambda: trained(pre=gpt2, decoder=decoders.ByteLevel(), special=["<|im_end|>"],
                                  post=lambda t: processors.ByteLevel(trim_offsets=False))
    yield "gpt2-prefix", lambda: trained(pre=pre_tokenizers.ByteLevel(add_prefix_space=True), tokens=odd_tokens(),
                                         decoder=decoders.ByteLevel())
    yield "qwen2", lambda: byte_level(QWEN2, normalizer=normalizers.NFC())
    yield "qwen3.5", lambda: byte_level(QWEN35, normalizer=normalizers.NFC(), tokens=odd_tokens())
    yield "llama3", lambda: byte_level(
        LLAMA3, ignore_merges=True, special=["<s>", "</s>"], post=lambda t: processors.Sequence([
            processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
                single="<s> $A </s>", special_tokens=[("<s>", t.token_to_id("<s>")), ("</s>", t.token_to_id("</s>"))])]))
    for name, pattern in [("gpt4o", GPT4O), ("cl100k", CL100K), ("tekken", TEKKEN), ("kimi-k2", KIMI_K2)]:
        yield name, lambda pattern=pattern: byte_level(pattern)
    yield "deepseek-v3", lambda: byte_level(*DEEPSEEK_V3_STEPS)
    yield "llama4", lambda: byte_level(GPT4O, ignore_merges=True, special=["<s>", "</s>"],
                                       post=lambda t: processors.TemplateProcessing(
                                           single="<s> $A", special_tokens=[("<s>", t.token_to_id("<s>"))]))
    yield "smollm", lambda: trained(decoder=decoders.ByteLevel(), special=["<|im_end|>"], pre=pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]))
    yield "digits", lambda: trained(decoder=decoders.ByteLevel(), pre=pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    yield "llama2", lambda: sentencepiece(
        normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        special=["<s>", "</s>"], tokens=["added", AddedToken("new word", normalized=False)])
    for scheme in ["first", "always", "never"]:
        yield f"metaspace-{scheme}", lambda scheme=scheme: sentencepiece(
            pre=pre_tokenizers.Metaspace(prepend_scheme=scheme, split=scheme != "never"), special=["<s>"],
            strip=0 if scheme == "never" else 1, tokens=odd_tokens())
    yield "gemma", lambda: sentencepiece(normalizer=normalizers.Replace(" ", "▁"), strip=0,
                                         pre=pre_tokenizers.Split(" ", "merged_with_previous"))
    yield "gemma3", lambda: sentencepiece(
        normalizer=normalizers.Replace(" ", "▁"), strip=0, pre=pre_tokenizers.Split(" ", "merged_with_previous"),
        special=["<s>", "</s>"], post=lambda t: processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", t.token_to_id("<s>"))]))
    yield "metaspace-decoder", lambda: trained(
        pre=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace(), alphabet=False, unk_token="<unk>",
        initial=["<unk>"])
    yield "word-suffix", lambda: trained(
        pre=pre_tokenizers.WhitespaceSplit(), decoder=decoders.BPEDecoder(suffix="</w>"), alphabet=False,
        normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]), unk_token="<unk>",
        initial=["<unk>"], end_of_word_suffix="</w>")
    yield "no-decoder", lambda: trained(pre=pre_tokenizers.Whitespace(), alphabet=False, unk_token="<unk>",
                                        fuse_unk=True, initial=["<unk>"], tokens=odd_tokens())
    yield "prefix", lambda: trained(pre=pre_tokenizers.BertPreTokenizer(), alphabet=False, unk_token="<unk>",
                                    initial=["<unk>"], continuing_subword_prefix="##",
                                    normalizer=normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(),
                                                                     normalizers.Strip(), normalizers.Nmt()]))
    yield "byte-normalizer", lambda: trained(normalizer=normalizers.Sequence([normalizers.NFKD(), normalizers.ByteLevel()]),
                                             decoder=decoders.ByteLevel(), tokens=["added", "ö"])
    for behavior in ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]:
        for invert in [False, True]:
            yield f"split-{behavior}-{invert}", lambda behavior=behavior, invert=invert: trained(
                decoder=decoders.ByteLevel(), special=["<s>"], pre=pre_tokenizers.Sequence([
                    pre_tokenizers.Split(Regex(r"\s+|\p{P}|\d{2}"), behavior, invert),
                    pre_tokenizers.Split("a", behavior, invert),
                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    for i, pattern in enumerate(ODD):
        yield f"regex-{i}", lambda pattern=pattern: byte_level(pattern)


def ours(binary, folder, texts, flags):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    done = subprocess.run([binary, "tokenize", "--model", folder, "--jsonl", *flags], input=lines.encode(),
                          capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{folder}: {done.stderr.decode()}")
    return [json.loads(line) for line in done.stdout.decode().strip("\n").split("\n")]


def compare(name, tokenizer, binary, texts):
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(os.path.join(folder, "tokenizer.json"))
        for flags in ([], ["--no-special"], ["--add-special"]):
            tokenizer.encode_special_tokens = "--no-special" in flags
            for text, row in zip(texts, ours(binary, folder, texts, flags)):
                ids = tokenizer.encode(text, add_special_tokens="--add-special" in flags).ids
                decoded = tokenizer.decode(ids, skip_special_tokens=False) if ids else ""
                if row["ids"] != ids or row["decoded"] != decoded:
                    wrong += 1
                    if wrong <= 2:
                        print(f"{name} {flags}: {text!r}\n  theirs {ids} {decoded!r}\n"
                              f"  ours   {row['ids']} {row['decoded']!r}")
    print(f"{name}: {wrong} of {3 * len(texts)} differ")
    return wrong


def golden_row(name, tokenizer, rng):
    cases = []
    for text in (random_text(rng) for _ in range(12)):
        ids = tokenizer.encode(text, add_special_tokens=True).ids
        cases.append({"text": text, "ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False) if ids else "",
                      "skipped": tokenizer.decode(ids, skip_special_tokens=True) if ids else ""})
    return {"name": name, "tokenizer": json.loads(tokenizer.to_str()), "cases": cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/counterbeam")
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="kinds whose name contains this")
    parser.add_argument("--golden", help="write vectors for the tests here instead of comparing")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    rows, wrong = [], 0
    for name, make in kinds():
        if options.only and options.only not in name:
            continue
        if options.golden and name not in GOLDEN:
            continue
        if options.golden:
            rows.append(golden_row(name, make(), rng))
        else:
            wrong += compare(name, make(), options.binary, [random_text(rng) for _ in range(options.texts)])
    if options.golden:
        with open(options.golden, "w", encoding="utf-8") as file:
            file.write("\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n")
    sys.exit(1 if wrong else 0)


main()
