#!/usr/bin/env python3
"""The grid against levels of public cells, on five public collections: a part of docs/results.md.

usage: levels.py DATA [--program build/fre-e2t] [--work DIR] [--docs docs/results.md] [--threads 2]
                 [--collection NAME,...] [--epsilon 1,2,4,8] [--check-lines] [--done]

DATA is a folder with the collections (COLLECTIONS below says which files, "bundled" is in data/) and with
the lines that codebooks are made of (TRAIN).  Everything that was done is kept in the work folder and not
done again; remove a file there to do it anew.  --done makes the tables of what is there and runs nothing.  Each release has a fixed seed: the collections are public.

No codebook may have learned lines of what it is measured with.  The lines that the bundled one was made of
are drawn again as they were (--check-lines embeds them too, twelve minutes of a processor, and compares them
with the hash that it keeps); texts of a collection that are among them (but for case and punctuation) are left
out of it.
"""
import argparse
import datetime
import gzip
import hashlib
import itertools
import json
import os
import statistics
import subprocess
import sys

from common import cell, keep, kept, machine, replace_section, run, table_head, table_row

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "train"))
import codebook_lines  # noqa: E402 (from the folder above)

BEGIN = "<!-- made by tools/experiments/levels.py -->"
END = "<!-- end of what tools/experiments/levels.py made -->"
# name: file, field of the label, what it is; ROWS: of a larger collection the first so many
COLLECTIONS = {
    "clinc-oos": ("clinc-oos.jsonl.gz", "label", "requests to an assistant in people's own words, 150 "
                  "intents and what is out of scope"),
    "rasa": ("rasa-community-nlu.jsonl.gz", "label", "very short utterances to chat-bots"),
    "packages": ("package-summaries.jsonl.gz", None, "one-line descriptions of software packages"),
    "questions": ("query-wellformedness.jsonl.gz", None, "search questions, nearly all different"),
    "bundled": ("", "label", "the bundled population: 300 frequent requests and 20,000 rare texts"),
}
BUNDLED = os.path.join(ROOT, "data", "assistant-requests.jsonl.gz")
TRAIN = "inverter-train.jsonl.gz"
# What the bundled codebook's lines were drawn without (train/README.md).
LEFT_OUT = ("clinc-oos", "rasa", "questions")
ROWS = {"packages": 30000}
LEVELS = "auto"
ALL_LEVELS = "grid,4096x64,4096x8,8192,4096,2048,1024,256"
POPULATION, THRESHOLD = 1000000, 50
SEED = "11" * 32
ALPHAS = (1.5, 2.0)  # reach .75 and 1 at the radius .5
REFERENCE = 2000       # originals whose naturalness is measured


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("data")
    p.add_argument("--program", default=os.path.join(ROOT, "build", "fre-e2t"))
    p.add_argument("--work", default="levels")
    p.add_argument("--docs")
    p.add_argument("--threads", default="2")
    p.add_argument("--collection", default=",".join(COLLECTIONS))
    p.add_argument("--epsilon", default="1,2,4,8")
    p.add_argument("--check-lines", action="store_true")
    p.add_argument("--done", action="store_true")
    a = p.parse_args()
    os.makedirs(a.work, exist_ok=True)
    return a


def path(a, name):
    return os.path.join(a.work, name)


