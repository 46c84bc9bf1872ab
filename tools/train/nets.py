"""The two architectures, with parameter names of Hugging Face's Qwen2 and Qwen3.5 text models.

Each has three forms: `hidden` over whole rows (training), `prefill` of right-padded rows into a state, and `step` by one
token per row. A state is a dict of tensors whose first dimension is the row, so forking rows is indexing.
check_nets.py compares all three with transformers in float32.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

CHUNK = 32

DENSE = dict(model_type="qwen2", architectures=["Qwen2ForCausalLM"], vocab_size=1024, hidden_size=256,
             intermediate_size=704, num_hidden_layers=7, num_attention_heads=4, num_key_value_heads=2,
             rope_theta=10000.0, rms_norm_eps=1e-6)
HYBRID = dict(model_type="qwen3_5_text", architectures=["Qwen3_5ForCausalLM"], vocab_size=1024, hidden_size=256,
              intermediate_size=448, num_hidden_layers=8, num_attention_heads=4, num_key_value_heads=2, head_dim=64,
              linear_num_key_heads=4, linear_num_value_heads=4, linear_key_head_dim=64, linear_value_head_dim=64,
              linear_conv_kernel_dim=4, rope_theta=10000.0, partial_rotary_factor=0.25, rms_norm_eps=1e-6)


class Norm(nn.Module):
    def __init__(self, size, eps, centred):
        super().__init__()
        self.eps, self.centred = eps, centred
        self.weight = nn.Parameter(torch.zeros(size) if centred else torch.ones(size))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + self.eps)
        return (y * (1 + self.weight.float() if self.centred else self.weight.float())).to(x.dtype)


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        h, i = c["hidden_size"], c["intermediate_size"]
        self.gate_proj, self.up_proj, self.down_proj = (nn.Linear(h, i, bias=False), nn.Linear(h, i, bias=False),
                                                        nn.Linear(i, h, bias=False))

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


def rotate(x, positions, theta, width):
    """x [B, heads, T, d], positions [B, T] or [T]; RoPE rotates the first `width` of d."""
    inverse = theta ** (-torch.arange(0, width, 2, device=x.device, dtype=torch.float32) / width)
    angle = positions.float().unsqueeze(-1) * inverse
    angle = angle.unsqueeze(-3)
    cos, sin = angle.cos(), angle.sin()
    a, b, rest = x[..., :width // 2].float(), x[..., width // 2:width].float(), x[..., width:]
    return torch.cat([(a * cos - b * sin).to(x.dtype), (b * cos + a * sin).to(x.dtype), rest], -1)


class Attention(nn.Module):
    """Qwen2 attention, or with gate=True the gated one of Qwen3.5 (q and gate interleaved per head, q and k normed)."""

    def __init__(self, c, gate):
        super().__init__()
        self.heads, self.kv, self.gate = c["num_attention_heads"], c["num_key_value_heads"], gate
        h = c["hidden_size"]
        self.d = c.get("head_dim", h // self.heads)
        self.theta, self.width = c["rope_theta"], int(self.d * c.get("partial_rotary_factor", 1.0))
        self.q_proj = nn.Linear(h, self.heads * self.d * (2 if gate else 1), bias=not gate)
        self.k_proj, self.v_proj = (nn.Linear(h, self.kv * self.d, bias=not gate) for _ in range(2))
        self.o_proj = nn.Linear(self.heads * self.d, h, bias=False)
        if gate:
            self.q_norm, self.k_norm = Norm(self.d, c["rms_norm_eps"], True), Norm(self.d, c["rms_norm_eps"], True)

    def project(self, x, positions):
        b, t, _ = x.shape
        q = self.q_proj(x).view(b, t, self.heads, -1)
        k, v = (p(x).view(b, t, self.kv, self.d) for p in (self.k_proj, self.v_proj))
        gate = None
        if self.gate:
            q, gate = q.split(self.d, -1)
            q, k, gate = self.q_norm(q), self.k_norm(k), gate.reshape(b, t, -1)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        return rotate(q, positions, self.theta, self.width), rotate(k, positions, self.theta, self.width), v, gate

    def finish(self, o, gate):
        return self.o_proj(o * torch.sigmoid(gate) if self.gate else o)

    def forward(self, x, lengths=None, state=None, room=0):
        b, t, _ = x.shape
        q, k, v, gate = self.project(x, torch.arange(t, device=x.device))
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        if state is not None:
            state["k"], state["v"] = F.pad(k, (0, 0, 0, room)), F.pad(v, (0, 0, 0, room))
        return self.finish(o.transpose(1, 2).reshape(b, t, -1), gate)

    def step(self, x, positions, state):
        """x [B, 1, H]; writes row b's key at positions[b]."""
        q, k, v, gate = self.project(x, positions[:, None])
        rows = torch.arange(len(x), device=x.device)
        state["k"][rows, :, positions], state["v"][rows, :, positions] = k[:, :, 0].to(state["k"].dtype), v[:, :, 0].to(state["v"].dtype)
        q = q.reshape(len(x), self.kv, self.heads // self.kv, self.d)
        scores = torch.matmul(q, state["k"].transpose(-1, -2)).float() * self.d ** -0.5
        reach = torch.arange(scores.shape[-1], device=x.device)[None] <= positions[:, None]
        weights = torch.softmax(scores.masked_fill(~reach[:, None, None], float("-inf")), -1)
        o = torch.matmul(weights.to(state["v"].dtype), state["v"]).reshape(len(x), 1, -1)
        return self.finish(o.to(x.dtype), gate)


class UnitLowerInverse(torch.autograd.Function):
    """(I + A)^-1 for strictly lower A [..., C, C], by doubling the size of the inverted diagonal blocks."""

    @staticmethod
    def forward(ctx, a):
        c = a.shape[-1]
        place = torch.arange(c, device=a.device)
        inverse = torch.eye(c, device=a.device, dtype=a.dtype).expand_as(a)
        size = 1
        while size < c:
            block = place // size
            below = (block[:, None] == block[None] + 1) & (block[:, None] % 2 == 1)
            inverse = inverse - inverse @ (a * below) @ inverse
            size *= 2
        ctx.save_for_backward(inverse)
        return inverse

    @staticmethod
    def backward(ctx, grad):
        (inverse,) = ctx.saved_tensors
        t = inverse.transpose(-1, -2)
        return -(t @ grad @ t)


def gated_delta(q, k, v, g, beta):
    """The gated delta rule over chunks. q, k, v [B, H, T, d] float32 (q scaled), g, beta [B, H, T]; T a multiple of CHUNK.
    Returns o [B, H, T, d] and the last state [B, H, d, d]."""
    b, h, t, d = q.shape
    n = t // CHUNK
    q, k, v = (x.reshape(b, h, n, CHUNK, d) for x in (q, k, v))
    g, beta = g.reshape(b, h, n, CHUNK).cumsum(-1), beta.reshape(b, h, n, CHUNK, 1)
    lower = torch.ones(CHUNK, CHUNK, device=q.device, dtype=torch.bool).tril()
    decay = (g[..., :, None] - g[..., None, :]).masked_fill(~lower, float("-inf")).exp()
    inner = UnitLowerInverse.apply(((k * beta) @ k.transpose(-1, -2) * decay).tril(-1))
    grown = g.exp()[..., None]
    u, w = inner @ (v * beta), inner @ (k * beta * grown)
    near = q @ k.transpose(-1, -2) * decay
    far = q * grown
    late = k * (g[..., -1:] - g).exp()[..., None]
    whole = g[..., -1].exp()[..., None, None]
    state = torch.zeros(b, h, d, v.shape[-1], device=q.device, dtype=q.dtype)
    out = []
    for i in range(n):
        fresh = u[:, :, i] - w[:, :, i] @ state
        out.append(far[:, :, i] @ state + near[:, :, i] @ fresh)
        state = state * whole[:, :, i] + late[:, :, i].transpose(-1, -2) @ fresh
    return torch.stack(out, 2).reshape(b, h, t, -1), state


def unit(x):
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


class DeltaNet(nn.Module):
    """Gated DeltaNet with as many key heads as value heads."""

    def __init__(self, c):
        super().__init__()
        h, self.heads, self.d = c["hidden_size"], c["linear_num_value_heads"], c["linear_value_head_dim"]
        assert self.heads == c["linear_num_key_heads"] and self.d == c["linear_key_head_dim"]
        wide = self.heads * self.d
        self.in_proj_qkv, self.in_proj_z = nn.Linear(h, 3 * wide, bias=False), nn.Linear(h, wide, bias=False)
        self.in_proj_b, self.in_proj_a = nn.Linear(h, self.heads, bias=False), nn.Linear(h, self.heads, bias=False)
        self.conv1d = nn.Conv1d(3 * wide, 3 * wide, 4, groups=3 * wide, bias=False, padding=3)
        self.A_log = nn.Parameter(torch.empty(self.heads).uniform_(1, 16).log())
        dt = torch.exp(torch.rand(self.heads) * (math.log(0.1) - math.log(0.001)) + math.log(0.001))
        self.dt_bias = nn.Parameter(dt + torch.log(-torch.expm1(-dt)))
        self.norm = Norm(self.d, c["rms_norm_eps"], False)
        self.out_proj = nn.Linear(wide, h, bias=False)

    def gates(self, x):
        beta = torch.sigmoid(self.in_proj_b(x).float()).transpose(1, 2)
        g = -self.A_log.float().exp() * F.softplus(self.in_proj_a(x).float() + self.dt_bias.float())
        return g.transpose(1, 2), beta

    def split(self, c):
        b, t, _ = c.shape
        q, k, v = (x.view(b, t, self.heads, self.d).transpose(1, 2).float() for x in F.silu(c).chunk(3, -1))
        return unit(q) * self.d ** -0.5, unit(k), v

    def finish(self, o, z):
        b, h, t, d = o.shape
        o = self.norm(o.transpose(1, 2)) * F.silu(z.float().view(b, t, h, d))
        return self.out_proj(o.reshape(b, t, -1).to(z.dtype))

    def forward(self, x, lengths=None, state=None, room=0):
        t = x.shape[1]
        u, z = self.in_proj_qkv(x), self.in_proj_z(x)
        w = self.conv1d.weight[:, 0].to(u.dtype)
        past = F.pad(u, (0, 0, 3, 0))
        c = sum(past[:, i:i + t] * w[:, i] for i in range(4))
        g, beta = self.gates(x)
        if lengths is not None:
            inside = (torch.arange(t, device=x.device)[None] < lengths[:, None])[:, None]
            g, beta = g * inside, beta * inside
        with torch.autocast(x.device.type, enabled=False):
            o, last = gated_delta(*self.split(c), g, beta)
        if state is not None:
            at = lengths[:, None] + torch.arange(3, device=x.device)[None]
            state["conv"] = past.gather(1, at[..., None].expand(-1, -1, past.shape[-1]))
            state["s"] = last
        return self.finish(o.to(z.dtype), z)

    def step(self, x, positions, state):
        u, z = self.in_proj_qkv(x), self.in_proj_z(x)
        window = torch.cat([state["conv"], u.to(state["conv"].dtype)], 1)
        state["conv"] = window[:, 1:]
        q, k, v = self.split((window * self.conv1d.weight[:, 0].T.to(window.dtype)).sum(1, keepdim=True))
        g, beta = self.gates(x)
        with torch.autocast(x.device.type, enabled=False):
            s = state["s"] * g.exp()[..., None]
            fresh = (v - k @ s) * beta[..., None]
            state["s"] = s + k.transpose(-1, -2) @ fresh
            o = q @ state["s"]
        return self.finish(o.to(z.dtype), z)


class Layer(nn.Module):
    def __init__(self, c, index):
        super().__init__()
        hybrid = c["model_type"] != "qwen2"
        self.linear = hybrid and (index + 1) % 4 != 0
        if self.linear:
            self.linear_attn = DeltaNet(c)
        else:
            self.self_attn = Attention(c, hybrid)
        self.mlp = Mlp(c)
        self.input_layernorm, self.post_attention_layernorm = (Norm(c["hidden_size"], c["rms_norm_eps"], hybrid) for _ in range(2))

    def mixer(self):
        return self.linear_attn if self.linear else self.self_attn

    def forward(self, h):
        h = h + self.mixer()(self.input_layernorm(h))
        return h + self.mlp(self.post_attention_layernorm(h))

    def remember(self, h, lengths, state, room):
        h = h + self.mixer()(self.input_layernorm(h), lengths, state, room)
        return h + self.mlp(self.post_attention_layernorm(h))

    def step(self, h, positions, state):
        h = h + self.mixer().step(self.input_layernorm(h), positions, state)
        return h + self.mlp(self.post_attention_layernorm(h))


class Body(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(Layer(c, i) for i in range(c["num_hidden_layers"]))
        self.norm = Norm(c["hidden_size"], c["rms_norm_eps"], c["model_type"] != "qwen2")


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.model = Body(config)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02 / (math.sqrt(2 * config["num_hidden_layers"])
                                               if name.endswith(("o_proj.weight", "out_proj.weight", "down_proj.weight")) else 1))
            elif name.endswith("bias") and "dt_bias" not in name:
                nn.init.zeros_(p)

    def hidden(self, ids):
        h = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            h = layer(h)
        return self.model.norm(h)

    def logits(self, h):
        return F.linear(h, self.model.embed_tokens.weight).float()

    def prefill(self, ids, lengths, room):
        """Right-padded ids [B, T]; returns logits at each row's last token and the state, with room for more tokens."""
        more = -ids.shape[1] % CHUNK
        ids, room = F.pad(ids, (0, more)), room - more
        h = self.model.embed_tokens(ids)
        state = {"positions": lengths.clone()}
        for i, layer in enumerate(self.model.layers):
            own = {}
            h = layer.remember(h, lengths, own, max(0, room))
            state.update({f"{i}.{name}": x for name, x in own.items()})
        last = h[torch.arange(len(ids), device=ids.device), lengths - 1]
        return self.logits(self.model.norm(last)), state

    def step(self, tokens, state):
        h = self.model.embed_tokens(tokens)[:, None]
        for i, layer in enumerate(self.model.layers):
            own = {name.split(".")[1]: x for name, x in state.items() if name.startswith(f"{i}.")}
            h = layer.step(h, state["positions"], own)
            state.update({f"{i}.{name}": x for name, x in own.items()})
        state["positions"] = state["positions"] + 1
        return self.logits(self.model.norm(h[:, 0]))
