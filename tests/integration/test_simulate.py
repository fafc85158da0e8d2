"""simulate: a whole collection in one process, its folder, its numbers, its refusals."""

import json
import os
import re

import pytest

from conftest import FREQUENT, NO_TEXT, SEED

BUDGET = ["--epsilon", "8", "--threshold", "60", "--population", "100000"]
TEXTS = [t for t in FREQUENT for _ in range(110)] + [f"nobody else says {i}" for i in range(50)]
USERS = len(TEXTS)


@pytest.fixture(scope="module")
def corpus_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "texts.txt"
    path.write_text("".join(t + "\n" for t in TEXTS))
    return path


def run(fre, corpus, *args):
    done = fre("simulate", corpus, "-o", "out", *BUDGET, *NO_TEXT, "--json", *args)
    assert done.code == 0, done.err
    return done.json()


def test_folder_and_numbers(fre, tmp_path, corpus_file):
    report = run(fre, corpus_file, "--compare", "--seed", "1")
    out = tmp_path / "out"
    assert sorted(os.listdir(out)) == ["centroids.npy", "centroids.npy.json", "counts.npy",
                                       "release.json", "synthetic.jsonl"]
    release = json.loads((out / "release.json").read_text())
    assert release["private"] is False and report["is_private"] is False
    assert release["collection"]["id"] == report["collection"]
    assert "synthesis and the tagging server do not collude" in " ".join(release["statement"])
    assert release["ledger"]["entry"] is None
    cells = [json.loads(line) for line in (out / "synthetic.jsonl").read_text().splitlines()]
    assert len(cells) == report["released"] == len(FREQUENT)
    assert all(c["count"] >= release["parameters"]["tau"] for c in cells)
    assert all("cell" not in c for c in cells)

    seen = report["not_for_publication"]
    assert seen["users"] == seen["input_users"] == USERS
    assert seen["rejected"] == {"relay": {}, "issuer": {}, "tagging": {}, "synthesis": {}}
    assert seen["dummies"]["sent"] <= seen["dummies"]["most"]
    for leg in ["admission", "tags", "reports"]: # cover messages: everybody, and all of one size
        assert seen["bytes"][leg]["users"] == USERS
        assert seen["bytes"][leg]["up"] == USERS * seen["bytes"][leg]["up_a_user"]
    assert seen["peak_memory_mib"] > 0 and seen["seconds"]["sums"] >= 0
    compared = seen["comparison"]
    assert compared["matched"] == compared["both_released"] == len(FREQUENT)
    assert abs(compared["noise_z"]) < 6


def test_two_contacts(fre, tmp_path, corpus_file):
    report = run(fre, corpus_file, "--compare", "--seed", "1", "--contacts", "two", "--dropout-rate", "0.02")
    release = json.loads((tmp_path / "out" / "release.json").read_text())
    assert "not protected towards whoever knows that it is missing" in " ".join(release["statement"])
    seen = report["not_for_publication"]
    assert seen["rejected"] == {"relay": {}, "issuer": {}, "tagging": {}, "synthesis": {}}
    for leg in ["admission", "tags", "reports", "answers"]:
        assert seen["bytes"][leg]["users"] == USERS - (seen["silent"] if leg == "answers" else 0)
    assert seen["silent"] > 0
    compared = seen["comparison"]
    assert compared["matched"] == report["released"] == len(FREQUENT)
    assert abs(compared["noise_z"]) < 6


def test_splits(fre, tmp_path, corpus_file):
    report = run(fre, corpus_file, "--users", "800", "--splits", "--compare", "--seed", "1")
    release = json.loads((tmp_path / "out" / "release.json").read_text())
    assert release["collection"]["splits"] is True and report["plan"]["splits"] is True
    assert "the cell is summed in thirds" in " ".join(release["statement"])
    tau = report["plan"]["tau"]
    assert report["released"] == len(FREQUENT)
    cells = [json.loads(line) for line in (tmp_path / "out" / "synthetic.jsonl").read_text().splitlines()]
    for c in cells:  # three sums, each with both servers' noise, and their median
        assert c["count"] >= 3 * tau
        assert c["noise_norm"] == pytest.approx(
            report["plan"]["sigma"] * (2 * 3 * report["dimension"])**0.5 / c["count"], rel=1e-5)
    seen = report["not_for_publication"]["comparison"]
    assert seen["matched"] == len(FREQUENT) and seen["noise_freedom"] == 0


