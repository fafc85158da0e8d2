"""Texts in other languages and scripts, and texts without a word, through every command that embeds."""

import json

import numpy
import pytest

from conftest import BUDGET, LONG, MODELS, NO_TEXT, SEED, texts

FOREIGN = "many texts are not what the embedder was made for (in another language, or hardly any words)"


@pytest.mark.parametrize("sentence, every", [
    ("帮我设一个明天早上七点的闹钟", True), ("Wie wird das Wetter morgen in der Stadt", LONG),
    ("내일 시내 날씨가 어때요", LONG), ("நாளை வானிலை எப்படி இருக்கும்", LONG)])
def test_shares_are_of_records(fre, tmp_path, sentence, every):
    """Seven of eight records are one foreign sentence, beside many English ones; by every command
    that embeds, or by embed alone."""
    english = sorted(set(texts()))[:30]
    lines = [*english, *[sentence] * 210]
    (tmp_path / "c.txt").write_text("".join(line + "\n" for line in lines))
    others = (["synthesize", "c.txt", "-o", "out", *BUDGET, *SEED, *NO_TEXT],
              ["simulate", "c.txt", "-o", "sim", *BUDGET, *SEED, *NO_TEXT, "--threshold", "60"],
              ["evaluate", "c.txt", "c.txt", "--threshold", "40"])
    for command in (["embed", "c.txt", "-o", "x.npy"], *(others if every else ())):
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
    done = fre("synthesize", "c.txt", "-o", "out", *BUDGET, *SEED, "--effort", "1", "--ledger", "none")
    assert done.code == 0, done.err
    assert done.out.count("(outside the inverter's language)") == 2
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


def of(path):
    return [json.loads(line) for line in path.open()]


SIGNS = ["👍 thanks", "play some jazz music 🎷🎷", "what is my balance 🚀"]
KNOWN = ["thanks", "play some jazz music", "what is my balance"]


def plain(text):
    return text.lower().rstrip(".?!> ")


def test_no_signs_are_invented(fre, tmp_path):
    """To the embedder one emoji is any other: texts say what is known, in every kind of search, and nothing
    in its place; one word of a script that it does not know costs no other."""
    lines = [t for t in [*SIGNS, "tell me a joke"] for _ in range(300)]
    (tmp_path / "c.txt").write_text("".join(line + "\n" for line in lines))
    (tmp_path / "d.txt").write_text("".join(line + "\n" for line in SIGNS))
    done = fre("synthesize", "c.txt", "-o", "out", *BUDGET, *SEED, "--ledger", "none")
    assert done.code == 0, done.err
    said = [plain(cell["text"]) for cell in of(tmp_path / "out/synthetic.jsonl")]
    assert sorted(said) == sorted([*KNOWN, "tell me a joke"])
    (tmp_path / "e.txt").write_text("ꦲꦏ꧀ꦱꦫ what is my balance\nthanks 🙏 for your help\n")
    assert fre("embed", "e.txt", "-o", "e.npy").code == 0
    done = fre("invert", "e.npy", "-o", "-", "--effort", "2")
    said = [plain(json.loads(line)["text"]) for line in done.out.splitlines()]
    assert said == ["what is my balance", "thanks for your help"]
    assert fre("embed", "d.txt", "-o", "d.npy").code == 0
    public = [f"{sign} {text}" for text in KNOWN for sign in "🚀👍🧿"]
    (tmp_path / "mixed.txt").write_text(
        "".join(line + "\n" for line in [*public, *texts(), "many thanks 🧿🧿", "thanks a lot"]))
    for way in (["--inverter", "search"], []):
        done = fre("invert", "d.npy", "-o", "-", *way, "--public-corpus", "mixed.txt",
                   "--effort", "1")
        assert done.code == 0, done.err
        said = [plain(json.loads(line)["text"]) for line in done.out.splitlines()]
        assert said == KNOWN, way
    (tmp_path / "signs.txt").write_text("".join(f"{sign}\n" for sign in "🚀👍🧿"))
    done = fre("invert", "d.npy", "-o", "none.jsonl", "--inverter", "search", "--public-corpus",
               "signs.txt", "--effort", "1", "--json")
    assert done.code == 0, done.err
    assert done.json()["unreadable"] == 3 and done.json()["mean_similarity"] is None
    assert [(c["text"], c["unreadable"], c["similarity"]) for c in of(tmp_path / "none.jsonl")] == [
        (None, "no text of known tokens was found", None)] * 3


