#!/usr/bin/env python3
"""How sure a released text is: fits the table of confidence and measures it on other text.

usage: confidence.py DATA [--program build/fre-e2t] [--library build/release/libfre-e2t.so] [--work DIR]
                     [--second EMBEDDER] [--only NAME,...] [--threads 2] [--done]
                     [--table src/service/release/confidence_table.h] [--docs docs/inversion.md] [--show FILE]

DATA is a folder with the public collections that COLLECTIONS names.  Each is released as `synthesize` does it,
by the grid and by levels; for every line the judge below says whether it is right.  From the lines of the
collections marked "fit" come the coefficients (--table), by logistic regression on what the line itself holds
(TRAITS); those marked "test" share no source with them and make the tables of --docs.  What was done is kept in
the work folder; --done fits what is there and runs nothing.

The judge.  A line says *the same* as somebody if
  - of the real members of its cell (the records that are in it and in no cell of a finer level that was released,
    sampled or not) the nearest under a second embedder, of another maker (bge-small-en-v1.5, tools/get-embedder),
    is within NEAR of it: embeddings have norm 1, the distance is Euclidean;
  - no word of it is a non-word, and it does not break off (wrong_texts.py);
  - where the collection has labels and the cell a majority: most of the five labelled records that are nearest to
    the text under the second embedder have that label.
It is *exact* if a member has the same words in the same order, case and marks aside.

--show FILE writes the lines with the nearest member and the verdict, for whoever checks the judge.
"""
import argparse
import array
import collections
import ctypes
import gzip
import hashlib
import itertools
import json
import math
import os
import random
import sys

import text_scores
import wrong_texts
from common import cell, keep, kept, replace_section, run, table_head, table_row

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEGIN = "<!-- made by tools/experiments/confidence.py -->"
END = "<!-- end of what tools/experiments/confidence.py made -->"
NEAR = 0.35
NEIGHBOURS = 5
NO_LABEL = ("oos", "tail", None)
SEED = "22" * 32
POPULATION = 1000000

# name: file, rows, what is tried (levels, epsilon, threshold), whether its lines are fitted or tested
COLLECTIONS = {
    "mixture": ("inverter-heldout.jsonl.gz", None, [("auto", 4, 30)], "fit"),
    "rasa": ("rasa-community-nlu.jsonl.gz", None, [("auto", 4, 12), ("auto", 8, 8)], "fit"),
    "bundled": ("", 30000, [("grid", 4, 60), ("auto", 4, 40)], "test"),
}
BUNDLED = os.path.join(ROOT, "data", "assistant-requests.jsonl.gz")


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("data")
    p.add_argument("--program", default=os.path.join(ROOT, "build", "fre-e2t"))
    p.add_argument("--library", default=os.path.join(ROOT, "build", "release", "libfre-e2t.so"))
    p.add_argument("--work", default="confidence")
    p.add_argument("--second")
    p.add_argument("--only", default=",".join(COLLECTIONS))
    p.add_argument("--threads", default="2")
    p.add_argument("--words", default="/usr/share/dict/words")
    p.add_argument("--done", action="store_true")
    p.add_argument("--table")
    p.add_argument("--docs")
    p.add_argument("--show")
    a = p.parse_args()
    os.makedirs(a.work, exist_ok=True)
    a.second = a.second or run(os.path.join(ROOT, "tools", "get-embedder"), "bge-small-en").decode().strip()
    return a


def path(a, name):
    return os.path.join(a.work, name)


# ---- the library: cells and nearest rows as the program has them ----------------------------------------------

class Rows(ctypes.Structure):
    _fields_ = [("x", ctypes.c_void_p), ("n", ctypes.c_size_t)]


class Grid(ctypes.Structure):
    _fields_ = [("proj", ctypes.c_uint32), ("cell_edge", ctypes.c_double)]


class GridParameters(ctypes.Structure):
    _fields_ = [("seed", ctypes.c_uint8 * 32), ("dim", ctypes.c_uint32), ("grid", Grid)]


