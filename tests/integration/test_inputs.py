"""Inputs that must work or be refused clearly: exit code, exact sentence, nothing left behind."""

import gzip
import json
import os
import subprocess

import pytest

from conftest import BUDGET, LONG, MODELS, NO_TEXT, PROGRAM, TIMEOUT, everything, texts

# Written as bytes; %s is the file's name.
BAD = [
    ("empty.txt", b"", 66, "%s: is empty; give a file with at least one text"),
    ("utf8.txt", b"good\nb\xff\xfead\n", 65,
     "%s: line 2: invalid UTF-8 at byte 2 of the record; name the file's encoding (--encoding latin-1)"),
    ("overlong.txt", b"\xc0\xaf\n", 65,
     "%s: line 1: invalid UTF-8 at byte 1 of the record; name the file's encoding (--encoding latin-1)"),
    ("nul.txt", b"a\0b\nx\n", 65,
     "%s: line 1: a NUL byte at byte 2 of the record; remove it (is the file UTF-16?)"),
    ("column.csv", b'id,msg\n1,"a\nb"\n', 65,
     '%s: line 1: no column "text" (columns: "id", "msg"); name one with --text-field'),
    ("missing.jsonl", b'{"text": "a"}\n{"t": "b"}\n', 65,
     '%s: line 2: the field "text" is missing; add it, or name another with --text-field'),
    ("number.jsonl", b'{"text": "a"}\n\n{"text": 3}\n', 65,
     '%s: line 3: the field "text" is a number; make it a string, or name another with '
     '--text-field'),
    ("broken.jsonl", b'{"text": "a"}\n{"text": \n', 65,
     "%s: line 2, column 10: not valid JSON: a value is expected; write one object a line"),
]


@pytest.mark.parametrize("name, content, code, sentence", BAD, ids=[b[0] for b in BAD])
@pytest.mark.parametrize("command", ["synthesize", "embed"])
def test_refused(refused, tmp_path, command, name, content, code, sentence):
    (tmp_path / name).write_bytes(content)
    args = [name, "-o", "out", "--strict"]
    if command == "synthesize":
        args += BUDGET + NO_TEXT
    refused(code, f"fre-e2t {command}: " + sentence % name, command, *args)


@pytest.mark.parametrize("command", ["synthesize", "embed"])
@pytest.mark.parametrize("path, sentence", [
    ("absent.txt", "absent.txt: cannot be opened: No such file or directory; check the path"),
    ("tmp", "tmp: is a folder; give a file of texts"),
])
def test_no_input(refused, command, path, sentence):
    args = [path, "-o", "out"] + (BUDGET + NO_TEXT if command == "synthesize" else [])
    refused(66, f"fre-e2t {command}: {sentence}", command, *args)


def rows(fre, tmp_path, name, content, *args):
    """Embed a file; the report."""
    (tmp_path / name).write_bytes(content)
    done = fre("embed", name, "-o", "x.npy", "--force", "--json", *args)
    assert done.code == 0, done.err
    return done.json()


def test_skip_and_replace(fre, tmp_path):
    bad = b"good\nb\xff\xfead\nz\0\nbetter\n"
    report = rows(fre, tmp_path, "u.txt", bad, "--invalid", "skip")
    assert report["rows"] == 2 and report["invalid"] == 2
    report = rows(fre, tmp_path, "u.txt", bad, "--invalid", "replace")
    assert report["rows"] == 4 and report["invalid"] == 2


def test_lines_and_marks(fre, tmp_path):
    report = rows(fre, tmp_path, "l.txt", b"\xef\xbb\xbfone\r\n  \r\n\r\ntwo\r\nNA\nnull")
    assert report["rows"] == 4 and report["empty"] == 2


def test_quoted_newlines(fre, tmp_path):
    report = rows(fre, tmp_path, "q.csv", b'id,text\n1,"a\nb ""c"""\n2,null\n3,NA\n')
    assert report["rows"] == 3


def test_other_field(fre, tmp_path):
    assert rows(fre, tmp_path, "f.csv", b"id,msg\n1,hello\n", "--text-field", "msg")["rows"] == 1
    assert rows(fre, tmp_path, "f.tsv", b"text\tid\nhello\t1\n")["rows"] == 1