def sha256(file):
    with open(file, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


# ---- the collections, without what the codebook has learned -------------------------------------------------

def source(a, name):
    file = COLLECTIONS[name][0]
    return os.path.join(a.data, file) if file else BUNDLED


def embeddings(a, file):
    x = file.removesuffix(".jsonl") + ".npy"
    if not os.path.exists(x):
        run(a.program, "embed", file, "-o", x, "--quiet", "--threads", a.threads)
    return x


def lines(a):
    """The lines that the bundled codebook was made of, and beside them those that it may show."""
    made = path(a, "bundled-lines")
    if not os.path.exists(made + "-sentences.jsonl"):
        words = [sys.executable, os.path.join(ROOT, "train", "codebook_lines.py"),
                 os.path.join(a.data, TRAIN), made]
        for other in LEFT_OUT:
            words += ["--leave-out", source(a, other)]
        run(*words)
    return made


def check_lines(a):
    """That they are what the bundled codebook was made of: as many, and if asked for with the same bits."""
    models = json.loads(run(a.program, "model", "list", "--json"))["models"]
    codebook = next(m["path"] for m in models if m["path"].endswith("codebook.gguf"))
    said = json.loads(run(a.program, "model", "info", codebook, "--json"))
    made = lines(a) + ".jsonl"
    with open(made, encoding="utf-8") as f:
        drawn = sum(1 for _ in f)
    if drawn != said["rows"] or a.check_lines and sha256(embeddings(a, made)) != said["made_of"]["sha256"]:
        sys.exit(f"the bundled codebook was made of other lines than these {drawn}, or they embed to other bits "
                 "here: what it has learned of the collections is not known")


def folded(file):
    with open(file, encoding="utf-8") as f:
        return {codebook_lines.fold(json.loads(line)["text"]) for line in f}


def texts(a, name):
    """The collection, or the first lines of a larger one (the rows stand in random order), without what
    the codebook has learned."""
    part = path(a, name + ".jsonl")
    if os.path.exists(part):
        return part
    learned = folded(lines(a) + ".jsonl") | folded(lines(a) + "-sentences.jsonl")
    with gzip.open(source(a, name), "rt", encoding="utf-8") as f:
        rows = list(itertools.islice(f, ROWS.get(name)))
    new = [row for row in rows if codebook_lines.fold(json.loads(row)["text"]) not in learned]
    keep(path(a, name + "-learned.json"), len(rows) - len(new))
    with open(part + ".partial", "w", encoding="utf-8") as f:
        f.writelines(new)
    os.replace(part + ".partial", part)
    return part


# ---- one run ----------------------------------------------------------------------------------------------

def nll(a, file):
    return json.loads(run(a.program, "score", file, "--json", "--quiet"))["median_nll"] \
        if os.path.getsize(file) > 0 else None


def real_nll(a, name):
    """Of the collection's first texts, once."""
    file = path(a, name + "-nll.json")
    if not os.path.exists(file):
        first = path(a, name + "-first.jsonl")
        with open(texts(a, name), encoding="utf-8") as f, open(first, "w", encoding="utf-8") as out:
            out.writelines(itertools.islice(f, REFERENCE))
        keep(file, nll(a, first))
    return kept(file)


def once(a, name, levels, epsilon, threshold=THRESHOLD):
    """One release and what it is worth; None if the budget can't be met, or with --done if it was not made."""
    kind = "grid" if levels == "grid" else "levels"
    file = path(a, f"{name}-{kind}-eps{epsilon}-t{threshold}")
    if os.path.exists(file + ".json"):
        return kept(file + ".json") or None
    if a.done:
        return None
    print(f"{name}, {kind}, epsilon {epsilon}, t {threshold}", file=sys.stderr, flush=True)
    x, label = embeddings(a, texts(a, name)), COLLECTIONS[name][1]
    made = run(a.program, "synthesize", x, "-o", file, "--force", "--quiet", "--ledger", "none", "--epsilon",
               epsilon, "--threshold", threshold, "--population", POPULATION, "--levels", levels, "--seed",
               SEED, "--user-field", "none", "--threads", a.threads, may_refuse=True)
    if made is None:
        keep(file + ".json", {})
        return None
    row = {"scores": json.loads(run(a.program, "evaluate", file, texts(a, name), "--embeddings", x,
                                    "--threshold", threshold, "--public", "--quiet", "--json", "--threads",
                                    a.threads, "--reference", "none",
                                    *(["--label-field", label, "--no-classifiers"] if label else []))),
           "nll": nll(a, os.path.join(file, "synthetic.jsonl"))}
    with open(os.path.join(file, "synthetic.jsonl"), encoding="utf-8") as f:
        norms = [json.loads(line)["noise_norm"] for line in f]
    row["noise"] = statistics.median(norms) if norms else None
    keep(file + ".json", row)
    return row


# ---- the page ---------------------------------------------------------------------------------------------

def at_alpha(scores, alpha):
    """Precision, recall and F1 of the texts, from the curves."""
    curves = scores["curves"] or {}
    found = (curves.get("text") or {}).get("frequent")
    i = min(range(len(curves["alpha"])), key=lambda j: abs(curves["alpha"][j] - alpha)) if found else None
    return [found[key][i] if found else None for key in ("precision", "recall", "f1")]


def number(value, digits=3):
    text = cell(value, digits)
    return text[1:] if text.startswith("0.") else text


def head(a):
    begun = kept(path(a, "begun.json"))
    if begun is None:
        commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True,
                                text=True, check=False).stdout.strip()
        begun = {"date": datetime.date.today().isoformat(), "commit": commit, "machine": machine(),
                 "version": run(a.program, "--version").decode().strip()}
        keep(path(a, "begun.json"), begun)
    return (f"Begun {begun['date']}, {begun['version']} ({begun['commit']}), {begun['machine']}. δ = 1/(10·N) = 10⁻⁷, N = {POPULATION:,}, "
            f"t = {THRESHOLD}, r = .5, each record a user, one run each with the seed {SEED[:2]} × 32; "
            f"default embedder and inverter; *levels* are `--levels auto`: `{ALL_LEVELS}` "
            "with noisy counts, without the grid where the budget allows no exact counts; where a row of the grid "
            "is missing, it is for the same reason.\n\n")


