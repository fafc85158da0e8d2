"""fre-e2t report, and --report of the commands that have it: what is written, and what is refused."""

import hashlib
import json
import os
import re

import pytest
from conftest import BUDGET, NO_TEXT


@pytest.fixture
def release(fre, corpus):
    """The name of a release of one run, without texts."""
    done = fre("synthesize", corpus.name, "-o", "may", *BUDGET, *NO_TEXT, "--ledger", "book.json", "--quiet")
    assert done.code == 0, done.err
    return "may"


def data(path, key):
    text = path.read_text()
    return json.loads(re.search(rf'<script type="application/json" id="{key}">(.*?)</script>', text, re.S).group(1))


def test_report(fre, tmp_path, release):
    done = fre("report", release, "-o", "may.html", "--json")
    assert done.code == 0 and done.err == ""
    assert done.json() == {"output": "may.html", "release": "may", "public": False, "evaluation": False,
                           "bytes": (tmp_path / "may.html").stat().st_size}
    lines = [json.loads(x) for x in (tmp_path / "may" / "synthetic.jsonl").read_text().splitlines()]
    cells = data(tmp_path / "may.html", "cells")
    for key in ("text", "count", "users", "noise_norm"):
        assert [c[key] for c in cells] == [x[key] for x in lines]
    about = data(tmp_path / "may.html", "about")
    written = json.loads((tmp_path / "may" / "release.json").read_text())
    assert about["name"] == "may" and about["evaluation"] is None
    assert about["release"]["parameters"] == written["parameters"] and about["release"]["statement"] == written["statement"]
    assert written["ledger"]["entry"] not in (tmp_path / "may.html").read_text()
    shown = fre("report", release, "-o", "may.html", "--force", "--public")
    assert (shown.code, shown.out, shown.err) == (0, "Report: may.html\n", "")
    assert data(tmp_path / "may.html", "about")["name"] is None


def test_evaluation_stays_private(fre, tmp_path, release, corpus):
    measured = fre("evaluate", release, corpus.name, "--json", "--quiet")
    assert measured.code == 0, measured.err
    (tmp_path / "e.json").write_text(measured.out)
    done = fre("report", release, "--evaluation", "e.json", "-o", "e.html")
    assert done.code == 0 and "which are not private" in done.err
    assert (tmp_path / "e.html").stat().st_mode & 0o77 == 0
    assert data(tmp_path / "e.html", "about")["evaluation"] == measured.json()


def test_evaluation_of_another_release(refused, fre, tmp_path, release, corpus):
    """It names its release, so one with the same numbers is not taken for it."""
    measured = fre("evaluate", release, corpus.name, "--json", "--quiet", "--public")
    assert measured.code == 0, measured.err
    names = ("release.json", "synthetic.jsonl", "centroids.npy")
    sha = hashlib.sha256(b"".join((tmp_path / release / name).read_bytes() for name in names)).hexdigest()
    assert measured.json()["release_sha256"] == sha
    (tmp_path / "e.json").write_text(measured.out)
    text = tmp_path / release / "synthetic.jsonl"
    text.write_text(text.read_text().replace('"count"', '"count" ', 1))
    other = hashlib.sha256(b"".join((tmp_path / release / name).read_bytes() for name in names)).hexdigest()
    refused(65, "fre-e2t report: e.json is of another release, or of this one before it was changed: it names sha256 "
            f"{sha[:12]}..., this one has {other[:12]}...; evaluate this release again",
            "report", release, "--evaluation", "e.json", "-o", "x.html")
    # Of an earlier version, which named none.
    (tmp_path / "old.json").write_text(json.dumps({k: v for k, v in measured.json().items() if k != "release_sha256"}))
    done = fre("report", release, "--evaluation", "old.json", "-o", "old.html")
    assert done.code == 0, done.err
    assert data(tmp_path / "old.html", "about")["evaluation_named"] is False
    alone = fre("evaluate", f"{release}/synthetic.jsonl", corpus.name, "--json", "--quiet", "--public")
    assert alone.code == 0 and alone.json()["release_sha256"] is None