def test_compared_with_a_curator_by_levels(fre, refused, corpus_file):
    def compared(levels):
        seen = run(fre, corpus_file, "--compare", "--compare-levels", levels, "--seed", "1", "--force")
        return seen["not_for_publication"]["comparison"]["by_levels"]
    told = compared("grid,2048,256")
    assert [x["level"] for x in told["levels"]] == ["grid", "2048", "256"]
    # What the grid releases is gone: the fifty others are too few, whatever the level.
    assert told["levels"][0] == {"level": "grid", "cells": 3, "users": 330,
                                 "covered": pytest.approx(330 / USERS)}
    assert told["levels"][1]["users"] == told["levels"][2]["users"] == 0
    assert told["users_here"] == 330 and told["covered"] == told["covered_here"]
    assert [x["name"] for x in told["plan"]["levels"]] == ["grid", "2048", "256"]
    # Without it they are in public cells, each with all its records.
    told = compared("2048,256")
    assert told["levels"][0]["cells"] == 3 and 330 <= told["levels"][0]["users"] < 340
    shown = fre("simulate", corpus_file, "-o", "out", "--force", *BUDGET, *NO_TEXT, "--compare",
                "--compare-levels", "2048,256", env={"COLUMNS": "80"})
    assert shown.code == 0 and "all levels" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    plain = run(fre, corpus_file, "--compare", "--seed", "1", "--force")
    assert plain["not_for_publication"]["comparison"]["by_levels"] is None
    refused(64, "fre-e2t simulate: --compare-levels belongs to --compare: add it", "simulate", corpus_file,
            "-o", "other", *BUDGET, *NO_TEXT, "--compare-levels", "256")
    refused(64, "fre-e2t simulate: --compare-levels: the codebook has no level '77'", "simulate",
            corpus_file, "-o", "other", *BUDGET, *NO_TEXT, "--compare", "--compare-levels", "77", "--seed",
            "1", "--user-field", "none", "--quiet")


def test_network_faults(fre, corpus_file):
    report = run(fre, corpus_file, "--dropout-rate", "0.05", "--loss-rate", "0.2",
                 "--duplicate-rate", "0.2", "--seed", "2")
    seen = report["not_for_publication"]
    assert report["released"] == len(FREQUENT)
    assert seen["lost"] > 0 and seen["repeated"] > 0 and seen["silent"] > 0
    assert seen["bytes"]["admission"]["users"] == seen["bytes"]["tags"]["users"] == USERS
    assert seen["bytes"]["reports"]["users"] == USERS - seen["silent"]
    assert seen["refused"] == 0 and seen["comparison"] is None


def test_noise_of_clients(fre, corpus_file):
    seen = run(fre, corpus_file, "--noise-by", "clients", "--seed", "3", "--compare")["not_for_publication"]
    assert seen["comparison"]["matched"] == len(FREQUENT)
    assert abs(seen["comparison"]["noise_z"]) < 6


def test_never_private(fre, tmp_path, corpus_file):
    """One process held everything and no ledger has it: else it would be a way around a budget."""
    report = run(fre, corpus_file)
    release = json.loads((tmp_path / "out" / "release.json").read_text())
    assert report["is_private"] is False and release["private"] is False
    assert release["certified"] is None and release["statement"][0].startswith("NOT PRIVATE: this is a sim")
    assert report["statement"].startswith("NOT PRIVATE: this is a simulation")
    run(fre, corpus_file, "--users", str(USERS + 50), "--force")
    warnings = json.loads((tmp_path / "out" / "release.json").read_text())["warnings"]
    assert any("drawn more than once" in w for w in warnings)


def test_same_seed_same_release(fre, tmp_path, corpus_file):
    run(fre, corpus_file, *SEED)
    first = (tmp_path / "out" / "centroids.npy").read_bytes()
    run(fre, corpus_file, *SEED, "--force", "--threads", "1")
    assert (tmp_path / "out" / "centroids.npy").read_bytes() == first


def test_users_with_several_texts(fre, tmp_path):
    path = tmp_path / "users.jsonl"
    with open(path, "w") as f:
        for user in range(240):
            for text in (FREQUENT[user % 3], FREQUENT[(user + 1) % 3]):
                f.write(json.dumps({"text": text, "user": f"u{user}"}) + "\n")
    done = fre("simulate", path.name, "-o", "out", "--epsilon", "16", "--threshold", "100",
               "--population", "1000", "--user-field", "user", "--max-cells-per-user", "2",
               *NO_TEXT, "--json", "--compare", "--seed", "4")
    assert done.code == 0, done.err
    seen = done.json()["not_for_publication"]
    assert seen["users"] == 240 and seen["records"] == 480
    assert done.json()["released"] == seen["comparison"]["matched"] == 3
    assert abs(seen["comparison"]["noise_z"]) < 6


PREFIX = "fre-e2t simulate: "


