#!/usr/bin/env python3
"""Utility of curator mode on a corpus, as one Markdown table.

Embeds the corpus once, then for every accountant, projection and epsilon: synthesize, evaluate,
one row.  A row that is already in WORK is not run again.

usage: population.py [--program build/fre-e2t] [--input data/assistant-requests.jsonl.gz]
                     [--work DIR] [--epsilon 1,2,4,8,inf] [--accountant joint,paper]
                     [--projection-dim 20,25,30,40] [--population 1000000] [--delta auto] [--repeat 1]
                     [--inverter FILE|none] [--paraphrases 0] [--temperature 1.0]
                     [--language-model none|default|FILE] [--score-model none|default|FILE]
                     [-- extra flags of synthesize]

Columns: p, sigma, tau of the plan; cells released; precision and recall of cells against the
noiseless ones; precision, recall and F1 at centroid and at text level against frequent originals;
median planned noise norm; share of texts that are a frequent text word for word (case aside);
seconds of synthesize without embedding.  With --paraphrases N: precision, recall and F1 of texts and
paraphrases as one set, paraphrases a text, and seconds of `paraphrase` (--language-model and
--temperature are its flags; the release itself is made without).  With --score-model: median negative
log-likelihood a token (`score`) of the texts, of the paraphrases, and of the real ones, which are
the input's distinct texts that come at least 100 times.  With --repeat the numbers are means over runs, each with
its own randomness.
"""
import argparse
import collections
import gzip
import json
import math
import os
import statistics
import time

from common import cell, keep, kept, run

def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--program", default="build/fre-e2t")
    p.add_argument("--input", default="data/assistant-requests.jsonl.gz")
    p.add_argument("--work", default="experiment")
    p.add_argument("--epsilon", default="1,2,4,8,inf")
    p.add_argument("--accountant", default="joint,paper")
    p.add_argument("--projection-dim", default="20")
    p.add_argument("--population", default="1000000")
    p.add_argument("--delta", default="auto")
    p.add_argument("--repeat", type=int, default=1)
    p.add_argument("--inverter", default=None)
    p.add_argument("--paraphrases", type=int, default=0)
    p.add_argument("--temperature", default="1.0")
    p.add_argument("--language-model", default="none")
    p.add_argument("--score-model", default="none")
    p.add_argument("extra", nargs="*")
    return p.parse_args()


def embed(a):
    path = os.path.join(a.work, "corpus.npy")
    if not os.path.exists(path):
        run(a.program, "embed", a.input, "-o", path)
    return path


REAL = 100  # how often a text comes to be one of the real ones


def real_texts(a):
    path = os.path.join(a.work, "real.jsonl")
    if not os.path.exists(path):
        with (gzip.open if a.input.endswith(".gz") else open)(a.input, "rt", encoding="utf-8") as f:
            times = collections.Counter(json.loads(line)["text"] for line in f if line.strip())
        put_texts(path, [t for t, n in times.items() if n >= REAL])
    return path


def put_texts(path, texts):
    with open(path + ".partial", "w", encoding="utf-8") as f:
        for text in texts:
            f.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    os.replace(path + ".partial", path)


def median_nll(a, path):
    if os.path.getsize(path) == 0:
        return None
    model = [] if a.score_model == "default" else ["--language-model", a.score_model]
    return json.loads(run(a.program, "score", path, "--json", "--quiet", *model))["median_nll"]


def naturalness(a, release, varied):
    """Median NLL of the texts, their paraphrases, and real ones (scored once)."""
    path = os.path.join(a.work, "real-nll.json")
    if not os.path.exists(path):
        keep(path, median_nll(a, real_texts(a)))
    nll = {"real": kept(path)}
    nll["text"] = median_nll(a, os.path.join(release, "synthetic.jsonl"))
    if varied:
        with open(varied, encoding="utf-8") as f:
            lists = [json.loads(line)["paraphrases"] for line in f]
        put_texts(release + "-paraphrases.jsonl", [t for texts in lists for t in texts])
        nll["paraphrases"] = median_nll(a, release + "-paraphrases.jsonl")
    return nll


def vary(a, release):
    """The release with paraphrases, in a file beside it, and what that cost."""
    varied = release + "-varied.jsonl"
    start = time.monotonic()
    done = json.loads(run(a.program, "paraphrase", release, "-o", varied, "--force", "--quiet",
                          "--json", "--paraphrases", a.paraphrases, "--temperature", a.temperature,
                          "--language-model", a.language_model))
    return varied, {"seconds": time.monotonic() - start,
                    "each": done["paraphrases"] / max(done["texts"], 1)}


