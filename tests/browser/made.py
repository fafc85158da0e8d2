"""Release folders and evaluations that are made without a model, for the tests of reports."""

import array
import itertools
import json
import math
import random

DIM = 8
HASH = "ab" * 32

# Texts that would do something if any of them were taken for markup, for script, or for direction.
HOSTILE = [
    "<script>window.harmed = 1</script>", "</script><script>window.harmed = 2</script>", "<!--<script>", "]]>",
    "<img src=x onerror='window.harmed = 3'>", "\"'><svg onload=alert(1)>", "{{script}} {{about}} ${1} `", "line\u2028and\u2029paragraph",
    "\u202etfel ot thgir\u202c", "\u2066isolated\u2069", "&lt;b&gt; &amp;amp;", "a\u0000b".replace("\0", "\u0007"), "مرحبا بالعالم", "\ufeffmark",
    "x" * 700, "NA", "null", "__proto__", "javascript:alert(1)", "\U000e0041\U000e0042 tags", "👩‍👩‍👧 family",
]


def write(path, value):
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def parameters(levels, **more):
    return {"epsilon": 4, "delta": 9.95412963e-8, "sampling_rate": 0.8125, "sigma": 0.39541, "cell_edge": 0.158, "split": 0.25,
            "delta_released": 1.76684703e-8, "delta_far": 8.1872826e-8, "delta_unreleased": 0, "delta_levels": 0, "tau": 80, "projection_dim": 4,
            "population": 1000000, "cells_per_user": 1, "adjacency": "add-remove", "accountant": "joint", "distributed": False,
            "noise": "continuous", "threshold": 100, "dimension": DIM, "delta_target": 1e-7, "radius": 0.5, "norm_bound": 1.0, "joint_epsilon": 4,
            "worst_case_epsilon": 38.0293, "epsilon_fre": None, "epsilon_agg": None, "grid_seed": HASH, "warnings": [], "levels": levels, **more}


def level(name, cells, codebook):
    return {"name": name, "counts": "noisy" if codebook else "sampled", "tau": 80, "sampling_rate": 0.8, "sigma": 0.4, "count_sigma": None, "radius": 0.5,
            "split": None, "public_cells": 4096 if codebook else None, "codebook": HASH if codebook else None, "cells": cells}


def line(text, users, **more):
    return {"text": text, "count": int(users * 0.8) + 1, "users": users, "noise_norm": 0.05, "similarity": 0.991 if text is not None else None, "paraphrases": [],
            "level": "grid", "centre": None, "parent": None, "theme": None, "around": None, "texts": [], **more}


def write_npy(path, kind, shape, numbers):
    """NumPy's format, version 1.0; kind: "f4" or "i8"."""
    head = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': {shape!r}, }}"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    data = array.array("f" if kind == "f4" else "q", numbers).tobytes()
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + data)


def centroids(n, near, seed):
    """n points of norm 1, or near another's."""
    rng, rows = random.Random(seed), []
    for _ in range(n):
        x = [rng.gauss(0, 1) for _ in range(DIM)]
        norm = math.sqrt(sum(v * v for v in x))
        rows.append([v / norm for v in x])
    return [rows[i] if other == i else [a + 0.01 * b for a, b in zip(rows[other], rows[i])] for i, other in enumerate(near or range(n))]


def release(folder, lines, seed=1, near=None, levels=None, **about):
    """A folder as synthesize makes it; near: for each line the line whose centroid it shares, about."""
    names = list(dict.fromkeys(["grid"] + [entry["level"] for entry in lines])) if levels is None else levels
    listed = [level(name, sum(entry["level"] == name for entry in lines), name != "grid") for name in names]
    folder.mkdir()
    write_npy(folder / "centroids.npy", "f4", (len(lines), DIM), itertools.chain.from_iterable(centroids(len(lines), near, seed)))
    write_npy(folder / "counts.npy", "i8", (len(lines),), [entry["count"] for entry in lines])
    (folder / "synthetic.jsonl").write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in lines), encoding="utf-8")
    extra = about.pop("parameters", {})
    write(folder / "release.json", {
        "format": "fre-e2t-release/1", "version": "0.1.0", "private": True, "certified": {"accountant": "joint", "epsilon": 4.0, "delta": 1e-7},
        "statement": ["Claim: (epsilon, delta)-differential privacy, epsilon = 4, delta = 1e-07.", "Conditions: the curator is trusted;", "there are at most N records.",
                      "Not covered by the claim is whether the whole input was refused."],
        "released_cells": len(lines), "parameters": parameters(listed, **extra),
        "models": {"embedder": {"name": "an embedder", "sha256": HASH}, "codebook": None,
                   "prior": {"sha256": "cd" * 32, "source": "SECRET-SOURCE", "texts": 5, "made_of": {"file": "SECRET-FILE.txt", "sha256": "ef" * 32, "author": "SECRET-AUTHOR", "kind": "texts"}}},
        "search": None, "ledger": {"entry": "5ec2e7000000beef"}, "warnings": [], "privacy_unit": "user", "strict_intake": False, **about})
    return folder


def many(n, seed=3):
    """n lines, some near wordings of others, each with a text of its own."""
    rng = random.Random(seed)
    words = "show me the cheap flight hotel card bill song alarm weather traffic order recipe balance".split()
    lines = [line(" ".join(rng.choice(words) for _ in range(rng.randint(3, 12))) + f" {i}", round(100 / (1 - rng.random()) ** 0.6, 2),
                  similarity=round(rng.uniform(0.9, 1), 4), confidence=round(rng.random(), 4), confidence_exact=round(rng.random() / 2, 4)) for i in range(n)]
    return lines, [i if rng.random() < 0.8 else rng.randrange(n) for i in range(n)]


