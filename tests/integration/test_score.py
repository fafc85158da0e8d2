"""score: the numbers of a text, the summary, refusals.  The bundled decoder is a small language
model like any other; one test needs SmolLM2 and fails where it was not obtained."""

import json
import math
import os
import pathlib
import statistics

import pytest

from conftest import MODELS

DECODER = MODELS / "minilm-inverter.q8_0.gguf"
TEXTS = ["what is the weather like in paris today?", "Please", "please book me a table for two",
         "what is the weather like in rome today?", "Turn off the lights in the kitchen.",
         "please book me a table for two"]


@pytest.fixture
def score(fre, tmp_path):
    def run(*args, texts=TEXTS, **options):
        (tmp_path / "t.txt").write_text("".join(t + "\n" for t in texts))
        return fre("score", "t.txt", "--language-model", DECODER, *args, **options)

    return run


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_texts_and_summary(score, tmp_path):
    done = score("-o", "p.jsonl", "--json")
    assert done.code == 0 and done.err == ""
    rows, sums = lines(tmp_path / "p.jsonl"), done.json()
    assert (tmp_path / "p.jsonl").stat().st_mode & 0o077 == 0  # as private as the texts
    assert [r["text"] for r in rows] == TEXTS
    assert rows[1]["tokens"] == 1 and rows[1]["nll"] is None and rows[1]["perplexity"] is None
    assert rows[2] == rows[5]
    nll = [r["nll"] for r in rows if r["nll"] is not None]
    for r in rows:
        if r["nll"] is not None:
            assert r["tokens"] > 1 and 0 < r["nll"] < 20
            assert r["perplexity"] == pytest.approx(math.exp(r["nll"]), rel=1e-6)
    assert sums["texts"] == 6 and sums["scored"] == 5 and sums["left_out"] == 1
    assert sums["cut"] == 0 and sums["tokens"] == sum(r["tokens"] for r in rows)
    assert sums["median_nll"] == pytest.approx(statistics.median(nll), rel=1e-6)
    assert sums["median_perplexity"] == pytest.approx(
        statistics.median(map(math.exp, nll)), rel=1e-6)
    assert sums["mean_nll"] == pytest.approx(statistics.mean(nll), rel=1e-6)
    assert sums["share_nll_at_most_6"] == pytest.approx(sum(x <= 6 for x in nll) / 5)
    assert len(sums["language_model_sha256"]) == 64


def test_a_text_does_not_depend_on_company(score):
    whole = score("-o", "-").out.splitlines()
    assert score("-o", "-", "--threads", "1", texts=TEXTS[::-1]).out.splitlines() == whole[::-1]
    assert score("-o", "-", texts=TEXTS[3:4]).out.splitlines() == whole[3:4]


def test_for_people(score):
    done = score()
    assert done.code == 0 and done.err == ""
    assert "texts: 6; left out, of fewer than two tokens: 1; cut: 0\n" in done.out
    for word in ("median NLL", "median perplexity", "mean NLL", "NLL at most 6"):
        assert word in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    done = score("-o", "-")
    assert len(done.out.splitlines()) == 6 and "median NLL" in done.err
    done = score("--max-tokens", "4", "--json")
    assert done.json()["cut"] == 5
    assert done.err == ("fre-e2t score: warning: 5 texts were cut; raise --max-tokens to read all "
                        "of them\n")
    done = score("--json", texts=["Please"])
    assert done.code == 0 and done.json()["median_nll"] is None
    assert "nothing to average" in done.err


def test_a_release_and_other_formats(fre, tmp_path):
    folder = tmp_path / "release"
    folder.mkdir()
    (folder / "synthetic.jsonl").write_text(
        "".join(json.dumps({"text": t, "count": 3}) + "\n" for t in TEXTS))
    (tmp_path / "t.csv").write_text("id,said\n" + "".join(f'1,"{t}"\n' for t in TEXTS))
    (tmp_path / "t.txt").write_text("\n".join(TEXTS))
    model = ("--language-model", DECODER, "--json")
    want = fre("score", "t.txt", *model).json()
    assert fre("score", "release", *model).json() == want
    assert fre("score", "t.csv", "--text-field", "said", *model).json() == want
    assert fre("score", "-", *model, input="\n".join(TEXTS)).json() == want


