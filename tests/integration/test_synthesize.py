"""synthesize: files, JSON, determinism, ledger, interruption, disks."""

import json
import os
import pathlib
import resource
import signal
import stat
import subprocess
import time

import pytest

from conftest import (BUDGET, FREQUENT, NO_TEXT, PROGRAM, SEED, TIMEOUT, everything, feed,
                      kill_when_kept, start, texts, without_progress)

FILES = ["centroids.npy", "counts.npy", "release.json", "synthetic.jsonl"]


def run(fre, corpus, *args):
    done = fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--json", *args)
    assert done.code == 0, done.err
    return done.json()


def contents(folder):
    return {p.name: p.read_bytes() for p in pathlib.Path(folder).iterdir()}


def test_release(fre, tmp_path, corpus):
    report = run(fre, corpus)
    out = tmp_path / "out"
    assert set(FILES) <= set(os.listdir(out))
    assert report["released"] == 3 and report["is_private"] is True
    assert report["output"] == "out" and report["dry_run"] is False
    cells = [json.loads(line) for line in (out / "synthetic.jsonl").read_text().splitlines()]
    assert len(cells) == 3
    release = json.loads((out / "release.json").read_text())
    p, tau = release["parameters"]["sampling_rate"], release["parameters"]["tau"]
    sigma = release["parameters"]["sigma"]
    for cell in cells:
        assert {"text", "count", "users", "noise_norm", "similarity", "paraphrases"} <= set(cell)
        assert cell["text"] is None
        assert cell["count"] >= tau
        assert cell["users"] == pytest.approx(cell["count"] / p, rel=1e-3)
        assert cell["noise_norm"] == pytest.approx(sigma * 384**0.5 / cell["count"], rel=1e-3)
    listed = [c["count"] for c in report["most_frequent"]]
    assert listed == sorted((c["count"] for c in cells), reverse=True)
    # Nothing of the input, nor its exact size, is in the folder.
    whole = b"".join(contents(out).values())
    assert not any(t.encode() in whole for t in texts())
    assert b"not_for_publication" not in whole
    assert report["not_for_publication"]["records"] == len(texts())
    assert os.listdir(tmp_path / "tmp") == []


def test_texts_are_written(fre, tmp_path, corpus):
    """The whole of Algorithm 1 with the bundled models: what many share comes out."""
    done = fre("synthesize", corpus.name, "-o", "out", *BUDGET, "--effort", "1")
    assert done.code == 0, done.err
    cells = [json.loads(line) for line in
             (tmp_path / "out" / "synthetic.jsonl").read_text().splitlines()]
    assert len(cells) == 3
    assert all(isinstance(c["text"], str) and c["text"] for c in cells)
    shown = done.out
    assert max(map(len, shown.splitlines())) <= 80
    assert "3 cells released; groups of near wordings" in shown and "Privacy statement" in shown
    assert all(0 <= c["confidence_exact"] <= c["confidence"] <= 1 for c in cells)
    assert all(0 < c["share"] <= 1 for c in cells)
    assert {c["group"] for c in cells} == set(range(len({c["group"] for c in cells})))
    assert "Files in out" in shown
    assert "Not for publication: 410 records of 410 users, " in done.err
    assert "Not for publication: 410 records read" in done.err


