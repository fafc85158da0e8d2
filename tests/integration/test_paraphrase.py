"""paraphrase: order, fields and bytes kept, releases, repeatable, refusals; synthesize --paraphrases."""

import json
import re

import pytest

from conftest import BUDGET, NO_TEXT, everything

FEW = ["--paraphrases", "3", "--paraphrase-distance", "0.8"]


def words(text):
    return re.findall(r"\w+", text.lower().replace("'", ""))


def check(text, paraphrases, most):
    """At most so many, all different from the text and from one another, case and marks aside."""
    assert len(paraphrases) <= most
    seen = ["".join(words(t)) for t in [text, *paraphrases]]
    assert len(set(seen)) == len(seen) and all(seen[1:])


LINES = [
    '{"text": "what is the balance of my account", "n": 1.50, "big": 9007199254740993}',
    '{"id":"é", "text":"Can you give me the phone number?", "paraphrases": ["old"], "z": "\\u00e9"}',
    '{"text": "", "note": "nothing to vary"}',
    '',
    '{"text": "¿?", "other": {"paraphrases": 1}}',
]


def test_lines_are_kept(fre, tmp_path):
    (tmp_path / "t.jsonl").write_text("\n".join(LINES), encoding="utf-8")
    done = fre("paraphrase", "t.jsonl", "-o", "out.jsonl", *FEW, "--json")
    assert done.code == 0, done.err
    assert (tmp_path / "out.jsonl").stat().st_mode & 0o077 == 0  # as private as the texts
    made = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(made) == 4  # the blank line goes
    rows = [json.loads(line) for line in made]
    # Every byte outside the list stays as it was.
    bare = [re.sub(r',? ?"paraphrases": ?\[.*?\]', "", m, count=1) for m in made]
    assert bare[0] == LINES[0]
    assert bare[1] == LINES[1].replace(', "paraphrases": ["old"]', "") and '"old"' not in made[1]
    assert bare[2] == LINES[2] and bare[3] == LINES[4]
    for row in rows:
        check(row["text"], row["paraphrases"], 3)
    assert rows[0]["paraphrases"] and rows[1]["paraphrases"]
    assert rows[2]["paraphrases"] == [] and rows[3]["paraphrases"] == []
    report = done.json()
    assert report["texts"] == 4 and report["texts_without"] >= 2
    assert report["paraphrases"] == sum(len(r["paraphrases"]) for r in rows)
    assert report["language_model"] is None


def test_neighbours_do_not_matter(fre, tmp_path):
    texts = ["what is the balance of my account", "please play some jazz music"]
    lines = [json.dumps({"message": t}) + "\n" for t in texts]
    (tmp_path / "ab.jsonl").write_text("".join(lines))
    (tmp_path / "b.jsonl").write_text(lines[1])
    args = ["--text-field", "message", *FEW]
    both = fre("paraphrase", "ab.jsonl", "-o", "-", *args, "--threads", "2")
    one = fre("paraphrase", "b.jsonl", "-o", "-", *args, "--threads", "1")
    assert both.code == 0 and one.code == 0, both.err
    assert both.out.splitlines()[1] == one.out.splitlines()[0]
    assert json.loads(one.out)["paraphrases"]
    other = fre("paraphrase", "b.jsonl", "-o", "-", *args, "--seed", "1")
    assert other.out != one.out
    piped = fre("paraphrase", "-", "-o", "-", *args, input=lines[1])
    assert piped.out == one.out


def test_a_release(fre, tmp_path, corpus):
    made = fre("synthesize", corpus.name, "-o", "out", *BUDGET, *FEW, "--effort", "1", "--quiet",
               "--json")
    assert made.code == 0, made.err
    before = (tmp_path / "out" / "synthetic.jsonl").read_text().splitlines()
    cells = [json.loads(line) for line in before]
    assert len(cells) == 3 and any(c["paraphrases"] for c in cells)
    for c in cells:
        check(c["text"], c["paraphrases"], 3)
    # The same afterwards, near the centroids too; counts and the like as they were.
    done = fre("paraphrase", "out", "-o", "more.jsonl", "--paraphrases", "2", "--quiet")
    assert done.code == 0, done.err
    after = [json.loads(line) for line in (tmp_path / "more.jsonl").read_text().splitlines()]
    for old, new in zip(cells, after):
        check(new["text"], new["paraphrases"], 2)
        assert {**old, "paraphrases": []} == {**new, "paraphrases": []}
    shown = fre("evaluate", "more.jsonl", corpus.name, "--threshold", "40", "--public", "--json")
    report = shown.json()
    assert report["synthetic"] == 3
    assert report["paraphrases"] == sum(len(c["paraphrases"]) for c in after)
    assert (report["text_with_paraphrases"] is None) == (report["paraphrases"] == 0)
    # Too few rows for the lines, or too many.
    (tmp_path / "two.jsonl").write_text("\n".join(before[:2]))
    few = fre("paraphrase", "two.jsonl", "-o", "x.jsonl", "--centroids", "out/centroids.npy")
    assert few.code == 65 and "out/centroids.npy has 3 rows, but there are 2 texts" in few.err
    (tmp_path / "four.jsonl").write_text("\n".join(before + before[:1]))
    many = fre("paraphrase", "four.jsonl", "-o", "x.jsonl", "--centroids", "out/centroids.npy")
    assert many.code == 65 and "more texts than rows (3)" in many.err
    assert not (tmp_path / "x.jsonl").exists()


