#!/usr/bin/env python3
"""Utility of curator mode on a corpus, as one Markdown table.

Embeds the corpus once, then for every accountant, projection and epsilon: synthesize, evaluate,
one row.  A row that is already in WORK is not run again.

usage: population.py [--program build/fre-e2t] [--input data/assistant-requests.jsonl.gz]
                     [--work DIR] [--epsilon 1,2,4,8,inf] [--accountant joint,paper]
                     [--projection-dim 20,25,30,40] [--population 1000000] [--repeat 1]
                     [--inverter FILE|none] [-- extra flags of synthesize]

Columns: p, sigma, tau of the plan; cells released; precision and recall of cells against the
noiseless ones; precision, recall and F1 at centroid and at text level against frequent originals;
median planned noise norm; share of texts that are a frequent text word for word (case aside);
seconds of synthesize without embedding.  With --repeat the numbers are means over runs, each with
its own randomness.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time


INFEASIBLE = 64  # the program's exit code for a budget that can't be met


def run(*words, may_refuse=False):
    """Standard output; None when the budget was refused and that is expected."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, check=False)
    if may_refuse and done.returncode == INFEASIBLE:
        return None
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}")
    return done.stdout


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--program", default="build/fre-e2t")
    p.add_argument("--input", default="data/assistant-requests.jsonl.gz")
    p.add_argument("--work", default="experiment")
    p.add_argument("--epsilon", default="1,2,4,8,inf")
    p.add_argument("--accountant", default="joint,paper")
    p.add_argument("--projection-dim", default="20")
    p.add_argument("--population", default="1000000")
    p.add_argument("--repeat", type=int, default=1)
    p.add_argument("--inverter", default=None)
    p.add_argument("extra", nargs="*")
    return p.parse_args()


def embed(a):
    path = os.path.join(a.work, "corpus.npy")
    if not os.path.exists(path):
        run(a.program, "embed", a.input, "-o", path)
    return path


def once(a, x, accountant, k, epsilon, repeat):
    """One release and its evaluation, kept as JSON in the work folder."""
    name = f"{accountant}-k{k}-eps{epsilon}-{repeat}" + ("-none" if a.inverter == "none" else "")
    result = os.path.join(a.work, name + ".json")
    if os.path.exists(result):
        with open(result, encoding="utf-8") as f:
            return json.load(f)
    release = os.path.join(a.work, name)
    words = [a.program, "synthesize", x, "-o", release, "--force", "--quiet", "--ledger", "none",
             "--epsilon", epsilon, "--accountant", accountant, "--projection-dim", k,
             "--population", a.population]
    if a.inverter:
        words += ["--inverter", a.inverter]
    start = time.monotonic()
    if run(*words, *a.extra, may_refuse=True) is None:
        return {}
    seconds = time.monotonic() - start
    scores = json.loads(run(a.program, "evaluate", release, a.input, "--embeddings", x, "--public",
                            "--quiet", "--json"))
    with open(os.path.join(release, "release.json"), encoding="utf-8") as f:
        parameters = json.load(f)["parameters"]
    with open(os.path.join(release, "synthetic.jsonl"), encoding="utf-8") as f:
        noise = [json.loads(line)["noise_norm"] for line in f]
    row = {"scores": scores, "parameters": parameters, "seconds": seconds,
           "noise": statistics.median(noise) if noise else None, "released": len(noise)}
    with open(result + ".partial", "w", encoding="utf-8") as f:
        json.dump(row, f, indent=1)
    os.replace(result + ".partial", result)
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


def cell(value, digits):
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


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
    heads = ["accountant", "k", "epsilon"] + [c[0] for c in COLUMNS]
    print("| " + " | ".join(heads) + " |")
    print("|" + " --- |" * len(heads), flush=True)
    for accountant in a.accountant.split(","):
        for k in a.projection_dim.split(","):
            for epsilon in a.epsilon.split(","):
                rows = [once(a, x, accountant, k, epsilon, i) for i in range(a.repeat)]
                words = [accountant, k, epsilon]
                words += [cell(mean(rows, *path), digits) for _, digits, path in COLUMNS]
                print("| " + " | ".join(words) + " |", flush=True)


main()