def test_with_synthesize(fre, tmp_path, corpus):
    args = ["synthesize", corpus.name, *BUDGET, *NO_TEXT]
    done = fre(*args, "-o", "may", "--report", "may.html", "--json", "--quiet")
    assert done.code == 0, done.err
    assert done.json()["report"] == "may.html"
    assert len(data(tmp_path / "may.html", "cells")) == done.json()["released"]
    # A name that is taken is refused before anything is spent.
    done = fre(*args, "-o", "june", "--report", "may.html", "--ledger", "book.json")
    assert done.code == 73 and "'may.html' exists" in done.err
    assert not (tmp_path / "june").exists() and not (tmp_path / "book.json").exists()
    done = fre(*args, "-o", "june", "--report", "june.html", "--dry-run", "--quiet")
    assert done.code == 0, done.err
    assert not (tmp_path / "june.html").exists() and not [p for p in os.listdir(tmp_path) if "partial" in p]


def test_with_evaluate(fre, tmp_path, release, corpus):
    done = fre("evaluate", release, corpus.name, "--report", "e.html", "--json", "--quiet")
    assert done.code == 0, done.err
    about = data(tmp_path / "e.html", "about")
    assert about["evaluation"] == done.json() and about["originals_public"] is False
    assert (tmp_path / "e.html").stat().st_mode & 0o77 == 0
    done = fre("evaluate", release, corpus.name, "--report", "e.html", "--public", "--force", "--quiet")
    assert done.code == 0, done.err
    assert data(tmp_path / "e.html", "about")["originals_public"] is True
    assert fre("evaluate", "may/synthetic.jsonl", corpus.name, "--report", "x.html").err == (
        "fre-e2t evaluate: --report shows a release: give its folder as SYNTHETIC, or add --release DIR\n")
    done = fre("evaluate", release, corpus.name, "--report", corpus.name, "--force")
    assert done.code == 73 and "is the input itself" in done.err


def test_refusals(refused, fre, tmp_path, release):
    say = "fre-e2t report: "
    refused(66, say + "cannot read none/release.json: No such file or directory; is it a folder that synthesize made?",
            "report", "none", "-o", "x.html")
    refused(64, say + "--output is a file, which standard output is not: name one (./- if it is to be called so)",
            "report", release, "-o", "-")
    refused(66, say + "cannot read e.json: No such file or directory; an evaluation is what evaluate prints as JSON",
            "report", release, "--evaluation", "e.json", "-o", "x.html")
    (tmp_path / "e.json").write_text('{"originals": 1,\n"synthetic": }\n')
    refused(65, say + "e.json, line 2: not a JSON object; an evaluation is what evaluate prints as JSON",
            "report", release, "--evaluation", "e.json", "-o", "x.html")
    (tmp_path / "e.json").write_text('{"originals": 1, "synthetic": 0, "centroids": 77}\n')
    refused(65, say + "e.json is of another release: it counts other cells than the 3 of this one; evaluate this release again",
            "report", release, "--evaluation", "e.json", "-o", "x.html")
    refused(64, say + "--evaluation is what --public leaves out, since it comes from the originals without noise: give one of the two",
            "report", release, "--evaluation", "e.json", "--public", "-o", "x.html")
    refused(73, say + "'e.json' is also what --evaluation names, which would be lost: give another --output",
            "report", release, "--evaluation", "e.json", "-o", "e.json", "--force")
    (tmp_path / "x.html").write_text("mine")
    refused(73, say + "'x.html' exists; give another name or add --force to replace it", "report", release, "-o", "x.html")
    lines = (tmp_path / "may" / "synthetic.jsonl").read_text().splitlines()
    (tmp_path / "may" / "synthetic.jsonl").write_text("\n".join([lines[0], "{", *lines[2:]]) + "\n")
    done = fre("report", release, "-o", "y.html")
    assert done.code == 65 and "may/synthetic.jsonl: line 2, " in done.err and done.err.count("\n") == 1


def test_not_private(refused, fre, corpus):
    done = fre("synthesize", corpus.name, "-o", "open", *BUDGET[2:], "--epsilon", "inf", *NO_TEXT, "--quiet")
    assert done.code == 0, done.err
    refused(77, "fre-e2t report: this release says NOT PRIVATE, so nothing of it can be shown to the public: leave out --public, or make a release with a budget",
            "report", "open", "--public", "-o", "x.html")
    assert fre("report", "open", "-o", "x.html").code == 0