@pytest.mark.parametrize("code, sentence, args", [
    (64, "--loss-rate must be", ["--loss-rate", "1"]),
    (64, "--transport", ["--transport", "pigeon"]),
    (64, "--users must be a whole number from 1", ["--users", "0"]),
    (64, "leave out --cover off", ["--cover", "off"]),
    (64, "--contacts one asks for no second answer", ["--contacts", "one", "--dropout", "0.1"]),
    (64, "--max-cells-per-user needs --user-field", ["--max-cells-per-user", "2"]),
    (65, "more clients than --population", ["--users", "2000000"]),
    (77, "too few to mix", ["--users", "20"]),
])
def test_refusals(fre, tmp_path, corpus_file, code, sentence, args):
    done = fre("simulate", corpus_file, "-o", "out", *BUDGET, *NO_TEXT, *args)
    assert done.code == code, done.err
    # What a collection refuses is known after its input was read and described.
    last = done.err.splitlines()[2 if code == 77 else 0]
    assert sentence in last and last.startswith(PREFIX)
    assert not (tmp_path / "out").exists()


def test_missing_input(fre):
    done = fre("simulate", "nothing.txt", "-o", "out", *BUDGET)
    assert done.code == 66 and "nothing.txt" in done.err


def test_numbers_stand_in_columns(fre, corpus):
    """Whatever the label: a long one once pushed its number aside."""
    done = fre("simulate", corpus.name, "-o", "out", "--epsilon", "8", "--threshold", "100",
               "--population", "100000", "--inverter", "none", "--compare")
    assert done.code == 0
    ends = {}
    for part in ("Bytes a user", "Messages", "Wall time", "Compared"):
        block = done.out[done.out.index("\n" + part):].split("\n\n")[0].splitlines()[2:]
        rows = [re.match(r"  \S.{33} ( *[\d.]+)", line) for line in block]
        numbers = [r for r in rows if r]
        assert len(numbers) >= 4, part
        ends[part] = {len(r.group(0)) for r in numbers}
    assert all(e == {49} for e in ends.values()), ends


def test_public_cells(fre, refused, tmp_path, corpus_file):
    """One level of the bundled codebook, in place of the grid."""
    report = run(fre, corpus_file, "--levels", "1024", "--seed", "1")
    out = tmp_path / "out"
    release = json.loads((out / "release.json").read_text())
    terms = release["collection"]
    (level,) = release["parameters"]["levels"]
    assert terms["sketch"] == "codebook" and terms["public_cells"] == 1024
    assert terms["codebook"] == level["codebook"] and terms["sensitivity"] == "worst-case"
    assert terms["split"] == 2 * terms["clip_radius"] == 2 * level["radius"]
    assert "proj" not in terms and terms["gain"] >= 1
    assert "Cells: 1024 public cells" in " ".join(release["statement"])
    cells = [json.loads(line) for line in (out / "synthetic.jsonl").read_text().splitlines()]
    # Texts that share a theme share a cell; everybody who was sampled is in one.
    assert 0 < len(cells) == report["released"] <= len(FREQUENT)
    assert all(c["level"] == "1024" and c["count"] >= release["parameters"]["tau"] for c in cells)
    seen = report["not_for_publication"]
    assert seen["rejected"] == {"relay": {}, "issuer": {}, "tagging": {}, "synthesis": {}}
    base = ["simulate", corpus_file, "-o", "more", *BUDGET, *NO_TEXT]
    refused(64, "fre-e2t simulate: --levels: the codebook has no level '77'", *base, "--levels", "77")
    refused(64, "fre-e2t simulate: --compare lays a curator's grid over the collection's: leave it out, "
            "or --levels", *base, "--levels", "1024", "--compare")
    refused(64, "fre-e2t simulate: --levels: a collection releases one level, the grid or public cells: "
            "name one", *base, "--levels", "1024,256")
    refused(64, "fre-e2t simulate: --codebook has the public cells of --levels or of --compare-levels: "
            "add one of them", *base, "--codebook", "x.gguf")


def test_over_http(fre, refused, tmp_path, corpus_file):
    """Four processes, TLS, the real clock: who came too late on a busy machine is counted, and nothing is left."""
    refused(64, "fre-e2t simulate: --transport http has servers in processes of their own: leave out --compare, "
            "--seed, --dropout-rate, --duplicate-rate and --loss-rate",
            "simulate", corpus_file, "-o", "out", *BUDGET, *NO_TEXT, "--transport", "http", "--seed", "1")
    done = fre("simulate", corpus_file, "-o", "out", *BUDGET, *NO_TEXT, "--json", "--transport", "http")
    if done.code == 77: # hardly anybody was in time
        assert "published nothing" in done.err
        return
    report = done.json()
    seen = report["not_for_publication"]
    assert seen["bytes"]["reports"]["users"] <= seen["bytes"]["admission"]["users"] <= USERS
    assert seen["bytes"]["reports"]["users"] + seen["refused"] >= USERS
    assert report["released"] == len(FREQUENT) or seen["refused"] > USERS // 4
    assert all(mib > 0 for mib in seen["peak_memory_mib_of_servers"].values())
    release = json.loads((tmp_path / "out" / "release.json").read_text())
    assert release["private"] is False
    assert release["collection"]["relay_url"].startswith("https://127.0.0.1:")
    assert not list((tmp_path / "tmp").iterdir())
