"""Compares nets.py (rows, prefill and steps) with transformers in float32, for both architectures with random weights.

Usage: python3 check_nets.py TOKENIZER_DIR
"""
import os
import shutil
import sys
import tempfile

import torch
from transformers import AutoModelForCausalLM

import checkpoint
import nets


def check(config, tokenizer_folder):
    torch.manual_seed(1)
    net = nets.Net(config)
    for p in net.parameters():
        p.data.add_(torch.randn_like(p) * 0.05)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(tokenizer_folder, "tokenizer.json"), folder)
        checkpoint.save(net, folder)
        net = checkpoint.load(folder)
        reference = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    missing = set(reference.state_dict()) - set(net.state_dict()) - {"lm_head.weight"}
    assert not missing, missing
    ids = torch.randint(0, config["vocab_size"], (3, 96))
    with torch.no_grad():
        want = reference(ids).logits
        rows = net.logits(net.hidden(ids))
        lengths = torch.tensor([40, 53, 64])
        got, state = net.prefill(ids[:, :64], lengths, 40)
        worst = max((got[b] - want[b, n - 1]).abs().max().item() for b, n in enumerate(lengths))
        for i in range(20):
            got = net.step(ids[torch.arange(3), lengths + i], state)
            worst = max(worst, max((got[b] - want[b, n + i]).abs().max().item() for b, n in enumerate(lengths)))
    print(f"{config['model_type']}: {sum(p.numel() for p in net.parameters()) / 1e6:.2f} M parameters, logits to {want.abs().max():.1f}, "
          f"largest difference: rows {(rows - want).abs().max():.1e}, prefill and steps {worst:.1e}")
    assert (rows - want).abs().max() < 2e-3 and worst < 2e-3


if __name__ == "__main__":
    for c in (nets.DENSE, nets.HYBRID):
        check(c, sys.argv[1])
