"""Bringing texts back from their embeddings: greedy, the best of several draws, and draws mended by
the corrector, the best by distance to the noisy point."""
import torch

import corpus
from data import LENGTH, encode
from sample import draw, texts

NORMS = (0.0, 0.5)


def word_f1(a, b):
    a, b = corpus.fold(a).split(), corpus.fold(b).split()
    both = sum(min(a.count(w), b.count(w)) for w in set(a))
    return 2 * both / (len(a) + len(b)) if a or b else 0.0


def correct(t, guess, std, words, made, times, temperature):
    """`times` corrections of each text; draws of one length of hypothesis at a time."""
    ids, lengths = encode(t.data.tokenizer, [w or "-" for w in words])
    ids, lengths = ids.long().to(t.device), lengths.to(t.device)
    out = [[] for _ in words]
    for n in range(2, LENGTH + 1):
        which = (lengths == n).nonzero()[:, 0].repeat_interleave(times)
        if len(which):
            with t.cast():
                rows = t.model.rows(guess[which], std[which], made[which])
            drawn = draw(t.model, rows, LENGTH, temperature, given=ids[which, :n - 1], dtype=t.dtype())
            for i, w in zip(which.tolist(), texts(t.data.tokenizer, drawn)):
                out[i].append(w)
    return out


class Best:
    """The text nearest to each point so far."""

    def __init__(self, t, mu):
        self.t, self.mu = t, mu
        self.words = [""] * len(mu)
        self.far = torch.full((len(mu),), torch.inf, device=mu.device)
        self.made = torch.zeros_like(mu)

    def add(self, lists):
        owner = [i for i, ws in enumerate(lists) for w in ws if w]
        words = [w for ws in lists for w in ws if w]
        made = self.t.data.embedder.embed(words, 1 << 17).float()
        far = (made - self.mu[owner]).norm(dim=1).tolist()
        for i, w, d, k in zip(owner, words, far, range(len(words))):
            if d < float(self.far[i]):
                self.far[i], self.words[i], self.made[i] = d, w, made[k]

    def report(self, name, true, clean, split):
        for label, part in split:
            exact = [self.words[i].lower() == true[i].lower() for i in part]
            f1 = [word_f1(self.words[i], true[i]) for i in part]
            far = (self.made[part] - clean[part]).norm(dim=1)
            self.t.log(what="evaluated", method=name, set=label, n=len(part), exact=sum(exact) / len(part),
                       f1=sum(f1) / len(part), distance=float(far.mean()))


@torch.no_grad()
def run(t, paths, n):
    true, split = [], []
    for path in paths:
        rows = [x for x, _ in corpus.read(path)][:n]
        for norm in NORMS:
            split.append((f"{path.rsplit('/')[-1].split('.')[0]} {norm}", list(range(len(true), len(true) + len(rows)))))
            true += rows
    clean = t.data.embedder.embed(true, 1 << 17).float()
    norms = torch.tensor([NORMS[k % 2] for k, (_, part) in enumerate(split) for _ in part], device=t.device)
    mu, guess, std = t.noise(clean, norms)

    def several(times, temperature):
        with t.cast():
            rows = t.model.rows(guess, std).repeat_interleave(times, 0)
        drawn = texts(t.data.tokenizer, draw(t.model, rows, LENGTH, temperature, dtype=t.dtype()))
        return [drawn[i:i + times] for i in range(0, len(drawn), times)]

    best = Best(t, mu)
    best.add(several(1, 0.0))
    best.report("greedy", true, clean, split)
    best.add(several(15, 0.8))
    best.report("best of 16", true, clean, split)
    mended = Best(t, mu)
    mended.words, mended.far, mended.made = list(best.words), best.far.clone(), best.made.clone()
    best.add(several(16, 0.8))
    best.report("best of 32", true, clean, split)
    for _ in range(2):
        mended.add(correct(t, guess, std, mended.words, mended.made, 8, 0.8))
        mended.report("best of 16, then mended" if _ == 0 else "mended twice", true, clean, split)
