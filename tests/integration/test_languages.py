"""Texts in other languages and scripts, and texts without a word, through every command that embeds."""

import json

import numpy
import pytest

from conftest import BUDGET, NO_TEXT, texts

FOREIGN = "many texts are in a language that the embedder was not made for"


@pytest.mark.parametrize("sentence", ["帮我设一个明天早上七点的闹钟", "Wie wird das Wetter morgen in der Stadt",
                                      "내일 시내 날씨가 어때요", "நாளை வானிலை எப்படி இருக்கும்"])
def test_shares_are_of_records(fre, tmp_path, sentence):
    """Seven of eight records are one foreign sentence, beside many English ones."""
    english = sorted(set(texts()))[:30]
    lines = [*english, *[sentence] * 210]
    (tmp_path / "c.txt").write_text("".join(line + "\n" for line in lines))
    for command in (["synthesize", "c.txt", "-o", "out", *BUDGET, *NO_TEXT],
                    ["embed", "c.txt", "-o", "x.npy"],
                    ["simulate", "c.txt", "-o", "sim", *BUDGET, *NO_TEXT, "--threshold", "60"],
                    ["evaluate", "c.txt", "c.txt", "--threshold", "40"]):
        done = fre(*command)
        assert done.code == 0, done.err
        assert FOREIGN in done.err, command[0]
    (tmp_path / "e.txt").write_text("".join(line + "\n" for line in english * 8 + [sentence] * 20))
    assert FOREIGN not in fre("embed", "e.txt", "-o", "e.npy").err


BLANK = ["\u200b\u200d", "\u0301\u0302", "\x01\x02", "\u2060\ufeff\u00ad"]


def test_texts_without_a_token_are_empty(fre, tmp_path):
    """They are skipped and counted; so are those of unknown tokens alone, by another name."""
    english, emoji = sorted(set(texts()))[:4] * 60, ["🚀🦄", "🧿!", "ꦲꦏ꧀ꦱꦫ"]
    lines = [*english, *BLANK * 50, *emoji * 50]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in lines))
    done = fre("embed", "c.jsonl", "-o", "x.npy", "--json")
    assert done.code == 0, done.err
    report = done.json()
    assert (report["rows"], report["no_token"], report["unknown"]) == (590, 200, 150)
    rows = numpy.load(tmp_path / "x.npy")
    norms = numpy.linalg.norm(rows, axis=1)
    assert numpy.all(abs(norms[:240] - 1) < 1e-5) and numpy.all(norms[240:] == 0)
    for source in ("c.jsonl", "x.npy"):
        out = "out-" + source.split(".")[0]
        done = fre("synthesize", source, "-o", out, "--json", "--epsilon", "8", "--threshold", "41",
                   "--population", "100000", "--ledger", "none", "--inverter", "none")
        assert done.code == 0, done.err
        private = done.json()["not_for_publication"]
        assert private["contributed"] == 240 and private["cells"] == 4
        if source == "c.jsonl":
            assert (private["records"], private["empty"], private["unknown"]) == (390, 200, 150)
            assert "hold no word that the embedder knows" in done.err
    done = fre("evaluate", "c.jsonl", "c.jsonl", "--threshold", "41", "--json")
    assert done.code == 0, done.err
    assert done.json()["originals"] == 240
    (tmp_path / "none.txt").write_text("🚀🦄\n" * 50)
    done = fre("simulate", "none.txt", "-o", "sim", *BUDGET, *NO_TEXT, "--threshold", "60")
    assert done.code == 65 and "no text with a word that the embedder knows" in done.err


def test_no_words_are_invented(fre, tmp_path):
    """A group in another language is released and counted, and not put into English words."""
    english = ["how does one say thank you in spanish", "tell me a joke", "read my reminder list"]
    foreign = ["Wie wird das Wetter morgen in der Stadt", "내일 시내 날씨가 어때요"]
    lines = [t for t in english + foreign for _ in range(300)]
    (tmp_path / "c.txt").write_text("".join(line + "\n" for line in lines))
    done = fre("synthesize", "c.txt", "-o", "out", *BUDGET, "--effort", "1", "--ledger", "none")
    assert done.code == 0, done.err
    assert done.out.count("(texts outside the inverter's language)") == 2
    cells = [json.loads(line) for line in (tmp_path / "out/synthetic.jsonl").open()]
    assert len(cells) == 5
    silent = [c for c in cells if c["text"] is None]
    assert len(silent) == 2 and all(c["count"] > 40 and c["similarity"] is None for c in silent)
    assert {c.get("unreadable") for c in silent} == {"outside the inverter's language"}
    assert all("unreadable" not in c for c in cells if c["text"])
    done = fre("evaluate", "out", "c.txt", "--json")
    assert done.code == 0 and done.json()["synthetic"] == 3
    done = fre("invert", "out/centroids.npy", "-o", "again.jsonl", "--effort", "1")
    assert done.code == 0, done.err
    again = [json.loads(line) for line in (tmp_path / "again.jsonl").open()]
    assert sorted(c["text"] is None for c in again) == [False] * 3 + [True] * 2
