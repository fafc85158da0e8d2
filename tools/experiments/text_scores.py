"""How alike two texts are, as numbers.  Case and marks do not count: the default embedder folds case,
and a mark moves an embedding by next to nothing.

exact: the same words in the same order.
f1: of words, each as often as it comes.
bleu: BLEU-4 of one sentence (Papineni, Roukos, Ward, Zhu, ACL 2002) with one added to matches and
totals of 2-, 3- and 4-grams (Lin, Och, COLING 2004), so that short sentences have a value.
"""
import collections
import math
import re

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def words(text):
    return WORD.findall(text.casefold().replace("’", "'"))


def exact(made, true):
    return words(made) == words(true)


def f1(made, true):
    a, b = words(made), words(true)
    both = sum((collections.Counter(a) & collections.Counter(b)).values())
    return 2 * both / (len(a) + len(b)) if a or b else 1.0


def grams(tokens, n):
    return collections.Counter(tuple(tokens[i:i + n]) for i in range(len(tokens) - n + 1))


def bleu(made, true):
    a, b = words(made), words(true)
    if not a or not b:
        return float(a == b)
    logs = 0.0
    for n in range(1, 5):
        extra = 1 if n > 1 else 0
        matches = sum((grams(a, n) & grams(b, n)).values()) + extra
        total = max(len(a) - n + 1, 0) + extra
        if matches == 0:
            return 0.0
        logs += math.log(matches / total) / 4
    return math.exp(logs + min(0.0, 1 - len(b) / len(a)))
