"""Standard streams: closed ones, full ones, readers that go away, and terminals."""

import itertools
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import BUDGET, LONG, NO_TEXT, PROGRAM, TIMEOUT, everything, on_terminal
from every_command import a_folder, label, named_by_help, runs

LEDGER = ["--ledger", "none"]


def run(folder, *args, shell="", env=None):
    """The program through a shell, with redirections of its own; status and both streams."""
    done = subprocess.run(["bash", "-c", f'"$0" "$@" {shell}', PROGRAM, *map(str, args)],
                          cwd=folder, capture_output=True, text=True, timeout=TIMEOUT,
                          env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


CLOSED = ["".join(c) for n in ((1, 2, 3) if LONG else (1, 3))
          for c in itertools.combinations((" 0<&-", " 1>&-", " 2>&-"), n)]


@pytest.mark.parametrize("closed", CLOSED)
def test_closed_streams_stay_out_of_files(tmp_path, corpus, embedded, one_embedded, closed):
    """What is printed would land in the first file that is opened."""
    code, _, _ = run(tmp_path, "embed", corpus, "-o", "closed.npy", shell=closed)
    assert code == 0
    assert (tmp_path / "closed.npy").read_bytes() == embedded.read_bytes()
    code, _, _ = run(tmp_path, "invert", one_embedded, "--samples", "4", "-o", "texts", shell=closed)
    assert code == 0
    line, = (tmp_path / "texts").read_text().splitlines()
    assert json.loads(line)["text"]
    args = [corpus, *BUDGET, *NO_TEXT, *LEDGER, "--json"]
    code, _, _ = run(tmp_path, "synthesize", "-o", "release", *args, shell=closed)
    assert code == 0
    lines = (tmp_path / "release" / "synthetic.jsonl").read_text().splitlines()
    assert len(lines) == 3 and all(json.loads(line)["count"] >= 1 for line in lines)
    assert json.loads((tmp_path / "release" / "release.json").read_text())["private"] is True


def test_closed_input_is_no_empty_input(tmp_path):
    code, _, err = run(tmp_path, "embed", "-", "-o", "x.npy", shell="0<&-")
    assert code != 0 and "Bad file descriptor" in err
    assert everything(tmp_path) == []


def test_closed_output_is_an_error_where_it_is_the_result(tmp_path):
    code, _, err = run(tmp_path, "plan", "--epsilon", "4", "--json", shell=">&-")
    assert code == 74
    assert err == "fre-e2t plan: cannot write standard output: Bad file descriptor\n"


@pytest.mark.parametrize("shell, told, json_too", [
    (shell, told, json_too)
    for shell, told in [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device"),
                        ("| true", None)]
    for json_too in ([], ["--json"]) if LONG or not json_too or shell == ">/dev/full"
])
def test_a_whole_release_is_a_success(tmp_path, corpus, shell, told, json_too):
    """The files are complete and the budget is booked: not being able to say so changes neither."""
    code, _, err = run(tmp_path, "synthesize", corpus, "-o", "release", *BUDGET, *NO_TEXT,
                       "--ledger", "book.json", *json_too,
                       shell=shell + "; exit ${PIPESTATUS[0]}")
    assert code == 0
    assert len((tmp_path / "release" / "synthetic.jsonl").read_text().splitlines()) == 3
    assert len(json.loads(run(tmp_path, "ledger", "show", "book.json", "--json")[1])["entries"]) == 1
    line = (f"fre-e2t synthesize: warning: cannot write standard output: {told}; 'release' is "
            "complete all the same")
    assert (line in err.splitlines()) == (told is not None)
    assert ("cannot write" in err) == (told is not None)


def test_a_dry_run_is_what_it_prints(tmp_path, corpus):
    code, _, err = run(tmp_path, "synthesize", corpus, "-o", "release", *BUDGET, *LEDGER,
                       "--dry-run", shell=">/dev/full")
    assert code == 74 and err.endswith("cannot write standard output: No space left on device\n")


@pytest.mark.parametrize("args", [
    ["plan", "--epsilon", "4"], ["plan", "--epsilon", "4", "--json"], ["help", "--man"],
    ["ledger", "show", "book.json", "--json"], ["ledger", "show", "book.json"],
    ["invert", "x.npy", "-o", "-", "--quiet"], ["score", "lines.txt", "-o", "-", "--quiet"],
])
def test_a_reader_that_has_had_enough(tmp_path, released, one_embedded, args):
    """As any program: no complaint, and the end that a pipe gives."""
    if args[0] == "score":
        (tmp_path / "lines.txt").write_text("a text of some length\n" * 3)
        if not json.loads(run(tmp_path, "model", "list", "--json")[1])["models"][-1]["path"]:
            pytest.skip("no language model is installed")
    if args[0] == "invert":
        args = ["invert", one_embedded, *args[2:]]
    reader, writer = os.pipe()
    os.close(reader)  # it left before the first byte
    done = subprocess.run([PROGRAM, *args], cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE,
                          text=True, timeout=TIMEOUT, check=False)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == -signal.SIGPIPE


def test_a_terminal_has_colour_and_its_width(tmp_path):
    code, shown = on_terminal(tmp_path, "plan", "--epsilon", "4")
    assert code == 0 and "\033[1mPlan\033[0m" in shown
    widest = max(len(line) for line in re.sub("\033\\[[0-9]*m", "", shown).splitlines())
    assert 80 < widest <= 100
    assert "\033[31mfre-e2t plan:\033[0m" in on_terminal(tmp_path, "plan", "--epsilon", "0")[1]


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"TERM": ""}])
def test_a_dumb_terminal_has_no_escapes(tmp_path, corpus, variables):
    code, shown = on_terminal(tmp_path, "synthesize", corpus, "-o", "r", *BUDGET, *NO_TEXT, *LEDGER,
                              **variables)
    assert code == 0 and "\033" not in shown and "3 cells released" in shown