class Library:
    def __init__(self, file):
        self.lib = ctypes.CDLL(file)
        self.lib.fre_codebook_medoid.restype = ctypes.c_char_p

    def check(self, status, what):
        if status != 0:
            sys.exit(f"{what}: status {status:#x}")

    def nearest(self, query, base, k):
        """For each query the k nearest base rows and their distances."""
        k = min(k, len(base))
        index, dist = array.array("I", bytes(4 * k * len(query))), array.array("d", bytes(8 * k * len(query)))
        self.check(self.lib.fre_nearest(
            address(index), address(dist), Rows(query.address(), len(query)), Rows(base.address(), len(base)),
            ctypes.c_size_t(base.dim), ctypes.c_size_t(k), ctypes.c_uint32(2)), "nearest")
        return [(index[i * k:i * k + k], dist[i * k:i * k + k]) for i in range(len(query))]

    def grid_cells(self, parameters, x):
        grid = GridParameters((ctypes.c_uint8 * 32)(*bytes.fromhex(parameters["grid_seed"])), x.dim,
                              Grid(parameters["projection_dim"], parameters["cell_edge"]))
        sketch, cell = ctypes.c_void_p(), (ctypes.c_uint8 * 32)()
        self.check(self.lib.fre_sketch_new(ctypes.byref(sketch), ctypes.byref(grid)), "grid")
        names = []
        for i in range(len(x)):
            self.check(self.lib.fre_sketch_cell(sketch, cell, ctypes.c_void_p(x.address(i)),
                                                ctypes.c_size_t(x.dim)), "cell of the grid")
            names.append(bytes(cell).hex())
        self.lib.fre_sketch_free(sketch)
        return names

    def public_cells(self, file, names, x):
        """One list a level of the codebook that is named."""
        book, err = ctypes.c_void_p(), (ctypes.c_char * 1024)()
        self.check(self.lib.fre_codebook_open(ctypes.byref(book), file.encode(), err), file)
        at = [self.lib.fre_codebook_find(book, name.encode()) for name in names]
        levels = self.lib.fre_codebook_find(book, b"")  # no level is called so: their number
        cell = array.array("I", bytes(4 * levels * len(x)))
        self.check(self.lib.fre_codebook_cells(book, ctypes.c_void_p(address(cell).value),
                                               ctypes.c_void_p(x.address()), ctypes.c_size_t(len(x)),
                                               ctypes.c_uint32(2)), "public cells")
        self.lib.fre_codebook_free(book)
        return [cell[level::levels] for level in at]


def address(a):
    return ctypes.c_void_p(a.buffer_info()[0])


class Matrix:
    """float32 rows."""
    def __init__(self, values, dim):
        self.values, self.dim = values, dim

    def __len__(self):
        return len(self.values) // self.dim

    def address(self, row=0):
        return self.values.buffer_info()[0] + 4 * self.dim * row

    def row(self, i):
        return self.values[i * self.dim:(i + 1) * self.dim]

    def take(self, rows):
        out = array.array("f")
        for i in rows:
            out.extend(self.row(i))
        return Matrix(out, self.dim)


def load(file):
    """A .npy file as the program writes it."""
    with open(file, "rb") as f:
        head = f.read(10)
        shape = f.read(int.from_bytes(head[8:10], "little")).decode()
        dim = int(shape[shape.index("(") + 1:shape.index(")")].split(",")[1])
        values = array.array("f", f.read())
    return Matrix(values, dim)


def embed(a, file, embedder=None):
    x = f"{file.removesuffix('.jsonl')}{'-second' if embedder else ''}.npy"
    if not os.path.exists(x):
        run(a.program, "embed", file, "-o", x, "--quiet", "--threads", a.threads,
            *(["--embedder", embedder] if embedder else []))
    return x


