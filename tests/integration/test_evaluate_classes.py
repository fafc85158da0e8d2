"""What evaluate says of classifiers, beside the same by numpy.

Each text has one label and comes often, so that it lies in both halves whatever the coins, and what a
classifier says of it can be told; only how many of its records are tested differs a little.
"""

import json
import random

import pytest

from conftest import BUDGET, NO_TEXT

np = pytest.importorskip("numpy")

TOPICS = {"light": ["turn on the {} light", "switch off the light in the {}", "is the {} lamp on"],
          "music": ["play music in the {}", "stop the {} radio", "play it louder in the {}"],
          "heat": ["make the {} warmer", "set the {} to twenty degrees", "is the {} heating on"]}
ROOMS = "kitchen garden bedroom office cellar hall".split()
TRIALS = 3


def write(path, rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))


@pytest.fixture
def made(fre, tmp_path):
    rng = random.Random(9)
    texts, rows = [], []
    for topic, forms in TOPICS.items():
        for form in forms:
            for room in ROOMS:
                label = topic if rng.random() < 0.8 else rng.choice([*TOPICS, "other"])
                texts.append((form.format(room), label, rng.choice((24, 90, 150, 240))))
    for text, label, times in texts:
        rows += [{"text": text, "topic": label}] * times
    rng.shuffle(rows)
    write(tmp_path / "o.jsonl", rows)
    (tmp_path / "distinct.txt").write_text("\n".join(t for t, *_ in texts) + "\n")
    (tmp_path / "s.txt").write_text("\n".join(t.replace("the", "my") for t, *_ in texts[::2]) + "\n")
    for name in ("distinct", "s"):
        assert fre("embed", f"{name}.txt", "-o", f"{name}.npy").code == 0
    done = fre("synthesize", "o.jsonl", "-o", "out", *BUDGET, *NO_TEXT, "--quiet")
    assert done.code == 0, done.err
    return texts


def run(fre, *args):
    done = fre("evaluate", "s.txt", "o.jsonl", "--release", "out", "--json", "--public", "--reference",
               "none", *args)
    assert done.code == 0, done.err
    return done.json()


def nearest(a, b):
    return ((a[:, None, :] - b[None]) ** 2).sum(axis=2).argsort(axis=1, kind="stable")


def regression(x, y, c):
    """min 1/2 |w|^2 + C sum ln(1 + exp(-y <w, x>)), by gradients; the constant is a feature."""
    w = np.zeros(x.shape[1])
    step = 1 / (1 + c * len(x) * (x ** 2).sum(axis=1).max() / 4)
    for _ in range(4000):
        w -= step * (w - c * (x * (y / (1 + np.exp(y * (x @ w))))[:, None]).sum(axis=0))
    return w


def test_accuracies(fre, tmp_path, made):
    report = run(fre, "--label-field", "topic")
    got = report["classification"]
    label = np.array([lab for _, lab, _ in made])
    times = np.array([t for *_, t in made], float)
    x, s = (np.load(tmp_path / f"{n}.npy").astype(float) for n in ("distinct", "s"))
    centroid = np.load(tmp_path / "out" / "centroids.npy").astype(float)
    assert got["labels"] == len(set(label)) and got["seeds"] == TRIALS
    assert abs(got["test"] - times.sum() / 2) < 6 * np.sqrt(times.sum()) / 2

    def accuracy(said):
        return times[np.array(said) == label].sum() / times.sum()

    most = max(sorted(set(label)), key=lambda v: times[label == v].sum())
    assert got["majority"]["mean"] == pytest.approx(accuracy([most] * len(label)), abs=0.03)
    assert len(centroid) >= 20
    of_centroid, order = label[nearest(centroid, x)[:, 0]], nearest(x, centroid)
    assert [v["k"] for v in got["nearest_centroid"]] == [1, 5, 10, 20]
    for vote in got["nearest_centroid"]:
        said = []
        for row in order:
            near = list(of_centroid[row[:vote["k"]]])
            said.append(max(near, key=lambda v: (near.count(v), -near.index(v))))
        assert vote["mean"] == pytest.approx(accuracy(said), abs=0.03), vote["k"]
        assert 0 <= vote["sd"] < 0.05
    if got["linear"] is None:
        assert "liblinear" in str(report["missing"])
        return
    of_text = label[nearest(s, x)[:, 0]]
    ones = [np.hstack([v, np.ones((len(v), 1))]) for v in (s, x)]
    names = sorted(set(of_text))
    value = np.stack([ones[1] @ regression(ones[0], np.where(of_text == v, 1.0, -1.0), 10.0)
                      for v in names])
    expected = accuracy([names[i] for i in value.argmax(axis=0)])
    linear = got["linear"]
    assert linear["synthetic"]["train"] == len(s) == linear["real_same_size"]["train"]
    assert linear["synthetic"]["mean"] == pytest.approx(expected, abs=0.04)
    assert got["majority"]["mean"] < linear["real_same_size"]["mean"] <= linear["real"]["mean"] + 0.05
    assert linear["real"]["train"] > 1000 and linear["real"]["mean"] > 0.9


def test_not_asked_for(fre, made):
    report = run(fre, "--label-field", "topic", "--no-classifiers")
    assert report["classification"] is None
    assert "--no-classifiers" in str(report["missing"])
    assert report["labels"] is not None


def test_shown(fre, made):
    shown = fre("evaluate", "s.txt", "o.jsonl", "--release", "out", "--public", "--label-field", "topic")
    assert shown.code == 0, shown.err
    assert max(map(len, shown.out.splitlines())) <= 80
    assert "vote of the nearest centroids: 5" in shown.out


def test_nothing_to_tell_apart(fre, tmp_path, made):
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    write(tmp_path / "o.jsonl", [{**r, "topic": "one"} for r in rows])
    for args, words in ((["--label-field", "topic"], "fewer than two different labels"),
                        (["--label-field", "nonesuch"], "no such label"), ([], "--label-field")):
        got = run(fre, *args)
        assert got["classification"] is None and got["text"] is not None
        why = [m["why"] for m in got["missing"] if m["metric"] == "classification"]
        assert len(why) == 1 and words in why[0], got["missing"]