# ---- evaluations ---------------------------------------------------------------------------------------

class Numbers:
    """Numbers that stand nowhere else: each can be looked for in a whole file."""

    def __init__(self):
        self.rng, self.given = random.Random(5), []

    def share(self, most=0.99):
        self.given.append(round(self.rng.uniform(most / 5, most), 9))
        return self.given[-1]

    def count(self):
        self.given.append(self.rng.randint(10 ** 7, 10 ** 8))
        return self.given[-1]


SETS = ("text", "text_with_paraphrases", "centroid", "halves", "unrelated")


def evaluation(lines, numbers=None, name="release", against=()):
    """Every key that `evaluate --json` may have."""
    n = numbers or Numbers()
    four = lambda: {k: n.share() for k in ("precision", "recall", "f1", "l2")}
    both = lambda: {"frequent": four(), "all": four()}
    rising = lambda count: sorted(n.share() for _ in range(count))
    of_sets = lambda make: {s: make() for s in SETS}
    hist = lambda: {"counts": [n.count() for _ in range(40)], "beyond": n.count(), "mean": n.share(), "median": n.share()}
    spread = lambda: {"mean": n.share(), "sd": n.share(0.09)}
    length = lambda: {"mean": n.share(), "sd": n.share(), "p10": n.count(), "median": n.count(), "p90": n.count()}
    names = list(dict.fromkeys(["grid"] + [entry["level"] for entry in lines]))
    labels = lambda: {"cells": n.count(), "majority": n.count(), "hit": n.count(), "frequent_hit": n.count(), **{k: n.share() for k in (
        "precision", "recall", "purity", "nearest_text", "nearest_centroid", "nearest_mean")}}
    one = lambda called: {"level": called, "cells": sum(entry["level"] == called for entry in lines), "empty": n.count(), "rare": n.count(), "records": n.count(),
                          "covered": n.share(), "centroid_l2": n.share(), "noise_norm": n.share(), "member_l2": n.share(), "texts": n.count(), "text_l2": n.share(),
                          "text": both(), "exact": {k: n.share() for k in ("frequent", "frequent_case_blind", "any", "any_case_blind")}, "labels": labels(),
                          "reference": {k: {"covered": n.share() if k == "halves" else None, "centroid_l2": n.share(), "text_l2": n.share(), "text": both(), "labels": labels(),
                                            "exact": {k: n.share() for k in ("frequent", "frequent_case_blind", "any", "any_case_blind")}} for k in ("halves", "unrelated")}}
    alpha = [round(0.1 * i, 1) for i in range(1, 31)]
    return {
        "name": name, "text": both(), "text_with_paraphrases": both(), "centroid": both(), "cell": both(),
        "exact": {k: n.share() for k in ("frequent", "frequent_case_blind", "any", "any_case_blind")}, "radius": 0.5, "alpha": 1.5, "threshold": 100,
        "originals": n.count(), "distinct": n.count(), "frequent": n.count(), "frequent_distinct": n.count(), "synthetic": n.count(), "paraphrases": n.count(),
        "centroids": len(lines), "seconds_embedding": n.share(), "seconds_scoring": n.share(), "private": False,
        "levels": [one(called) for called in names], "all_levels": one("all"), "labels": {"all": n.count(), "frequent": n.count()},
        "reference": {"size": n.count(), "halves": {**both(), "cell": both()}, "unrelated": {"source": "SECRET-CORPUS.jsonl", **both(), "cell": both()}},
        "curves": {"alpha": alpha, **of_sets(lambda: {k: {m: rising(30) for m in ("precision", "recall", "f1")} for k in ("frequent", "all")})},
        "distances": {"edges": [round(0.05 * i, 2) for i in range(41)], **of_sets(lambda: {"frequent": hist(), "infrequent": hist()})},
        "neighbours": {"from": [2 ** i for i in range(10)], "originals": [n.count() for _ in range(10)],
                       **of_sets(lambda: [*rising(3), None, *rising(6)])},
        "ssp": {"psi": [round(0.1 * i, 1) for i in range(1, 16)], "at": [
            {"t": t, "infrequent": n.count(), **of_sets(lambda: rising(15)), "bound": rising(8) + [None] * 7, "bound_cell": rising(10) + [None] * 5} for t in (10, 100)]},
        "diversity": {**of_sets(lambda: {"texts": n.count(), "self_bleu": n.share(), "distinct": rising(3), "duplicates": n.share(), "duplicates_case_blind": n.share()}),
                      "self_bleu_within": n.share()},
        "lengths": of_sets(lambda: {"words": length(), "characters": length()}),
        "mauve": {"buckets": n.count(), "size": n.count(), **of_sets(lambda: {**spread(), "seeds": rising(3)})},
        "language": {"model": "a language model", **of_sets(lambda: {"texts": n.count(), "scored": n.count(), **{k: n.share() for k in (
            "median_nll", "mean_nll", "median_perplexity", "mean_perplexity", "share_nll_at_most_6")}})},
        "classification": {"labels": n.count(), "test": n.count(), "seeds": 3, "majority": spread(),
                           "nearest_centroid": [{"k": k, **spread()} for k in (1, 5, 10, 20)],
                           "linear": {k: {"train": n.count(), **spread()} for k in ("synthetic", "real_same_size", "real")}},
        "missing": [{"metric": "language", "why": "no language model was named: --language-model"}], "against": list(against),
    }
