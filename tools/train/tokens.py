"""Trains the byte-level BPE tokenizer on generated text and writes the tokenizer files of a checkpoint folder.

Usage: python3 tokens.py OUT_DIR
"""
import json
import os
import random
import sys

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import corpus
import cues
import prompts

SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
VOCABULARY = 1024
SEED, SAMPLES_PER_TASK = 11, 6000


def train():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY - len(prompts.SPECIAL), show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    rng = random.Random(SEED)
    texts = []
    for task in corpus.FAMILIES:
        for _ in range(SAMPLES_PER_TASK):
            texts += corpus.draw_sample(rng, task)
    strip = lambda text: "\n".join(text.replace("<|im_start|>", "").split("<|im_end|>"))
    tokenizer.train_from_iterator(map(strip, texts), trainer)
    tokenizer.add_special_tokens(prompts.SPECIAL)
    return tokenizer


def write(folder):
    os.makedirs(folder, exist_ok=True)
    tokenizer = train()
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump({"add_prefix_space": False, "bos_token": None, "clean_up_tokenization_spaces": False,
                   "eos_token": prompts.END_OF_TURN, "model_max_length": 1024, "pad_token": prompts.END_OF_TEXT,
                   "tokenizer_class": "Qwen2Tokenizer", "unk_token": None}, f, indent=2)
        f.write("\n")
    with open(os.path.join(folder, "chat_template.jinja"), "w") as f:
        f.write(prompts.TEMPLATE)
    return tokenizer


if __name__ == "__main__":
    t = write(sys.argv[1])
    print("tokens", t.get_vocab_size())