def test_no_texts(fre, refused, corpus):
    assert fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--quiet").code == 0
    refused(65, 'fre-e2t paraphrase: out/synthetic.jsonl: line 1: "text" is null: a release made '
            "with --inverter none has no texts; make them from its centroids.npy with fre-e2t invert",
            "paraphrase", "out", "-o", "x.jsonl")


def test_a_byte_order_mark(fre, tmp_path):
    (tmp_path / "m.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "please play some jazz"}\r\n')
    done = fre("paraphrase", "m.jsonl", "-o", "-", *FEW)
    assert done.code == 0, done.err
    assert json.loads(done.out)["text"] == "please play some jazz"


def test_an_empty_file(fre, tmp_path):
    (tmp_path / "none.jsonl").write_text("")
    done = fre("paraphrase", "none.jsonl", "-o", "out.jsonl")
    assert done.code == 0 and "0 texts" in done.err
    assert (tmp_path / "out.jsonl").read_text() == ""


def test_lines_are_lost_only_when_that_is_asked_for(fre, tmp_path):
    lines = ['{"text": "what is my balance"}', '{"text": "what is my name"}', '{"message": "b"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    done = fre("paraphrase", "a.jsonl", "-o", "x.jsonl", "--invalid", "skip", "--paraphrases", "1", "--json")
    assert done.code == 0, done.err
    assert len((tmp_path / "x.jsonl").read_text().splitlines()) == 2


def test_refusals(refused, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"message": "b"}\n')
    (tmp_path / "n.jsonl").write_text('{"text": 7}\n')
    (tmp_path / "p.txt").write_text("plain text\n")
    (tmp_path / "m.jsonl").write_text('{"text": "a", "noise_norm": -1}\n')
    (tmp_path / "r.jsonl").write_text('["a"]\n')
    (tmp_path / "z.jsonl").write_text('{"text": "a\\u0000b"}\n')
    (tmp_path / "u.jsonl").write_bytes(b'{"text": "a\xff"}\n')
    (tmp_path / "c.npy").write_text("")
    (tmp_path / "folder").mkdir()
    base = ["-o", "x.jsonl"]
    for code, sentence, args in [
        (65, 'a.jsonl: line 2: the field "text" is missing; did you mean "message"? Add it, or '
             "name another with --text-field", ["a.jsonl", *base]),
        (65, 'n.jsonl: line 1: the field "text" is a number; make it a string, or name another '
             "with --text-field", ["n.jsonl", *base]),
        (65, 'm.jsonl: line 1: "noise_norm" must be a number of at least 0', ["m.jsonl", *base]),
        (65, "p.txt: is text lines, and paraphrases go into JSON objects: write one object a "
             'line, its text under "text"', ["p.txt", *base]),
        (65, 'r.jsonl: line 1: a string, which has no place for paraphrases; write each text as an '
         'object on a line of its own: {"text": "..."}',
         ["r.jsonl", *base]),
        (65, "z.jsonl: line 1: a string escapes NUL or half of a surrogate pair; remove the escape", ["z.jsonl", *base]),
        (65, "u.jsonl: line 1: invalid UTF-8 at byte 12 of the record; name the file's encoding (--encoding latin-1)", ["u.jsonl", *base]),
        (73, "'c.npy' is also what --centroids names, which would be lost: give another --output",
         ["a.jsonl", "-o", "c.npy", "--force", "--centroids", "c.npy"]),
        (66, "absent.jsonl: cannot be opened: No such file or directory; check the path",
         ["absent.jsonl", *base]),
        (66, "folder/synthetic.jsonl: cannot be opened: No such file or directory; check the path",
         ["folder", *base]),
        (64, "--json and --output - cannot share standard output",
         ["a.jsonl", "-o", "-", "--json"]),
        (64, "a release's folder has its own centroids: leave out --centroids",
         ["folder", *base, "--centroids", "c.npy"]),
        (64, "nothing is left to write paraphrases: give --language-model, or leave out "
             "--inverter none", ["a.jsonl", *base, "--inverter", "none"]),
    ]:
        refused(code, "fre-e2t paraphrase: " + sentence, "paraphrase", *args)


def test_synthesize_flags(refused, tmp_path, corpus):
    base = ["synthesize", corpus.name, "-o", "out", *BUDGET]
    refused(64, "fre-e2t synthesize: --temperature is about paraphrases: add --paraphrases N",
            *base, "--temperature", "1")
    refused(64, "fre-e2t synthesize: --paraphrases needs texts: leave out --inverter none",
            *base, "--paraphrases", "2", *NO_TEXT)
    assert "out" not in everything(tmp_path)


@pytest.mark.parametrize("n", ["0", "65"])
def test_number(fre, n):
    done = fre("paraphrase", "t.jsonl", "-o", "x.jsonl", "--paraphrases", n)
    assert done.code == 64 and "--paraphrases" in done.err