@pytest.mark.parametrize("given", ["release", "release/synthetic.jsonl"])
def test_a_release_without_cells(fre, tmp_path, given):
    """Nothing to score is a result, and needs no language model."""
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "synthetic.jsonl").write_text("")
    env = {"XDG_CACHE_HOME": str(tmp_path / "none")}
    done = fre("score", given, "-o", "p.jsonl", "--json", env=env)
    assert done.code == 0 and (tmp_path / "p.jsonl").read_text() == ""
    assert done.err == ("fre-e2t score: warning: the release has no cells, so there is nothing to "
                        "score\n")
    told = done.json()
    assert told["texts"] == told["scored"] == told["tokens"] == 0
    assert told["median_nll"] is None and told["language_model"] is None
    assert fre("score", given, env=env).out == (
        "texts: 0; left out, of fewer than two tokens: 0; cut: 0\n")


def test_refusals(refused, fre, tmp_path):
    (tmp_path / "t.txt").write_text("one two three\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "cut.gguf").write_bytes(DECODER.read_bytes()[:100000])
    (tmp_path / "there.jsonl").write_text("kept")
    say = "fre-e2t score: "
    embedder = MODELS / "all-minilm-l6-v2.q8_0.gguf"
    refused(65, say + f"{embedder} (bert) is an embedder: it gives no logits of a next token; give "
                      "it as --embedder, and here a causal language model",
            "score", "t.txt", "-o", "p.jsonl", "--language-model", embedder)
    refused(66, say + "the language model smollm2-135m-instruct.q4_1.gguf is not here: obtain it "
                      "once (93 MB) by fre-e2t-get-language-model (in a checkout: "
                      "tools/get-language-model), or name a GGUF file",
            "score", "t.txt", "-o", "p.jsonl", env={"XDG_CACHE_HOME": str(tmp_path / "none")})
    refused(66, say + "'folder' is a folder, but not a release: it has no synthetic.jsonl",
            "score", "folder", "--language-model", DECODER)
    refused(73, say + "'there.jsonl' exists; give another name or add --force to replace it",
            "score", "t.txt", "-o", "there.jsonl", "--language-model", DECODER)
    refused(64, say + "--json and --output - cannot share standard output",
            "score", "t.txt", "-o", "-", "--json", "--language-model", DECODER)
    (tmp_path / "folder" / "synthetic.jsonl").write_text('{"text": "one two"}\n')
    refused(73, say + "'folder/synthetic.jsonl' is the input itself, which would be lost: give "
                      "another --output", "score", "folder", "-o", "folder/synthetic.jsonl",
            "--force", "--language-model", DECODER)
    done = fre("score", "t.txt", "--language-model", "cut.gguf")
    assert done.code == 65 and "cut short" in done.err and done.err.count("\n") == 1
    done = fre("score", "t.txt", "--language-model", DECODER, "--max-tokens", "9999")
    assert done.code == 64 and "tokens, not 9999" in done.err
    assert fre("score", "empty.txt", "--language-model", DECODER).code == 66
    assert (tmp_path / "there.jsonl").read_text() == "kept"
    assert not (tmp_path / "p.jsonl").exists()


def test_natural_text_reads_more_natural(fre, tmp_path):
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    model = pathlib.Path(cache) / "fre-e2t" / "smollm2-135m-instruct.q4_1.gguf"
    if not model.exists():
        pytest.fail("SmolLM2 is missing: run tools/get-language-model once")
    (tmp_path / "t.txt").write_text("The cat sat on the mat and looked out of the window.\n"
                                    "Window the of out looked and mat the on sat cat the.\n")
    done = fre("score", "t.txt", "-o", "-", "--quiet")
    assert done.code == 0
    natural, turned = map(json.loads, done.out.splitlines())
    assert natural["nll"] < 4 < turned["nll"]
