"""Writes and reads a checkpoint as an ordinary Hugging Face folder (bf16 safetensors, tied embeddings)."""
import json
import os

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

import nets
import prompts


def config_of(net, tokenizer):
    c = dict(net.config)
    theta, partial = c.pop("rope_theta"), c.get("partial_rotary_factor")
    c["rope_parameters"] = {"rope_theta": theta, "rope_type": "default"}
    if partial is not None:
        c["rope_parameters"]["partial_rotary_factor"] = partial
        c["layer_types"] = ["linear_attention" if layer.linear else "full_attention" for layer in net.model.layers]
        c["attention_bias"] = False
    else:
        c["use_sliding_window"] = False
    end, text = tokenizer.token_to_id(prompts.END_OF_TURN), tokenizer.token_to_id(prompts.END_OF_TEXT)
    c.update(attention_dropout=0.0, bos_token_id=None, dtype="bfloat16", eos_token_id=end, hidden_act="silu",
             initializer_range=0.02, max_position_embeddings=1024, pad_token_id=text, tie_word_embeddings=True,
             transformers_version="5.17.0", use_cache=True)
    return dict(sorted(c.items()))


def save(net, folder):
    """The folder already holds the tokenizer."""
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    weights = {name: p.detach().to(torch.bfloat16).cpu().contiguous() for name, p in net.state_dict().items()}
    save_file(weights, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    config = config_of(net, tokenizer)
    ends = [config["eos_token_id"], config["pad_token_id"]]
    generation = {"do_sample": True, "eos_token_id": ends, "pad_token_id": config["pad_token_id"], "temperature": 1.0,
                  "transformers_version": "5.17.0"}
    for name, content in (("config.json", config), ("generation_config.json", generation)):
        with open(os.path.join(folder, name), "w") as f:
            json.dump(content, f, indent=2)
            f.write("\n")


def load(folder, device="cpu", dtype=torch.float32):
    with open(os.path.join(folder, "config.json")) as f:
        kind = json.load(f)["model_type"]
    net = nets.Net(nets.DENSE if kind == "qwen2" else nets.HYBRID)
    net.load_state_dict({name: x.float() for name, x in load_file(os.path.join(folder, "model.safetensors")).items()})
    return net.to(device=device, dtype=dtype)