def test_long_line_is_truncated_and_counted(fre, tmp_path):
    report = rows(fre, tmp_path, "long.txt", b"word " * 2_000_000 + b"\nshort\n")
    assert report["rows"] == 2 and report["truncated"] == 1


def test_foreign_language_warns(fre, tmp_path):
    done_text = "ⲁⲃⲅⲇ ⲉⲍⲏⲑ ⲓⲕⲗⲙ ⲛⲝⲟⲡ\n" * 10
    (tmp_path / "coptic.txt").write_text(done_text)
    done = fre("embed", "coptic.txt", "-o", "x.npy")
    assert done.code == 0
    assert ("fre-e2t embed: warning: many texts are not what the embedder was made for (in another "
            "language, or hardly any words), so similar ones may not be recognised; choose another "
            "with --embedder FILE\n") in done.err


def test_compressed_and_standard_input(fre, tmp_path):
    plain = "".join(t + "\n" for t in texts(5)).encode()
    expected = rows(fre, tmp_path, "p.txt", plain)["rows"]
    assert expected == len(texts(5))
    first = (tmp_path / "x.npy").read_bytes()
    assert rows(fre, tmp_path, "p.txt.gz", gzip.compress(plain))["rows"] == expected
    assert (tmp_path / "x.npy").read_bytes() == first
    done = fre("embed", "-", "-o", "x.npy", "--force", "--json", "--format", "txt",
               input=plain.decode())
    assert done.json()["rows"] == expected
    assert (tmp_path / "x.npy").read_bytes() == first


