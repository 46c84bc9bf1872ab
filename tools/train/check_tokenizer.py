"""Checks that transformers reads the shipped tokenizer and chat template as training did.

Usage: python3 check_tokenizer.py MODEL_DIR
"""
import os
import random
import sys

from tokenizers import Tokenizer
from transformers import AutoTokenizer

import corpus
import prompts


def main(folder):
    ours = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    theirs = AutoTokenizer.from_pretrained(folder)
    rng = random.Random(5)
    for task in corpus.FAMILIES:
        for _ in range(100):
            prompt, answer = corpus.draw_sample(rng, task)
            user = prompt.split("<|im_start|>user\n")[1].split("<|im_end|>")[0]
            messages = [{"role": "system", "content": prompts.SYSTEM[task]}, {"role": "user", "content": user}]
            assert theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) == prompt
            ids = ours.encode(prompt + answer, add_special_tokens=False).ids
            assert theirs(prompt + answer, add_special_tokens=False)["input_ids"] == ids
            assert theirs.decode(ids) == prompt + answer
    print(f"{folder}: 300 conversations equal; {len(theirs)} tokens; ends with {theirs.eos_token} {theirs.eos_token_id}")


if __name__ == "__main__":
    main(sys.argv[1])