def test_texts_that_are_not_sure_enough_are_left_out(fre, tmp_path, corpus):
    """Of the same run (texts depend on the seed alone) the lines that are sure enough, in all files."""
    def release(*more):
        done = fre("synthesize", corpus.name, "-o", "out", *BUDGET, "--effort", "1", "--force", "--ledger",
                   "none", *SEED, "--json", *more)
        assert done.code == 0, done.err
        lines = (tmp_path / "out" / "synthetic.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines], json.loads((tmp_path / "out" / "release.json").read_text())

    whole, _ = release()
    least = sorted(c["confidence"] for c in whole)[1]
    kept, about = release("--min-confidence", str(least - 1e-6))
    assert [c["text"] for c in kept] == [c["text"] for c in whole if c["confidence"] >= least]
    assert len(kept) == 2 and about["released_cells"] == 2
    assert about["left_out"] == {"min_confidence": pytest.approx(least - 1e-6), "cells": 1}


def test_confidence_is_not_known_of_everything(refused, corpus):
    refused(64, "fre-e2t synthesize: --min-confidence needs texts of the bundled inverter, for its own embedder and "
            "without --language-model: how sure others are is not known",
            "synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--ledger", "none", "--quiet",
            "--min-confidence", "0.5")
    refused(64, "fre-e2t synthesize: --min-confidence must be a number above 0 and at most 1, not '0'",
            "synthesize", corpus.name, "-o", "out", *BUDGET, "--min-confidence", "0")


def test_quiet_says_nothing(fre, corpus):
    done = fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--quiet", *SEED)
    assert done.code == 0 and done.out == "" and done.err == ""


def test_existing_folder(fre, refused, tmp_path, corpus):
    run(fre, corpus)
    before = contents(tmp_path / "out")
    refused(73, "fre-e2t synthesize: 'out' exists; give another name or add --force to replace it",
            "synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT)
    assert contents(tmp_path / "out") == before
    run(fre, corpus, "--force")
    assert contents(tmp_path / "out") != before
    assert [n for n in os.listdir(tmp_path) if n.startswith(".")] == []


def test_force_never_replaces_a_strange_folder(fre, tmp_path, corpus):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious.txt").write_text("mine")
    done = fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--force")
    assert done.code == 73 and done.err.count("\n") == 1
    assert (tmp_path / "out" / "precious.txt").read_text() == "mine"


def test_dry_run(fre, tmp_path, corpus):
    before = everything(tmp_path)
    report = run(fre, corpus, "--dry-run")
    assert report["dry_run"] is True
    assert report["plan"]["epsilon"] == 8
    assert "ledger" in report["dry_run_note"]
    assert everything(tmp_path) == before
    done = fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--dry-run")
    assert "Dry run: nothing was written." in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert "The ledger compares embeddings only in the run" in done.out
    done = fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--dry-run", "--ledger",
               "none")
    assert done.code == 0 and "The ledger compares" not in done.out


def test_what_cannot_be_named(fre, tmp_path, corpus):
    """Standard output is no folder, and white space no name of data."""
    before = everything(tmp_path)
    for more, said in ((["-o", "-"], "--output is a folder"),
                       (["-o", "out", "--data-name", "  "], "--data-name is empty")):
        done = fre("synthesize", corpus.name, *BUDGET, *NO_TEXT, *more)
        assert done.code == 64 and said in done.err, done.err
    assert everything(tmp_path) == before


def test_seed_repeats_byte_for_byte(fre, tmp_path, corpus):
    run(fre, corpus, *SEED, "--threads", "1")
    first = contents(tmp_path / "out")
    report = run(fre, corpus, *SEED, "--threads", "3", "--force")
    assert contents(tmp_path / "out") == first
    assert report["is_private"] is False
    assert report["statement"].startswith("NOT PRIVATE")
    assert any("NOT PRIVATE" in w for w in report["warnings"])
    assert "NOT PRIVATE" in first["release.json"].decode()
    run(fre, corpus, "--seed", "5f" * 32, "--force")
    assert contents(tmp_path / "out") != first


def test_order_does_not_change_the_sums(fre, tmp_path):
    """At --epsilon inf nothing is random but the order of the cells: any order, the same bits."""
    def cells(lines):
        (tmp_path / "c.txt").write_text("".join(t + "\n" for t in lines))
        run(fre, tmp_path / "c.txt", "--epsilon", "inf", "--force", "--threads", "2", *SEED)
        rows = (tmp_path / "out" / "synthetic.jsonl").read_text().splitlines()
        data = (tmp_path / "out" / "centroids.npy").read_bytes()[-len(rows) * 384 * 4:]
        return sorted(zip(rows, (data[i:i + 1536] for i in range(0, len(data), 1536))))

    assert cells(texts()) == cells(list(reversed(texts())))


def test_without_a_seed_runs_differ(fre, tmp_path, corpus):
    run(fre, corpus)
    first = contents(tmp_path / "out")
    run(fre, corpus, "--force")
    assert contents(tmp_path / "out")["centroids.npy"] != first["centroids.npy"]


def test_epsilon_infinite(fre, tmp_path, corpus):
    report = run(fre, corpus, "--epsilon", "inf", "--threshold", "100")
    assert report["is_private"] is False
    assert [c["count"] for c in report["most_frequent"]] == [150, 120, 100]
    assert "NOT PRIVATE" in (tmp_path / "out" / "release.json").read_text()


def test_no_released_cell(fre, tmp_path):
    (tmp_path / "few.txt").write_text("a few\nlonely texts\nare not enough\n")
    done = fre("synthesize", "few.txt", "-o", "out", *BUDGET, *NO_TEXT)
    assert done.code == 0
    assert done.out.startswith("0 cells released\n")
    assert ("fre-e2t synthesize: warning: no cell was released: nowhere did enough users write the "
            "same, or nearly the same.") in done.err


def test_user_field(fre, tmp_path):
    lines = [json.dumps({"text": FREQUENT[0], "who": f"u{i % 10}"}) for i in range(400)]
    lines += [json.dumps({"text": FREQUENT[1], "who": i}) for i in range(400)]
    (tmp_path / "u.jsonl").write_text("\n".join(lines))
    report = run(fre, tmp_path / "u.jsonl", "--user-field", "who", "--epsilon", "inf")
    # Ten users cannot make a text frequent, however often they repeat it.
    assert [c["count"] for c in report["most_frequent"]] == [400]
    assert report["not_for_publication"]["contributed"] == 410


def test_embeddings_as_input(fre, tmp_path, embedded):
    done = fre("synthesize", embedded, "-o", "out", *BUDGET, *NO_TEXT, "--json")
    assert done.code == 0, done.err
    assert done.json()["released"] == 3


def test_ledger(fre, refused, tmp_path, corpus):
    ledger = ["--ledger", "ledger.json", "--budget-epsilon", "16", "--budget-delta", "1e-5"]
    run(fre, corpus, *ledger)
    assert stat.S_IMODE(os.stat(tmp_path / "ledger.json").st_mode) == 0o600
    run(fre, corpus, *ledger, "--force")
    before = contents(tmp_path / "out")
    done = fre("synthesize", corpus.name, "-o", "out2", *BUDGET, *NO_TEXT, *ledger)
    assert done.code == 77 and done.err.count("\n") == 1, done.err
    assert not (tmp_path / "out2").exists()
    assert contents(tmp_path / "out") == before
    # A dry run says the same and spends nothing.
    done = fre("synthesize", corpus.name, "-o", "out2", *BUDGET, *NO_TEXT, *ledger, "--dry-run")
    assert done.code == 77
    shown = fre("ledger", "show", "ledger.json", "--json").json()
    assert len(shown["entries"]) == 2
    assert sum(e["epsilon"] for e in shown["entries"]) == pytest.approx(16)
    (tmp_path / "ledger.json").write_text("{ damaged")
    done = fre("synthesize", corpus.name, "-o", "out2", *BUDGET, *NO_TEXT, *ledger)
    assert done.code == 77 and (tmp_path / "ledger.json").read_text() == "{ damaged"
    assert not (tmp_path / "out2").exists()


# ---- places that cannot be written -----------------------------------------------------------

def test_folder_under_a_file(refused, corpus):
    refused(73, f"fre-e2t synthesize: cannot create '{corpus.name}/out': the folder "
                f"'{corpus.name}/': Not a directory",
            "synthesize", corpus.name, "-o", f"{corpus.name}/out", *BUDGET, *NO_TEXT)


def test_folder_that_takes_no_files(refused, corpus):
    refused(73, "fre-e2t synthesize: cannot create '/proc/out': No such file or directory; choose "
                "a folder you can write to",
            "synthesize", corpus.name, "-o", "/proc/out", *BUDGET, *NO_TEXT)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB, where the machine lets us mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", place],
                             capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def test_full_disk_for_the_spool(fre, tmp_path, small_disk):
    (tmp_path / "many.txt").write_text("\n".join(texts(extra=400)))
    done = fre("synthesize", "many.txt", "-o", "out", *BUDGET, *NO_TEXT, "--quiet",
               env={"TMPDIR": str(small_disk)})
    assert done.code == 74, done.err
    assert done.err.count("\n") == 1 and "disk full" in done.err
    assert not (tmp_path / "out").exists()
    assert os.listdir(small_disk) == []


def test_full_disk_for_the_output(fre, small_disk, tmp_path):
    lines = [f"{a} {b}" for a in ("cats", "cars", "trees", "planets", "cakes")
             for b in ("are round", "cost money", "grow in spring", "sing at night", "melt",
                       "like music", "need water", "move fast", "sleep", "have names")]
    (tmp_path / "many.txt").write_text("".join((t + "\n") * 3 for t in lines))
    done = fre("synthesize", "many.txt", "-o", "disk/out", *NO_TEXT, "--epsilon", "inf",
               "--threshold", "3", "--quiet")
    assert done.code == 74, done.err
    assert done.err.count("\n") == 1
    assert os.listdir(small_disk) == []


def test_file_size_limit(fre, tmp_path, corpus):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

    done = fre("embed", corpus.name, "-o", "x.npy", preexec_fn=limit)
    assert done.code == 74, done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "x.npy").exists() and not (tmp_path / "x.npy.json").exists()


