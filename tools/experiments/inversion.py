#!/usr/bin/env python3
"""How well texts come back from noisy embeddings: the tables of docs/inversion.md.

usage: inversion.py --set TITLE=FILE[@FIELD:VALUE,VALUE...] [--set ...] --public FILE
                    [--public-lines 100000] [--language-model default|FILE|none] [--effort 7]
                    [--n 40] [--n-search 20] [--noise 0,0.2,0.5,0.8,1.2]
                    [--method nearest,default,default-search,search]
                    [--embedder FILE [--bridge FILE]]
                    [--work DIR] [--program build/fre-e2t] [--nearest build/release/bench/nearest_text]
                    [--threads N] [--docs docs/inversion.md]

FILE: JSON lines, also .gz; the first n texts of it become a set, or, with FIELD, n of those that have
one of the values, from each value in turn (such files often go by sources, one after the other).  --public: texts for the method "nearest" and for the search, none of which may be in a
set; its first --public-lines texts are taken.  Each embedding gets Gaussian noise, of the given norm
in all, from a fixed seed; the methods get the noisy embedding and its noise level:
  nearest         the public text nearest to it
  default         invert, nothing else
  default-search  invert --public-corpus --language-model --effort
  search          the same with --inverter search: no decoder trained for the embedder
--n-search: texts for the last two.  --embedder: not the bundled one; the default inverter is not
made for it, so that the methods are then nearest and search; with --bridge FILE (model bridge) all
of them.  Seconds a text are of processors (half of them on the clock of two idle cores), start-up
taken off (a run over one text, once a method).

A row that is in DIR already (made from the same files, models and flags) is not run again: delete
DIR when the program has changed.  With --docs the tables replace what stands there between the
markers; else they are printed.
"""
import argparse
import array
import gzip
import hashlib
import itertools
import json
import math
import os
import random
import re
import resource
import statistics
import struct
import sys

import text_scores
from common import replace_section, run

BEGIN = "<!-- made by tools/experiments/inversion.py -->"
END = "<!-- end of what tools/experiments/inversion.py made -->"
TITLES = {"nearest": "nearest public text", "default": "default inverter",
          "default-search": "default + search", "search": "search alone"}


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--set", action="append", required=True, dest="sets")
    p.add_argument("--public", required=True)
    p.add_argument("--public-lines", type=int, default=100000)
    p.add_argument("--language-model", default="default")
    p.add_argument("--effort", default="7")
    p.add_argument("--n", type=int, default=40)
    p.add_argument("--n-search", type=int, default=20)
    p.add_argument("--noise", default="0,0.2,0.5,0.8,1.2")
    p.add_argument("--method")
    p.add_argument("--embedder")
    p.add_argument("--bridge")
    p.add_argument("--work", default="experiment-inversion")
    p.add_argument("--program", default="build/fre-e2t")
    p.add_argument("--nearest", default="build/release/bench/nearest_text")
    p.add_argument("--threads", default=str(os.cpu_count()))
    p.add_argument("--docs")
    a = p.parse_args()
    a.sets = [parse_set(s) for s in a.sets]
    a.noise = [float(s) for s in a.noise.split(",")]
    alone = a.embedder and not a.bridge
    a.method = (a.method or ",".join(["nearest", "search"] if alone else TITLES)).split(",")
    return a


def parse_set(word):
    match = re.fullmatch(r"([^=]+)=([^@]+)(?:@([^:]+):(.+))?", word)
    if not match:
        sys.exit(f"--set {word}: must be TITLE=FILE or TITLE=FILE@FIELD:VALUE,VALUE")
    title, path, field, values = match.groups()
    return title, path, field, values.split(",") if values else (None,)


# ---- files ----------------------------------------------------------------------------------------

def records(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        for line in f:
            if line.strip():
                yield json.loads(line)


def put_texts(path, texts):
    with open(path + ".partial", "w", encoding="utf-8") as f:
        for t in texts:
            f.write(json.dumps({"text": t}, ensure_ascii=False) + "\n")
    os.replace(path + ".partial", path)


def take_texts(path, n, field=None, values=(None,)):
    lists = {v: [] for v in values}
    for r in records(path):
        mine = lists.get(r.get(field) if field else None)
        text = " ".join(r["text"].split())
        if mine is not None and text and len(mine) < n:
            mine.append(text)
        if all(len(t) == n for t in lists.values()):
            break
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*lists.values()))
    return list(itertools.islice((t for t in in_turn if t), n))


def read_npy(path):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<H", data[8:10])[0]
    rows, dim = map(int, re.search(rb"\((\d+), (\d+)\)", data[10:10 + size]).groups())
    flat = array.array("f", data[10 + size:])
    return [flat[i * dim:(i + 1) * dim] for i in range(rows)]


def put_npy(path, rows):
    dim = len(rows[0])
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {dim}), }}"
    header += " " * (117 - len(header)) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for row in rows:
            row.tofile(f)


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def digest(*parts):
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def file_digest(path):
    sha = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            sha.update(block)
    return sha.hexdigest()


# ---- rows -----------------------------------------------------------------------------------------

