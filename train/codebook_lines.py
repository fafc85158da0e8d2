#!/usr/bin/env python3
"""The public lines that the bundled codebook is made of, and those that it may show.

usage: codebook_lines.py TRAIN OUT [--leave-out FILE]...

TRAIN: the inverter's training text, a JSON object a line with "text" and "source" (.jsonl.gz).  FILE: a
population that the codebook will be measured with; a line that says the same, but for case and punctuation,
is left out.  Writes OUT.jsonl, to be embedded (`fre-e2t embed OUT.jsonl -o OUT.npy`), and
OUT-sentences.jsonl for `fre-e2t model codebook OUT.npy --medoids OUT-sentences.jsonl`.  Sources of the
populations that were measured (voice commands, home assistants, questions about programming) are not used at
all, package summaries neither.
"""
import argparse
import collections
import gzip
import json
import random
import re
import unicodedata

SEED = 15
# source: lines drawn, of them learned from
LINES = {"sgd": (42000, 42000), "topical_chat": (22000, 10000), "tatoeba": (24000, 24000),
         "wordnet": (18000, 6000), "wiki": (10000, 4000), "persona": (8000, 4000),
         "gsm8k": (5000, 3000), "overnight_spider": (8000, 8000), "ewt": (8000, 8000),
         "taskmaster4": (9300, 9300), "nq_open": (7100, 7100), "chatterbot": (1729, 1729),
         "debian": (12000, 6000)}
NOT_SHOWN = {"debian", "topical_chat", "gsm8k"}
WORDS_MAX = 14  # of a line that is shown


def fold(text):
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def texts(path):
    with gzip.open(path, "rt", encoding="utf-8") as f:
        for line in f:
            yield json.loads(line)


def draw(train, left_out):
    by_source, seen = {source: [] for source in LINES}, set()
    for row in texts(train):
        key = fold(row["text"])
        if row["source"] in LINES and key and key not in seen and key not in left_out:
            seen.add(key)
            by_source[row["source"]].append(row["text"])
    chance, rows = random.Random(SEED), []
    for source in sorted(LINES):
        chance.shuffle(by_source[source])
        rows += [{"text": t, "source": source} for t in by_source[source][:LINES[source][0]]]
    chance.shuffle(rows)
    return rows


def write(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(path, len(rows), dict(collections.Counter(row["source"] for row in rows)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("out")
    parser.add_argument("--leave-out", action="append", default=[])
    args = parser.parse_args()
    rows = draw(args.train, {fold(row["text"]) for path in args.leave_out for row in texts(path)})
    taken, learned = collections.Counter(), []
    for row in rows:
        taken[row["source"]] += 1
        if taken[row["source"]] <= LINES[row["source"]][1]:
            learned.append(row)
    write(args.out + ".jsonl", learned)
    write(args.out + "-sentences.jsonl", [row for row in rows if row["source"] not in NOT_SHOWN and
                                          len(row["text"].split()) <= WORDS_MAX])


if __name__ == "__main__":
    main()
