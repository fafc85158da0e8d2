"""The Python package: the same mechanism, files, ledger and sentences as the program's."""

import datetime
import decimal
import gc
import inspect
import io
import itertools
import json
import logging
import math
import os
import pathlib
import pickle
import re
import subprocess
import sys
import textwrap
import threading

import pytest

from conftest import FREQUENT, LONG, ROOT, SEED, TIMEOUT, embedded, everything, texts, write_corpus  # noqa: F401
from the_package import PACKAGE, fre_e2t

np = pytest.importorskip("numpy")

BUDGET = {"epsilon": 8, "threshold": 40, "population": 100000}
PLAIN = {**BUDGET, "inverter": "none", "ledger": False, "user": False}
long = pytest.mark.skipif(not LONG, reason="make check-python runs it")
FILES = ("synthetic.jsonl", "release.json", "centroids.npy", "counts.npy")


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    """Every test has a TMPDIR of its own, in which nothing may stay behind."""
    own = tmp_path / "own-tmp"
    own.mkdir()
    monkeypatch.setenv("TMPDIR", str(own))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield
    assert everything(own) == []


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A state folder, and so a ledger, of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "fre-e2t" / "ledger.json"


def bytes_of(folder):
    return {name: (pathlib.Path(folder) / name).read_bytes() for name in FILES}


# ---- the same as the program ---------------------------------------------------------------------------

