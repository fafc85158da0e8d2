#!/usr/bin/env python3
"""How many texts are wrong in a way that shows without the originals: one Markdown row a file.

usage: wrong_texts.py FILE... [--words /usr/share/dict/words] [--known TEXTS] [--originals TEXTS] [--show]

FILE, TEXTS: JSON lines (`text`; gzip too) or one text a line; a null text is left out.

non-word: a text holds a word of two letters or more that is neither in --words (one a line, case
aside; Debian's wamerican-large, say) nor among the words that come at least twice in --known, the
originals, whose users write "lyft" and "cancelled".  Joined words count by their parts, and so does
what stands before 's and n't; what holds a digit is no word.  With --originals, whose line i is what
line i of each FILE was made from, words of a text's own original do not count: a name is not made up.

cut: a text ends in a comma, in a word that no sentence ends in (articles, possessives, conjunctions:
NEVER), or, unless it is a question, in a preposition that wants its noun (HARDLY).  "Turn it on" and
"who is it by" are whole.  --words and both lists were made by hand and have nothing of the statistics
that the inverter's vocabulary holds.

repeated: the words of a text are those of an earlier text of the file, case and marks aside.

Run it on the originals, too: people misspell and break off.  --show lists what was counted.
"""
import argparse
import collections
import gzip
import json
import re
import sys

import text_scores

NEVER = set("""a an the and or nor but my your our their its every if because than although while
unless whose very""".split())
HARDLY = set("of to by at from with for into onto".split())
QUESTION = set("""what whats which who whos whom where wheres when why how hows is are am was were do does did
can could will would should shall may might has have had""".split())
SUFFIX = re.compile(r"(?:'s|n't|'ll|'re|'ve|'d|'m|')$")


def read(path, all_lines=False):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        for line in f:
            text = json.loads(line)["text"] if line.startswith("{") else line.strip()
            if text or all_lines:
                yield " ".join((text or "").split())


def vocabulary(a):
    with open(a.words, encoding="utf-8") as f:
        known = {line.strip().casefold() for line in f}
    if a.known:
        times = collections.Counter(w for t in read(a.known) for w in set(text_scores.words(t)))
        known.update(w for w, n in times.items() if n > 1)
    return known


def is_word(word, known):
    if len(word) < 2 or any(c.isdigit() for c in word) or word in known:
        return True
    bare = SUFFIX.sub("", word)
    return bare in known or bare.rstrip("s") in known


def non_words(text, known):
    return [w for w in text_scores.words(text) if not is_word(w, known)]


def is_cut(text):
    words = text_scores.words(text)
    if not words:
        return False
    if text.rstrip().endswith(",") or words[-1] in NEVER:
        return True
    # The last sentence alone: "Hello. Who is it by"
    last = text_scores.words(re.split(r"[.?!] ", text.rstrip(".?! "))[-1])
    question = text.endswith("?") or bool(QUESTION.intersection(last[:-1]))
    return not question and words[-1] in HARDLY


def count(texts, known, originals=None):
    """The texts that are wrong, by kind."""
    seen = set()
    wrong = {"non-word": [], "cut": [], "repeated": []}
    for i, text in enumerate(texts):
        key = tuple(text_scores.words(text))
        own = set(text_scores.words(originals[i])) if originals else set()
        if set(non_words(text, known)) - own:
            wrong["non-word"].append(text)
        if is_cut(text):
            wrong["cut"].append(text)
        if key in seen:
            wrong["repeated"].append(text)
        seen.add(key)
    return wrong


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("files", nargs="+")
    p.add_argument("--words", default="/usr/share/dict/words")
    p.add_argument("--known")
    p.add_argument("--originals")
    p.add_argument("--show", action="store_true")
    a = p.parse_args()
    known = vocabulary(a)
    print("| texts | n | non-word | cut | repeated | capital first |\n|---|---|---|---|---|---|")
    for path in a.files:
        texts = list(read(path))
        originals = None
        if not texts:
            sys.exit(f"{path}: no text")
        if a.originals:
            rows, originals = list(read(path, True)), list(read(a.originals, True))
            if len(rows) != len(originals):
                sys.exit(f"{path}: {len(rows)} lines, and {len(originals)} originals")
            originals = [o for row, o in zip(rows, originals) if row]
        wrong = count(texts, known, originals)
        capital = sum(t[:1].isupper() for t in texts) / len(texts)
        shares = [f"{len(v)} ({100 * len(v) / len(texts):.1f} %)" for v in wrong.values()]
        print(f"| {path} | {len(texts)} | {' | '.join(shares)} | {100 * capital:.0f} % |")
        for kind in wrong if a.show else ():
            for text in wrong[kind]:
                print(f"  {kind}: {text}  {non_words(text, known) if kind == 'non-word' else ''}")


if __name__ == "__main__":
    main()
