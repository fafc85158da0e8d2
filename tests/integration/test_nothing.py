"""Inputs that hold nothing to release from: refused alike by every way in, and nothing is booked."""

import json

import numpy
import pytest

from conftest import BUDGET, MODELS, NO_TEXT, SEED

NO_RECORD = {
    "empty.txt": b"",
    "header.csv": b"id,text\n",
    "blank.txt": b"  \n\n\t\n",
    "blank.jsonl": b"\n\n",
    "array.json": b"[]",
}
NO_WORD = {"zero width": "\u200b\u200d", "marks": "\u0301\u0302", "emoji": "🚀🦄"}
AMHARIC = "ሰላም ለሁሉም ነገ ምን ይሆናል"
RUNS = [["synthesize"], ["synthesize", "--dry-run"], ["simulate"]]


def refusal(fre, tmp_path, run, name):
    """The exit code and the one sentence of a run that would have booked."""
    ledger = [] if run[0] == "simulate" else ["--ledger", "book.json"]
    done = fre(run[0], name, "-o", "out", *run[1:], *BUDGET, *NO_TEXT, *ledger,
               "--user-field", "none")
    book = tmp_path / "book.json"
    assert not book.exists() or json.loads(book.read_text()).get("entries", []) == []
    assert not (tmp_path / "out").exists()
    assert "no cell was released" not in done.err and "--threshold" not in done.err
    assert done.err.count("\n") == 1, done.err
    return done.code, done.err


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", [*NO_RECORD, "rows.npy"])
def test_no_record(fre, tmp_path, run, name):
    for other, data in NO_RECORD.items():
        (tmp_path / other).write_bytes(data)
    numpy.save(tmp_path / "rows.npy", numpy.zeros((0, 384), numpy.float32))
    code, said = refusal(fre, tmp_path, run, name)
    assert code == 66
    assert name in said and ("holds no text" in said or "is empty" in said)


def test_no_record_of_a_pipe(fre, tmp_path):
    done = fre("synthesize", "-", "-o", "out", *BUDGET, *NO_TEXT, "--ledger", "none",
               input="id,text\n")
    assert (done.code, "holds no text" in done.err) == (66, True), done.err


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("text", [*NO_WORD.values(), AMHARIC])
def test_no_word(fre, tmp_path, run, text):
    (tmp_path / "c.jsonl").write_text((json.dumps({"text": text}) + "\n") * 400)
    code, said = refusal(fre, tmp_path, run, "c.jsonl")
    assert code == 65 and "holds no text with a word that the embedder knows" in said


def test_no_word_of_a_pipe_and_of_rows(fre, tmp_path):
    (tmp_path / "c.jsonl").write_text((json.dumps({"text": AMHARIC}) + "\n") * 400)
    assert fre("embed", "c.jsonl", "-o", "x.npy").code == 0
    done = fre("synthesize", "x.npy", "-o", "out", *BUDGET, *NO_TEXT, "--ledger", "none")
    assert done.code == 65 and "no text with a word" in done.err
    done = fre("synthesize", "-", "-o", "out", *BUDGET, *NO_TEXT, "--ledger", "none",
               input=(AMHARIC + "\n") * 400)
    assert done.code == 65 and "no text with a word" in done.err