def test_cut_compressed_file(refused, tmp_path):
    whole = gzip.compress(b"".join(b"text %d\n" % (i * 7919) for i in range(4000)))
    (tmp_path / "cut.txt.gz").write_bytes(whole[:len(whole) // 2])
    refused(65, f"fre-e2t embed: cut.txt.gz: the gzip data ends early, after {len(whole) // 2} "
                "bytes of the file; the file is cut off, get it again whole",
            "embed", "cut.txt.gz", "-o", "x.npy")


def test_duplicates_are_kept(fre, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "same again"}\n' * 500)
    report = fre("synthesize", "d.jsonl", "-o", "out", *BUDGET, *NO_TEXT, "--json").json()
    assert report["released"] == 1
    stats = report["not_for_publication"]
    assert stats["records"] == 500 and stats["distinct"] == 1


def test_more_users_than_the_population(refused, corpus):
    refused(65, "fre-e2t synthesize: the input has more users than --population 300, so the "
                "privacy statement would be false; state a larger --population",
            "synthesize", corpus.name, "-o", "out", "--epsilon", "8", "--threshold", "40",
            "--population", "300", *NO_TEXT)


def test_exactly_the_population(fre, corpus):
    done = fre("synthesize", corpus.name, "-o", "out", "--epsilon", "8", "--threshold", "40",
               "--population", len(corpus.read_text().splitlines()), *NO_TEXT)
    assert done.code == 0, done.err


MODEL = "all-minilm-l6-v2.q8_0.gguf"


def bad_models(tmp_path):
    """Files that are no embedder, each with its exit code."""
    whole = (MODELS / MODEL).read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[:100_000])
    (tmp_path / "short.gguf").write_bytes(whole[:-1000])
    (tmp_path / "text.gguf").write_text("this is no model\n" * 100)
    (tmp_path / "empty.gguf").write_bytes(b"")
    return [("absent.gguf", 66), ("cut.gguf", 65), ("short.gguf", 65), ("text.gguf", 65),
            ("empty.gguf", 65), ("tmp", 66), (MODELS / "minilm-inverter.q8_0.gguf", 65),
            (MODELS / "minilm-inverter-projector.f16.gguf", 65)]


@pytest.mark.parametrize("command", ["synthesize", "embed"])
def test_unusable_embedder(fre, tmp_path, corpus, command):
    for model, code in bad_models(tmp_path):
        before = everything(tmp_path)
        args = [corpus.name, "-o", "out", "--embedder", model]
        done = fre(command, *args, *(BUDGET + NO_TEXT if command == "synthesize" else []))
        assert done.code in (65, 66), (model, done.err)
        assert done.code == code or model == "empty.gguf", (model, done.err)
        assert done.err.count("\n") == 1 and done.err.startswith(f"fre-e2t {command}: ")
        assert str(model) in done.err
        assert everything(tmp_path) == before


@pytest.mark.parametrize("command", ["synthesize", "simulate"])
def test_unusable_inverter(fre, tmp_path, corpus, command):
    """Whatever texts are written with is refused before the input is read."""
    bad_models(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    options = [("--inverter", m) for m in ("absent.gguf", "cut.gguf", MODELS / MODEL)]
    options += [(o, m) for o in ("--prior", "--bridge", "--language-model", "--public-corpus")
                for m in ("absent.gguf", "cut.gguf", "pipe")]
    options.remove(("--public-corpus", "pipe"))  # which may be one, and is waited for
    if command == "simulate" and not LONG:  # they are the same two's arguments
        options = [o for o in options if o[1] == "absent.gguf"]
    for option in options:
        before = everything(tmp_path)
        done = fre(command, corpus.name, "-o", "out", *BUDGET, *option)
        assert done.code in (65, 66), (option, done.err)
        assert done.err.count("\n") == 1, (option, done.err)
        assert everything(tmp_path) == before


def test_a_pipe_is_no_model(refused, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(66, "fre-e2t model info: the model ./pipe is not a regular file", "model", "info",
            "./pipe")


def test_no_control_characters_on_the_terminal(fre, tmp_path, embedded):
    (tmp_path / "x.npy").write_bytes(embedded.read_bytes())
    meta = json.loads(embedded.with_suffix(".npy.json").read_text())
    meta |= {"sha256": "00" * 32, "embedder": "a\x1b[31m\nb"}
    (tmp_path / "x.npy.json").write_text(json.dumps(meta))
    done = fre("model", "prior", "x.npy", "-o", "p.gguf")
    assert done.code == 65
    assert done.err == ("fre-e2t model prior: x.npy was made by another embedder (a?[31m?b); pass "
                        "that one by --embedder\n")


def test_missing_model(refused):
    nowhere = {"FRE_MODEL_DIR": "nowhere"}
    refused(66, "fre-e2t model info: cannot open the model none.gguf: No such file or "
            "directory; check the path",
            "model", "info", "none.gguf", env=nowhere)


def test_sidecar_of_another_embedder(refused, tmp_path, embedded):
    (tmp_path / "x.npy").write_bytes(embedded.read_bytes())
    meta = json.loads(embedded.with_suffix(".npy.json").read_text())
    meta["sha256"] = "00" * 32
    (tmp_path / "x.npy.json").write_text(json.dumps(meta))
    refused(65, "fre-e2t invert: the embeddings were made by another embedder, as their sidecar "
                "says; name its file with --embedder FILE", "invert", "x.npy", "-o", "t.jsonl")


def test_force_never_destroys_what_is_not_a_release(fre, tmp_path):
    (tmp_path / "in.txt").write_text("tell me a joke\n" * 60)
    args = ("--epsilon", "8", "--threshold", "50", "--population", "1000", "--inverter", "none")
    assert fre("synthesize", "in.txt", "-o", "out", *args).code == 0
    for name in ("ledger.json", "in.txt"):
        (tmp_path / "out" / name).write_text((tmp_path / "in.txt").read_text())
        done = fre("synthesize", f"out/{name}", "--format", "txt", "-o", "out", "--force", *args)
        assert done.code == 73
        assert f"'out' holds '{name}', which is no part of a release" in done.err
        (tmp_path / "out" / name).unlink()
    assert fre("synthesize", "in.txt", "-o", "out", "--force", *args).code == 0
    done = fre("embed", "in.txt", "-o", "in.txt", "--force")
    assert done.code == 73 and "is the input itself" in done.err
    assert (tmp_path / "in.txt").read_text().startswith("tell me a joke")


def test_dry_run_reads_the_whole_input(fre, tmp_path):
    args = ("-o", "out", "--epsilon", "8", "--threshold", "50", "--dry-run")
    (tmp_path / "bad.txt").write_bytes(b"fine\n" * 50 + b"\xff\xfe broken\n")
    done = fre("synthesize", "bad.txt", "--population", "1000", "--strict", *args)
    assert done.code == 65 and "line 51" in done.err
    done = fre("synthesize", "bad.txt", "--population", "1000", "--json", *args)
    assert done.code == 0 and done.json()["not_for_publication"]["invalid"] == 1
    (tmp_path / "many.txt").write_text("fine\n" * 50)
    done = fre("synthesize", "many.txt", "--population", "49", *args)
    assert done.code == 65 and "more users than --population 49" in done.err
    done = fre("synthesize", "many.txt", "--population", "50", "--json", *args)
    assert done.code == 0 and done.json()["released"] is None
    assert "Not for publication" not in done.err
    assert not [p for p in tmp_path.iterdir() if "out" in p.name]


def release(tmp_path, name):
    return json.loads((tmp_path / name / "release.json").read_text())


def test_one_bad_record_is_left_out(fre, tmp_path):
    """Not the release decides about it, and no file of the release tells of it."""
    good = [{"user": f"u{i}", "text": "turn on the kitchen light"} for i in range(60)]
    lines = [json.dumps(g) for g in good]
    for bad in ["", "{", '{"user": "v"}', '{"user": "", "text": "x"}', "[1]", '"' * 3]:
        (tmp_path / "x.jsonl").write_text("\n".join([bad] + lines) + "\n")
        done = fre("synthesize", "x.jsonl", "-o", "out", "--force", "--user-field", "user", "--json",
                   *BUDGET, *NO_TEXT, "--ledger", "none")
        assert done.code == 0, done.err
        seen = done.json()["not_for_publication"]
        assert seen["contributed"] == 60 and seen["invalid"] + seen["empty"] == 1
        made = release(tmp_path, "out")
        assert made["strict_intake"] is False and "invalid" not in json.dumps(made)
        assert any("most records not usable" in s for s in made["statement"])
    done = fre("synthesize", "x.jsonl", "-o", "out2", "--user-field", "user", "--strict", *BUDGET, *NO_TEXT)
    assert done.code == 65 and "line 1" in done.err
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    done = fre("synthesize", "x.jsonl", "-o", "out2", "--user-field", "user", "--strict", *BUDGET,
               *NO_TEXT, "--ledger", "none")
    assert done.code == 0, done.err
    made = release(tmp_path, "out2")
    assert made["strict_intake"] is True
    assert any(s.startswith("Strict: ") for s in made["statement"])
    done = fre("synthesize", "x.jsonl", "-o", "out3", "--strict", "--invalid", "skip", *BUDGET)
    assert done.code == 64 and "leave out one of them" in done.err


def test_users_of_embeddings(fre, tmp_path):
    (tmp_path / "t.csv").write_text("who,text\n" + "".join(
        f"{'Ann' if i % 2 else ' ann '},turn on light {i % 3}\n" for i in range(240)))
    (tmp_path / "who.txt").write_text("".join(f"u{i // 2}\n" for i in range(240)))
    assert fre("embed", "t.csv", "-o", "x.npy").code == 0
    base = ["synthesize", "x.npy", "-o", "out", "--force", "--json", *BUDGET, *NO_TEXT, "--ledger", "none"]
    for args, users, counted in [
            (["--user-file", "who.txt"], 120, 120),
            (["--user-file", "who.txt", "--max-cells-per-user", "2"], 120, 240),
            (["--user-file", "t.csv", "--user-field", "who"], 2, 2),
            (["--user-file", "t.csv", "--user-field", "who", "--user-fold", "case"], 1, 1)]:
        done = fre(*base, *args)
        assert done.code == 0, done.err
        seen = done.json()["not_for_publication"]
        assert (seen["users"], seen["counted"], seen["contributed"]) == (users, counted, counted)
        assert release(tmp_path, "out")["privacy_unit"] == "user"
    (tmp_path / "short.txt").write_text("a\n" * 239)
    done = fre(*base, "--user-file", "short.txt")
    assert done.code == 65 and "there are 240 embeddings and 239 names of users" in done.err
    done = fre(*base, "--user-field", "who")
    assert done.code == 64 and "--user-file FILE" in done.err
    done = fre("synthesize", "t.csv", "-o", "o", "--user-file", "who.txt", *BUDGET)
    assert done.code == 64 and "--user-field F" in done.err
    done = fre("simulate", "x.npy", "-o", "sim", "--user-file", "who.txt", "--json", "--epsilon", "8",
               "--threshold", "60", "--population", "100000", *NO_TEXT)
    assert done.code == 0, done.err
    assert done.json()["not_for_publication"]["input_users"] == 120