def once(a, x, accountant, k, epsilon, repeat):
    """One release and its evaluation, kept as JSON in the work folder."""
    name = f"{accountant}-k{k}-eps{epsilon}-{repeat}" + ("-none" if a.inverter == "none" else "")
    if a.paraphrases:
        model = os.path.basename(a.language_model)
        name += f"-p{a.paraphrases}-t{a.temperature}-{model}"
    result = os.path.join(a.work, name + ".json")
    row = kept(result)
    if row is not None:
        return row
    release = os.path.join(a.work, name)
    words = [a.program, "synthesize", x, "-o", release, "--force", "--quiet", "--ledger", "none",
             "--epsilon", epsilon, "--accountant", accountant, "--projection-dim", k,
             "--population", a.population, "--delta", a.delta]
    if a.inverter:
        words += ["--inverter", a.inverter]
    start = time.monotonic()
    if run(*words, *a.extra, may_refuse=True) is None:
        return {}
    seconds = time.monotonic() - start
    varied, paraphrased = vary(a, release) if a.paraphrases else (None, None)
    scores = json.loads(run(a.program, "evaluate", varied or release, a.input, "--release", release,
                            "--embeddings", x, "--public", "--quiet", "--json"))
    with open(os.path.join(release, "release.json"), encoding="utf-8") as f:
        parameters = json.load(f)["parameters"]
    with open(os.path.join(release, "synthetic.jsonl"), encoding="utf-8") as f:
        noise = [json.loads(line)["noise_norm"] for line in f]
    row = {"scores": scores, "parameters": parameters, "seconds": seconds,
           "noise": statistics.median(noise) if noise else None, "released": len(noise),
           "paraphrased": paraphrased,
           "nll": naturalness(a, release, varied) if a.score_model != "none" else None}
    keep(result, row)
    return row


def pick(row, *path):
    for key in path:
        if row is None:
            return math.nan
        row = row.get(key)
    return math.nan if row is None else float(row)


def mean(rows, *path):
    values = [pick(r, *path) for r in rows]
    values = [v for v in values if not math.isnan(v)]
    return statistics.fmean(values) if values else math.nan


PARAPHRASED = [
    ("with paraphrases P", 3, ("scores", "text_with_paraphrases", "frequent", "precision")),
    ("R", 3, ("scores", "text_with_paraphrases", "frequent", "recall")),
    ("F1", 3, ("scores", "text_with_paraphrases", "frequent", "f1")),
    ("each", 1, ("paraphrased", "each")), ("s", 0, ("paraphrased", "seconds")),
]
NATURAL = [("NLL text", 2, ("nll", "text")), ("paraphrases", 2, ("nll", "paraphrases")),
           ("real", 2, ("nll", "real"))]
COLUMNS = [
    ("p", 3, ("parameters", "sampling_rate")), ("sigma", 3, ("parameters", "sigma")),
    ("tau", 0, ("parameters", "tau")), ("cells", 1, ("released",)),
    ("cell P", 3, ("scores", "cell", "frequent", "precision")),
    ("cell R", 3, ("scores", "cell", "frequent", "recall")),
    ("centroid P", 3, ("scores", "centroid", "frequent", "precision")),
    ("R", 3, ("scores", "centroid", "frequent", "recall")),
    ("F1", 3, ("scores", "centroid", "frequent", "f1")),
    ("text P", 3, ("scores", "text", "frequent", "precision")),
    ("R", 3, ("scores", "text", "frequent", "recall")),
    ("F1", 3, ("scores", "text", "frequent", "f1")),
    ("L2", 3, ("scores", "text", "frequent", "l2")),
    ("noise", 3, ("noise",)),
    ("exact", 3, ("scores", "exact", "frequent_case_blind")), ("s", 0, ("seconds",)),
]


def main():
    a = arguments()
    os.makedirs(a.work, exist_ok=True)
    x = embed(a)
    columns = COLUMNS + (PARAPHRASED if a.paraphrases else [])
    columns += NATURAL if a.score_model != "none" else []
    heads = ["accountant", "k", "epsilon"] + [c[0] for c in columns]
    print("| " + " | ".join(heads) + " |")
    print("|" + " --- |" * len(heads), flush=True)
    for accountant in a.accountant.split(","):
        for k in a.projection_dim.split(","):
            for epsilon in a.epsilon.split(","):
                rows = [once(a, x, accountant, k, epsilon, i) for i in range(a.repeat)]
                words = [accountant, k, epsilon]
                words += [cell(mean(rows, *path), digits) for _, digits, path in columns]
                print("| " + " | ".join(words) + " |", flush=True)


main()
