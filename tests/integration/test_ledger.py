"""The ledger at the command line: the user's own one, keys, show, what is not recorded."""

import json
import os
import stat
import subprocess

import pytest

from conftest import BUDGET, NO_TEXT, PROGRAM, SEED, TIMEOUT, everything


@pytest.fixture
def home(tmp_path):
    """An environment with a home of its own and no state folder stated."""
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": ""}


def release(fre, corpus, *args, **options):
    return fre("synthesize", corpus.name, "-o", "out", "--force", *BUDGET, *NO_TEXT, *args,
               **options)


def booked(tmp_path):
    return json.loads((tmp_path / "out" / "release.json").read_text())["ledger"]


def test_own_ledger(fre, tmp_path, corpus, home):
    done = fre("ledger", "show", env=home)
    path = tmp_path / "home" / ".local" / "state" / "fre-e2t" / "ledger.json"
    assert done.code == 0 and done.out == f"Nothing has been recorded ({path}).\n"
    assert fre("ledger", "show", "--json", env=home).json() == {
        "file": str(path), "entries": [], "totals": []}
    done = release(fre, corpus, env=home)
    assert done.code == 0
    assert (f"fre-e2t synthesize: this data has now spent epsilon 8, delta 1e-06 in 1 release "
            f"({path})\n") in done.err
    for folder in (path.parent, path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    report = release(fre, corpus, "--json", env=home)
    assert "epsilon 16, delta 2e-06 in 2 releases" in report.err
    told = report.json()["not_for_publication"]["ledger"]
    assert told["file"] == str(path) and told["releases"] == 2
    assert told["epsilon"] == pytest.approx(16) and told["budget_epsilon"] is None
    assert booked(tmp_path) == {"entry": told["entry"]}
    assert str(tmp_path) not in (tmp_path / "out" / "release.json").read_text()
    shown = fre("ledger", "show", "--json", env=home).json()
    assert [e["id"] for e in shown["entries"]][1] == told["entry"]
    assert shown["entries"][0]["content"] == shown["entries"][1]["content"]
    quiet = release(fre, corpus, "--quiet", env=home)
    assert quiet.code == 0 and quiet.err == "" and quiet.out == ""


def test_budget_in_the_own_ledger(fre, tmp_path, corpus, home):
    assert release(fre, corpus, "--budget-epsilon", "9", env=home).code == 0
    done = release(fre, corpus, env=home)
    assert done.code == 77 and done.err.count("\n") == 1
    assert done.err.endswith("epsilon 8 of 9, and this one asks for 8: lower --epsilon to fit into "
                             "the 1 left\n")
    done = release(fre, corpus, "--budget-epsilon", "8", env=home)
    assert done.code == 77 and done.err.endswith(": nothing is left for a further one\n")
    # The file may be renamed, and grow under its name.
    (tmp_path / "renamed.jsonl").write_bytes(corpus.read_bytes())
    assert release(fre, tmp_path / "renamed.jsonl", env=home).code == 77
    corpus.write_text(corpus.read_text() + json.dumps({"text": "one more"}) + "\n")
    assert release(fre, corpus, "--data-name", "requests", "--budget-epsilon", "9",
                   env=home).code == 0
    corpus.write_text(corpus.read_text() + json.dumps({"text": "and more"}) + "\n")
    assert release(fre, corpus, "--data-name", "requests", env=home).code == 77


def test_what_is_not_recorded(fre, tmp_path, corpus, home):
    before = everything(tmp_path / "home")
    for args, reason in ((SEED, "a run that is not private spends no budget"),
                         (["--epsilon", "inf"], "a run that is not private spends no budget"),
                         (["--ledger", "none"], "no ledger was kept")):
        done = release(fre, corpus, *args, env=home)
        assert done.code == 0 and "this data has now spent" not in done.err
        assert booked(tmp_path) == {"entry": None, "reason": reason}
    assert release(fre, corpus, "--dry-run", env=home).code == 0
    assert everything(tmp_path / "home") == before


def test_standard_input_is_known_by_its_content(fre, tmp_path, corpus, home):
    def piped(*args):
        return fre("synthesize", "-", "--format", "jsonl", "-o", "out", "--force", *BUDGET,
                   *NO_TEXT, *args, env=home, input=corpus.read_text())

    done = piped()
    assert done.code == 0 and "epsilon 8, delta 1e-06 in 1 release (" in done.err
    assert release(fre, corpus, "--budget-epsilon", "20", env=home).code == 0
    assert piped("--epsilon", "5").code == 77
    assert piped("--data-name", "requests", "--epsilon", "5").code == 77 # the same records
    entries = fre("ledger", "show", "--json", env=home).json()["entries"]
    assert [e["state"] for e in entries] == ["published"] * 2
    assert entries[0]["content"] is None
    assert entries[0]["records"] == entries[1]["records"]


RECORD_IS_USER = ("fre-e2t synthesize: warning: each record counts as a user of its own, so the claim "
                  "is about one record: if people have several, name them with --user-field F (of a .npy: --user-file FILE); if not, say --user-field none")


def test_a_state_folder_that_cannot_be_written(fre, tmp_path, corpus):
    env = {"XDG_STATE_HOME": "/proc/none"}
    done = release(fre, corpus, env=env)
    assert done.code == 0
    warned = [line for line in done.err.splitlines() if "warning" in line]
    assert [w.split(": ")[2] for w in warned] == [RECORD_IS_USER.split(": ")[2],
                                                  "this release is not in the ledger"]
    assert booked(tmp_path) == {"entry": None, "reason": "the ledger could not be written"}
    done = release(fre, corpus, "--budget-epsilon", "9", env=env)
    assert done.code == 77 and done.err.count("\n") == 1
    done = release(fre, corpus, "--ledger", "/proc/none/book.json")
    assert done.code == 77 and done.err.count("\n") == 1


@pytest.mark.parametrize("there", ["a folder", "a dangling link", "a loop", "a pipe", "damaged",
                                   "empty", "a parent that is a file"])
def test_a_book_that_cannot_be_used_refuses(fre, tmp_path, corpus, there):
    """Whatever lies there may hold a budget: no run goes on without it."""
    state = tmp_path / "state"
    book = state / "fre-e2t" / "ledger.json"
    book.parent.mkdir(parents=True)
    if there == "a folder":
        book.mkdir()
    elif there == "a dangling link":
        book.symlink_to(tmp_path / "gone" / "ledger.json")
    elif there == "a loop":
        book.symlink_to(book)
    elif there == "a pipe":
        os.mkfifo(book)
    elif there == "damaged":
        book.write_text('{"format": "fre-e2t ledger", "version": 3}\n')
    elif there == "empty":
        book.write_text("")
    else:
        book.parent.rmdir()
        book.parent.write_text("")
    for args in ([], ["--budget-epsilon", "9"], ["--data-name", "x"]):
        done = release(fre, corpus, *args, env={"XDG_STATE_HOME": str(state)})
        assert done.code == 77 and done.err.count("\n") == 1
        assert "refused, because the ledger cannot record this run: " in done.err
        assert not (tmp_path / "out").exists()
    assert release(fre, corpus, "--ledger", "none", env={"XDG_STATE_HOME": str(state)}).code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
def test_a_line_that_was_taken_out(fre, tmp_path, corpus, home):
    """What became of a release is told by a line of its own, which then tells of nothing."""
    assert release(fre, corpus, "--budget-epsilon", "8", env=home).code == 0
    book = tmp_path / "home" / ".local" / "state" / "fre-e2t" / "ledger.json"
    lines = book.read_text().splitlines(keepends=True)
    assert len(lines) == 3
    book.write_text(lines[0] + lines[2])
    for done in (release(fre, corpus, env=home), fre("ledger", "show", env=home)):
        assert done.code != 0 and "line 2 tells of a release that no line has" in done.err
    assert book.read_text() == lines[0] + lines[2]


def test_a_folder_that_may_not_be_entered_refuses(tmp_path, corpus):
    state = tmp_path / "state"
    (state / "fre-e2t").mkdir(parents=True)
    (state / "fre-e2t").chmod(0o700)
    os.chown(state / "fre-e2t", 65534, 65534)
    done = subprocess.run(["setpriv", "--bounding-set=-dac_override,-dac_read_search", PROGRAM,
                           "synthesize", corpus, "-o", "out", *BUDGET, *NO_TEXT], cwd=tmp_path,
                          env={**os.environ, "XDG_STATE_HOME": str(state)}, capture_output=True,
                          text=True, timeout=TIMEOUT)
    assert done.returncode == 77, done.stderr
    assert "Permission denied" in done.stderr
    assert not (tmp_path / "out").exists()


# So many records may be in the cells that the paper, which charges for one pair, claims too little.
PAPER = ["--accountant", "paper", "--sensitivity-ratio", "0.8", "--threshold", "90", "--population",
         "1000000000000", "--delta", "1e-6"]


def test_the_papers_accountant_is_charged_what_is_certified(fre, tmp_path, corpus, home):
    """At this ratio its claim is too low: 8 claimed, more certified, booked and refused by."""
    assert release(fre, corpus, *PAPER, "--budget-epsilon", "8.5", env=home).code == 77
    done = release(fre, corpus, *PAPER, env=home)
    assert done.code == 0, done.err
    made = json.loads((tmp_path / "out" / "release.json").read_text())
    assert made["private"] is True
    certified = made["certified"]
    assert certified["accountant"] == "joint" and certified["epsilon"] > 8.5
    assert any(f"certifies epsilon = {certified['epsilon']:.4g}"[:-1] in s
               for s in made["statement"])
    shown = fre("ledger", "show", "--json", env=home).json()
    assert shown["entries"][0]["epsilon"] == certified["epsilon"]
    assert release(fre, corpus, "--budget-epsilon", "100", env=home).code == 0
    assert json.loads((tmp_path / "out" / "release.json").read_text())["certified"] == {
        "accountant": "joint", "epsilon": 8.0, "delta": pytest.approx(1e-6)}


def test_what_nothing_certifies_is_not_private(fre, tmp_path, corpus, home):
    done = release(fre, corpus, *PAPER, "--epsilon", "45", env=home)
    assert done.code == 0
    assert "NOT PRIVATE: no accountant but the paper's stands behind this plan" in done.err
    made = json.loads((tmp_path / "out" / "release.json").read_text())
    assert made["private"] is False and made["certified"] is None
    assert "NOT PRIVATE as far as anybody has shown" in " ".join(made["statement"])
    assert booked(tmp_path) == {"entry": None,
                                "reason": "a run that is not private spends no budget"}
    done = release(fre, corpus, *PAPER, "--epsilon", "45", "--budget-epsilon", "60", env=home)
    assert done.code == 64 and "cannot account for a plan of the paper's accountant" in done.err


def test_no_home(tmp_path, corpus):
    """sudo and cron may leave HOME out: the user data base knows it."""
    env = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_STATE_HOME")}
    done = subprocess.run([PROGRAM, "ledger", "show", "--json"], env=env, capture_output=True,
                          text=True, timeout=TIMEOUT, check=False)
    assert done.returncode in (0, 65, 74)
    if done.returncode == 0:
        assert json.loads(done.stdout)["file"].endswith("/.local/state/fre-e2t/ledger.json")


def test_show(fre, tmp_path, corpus):
    ledger = ["--ledger", "book.json"]
    assert release(fre, corpus, *ledger, "--budget-epsilon", "30", "--budget-delta",
                   "1e-5").code == 0
    assert release(fre, corpus, *ledger, "--data-name", "requests of the month of May, all of "
                   "them, with a long name that does not fit anywhere at all").code == 0
    (tmp_path / "other.txt").write_text("some other text\n" * 90)
    assert release(fre, tmp_path / "other.txt", *ledger).code == 0
    done = fre("ledger", "show", "book.json")
    assert done.code == 0
    assert "epsilon 16 of 30, 14 left" in done.out
    assert "delta   2e-06 of 1e-05, 8e-06 left" in done.out
    # In a file the name is whole; terminals get what fits (test_terminal).
    assert "a long name that does not fit anywhere at all" in done.out and "content " in done.out
    shown = fre("ledger", "show", "book.json", "--json").json()
    assert [e["data_set"] for e in shown["entries"]] == [0, 0, 1]
    total, other = shown["totals"]
    assert total["releases"] == 2 and other["releases"] == 1
    assert total["epsilon"] >= 16 and total["left_epsilon"] <= 14
    assert other["budget_epsilon"] is None and other["left_epsilon"] is None
    # What is shown is what refuses.
    done = release(fre, corpus, *ledger, "--epsilon", "14.001")
    assert done.code == 77 and "spent epsilon 16 of 30" in done.err


def test_show_refuses(refused, tmp_path):
    refused(66, "fre-e2t ledger show: there is no ledger 'absent.json'", "ledger", "show",
            "absent.json")


def test_leftovers_of_a_resumable_run(fre, tmp_path, corpus):
    (tmp_path / "out.resume.spool").write_bytes(b"x")
    done = release(fre, corpus)
    assert done.code == 0
    warned = [line for line in done.err.splitlines() if "warning" in line]
    assert warned == [RECORD_IS_USER,
                      "fre-e2t synthesize: warning: an interrupted run left 'out.resume.*': add "
                      "--resume to go on from there, or delete these files"]
