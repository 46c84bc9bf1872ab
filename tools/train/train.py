"""Trains one of the two models on prepared samples; the loss counts answer tokens only.

Usage: python3 train.py dense|hybrid --folder OUT --data DIR --seconds S
OUT holds the tokenizer and receives the checkpoint. The cosine schedule runs over the wall-clock time given.
"""
import argparse
import math
import os
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

import checkpoint
import nets
from prepare import BOOSTED, LENGTH

EASY_TIME = 0.3      # share of the time spent on the samples with boosted cues


def read_arguments():
    p = argparse.ArgumentParser()
    p.add_argument("kind", choices=["dense", "hybrid"])
    p.add_argument("--folder", required=True)
    p.add_argument("--data", required=True)
    p.add_argument("--seconds", type=float, required=True, help="training time, from the first step")
    p.add_argument("--until", type=float, default=0, help="UNIX time at which training ends, regardless of --seconds")
    p.add_argument("--batch", type=int, default=512)
    p.add_argument("--rate", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--start", help="checkpoint folder to continue from")
    p.add_argument("--no-compile", action="store_true")
    return p.parse_args()


def answer_loss(hidden, embedding, ids, spans, reach):
    """Mean cross-entropy of the answer tokens; at most `reach` of them per row, so that shapes stay fixed."""
    at = spans[:, :1] - 1 + torch.arange(reach, device=ids.device)[None]
    wanted = at + 1 < spans[:, 1:]
    at = at.clamp(max=ids.shape[1] - 2)
    rows = hidden.gather(1, at[..., None].expand(-1, -1, hidden.shape[-1]))
    target = torch.where(wanted, ids.gather(1, at + 1), -100)
    logits = F.linear(rows, embedding).float()
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=-100)


def parameter_groups(net):
    decayed = [p for name, p in net.named_parameters() if p.dim() == 2]
    kept = [p for name, p in net.named_parameters() if p.dim() != 2]
    return [{"params": decayed, "weight_decay": 0.1}, {"params": kept, "weight_decay": 0.0}]


def main():
    args = read_arguments()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(args.seed)
    begin = time.time()
    net = checkpoint.load(args.start) if args.start else nets.Net(nets.DENSE if args.kind == "dense" else nets.HYBRID)
    net = net.to(device)
    loss_of = answer_loss
    if not args.no_compile:
        for layer in net.model.layers:
            layer.compile(dynamic=False)
        loss_of = torch.compile(answer_loss, dynamic=False)

    def forward(ids, spans, reach):
        with torch.autocast(device, torch.bfloat16):
            return loss_of(net.hidden(ids), net.model.embed_tokens.weight, ids, spans, reach)
    reach = 160
    fake = torch.randint(0, 1000, (args.batch, LENGTH), device=device)
    forward(fake, torch.tensor([[100, 180]], device=device, dtype=torch.int32).repeat(args.batch, 1), reach).backward()
    net.zero_grad(set_to_none=True)
    print(f"{args.kind}: {sum(p.numel() for p in net.parameters()) / 1e6:.2f} M parameters, compiled in {time.time() - begin:.0f} s", flush=True)

    while not os.path.exists(os.path.join(args.data, "done")):
        time.sleep(0.2)
    ids = torch.from_numpy(np.load(os.path.join(args.data, "ids.npy")).astype(np.int16)).to(device)
    spans = torch.from_numpy(np.load(os.path.join(args.data, "spans.npy"))).to(device)
    assert (spans[:, 1] - spans[:, 0]).max() <= reach, "an answer is longer than the loss reaches"
    easy = int(len(ids) * BOOSTED)
    optimizer = torch.optim.AdamW(parameter_groups(net), lr=args.rate, betas=(0.9, 0.95), fused=device == "cuda")
    order = torch.Generator(device=device).manual_seed(args.seed)
    start, step, seen = time.time(), 0, 0
    total = min(args.seconds, args.until - start) if args.until else args.seconds
    while True:
        share = (time.time() - start) / total
        if share >= 1:
            break
        rate = args.rate * min(1, (step + 1) / 150) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * share)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        low, high = (0, easy) if share < EASY_TIME else (easy, len(ids))
        batch = torch.randint(low, high, (args.batch,), device=device, generator=order)
        loss = forward(ids[batch].long(), spans[batch], reach)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        seen += args.batch
        if step % 250 == 0:
            spent = time.time() - start
            print(f"{args.kind} step {step}  {spent:.0f} s  loss {loss.item():.4f}  {seen * LENGTH / spent / 1e6:.2f} M tokens/s", flush=True)
    print(f"{args.kind}: {step} steps, {seen / len(ids):.2f} epochs of {len(ids)} samples, {time.time() - start:.0f} s, last loss {loss.item():.4f}", flush=True)
    checkpoint.save(net, args.folder)


if __name__ == "__main__":
    sys.exit(main())