@pytest.mark.parametrize("columns", [40, 60, 80] if LONG else [40, 80])
def test_what_was_seen_of_the_input_is_wrapped(tmp_path, corpus, columns):
    code, shown = on_terminal(tmp_path, "synthesize", corpus, "-o", "r", *BUDGET, *NO_TEXT, *LEDGER,
                              "--dry-run", columns=columns, TERM="dumb")
    assert code == 0
    said = shown[shown.index("Not for publication"):].split(" %).")[0].splitlines()
    assert len(said) > 2 and max(map(len, said)) <= columns
    assert "word for word: 3 texts" in " ".join(" ".join(said).split())


@pytest.mark.parametrize("args", [["plan", "--epsilon", "4"], ["ssp", "--epsilon", "4"],
                                  ["plan", "--help"], ["synthesize", "--help"]])
def test_notes_go_below_where_there_is_no_room(tmp_path, args):
    """At 40 columns a note has lines of its own, not a word a line beside its value."""
    code, shown = on_terminal(tmp_path, *args, columns=40, TERM="dumb")
    assert code == 0, shown
    assert not [line for line in shown.splitlines() if line.startswith(" " * 20)]
    assert sum(line.startswith("    ") and " " in line.strip() for line in shown.splitlines()) > 3


def test_no_color(tmp_path):
    assert "\033" not in on_terminal(tmp_path, "plan", "--epsilon", "4", NO_COLOR="1")[1]
    assert "\033" not in on_terminal(tmp_path, "plan", "--epsilon", "4", CLICOLOR="0")[1]


@pytest.mark.parametrize("args", [["-o", "-"], ["-o", "-", "--quiet"]])
def test_data_cannot_steer_a_terminal(tmp_path, args):
    """A text of the input on its way to a terminal: direction marks, C1 controls, DEL."""
    text = "turn\u202e it\u009b31m off\x7f\u200b"
    (tmp_path / "t.jsonl").write_text(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    code, shown = on_terminal(tmp_path, "paraphrase", "t.jsonl", *args, TERM="dumb")
    assert code == 0
    line = next(part for part in shown.splitlines() if part.startswith("{"))
    assert not set("\u202e\u009b\x7f\u200b") & set(shown)
    assert json.loads(line)["text"] == text
    code, shown = on_terminal(tmp_path, "plan", "--epsilon", "4\u202e", TERM="dumb")
    assert code == 64 and "\u202e" not in shown


SCRIPTS = [("completion", ["bash"]), ("help", ["--man"])]  # not for people


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return a_folder(tmp_path_factory.mktemp("narrow"))


def too_wide(shown, columns):
    """Lines past the edge; those that are one word, such as a path or a hash, cannot be folded."""
    plain = re.sub("\033\\[[0-9;]*[mK]", "", shown)
    return [line for line in re.split("[\r\n]+", plain)
            if len(line) > columns and " " in line.strip() and not line.startswith("{")]


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("name", named_by_help())
def test_help_keeps_to_the_width(tmp_path, name, columns):
    code, shown = on_terminal(tmp_path, *name.split(), "--help", columns=columns)
    assert code == 0 and not too_wide(shown, columns)


# Quick ones with every kind of output: at each width, or the outer ones; the others at the narrowest.
# What takes long for three numbers is left to `make check-every`; test_evaluate_bench and
# test_model_files run it too.
SLOW = [("bench", "sampler"), ("bench", "protocol"), ("model bridge", "many.txt")]
QUICK = ("plan", "account", "audit", "ssp", "ledger show", "model list", "model info")
WIDTHS = [(r, columns) for r in runs() if r not in SCRIPTS for columns in (40, 60, 80)
          if LONG or (r[0], *(r[1] or [])[:1]) not in SLOW
          if columns == 40 or r[0] in QUICK and (LONG or columns == 80 and r[0] != "audit")]


QUIET = ("collection", "embed", "report", "model codebook", "model prior")


def test_quiet_says_nothing(folder, tmp_path):
    """Of what is written to files; `show` is what it shows."""
    here = shutil.copytree(folder, tmp_path / "here")
    tried = [(name, args) for name, args in runs() if name.startswith(QUIET) and name != "collection show"]
    assert len(tried) >= 10
    for name, args in tried:
        done = run(here, *name.split(), *args, "--quiet")
        assert done == (0, "", ""), name


@pytest.mark.parametrize("run, columns", WIDTHS, ids=lambda x: label(x) if isinstance(x, tuple) else x)
def test_results_keep_to_the_width(folder, run, columns):
    code, shown = on_terminal(folder, *run[0].split(), *run[1], columns=columns)
    assert code == 0 and not too_wide(shown, columns)
