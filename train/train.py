"""Trains the inverter for a given time; goes on from its last state when called again."""
import argparse
import contextlib
import dataclasses
import os
import time

import tokenizers
import torch

import corpus
import evaluate
import own
import weights
from data import FIXING, PLAIN, Buckets, Log, Noise, encode, sequences
from embedder import Embedder, sha256
from model import Inverter, Shape
from optimiser import optimisers
from prior import Prior


class Data:
    """Texts, ids, lengths, embeddings and weights on one device."""

    def __init__(self, a, device, log):
        began = time.time()
        self.tokenizer = tokenizers.Tokenizer.from_file(a.tokenizer)
        texts, weights = corpus.load(a.corpus, a.closed, limit=a.limit)
        ids, lengths = encode(self.tokenizer, texts)
        keep = (lengths > 0).nonzero()[:, 0].tolist()
        texts = [texts[i] for i in keep]
        self.ids, self.lengths = ids[keep].to(device), lengths[keep].to(device)
        self.weights = torch.tensor(weights)[keep].to(device)
        log(what="read", texts=len(texts), tokens=int(lengths.sum()), seconds=time.time() - began)
        began = time.time()
        half = device.type == "cuda"
        self.embedder = Embedder(a.embedder, device, torch.float16 if half else torch.float32)
        self.clean = self.embedder.embed(texts, 1 << 19 if half else 1 << 14)
        log(what="embedded", seconds=time.time() - began)


class Held:
    """Lines kept out of training, and their loss."""

    def __init__(self, a, data, device):
        texts = [corpus.usual_case(t) for t, _ in corpus.read(a.heldout)][:4096]
        ids, lengths = encode(data.tokenizer, texts)
        keep = lengths > 0
        self.ids, self.lengths = ids[keep].to(device), lengths[keep].to(device)
        self.clean = data.embedder.embed([t for t, k in zip(texts, keep.tolist()) if k], 1 << 14)

    @torch.no_grad()
    def loss(self, model, noise, norm, cast):
        n, total, count = 512, 0.0, 0
        model.eval()
        with torch.random.fork_rng(devices=[0] if self.ids.is_cuda else []):
            torch.manual_seed(5)
            for i in range(0, len(self.ids), n):
                part = slice(i, i + n)
                norms = torch.full((len(self.ids[part]),), norm, device=self.ids.device)
                _, guess, std = noise(self.clean[part], norms)
                x, goal = sequences(self.ids[part], self.lengths[part], 32)
                with cast():
                    k = int((goal >= 0).sum())
                    total += float(model.loss(guess, std, x, goal)) * k
                    count += k
        model.train()
        return total / count


def start_from_encoder(model, data):
    """Token rows from the principal components of the tokens' own embeddings, and the projector's
    direct path from the same map: prefix rows then point at the words of the text."""
    s = model.shape
    words = [data.tokenizer.decode([i]).strip() or "." for i in range(s.vocab)]
    e = data.embedder.embed(words, 1 << 14).float()
    mean = e.mean(0)
    _, _, v = torch.linalg.svd(e - mean, full_matrices=False)
    k = min(s.dim, v.shape[0])
    scores = (e - mean) @ v[:k].T
    scale = 0.02 / scores.std()
    with torch.no_grad():
        model.table[:, :k] = scores * scale + 0.2 * model.table[:, :k]
        model.project.w0.mul_(0.5)
        rows = model.project.w0.view(s.prefix, s.dim, -1)
        rows[:, :k, :s.embedding] += v[:k] * (scale * 2 / s.embedding ** 0.5)


