"""Words and pairs of neighbours of public text, counted: the vocabulary beside an inverter, which tells
words from non-words and sentences from what only has their words.

    vocabulary.py TEXTS.jsonl... -o minilm-inverter.vocabulary.gguf [--leave-out pypi ...]

TEXTS: as for prepare (`text`, `source`).  Kept are words that come at least twice, as hashes, and pairs
that come at least three times; nothing else of a line is.  Left out are words of two letters that come
less than twenty times, of three that come less than five times, and those that come at most five times and are a letter away, added, dropped or
swapped inside, from one that comes a hundred times as often: most are slips ("begining").  The form is in docs/formats.md; the program's
src/language/invert/vocabulary.c cuts and hashes words in the same way, which a test compares.
"""
import argparse
import collections
import json
import math
import os
import re

import corpus

WORDS_MIN, PAIRS_MIN = 2, 3
SHORT_MIN = {2: 20, 3: 5}
SLIP_MAX, SLIP_LENGTH, SLIP_RATIO = 5, 6, 100
LETTERS = [bytes([c]) for c in b"abcdefghijklmnopqrstuvwxyz"]
WORD = re.compile(rb"[a-z\x80-\xff]+(?:'[a-z\x80-\xff]+)*|[0-9][^ ]*")
EDGE, NUMBER = b"", b"#"


def words(text):
    """Of one sentence: lower-case ASCII, every number the same."""
    plain = text.encode().replace("’".encode(), b"'").lower()
    return [NUMBER if w[:1].isdigit() else w for w in WORD.findall(plain)]


def hash_of(word):
    h = 0xcbf29ce484222325
    for byte in word:
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return (h ^ h >> 29) & 0xffffffffffff


def sentences(text):
    return re.split(r"(?<=[.?!]) +", text)


def is_slip(word, single):
    """A rare word beside a frequent one."""
    if not word.isascii():
        return False
    if len(word) in SHORT_MIN:
        return single[word] < SHORT_MIN[len(word)]
    if len(word) < SLIP_LENGTH or single[word] > SLIP_MAX or b"'" in word:
        return False
    inside = range(1, len(word) - 1)
    near = [word[:i] + word[i + 1:] for i in inside]
    near += [word[:i] + word[i:i + 2][::-1] + word[i + 2:] for i in inside]
    near += [word[:i] + x + word[i:] for i in range(1, len(word)) for x in LETTERS]
    return any(other != word and single.get(other, 0) >= SLIP_RATIO * single[word] for other in near)


def count(texts):
    single, pair = collections.Counter(), collections.Counter()
    for text in texts:
        for part in sentences(text):
            line = words(part)
            if line:
                single.update([*line, EDGE])
                pair.update(zip([EDGE, *line], [*line, EDGE]))
    single = {w: n for w, n in single.items() if n >= WORDS_MIN and not is_slip(w, single)}
    return single, {p: n for p, n in pair.items() if n >= PAIRS_MIN and p[0] in single and p[1] in single}


def write(path, single, pair, source):
    import gguf
    import numpy as np

    kept = sorted((w for w in single if w != EDGE), key=hash_of)
    ids = {w: i for i, w in enumerate([EDGE, *kept])}
    right = [[] for _ in ids]
    for (a, b), n in pair.items():
        right[ids[a]].append((ids[b], n))
    pairs = [p for row in right for p in sorted(row)]
    key = "fre-e2t-vocabulary."
    w = gguf.GGUFWriter(path, "fre-e2t-vocabulary")
    w.add_name(os.path.basename(path).removesuffix(".gguf"))
    w.add_uint32(key + "words", len(kept))
    w.add_uint32(key + "pairs", len(pairs))
    w.add_string(key + "source", source)

    def put(name, values, dtype):
        w.add_tensor(name, np.array(values, dtype).reshape(1, -1))

    put("word_high", [hash_of(x) >> 24 for x in kept], np.float32)
    put("word_low", [hash_of(x) & 0xffffff for x in kept], np.float32)
    put("word_count", [math.log(single[x]) for x in [EDGE, *kept]], np.float16)
    put("pairs_of_word", [len(row) for row in right], np.float32)
    put("pair_right", [p[0] for p in pairs], np.float32)
    put("pair_count", [math.log(p[1]) for p in pairs], np.float16)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("texts", nargs="+")
    p.add_argument("-o", "--output", required=True)
    p.add_argument("--leave-out", nargs="*", default=["pypi", "npm", "debian"], help="sources")
    a = p.parse_args()
    lines = collections.Counter()

    def read():
        for path in a.texts:
            for text, source in corpus.read(path):
                if source not in corpus.SOURCES:
                    raise SystemExit(f"{path}: source {source!r} is not in sources.json; say its licence there")
                if source not in a.leave_out:
                    lines[source] += 1
                    yield text

    single, pair = count(read())
    write(a.output, single, pair, f"{sum(lines.values())} lines of {len(lines)} sources, listed in its card")
    print(json.dumps({"words": len(single) - 1, "pairs": len(pair), "bytes": os.path.getsize(a.output),
                      "lines": dict(lines.most_common())}, indent=1))


if __name__ == "__main__":
    main()