def write(file, rows):
    with open(file + ".partial", "w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False) + "\n")
    os.replace(file + ".partial", file)


def read(file):
    with open(file, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


# ---- collections -------------------------------------------------------------------------------------------

def mixture(a, rows):
    """People who say the same: 240 lines that the inverter was not trained on, as often as Zipf's law has it,
    in their own words or those of up to eight lines within .6 of them; and each other line once."""
    file = path(a, "mixture-lines.jsonl")
    if not os.path.exists(file):
        write(file, [{"text": r["text"]} for r in rows])
    x = load(embed(a, file))
    rng = random.Random(7)
    heads = rng.sample(range(len(rows)), 240)
    used, out = set(heads), []
    for rank, (index, dist) in enumerate(a.lib.nearest(x.take(heads), x, 9)):
        words = [heads[rank]] + [i for i, d in zip(index, dist) if i not in used and d <= 0.6]
        used.update(words)
        times = rng.choices(words, [1 / (k + 1) for k in range(len(words))], k=max(45, 6000 // (rank + 3)))
        out += [{"text": rows[i]["text"]} for i in times]
    out += [{"text": r["text"]} for i, r in enumerate(rows) if i not in used]
    rng.shuffle(out)
    return out


def collection(a, name):
    """Its rows as a file, one a record."""
    file = path(a, name + ".jsonl")
    if not os.path.exists(file):
        source, n, _, _ = COLLECTIONS[name]
        with gzip.open(os.path.join(a.data, source) if source else BUNDLED, "rt", encoding="utf-8") as f:
            rows = [json.loads(line) for line in itertools.islice(f, n)]
        if name == "mixture":
            rows = mixture(a, rows)
        write(file, [{"text": r["text"], "label": r.get("label")} for r in rows])
    return file


class Texts:
    """A collection, its distinct texts under both embedders."""
    def __init__(self, a, name):
        self.file = collection(a, name)
        self.rows = read(self.file)
        at, self.distinct = {}, []
        for r in self.rows:
            if r["text"] not in at:
                at[r["text"]] = len(self.distinct)
                self.distinct.append(r)
        self.of = [at[r["text"]] for r in self.rows]
        file = path(a, name + "-distinct.jsonl")
        if not os.path.exists(file):
            write(file, [{"text": r["text"]} for r in self.distinct])
        self.x, self.second = load(embed(a, file)), load(embed(a, file, a.second))
        if not len(self.x) == len(self.second) == len(self.distinct):
            sys.exit(f"{name}: a text is blank")
        self.labelled = [i for i, r in enumerate(self.distinct) if r["label"] not in NO_LABEL]
        self.known = None

    def vocabulary(self, a):
        if self.known is None:
            with open(a.words, encoding="utf-8") as f:
                self.known = {line.strip().casefold() for line in f}
            times = collections.Counter(w for r in self.rows for w in set(text_scores.words(r["text"])))
            self.known.update(w for w, n in times.items() if n > 1)
        return self.known


# ---- one release -------------------------------------------------------------------------------------------

def release(a, name, levels, epsilon, threshold):
    folder = path(a, f"{name}-{levels}-eps{epsilon}-t{threshold}")
    if not os.path.exists(os.path.join(folder, "release.json")):
        if a.done:
            return None
        print(f"{name}, {levels}, epsilon {epsilon}, t {threshold}", file=sys.stderr, flush=True)
        run(a.program, "synthesize", collection(a, name), "-o", folder, "--force", "--quiet", "--ledger", "none",
            "--epsilon", epsilon, "--threshold", threshold, "--population", POPULATION, "--levels", levels,
            "--seed", SEED, "--user-field", "none", "--threads", a.threads)
    return folder


def members(a, folder, texts):
    """For each line of the release the distinct texts in it, and how many records each is."""
    about = kept(os.path.join(folder, "release.json"))
    lines = read(os.path.join(folder, "synthetic.jsonl"))
    levels = [level["name"] for level in about["parameters"]["levels"]]
    places = []
    if levels[0] == "grid":
        names = a.lib.grid_cells(about["parameters"], texts.x)
        of = {line["cell"]: i for i, line in enumerate(lines) if line["level"] == "grid"}
        places.append([of.get(name) for name in names])
    public = [name for name in levels if name != "grid"]
    book = os.path.join(ROOT, "models", "all-minilm-l6-v2.codebook.gguf")
    for name, cells in zip(public, a.lib.public_cells(book, public, texts.x)):
        of = {line["centre"]: i for i, line in enumerate(lines) if line["level"] == name}
        places.append([of.get(cell) for cell in cells])
    cell = [next((p[i] for p in places if p[i] is not None), None) for i in range(len(texts.distinct))]
    times = collections.Counter(texts.of)
    out = [[] for _ in lines]
    for i, at in enumerate(cell):
        if at is not None:
            out[at].append((i, times[i]))
    return lines, out


def majority(labels):
    """The label of more than half; None: there is no such."""
    if not labels:
        return None
    label, n = labels.most_common(1)[0]
    return label if 2 * n > sum(labels.values()) and label not in NO_LABEL else None


def judge(a, folder, texts):
    """Rows of what the lines hold and of the judge's verdict; kept."""
    file = folder + "-judged.json"
    if os.path.exists(file):
        return kept(file)
    lines, inside = members(a, folder, texts)
    norms = load(os.path.join(folder, "centroids.npy"))
    told = [(i, text, 0 if k == 0 else k) for i, line in enumerate(lines) if line["text"]
            for k, text in enumerate([line["text"]] + line["texts"])]
    write(folder + "-told.jsonl", [{"text": t} for _, t, _ in told])
    second = load(embed(a, folder + "-told.jsonl", a.second))
    labelled = texts.second.take(texts.labelled)
    around = a.lib.nearest(second, labelled, NEIGHBOURS) if texts.labelled else None
    out = []
    for row, (i, text, k) in enumerate(told):
        line, own = lines[i], inside[i]
        verdict = dict(text=text, further=k, members=sum(n for _, n in own), nearest=None, distance=None)
        if own:
            index, dist = a.lib.nearest(second.take([row]), texts.second.take([m for m, _ in own]), 1)[0]
            verdict.update(nearest=texts.distinct[own[index[0]][0]]["text"], distance=dist[0])
        labels = collections.Counter()
        for m, n in own:
            labels[texts.distinct[m]["label"]] += n
        label = majority(labels)
        right = majority(collections.Counter(
            texts.distinct[texts.labelled[j]]["label"] for j in around[row][0])) if around and label else None
        verdict["label"], verdict["label_of_text"] = label, right
        verdict["non_word"] = wrong_texts.non_words(text, texts.vocabulary(a))
        verdict["cut"] = wrong_texts.is_cut(text)
        verdict["same"] = bool(own) and verdict["distance"] <= NEAR and not verdict["non_word"] and \
            not verdict["cut"] and (label is None or right == label)
        verdict["exact"] = any(text_scores.exact(text, texts.distinct[m]["text"]) for m, _ in own)
        mu = norms.row(i)
        verdict["line"] = {key: line[key] for key in ("count", "users", "noise_norm", "similarity", "level", "share")}
        verdict["line"].update(norm=math.sqrt(sum(v * v for v in mu)))
        out.append(verdict)
    keep(file, out)
    return out


# ---- the table ----------------------------------------------------------------------------------------------

TRAITS = ("1", "noise", "squared distance beyond the noise", "its root", "1 - similarity", "ln share", "ln words")
RIDGE = 1.0
KINDS = ("wording", "theme")


def traits(row):
    """As src/service/release/confidence.c has them."""
    line = row["line"]
    noise, similarity, norm = line["noise_norm"], line["similarity"], line["norm"]
    far = min(norm * norm + 1 - 2 * similarity * norm - noise * noise, 2)
    return [1, min(noise, 2), far, math.sqrt(max(far, 0)), 1 - similarity, math.log(max(line["share"], 1e-6)),
            math.log(1 + row["text"].count(" "))]


def kind(row):
    return 0 if row["line"]["level"] == "grid" else 1


def solve(a, b):
    """a x = b, a positive definite: Gauss with pivots."""
    n = len(b)
    m = [list(row) + [v] for row, v in zip(a, b)]
    for i in range(n):
        k = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[k] = m[k], m[i]
        for r in range(i + 1, n):
            f = m[r][i] / m[i][i]
            for c in range(i, n + 1):
                m[r][c] -= f * m[i][c]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (m[i][n] - sum(m[i][c] * x[c] for c in range(i + 1, n))) / m[i][i]
    return x


def logistic(z):
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


def fit(x, y):
    """Coefficients of the logistic function of x, ridge on standardised traits (not on the first), by Newton."""
    n, d = len(x), len(x[0])
    mean = [sum(r[j] for r in x) / n for j in range(d)]
    scale = [math.sqrt(sum((r[j] - mean[j]) ** 2 for r in x) / n) for j in range(d)]
    used = [0] + [j for j in range(1, d) if scale[j] > 1e-9]
    z = [[1.0] + [(r[j] - mean[j]) / scale[j] for j in used[1:]] for r in x]
    b = [0.0] * len(used)
    for _ in range(50):
        p = [logistic(sum(v * c for v, c in zip(r, b))) for r in z]
        gradient = [sum((yi - pi) * r[j] for r, yi, pi in zip(z, y, p)) - (RIDGE * b[j] if j else 0)
                    for j in range(len(used))]
        hessian = [[sum(pi * (1 - pi) * r[i] * r[j] for r, pi in zip(z, p)) +
                    (RIDGE if i == j and i else 0) + (1e-9 if i == j else 0)
                    for j in range(len(used))] for i in range(len(used))]
        step = solve(hessian, gradient)
        b = [c + s for c, s in zip(b, step)]
        if max(map(abs, step)) < 1e-10:
            break
    out = [0.0] * d
    for c, j in zip(b[1:], used[1:]):
        out[j] = c / scale[j]
    out[0] = b[0] - sum(out[j] * mean[j] for j in used[1:])
    return out


def firsts(rows, which=None):
    """Lines' own texts (of a kind), whose share the release holds."""
    return [r for r in rows if r["further"] == 0 and which in (None, kind(r))]


def fit_all(rows):
    own = firsts(rows)
    return {v: fit([traits(r) for r in own], [float(r[v]) for r in own]) for v in ("same", "exact")}


def sure(table, verdict, row):
    value = logistic(sum(c * t for c, t in zip(table[verdict], traits(row))))
    return value if verdict == "same" else min(value, sure(table, "same", row))


def write_table(file, table, command, decoder):
    lines = [f"/* confidence_table.h - made by tools/experiments/confidence.py, of public text; not for editing:",
             f" *   {command}", " */", f'#define CONFIDENCE_DECODER "{decoder}"',
             f"#define CONFIDENCE_TRAITS {len(TRAITS)}u", ""]
    for verdict in ("same", "exact"):
        lines.append(f"static const double confidence_{verdict}[CONFIDENCE_TRAITS] = {{")
        lines += [f"    {c:.9g}, /* {name} */" for c, name in zip(table[verdict], TRAITS)]
        lines.append("};")
    with open(file + ".partial", "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    os.replace(file + ".partial", file)


# ---- how it does on other text -------------------------------------------------------------------------------

BINS = (0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1.0001)


def reliability(table, rows, verdict):
    """Of each bin: lines, mean chance, share that is right."""
    out = []
    for low, high in zip(BINS, BINS[1:]):
        inside = [(p, r) for r in rows for p in [sure(table, verdict, r)] if low <= p < high]
        n = len(inside)
        out.append((low, n, sum(p for p, _ in inside) / n if n else None,
                    sum(r[verdict] for _, r in inside) / n if n else None))
    return out


def brier(table, rows, verdict):
    return sum((sure(table, verdict, r) - r[verdict]) ** 2 for r in rows) / len(rows) if rows else float("nan")


def tables(table, judged):
    test = [r for name, rows in judged.items() if COLLECTIONS[name][3] == "test" for r in rows]
    text = table_head(["", "lines", "right", "at least .9", "of these right", "Brier score", "of the mean share"])
    for verdict in ("same", "exact"):
        for which in range(2):
            for name in ("fit", "test"):
                rows = firsts([r for n, rs in judged.items() if COLLECTIONS[n][3] == name for r in rs], which)
                if not rows:
                    continue
                share = sum(r[verdict] for r in rows) / len(rows)
                high = [r for r in rows if sure(table, verdict, r) >= 0.9]
                text += table_row([f"{KINDS[which]}, {verdict}, {'fitted' if name == 'fit' else 'other text'}",
                                   str(len(rows)), cell(share, 2), str(len(high)),
                                   cell(sum(r[verdict] for r in high) / len(high), 2) if high else "-",
                                   cell(brier(table, rows, verdict), 3), cell(share * (1 - share), 3)])
    text += "\nReliability on the other text (lines: mean chance, share right):\n\n"
    text += table_head(["chance from"] + [f"{KINDS[w]}, {v}" for v in ("same", "exact") for w in range(2)])
    columns = [reliability(table, firsts(test, w), v) for v in ("same", "exact") for w in range(2)]
    for row in zip(*columns):
        text += table_row([cell(row[0][0], 1)] + [f"{n}: {cell(p, 2)}, {cell(q, 2)}" if n else "-"
                                                  for _, n, p, q in row])
    return text


def diagram(file, table, judged):
    """Share that is right over the chance, a disc a bin, its area by the number of lines."""
    test = [r for name, rows in judged.items() if COLLECTIONS[name][3] == "test" for r in rows]
    svg = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 340" font-family="sans-serif" font-size="13">',
           '<rect width="640" height="340" fill="#fff"/>']
    for which, left in ((0, 50), (1, 360)):
        svg.append(f'<g transform="translate({left},30)"><rect width="250" height="250" fill="none" stroke="#888"/>'
                   f'<path d="M0 250L250 0" stroke="#bbb"/><text x="125" y="-10" text-anchor="middle">'
                   f'{KINDS[which]}s, other text</text><text x="125" y="285" text-anchor="middle">confidence</text>'
                   '<text x="-5" y="255" text-anchor="end">0</text><text x="-5" y="8" text-anchor="end">1</text>'
                   '<text x="0" y="266" text-anchor="middle">0</text><text x="250" y="266" '
                   'text-anchor="middle">1</text>')
        for verdict, colour in (("same", "#1f5fa8"), ("exact", "#c25a00")):
            for _, n, p, q in reliability(table, firsts(test, which), verdict):
                if n:
                    svg.append(f'<circle cx="{250 * p:.1f}" cy="{250 - 250 * q:.1f}" r="{1.5 + math.sqrt(n):.1f}" '
                               f'fill="{colour}" fill-opacity=".6"/>')
        svg.append("</g>")
    svg.append('<circle cx="60" cy="328" r="5" fill="#1f5fa8"/><text x="70" y="332">the same</text>'
               '<circle cx="150" cy="328" r="5" fill="#c25a00"/><text x="160" y="332">exact</text>'
               '<text x="215" y="332">share that is right over the confidence; area: lines</text></svg>')
    with open(file + ".partial", "w", encoding="utf-8") as f:
        f.write("\n".join(svg) + "\n")
    os.replace(file + ".partial", file)


def show(file, judged):
    with open(file, "w", encoding="utf-8") as f:
        for name, rows in judged.items():
            for r in rows:
                f.write(f"{name}\t{KINDS[kind(r)]}\t{'same' if r['same'] else '-'}\t"
                        f"{'exact' if r['exact'] else '-'}\t{r['distance'] if r['distance'] is not None else 9:.2f}"
                        f"\t{r['text']}\t{r['nearest']}\t{r['label']} {r['label_of_text']} {r['non_word']} "
                        f"{r['cut']}\n")


def collect(a):
    judged = collections.defaultdict(list)
    for name in a.only.split(","):
        texts = None
        for levels, epsilon, threshold in COLLECTIONS[name][2]:
            folder = release(a, name, levels, epsilon, threshold)
            if folder is None:
                continue
            texts = texts or Texts(a, name)
            judged[name] += judge(a, folder, texts)
    return judged


def main():
    a = arguments()
    a.lib = Library(a.library)
    judged = collect(a)
    table = fit_all([r for name, rows in judged.items() if COLLECTIONS[name][3] == "fit" for r in rows])
    text = tables(table, judged)
    print(text)
    if a.show:
        show(a.show, judged)
    if a.table:
        with open(os.path.join(ROOT, "models", "minilm-inverter.q8_0.gguf"), "rb") as f:
            decoder = hashlib.file_digest(f, "sha256").hexdigest()
        write_table(a.table, table, "tools/experiments/confidence.py DATA --table FILE", decoder)
    if a.docs:
        diagram(os.path.join(os.path.dirname(a.docs), "img", "confidence.svg"), table, judged)
        replace_section(a.docs, BEGIN, END, text)


if __name__ == "__main__":
    main()