def sources(a, names):
    text = table_head(["collection", "texts", "what", "left out: learned by the codebook"])
    for name in names:
        with open(texts(a, name), encoding="utf-8") as f:
            n = sum(1 for _ in f)
        text += table_row([name, f"{n:,}", COLLECTIONS[name][2], str(kept(path(a, name + "-learned.json")))])
    return text + "\n"


def summary(a, name, runs):
    labelled = COLLECTIONS[name][1] is not None
    names = ["", "ε", "cells", "covered"]
    names += ["labels", "P", "R", "purity", "nearest: text", "centroid", "true mean"] if labelled else []
    names += ["noise", "centroid off", "text off", ".75: P", "R", "F1", "1: P", "R", "F1", "exact", "NLL"]
    text = table_head(names)
    for kind, epsilon, row in runs:
        whole = row["scores"]["all_levels"]
        cells = [kind, epsilon, str(whole["cells"]), number(whole["covered"])]
        if labelled:
            of = whole["labels"]
            cells += [str(of["hit"])] + [number(of[key]) for key in (
                "precision", "recall", "purity", "nearest_text", "nearest_centroid", "nearest_mean")]
        cells += [number(row["noise"]), number(whole["centroid_l2"]), number(whole["text_l2"])]
        for alpha in ALPHAS:
            cells += [number(v) for v in at_alpha(row["scores"], alpha)]
        exact = row["scores"]["exact"] or {}
        text += table_row(cells + [number(exact.get("any_case_blind")), number(row["nll"], 2)])
    return text + "\n"


def by_level(runs):
    """Cells and coverage of each level, a column each epsilon; then what its texts are worth."""
    levels = [(epsilon, {x["level"]: x for x in row["scores"]["levels"]})
              for kind, epsilon, row in runs if kind == "levels"]
    text = table_head(["level"] + [f"ε = {e}: cells, covered" for e, _ in levels])
    for level in ALL_LEVELS.split(","):
        text += table_row([level] + [f"{of[level]['cells']}, {number(of[level]['covered'])}" if level in of else "-"
                                     for _, of in levels])
    return text + "\n"


