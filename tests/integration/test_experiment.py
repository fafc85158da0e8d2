"""experiment: a grid from a file, resumable, one CSV."""

import csv
import fcntl
import json
import os
import signal
import subprocess
import time

import pytest

from conftest import PROGRAM, ROOT, write_corpus

GRID = {"format": "fre-e2t-experiment/1", "name": "small", "input": "corpus.jsonl",
        "set": {"inverter": "none", "threshold": 40, "population": 100000},
        "grid": [{"seed": [1, 2], "epsilon": [8, 0.05]},
                 {"seed": ["0a"], "method": ["central-dp", "ldp-embedding"], "epsilon": [8]}]}
PREFIX = "fre-e2t experiment: "


@pytest.fixture
def grid(tmp_path):
    write_corpus(tmp_path / "corpus.jsonl")
    return write(tmp_path, GRID)


def write(tmp_path, plan):
    (tmp_path / "grid.json").write_text(json.dumps(plan))
    return "grid.json"


def rows(tmp_path):
    with open(tmp_path / "out" / "rows.csv", encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def test_a_grid(fre, tmp_path, grid):
    done = fre("experiment", grid, "-o", "out", "--json", "--quiet")
    assert done.code == 0, done.err
    assert done.json() == {"runs": 6, "kept": 0, "refused": 2, "failed": 0, "csv": "out/rows.csv"}
    found = rows(tmp_path)
    assert len({row["id"] for row in found}) == 6
    ours = [row for row in found if not row["method"] and row["epsilon"] == "8"]
    assert len(ours) == 2 and all(float(row["cell.frequent.f1"]) == 1 for row in ours)
    assert {row["code"] for row in found if row["epsilon"] == "0.05"} == {"64"}
    assert all("--epsilon" in row["message"] for row in found if row["epsilon"] == "0.05")
    other = {row["method"]: row for row in found if row["method"]}
    assert float(other["central-dp"]["cell.frequent.recall"]) == 1
    assert other["ldp-embedding"]["made.released"] == "0"
    assert len(list((tmp_path / "out" / "embeddings").glob("*.npy"))) == 1
    # a run of the same arguments by hand
    fre("synthesize", next((tmp_path / "out" / "embeddings").glob("*.npy")), "-o", "hand", "--seed", "1",
        "--epsilon", "8", "--inverter", "none", "--threshold", "40", "--population", "100000", "--ledger",
        "none", "--user-field", "none", "--quiet")
    first = next(row for row in ours if row["seed"] == "1")
    assert (tmp_path / "hand" / "synthetic.jsonl").read_bytes() == (
        tmp_path / "out" / "releases" / first["id"] / "synthetic.jsonl").read_bytes()


def test_only_what_is_new_is_run(fre, tmp_path, grid):
    small = {**GRID, "grid": {"seed": [1], "epsilon": [8]}}
    write(tmp_path, small)
    assert fre("experiment", grid, "-o", "out", "--quiet").code == 0
    row = next((tmp_path / "out" / "rows").iterdir())
    before = row.stat().st_mtime_ns
    write(tmp_path, {**small, "grid": {"seed": [1, 2], "epsilon": [8]}})
    done = fre("experiment", grid, "-o", "out", "--json", "--quiet")
    assert done.json()["kept"] == 1 and done.json()["runs"] == 2
    assert row.stat().st_mtime_ns == before and len(rows(tmp_path)) == 2
    write_corpus(tmp_path / "corpus.jsonl")
    with open(tmp_path / "corpus.jsonl", "a", encoding="utf-8") as f:
        f.write('{"text": "another line"}\n')
    assert fre("experiment", grid, "-o", "out", "--json", "--quiet").json()["kept"] == 0  # other data


def test_experiments_share_what_is_the_same(fre, tmp_path, grid):
    """In one folder; a grid that says the same in another order, or with what says nothing, is the same."""
    write(tmp_path, {**GRID, "grid": {"seed": [1], "epsilon": [8], "threshold": [40]}})
    assert fre("experiment", grid, "-o", "out", "--quiet").code == 0
    write(tmp_path, {**GRID, "name": "another", "set": {"population": 100000, "threshold": 30},
                     "grid": {"method": ["fre-e2t", "central-dp"], "threshold": [40], "levels": [None],
                              "epsilon": [8], "inverter": ["none"], "seed": [1]}})
    assert fre("experiment", grid, "-o", "out", "--json", "--quiet").json()["kept"] == 1
    assert [(row["experiment"], row["method"]) for row in rows(tmp_path)] == [
        ("another", "fre-e2t"), ("another", "central-dp")]


def test_an_argument_keeps_its_column(fre, tmp_path, grid):
    """Though the evaluation has a number of that name: how many paraphrases it found."""
    write(tmp_path, {**GRID, "set": {"threshold": 40, "population": 100000, "effort": 1},
                     "grid": {"seed": [1], "epsilon": [8], "paraphrases": [2]}})
    assert fre("experiment", grid, "-o", "out", "--quiet").code == 0
    (row,) = rows(tmp_path)
    assert row["paraphrases"] == "2"


def test_a_killed_experiment_goes_on(fre, tmp_path, grid):
    write(tmp_path, {**GRID, "grid": {"seed": [1, 2, 3, 4], "epsilon": [8]}})
    p = subprocess.Popen([PROGRAM, "experiment", grid, "-o", "out", "--quiet", "--jobs", "1"],
                         cwd=tmp_path, start_new_session=True)
    while p.poll() is None and not list((tmp_path / "out" / "rows").glob("*.json")
                                        if (tmp_path / "out" / "rows").exists() else []):
        time.sleep(0.02)
    os.killpg(p.pid, signal.SIGKILL)
    p.wait()
    done = fre("experiment", grid, "-o", "out", "--json", "--quiet")
    assert done.code == 0, done.err
    assert 1 <= done.json()["kept"] <= 4 and len(rows(tmp_path)) == 4


def test_one_at_a_time(fre, tmp_path, grid):
    """Two in one folder would take each other's files."""
    write(tmp_path, {**GRID, "grid": {"seed": [1], "epsilon": [8]}})
    assert fre("experiment", grid, "-o", "out", "--quiet").code == 0
    fd = os.open(tmp_path / "out", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    done = fre("experiment", grid, "-o", "out", "--quiet")
    assert done.code == 75 and PREFIX + "another experiment is at work in out" in done.err
    os.close(fd)
    assert fre("experiment", grid, "-o", "out", "--json", "--quiet").json()["kept"] == 1


def test_a_run_that_fails_is_tried_again(fre, tmp_path, grid):
    write(tmp_path, {**GRID, "grid": {"seed": [1], "epsilon": [8]}, "evaluate": {"alpha": -1}})
    done = fre("experiment", grid, "-o", "out", "--json", "--quiet")
    assert done.code == 75 and "1 of 1 runs are not done" in done.err and "--alpha" in done.err
    assert done.json()["failed"] == 1
    write(tmp_path, {**GRID, "grid": {"seed": [1], "epsilon": [8]}})
    assert fre("experiment", grid, "-o", "out", "--quiet").code == 0


def test_a_refused_run_says_why(fre, tmp_path, grid):
    """Whatever it was refused for: a budget, a flag, a method."""
    write(tmp_path, {**GRID, "grid": {"seed": [1], "epsilon": [8], "method": ["fre-e2t", "synthesize"]}})
    done = fre("experiment", grid, "-o", "out")
    assert done.code == 0 and "1 refused (their message in the rows says why), 0 failed" in " ".join(done.out.split())
    assert [row["code"] for row in rows(tmp_path)] == ["0", "64"]
    assert "METHOD must be" in rows(tmp_path)[1]["message"]


def test_refusals(refused, fre, tmp_path, grid):
    run = ("experiment", "grid.json", "-o", "out")
    for plan, sentence in [
            ({**GRID, "format": "2"}, 'grid.json: "format" is not "fre-e2t-experiment/1"'),
            ({**GRID, "input": None}, 'grid.json: "input" names no file'),
            ({**GRID, "grid": {"epsilon": [4]}},
             'grid.json: "grid" must be an object of lists, or a list of such objects, each with a "seed"'),
            ({**GRID, "grid": {"seed": [1], "epsilon": 4}},
             'grid.json: "grid" must be an object of lists, or a list of such objects, each with a "seed"')]:
        write(tmp_path, plan)
        refused(65, PREFIX + sentence, *run)
    write(tmp_path, {**GRID, "input": "nothing.jsonl"})
    assert fre(*run).code == 66
    (tmp_path / "grid.json").write_text("{")
    assert fre(*run).code == 65
    assert fre("experiment", "none.json", "-o", "out").code == 66
    write(tmp_path, GRID)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("kept")
    refused(73, PREFIX + "out is there and no experiment's folder: name another one", *run)


def test_data(fre, tmp_path, grid):
    """The collection itself, or the folder that it is in."""
    write(tmp_path, {**GRID, "input": "elsewhere/corpus.jsonl", "grid": {"seed": [1], "epsilon": [8]}})
    assert fre("experiment", grid, "-o", "out").code == 66
    assert fre("experiment", grid, "-o", "out", "--data", ".", "--quiet").code == 0
    assert fre("experiment", grid, "-o", "out", "--data", "corpus.jsonl", "--json").json()["kept"] == 1


@pytest.mark.parametrize("path", sorted((ROOT / "experiments").glob("*.json")), ids=lambda p: p.stem)
def test_bundled_grids(fre, path):
    """Every flag of experiments/ is one of the command's, every input is there."""
    plan = json.loads(path.read_text())
    assert plan["name"] == path.stem and (path.parent / plan["input"]).exists()
    grids = plan["grid"] if isinstance(plan["grid"], list) else [plan["grid"]]
    helps = {name: fre(*name.split(), "--help").out for name in ("synthesize", "baseline", "evaluate")}
    for one in grids:
        for method in one.get("method", ["fre-e2t"]):
            command = helps["synthesize" if method == "fre-e2t" else "baseline"]
            assert method == "fre-e2t" or method in command
            for flag in {**plan.get("set", {}), **one}.keys() - {"method", "seed"}:
                assert f"--{flag} " in command, flag
    assert all(f"--{flag} " in helps["evaluate"] for flag in plan.get("evaluate", {}))
    tables = plan["table"] if isinstance(plan["table"], list) else [plan["table"]]
    assert all(t.keys() - {"about"} == {"rows", "metrics"} for t in tables)
