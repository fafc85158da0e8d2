"""The corpus on the device: token ids, embeddings, weights, and batches of one length each."""
import json

import numpy as np
import torch

from model import BOS, EOS, PAD

LENGTH = 32                 # tokens of a text at most, EOS included
PLAIN = (12, 20, 32)        # lengths of batches of texts
FIXING = (24, 40, 63)       # of hypothesis and text together


def encode(tokenizer, texts):
    """ids (n, LENGTH) int16 with EOS, lengths (n); length 0: too long or empty."""
    ids = np.full((len(texts), LENGTH), PAD, np.int16)
    lengths = np.zeros(len(texts), np.int64)
    step = 1 << 18
    for at in range(0, len(texts), step):
        for i, e in enumerate(tokenizer.encode_batch(texts[at:at + step]), at):
            n = len(e.ids)
            if 1 <= n < LENGTH:
                ids[i, :n] = e.ids
                ids[i, n] = EOS
                lengths[i] = n + 1
    return torch.from_numpy(ids), torch.from_numpy(lengths)


def noise_norms(n, device):
    """Total norms seen in training: none, of every order, and large ones."""
    kind = torch.rand(n, device=device)
    u = torch.rand(n, device=device)
    small, large = 0.03 * (1.2 / 0.03) ** u, 0.7 + 0.7 * u
    return torch.where(kind < 0.25, 0.0, torch.where(kind < 0.85, small, large))


class Noise:
    def __init__(self, prior):
        self.prior = prior

    def __call__(self, clean, norms=None):
        """Noisy points, their posterior means, and the noise's standard deviation a coordinate."""
        n, d = clean.shape
        clean = clean.float()
        std = (noise_norms(n, clean.device) if norms is None else norms) / d ** 0.5
        mu = clean + std[:, None] * torch.randn_like(clean)
        with torch.autocast(clean.device.type, torch.bfloat16, enabled=False):
            return mu, self.prior.posterior_mean(mu, std), std


def sequences(ids, lengths, size, before=None, n_before=None):
    """Input and goal (n, size) of [before, BOS, text]; goals are the text's tokens to EOS."""
    n, device = ids.shape[0], ids.device
    at = torch.arange(size + 1, device=device)[None, :]
    start = torch.zeros(n, 1, dtype=torch.long, device=device) if before is None else n_before[:, None]
    inside = at - start - 1
    text = ids.long().gather(1, inside.clamp(0, ids.shape[1] - 1))
    text = torch.where((inside >= 0) & (inside < lengths[:, None]), text, PAD)
    seq = torch.where(at == start, BOS, text)
    if before is not None:
        head = before.long().gather(1, at.clamp(max=before.shape[1] - 1).expand(n, -1))
        seq = torch.where(at < start, head, seq)
    goal = torch.where((at > start) & (at <= start + lengths[:, None]), seq, -100)[:, 1:]
    return seq[:, :-1].contiguous(), goal.contiguous()


class Buckets:
    """Row numbers drawn by weight, rows of like length together."""

    def __init__(self, lengths, weights, sizes, positions, overhead):
        self.sizes, self.rows, self.members, self.weights, share = sizes, [], [], [], []
        low = 0
        for size in sizes:
            inside = ((lengths > low) & (lengths <= size)).nonzero()[:, 0]
            low = size
            w = weights[inside]
            rows = max(8, positions // (size + overhead) // 64 * 64)
            self.rows.append(rows)
            self.members.append(inside)
            self.weights.append(w)
            share.append(float(w.sum()) / rows if len(inside) else 0.0)
        self.share = torch.tensor(share)
        self.queue = [torch.empty(0, dtype=torch.long, device=lengths.device) for _ in sizes]

    def pick(self):
        return int(torch.multinomial(self.share, 1))

    def draw(self, b, n):
        if len(self.queue[b]) < n:
            k = torch.multinomial(self.weights[b], max(n, 1 << 19), replacement=True)
            self.queue[b] = self.members[b][k]
        out, self.queue[b] = self.queue[b][:n], self.queue[b][n:]
        return out


class Log:
    def __init__(self, path):
        self.path = path

    def __call__(self, **what):
        line = json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in what.items()})
        print(line, flush=True)
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(line + "\n")