def of_each_level(row, labelled):
    names = ["level", "cells", "covered"] + (["labels", "P", "purity", "nearest: text", "centroid"]
                                             if labelled else [])
    text = table_head(names + ["noise", "centroid off", "text off", ".75: P", "R", "exact"])
    for x in row["scores"]["levels"] + [row["scores"]["all_levels"]]:
        cells = [x["level"], str(x["cells"]), number(x["covered"])]
        if labelled:
            of = x["labels"]
            cells += [str(of["hit"])] + [number(of[key]) for key in (
                "precision", "purity", "nearest_text", "nearest_centroid")]
        found = (x["text"] or {"frequent": {}})["frequent"]
        text += table_row(cells + [
            number(x["noise_norm"]), number(x["centroid_l2"]), number(x["text_l2"]),
            number(found.get("precision")), number(found.get("recall")),
            number((x["exact"] or {}).get("any_case_blind"))])
    return text + "\n"


def aim(what, got, least):
    if got is None:
        return table_row([what, str(least) if isinstance(least, int) else number(least, 2), "-", "-"])
    return table_row([what, str(least) if isinstance(least, int) else number(least, 2),
                      str(got) if isinstance(got, int) else number(got), "yes" if got >= least else "**no**"])


def aims(a, names, all_runs):
    """What was aimed at, and whether it was reached; at epsilon 4."""
    at4 = {(name, kind): row["scores"] for name in names for kind, epsilon, row in all_runs[name]
           if epsilon == "4"}
    text = table_head(["aim, ε = 4", "at least", "got", "reached"])
    for name in names:
        if (name, "levels") in at4:
            text += aim(f"{name}: share of users covered", at4[name, "levels"]["all_levels"]["covered"], .75)
    if ("clinc-oos", "levels") in at4:
        labels = at4["clinc-oos", "levels"]["all_levels"]["labels"]
        at20 = once(a, "clinc-oos", LEVELS, "4", 20)
        text += aim("clinc-oos: labels of 151 hit", labels["hit"], 100)
        text += aim("clinc-oos, t = 20: labels of 151 hit",
                    at20 and at20["scores"]["all_levels"]["labels"]["hit"], 130)
        text += aim("clinc-oos: the text's nearest intent is its cell's", labels["nearest_text"], .8)
    if ("bundled", "grid") in at4:
        found = at4["bundled", "grid"]["text"]["frequent"]
        text += aim("bundled, grid: text F1", found["f1"], .94)
        text += aim("bundled, grid: text recall", found["recall"], .89)
    return text + "\n"


def main():
    a = arguments()
    check_lines(a)
    head(a)  # what begins now
    names, epsilons = a.collection.split(","), a.epsilon.split(",")
    all_runs = {name: [(kind, epsilon, row)
                       for kind, levels in (("grid", "grid"), ("levels", LEVELS)) for epsilon in epsilons
                       if (row := once(a, name, levels, epsilon)) is not None] for name in names}
    names = [name for name in names if all_runs[name]]
    page = head(a) + sources(a, names) + aims(a, names, all_runs)
    for name in names:
        frequent = all_runs[name][0][2]["scores"]
        page += (f"**{name}**: {frequent['originals']:,} texts, {frequent['frequent']:,} of them frequent "
                 f"(at least {THRESHOLD} within .5); NLL of "
                 f"{min(REFERENCE, frequent['originals']):,} of them {number(real_nll(a, name), 2)}.\n\n")
        page += summary(a, name, all_runs[name])
        page += by_level(all_runs[name]) if all_runs[name][-1][0] == "levels" else ""
        at4 = [row for kind, epsilon, row in all_runs[name] if (kind, epsilon) == ("levels", "4")]
        page += of_each_level(at4[0], COLLECTIONS[name][1] is not None) if at4 else ""
    print(page, end="")
    if a.docs:
        replace_section(a.docs, BEGIN, END, page)


if __name__ == "__main__":
    main()
