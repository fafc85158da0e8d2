"""The inverter: a projector of (embedding, noise level) to prefix rows, a corrector that also sees
a hypothesis' embedding, and a Llama-shaped decoder that reads the rows before its first token."""
import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn

PAD, BOS, EOS = 0, 1, 2
NOISE_FLOOR = 5e-4  # smallest noise standard deviation a coordinate that is told apart


@dataclasses.dataclass
class Shape:
    vocab: int = 8192
    dim: int = 320
    layers: int = 5
    heads: int = 5
    ffn: int = 896
    embedding: int = 384  # of the sentence encoder
    prefix: int = 8       # rows made by the projector
    hidden: int = 1536    # of the projector
    fix_prefix: int = 4   # rows made by the corrector
    fix_hidden: int = 768
    context: int = 128
    eps: float = 1e-5
    base: float = 10000.0


def noise_level(std):
    """std: noise standard deviation a coordinate, any shape."""
    return (torch.log(std.clamp(min=NOISE_FLOOR)) + 5.0) / 2.0


class Mapping(nn.Module):
    """y = W2 silu(W1 x + b1) + b2 + W0 x, as `rows` rows of `dim`."""

    def __init__(self, n_in, hidden, rows, dim):
        super().__init__()
        self.rows, self.dim = rows, dim
        self.w0 = nn.Parameter(torch.randn(rows * dim, n_in) * 0.02)
        self.w1 = nn.Parameter(torch.randn(hidden, n_in) / math.sqrt(n_in))
        self.b1 = nn.Parameter(torch.zeros(hidden))
        self.w2 = nn.Parameter(torch.randn(rows * dim, hidden) * (0.5 / math.sqrt(hidden)))
        self.b2 = nn.Parameter(torch.zeros(rows * dim))

    def forward(self, x):
        y = F.linear(F.silu(F.linear(x, self.w1, self.b1)), self.w2, self.b2) + F.linear(x, self.w0)
        return y.view(x.shape[0], self.rows, self.dim)


def rms(x, weight, eps):
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * weight.to(x.dtype)


def turn(x, cos, sin):
    """Rotary positions over neighbouring pairs, the order GGUF's llama architecture uses."""
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.heads, self.eps = s.heads, s.eps
        d, f, out = s.dim, s.ffn, 1.0 / math.sqrt(2 * s.layers)

        def matrix(rows, cols, gain=1.0):
            return nn.Parameter(torch.randn(rows, cols) * (gain / math.sqrt(cols)))

        self.norm1, self.norm2 = nn.Parameter(torch.ones(d)), nn.Parameter(torch.ones(d))
        self.q, self.k, self.v, self.o = matrix(d, d), matrix(d, d), matrix(d, d), matrix(d, d, out)
        self.gate, self.up, self.down = matrix(f, d), matrix(f, d), matrix(d, f, out)

    def forward(self, x, cos, sin, keys=None, values=None, at=0):
        """With keys and values (batch, heads, room, head_dim), x stands at positions at, at+1, ...
        and what came before is read from them."""
        b, t, d = x.shape
        y = rms(x, self.norm1, self.eps)
        qkv = F.linear(y, torch.cat((self.q, self.k, self.v))).view(b, t, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        q, k = turn(q, cos, sin), turn(k, cos, sin)
        if keys is None:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            keys[:, :, at:at + t], values[:, :, at:at + t] = k, v
            y = F.scaled_dot_product_attention(q, keys[:, :, :at + t], values[:, :, :at + t],
                                               is_causal=at == 0 and t > 1)
        x = x + F.linear(y.transpose(1, 2).reshape(b, t, d), self.o)
        y = rms(x, self.norm2, self.eps)
        return x + F.linear(F.silu(F.linear(y, self.gate)) * F.linear(y, self.up), self.down)


class Inverter(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.table = nn.Parameter(torch.randn(shape.vocab, shape.dim) * 0.02)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.last_norm = nn.Parameter(torch.ones(shape.dim))
        self.project = Mapping(shape.embedding + 1, shape.hidden, shape.prefix, shape.dim)
        self.correct = Mapping(2 * shape.embedding + 1, shape.fix_hidden, shape.fix_prefix, shape.dim)
        half = shape.dim // shape.heads // 2
        angle = torch.arange(shape.context).double()[:, None] * shape.base ** (
            -torch.arange(half).double() / half)
        self.register_buffer("cos", angle.cos().float(), persistent=False)
        self.register_buffer("sin", angle.sin().float(), persistent=False)

    def rows(self, guess, std, hypothesis=None):
        """Prefix rows for posterior means (n, d) under noise std (n); with the embeddings of
        hypotheses, also the corrector's."""
        scale = math.sqrt(self.shape.embedding)
        level = noise_level(std)[:, None]
        y = self.project(torch.cat((guess * scale, level), 1))
        if hypothesis is None:
            return y
        x = torch.cat((hypothesis * scale, (guess - hypothesis) * scale, level), 1)
        return torch.cat((y, self.correct(x)), 1)

    def turns(self, at, n, dtype):
        return self.cos[at:at + n].to(dtype), self.sin[at:at + n].to(dtype)

    def run(self, x):
        cos, sin = self.turns(0, x.shape[1], x.dtype)
        for block in self.blocks:
            x = block(x, cos, sin) if self.training else block.forward(x, cos, sin)
        return self.final(x)

    def final(self, x):
        return rms(x, self.last_norm, self.shape.eps)

    def loss(self, guess, std, ids, goal, hypothesis=None):
        """Mean cross-entropy of goal (n, t; -100: not counted) after the rows and ids (n, t)."""
        rows = self.rows(guess, std, hypothesis)
        x = F.embedding(ids, self.table).to(rows.dtype)
        x = self.run(torch.cat((rows, x), 1))[:, rows.shape[1]:]
        ending = self.ending if self.training else Inverter.ending
        return ending(x, self.table, goal)

    @staticmethod
    def ending(x, table, goal):
        logits = F.linear(x, table.to(x.dtype)).flatten(0, 1).float()
        return F.cross_entropy(logits, goal.flatten(), ignore_index=-100)
