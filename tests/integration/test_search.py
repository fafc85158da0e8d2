"""invert and synthesize with --inverter search: public corpus, its cache, effort, trace."""

import hashlib
import json

import pytest

from conftest import BUDGET, SEED

PUBLIC = """play some jazz music
turn off the lights in the kitchen
please set an alarm for seven
what is the weather in the city
I want to book a table for two
turn on the radio
set the alarm for nine in the morning
play the radio in the kitchen
book a flight
"""
TARGETS = ["turn off the radio in the kitchen", "please book a table"]


@pytest.fixture
def targets(fre, tmp_path):
    """Embeddings of two texts that the public corpus lacks; a cache of the test's own."""
    (tmp_path / "public.txt").write_text(PUBLIC)
    (tmp_path / "t.txt").write_text("\n".join(TARGETS))
    assert fre("embed", "t.txt", "-o", "x.npy").code == 0

    def run(*args):
        return fre(*args, env={"XDG_CACHE_HOME": str(tmp_path / "cache")})

    return run


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_search_and_trace(targets, tmp_path):
    search = ["invert", "x.npy", "--inverter", "search", "--public-corpus", "public.txt",
              "--effort", "4"]
    done = targets(*search, "-o", "a.jsonl", "--trace", "t.jsonl")
    assert done.code == 0, done.err
    assert [row["text"] for row in lines(tmp_path / "a.jsonl")] == TARGETS
    for i, row in enumerate(lines(tmp_path / "t.jsonl")):
        assert row["row"] == i and row["draws"] == 0 and row["language_model_tokens"] == 0
        assert row["score"] == sorted(row["score"])
        assert row["distance"][-1] < 0.02
        assert row["embeddings"] == sum(k["embedded"] for k in row["kinds"].values())
        assert row["kinds"]["nearest"]["embedded"] == 9
    # The index is kept, and used again: the same numbers from it, with other threads.
    index, = (tmp_path / "cache" / "fre-e2t").iterdir()
    before = index.stat().st_mtime_ns
    assert targets(*search, "-o", "b.jsonl", "--threads", "1").code == 0
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()
    assert index.stat().st_mtime_ns == before
    # A damaged one is made again.
    data = bytearray(index.read_bytes())
    data[len(data) // 2] ^= 1
    index.write_bytes(data)
    assert targets(*search, "-o", "c.jsonl").code == 0
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "c.jsonl").read_text()
    data[len(data) // 2] ^= 1
    assert index.read_bytes() == data


def test_public_corpus_helps_the_inverter(targets, tmp_path):
    done = targets("invert", "x.npy", "--public-corpus", "public.txt", "--effort", "1",
                   "--samples", "8", "-o", "a.jsonl", "--trace", "t.jsonl")
    assert done.code == 0, done.err
    for row in lines(tmp_path / "t.jsonl"):
        assert row["kinds"]["nearest"]["embedded"] > 0 and row["kinds"]["draw"]["embedded"] > 0
        assert row["draws"] > 0


def test_synthesize(targets, tmp_path):
    private = ["turn off the radio in the kitchen"] * 200 + ["a rare thing was said"]
    (tmp_path / "private.txt").write_text("\n".join(private))
    done = targets("synthesize", "private.txt", "-o", "out", *BUDGET, *SEED, "--ledger", "none",
                   "--inverter", "search", "--public-corpus", "public.txt", "--effort", "4")
    assert done.code == 0, done.err
    cell, = lines(tmp_path / "out" / "synthetic.jsonl")
    assert cell["text"] == "turn off the radio in the kitchen"
    release = json.loads((tmp_path / "out" / "release.json").read_text())
    corpus = hashlib.sha256((tmp_path / "public.txt").read_bytes()).hexdigest()
    assert release["search"] == {"effort": 4, "public_corpus": {"sha256": corpus}}
    assert release["models"]["inverter"] is None and release["models"]["bridge"] is None


def test_refusals(targets, refused, tmp_path):
    refused(64, "fre-e2t invert: --inverter search needs --public-corpus FILE, texts that anyone "
                "may see, or --language-model FILE, which then writes some, to start from", "invert", "x.npy", "-o", "a.jsonl", "--inverter", "search")
    refused(66, "fre-e2t invert: public corpus: no.txt: cannot be opened: No such file or directory; "
                "check the path", "invert", "x.npy", "-o", "a.jsonl", "--inverter", "search",
            "--public-corpus", "no.txt")
    (tmp_path / "long.txt").write_text("x" * 500)
    refused(65, "fre-e2t invert: the public corpus has no usable text (lines of at most 400 "
                "bytes); give another file, or leave --public-corpus out", "invert", "x.npy",
            "-o", "a.jsonl", "--inverter", "search", "--public-corpus", "long.txt",
            env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    refused(64, "fre-e2t invert: --trace and --output must be two files", "invert", "x.npy",
            "-o", "a.jsonl", "--trace", "a.jsonl")
    refused(64, "fre-e2t invert: --json and --trace - cannot share standard output", "invert",
            "x.npy", "-o", "a.jsonl", "--trace", "-", "--json")


def test_force_destroys_no_input(targets, refused, tmp_path):
    """--force replaces an output, and nothing that the run reads or writes beside it."""
    (tmp_path / "prior.gguf").write_text("kept")
    lost = "which would be lost: give another --"
    base = ["invert", "x.npy", "--force", "--public-corpus", "public.txt", "--prior", "prior.gguf"]
    say = "fre-e2t invert: "
    refused(73, say + f"'x.npy' is the input itself, {lost}trace", *base, "-o", "a.jsonl",
            "--trace", "x.npy")
    refused(73, say + f"'public.txt' is also what --public-corpus names, {lost}output", *base,
            "-o", "public.txt")
    refused(73, say + f"'./prior.gguf' is also what --prior names, {lost}trace", *base, "-o",
            "a.jsonl", "--trace", "./prior.gguf")
    refused(73, say + f"'./a.jsonl' is also what --trace names, {lost}output", *base, "-o",
            "./a.jsonl", "--trace", "a.jsonl")
    assert (tmp_path / "public.txt").read_text() == PUBLIC
    assert (tmp_path / "prior.gguf").read_text() == "kept"


def test_the_public_corpus_has_a_field_of_its_own(fre, tmp_path):
    """--text-field is the input's; its advice must not be given for another file."""
    (tmp_path / "in.txt").write_text("turn on the lights\n" * 3)
    (tmp_path / "public.csv").write_text("id,message\n" + "".join(
        f"{i},switch the {w} on\n" for i, w in enumerate(("light", "lamp", "radio", "heating"))))
    assert fre("embed", "in.txt", "-o", "x.npy").code == 0
    way = ("invert", "x.npy", "-o", "-", "--inverter", "search", "--effort", "1",
           "--public-corpus", "public.csv")
    done = fre(*way)
    assert done.code == 65
    assert "name one with --public-text-field" in done.err and "--text-field" not in done.err
    done = fre(*way, "--public-text-field", "message")
    assert done.code == 0 and len(done.out.splitlines()) == 3
    assert fre(*way, "--public-text-field", "id").code == 0  # another index than that before


def test_a_release_where_a_file_is_wanted(fre, tmp_path, corpus):
    from conftest import BUDGET, NO_TEXT
    assert fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT).code == 0
    for words in (("invert", "out", "-o", "t.jsonl"), ("embed", "out", "-o", "t.npy"),
                  ("synthesize", "out", "-o", "again", *BUDGET, *NO_TEXT)):
        done = fre(*words)
        assert done.code == 66
        assert "its texts are synthetic.jsonl, its embeddings centroids.npy" in " ".join(
            done.err.split())
