"""What evaluate says of the texts themselves, beside the same computed here from the definitions."""

import collections
import json
import math
import random
import subprocess
import unicodedata

import pytest

from conftest import MODELS, PROGRAM, TIMEOUT

np = pytest.importorskip("numpy")

MEASURES = ["--threshold", "3", "--radius", "0.7", "--reference", "none", "--json", "--public"]
THINGS = "lights kitchen music weather alarm table city garden window radio heating door".split()
LINES = [("Turn on the lights!", ["turn the lights on", "Switch on the lights, please"]),
         ("turn on the Lights!", []), ("Hi", ["hi", "Hello"]), ("ok", []), ("…", ["?!"]),
         ("what's the weather in Paris", ["what is the weather in Paris", "how is Paris' weather"]),
         ("開灯 please", []), ("Hi", []), ("don't don't don't", ["don't"]), ("Ünïcode ÜNÏCODE 12e3", [])]


def words(text):
    out, run = [], ""
    for c in text:
        kind = unicodedata.category(c)[0]
        wide = kind == "L" and unicodedata.east_asian_width(c) in "WF"
        if kind in "LMN" and not wide:
            run += c.lower()
            continue
        if run:
            out.append(run)
        run = ""
        if kind not in "ZC":
            out.append(c.lower())
    return out + [run] if run else out


def grams(text, n):
    return collections.Counter(tuple(text[i:i + n]) for i in range(len(text) - n + 1))


def bleu(text, others):
    orders, total = min(4, len(text)), 0
    for n in range(1, orders + 1):
        most = collections.Counter()
        for o in others:
            most |= grams(o, n)
        mine = grams(text, n)
        matches = sum(min(k, most[g]) for g, k in mine.items())
        total += math.log((matches or 0.1) / sum(mine.values()))
    length = min((len(o) for o in others), key=lambda k: (abs(k - len(text)), k))
    return math.exp(total / orders) * (math.exp(1 - length / len(text)) if len(text) < length else 1)


def self_bleu(texts):
    texts = [t for t in texts if t]
    return np.mean([bleu(t, texts[:i] + texts[i + 1:]) for i, t in enumerate(texts)])


def test_by_hand():
    """The definition above is the usual one where there are four words and every order matches."""
    assert words("Don't stop, 開く!") == ["don", "'", "t", "stop", ",", "開", "く", "!"]
    a, b = "a b c d e".split(), "a b c d f".split()
    assert bleu(a, [b]) == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    assert bleu(a, [a]) == 1 and bleu(["a"], [["a", "b", "c"]]) == pytest.approx(math.exp(-2))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    rng = random.Random(3)
    originals = [f"{v} the {t}" for t in THINGS for v in ("turn on", "close", "is there") for _ in range(4)]
    originals += [" ".join(rng.choices(THINGS, k=rng.randint(1, 8))) for _ in range(100)]
    (folder / "o.txt").write_text("\n".join(originals) + "\n")
    (folder / "s.jsonl").write_text("".join(json.dumps({"text": t, "paraphrases": p}) + "\n"
                                            for t, p in LINES))
    return folder