def test_version():
    stated = re.search(r"project\(fre-e2t VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert fre_e2t.__version__ == stated


def test_the_same_bytes_as_the_program(fre, tmp_path, corpus):
    args = ["--epsilon", "8", "--threshold", "40", "--population", "100000", "--ledger", "none", "--user-field", "none",
            "--inverter", "none", *SEED]
    assert fre("synthesize", corpus.name, "-o", "out", *args).code == 0
    expected = bytes_of(tmp_path / "out")
    seed = SEED[1]
    for data in (texts(), (t for t in texts()), str(corpus), corpus, [{"text": t} for t in texts()]):
        fre_e2t.synthesize(data, **PLAIN, seed=seed, output=tmp_path / "py", force=True)
        assert bytes_of(tmp_path / "py") == expected
    release = fre_e2t.synthesize(texts(), **PLAIN, seed=seed)
    assert release == fre_e2t.load(tmp_path / "out")
    assert len(release) == len(release.texts) == len(release.centroids) == len(release.counts) > 0
    assert not release.is_private and "NOT PRIVATE" in release.statement
    assert release.plan["tau"] == release.about["parameters"]["tau"]


def test_texts_are_written(tmp_path, alone):
    release = fre_e2t.synthesize(texts(), **BUDGET, user=False, output=tmp_path / "out")
    assert {t.lower() for t in release.texts.to_list() if t} & set(FREQUENT)
    assert release.is_private and "epsilon = 8" in release.statement
    assert release == fre_e2t.load(tmp_path / "out")
    assert [e["state"] for e in fre_e2t.ledger()["entries"]] == ["published"]
    assert alone.exists()


def test_plan_and_account(fre):
    plan = fre_e2t.plan(4, population=1_000_000, levels="auto")
    told = fre("plan", "--epsilon", "4", "--population", "1000000", "--levels", "auto", "--json").json()
    assert dict(plan) == told
    assert "epsilon = 4" in plan.statement and pickle.loads(pickle.dumps(plan)) == plan
    numbers = ["--sampling-rate", "0.8", "--tau", "80", "--sigma", "1.52", "--population", "1000000", "--projection-dim", "20"]
    given = {"sampling_rate": 0.8, "tau": 80, "sigma": 1.52, "population": 1_000_000, "projection_dim": 20}
    assert dict(fre_e2t.account(**given, epsilon=4)) == fre("account", *numbers, "--epsilon", "4", "--json").json()
    assert dict(fre_e2t.account(**given)) == fre("account", *numbers, "--json").json()


def flags_of(given):
    """The program's flags for parameters of the package."""
    for name, value in given.items():
        flag = "--" + {"text": "text-field", "label": "label-field"}.get(name, name.rstrip("_").replace("_", "-"))
        if value is True and name in ("distributed", "splits"):
            yield flag
        elif isinstance(value, bool):
            yield from (flag, "on" if value else "off")
        else:
            yield from (flag, ",".join(map(str, value)) if isinstance(value, list) else str(value))


MILLION = {"population": 1_000_000}
GRID = {**MILLION, "sampling_rate": .8, "tau": 80, "sigma": 1.52, "projection_dim": 20}
PADDED = {**MILLION, "sampling_rate": .5, "tau": 60, "sigma": 2.5, "distributed": True, "lambda_": 3.5, "gamma": 60}
NOISY = {**MILLION, "levels": [4096, 256], "level_sigma": [.84, 1.1], "level_count_sigma": [4.6, 6]}
SAMPLED = {**MILLION, "levels": "1024,256", "counts": "sampled", "level_sigma": [1.46, 1.46],
           "level_sampling_rate": [.52, .52], "level_tau": [26, 26]}


@pytest.mark.parametrize("given", [
    {"population": 10**7, "levels": [4096, 1024], "counts": "sampled"},
    {**MILLION, "distributed": True},
    {**MILLION, "distributed": True, "cover": False, "curious_users": 3, "contacts": "two", "dropout": .2, "splits": True},
    {**MILLION, "distributed": True, "noise_by": "clients", "noise": "continuous", "max_cells_per_user": 2, "epsilon": 12},
    {**MILLION, "distributed": True, "levels": "1024", "epsilon": 8},
    {"population": 10**10, "distributed": True, "max_dummies": 1e12},
    {**MILLION, "accountant": "paper", "multi_record": "group", "max_cells_per_user": 2, "epsilon": 8},
    {**MILLION, "accountant": "paper", "distributed": True},
    {**MILLION, "distributed": True, "threshold": 10, "epsilon": 1},
])
def test_plans_of_the_program(fre, given):
    done = fre("plan", "--json", *flags_of({"epsilon": 4, **given}))
    if done.code == 0:
        assert dict(fre_e2t.plan(**given)) == done.json()
    else:
        assert given["threshold"] == 10
        with pytest.raises(fre_e2t.InfeasibleError):
            fre_e2t.plan(**given)


@pytest.mark.parametrize("given", [
    {**GRID, "split": 1.2}, {**GRID, "split": 1.2, "epsilon": 4}, {**GRID, "max_cells_per_user": 3, "adjacency": "replace"},
    PADDED, {**PADDED, "epsilon": 8}, {**PADDED, "noise": "continuous", "cover": False}, {**PADDED, "splits": True, "phi": 1e-9},
    {**PADDED, "contacts": "two", "dropout": .1, "curious_users": 2},
    NOISY, {**NOISY, "epsilon": 3, "adjacency": "replace"}, {**NOISY, "radius": .8, "max_cells_per_user": 2}, SAMPLED,
    {**GRID, **NOISY, "levels": "grid,4096,256"}, {**GRID, **SAMPLED, "levels": "grid,1024,256", "epsilon": 6},
    {**SAMPLED, "levels": 1024, "level_sigma": 3., "level_sampling_rate": .5, "level_tau": 60, "distributed": True,
     "lambda_": 3.5, "gamma": 60},
    {**GRID, "epsilon": 4, "delta": 1e-3}, {**GRID, "split": 1e-3},
])
def test_accounts_of_the_program(fre, given):
    done = fre("account", "--json", *flags_of(given))
    if done.code == 0:
        told = done.json()
        told["warnings"] = [re.sub("--([a-z]+)", r"{\1}", w) for w in told["warnings"]]
        assert dict(fre_e2t.account(**given)) == told
    else:  # the same sentence, but for names
        assert "cover" in given or "delta" in given
        with pytest.raises(fre_e2t.UsageError) as error:
            fre_e2t.account(**given)
        assert re.sub(r"--|-", " ", done.err).split(": ", 1)[1].split() == re.sub(r"_|-", " ", str(error.value)).split()


def test_levels_are_tried_out(fre, tmp_path, corpus):
    given = {**BUDGET, "levels": "1024,256"}
    told = fre("plan", "--json", *flags_of({**given, "public_corpus": corpus.name}))
    assert told.code == 0, told.err
    told = told.json()
    del told["forecast"]["command"]  # the program's own
    plan = fre_e2t.plan(**given, public_corpus=corpus)
    assert dict(plan) == told and len(plan["forecast"]["lists"]) > 1
    assert "epsilon = 8" in plan.statement


@pytest.mark.parametrize("call, words", [
    (lambda: fre_e2t.plan(curious_users=2), "curious_users belongs to distributed=True"),
    (lambda: fre_e2t.plan(noise="discrete"), "needs distributed=True"),
    (lambda: fre_e2t.plan(distributed=True, dropout=.1), "leave out dropout"),
    (lambda: fre_e2t.plan(distributed=True, contacts="two", noise_by="servers"), "needs contacts='one'"),
    (lambda: fre_e2t.plan(multi_record="cap"), "accountant='paper'"),
    (lambda: fre_e2t.plan(label="topic"), "label is about public_corpus"),
    (lambda: fre_e2t.plan(public_corpus="x.txt", dimension=8), "leave out dimension"),
    (lambda: fre_e2t.account(), "sampling_rate is required"),
    (lambda: fre_e2t.account(**GRID, level_tau=[3]), "level_tau is of public cells"),
    (lambda: fre_e2t.account(**NOISY, sigma=1), "sigma is the grid's"),
    (lambda: fre_e2t.account(**{**NOISY, "level_sigma": [1]}), "level_sigma has 1 number"),
    (lambda: fre_e2t.account(**NOISY, level_tau=[3, 3]), "level_tau belongs to counts='sampled'"),
    (lambda: fre_e2t.account(**{**SAMPLED, "level_tau": None}), "levels needs level_tau too"),
    (lambda: fre_e2t.account(**{**PADDED, "gamma": None}), "distributed needs gamma too"),
    (lambda: fre_e2t.account(**GRID, phi=1e-9), "phi belongs to"),
    (lambda: fre_e2t.account(**{**PADDED, "lambda_": -1}), "lambda_"),
])
def test_what_a_plan_or_an_account_refuses(call, words):
    with pytest.raises(fre_e2t.UsageError, match=re.escape(words)):
        call()


def test_embed_and_invert(embedded):  # noqa: F811
    rows = fre_e2t.embed(FREQUENT)
    assert rows.dtype == np.float32 and rows.shape[0] == 3
    whole = np.load(embedded)
    assert [bool((whole == row).all(axis=1).any()) for row in rows] == [True] * 3
    assert (fre_e2t.embed(["", "\u200b"]) == 0).all() and fre_e2t.embed([]).shape[0] == 0
    one = fre_e2t.invert(rows[1:2])
    assert one[0]["text"].lower() == FREQUENT[1] and one[0]["similarity"] > 0.99
    assert fre_e2t.invert(np.zeros((1, rows.shape[1]), dtype="f4"))[0]["unreadable"].startswith("a row of zeros")


def test_embeddings(tmp_path, embedded):  # noqa: F811
    rows = np.load(embedded)
    release = fre_e2t.synthesize(embeddings=rows, **{**PLAIN, "seed": SEED[1]})
    assert len(release) == 3 and release.texts.to_list() == [None] * 3
    same = fre_e2t.synthesize(embeddings=rows.astype("f8", order="F"), **{**PLAIN, "seed": SEED[1]})
    assert same == release
    whose = [i % 300 for i in range(len(rows))]
    fre_e2t.synthesize(embeddings=rows, **{**PLAIN, "user": whose})


@long
def test_embeddings_of_the_default_model(embedded):  # noqa: F811
    rows = np.load(embedded)
    told = fre_e2t.synthesize(embeddings=rows, embedding_model="default", **{**PLAIN, "inverter": None})
    assert {t.lower() for t in told.texts.to_list() if t} & set(FREQUENT)


def test_an_embedder_of_ones_own():
    asked = []

    def model(some):
        asked.extend(some)
        return np.array([[math.cos(len(t)), math.sin(len(t))] for t in some])

    release = fre_e2t.synthesize([{"text": t, "who": str(i)} for i, t in enumerate(texts())], embedding_model=model,
                                 **{**PLAIN, "user": "who"})
    assert len(asked) == len(set(asked)) == len(set(texts()))
    assert release.centroids.shape[1] == 2
    with pytest.raises(fre_e2t.DataError, match="returned 1 rows for"):
        fre_e2t.synthesize(texts(), embedding_model=lambda some: [[1.0, 2.0]], **PLAIN)
    with pytest.raises(fre_e2t.UsageError, match="inverter must be 'none'"):
        fre_e2t.synthesize(texts(), embedding_model=model, **{**PLAIN, "inverter": "search"})


@long
def test_evaluate_and_report(tmp_path, corpus):
    release = fre_e2t.synthesize(texts(), **{**PLAIN, "seed": SEED[1]})
    measured = fre_e2t.evaluate(release, texts(), threshold=40, reference="none")
    assert measured["name"] == "Release" and measured["cell"]["frequent"]["recall"] == 1
    again = fre_e2t.evaluate(release, corpus, threshold=40, reference="none")
    assert again["centroid"] == measured["centroid"]
    release.report(tmp_path / "r.html", evaluation=measured)
    assert "<html" in (tmp_path / "r.html").read_text()
    with pytest.raises(fre_e2t.ExistsError):
        release.report(tmp_path / "r.html")
    with pytest.raises(fre_e2t.RefusedError):
        release.report(tmp_path / "p.html", public=True)
    assert not (tmp_path / "p.html").exists()


def test_evaluate_against(tmp_path):
    ours, other = (fre_e2t.synthesize(texts(), **{**PLAIN, "seed": SEED[1], "epsilon": e}) for e in (8, 16))
    other.save(tmp_path / "other")
    alone = fre_e2t.evaluate(ours, texts(), threshold=40, reference="none")
    measured = fre_e2t.evaluate(ours, texts(), threshold=40, reference="none",
                                against=[other, tmp_path / "other", ["what is new", "hello there"]])
    assert measured["centroid"] == alone["centroid"] and alone["against"] == []
    first, second, third = measured["against"]
    assert [first["name"], second["name"], third["name"]] == ["Release", "other", "list"]
    assert first["centroid"] == second["centroid"] and third["text"]["all"]["recall"] < 1
    with pytest.raises(fre_e2t.UsageError, match="against is a list"):
        fre_e2t.evaluate(ours, texts(), against=other)


def lines_of(path):
    """JSON lines of the program, whose numbers have nine digits."""
    return [{name: pytest.approx(value, rel=1e-8) if isinstance(value, float) else value
             for name, value in json.loads(line).items()} for line in path.read_text().splitlines()]


def test_score(fre, tmp_path):
    """As the program has it; the language model is the one of `score`'s own tests."""
    said = ["What is the weather like tomorrow?", "weather weather the the like"]
    found = fre_e2t.score(said)
    assert [row["text"] for row in found] == said and all(row["tokens"] > 4 for row in found)
    assert found[0]["nll"] < found[1]["nll"] and found[0]["perplexity"] == pytest.approx(math.exp(found[0]["nll"]))
    (tmp_path / "said.txt").write_text("".join(text + "\n" for text in said))
    assert fre("score", "said.txt", "-o", "scores.jsonl").code == 0
    assert found == lines_of(tmp_path / "scores.jsonl")
    with pytest.raises(fre_e2t.DataError, match="record 2 has no text"):
        fre_e2t.score(["a", None])


QUICK = {"runs": 1000, "dimension": 4, "seed": "5e", "epsilon": 4}
OWN = {"sampling_rate": .5, "tau": 20, "sigma": 2, "delta": 1e-4, "epsilon": 3}
LEVELS = {"population": 100000, "delta": 1e-3, "threshold": 40, "levels": "grid,64", "dimension": 2}


@pytest.mark.parametrize("given", [
    {"population": 10000, "threshold": 50, "epsilon": 2}, {"population": 100000, "sigma_factor": .1}, LEVELS,
    {**LEVELS, "levels": "256,64", "sigma_factor": .4, "tau_factor": .5, "rate_factor": .9},
    {"population": 100000, "distributed": True, "max_cells_per_user": 2, "epsilon": 8},
    {"population": 100000, "distributed": True, "contacts": "two", "cover": False, "dropout": .2, "curious_users": 3},
    {"population": 100000, "distributed": True, "levels": "1024", "epsilon": 8},
    {**OWN, "sigma": .45, "max_cells_per_user": 3, "split": .5, "population": 1000},
    {**OWN, "distributed": True, "lambda_": .2, "gamma": 20, "splits": True, "max_cells_per_user": 2},
    {"population": 1000, "accountant": "paper", "distributed": True, "delta": 1e-3},
    {**OWN, "sigma": 1e-13, "split": 1.24},
])
def test_audits_of_the_program(fre, given):
    """Verdict, mechanism and all scenarios, or the same sentence but for names."""
    given = {**QUICK, **given}
    done = fre("audit", "--json", "--quiet", *flags_of(given))
    if done.code in (0, 1):
        told = done.json()
        told["warnings"] = [re.sub("--([a-z]+)", r"\1", w) for w in told["warnings"]]
        found = fre_e2t.audit(**given)
        assert found == told and found["refuted"] == bool(done.code)
        assert found["mechanism"]["distributed"] == given.get("distributed", False)
    else:
        assert given["sigma"] == 1e-13
        with pytest.raises(fre_e2t.UsageError) as error:
            fre_e2t.audit(**given)
        assert str(error.value) == done.err.strip().split(": ", 1)[1].replace("--", "")


@pytest.mark.parametrize("given, words", [
    ({"lambda_": 1}, "lambda_ belongs to a mechanism given by tau, sigma and sampling_rate"),
    ({"cover": True}, "cover belongs to distributed=True"),
    ({"tau": 20, "sigma": 2}, "sampling_rate is missing"),
    ({**OWN, "threshold": 50}, "threshold shapes a plan"),
    ({**OWN, "projection_dim": "auto"}, "projection_dim='auto' needs a plan"),
    ({**OWN, "distributed": True, "lambda_": 1}, "distributed needs gamma too"),
    ({**OWN, "gamma": 1}, "gamma belongs to distributed=True"),
    ({"sigma_factor": 0}, "sigma_factor must be"),
    ({"distributed": True, "levels": "grid,64"}, "levels"),
    ({"seed": "5g"}, "seed must be 32 bytes, or 1 to 64"),
    ({"seed": b"5e"}, "seed must be 32 bytes"),
    ({"seed": ""}, "seed must be 32 bytes"),
])
def test_what_an_audit_refuses(given, words):
    with pytest.raises(fre_e2t.UsageError, match=re.escape(words)) as error:
        fre_e2t.audit(**{"epsilon": 4, "runs": 1000, "dimension": 4, **given})
    assert "--" not in str(error.value)


# ---- every function as its command --------------------------------------------------------------------

def test_a_seed_is_the_program_s(fre, corpus, tmp_path):
    args = ["--epsilon", "8", "--threshold", "40", "--population", "100000", "--ledger", "none", "--inverter", "none"]
    assert fre("synthesize", corpus.name, "-o", "out", *args, "--seed", "5e7").code == 0
    assert fre_e2t.synthesize(corpus, **PLAIN, seed="5e7") == fre_e2t.load(tmp_path / "out")


def test_dry_runs_and_ledgers_of_the_program(fre, corpus, alone):
    args = ["--epsilon", "8", "--threshold", "40", "--population", "100000", "--inverter", "none"]
    told = fre("synthesize", corpus.name, "-o", "out", *args, "--dry-run", "--json").json()
    plan = fre_e2t.synthesize(corpus, **BUDGET, inverter="none", user=False, dry_run=True)
    assert dict(plan) == told["plan"] and plan.statement == told["statement"]
    assert fre_e2t.ledger() == fre("ledger", "show", "--json").json()
    fre_e2t.synthesize(corpus, **BUDGET, inverter="none", user=False, budget_epsilon=20)
    assert fre("synthesize", corpus.name, "-o", "out", *args, "--data-name", "the wishes").code == 0
    book = fre_e2t.ledger()
    assert len(book["entries"]) == 2 and book == fre("ledger", "show", "--json").json()
    assert fre_e2t.ledger(alone) == fre("ledger", "show", alone, "--json").json()


def test_evaluations_of_the_program(fre, corpus, tmp_path, embedded):  # noqa: F811
    fre_e2t.synthesize(corpus, **PLAIN, seed="5e").save(tmp_path / "ours")
    (tmp_path / "few.txt").write_text("what is new\nhello there\n")
    given = {"threshold": 40, "reference": "none", "alpha": 1.5}
    told = fre("evaluate", "ours", corpus.name, "--json", *flags_of(given), "--against", "few.txt").json()
    found = fre_e2t.evaluate(tmp_path / "ours", corpus, **given, against=[tmp_path / "few.txt"])

    def named(evaluation):
        """Parameters in the place of flags."""
        for missing in evaluation["missing"]:
            missing["why"] = re.sub("--(label|[a-z-]+)(-field)?( (?=FILE))?", lambda m: m.group(1).replace("-", "_") + "=" * bool(m.group(3)),
                                    missing["why"])
        return evaluation

    named(told)
    told["against"] = [named(other) for other in told["against"]]
    rows = fre_e2t.evaluate(tmp_path / "ours", corpus, **given, embeddings=fre_e2t.embed(texts()))
    for measured in (told, *told["against"], found, *found["against"], rows):
        del measured["seconds_embedding"], measured["seconds_scoring"]
    assert found == told
    assert {**rows, "against": found["against"]} == found
    with pytest.raises(fre_e2t.DataError, match="embeddings"):
        fre_e2t.evaluate(tmp_path / "ours", corpus, **given, embeddings=fre_e2t.embed(texts()[:5]))


def test_rows_and_texts_of_the_program(fre, tmp_path):
    (tmp_path / "few.txt").write_text("".join(t + "\n" for t in FREQUENT))
    assert fre("embed", "few.txt", "-o", "x.npy").code == 0
    rows = fre_e2t.embed(FREQUENT)
    assert (np.load(tmp_path / "x.npy") == rows).all()
    assert fre("invert", "x.npy", "-o", "texts.jsonl", "--noise-std", "0.01").code == 0
    assert fre_e2t.invert(rows, noise_std=.01) == lines_of(tmp_path / "texts.jsonl")


@pytest.mark.parametrize("given, words", [
    ({"inverter": "none", "effort": 3}, "effort is about the texts"),
    ({"language_weight": .5}, "language_weight is about language_model"),
    ({"public_text_field": "t"}, "public_text_field is about public_corpus"),
    ({"texts_per_cell": 3}, "texts_per_cell is about public cells"),
    ({"codebook": "x.gguf", "levels": "grid"}, "codebook is about public cells"),
    ({"temperature": .5}, "temperature is about paraphrases"),
    ({"paraphrase_distance": .5, "paraphrases": 0}, "paraphrase_distance is about paraphrases"),
])
def test_what_is_about_nothing(given, words):
    with pytest.raises(fre_e2t.UsageError, match=re.escape(words)):
        fre_e2t.synthesize(["a"], **{**BUDGET, "ledger": False, "user": False, **given})
    with pytest.raises(fre_e2t.UsageError, match="samples is about"):
        fre_e2t.invert(np.ones((1, 384), dtype="f4"), inverter="search", samples=2)


# ---- once -------------------------------------------------------------------------------------------------

def test_a_release_is_drawn_once(alone, tmp_path):
    release = fre_e2t.synthesize(texts(), **{**BUDGET, "user": False, "inverter": "none"})
    seen = release.not_for_publication
    assert seen["records"] == len(texts()) and seen["ledger"]["releases"] == 1
    release.save(tmp_path / "kept")
    copies = [pickle.loads(pickle.dumps(release)), fre_e2t.load(tmp_path / "kept"), release]
    for copy in copies:
        assert copy == release and copy.texts == release.texts and (copy.centroids == release.centroids).all()
        _ = copy.statement, copy.plan, copy.counts, copy.warnings, copy._repr_html_(), repr(copy)
    assert copies[0].not_for_publication is None
    about = (tmp_path / "kept" / "release.json").read_text()
    assert not re.search(rf"(?<![\w.]){len(texts())}(?![\w.])", about)  # the random id may hold its digits
    assert len(fre_e2t.ledger()["entries"]) == 1
    assert fre_e2t.ledger()["file"] == str(alone)


def test_the_ledger_refuses(alone, tmp_path):
    once = {**BUDGET, "user": False, "inverter": "none"}
    fre_e2t.synthesize(texts(), **once, budget_epsilon=9)
    with pytest.raises(fre_e2t.RefusedError, match="lower epsilon to fit into the 1 left"):
        fre_e2t.synthesize(list(reversed(texts())), **once, output=tmp_path / "no")
    assert not (tmp_path / "no").exists()
    total = fre_e2t.ledger()["totals"][0]
    assert total["releases"] == 1 and total["left_epsilon"] == pytest.approx(1)
    assert fre_e2t.synthesize(texts(), **once, dry_run=True, ledger=False)["epsilon"] == 8
    assert len(fre_e2t.ledger()["entries"]) == 1


TWICE = """
import sys
{path}
import fre_e2t
try:
    fre_e2t.synthesize({data!r}, epsilon=8, threshold=40, population=100000, user=False, inverter="none",
                       budget_epsilon=9)
except fre_e2t.RefusedError as error:
    sys.exit(3 if "to fit into the 1 left" in str(error) else str(error))
"""


def test_two_processes_on_one_ledger(alone, tmp_path):
    """One of them has the budget, whichever comes first, and the other is told so."""
    path = "" if PACKAGE == "installed" else f"sys.path.insert(0, {PACKAGE!r})"
    (tmp_path / "both.py").write_text(TWICE.format(path=path, data=texts()))
    both = [subprocess.Popen([sys.executable, tmp_path / "both.py"], stderr=subprocess.PIPE, text=True) for _ in "ab"]
    ends = [(process.communicate(timeout=TIMEOUT)[1], process.returncode) for process in both]
    assert sorted(code for _, code in ends) == [0, 3], ends
    total = fre_e2t.ledger()["totals"][0]
    assert total["releases"] == 1 and total["left_epsilon"] == pytest.approx(1)


def test_saving(tmp_path):
    release = fre_e2t.synthesize(texts(), **PLAIN)
    release.save(tmp_path / "a")
    with pytest.raises(fre_e2t.ExistsError, match="force=True"):
        release.save(tmp_path / "a")
    release.save(tmp_path / "a", force=True)
    (tmp_path / "a" / "more.txt").write_text("mine")
    with pytest.raises(fre_e2t.ExistsError, match="other files"):
        release.save(tmp_path / "a", force=True)
    with pytest.raises(fre_e2t.InputOutputError):
        release.save(tmp_path / "none" / "b")
    (tmp_path / "a" / "synthetic.jsonl").write_text("{\n")
    with pytest.raises(fre_e2t.DataError):
        fre_e2t.load(tmp_path / "a")
    with pytest.raises(fre_e2t.MissingError):
        fre_e2t.load(tmp_path / "none")


def test_notebook_output_is_escaped(tmp_path):
    release = fre_e2t.synthesize(texts(), **PLAIN)
    release.save(tmp_path / "a")
    lines = (tmp_path / "a" / "synthetic.jsonl").read_text().splitlines()
    evil = "<script>alert(1)</script>&\"'"
    told = [json.dumps({**json.loads(line), "text": evil}) for line in lines]
    (tmp_path / "a" / "synthetic.jsonl").write_text("\n".join(told) + "\n")
    html = fre_e2t.load(tmp_path / "a")._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html
    assert "<script>" not in fre_e2t.Plan({"<script>": "<script>", "warnings": ["<script>"]})._repr_html_()


# ---- what is refused --------------------------------------------------------------------------------------

def raises_after_two():
    yield "one"
    yield "two"
    raise RuntimeError("the source is gone")


class Unreadable:
    """As a tensor on another device, or an array with a fault."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("a secret cannot be converted")


def rows_in_a_column():
    column = np.empty(2, dtype=object)
    column[:] = [np.ones(3), np.zeros(3)]
    return column


REFUSED = [
    ({"data": []}, "DataError", "data is empty: it has no record"),
    ({"data": iter(())}, "DataError", "data is empty"),
    ({"data": 5}, "UsageError", "data is of type int: give a data frame"),
    ({"data": {"text": ["a"]}}, "UsageError", "data is of type dict: give a data frame"),
    ({"data": b"x"}, "UsageError", "data is of type bytes"),
    ({"data": ["a", 3]}, "DataError", "record 2 of data is of type int, not a str"),
    ({"data": ["a", ["b"]]}, "DataError", "record 2 of data is of type list, not a str"),
    ({"data": ["a", {"text": "b"}]}, "DataError", "record 2 of data is of type dict, not a str"),
    ({"data": [{"text": "a"}, "b"]}, "DataError", "record 2 of data is of type str, but the first is a mapping"),
    ({"data": [{"text": 1.5}]}, "DataError", "the column 'text' of record 1 is of type float, not a str"),
    ({"data": [{"message": "a"}]}, "DataError", "data has no column 'text': name the one of the texts with text=; its columns: message"),
    ({"data": [{"message": "a"}], "text": "mesage"}, "DataError", "did you mean 'message'"),
    ({"data": [{"text": "a"}], "user": "who"}, "DataError", "data has no column 'who' for user; its columns: text"),
    ({"data": [{"text": "a", "who": 1.0}], "user": "who"}, "DataError", "the column 'who' of record 1 is of type float"),
    ({"data": ["a"], "user": "who"}, "UsageError", "user names a column, but data holds bare texts"),
    ({"data": [None, None, None]}, "DataError", "the first: data: record 1: "),
    ({"data": ["\ud800", "\ud801"]}, "DataError", "the first: data: record 1: "),
    ({"data": ["a", "b\0c"], "invalid": "strict"}, "DataError", "data: record 2: it holds NUL or half of a surrogate pair; repair it"),
    ({"data": ["a", "\ud800"], "invalid": "strict"}, "DataError", "data: record 2: it is not UTF-8, or holds half of a surrogate"),
    ({"data": [{0: "a"}], "text": "0"}, "DataError", "data has no column '0' for text; its columns: 0"),
    ({"data": ["a", math.nan]}, "DataError", "record 2 of data is NaN, not a str: make what is missing None"),
    ({"data": [{"text": np.float32("nan")}]}, "DataError", "the column 'text' of record 1 is NaN, not a str: make what is missing None"),
    ({"data": [{"text": "a", "who": math.nan}], "user": "who"}, "DataError", "the column 'who' of record 1 is NaN, not a str or an int"),
    ({"data": [{"text": "a"}], "user": "text"}, "UsageError", "text and user name the same column"),
    ({"data": np.array([["a"]])}, "UsageError", "data is an array of 2 dimensions"),
    ({"data": "what was meant as a text"}, "MissingError", "data is a str, so it is taken for a path, .*: give texts in a list"),
    ({"data": "/nowhere/at/all.jsonl"}, "MissingError", "cannot be opened"),
    ({"data": ["a"], "epsilon": 0}, "UsageError", "^epsilon must be a number above 0"),
    ({"data": ["a"], "epsilon": math.nan}, "UsageError", "^epsilon must be a number above 0"),
    ({"data": ["a"], "epsilon": "4"}, "UsageError", "^epsilon must be a number"),
    ({"data": ["a"], "threshold": 1.5}, "UsageError", "^threshold must be a whole number"),
    ({"data": ["a"], "population": 0}, "UsageError", "^population must be"),
    ({"data": ["a"], "delta": "none"}, "UsageError", "^delta must be a number or 'auto'"),
    ({"data": ["a"], "levels": "grid,17x"}, "UsageError", "levels"),
    ({"data": ["a"], "adjacency": "swap"}, "UsageError", "^adjacency must be 'add-remove' or 'replace', not 'swap'"),
    ({"data": ["a"], "gaussian": "zcdp"}, "UsageError", "gaussian belongs to accountant='paper'"),
    ({"data": ["a"], "epsilon": 0.001, "threshold": 1}, "InfeasibleError", "threshold"),
    ({"data": ["a"], "max_cells_per_user": 2}, "UsageError", "max_cells_per_user needs user"),
    ({"data": ["a"], "format": "csv"}, "UsageError", "format is about a file"),
    ({"data": ["a"], "seed": "12g"}, "UsageError", "seed must be 32 bytes, or 1 to 64 hexadecimal digits"),
    ({"data": ["a", "b", "c"], "population": 2}, "DataError", "population"),
    ({"data": ["a"], "embeddings": np.ones((1, 3))}, "UsageError", "give data, or embeddings, not both"),
    ({"data": None}, "UsageError", "give data, or embeddings"),
    ({"data": np.ones((2, 2))}, "UsageError", "give embeddings as embeddings="),
    ({"embeddings": np.ones(3)}, "DataError", "embeddings must have two dimensions, a row a text, not 1"),
    ({"embeddings": np.ones((3, 0))}, "DataError", "embeddings is empty"),
    ({"embeddings": np.ones((3, 2), dtype=int)}, "DataError", "floating-point numbers, not of int64"),
    ({"embeddings": [["a", "b"]]}, "DataError", "floating-point numbers, not of str"),
    ({"embeddings": [[1.0], [1.0, 2.0]]}, "DataError", "embeddings has rows of different lengths"),
    ({"embeddings": [np.ones(3), Unreadable()]}, "DataError", "embeddings is of type list, which numpy makes no array of"),
    ({"embeddings": Unreadable()}, "DataError", "embeddings is of type Unreadable, which numpy makes no array of: convert it"),
    ({"embeddings": rows_in_a_column()}, "DataError", "not of object: np.stack makes one of a column of rows"),
    ({"embeddings": np.ones((3, 2)), "user": np.array("x")}, "UsageError", "user is a sequence"),
    ({"embeddings": (row for row in np.ones((3, 2)))}, "DataError", "an array with a row a text, and is of type generator"),
    ({"embeddings": np.ma.masked_greater(np.arange(6.0).reshape(3, 2), 4)}, "DataError", "embeddings has numbers that are masked"),
    ({"embeddings": np.ones((3, 2)), "levels": "1024"}, "UsageError", "levels must be 'grid' for embeddings of a model that is no"),
    ({"embeddings": np.full((3, 2), math.nan)}, "DataError", "the first: embeddings: row 1 "),
    ({"embeddings": np.ones((3, 2)), "user": ["a"]}, "DataError", "user names 1 users, but embeddings has 3 rows"),
    ({"embeddings": np.ones((3, 2)), "user": "who"}, "UsageError", "user is a sequence"),
    ({"embeddings": np.ones((3, 2)), "text": "t"}, "UsageError", "text is about data"),
    ({"embeddings": np.ones((3, 2)), "embedding_model": "default"}, "DataError", "rows of 2 numbers, but embedding_model makes 384"),
    ({"embeddings": np.ones((3, 2)), "inverter": "search"}, "UsageError", "inverter must be 'none'"),
]


@pytest.mark.parametrize("given,kind,sentence", REFUSED)
def test_one_sentence(given, kind, sentence, tmp_path):
    arguments = {**PLAIN, "output": tmp_path / "no", **given}
    if "embeddings" in given and "inverter" not in given:
        arguments["inverter"] = None
    with pytest.raises(getattr(fre_e2t, kind), match=sentence) as caught:
        fre_e2t.synthesize(arguments.pop("data", None), **arguments)
    said = str(caught.value)
    assert "\n" not in said and "{" not in said and "--" not in said and "memfd" not in said and "/proc" not in said
    assert "secret" not in said and "secret" not in str(caught.value.__context__)
    assert not (tmp_path / "no").exists()


WRONG_SIDES = [
    (lambda: fre_e2t.evaluate(["a"], ["a"], against=["a secret text"]), "MissingError", "against1 is a str, so it is taken for a path"),
    (lambda: fre_e2t.evaluate("秘密secret", ["a"]), "MissingError", "synthetic is a str, so it is taken for a path, .*: give texts in a list"),
    (lambda: fre_e2t.synthesize("秘密secret", **PLAIN), "MissingError", "data is a str, so it is taken for a path"),
    (lambda: fre_e2t.evaluate([{"m": "a"}], ["a"]), "DataError", "synthetic has no column 'text': call the one of the texts so; its columns: m"),
    (lambda: fre_e2t.evaluate(["a"], [{"m": "a"}]), "DataError", "original has no column 'text': name the one of the texts with text=; its"),
    (lambda: fre_e2t.evaluate(["a"], ["a", 5]), "DataError", "record 2 of original is of type int, not a str: .* a data frame or a path"),
    (lambda: fre_e2t.evaluate(["a"], [{"data": 5}], text="data"), "DataError", "the column 'data' of record 1 is of type int"),
    (lambda: fre_e2t.synthesize(["a"], embedding_model=type("Model", (), {"encode": None})(), **PLAIN), "UsageError",
     "embedding_model must have a method encode"),
]


@pytest.mark.parametrize("call, kind, sentence", WRONG_SIDES)
def test_a_sentence_names_what_it_is_about(call, kind, sentence):
    with pytest.raises(getattr(fre_e2t, kind), match="^" + sentence) as caught:
        call()
    assert "secret" not in str(caught.value)


def test_errors_by_kind(tmp_path):
    with pytest.raises(ValueError):
        fre_e2t.plan(0)
    with pytest.raises(FileNotFoundError):
        fre_e2t.load(tmp_path / "nothing")
    with pytest.raises(fre_e2t.Error) as caught:
        fre_e2t.plan(4, threshold=0)
    assert caught.value.parameter == "threshold"
    for name, wrong in {"epsilon": lambda: fre_e2t.plan("4"), "text": lambda: fre_e2t.synthesize(["a"], text=5),
                        "output": lambda: fre_e2t.synthesize(["a"], output=5), "seed": lambda: fre_e2t.synthesize(["a"], seed=5),
                        "folder": lambda: fre_e2t.load(5), None: lambda: fre_e2t.synthesize()}.items():
        with pytest.raises(fre_e2t.UsageError) as caught:
            wrong()
        assert caught.value.parameter == name
    for wrong, name in (({"text": "txt"}, "text"), ({"text": "t", "user": "u"}, "user")):
        with pytest.raises(fre_e2t.DataError) as caught:
            fre_e2t.synthesize([{"t": "a"}], **wrong)
        assert caught.value.parameter == name
    (tmp_path / "there").mkdir()
    with pytest.raises(fre_e2t.ExistsError, match="add force=True"):
        fre_e2t.synthesize(texts(), **PLAIN, output=tmp_path / "there")
    with pytest.raises(TypeError):
        fre_e2t.plan(4, thresold=5)
    with pytest.raises(fre_e2t.UsageError, match="not both"):
        fre_e2t.account(sampling_rate=0.5, tau=20, sigma=1, epsilon=1, delta=1e-6)
    with pytest.raises(fre_e2t.UsageError, match="a file run the program"):
        fre_e2t.embed("x.txt")
    with pytest.raises(fre_e2t.DataError, match="record 2 has no text"):
        fre_e2t.embed(["a", None])


def test_a_generator_that_raises(alone):
    with pytest.raises(RuntimeError, match="the source is gone"):
        fre_e2t.synthesize(raises_after_two(), **{**BUDGET, "user": False})
    assert not alone.exists()


def test_missing_texts_are_left_out():
    some = [t if i % 5 else None for i, t in enumerate(texts())]
    release = fre_e2t.synthesize(some, **PLAIN)
    there = sum(t is not None for t in some)
    assert release.not_for_publication["records"] == there
    assert fre_e2t.synthesize(some, **PLAIN, dry_run=True).not_for_publication["invalid"] == len(some) - there
    assert fre_e2t.evaluate(release, some, threshold=40, reference="none")["originals"] == there
    with pytest.raises(fre_e2t.DataError, match="^data: record 1: "):
        fre_e2t.synthesize(some, **PLAIN, invalid="strict")
    with pytest.raises(fre_e2t.DataError, match="^original: record 1: "):
        fre_e2t.evaluate(release, some, threshold=40, invalid="strict")


def test_users():
    rows = [{"text": t, "who": i % 50} for i, t in enumerate(texts())]
    release = fre_e2t.synthesize(rows, **{**PLAIN, "user": "who"})
    assert release.not_for_publication["users"] == 50
    assert release.about["privacy_unit"] == "user"
    with pytest.raises(fre_e2t.DataError, match="population"):
        fre_e2t.synthesize(rows, **{**PLAIN, "user": "who", "population": 49})

# ---- arguments of other types -----------------------------------------------------------------------------

class Odd:
    """Whose every word is private."""

    def __repr__(self):
        return "a secret"

    __str__ = __repr__


class Ambiguous(Odd):
    """As pandas.NA is, and an array of several."""

    def __bool__(self):
        raise TypeError("a secret")

    __hash__ = None

    def __eq__(self, other):
        return self


ODD = [None, True, 10**400, -1, math.nan, math.inf, "", "a\0b", "\ud800", "x\ny", "x" * 9999, np.str_("x"), b"x", [], {}, Odd(), Odd,
       Ambiguous(), len, np.array([1.0, 2.0]), np.array(4.0), np.array("x"), np.complex64(1), decimal.Decimal("sNaN"),
       pathlib.Path("/nowhere/at\nall"), datetime.date(2026, 1, 1)]
FUNCTIONS = ("plan", "account", "audit", "synthesize", "embed", "invert", "score", "evaluate", "ledger", "load", "bundled_data")
EVERY = [(function, name) for function in FUNCTIONS for name in inspect.signature(getattr(fre_e2t, function)).parameters]
PARAMETERS = [(function, name) for function, names in {
    "plan": "epsilon threshold population delta levels counts radius projection_dim adjacency accountant distributed "
            "public_corpus",
    "account": "epsilon sampling_rate tau sigma levels counts population cover dropout noise",
    "synthesize": "text user levels output force resume dry_run ledger data_name budget_epsilon embedder inverter codebook "
                  "public_corpus prior user_fold na_values invalid threads seed embedding_model",
    "embed": "text embedder threads progress", "score": "text language_model max_tokens", "ledger": "file", "load": "folder",
    "invert": "noise_std threads", "evaluate": "label classifiers against embeddings", "audit": "tau noise", "bundled_data": "name",
}.items() for name in names.split()]
GIVEN = {
    "account": {"population": 10**6, "sampling_rate": .8, "tau": 80, "sigma": 1.52, "projection_dim": 20},
    "synthesize": {"data": ["one", "two"], **PLAIN, "dry_run": True}, "embed": {"data": ["one"]}, "score": {"data": ["one"]},
    "invert": {"embeddings": np.ones((2, 3))}, "evaluate": {"synthetic": ["one"], "original": ["one"]},
    "audit": {"runs": 1000, "dimension": 4, "sampling_rate": .5, "tau": 20, "sigma": 2, "delta": 1e-4},
}
MAY_BE = {("synthesize", "embedding_model"): (Odd, len)}  # functions, whose own errors come out
BESIDE = [  # which other parameters are compared with
    ("account", "distributed", {"levels": [4096, 256], "level_sigma": [.84, 1.1], "level_count_sigma": [4.6, 6]}),
    ("account", "noise", {"distributed": True, "lambda_": 3.5, "gamma": 60}),
    ("synthesize", "inverter", {"effort": 2}), ("synthesize", "levels", {"texts_per_cell": 2}),
    ("synthesize", "paraphrases", {"temperature": .5}), ("synthesize", "inverter", {"data": None, "embeddings": np.ones((2, 3))}),
    ("synthesize", "user", {"data": None, "embeddings": np.ones((2, 3)), "inverter": None}),
    ("synthesize", "embedding_model", {"data": None, "embeddings": np.ones((2, 3)), "inverter": None}),
    ("invert", "inverter", {"samples": 2}), ("plan", "sensitivity_ratio", {"accountant": "joint"}),
    ("audit", "projection_dim", {}), ("audit", "delta", {}), ("evaluate", "original", {}), ("evaluate", "synthetic", {}),
]


@pytest.mark.parametrize("function, name", EVERY if LONG else PARAMETERS)
def test_arguments_of_other_types(function, name, tmp_path, monkeypatch):
    """Whatever comes: it is taken, or refused in a line that quotes no value but a short str."""
    monkeypatch.chdir(tmp_path)
    try_odd(function, name, {})
    assert [p for p in everything(tmp_path) if "own-tmp" not in str(p)] == []


@pytest.mark.parametrize("function, name, more", BESIDE)
def test_arguments_that_are_compared(function, name, more):
    try_odd(function, name, more)


def try_odd(function, name, more):
    for odd in ODD:
        if any(odd is taken for taken in MAY_BE.get((function, name), ())):
            continue
        try:
            getattr(fre_e2t, function)(**{**GIVEN.get(function, {}), **more, name: odd})
        except fre_e2t.Error as error:
            assert not isinstance(error, fre_e2t.InternalError)
            assert str(error).isprintable() and "secret" not in str(error) and "--" not in str(error), (odd, error)
        except ImportError:
            assert function == "score"


@pytest.mark.parametrize("call, words", [
    (lambda: fre_e2t.plan(10**400), "epsilon must be"),
    (lambda: fre_e2t.audit(None, tau=20, sigma=2, sampling_rate=.5, delta=1e-4), "epsilon must be"),
    (lambda: fre_e2t.plan(np.bool_(True)), "epsilon must be a number, not bool"),
    (lambda: fre_e2t.plan(levels=1.5), "levels must be 'auto', or 'grid' and numbers"),
    (lambda: fre_e2t.plan(counts=Odd()), "counts must be 'sampled' or 'noisy', not of type Odd"),
    (lambda: fre_e2t.plan(distributed="no"), "distributed must be True or False, not str"),
    (lambda: fre_e2t.embed(["a"], threads="2"), "threads must be a number, not str"),
    (lambda: fre_e2t.embed(["a"], threads=0), "threads must be a whole number from 1"),
    (lambda: fre_e2t.embed(["a"], text=0), "text must be a str, not int"),
    (lambda: fre_e2t.ledger(5), "file must be a path, not int"),
    (lambda: fre_e2t.load("a\0b"), "folder holds NUL"),
    (lambda: fre_e2t.load("\ud800"), "folder holds half of a surrogate pair"),
    (lambda: fre_e2t.load(""), "folder must be a path, and is empty"),
    (lambda: fre_e2t.synthesize(["a"], **{**PLAIN, "ledger": True}), "ledger is the path of one, or False for none"),
    (lambda: fre_e2t.synthesize(["a"], **PLAIN, seed=32), "seed must be 32 bytes"),
    (lambda: fre_e2t.synthesize(["a"], **PLAIN, dry_run="no"), "dry_run must be True or False"),
    (lambda: fre_e2t.synthesize("x.csv", **PLAIN, na_values=["-"]), "na_values must be a str, not list"),
    (lambda: fre_e2t.evaluate(["a"], ["a"], against=5), "against is a list of releases"),
    (lambda: fre_e2t.evaluate(5, ["a"]), "synthetic is of type int: give a data frame"),
    (lambda: fre_e2t.evaluate(["a"], ["a"], against=[5]), "against1 is of type int: give a data frame"),
    (lambda: fre_e2t.evaluate(["a"], ["a"], against=np.array(4.0)), "against is a list of releases"),
    (lambda: fre_e2t.account(**GRID, delta=np.array([1.0, 2.0])), "delta must be a number, not ndarray"),
    (lambda: fre_e2t.account(**NOISY, distributed=np.array([])), "distributed must be True or False, not ndarray"),
])
def test_what_an_argument_must_be(call, words):
    with pytest.raises(fre_e2t.UsageError, match="^" + re.escape(words)):
        call()


NOBODY = [{"text": t, "who": i} for i, t in enumerate(["one", "two"])]


@pytest.mark.parametrize("user", ["", 0, [], (), True, ["who"], 5])
def test_no_user_is_left_out_unsaid(user):
    """Only None and False say that nobody is named: the claim would be about a record."""
    with pytest.raises(fre_e2t.UsageError, match="^user is the name of a column"):
        fre_e2t.synthesize(NOBODY, **{**PLAIN, "user": user})
    with pytest.raises(fre_e2t.Error, match="^(with embeddings, )?user (is a sequence|names 0 users|names 1 users|of record)"):
        fre_e2t.synthesize(embeddings=np.ones((3, 2)), **{**PLAIN, "user": user})
    assert fre_e2t.synthesize(NOBODY, **{**PLAIN, "user": np.False_, "dry_run": True})


def test_users_of_rows():
    rows = np.random.default_rng(1).normal(size=(9, 4))
    for user in (np.arange(9), np.arange(9).astype(str), range(9), (str(i) for i in range(9))):
        assert fre_e2t.synthesize(embeddings=rows, **{**PLAIN, "user": user, "dry_run": True})
    for user, words in [({1: 2}, "user is a sequence"), ({1, 2}, "user is a sequence"), (itertools.count(), "more users than the 9 rows"),
                        (np.ones((9, 2)), "the user of record 1 is of type ndarray"), (np.arange(9.0), "of type float64")]:
        with pytest.raises(fre_e2t.Error, match=words):
            fre_e2t.synthesize(embeddings=rows, **{**PLAIN, "user": user})


def test_the_file_of_private_texts_is_written_by_nobody_later(tmp_path):
    """What was not yet written when a generator raised went to the file that had its number next."""
    def source():
        yield "a secret"
        raise RuntimeError("the source is gone")

    try:
        fre_e2t.synthesize(source(), **PLAIN)
    except RuntimeError:
        files = [open(tmp_path / f"{i}", "wb") for i in range(8)]
    gc.collect()
    for f in files:
        f.close()
    assert [p.read_bytes() for p in tmp_path.glob("[0-9]")] == [b""] * 8


def test_a_folder_that_was_damaged(tmp_path):
    release = fre_e2t.synthesize(texts(), **PLAIN)
    release.save(tmp_path / "a")
    whole = {p: p.read_bytes() for p in (tmp_path / "a").iterdir()}
    for name in ("counts.npy", "centroids.npy"):
        path = tmp_path / "a" / name
        for content in (b"", b"{}", whole[path][:70], whole[path].replace(b"\x93NUMPY\x01\0", b"\x93NUMPY\x01\x10")):
            path.write_bytes(content)
            with pytest.raises(fre_e2t.Error, match=name):
                fre_e2t.load(tmp_path / "a")
        path.write_bytes(whole[path])
    about = tmp_path / "a" / "release.json"
    about.write_bytes(whole[about].replace(b"fre-e2t-release/1", b"fre-e2t-release/2"))
    with pytest.raises(fre_e2t.DataError, match="of another format than fre-e2t-release/1"):
        fre_e2t.load(tmp_path / "a")


def test_what_is_never_replaced(tmp_path):
    """Devices, pipes, folders, links: a report and a release are files and folders of their own."""
    release = fre_e2t.synthesize(texts(), **PLAIN)
    os.mkfifo(tmp_path / "pipe")
    os.symlink("nowhere", tmp_path / "link")
    for name in ("pipe", "link", ".", "..", "/"):
        for write in (release.report, release.save):
            with pytest.raises(fre_e2t.ExistsError):
                write(tmp_path / name, force=True)
    (tmp_path / "file").touch()
    for write in (release.report, release.save):
        with pytest.raises(fre_e2t.InputOutputError, match="Not a directory"):
            write(tmp_path / "file" / "x")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "link", "own-tmp", "pipe"]
    with pytest.raises(fre_e2t.UsageError, match="evaluation is what evaluate returned"):
        release.report(tmp_path / "r.html", evaluation={"a": Odd()})
    with pytest.raises(fre_e2t.UsageError, match="threads must be"):
        release.report(tmp_path / "r.html", threads=-1)


IN_PROCESS = {
    "fork": ("fre_e2t.embed(['a b']); pid = os.fork()\n"
             "if pid == 0: print(len(fre_e2t.synthesize(TEXTS, **PLAIN)), flush=True); os._exit(0)\n"
             "print(os.waitpid(pid, 0)[1])", "3\n0\n"),
    "fork amid a call": ("t = threading.Thread(target=lambda: fre_e2t.synthesize(TEXTS * 40, **PLAIN)); t.start(); time.sleep(.1)\n"
                         "pid = os.fork()\n"
                         "if pid == 0: print(len(fre_e2t.embed(['a b'])), flush=True); os._exit(0)\n"
                         "print(os.waitpid(pid, 0)[1]); t.join()", "1\n0\n"),
    "at the end": ("class Last:\n    def __del__(self, embed=fre_e2t.embed): print(len(embed(['a b'])))\nlast = Last()", "1\n"),
    "at exit": ("import atexit; atexit.register(lambda: print(len(fre_e2t.synthesize(TEXTS, **PLAIN)), flush=True))", "3\n"),
    "interrupted": ("from fre_e2t import _call\n"
                    "signal.signal(signal.SIGINT, signal.default_int_handler); many, ended = [f'question {i} of {i * 7919 % 100003}' for i in range(50000)], []\n"
                    "def run(who):\n"
                    "    try: fre_e2t.synthesize(many, **PLAIN, output=who)\n"
                    "    except KeyboardInterrupt: ended.append(who)\n"
                    "def kill():\n"
                    "    while _call._running < 2: time.sleep(.01)\n"
                    "    os.kill(os.getpid(), signal.SIGINT)\n"
                    "other = threading.Thread(target=run, args=['other']); other.start()\n"
                    "threading.Thread(target=kill).start(); run('main'); other.join()\n"
                    "print(sorted(ended), os.listdir('.'), len(fre_e2t.embed(['a b'])))", "['main', 'other'] [] 1\n"),
    "no standard error": ("sys.stderr = None; print(len(fre_e2t.synthesize(TEXTS, **PLAIN, progress=True)))", "3\n"),
    "a closed one": ("sys.stderr.close(); print(len(fre_e2t.synthesize(TEXTS, **PLAIN, progress=True)))", "3\n"),
    "a full one": ("sys.stderr = open('/dev/full', 'w'); print(len(fre_e2t.synthesize(TEXTS, **PLAIN, progress=True)))\n"
                   "sys.stderr = None", "3\n"),
    "two signals": ("from fre_e2t import _call\n"
                    "def late(*_): raise TimeoutError('slow')\nsignal.signal(signal.SIGTERM, late)\n"
                    "ended = threading.Event()\n"
                    "def kill():\n"
                    "    while not _call._running: time.sleep(.01)\n"
                    "    for _ in 'ab': time.sleep(.1); os.kill(os.getpid(), signal.SIGTERM)\n"
                    "    time.sleep(.1); ended.set()\n"
                    "threading.Thread(target=kill).start()\n"
                    "try: _call.in_thread(ended.wait)  # as a call of the library, which ends in its own time\n"
                    "except TimeoutError as error: print(error, ended.is_set(), _call._running)", "slow True 0\n"),
    "no room for data": ("resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
                         "try: fre_e2t.synthesize(TEXTS, **PLAIN)\n"
                         "except fre_e2t.InputOutputError as error: print(error)", "data cannot be handed over: File too large\n"),
    "no room for a release": ("r = fre_e2t.synthesize(TEXTS, **PLAIN); resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
                              "try: r.save('o')\nexcept fre_e2t.InputOutputError as error: print(error, os.listdir('.'))",
                              "o cannot be made: File too large []\n"),
}


@pytest.mark.parametrize("case", IN_PROCESS)
def test_in_a_process_of_its_own(tmp_path, case):
    code, printed = IN_PROCESS[case]
    folder = tmp_path / "here"
    folder.mkdir()
    begin = f"import os, resource, signal, sys, threading, time, fre_e2t\nTEXTS, PLAIN = {texts()!r}, {PLAIN!r}\n"
    env = {**os.environ, "PYTHONPATH": PACKAGE if PACKAGE != "installed" else ""}
    done = subprocess.run([sys.executable, "-c", begin + code], cwd=folder, env=env, capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


# ---- manners ------------------------------------------------------------------------------------------------

def test_silent_by_default(capfd):
    fre_e2t.synthesize(texts(), **PLAIN)
    fre_e2t.plan(4)
    assert capfd.readouterr() == ("", "")


def test_log(caplog):
    with caplog.at_level(logging.INFO, logger="fre_e2t"):
        fre_e2t.synthesize(texts(), **{**PLAIN, "user": None})
    said = " ".join(r.getMessage() for r in caplog.records)
    assert "name them with user" in said
    assert not any(t in said for t in texts())


@pytest.mark.parametrize("dry_run", [False, True])
def test_the_log_has_what_the_ledger_notes(alone, caplog, dry_run):
    some = texts()
    fre_e2t.synthesize(some, **{**BUDGET, "inverter": "none", "user": False})
    caplog.clear()
    found = fre_e2t.synthesize(some[:-1] + ["one more wish"], **{**BUDGET, "inverter": "none", "user": False},
                               data_name="June", dry_run=dry_run)
    notes = found.not_for_publication["warnings"]
    assert len(notes) == 1 and notes[0] in [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


@long
def test_a_bar_where_it_is_asked_for(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    fre_e2t.embed([f"text {i} of a few" for i in range(300)], progress=True)
    assert "embedding" in shown.getvalue() and shown.getvalue().endswith("\r")


@long
def test_threads_at_once():
    found, wrong = [], []

    def work():
        try:
            found.append(fre_e2t.synthesize(texts(), **PLAIN, seed=SEED[1]))
        except BaseException as error:  # reported below
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and found[0] == found[1] == found[2]


INTERRUPTED = """
    import os, signal, sys, threading
    import fre_e2t
    some = [f"question {i} about thing {i * 7919 % 100003}" for i in range(200000)]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where the tests run in a shell's background
    waits = threading.Timer(float(sys.argv[1]), os.kill, (os.getpid(), signal.SIGINT))
    waits.start()
    try:
        fre_e2t.synthesize(some, 4, user=False, ledger=False, output="never")
    except KeyboardInterrupt:
        print("stopped", os.path.exists("never"))
    print(len(fre_e2t.embed(["and on it goes"])))
"""


@pytest.mark.parametrize("seconds", ["1", *(["3", "6"] if LONG else [])])
def test_interrupted(tmp_path, seconds):
    env = {**os.environ, "PYTHONPATH": PACKAGE if PACKAGE != "installed" else ""}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(INTERRUPTED), seconds], cwd=tmp_path, env=env,
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped False\n1\n", "")


def test_the_program(tmp_path):
    env = {**os.environ, "PYTHONPATH": PACKAGE if PACKAGE != "installed" else ""}
    done = subprocess.run([sys.executable, "-m", "fre_e2t", "--version"], cwd=tmp_path, env=env, capture_output=True,
                          text=True, timeout=TIMEOUT)
    assert done.returncode == 0 and fre_e2t.__version__ in done.stdout