class Trainer:
    def __init__(self, a):
        self.a, self.device = a, torch.device(a.device)
        torch.manual_seed(a.seed)
        os.makedirs(a.work, exist_ok=True)
        os.makedirs(a.output or a.work, exist_ok=True)
        self.log = Log(os.path.join(a.output or a.work, "log.jsonl"))
        self.data = Data(a, self.device, self.log)
        self.prior = Prior(a.prior, self.device)
        self.noise = Noise(self.prior)
        self.held = Held(a, self.data, self.device)
        saved = self.saved()
        shape = Shape(**saved["shape"]) if saved else Shape(
            dim=a.dim, layers=a.layers, heads=a.dim // 64, ffn=a.ffn, hidden=a.hidden,
            vocab=self.data.tokenizer.get_vocab_size())
        self.model = Inverter(shape).to(self.device)
        if not saved:
            start_from_encoder(self.model, self.data)
        self.optimisers = optimisers(self.model, a.muon_lr, a.adam_lr)
        self.first = [[g["lr"] for g in o.param_groups] for o in self.optimisers]
        self.plain = Buckets(self.data.lengths, self.data.weights, PLAIN, a.positions, self.model.shape.prefix)
        self.pool = self.fixing = self.mine = None
        self.step, self.spent, self.pools = 0, 0.0, 0
        if saved:
            self.resume(saved)
        if a.compile:
            torch._dynamo.config.recompile_limit = 64
            for block in self.model.blocks:
                block.compile(dynamic=False)
            self.model.ending = torch.compile(self.model.ending, dynamic=False)

    def cast(self):
        return torch.autocast(self.device.type, torch.bfloat16) if self.a.bf16 else contextlib.nullcontext()

    def dtype(self):
        return torch.bfloat16 if self.a.bf16 else torch.float32

    def state_path(self):
        return os.path.join(self.a.work, "state.pt")

    def saved(self):
        """The last checkpoint; else weights alone, which begin a new schedule; else None."""
        if os.path.exists(self.state_path()):
            return torch.load(self.state_path(), map_location=self.device, weights_only=True)
        return weights.read(self.a.work)

    def resume(self, saved):
        self.model.load_state_dict(saved["model"])
        if "optimisers" in saved:
            for o, d in zip(self.optimisers, saved["optimisers"]):
                o.load_state_dict(d)
            self.step, self.spent = saved["step"], saved["spent"]
            done = self.spent / (self.a.minutes * 60)
            self.pools = max(0, sum(done >= p for p in self.a.pools) - 1)  # the last one is drawn anew
        self.log(what="resumed", step=self.step, minutes=self.spent / 60)

    def save(self):
        state = {"model": self.model.state_dict(), "optimisers": [o.state_dict() for o in self.optimisers],
                 "step": self.step, "spent": self.spent, "shape": dataclasses.asdict(self.model.shape),
                 "prior_sha256": sha256(self.a.prior), "embedder_sha256": sha256(self.a.embedder)}
        torch.save(state, self.state_path() + ".part")
        os.replace(self.state_path() + ".part", self.state_path())
        weights.write(state, self.a.output or self.a.work)

    def rate(self, done):
        """Warm-up by steps, then flat, then down to nothing when the time is over."""
        r = min(1.0, (self.step + 1) / 200, max(0.0, (1.0 - done) / self.a.cooldown))
        for o, first in zip(self.optimisers, self.first):
            for g, lr in zip(o.param_groups, first):
                g["lr"] = lr * r
        return r

    def refresh(self):
        began = time.time()
        self.pool = own.build(self.model, self.data, self.noise, self.a.own, self.a.own_batch, self.cast, self.dtype())
        p, w = self.pool, torch.ones(2 * self.a.own, device=self.device)
        self.mine = Buckets(torch.where(p.usable, p.lengths, 0), w, PLAIN, self.a.positions, self.model.shape.prefix)
        s = self.model.shape
        self.fixing = Buckets(p.total, torch.where(p.best, 1.0, 0.3), FIXING, self.a.positions, s.prefix + s.fix_prefix)
        self.pools += 1
        self.log(what="own texts", n=2 * self.a.own, exact=p.hit, distance=p.far, seconds=time.time() - began)

    def plain_batch(self):
        b = self.plain.pick()
        n, size = self.plain.rows[b], PLAIN[b]
        mine = int(n * self.a.own_share) if self.mine and self.mine.share[b] > 0 else 0
        i = self.plain.draw(b, n - mine)
        ids, lengths, clean = self.data.ids[i], self.data.lengths[i], self.data.clean[i]
        if mine:
            j = self.mine.draw(b, mine)
            ids = torch.cat((ids, self.pool.ids[j]))
            lengths, clean = torch.cat((lengths, self.pool.lengths[j])), torch.cat((clean, self.pool.clean[j]))
        _, guess, std = self.noise(clean)
        x, goal = sequences(ids, lengths, size)
        return guess, std, x, goal, None

    def fixing_batch(self):
        """Half of the rows keep the noise that their hypothesis was drawn under."""
        b = self.fixing.pick()
        i = self.fixing.draw(b, self.fixing.rows[b])
        p, target = self.pool, self.pool.target[i]
        std = p.std[i]
        _, guess, _ = self.noise(self.data.clean[target], std * self.prior.mean.numel() ** 0.5)
        guess = torch.where((torch.arange(len(i), device=self.device) % 2 == 0)[:, None], p.guess[i].float(), guess)
        x, goal = sequences(self.data.ids[target], self.data.lengths[target], FIXING[b], p.ids[i], p.lengths[i] - 1)
        return guess, std, x, goal, p.clean[i].float()

    def run(self):
        a, window, began = self.a, [], time.time()
        total, spent = a.minutes * 60, self.spent
        saved = looked = began
        while self.spent < total and self.step < a.steps:
            done = self.spent / total
            if self.pools < len(a.pools) and done >= a.pools[self.pools]:
                self.refresh()
            rate = self.rate(done)
            fix = self.fixing is not None and float(torch.rand(1)) < a.fix_share and bool(self.fixing.share.any())
            guess, std, x, goal, hypothesis = self.fixing_batch() if fix else self.plain_batch()
            with self.cast():
                loss = self.model.loss(guess, std, x, goal, hypothesis)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            for o in self.optimisers:
                o.step()
                o.zero_grad(set_to_none=True)
            self.step += 1
            window.append((fix, loss.detach(), x.numel(), len(x)))
            if self.step % a.every == 0 or self.step < 3:
                now = time.time()
                rows = {}
                for name, kind in (("loss", False), ("fix_loss", True)):
                    part = [w[1] for w in window if w[0] == kind]
                    if part:
                        rows[name] = float(torch.stack(part).mean())
                self.spent = spent + time.time() - began
                self.log(what="step", step=self.step, minutes=self.spent / 60, rate=rate,
                         rows_a_second=sum(w[3] for w in window) / max(1e-9, time.time() - looked), **rows)
                window, looked = [], time.time()
                if now - saved > a.save:
                    self.check()
                    saved = time.time()
            self.spent = spent + time.time() - began
        if self.step:
            self.check()

    def check(self):
        self.save()
        self.log(what="held out", step=self.step, clean=self.held.loss(self.model, self.noise, 0.0, self.cast),
                 noise_half=self.held.loss(self.model, self.noise, 0.5, self.cast))


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--corpus", required=True)
    p.add_argument("--heldout", required=True)
    p.add_argument("--closed", required=True, help="digests of texts that must not be learnt")
    p.add_argument("--tokenizer", required=True)
    p.add_argument("--embedder", required=True)
    p.add_argument("--prior", required=True)
    p.add_argument("--work", required=True, help="folder for the state")
    p.add_argument("--output", help="folder for the log and the finished weights (default: --work)")
    p.add_argument("--evaluate", nargs="*", default=[], help="texts to bring back at the end")
    p.add_argument("--evaluate-n", type=int, default=400)
    p.add_argument("--device", default="cpu")
    p.add_argument("--minutes", type=float, default=60)
    p.add_argument("--steps", type=int, default=10 ** 9)
    p.add_argument("--limit", type=int, default=0, help="texts at most (0: all)")
    p.add_argument("--dim", type=int, default=320)
    p.add_argument("--layers", type=int, default=5)
    p.add_argument("--ffn", type=int, default=896)
    p.add_argument("--hidden", type=int, default=1536)
    p.add_argument("--positions", type=int, default=0, help="positions a batch (0: by device)")
    p.add_argument("--muon-lr", type=float, default=0.02)
    p.add_argument("--adam-lr", type=float, default=2e-3)
    p.add_argument("--cooldown", type=float, default=0.65, help="share of the time over which the rate falls")
    p.add_argument("--pools", type=float, nargs="*", default=[0.25, 0.55], help="when own texts are drawn")
    p.add_argument("--own", type=int, default=0, help="lines with own texts (0: by device)")
    p.add_argument("--own-batch", type=int, default=16384)
    p.add_argument("--own-share", type=float, default=0.25)
    p.add_argument("--fix-share", type=float, default=0.35)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--every", type=int, default=100)
    p.add_argument("--save", type=float, default=120, help="seconds between checkpoints")
    p.add_argument("--bf16", action=argparse.BooleanOptionalAction, default=True)
    p.add_argument("--compile", action=argparse.BooleanOptionalAction, default=None)
    a = p.parse_args()
    cuda = a.device.startswith("cuda")
    a.positions = a.positions or (81920 if cuda else 8192)
    a.own = a.own or (300000 if cuda else 20000)
    if a.compile is None:
        a.compile = cuda
    return a


def main():
    a = arguments()
    torch.set_float32_matmul_precision("high")
    if a.device.startswith("cuda"):
        torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for every shape
    t = Trainer(a)
    t.run()
    if a.evaluate:
        evaluate.run(t, a.evaluate, a.evaluate_n)


if __name__ == "__main__":
    main()