# ---- interruption -----------------------------------------------------------------------------

@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_reading(tmp_path, sig):
    (tmp_path / "tmp").mkdir()
    before = everything(tmp_path)
    process = start(tmp_path, "synthesize", "-", "--format", "txt", "-o", "out", *BUDGET, *NO_TEXT,
                    stdin=subprocess.PIPE)
    feed(process, texts())
    time.sleep(1.0)
    process.send_signal(sig)
    _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == -sig
    assert err.endswith("fre-e2t synthesize: interrupted; nothing was written\n")
    assert everything(tmp_path) == before


def test_interrupted_at_work(tmp_path):
    (tmp_path / "tmp").mkdir()
    many = [f"number {i} of {i * 7919 % 10007}: {FREQUENT[i % 3]}" for i in range(20000)]
    (tmp_path / "many.txt").write_text("\n".join(many))
    before = everything(tmp_path)
    for command in (["synthesize", "many.txt", "-o", "out", *BUDGET, *NO_TEXT, "--quiet"],
                    ["embed", "many.txt", "-o", "x.npy"]):
        process = start(tmp_path, *command)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT)
        assert process.returncode == -signal.SIGINT
        assert without_progress(err) == f"fre-e2t {command[0]}: interrupted; nothing was written\n"
        assert everything(tmp_path) == before


