"""Texts with their sources: reading, packing, and the forms in which they are learnt.

A packed corpus is an xz file of lines; a line that starts with the record separator names the
source of the lines below it.
"""
import gzip
import hashlib
import json
import lzma
import os
import random
import re

MARK = "\x1e"

# sources.json: licence; weight: how often a line is seen, relative to others (the decoder serves
# requests, questions and remarks first; package summaries and glosses are many, of one kind each);
# spoken: its lines also occur without their closing mark, as people type them.
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "sources.json"), encoding="utf-8") as _f:
    SOURCES = json.load(_f)


def read(path):
    """(text, source) of a packed corpus or of JSON lines."""
    if path.endswith(".xz"):
        source = ""
        with lzma.open(path, "rt", encoding="utf-8", newline="\n") as f:
            for line in f:
                if line.startswith(MARK):
                    source = line[1:].rstrip("\n")
                else:
                    yield line.rstrip("\n"), source
        return
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        for line in f:
            d = json.loads(line)
            yield d["text"], d.get("source", "")


def pack(path, rows):
    by_source = {}
    for text, source in rows:
        by_source.setdefault(source, []).append(" ".join(text.split()))
    with lzma.open(path, "wt", encoding="utf-8", newline="\n", preset=6) as f:
        for source in sorted(by_source):
            f.write(MARK + source + "\n")
            f.writelines(t + "\n" for t in sorted(set(by_source[source])))


def usual_case(text):
    """The encoder folds case, so a decoder cannot know it; one habit for all sources keeps its
    probability in one place: a capital first, and the capital I."""
    text = re.sub(r"\bi\b(?=$|[ ',.?!;:])", "I", text)
    return text[:1].upper() + text[1:]


def fold(text):
    """What is left of a text when it is compared with texts that must not be learnt."""
    return " ".join(re.sub(r"[^\w ]", "", text.lower()).split())


def digest(text):
    return hashlib.blake2b(fold(text).encode(), digest_size=8).digest()


def write_closed(path, files):
    """Digests of the texts of `files`, which must not be learnt in any form."""
    with open(path, "wb") as f:
        f.write(b"".join(sorted({digest(t) for p in files for t, _ in read(p)})))


def read_closed(path):
    with open(path, "rb") as f:
        data = f.read()
    return {data[i:i + 8] for i in range(0, len(data), 8)}


def sentences(text):
    return re.split(r"(?<=[.?!]) +(?=[A-Z])", text)


def forms(text, spoken, rng):
    """The forms of one line: with its mark, without it, and its sentences apart."""
    yield text
    parts = sentences(text) if spoken else [text]
    bare = text.rstrip(".?!")
    if len(parts) > 1:
        for p in parts:
            if len(p.split()) >= 3:
                yield p if rng.random() < 0.5 else p.rstrip(".?!")
    elif bare != text and not text.endswith(("...", "..")) and (spoken or rng.random() < 0.2):
        yield bare


def load(path, closed, limit=0, seed=1):
    """Distinct texts of a corpus and their weights, in random order; closed: a file of digests."""
    rng = random.Random(seed)
    closed = read_closed(closed)
    weight = {}
    for text, source in read(path):
        s = SOURCES.get(source)
        if s is None:
            raise SystemExit(f"{path}: source {source!r} is not in sources.json; say its licence there")
        seen = set(forms(usual_case(text), s["spoken"], rng))
        for t in seen:
            if len(t.split()) >= 2 and digest(t) not in closed:
                weight[t] = max(weight.get(t, 0.0), s["weight"] / len(seen) ** 0.5)
    texts = list(weight)
    rng.shuffle(texts)
    if limit:
        texts = texts[:limit]
    return texts, [weight[t] for t in texts]