class Work:
    """The work folder: embeddings, noisy embeddings, outputs, finished rows."""

    def __init__(self, a):
        self.a = a
        os.makedirs(a.work, exist_ok=True)
        models = json.loads(run(a.program, "model", "list", "--json"))["models"]
        files = [m["path"] for m in models  # the language model has a flag of its own
                 if m.get("path") and not m["use"].startswith("language")]
        files += [path for path in (a.embedder, a.bridge) if path]
        self.models = digest(*map(file_digest, files))
        self.embedder = ["--embedder", a.embedder] if a.embedder else []
        self.start_up = {}

    def path(self, name):
        return os.path.join(self.a.work, name)

    def public(self):
        """Path of the public texts, one object a line; embedded only where they are asked for."""
        source = os.path.abspath(self.a.public)
        name = self.path("public-" + digest(source, os.path.getsize(source), self.a.public_lines,
                                            *map(file_digest, self.embedder[1:])))
        if not os.path.exists(name + ".jsonl"):
            put_texts(name + ".jsonl", take_texts(source, self.a.public_lines))
        return name

    def embed(self, texts, name):
        put_texts(self.path(name + ".jsonl"), texts)
        run(self.a.program, "embed", self.path(name + ".jsonl"), "-o", self.path(name + ".npy"),
            "--force", "--quiet", "--threads", self.a.threads, *self.embedder)
        return read_npy(self.path(name + ".npy"))

    def nearest(self, noisy):
        public = self.public()
        if not os.path.exists(public + ".npy"):
            run(self.a.program, "embed", public + ".jsonl", "-o", public + ".npy", "--threads",
                self.a.threads, *self.embedder)
        found = run(self.a.nearest, public + ".npy", noisy).split()[0::2]
        texts = [r["text"] for r in records(public + ".jsonl")]
        return [texts[int(i)] for i in found]

    def flags(self, method):
        flags = (["--inverter", "search"] if method == "search" else
                 ["--bridge", self.a.bridge or "none"])
        if method in ("default-search", "search"):
            flags += ["--public-corpus", self.public() + ".jsonl", "--language-model",
                      self.a.language_model, "--effort", self.a.effort]
        return flags

    def invert(self, method, noisy, std):
        out = self.path("made.jsonl")
        run(self.a.program, "invert", noisy, "-o", out, "--force", "--quiet", "--noise-std",
            repr(std), "--threads", self.a.threads, *self.embedder, *self.flags(method))
        return [r["text"] for r in records(out)]

    def timed(self, method, noisy, std):
        start = processor_seconds()
        made = self.nearest(noisy) if method == "nearest" else self.invert(method, noisy, std)
        return made, processor_seconds() - start

    def start(self, method, noisy, std):
        """Seconds that a run over one text takes; once a method."""
        if method not in self.start_up:
            put_npy(self.path("one.npy"), noisy[:1])
            if "search" in method:
                self.timed(method, self.path("one.npy"), std)  # makes the index if there is none
            self.start_up[method] = self.timed(method, self.path("one.npy"), std)[1]
        return self.start_up[method]

    def row(self, texts, method, norm):
        """One row's numbers, from the folder where it is there."""
        key = digest(self.models, method, norm, *texts,
                     *([] if method == "default" else [self.public()]),
                     *([self.a.language_model, self.a.effort] if "search" in method else []))
        kept = self.path(f"row-{key}.json")
        if os.path.exists(kept):
            with open(kept, encoding="utf-8") as f:
                return json.load(f)
        true = self.embed(texts, "true")
        std = norm / math.sqrt(len(true[0]))
        rng = random.Random(1)
        noisy = [array.array("f", (v + rng.gauss(0.0, std) for v in row)) for row in true]
        first = self.start(method, noisy, std)
        put_npy(self.path("noisy.npy"), noisy)
        made, whole = self.timed(method, self.path("noisy.npy"), std)
        row = scores(texts, made, true, self.embed(made, "back"))
        row["seconds"] = max(whole - first, 0.0) / max(len(texts) - 1, 1)
        with open(kept + ".partial", "w", encoding="utf-8") as f:
            json.dump({**row, "made": made}, f, ensure_ascii=False, indent=1)
        os.replace(kept + ".partial", kept)
        return row


def scores(texts, made, true, back):
    pairs = list(zip(made, texts))
    far = [math.dist(a, b) for a, b in zip(true, back)]
    n = len(texts)
    return {"n": n,
            "exact": sum(text_scores.exact(*p) for p in pairs) / n,
            "bleu": sum(text_scores.bleu(*p) for p in pairs) / n,
            "f1": sum(text_scores.f1(*p) for p in pairs) / n,
            "distance": statistics.median(far),
            "half": sum(d <= 0.5 for d in far) / n,
            "three_quarters": sum(d <= 0.75 for d in far) / n}


# ---- the tables -----------------------------------------------------------------------------------

HEAD = ("| noise | method | n | exact | BLEU | F1 | distance | <= .5 | <= .75 | CPU s/text |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n")


def line(norm, method, r):
    shares = [f"{100 * r[k]:.0f}" for k in ("exact", "bleu", "f1")]
    near = [f"{100 * r[k]:.0f}" for k in ("half", "three_quarters")]
    seconds = "-" if method == "nearest" else f"{r['seconds']:.2f}"
    return "| " + " | ".join([f"{norm:g}", TITLES[method], str(r["n"]), *shares,
                              f"{r['distance']:.2f}", *near, seconds]) + " |\n"


def tables(a):
    work = Work(a)
    for title, path, field, values in a.sets:
        texts = take_texts(path, a.n, field, values)
        if not texts:
            sys.exit(f"--set {title}: no text in {path}")
        yield f"{title}:\n\n{HEAD}"
        for norm in a.noise:
            for method in a.method:
                n = a.n_search if "search" in method else a.n
                yield line(norm, method, work.row(texts[:n], method, norm))
        yield "\n"


def main():
    a = arguments()
    made = []
    for part in tables(a):
        made.append(part)
        print(part, end="", flush=True)
    if a.docs:
        replace_section(a.docs, BEGIN, END, "".join(made))


if __name__ == "__main__":
    main()
