#!/usr/bin/env python3
"""Writes lm.txt: scores of five sentences under SmolLM2 by an independent computation: the GGUF
file read, tokenised (byte-level BPE) and run in float64 with NumPy alone.

    tests/vectors/make_lm_vectors.py "$(tools/get-language-model --path)" > tests/vectors/lm.txt
"""
import re
import struct
import sys

import numpy as np

SENTENCES = ["The quick brown fox jumps over the lazy dog.",
             "how do i switch to a new insurance plan",
             "It's 25 degrees in Paris, isn't it?",
             "Water boils at a lower temperature on a mountain because the air pressure is lower.",
             "dog lazy the over jumps fox brown quick The"]
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class File:
    def __init__(self, path):
        self.data, self.at, self.meta = open(path, "rb").read(), 0, {}
        _, _, tensors, pairs = self.take("<4sIQQ")
        for _ in range(pairs):
            key = self.text()
            self.meta[key.decode()] = self.value(self.take("<I")[0])
        entries = [self.tensor() for _ in range(tensors)]
        start = (self.at + 31) // 32 * 32
        self.where = {name: (shape, kind, start + offset) for name, shape, kind, offset in entries}

    def take(self, form):
        out = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return out

    def text(self):
        n, = self.take("<Q")
        self.at += n
        return self.data[self.at - n:self.at]

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            item, n = self.take("<IQ")
            return [self.value(item) for _ in range(n)]
        return self.take("<" + SCALARS[kind])[0]

    def tensor(self):
        name, dims = self.text().decode(), self.take("<I")[0]
        shape = self.take(f"<{dims}Q")[::-1]
        return (name, shape, *self.take("<IQ"))

    def get(self, name):
        """float64; types 0 (float32), 3 (Q4_1) and 8 (Q8_0)."""
        shape, kind, at = self.where[name]
        n = int(np.prod(shape))
        if kind == 0:
            return np.frombuffer(self.data, "<f4", n, at).astype(float).reshape(shape)
        layout = {3: [("d", "<f2"), ("m", "<f2"), ("q", "u1", 16)], 8: [("d", "<f2"), ("q", "i1", 32)]}
        block = np.frombuffer(self.data, np.dtype(layout[kind]), n // 32, at)
        scale = block["d"].astype(float)[:, None]
        if kind == 8:
            return (block["q"] * scale).reshape(shape)
        quants = np.concatenate([block["q"] & 15, block["q"] >> 4], axis=1)
        return (quants * scale + block["m"].astype(float)[:, None]).reshape(shape)


def byte_letters():
    """The printable character that stands for each byte in the vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def tokenise(text, ids, rank):
    letters = byte_letters()
    out = []
    # ASCII is enough for the sentences above; each digit stands alone.
    for word in re.findall(r"'(?:[sdmt]|ll|ve|re)| ?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", text):
        parts = [letters[b] for b in word.encode()]
        while len(parts) > 1:
            best = min(range(len(parts) - 1),
                       key=lambda i: rank.get((parts[i], parts[i + 1]), 1 << 30))
            if (parts[best], parts[best + 1]) not in rank:
                break
            parts[best:best + 2] = [parts[best] + parts[best + 1]]
        out += [ids[p] for p in parts]
    return out


def rms(x, weight):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS) * weight


def turn(x, base):
    """Rotary positions; the file keeps the two numbers of a pair side by side."""
    n, _, d = x.shape
    angle = np.arange(n)[:, None, None] * base ** (-np.arange(0, d, 2) / d)
    c, s = np.cos(angle), np.sin(angle)
    a, b = x[..., 0::2], x[..., 1::2]
    return np.stack([a * c - b * s, a * s + b * c], axis=-1).reshape(x.shape)


def log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def attend(m, w, x):
    heads, kv = m["llama.attention.head_count"], m["llama.attention.head_count_kv"]
    n, d = len(x), x.shape[1] // heads
    y = rms(x, w["attn_norm"])
    q = turn((y @ w["attn_q"].T).reshape(n, heads, d), m["llama.rope.freq_base"])
    k = turn((y @ w["attn_k"].T).reshape(n, kv, d), m["llama.rope.freq_base"])
    v = (y @ w["attn_v"].T).reshape(n, kv, d)
    k, v = np.repeat(k, heads // kv, axis=1), np.repeat(v, heads // kv, axis=1)
    later = np.triu(np.full((n, n), -np.inf), 1)
    p = np.exp(log_softmax(np.einsum("ihd,jhd->hij", q, k) / np.sqrt(d) + later))
    return np.einsum("hij,jhd->ihd", p, v).reshape(n, -1) @ w["attn_output"].T


def feed(w, x):
    y = rms(x, w["ffn_norm"])
    gate = y @ w["ffn_gate"].T
    return (gate / (1 + np.exp(-gate)) * (y @ w["ffn_up"].T)) @ w["ffn_down"].T


def forward(f, sequences):
    """For each sequence of ids: ln p of every token behind each of them."""
    table = f.get("token_embd.weight")
    rows = [table[ids] for ids in sequences]
    for i in range(f.meta["llama.block_count"]):
        w = {k: f.get(f"blk.{i}.{k}.weight")
             for k in ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm",
                       "ffn_gate", "ffn_up", "ffn_down")}
        for j, x in enumerate(rows):
            x = x + attend(f.meta, w, x)
            rows[j] = x + feed(w, x)
    norm = f.get("output_norm.weight")
    return [log_softmax(rms(x, norm) @ table.T) for x in rows]


f = File(sys.argv[1])
EPS = f.meta["llama.attention.layer_norm_rms_epsilon"]
pieces = [p.decode() for p in f.meta["tokenizer.ggml.tokens"]]
ids = {p: i for i, p in enumerate(pieces)}
rank = {tuple(p.decode().split(" ")): i for i, p in enumerate(f.meta["tokenizer.ggml.merges"])}
begin, ends = ids["<|endoftext|>"], [ids["<|endoftext|>"], ids["<|im_end|>"]]

print("# made by make_lm_vectors.py; a line: tokens, ln p without the first token, ln p of the whole"
      " with its end, text")
tokens = [tokenise(text, ids, rank) for text in SENTENCES]
scores = forward(f, [t[:-1] for t in tokens] + [[begin, *t] for t in tokens])
for text, t, rest, whole in zip(SENTENCES, tokens, scores, scores[len(tokens):]):
    logp_rest = sum(rest[i, t[i + 1]] for i in range(len(t) - 1))
    logp = sum(whole[i, t[i]] for i in range(len(t))) + np.log(np.exp(whole[-1, ends]).sum())
    print(f"{len(t)}\t{logp_rest:.6f}\t{logp:.6f}\t{text}")
