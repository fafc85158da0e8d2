"""tools/experiments/wrong_texts.py: what counts as cut, non-word and repeated; and the words that
train/vocabulary.py cuts, which the bundled vocabulary's file holds as hashes."""

import json
import subprocess
import sys

import pytest
from conftest import MODELS, ROOT

sys.path.insert(0, str(ROOT / "tools" / "experiments"))
sys.path.insert(0, str(ROOT / "train"))
import vocabulary  # noqa: E402
import wrong_texts  # noqa: E402

TOOL = ROOT / "tools" / "experiments" / "wrong_texts.py"


@pytest.mark.parametrize("text", [
    "My car battery is dead and", "What is the balance of my", "tell me, ", "I lost it because",
    "Hello. I go to", "take me from"])
def test_cut(text):
    assert wrong_texts.is_cut(text)


@pytest.mark.parametrize("text", [
    "My car battery is dead", "What is this for", "Turn it on", "Who was it by?", "Tell me what time it is",
    "Wake me at 7 am", "And then?", "", "Which bus do I get to the college by"])
def test_whole(text):
    assert not wrong_texts.is_cut(text)


def test_non_words():
    known = {"is", "it", "the", "phone", "do", "undesirable", "desirable", "my"}
    assert wrong_texts.non_words("Is it undesable? It's 5pm, don't", known) == ["undesable"]
    assert wrong_texts.non_words("the phones x disypped", known) == ["disypped"]


def test_counts_of_a_file(tmp_path):
    texts = ["Read my list", "read my list!", "It is un-damaged and", "lyft it", None]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    (tmp_path / "known.txt").write_text("call a lyft\nlyft home\nzzz\n")
    (tmp_path / "words").write_text("Read\nmy\nlist\nit\nis\nand\ndamaged\n")
    done = subprocess.run([sys.executable, TOOL, tmp_path / "a.jsonl", "--words", tmp_path / "words",
                           "--known", tmp_path / "known.txt", "--show"], capture_output=True, text=True)
    row = done.stdout.splitlines()[2].split(" | ")
    assert row[1:] == ["4", "1 (25.0 %)", "1 (25.0 %)", "1 (25.0 %)", "50 % |"]
    assert "  non-word: It is un-damaged and  ['un']" in done.stdout
    (tmp_path / "o.txt").write_text("my list\nit\nun done\nx\n\n")
    done = subprocess.run([sys.executable, TOOL, tmp_path / "a.jsonl", "--words", tmp_path / "words",
                           "--known", tmp_path / "known.txt", "--originals", tmp_path / "o.txt"],
                          capture_output=True, text=True)
    assert done.stdout.splitlines()[2].split(" | ")[2] == "0 (0.0 %)"


def test_words_of_the_vocabulary():
    assert vocabulary.words("What’s 5pm, DON'T 'x-ray' é") == [
        b"what's", b"#", b"don't", b"x", b"ray", "é".encode()]
    # FNV-1a of "a" is af63dc4c8601ec8c
    assert vocabulary.hash_of(b"a") == (0xaf63dc4c8601ec8c ^ 0xaf63dc4c8601ec8c >> 29) & (1 << 48) - 1
    single, pair = vocabulary.count(["Walk home. Walk home?", "walk home", "away we walk home"])
    assert single == {b"walk": 4, b"home": 4, vocabulary.EDGE: 4}
    assert pair == {(b"walk", b"home"): 4, (b"home", b""): 4, (b"", b"walk"): 3}


def test_slips():
    """Rare words beside frequent ones, and rare short ones; not what is frequent itself or far from all."""
    times = {b"beginning": 500, b"begining": 3, b"beginnign": 5, b"begginning": 2, b"beginner": 5,
             b"ginning": 4, b"oy": 3, b"go": 40, b"vie": 5, b"vij": 4, b"begin's": 2, vocabulary.EDGE: 1}
    slips = {w for w in times if vocabulary.is_slip(w, times)}
    assert slips == {b"begining", b"beginnign", b"begginning", b"oy", b"vij"}


def test_the_bundled_file(fre):
    shown = json.loads(fre("model", "info", "minilm-inverter.vocabulary.gguf", "--json").out)
    assert shown["kind"] == "vocabulary" and shown["words"] > 50000 and shown["pairs"] > 200000
    assert "sources" in shown["source"]
    assert "53748" in fre("model", "info", MODELS / "minilm-inverter.vocabulary.gguf").out