def evaluate(folder, *args):
    done = subprocess.run([PROGRAM, "evaluate", *map(str, args), *MEASURES], cwd=folder,
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def report(made):
    return evaluate(made, "s.jsonl", "o.txt", "--save-embeddings", "x.npy")


TEXTS = [t for t, _ in LINES]
SETS = {"text": TEXTS, "text_with_paraphrases": TEXTS + [p for _, q in LINES for p in q]}


@pytest.mark.parametrize("name", SETS)
def test_diversity(report, name):
    got, texts = report["diversity"][name], SETS[name]
    assert got["texts"] == len(texts)
    assert got["self_bleu"] == pytest.approx(self_bleu(list(map(words, texts))), abs=1e-9)
    for n in (1, 2, 3):
        all_ = sum((grams(words(t), n) for t in texts), collections.Counter())
        assert got["distinct"][n - 1] == pytest.approx(len(all_) / sum(all_.values()))
    assert got["duplicates"] == pytest.approx(1 - len(set(texts)) / len(texts))
    folded = [unicodedata.normalize("NFC", t).casefold() for t in texts]
    assert got["duplicates_case_blind"] == pytest.approx(1 - len(set(folded)) / len(texts))


def test_within_a_line(report):
    groups = [[w for w in map(words, [t, *p]) if w] for t, p in LINES if p]
    expected = np.mean([self_bleu(g) for g in groups if len(g) > 1])
    assert report["diversity"]["self_bleu_within"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_lengths(report, name):
    for key, size in (("words", lambda t: len(words(t))), ("characters", len)):
        sizes, got = np.sort([size(t) for t in SETS[name]]), report["lengths"][name][key]
        assert got["mean"] == pytest.approx(sizes.mean())
        assert got["sd"] == pytest.approx(sizes.std(ddof=1))
        for q in ("p10", "median", "p90"):
            share = {"p10": 0.1, "median": 0.5, "p90": 0.9}[q]
            assert got[q] == sizes[math.ceil(share * len(sizes)) - 1]


def test_references_have_them_too(made, report):
    assert report["diversity"]["halves"]["texts"] == len(TEXTS)
    assert report["diversity"]["centroid"] is None and report["diversity"]["unrelated"] is None
    assert 2 < report["lengths"]["halves"]["words"]["mean"] < 5
    rows = evaluate(made, "s.jsonl", "x.npy")
    assert rows["diversity"]["text"] == report["diversity"]["text"]
    assert rows["diversity"]["halves"] is None
    assert "diversity" in [m["metric"] for m in rows["missing"]]


def test_one_text_and_none(fre, tmp_path, made):
    (tmp_path / "one.txt").write_text("turn on the lights\n")
    got = evaluate(tmp_path, "one.txt", made / "o.txt")
    assert got["diversity"]["text"]["self_bleu"] is None and got["lengths"]["text"]["words"]["sd"] is None
    assert got["mauve"] is None and "mauve" in [m["metric"] for m in got["missing"]]
    (tmp_path / "none.jsonl").write_text("\n")
    got = evaluate(tmp_path, "none.jsonl", made / "o.txt")
    assert [m["why"] for m in got["missing"] if m["metric"] == "text"] == ["there is no synthetic text"]
    assert got["diversity"]["text"]["distinct"] == [None] * 3
    assert got["lengths"]["text"]["words"]["mean"] is None


# ---- MAUVE -------------------------------------------------------------------------------------


def mauve_of(p, q):
    """Area under the divergence curve, from both axes, as its authors have it (scale 5, 25 mixtures)."""
    p, q = p / p.sum(), q / q.sum()

    def kl(a, b):
        some = a > 0
        return (a[some] * np.log(a[some] / b[some])).sum()

    points = [(0, np.inf), (np.inf, 0)]
    for w in np.linspace(1e-6, 1 - 1e-6, 25):
        r = w * p + (1 - w) * q
        points.append((kl(q, r), kl(p, r)))
    x, y = np.exp(-5 * np.array(points)).T
    one, two = np.lexsort((-y, x)), np.lexsort((-x, y))
    return 0.5 * (np.trapz(y[one], x[one]) + np.trapz(x[two], y[two]))


def clusters(rows, k, rng):
    centre = rows[rng.choice(len(rows), k, replace=False)]
    for _ in range(10):
        d = ((rows[:, None, :] - centre[None]) ** 2).sum(axis=2)
        member = d.argmin(axis=1)
        for j in range(k):
            if (member == j).any():
                centre[j] = rows[member == j].mean(axis=0)
            else:
                centre[j] = rows[d.min(axis=1).argmax()]
    return ((rows[:, None, :] - centre[None]) ** 2).sum(axis=2).argmin(axis=1)


def test_mauve(fre, tmp_path):
    """The same by other draws and other clusters, so near it and no nearer."""
    rng = np.random.default_rng(11)
    gen = random.Random(11)
    rows = [f"{v} the {t}" for t in THINGS for v in ("turn on", "turn off", "close", "where is")]
    originals = gen.choices(rows, weights=range(1, len(rows) + 1), k=1500)
    close = gen.choices(rows, weights=range(1, len(rows) + 1), k=300)
    skew = gen.choices(rows[:16], k=300)
    apart = [f"the {a} of {b} number {i}" for a in ("root", "sum") for b in ("prime", "circle")
             for i in range(75)]
    for name, lines in (("o", originals), ("close", close), ("skew", skew), ("apart", apart)):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
        assert fre("embed", f"{name}.txt", "-o", f"{name}.npy").code == 0
    x = np.load(tmp_path / "o.npy").astype(float)
    found = {}
    for name in ("close", "skew", "apart"):
        got = evaluate(tmp_path, f"{name}.txt", "o.txt", "--embeddings", "o.npy")["mauve"]
        assert min(got["halves"]["seeds"]) > 0.8  # each draw of real texts is one of its own
        assert got["size"] == 300 and got["buckets"] == 30
        got = got["text"]
        assert got["size"] == 300 and len(got["seeds"]) == 5
        assert got["mean"] == pytest.approx(np.mean(got["seeds"]))
        assert got["sd"] == pytest.approx(np.std(got["seeds"], ddof=1))
        y, mine = np.load(tmp_path / f"{name}.npy").astype(float), []
        for _ in range(5):
            both = np.vstack([x[rng.choice(len(x), 300, replace=False)], y])
            member = clusters(both, 30, rng)
            mine.append(mauve_of(*(np.bincount(m, minlength=30).astype(float)
                                   for m in (member[:300], member[300:]))))
        assert got["mean"] == pytest.approx(np.mean(mine), abs=0.08), name
        found[name] = got["mean"]
    assert found["close"] > 0.85 > 0.5 > found["skew"] > 2 * found["apart"]


# ---- language ----------------------------------------------------------------------------------


def test_language(fre, made):
    """By the bundled decoder, which is a language model like any other; the numbers are those of score."""
    model = MODELS / "minilm-inverter.q8_0.gguf"
    report = evaluate(made, "s.jsonl", "o.txt", "--embeddings", "x.npy", "--language-model", model)
    (made / "t.txt").write_text("\n".join(TEXTS) + "\n")
    done = fre("score", made / "t.txt", "-o", "lines.jsonl", "--language-model", model)
    assert done.code == 0, done.err
    done = fre("score", made / "t.txt", "-o", "-", "--language-model", model)
    nll = np.array([r["nll"] for r in map(json.loads, done.out.splitlines()) if r["nll"] is not None])
    got = report["language"]["text"]
    assert got["texts"] == len(TEXTS) and got["scored"] == len(nll)
    assert got["mean_nll"] == pytest.approx(nll.mean(), rel=1e-6)
    assert got["median_nll"] == pytest.approx(np.median(nll), rel=1e-6)
    assert got["mean_perplexity"] == pytest.approx(np.exp(nll).mean(), rel=1e-6)
    assert got["median_perplexity"] == pytest.approx(math.exp(np.median(nll)), rel=1e-6)
    assert got["share_nll_at_most_6"] == pytest.approx((nll <= 6).mean())
    assert report["language"]["halves"]["scored"] > 0 and report["language"]["centroid"] is None


def test_no_language_model(made):
    for more in ([], ["--language-model", "absent.gguf"]):
        got = evaluate(made, "s.jsonl", "o.txt", "--embeddings", "x.npy", *more)
        assert got["language"] is None and got["diversity"]["text"] is not None
        assert [m for m in got["missing"] if m["metric"] == "language"]
