"""baseline: folders that evaluate reads, claims, refusals."""

import json

import pytest

from conftest import BUDGET, FREQUENT, MODELS, NO_TEXT, SEED, write_corpus

METHODS = ("central-dp", "ldp-oue", "ldp-embedding")
QUIET = ["--quiet", "--json"]
PREFIX = "fre-e2t baseline: "


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "corpus.jsonl").name


def described(tmp_path, folder="out"):
    return json.loads((tmp_path / folder / "release.json").read_text())


@pytest.mark.parametrize("method", METHODS)
def test_a_folder(fre, tmp_path, corpus, method):
    done = fre("baseline", method, corpus, "-o", "out", *BUDGET, *NO_TEXT, *QUIET)
    assert done.code == 0, done.err
    said, kept = done.json(), described(tmp_path)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "centroids.npy", "centroids.npy.json", "counts.npy", "release.json", "synthetic.jsonl"]
    assert said["method"] == kept["method"] == method
    assert kept["private"] is said["is_private"] is (method != "ldp-oue")
    assert said["statement"].splitlines() == kept["statement"]
    assert f"Baseline {method}" in kept["statement"][0]
    assert kept["ledger"] == {"entry": None, "reason": "baselines are not recorded"}
    if method == "ldp-oue":
        assert kept["certified"] is None and any(s.startswith("NOT PRIVATE") for s in kept["statement"])
    else:
        assert kept["certified"] == {"accountant": "analytic gaussian", "epsilon": 8.0, "delta": 1e-6}
    shown = fre("evaluate", "out", corpus, *QUIET)
    assert shown.code == 0, shown.err
    cell = shown.json()["cell"]["frequent"]
    if method == "central-dp":
        assert cell["precision"] == cell["recall"] == 1
    if method == "ldp-embedding":
        assert said["released"] == 0 and cell["recall"] == 0


def test_texts_come_out(fre, tmp_path, corpus):
    assert fre("baseline", "central-dp", corpus, "-o", "out", *BUDGET, *SEED, "--quiet").code == 0
    lines = [json.loads(line) for line in (tmp_path / "out" / "synthetic.jsonl").read_text().splitlines()]
    assert {line["text"].lower() for line in lines} & {text.lower() for text in FREQUENT}
    assert described(tmp_path)["private"] is False  # the seed


def test_a_public_domain(fre, tmp_path, corpus):
    """Cells that the domain does not have are not found; those that it has are, and the run is private."""
    (tmp_path / "public.txt").write_text(FREQUENT[0] + "\nsomething else\n")
    done = fre("baseline", "ldp-oue", corpus, "-o", "out", "--epsilon", "40", "--threshold", "40", *NO_TEXT,
               "--domain", "public.txt", *QUIET)
    assert done.code == 0, done.err
    assert done.json()["released"] == 1 and done.json()["is_private"]
    assert done.json()["not_for_publication"]["domain"] == 2
    assert described(tmp_path)["parameters"]["domain"] == "public"


def test_the_same_grid_as_a_release_of_the_same_seed(fre, tmp_path, corpus):
    fre("baseline", "central-dp", corpus, "-o", "out", *BUDGET, *NO_TEXT, *SEED, "--quiet")
    fre("synthesize", corpus, "-o", "ours", *BUDGET, *NO_TEXT, *SEED, "--quiet", "--ledger", "none")
    one, other = described(tmp_path)["parameters"], described(tmp_path, "ours")["parameters"]
    assert all(one[key] == other[key] for key in ("grid_seed", "projection_dim", "cell_edge", "threshold"))


def test_dry_run(fre, tmp_path, corpus):
    done = fre("baseline", "central-dp", corpus, "-o", "out", *BUDGET, "--dry-run", *QUIET)
    assert done.code == 0, done.err
    assert done.json()["dry_run"] and done.json()["plan"]["sigma"] > 0 and done.json()["released"] is None
    assert not (tmp_path / "out").exists()


def test_private_evolution(fre, tmp_path, corpus):
    args = ("baseline", "aug-pe", corpus, "-o", "out", *BUDGET, *SEED, "--language-model",
            MODELS / "minilm-inverter.q8_0.gguf", "--samples", "4", "--rounds", "2", "--temperature", "3", *QUIET)
    done = fre(*args)
    assert done.code == 0, done.err
    assert done.json()["released"] == 4 and done.json()["plan"]["count_sigma"] > 0
    kept = described(tmp_path)
    assert kept["method"] == "aug-pe" and kept["parameters"]["evolution"]["rounds"] == 2
    assert kept["models"]["language_model"] and not kept["models"]["inverter"]
    first = (tmp_path / "out" / "synthetic.jsonl").read_bytes()
    assert fre(*args, "--force").code == 0 and (tmp_path / "out" / "synthetic.jsonl").read_bytes() == first
    shown = fre("evaluate", "out", corpus, *QUIET)
    assert shown.code == 0 and shown.json()["text"] and not shown.json()["cell"]


def test_refusals(refused, fre, tmp_path, corpus):
    run = ("baseline", "central-dp", corpus, "-o", "out", *NO_TEXT)
    refused(64, PREFIX + "--domain is about ldp-oue", *run, "--epsilon", "4", "--domain", "x.txt")
    refused(64, PREFIX + "a cell of one user would be seen too often under this noise: raise --threshold or "
            "--epsilon", *run, "--epsilon", "0.1", "--threshold", "10")
    done = fre("baseline", "private-guess", corpus, "-o", "out", "--epsilon", "4")
    assert done.code == 64 and "central-dp" in done.err
    assert fre(*run, "--epsilon", "0").code == 64
    assert fre(*run, "--epsilon", "4", "--count-share", "1").code == 64
    done = fre(*run, "--epsilon", "4", "--population", "100")
    assert done.code == 65 and "--population" in done.err
    assert fre("baseline", "ldp-oue", "missing.txt", "-o", "out", "--epsilon", "4").code == 66
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("kept")
    assert fre(*run, *BUDGET).code == 73
    assert fre(*run, *BUDGET, "--force").code == 73  # it is no run's output
    assert (tmp_path / "out" / "mine.txt").read_text() == "kept"