def test_no_words_are_found_in_another_language(fre, tmp_path):
    """A search by public texts tells what they can say: a German point in German, or not at all."""
    german = "Wie wird das Wetter morgen in der Stadt"
    (tmp_path / "g.txt").write_text(f"{german}\nplay some jazz music\n")
    (tmp_path / "english.txt").write_text("".join(f"{t}\n" for t in sorted(set(texts()))[:300]))
    (tmp_path / "german.txt").write_text(f"Wie wird das Wetter\n{german} Berlin\nmorgen in der Stadt\n")
    assert fre("embed", "g.txt", "-o", "g.npy").code == 0
    for corpus, silent in (("english.txt", [True, False]), ("german.txt", [False, False])):
        done = fre("invert", "g.npy", "-o", "g.jsonl", "--force", "--inverter", "search",
                   "--public-corpus", corpus, "--effort", "1")
        assert done.code == 0, done.err
        assert [c["text"] is None for c in of(tmp_path / "g.jsonl")] == silent
    assert of(tmp_path / "g.jsonl")[0]["text"].lower().startswith("wie wird das wetter")


def test_rows_of_zeros(fre, tmp_path):
    """What embed writes for a text without a word comes back as a line without a text, in its place."""
    lines = ["tell me a joke", "🚀🦄", "read my reminder list", "🧿"]
    (tmp_path / "c.txt").write_text("".join(line + "\n" for line in lines))
    assert fre("embed", "c.txt", "-o", "x.npy").code == 0
    for way in ([], ["--noise-std", "0.01"]):
        done = fre("invert", "x.npy", "-o", "t.jsonl", "--force", "--effort", "1", "--trace",
                   "trace.jsonl", *way)
        assert done.code == 0, done.err
        assert "2 texts, mean similarity" in done.err and "2 rows without a text" in done.err
        made = of(tmp_path / "t.jsonl")
        assert [c["text"] is None for c in made] == [False, True, False, True]
        assert "joke" in made[0]["text"].lower() and "reminder" in made[2]["text"].lower()
        for c in (made[1], made[3]):
            assert c == {"text": None, "unreadable": "a row of zeros, which stands for no text",
                         "similarity": None, "distance": None}
        assert [t["row"] for t in of(tmp_path / "trace.jsonl")] == [0, 1, 2, 3]
    (tmp_path / "z.txt").write_text("🚀\n" * 2)
    assert fre("embed", "z.txt", "-o", "z.npy").code == 0
    done = fre("invert", "z.npy", "-o", "z.jsonl", "--effort", "1", "--json")
    assert done.code == 0, done.err
    assert (done.json()["rows"], done.json()["unreadable"]) == (2, 2)
    assert done.json()["mean_similarity"] is None


def test_lines_without_a_text(fre, tmp_path):
    """Commands that read a release take a line that nobody could put into words, and keep its place."""
    (tmp_path / "c.txt").write_text("tell me a joke\n" * 300 +
                                    "Wie wird das Wetter morgen in der Stadt\n" * 300)
    done = fre("synthesize", "c.txt", "-o", "out", *BUDGET, *SEED, "--effort", "1", "--ledger", "none")
    assert done.code == 0, done.err
    cells = of(tmp_path / "out/synthetic.jsonl")
    silent = [c["text"] is None for c in cells]
    assert sorted(silent) == [False, True]
    done = fre("paraphrase", "out", "-o", "p.jsonl", "--paraphrases", "1")
    assert done.code == 0, done.err
    made = of(tmp_path / "p.jsonl")
    assert [c["text"] for c in made] == [c["text"] for c in cells]
    assert all(c["paraphrases"] == [] and c["unreadable"] for c in made if c["text"] is None)
    done = fre("score", "out", "-o", "s.jsonl", "--language-model",
               MODELS / "minilm-inverter.q8_0.gguf")
    assert done.code == 0, done.err
    assert [c["text"] for c in of(tmp_path / "s.jsonl")] == [c["text"] for c in cells if c["text"]]
    done = fre("evaluate", "out", "c.txt", "--json")
    assert done.code == 0, done.err
    assert done.json()["synthetic"] == 1
    done = fre("invert", "out/centroids.npy", "-o", "i.jsonl", "--effort", "1")
    assert done.code == 0, done.err
    assert [c["text"] is None for c in of(tmp_path / "i.jsonl")] == silent
