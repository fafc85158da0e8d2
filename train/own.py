"""The half-trained model's own texts: each is a true pair with its embedding (more text to learn
from), and a hypothesis that the corrector learns to mend."""
import torch

from data import LENGTH, encode
from sample import draw, texts


class Pool:
    """ids, lengths, clean: the drawn texts and their embeddings.  target, mu, std: the line and the
    noisy point that text i was drawn for.  best: the nearer one of the two drawn for a point."""


@torch.no_grad()
def build(model, data, noise, n, batch, cast, dtype):
    """Two texts each for n lines."""
    device = data.ids.device
    target = torch.multinomial(data.weights, n, replacement=True)
    mu, guess, std = noise(data.clean[target])
    drawn = []
    for t in (0.7, 1.0):
        made = []
        for i in range(0, n, batch):
            with cast():
                rows = model.rows(guess[i:i + batch], std[i:i + batch])
            made.append(draw(model, rows, LENGTH, t, dtype=dtype))
        drawn.append(torch.cat(made))
    out = Pool()
    words = [w or "-" for w in texts(data.tokenizer, torch.cat(drawn))]
    ids, lengths = encode(data.tokenizer, words)
    out.ids, out.lengths = ids.to(device), lengths.to(device)
    out.clean = data.embedder.embed(words)
    out.target, out.mu, out.guess, out.std = (torch.cat((a, a)) for a in (target, mu.half(), guess.half(), std))
    far = (out.clean.float() - out.mu.float()).norm(dim=1)
    nearer = (far[:n] <= far[n:])
    out.best = torch.cat((nearer, ~nearer))
    same = (out.ids == data.ids[out.target]).all(1)
    out.usable = (out.lengths > 0)
    out.total = torch.where(out.usable, out.lengths - 1 + data.lengths[out.target], 0)
    out.hit = float(same.float().mean())
    out.far = float((out.clean[out.best].float() - data.clean[out.target[out.best]].float()).norm(dim=1).mean())
    return out
