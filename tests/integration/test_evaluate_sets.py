"""What evaluate says of a set of texts, beside the same by numpy from the embeddings alone."""

import json
import random

import pytest

from conftest import BUDGET, NO_TEXT, other_embedder

np = pytest.importorskip("numpy")

THINGS = "lights kitchen music weather alarm table city garden window radio heating door".split()
WORDS = "please turn switch set open close the off on in my now tomorrow again".split()
T, RADIUS, ALPHA = 6, 0.6, 1.3
MEASURES = ["--threshold", str(T), "--radius", str(RADIUS), "--alpha", str(ALPHA)]


def originals():
    """Some texts often, some in few wordings, some once."""
    rng = random.Random(5)
    texts = []
    for i, thing in enumerate(THINGS):
        texts += [f"turn on the {thing}"] * (2 * i) + [f"please switch off the {thing}"] * i
    texts += [" ".join(rng.choices(WORDS + THINGS, k=rng.randint(2, 9))) for _ in range(120)]
    rng.shuffle(texts)
    return texts


MADE = [f"Turn on the {t}" for t in THINGS[4:]] + ["play some jazz music", "turn on the radio",
                                                  "close the garden door now"]
OTHER = [f"the {a} of a {b} is no proof of {c}" for a in ("root", "sum", "angle", "limit")
         for b in ("matrix", "prime", "circle", "field") for c in ("continuity", "beauty")][:len(MADE)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Files, evaluated once, and what numpy needs."""
    import subprocess

    from conftest import PROGRAM, TIMEOUT
    folder = tmp_path_factory.mktemp("sets")

    def fre(*args):
        done = subprocess.run([PROGRAM, *map(str, args)], cwd=folder, capture_output=True,
                              text=True, timeout=TIMEOUT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (folder / "o.txt").write_text("\n".join(originals()) + "\n")
    (folder / "s.txt").write_text("\n".join(MADE) + "\n")
    (folder / "other.txt").write_text("\n".join(OTHER) + "\n")
    report = json.loads(fre("evaluate", "s.txt", "o.txt", "--json", "--public", "--reference",
                            "other.txt", "--save-embeddings", "x.npy", *MEASURES))
    fre("embed", "s.txt", "-o", "s.npy")
    fre("embed", "other.txt", "-o", "u.npy")
    fre("embed", "o.txt", "-o", "again.npy")
    return folder, report


def distances(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))


@pytest.fixture(scope="module")
def numbers(made):
    folder, report = made
    x = np.load(folder / "x.npy")
    near = (distances(x, x) <= RADIUS).sum(axis=1)
    return report, x, near, {"text": np.load(folder / "s.npy"), "unrelated": np.load(folder / "u.npy")}


def same(got, expected):
    got = [np.nan if g is None else g for g in got]
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)


def test_saved_embeddings_are_those_of_embed(made):
    folder, _ = made
    assert (folder / "x.npy").read_bytes() == (folder / "again.npy").read_bytes()
    assert (folder / "x.npy.json").read_bytes() == (folder / "again.npy.json").read_bytes()
    assert (folder / "x.npy").stat().st_mode & 0o077 == 0


def test_frequent(numbers):
    report, x, near, _ = numbers
    assert report["originals"] == len(x)
    assert report["frequent"] == (near >= T).sum()
    assert 20 < report["frequent"] < len(x) - 20  # or the rest would show nothing


@pytest.mark.parametrize("name", ["text", "unrelated"])
def test_scores_and_curves(numbers, name):
    report, x, near, sets = numbers
    d = distances(x, sets[name])
    at = {"alpha": report["curves"]["alpha"]}
    np.testing.assert_allclose(at["alpha"], np.arange(1, 31) / 10)
    scores = report["text"] if name == "text" else report["reference"]["unrelated"]
    for kind, rows in (("frequent", near >= T), ("all", np.ones(len(x), bool))):
        to, of = d[rows].min(axis=0), d[rows].min(axis=1)
        precision = [(to <= a * RADIUS).mean() for a in at["alpha"] + [ALPHA]]
        recall = [(of <= a * RADIUS).mean() for a in at["alpha"] + [ALPHA]]
        f1 = [2 * p * r / (p + r) if p + r else 0 for p, r in zip(precision, recall)]
        curve = report["curves"][name][kind]
        same(curve["precision"] + [scores[kind]["precision"]], precision)
        same(curve["recall"] + [scores[kind]["recall"]], recall)
        same(curve["f1"] + [scores[kind]["f1"]], f1)
        same([scores[kind]["l2"]], [to.mean()])


@pytest.mark.parametrize("name", ["text", "unrelated"])
def test_distances(numbers, name):
    report, x, near, sets = numbers
    of = distances(x, sets[name]).min(axis=1)
    edges = report["distances"]["edges"]
    np.testing.assert_allclose(edges, np.arange(41) / 10 * RADIUS)
    for kind, rows in (("frequent", near >= T), ("infrequent", near < T)):
        got, some = report["distances"][name][kind], of[rows]
        counts = [int(((some >= a) & (some < b)).sum()) for a, b in zip(edges, edges[1:])]
        # A distance of almost exactly an edge may fall to either side.
        unsure = min(abs(v - e) for v in some for e in edges[1:]) < 1e-7
        assert unsure or got["counts"] == counts
        assert sum(got["counts"]) + got["beyond"] == len(some)
        same([got["mean"], got["median"]], [some.mean(), np.sort(some)[(len(some) - 1) // 2]])


@pytest.mark.parametrize("name", ["text", "unrelated"])
def test_by_neighbours(numbers, name):
    report, x, near, sets = numbers
    of = distances(x, sets[name]).min(axis=1)
    got = report["neighbours"]
    for i, start in enumerate(got["from"]):
        group = of[(near >= start) & (near < 2 * start)]
        assert got["originals"][i] == len(group)
        same([got[name][i]], [group.mean() if len(group) else np.nan])
    assert sum(got["originals"]) == len(x) and got["originals"][-1] > 0


@pytest.mark.parametrize("name", ["text", "unrelated"])
def test_rare_originals(numbers, name):
    report, x, near, sets = numbers
    of = distances(x, sets[name]).min(axis=1)
    np.testing.assert_allclose(report["ssp"]["psi"], np.arange(1, 16) / 10)
    for got, t in zip(report["ssp"]["at"], (10, 100)):
        rare = near < t
        assert got["t"] == t and got["infrequent"] == rare.sum()
        same(got[name], [(of[rare] <= psi * RADIUS).mean() for psi in report["ssp"]["psi"]])


def test_halves_are_real_texts(numbers):
    """Drawn from the frequent ones, they lie near frequent ones; and in their own data."""
    report, *_ = numbers
    assert report["reference"]["size"] == len(MADE)
    real, unrelated = report["reference"]["halves"], report["reference"]["unrelated"]
    assert unrelated["source"] == "other.txt"
    assert real["frequent"]["precision"] == 1
    assert real["frequent"]["l2"] < report["text"]["frequent"]["l2"] < unrelated["frequent"]["l2"]
    assert unrelated["all"]["precision"] == 0
    # What frequent texts of the one half say of rare ones of the other.
    assert sum(report["distances"]["halves"]["frequent"]["counts"]) < report["frequent"]
    assert report["missing"] != [] and "why" in report["missing"][0]


def test_embeddings_are_not_made_twice(fre, tmp_path, made):
    folder, report = made
    args = [folder / "s.txt", folder / "o.txt", "--json", "--public", "--reference",
            folder / "other.txt", *MEASURES]
    again = fre("evaluate", *args, "--embeddings", folder / "x.npy")
    assert again.code == 0, again.err
    again = again.json()
    for key in report:
        if not key.startswith("seconds") and key != "name":
            assert again[key] == report[key], key
    done = fre("evaluate", *args, "--embeddings", folder / "x.npy", "--save-embeddings", "y.npy")
    assert done.code == 64 and "leave out --save-embeddings" in done.err
    done = fre("evaluate", *args, "--save-embeddings", folder / "x.npy")
    assert done.code == 73
    done = fre("evaluate", folder / "s.txt", folder / "x.npy", "--save-embeddings", "y.npy")
    assert done.code == 64 and list(tmp_path.glob("y.npy*")) == []
    done = fre("evaluate", *args, "--embeddings", folder / "x.npy", "--embedder",
               other_embedder(tmp_path))
    assert done.code == 65 and "different embedders" in done.err


def test_unrelated_must_be_unrelated(fre, tmp_path, made):
    folder, _ = made
    done = fre("evaluate", folder / "s.txt", folder / "o.txt", "--json", "--public", "--reference",
               folder / "o.txt", *MEASURES)
    assert done.code == 0, done.err
    got = done.json()
    assert got["reference"]["unrelated"] is None and got["curves"]["unrelated"] is None
    why = [m["why"] for m in got["missing"] if m["metric"] == "reference"]
    assert len(why) == 1 and "--reference" in why[0]
    bundled = fre("evaluate", folder / "s.txt", folder / "o.txt", "--json", "--public", *MEASURES)
    assert bundled.json()["reference"]["unrelated"]["source"] == "assistant-requests.jsonl.gz"
    done = fre("evaluate", folder / "s.txt", folder / "o.txt", "--json", "--public", "--reference",
               "none", *MEASURES)
    assert done.json()["reference"]["unrelated"] is None


def test_side_by_side(fre, tmp_path, made):
    folder, report = made
    (tmp_path / "far.txt").write_text("\n".join(OTHER[:4]) + "\n")
    args = ["evaluate", folder / "s.txt", folder / "o.txt", "--public", "--embeddings",
            folder / "x.npy", "--reference", folder / "other.txt", *MEASURES, "--against",
            "far.txt", "--against", folder / "s.txt"]
    done = fre(*args, "--json")
    assert done.code == 0, done.err
    got = done.json()
    assert [e["name"] for e in got["against"]] == ["far.txt", str(folder / "s.txt")]
    assert got["text"] == report["text"] == got["against"][1]["text"]
    assert got["against"][0]["synthetic"] == 4
    assert got["against"][0]["text"]["all"]["precision"] == 0
    shown = fre(*args)
    assert shown.code == 0 and max(map(len, shown.out.splitlines())) <= 80
    assert "far.txt" in shown.out and "Side by side" in shown.out


def test_threshold_is_the_release_s(fre, corpus):
    assert fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--quiet").code == 0
    done = fre("evaluate", "out", corpus.name, "--json")
    assert done.json()["threshold"] == 40 and "was made with" not in done.err
    done = fre("evaluate", "out", corpus.name, "--threshold", "50", "--json")
    assert done.json()["threshold"] == 50 and "was made with --radius" in done.err


def test_what_is_undefined_says_why(fre, tmp_path):
    np.save(tmp_path / "x.npy", np.repeat(np.eye(3, 8, dtype="f4"), 400, 0))
    for threshold, why in [("2000", "no cell was released: there is no text and no centroid"),
                           ("40", "there is no synthetic text")]:
        made = fre("synthesize", "x.npy", "-o", "out" + threshold, "--epsilon", "8", "--population", "10000",
                   "--threshold", threshold, *NO_TEXT, "--user-field", "none", "--quiet")
        assert made.code == 0, made.err
        done = fre("evaluate", "out" + threshold, "x.npy", "--json")
        assert done.code == 0, done.err
        assert [m["why"] for m in done.json()["missing"] if m["metric"] == "text"] == [why]


def test_originals_far_outside_the_grid(fre, tmp_path):
    """They have no cells; the rest goes on."""
    rows = np.repeat(np.eye(3, 8, dtype="f4"), 400, 0)
    np.save(tmp_path / "x.npy", rows)
    np.save(tmp_path / "far.npy", rows * np.float32(1e38))
    made = fre("synthesize", "x.npy", "-o", "out", *BUDGET, *NO_TEXT, "--user-field", "none", "--quiet")
    assert made.code == 0, made.err
    done = fre("evaluate", "out", "far.npy", "--json")
    assert done.code == 0, done.err
    assert done.json()["cell"] is None and done.json()["centroid"]["all"]["recall"] == 0
    why, = (m["why"] for m in done.json()["missing"] if m["metric"] == "cell")
    assert "far outside the release's grid" in why


def test_a_release_without_a_cell(fre, tmp_path):
    (tmp_path / "few.txt").write_text("".join(f"a request about item {i}\n" for i in range(9)))
    assert fre("synthesize", "few.txt", "-o", "out", *BUDGET, *NO_TEXT, "--quiet").code == 0
    done = fre("evaluate", "out", "few.txt", "--public", "--json")
    assert done.code == 0, done.err
    got = done.json()
    assert got["centroids"] == 0 and got["cell"]["all"]["recall"] == 0
    assert got["curves"]["centroid"]["all"]["recall"] == [0] * 30
    assert got["distances"]["centroid"]["infrequent"]["mean"] is None
    assert got["ssp"]["at"][0]["centroid"] == [0] * 15
    shown = fre("evaluate", "out", "few.txt", "--public")
    assert shown.code == 0 and max(map(len, shown.out.splitlines())) <= 80


def test_labels_that_are_not_there(fre, tmp_path, made):
    folder, report = made
    rows = (folder / "o.txt").read_text().splitlines()
    (tmp_path / "o.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in rows))
    (tmp_path / "o.csv").write_text("id,text\n" + "".join(f"{i},{t}\n" for i, t in enumerate(rows)))
    for name in ("o.jsonl", "o.csv"):
        done = fre("evaluate", folder / "s.txt", name, "--json", "--public", "--label-field", "topic",
                   "--reference", folder / "other.txt", *MEASURES)
        assert done.code == 0, done.err
        got = done.json()
        assert got["text"] == report["text"] and got["labels"] is None
        why = [m["why"] for m in got["missing"] if m["metric"] == "labels"]
        assert len(why) == 1 and "topic" in why[0]


def test_bound_beside_rare_originals(fre, corpus):
    """The bounds are those of ssp for the release's own numbers."""
    assert fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--quiet").code == 0
    got = fre("evaluate", "out", corpus.name, "--public", "--json", "--reference", "none").json()
    made = json.loads((corpus.parent / "out" / "release.json").read_text())["parameters"]
    counts = [json.loads(line)["count"] for line in
              (corpus.parent / "out" / "synthetic.jsonl").read_text().splitlines()]
    for at in got["ssp"]["at"]:
        assert at["bound_cell"][10:] == [None] * 5  # psi above 1
        for psi in (0.2, 0.6, 1.0):
            done = fre("ssp", "--neighbours", at["t"] - 1, "--psi", psi, "--sampling-rate",
                       repr(made["sampling_rate"]), "--sigma", repr(made["sigma"]), "--threshold",
                       made["threshold"], "--dimension", made["dimension"], "--projection-dim",
                       made["projection_dim"], "--cell-edge", repr(made["cell_edge"]),
                       "--population", made["population"], "--count", min(counts), "--cells", 1,
                       "--json")
            assert done.code == 0, done.err
            one, i = done.json(), round(psi * 10) - 1
            if one["bound"] < 1:
                assert at["bound_cell"][i] == pytest.approx(one["bound"], rel=1e-6)
                assert at["centroid"][i] <= at["bound_cell"][i] * len(counts)
            else:
                assert at["bound_cell"][i] is None
            if one["bound_pairs"] + one["bound"] >= 1:
                assert at["bound"][i] is None
    assert got["ssp"]["at"][0]["bound_cell"][3] is not None  # or nothing was compared
