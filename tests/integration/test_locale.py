"""A host program's locale changes nothing: every command gives the same bytes with a decimal comma
and with other letters (see hostile_locale.c).  The program is the host here; what it calls is the
library's whole public interface."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from conftest import NO_TEXT, PROGRAM, SEED, TIMEOUT, texts

HERE = pathlib.Path(__file__).parent
LIBRARY = os.environ.get("FRE_HOSTILE_LOCALE",
                         str(pathlib.Path(PROGRAM).parent / "libhostile-locale.so"))
B = ["--epsilon", "7.9", "--threshold", "40", "--population", "100000", "--delta", "9.99e-7"]


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """The environment of a host with that locale, which localedef makes (it is part of libc)."""
    folder = tmp_path_factory.mktemp("locale")
    # It exits 1 for the categories that are left out.
    made = subprocess.run(["localedef", "-c", "-f", HERE / "hostile.charmap", "-i", HERE / "hostile.locale",
                           folder / "hostile"], capture_output=True, text=True)
    assert (folder / "hostile" / "LC_NUMERIC").exists(), made.stderr
    asan = os.environ.get("ASAN_OPTIONS", "")
    return {"LOCPATH": str(folder), "LD_PRELOAD": LIBRARY,
            "ASAN_OPTIONS": f"{asan}:verify_asan_link_order=0"}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("inputs")
    (place / "a.csv").write_text("text,user\n" + "".join(f'"{t}",u{i}\n' for i, t in
                                                       enumerate(texts())))
    (place / "A.TXT").write_text("".join(t + "\n" for t in texts()))
    (place / "b.jsonl").write_text("".join(json.dumps({"text": t, "x": 1.5e-7, "cell": i}) + "\n"
                                           for i, t in enumerate(texts()[149:151])))
    return place


def steady(data):
    """Without what is measured, drawn or dated."""
    data = re.sub(rb'"seconds": \{[^}]*\}', b'"seconds": 0', data)
    data = re.sub(rb'"(date|id|entry|peak_memory_mib|[a-z_]*seconds[a-z_]*)": ("[^"]*"|[\d.e+-]+)',
                  rb'"\1": 0', data)
    data = re.sub(rb"Wall time.*\n(  .*\n)+", b"", data)
    return re.sub(rb" *\d+(\.\d+)? (s|MiB)\b", rb" 0 \2", data)


def made(folder):
    return {str(p.relative_to(folder)): steady(p.read_bytes())
            for p in sorted(folder.rglob("*")) if p.is_file() and "state" not in p.parts}


def both(tmp_path, hostile, commands):
    results = []
    for name, env in ("plain", {}), ("hostile", hostile):
        where = tmp_path / name
        where.mkdir()
        outs = []
        for command in commands:
            done = subprocess.run([PROGRAM, *map(str, command)], cwd=where, capture_output=True,
                                  timeout=TIMEOUT,
                                  env={**os.environ, **env, "XDG_STATE_HOME": str(where / "state")})
            assert done.returncode == 0, (command, done.stderr)
            outs.append(steady(done.stdout))
        results.append((outs, made(where)))
    (plain, files), (other, other_files) = results
    for command, ours, theirs in zip(commands, plain, other):
        assert ours == theirs, command
    assert list(files) == list(other_files)
    for name in files:
        assert files[name] == other_files[name], name
    return plain


def test_the_host_is_hostile(hostile, tmp_path):
    done = subprocess.run([PROGRAM, "--version"], env={**os.environ, **hostile}, capture_output=True)
    assert done.returncode == 0, done.stderr
    wrong = subprocess.run([PROGRAM, "--version"], capture_output=True,
                           env={**os.environ, **hostile, "LOCPATH": str(tmp_path)})
    assert wrong.returncode != 0 and b"locale is not there" in wrong.stderr


COMMANDS = [
    ["plan", "--epsilon", "2.5", "--population", "1000000"],
    ["plan", "--epsilon", "8", "--accountant", "paper", "--population", "1000000", "--threshold", "200"],
    ["plan", "--epsilon", "4.5", "--distributed", "--population", "1000000"],
    ["account", "--sampling-rate", "0.25", "--tau", "60", "--sigma", "4.5", "--delta", "1.5e-6"],
    ["ssp", "--epsilon", "1.5", "--delta", "1.5e-7"],
    ["audit", "--epsilon", "2.5", "--runs", "2000", "--dimension", "16", "--seed", "1"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_numbers(hostile, tmp_path, command):
    both(tmp_path, hostile, [command, command + ["--json"]])


def test_words(hostile, tmp_path):
    both(tmp_path, hostile, [["help"], ["synthesize", "--help"], ["model", "list"], ["completion", "bash"]])


def test_release_and_all_that_reads_it(hostile, tmp_path, folder):
    out = both(tmp_path, hostile, [
        ["synthesize", folder / "A.TXT", "-o", "r", *B, *SEED, "--effort", "1"],
        ["synthesize", folder / "a.csv", "-o", "u", *B, *SEED, *NO_TEXT, "--user-field", "user",
         "--json"],
        ["embed", folder / "b.jsonl", "-o", "x.npy"],
        ["invert", "x.npy", "-o", "texts.jsonl", "--effort", "1"],
        ["evaluate", "r", folder / "a.csv", "--threshold", "40", "--json"],
        ["paraphrase", folder / "b.jsonl", "-o", "p.jsonl", "--seed", "1",
         "--language-model", "none"],
        ["simulate", folder / "a.csv", "-o", "s", *B, "--threshold", "60", *SEED, *NO_TEXT],
    ])
    assert out


def test_a_booked_release(hostile, tmp_path, folder):
    """The fault: a ledger that had booked, and no release because its JSON held 9,99e-07."""
    both_env = {**os.environ, **hostile, "XDG_STATE_HOME": str(tmp_path / "state")}
    run = lambda *a: subprocess.run([PROGRAM, *map(str, a)], cwd=tmp_path, env=both_env,
                                    capture_output=True, timeout=TIMEOUT)
    done = run("synthesize", folder / "A.TXT", "-o", "r", *B, *NO_TEXT, "--budget-epsilon", "10.5")
    assert done.returncode == 0, done.stderr
    release = json.loads((tmp_path / "r" / "release.json").read_text())
    assert 0 < release["parameters"]["delta"] <= 9.99e-7
    shown = json.loads(run("ledger", "show", "--json").stdout)
    assert shown["entries"][0]["id"] == release["ledger"]["entry"]
    assert shown["totals"][0]["budget_epsilon"] == 10.5
    assert 2.59 < shown["totals"][0]["left_epsilon"] < 2.6001