def test_killed_leaves_nothing_readable(tmp_path):
    (tmp_path / "tmp").mkdir()
    process = start(tmp_path, "synthesize", "-", "--format", "txt", "-o", "out", *BUDGET, *NO_TEXT,
                    stdin=subprocess.PIPE)
    feed(process, texts() * 30)
    time.sleep(2.0)
    process.kill()
    process.communicate(timeout=TIMEOUT)
    assert not (tmp_path / "out").exists()
    left = [p for p in tmp_path.rglob("*") if p.is_file()]
    for path in left:
        assert FREQUENT[0].encode() not in path.read_bytes()
    assert not any(p for p in left if p.stat().st_size > 0)


CHUNK = 8192  # records that a run takes in at a time


def killed_after_one_chunk(tmp_path, lines, *args, sig=signal.SIGKILL):
    """A resumable run on standard input that is killed while it waits for its second chunk."""
    spool = tmp_path / "out.resume.spool"
    kill_when_kept(tmp_path, ["synthesize", "-", "--format", "txt", "-o", "out", *BUDGET, *NO_TEXT,
                              *args], lines[:CHUNK + 100], spool, 150_000, sig)
    assert not (tmp_path / "out").exists()
    return spool


def two_chunks():
    rare = [f"number {i} of {i * 7919 % 10007}: {FREQUENT[i % 3]}" for i in range(300)]
    return [rare[i % 150] for i in range(CHUNK)] + rare + texts()


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGINT])
def test_resume_after_a_kill(fre, tmp_path, sig):
    lines = two_chunks()
    spool = killed_after_one_chunk(tmp_path, lines, *SEED, sig=sig)
    key = tmp_path / "out.resume.key"
    for path in (key, spool):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not any(t.encode() in spool.read_bytes() for t in lines[::100])
    args = ["synthesize", "-", "--format", "txt", "-o", "out", *BUDGET, *NO_TEXT, *SEED]
    whole = "".join(t + "\n" for t in lines)
    done = fre(*args, "--resume", "--json", input=whole)
    assert done.code == 0, done.err
    resumed = contents(tmp_path / "out")
    assert not spool.exists() and not key.exists()
    assert fre(*args, "--force", input=whole).code == 0
    assert contents(tmp_path / "out") == resumed


def test_resume_refuses_another_input(fre, tmp_path):
    spool = killed_after_one_chunk(tmp_path, two_chunks())
    done = fre("synthesize", "-", "--format", "txt", "-o", "out", *BUDGET, *NO_TEXT, "--resume",
               input="".join(t + " changed\n" for t in two_chunks()))
    assert done.code == 65 and done.err.count("\n") == 1
    assert "run without --resume, or remove out.resume.*" in done.err
    assert not (tmp_path / "out").exists()
    assert spool.exists()


def test_resume_refuses_a_key_that_others_can_read(fre, tmp_path):
    lines = two_chunks()
    killed_after_one_chunk(tmp_path, lines)
    (tmp_path / "out.resume.key").chmod(0o644)
    done = fre("synthesize", "-", "--format", "txt", "-o", "out", *BUDGET, *NO_TEXT, "--resume",
               input="".join(t + "\n" for t in lines))
    assert done.code == 77 and done.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