def test_records_without_a_word_cannot_count(fre, tmp_path):
    """They are no text that many hold; an exact count says so before anything is spent."""
    lines = ["tell me a joke"] * 100 + [AMHARIC] * 400 + ["\u200b\u200d"] * 30
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in lines))
    args = ("c.jsonl", "-o", "out", *BUDGET, *NO_TEXT, "--user-field", "none")
    done = fre("synthesize", *args, "--ledger", "none", "--dry-run")
    assert done.code == 0, done.err
    assert "1 text, 100 of the 100 records" in " ".join(done.err.split())
    assert "knows: 430 records, which cannot count" in " ".join(done.err.split())
    assert "some texts hold no word that the embedder knows" in done.err
    done = fre("synthesize", *args, "--ledger", "none", "--dry-run", "--json")
    seen = done.json()["not_for_publication"]
    assert (seen["records"], seen["empty"], seen["unknown"]) == (500, 30, 400)
    assert (seen["counted"], seen["repeated_texts"], seen["repeated_records"]) == (100, 1, 100)
    assert any("no word that the embedder knows" in w for w in seen["warnings"])
    for key in ("contributed", "cells", "truncated", "foreign"):
        assert seen[key] is None, key
    assert seen["seconds"] == {"embedding": None, "counting": None, "inversion": None}
    done = fre("synthesize", *args, "--ledger", "none")
    assert "500 records read, 3 distinct, 30 empty and 400 of unknown" in done.err, done.err
    done = fre("simulate", *args, "--force", *SEED, "--threshold", "60", "--json")
    assert done.code == 0, done.err
    seen = done.json()["not_for_publication"]
    assert (seen["records"], seen["empty"], seen["counted"]) == (500, 30, 100)


def test_a_text_without_a_word_takes_no_place_of_its_user(fre, tmp_path):
    """As in the release: a user's first text with a word counts."""
    lines = [{"text": t, "user": u} for u in range(60) for t in (AMHARIC, "tell me a joke")]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    done = fre("synthesize", "c.jsonl", "-o", "out", *BUDGET, *NO_TEXT, "--user-field", "user",
               "--ledger", "none", "--json")
    assert done.code == 0, done.err
    seen = done.json()["not_for_publication"]
    assert (seen["counted"], seen["repeated_records"], seen["contributed"]) == (60, 60, 60)


def test_data_that_share_nothing_do_not_overlap(fre, tmp_path):
    """Texts without a word are rows of zeros, which are no sign of the same data."""
    book = ["--ledger", "book.json", "--user-field", "none", *BUDGET, *NO_TEXT]
    for i, blank in enumerate((AMHARIC, "🚀🦄")):
        lines = [f"{word} {i} of them" for word in ("joke", "book", "song") for _ in range(50)]
        (tmp_path / f"{i}.txt").write_text("".join(t + "\n" for t in [*lines, *[blank] * 400]))
        done = fre("synthesize", f"{i}.txt", "-o", f"out{i}", *book)
        assert done.code == 0, done.err
        assert "of this data's texts" not in done.err


def test_the_overlap_is_said_as_people_do(fre, tmp_path):
    book = ["--ledger", "book.json", "--user-field", "none", *BUDGET, *NO_TEXT]
    (tmp_path / "a.txt").write_text("tell me a joke\n" * 100)
    (tmp_path / "b.txt").write_text("tell me a joke\n" * 120)
    assert fre("synthesize", "a.txt", "-o", "a", *book).code == 0
    done = fre("synthesize", "b.txt", "-o", "b", *book)
    assert done.code == 0 and "about 100 % of this data's texts" in " ".join(done.err.split())


def test_a_line_without_a_text_in_any_file(fre, tmp_path):
    """Not in a release's own folder alone: score, evaluate and paraphrase take it alike."""
    (tmp_path / "lines.jsonl").write_text('{"text": "tell me a joke"}\n'
                                          '{"text": null, "unreadable": "x"}\n')
    done = fre("score", "lines.jsonl", "--json", "--language-model",
               MODELS / "minilm-inverter.q8_0.gguf")
    assert done.code == 0, done.err
    assert (done.json()["texts"], done.json()["empty"]) == (1, 1)


def test_strings_have_no_place_for_paraphrases(fre, tmp_path):
    (tmp_path / "a.json").write_text('["tell me a joke", "sing a song"]\n')
    done = fre("paraphrase", "a.json", "-o", "p.jsonl")
    assert done.code == 65 and 'a string, which has no place for paraphrases' in done.err
    assert '{"text": "..."}' in done.err
