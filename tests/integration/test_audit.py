"""audit: verdicts and exit codes, keys, repeatability, refusals."""

import pytest

from conftest import LONG

QUICK = ["--runs", "4000", "--seed", "a5", "--dimension", "16"]
OWN = ["--sampling-rate", "0.8", "--tau", "80", "--population", "1000000", "--projection-dim", "20"]


def audit(fre, code, *args):
    done = fre("audit", "--json", "--quiet", *QUICK, *args)
    assert done.code == code, done.err
    assert done.err == ""
    return done.json()


PLANS = [[], ["--adjacency", "replace"], ["--distributed"]]
if LONG:
    PLANS += [["--distributed", "--contacts", "two", "--cover", "off"], ["--sensitivity", "worst-case"],
              ["--accountant", "paper"]]


@pytest.mark.parametrize("more", PLANS)
def test_plans_are_not_refuted(fre, more):
    a = audit(fre, 0, "--epsilon", "4", "--population", "100000", *more)  # delta 1/(10 N)
    assert a["verdict"] == "not refuted" and a["refuted"] is False
    assert a["epsilon_claimed"] == 4 and a["delta_claimed"] == 1e-6
    assert a["runs"] == 4000 and a["confidence"] == 0.999
    assert 0 <= a["epsilon_lower_bound"] <= 4
    m = a["mechanism"]
    assert 0 < m["sampling_rate"] < 1 and m["tau"] > 1 and m["sigma"] > 0
    assert m["adjacency"] == ("replace" if "replace" in more else "add-remove")
    assert a["levels"] == []
    assert m["distributed"] == ("lambda" in m) == ("--distributed" in more)
    bounds = {s["name"]: s["epsilon_lower_bound"] for s in a["scenarios"]}
    assert len(bounds) == len(a["scenarios"]) >= 4
    assert bounds[a["worst_case"]] == a["epsilon_lower_bound"] == max(bounds.values())
    assert all(s["test"] in ("known law", "learned") for s in a["scenarios"])
    assert all(s["direction"] in ("forward", "backward") for s in a["scenarios"])


@pytest.mark.parametrize("more", [["--contacts", "two", "--max-cells-per-user", "2"], ["--levels", "1024"],
                                  ["--contacts", "two", "--max-cells-per-user", "2", "--curious-users", "1"]])
def test_a_collection_is_that_of_its_plan(fre, more):
    """Who pools what he knows counts in places, and a level of public cells is sampled there."""
    given = ["--epsilon", "8", "--population", "100000", "--distributed", "--dimension", "4", *more]
    told = fre("plan", "--json", *given).json()
    attacked = fre("audit", "--json", "--quiet", *given, "--runs", "1000", "--seed", "a5").json()["mechanism"]
    for key in ("sampling_rate", "tau", "sigma", "lambda", "gamma", "contacts", "noise_by"):
        assert attacked[key] == pytest.approx(told[key]), key


@pytest.mark.parametrize("levels, counts", [("256,64", "noisy"), ("grid,64", "noisy")] +
                         ([("256,64,16", "sampled"), ("grid,256,64", "sampled")] if LONG else []))
def test_levels_are_attacked(fre, levels, counts):
    plan = ["--epsilon", "4", "--population", "100000", "--delta", "1e-3", "--threshold", "40",
            "--dimension", "2", "--levels", levels, "--counts", counts]
    a = audit(fre, 0, *plan)
    assert a["levels"] == levels.split(",")
    assert a["verdict"] == "not refuted" and a["curve_refuted"] is False
    names = [s["name"] for s in a["scenarios"]]
    stages = len(a["levels"])
    assert f"alone in its cells of {stages} levels" in names
    assert any("copies" in n for n in names) == ("grid" in levels)  # the grid by itself
    assert any("together before" in n for n in names)
    worse = audit(fre, 1, *plan, "--sigma-factor", "0.4")
    assert worse["curve_refuted"] is True
    assert [s["name"] for s in worse["scenarios"]] == names
    text = fre("audit", "--quiet", *QUICK, *plan)
    assert text.code == 0 and "level 64" in text.out
    assert max(map(len, text.out.splitlines())) <= 90  # a scenario's name is as long as it is


def test_a_tenth_of_the_noise_is_refuted(fre):
    """The same mechanism with the noise it needs, and with a tenth."""
    claim = ["--epsilon", "4", *OWN, "--split", "1.24"]
    assert audit(fre, 0, *claim, "--sigma", "1.52")["epsilon_lower_bound"] < 3
    a = audit(fre, 1, *claim, "--sigma", "0.152")
    assert a["refuted"] is True and a["verdict"] == "refuted"
    assert a["epsilon_lower_bound"] > 4.5
    done = fre("audit", "--quiet", *QUICK, *claim, "--sigma", "0.152")
    assert done.code == 1 and done.err == ""
    assert "REFUTED: epsilon is at least 5." in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_curve_has_teeth(fre):
    """Nine tenths of the noise: far too little for the claim's epsilon to show, at a tiny delta."""
    runs = "50000" if LONG else "20000"
    claim = ["--epsilon", "4", "--population", "1000000", "--delta", "1e-7", "--runs", runs]
    sound = audit(fre, 0, *claim)
    assert sound["curve_refuted"] is False
    assert 0 < sound["curve"]["delta_lower_bound"] < sound["curve"]["delta_claimed"]
    assert 0 < sound["curve"]["epsilon"] <= 4
    for factor in ("--sigma-factor", "--tau-factor") if LONG else ():  # 20,000 runs can't tell
        a = audit(fre, 1, *claim, factor, "0.8")
        assert a["refuted"] is a["curve_refuted"] is True and a["verdict"] == "refuted"
        assert a["epsilon_lower_bound"] < 4
        assert a["curve"]["delta_lower_bound"] > a["curve"]["delta_claimed"]
    done = fre("audit", "--quiet", *QUICK, *claim, "--runs", "20000", "--sigma-factor", "0.5")
    assert done.code == 1 and "REFUTED: at epsilon = " in done.out
    assert "defect      0.5 times the noise, put in on request" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_noise_below_what_the_claim_needs(fre):
    """Nobody says what the mechanism was planned as; the noise that the claim asks for is found."""
    a = audit(fre, 1, "--epsilon", "4", *OWN, "--sigma", "0.45", "--delta", "1e-7", "--runs",
              "20000")
    assert a["curve_refuted"] is True and a["epsilon_lower_bound"] < 4


def test_padding_too_narrow_is_refuted(fre):
    mechanism = ["--distributed", "--sampling-rate", "0.5", "--tau", "20", "--sigma", "2",
                 "--epsilon", "3", "--delta", "1e-4"]
    assert audit(fre, 0, *mechanism, "--lambda", "1", "--gamma", "20")["refuted"] is False
    assert audit(fre, 1, *mechanism, "--lambda", "0.2", "--gamma", "20")["refuted"] is True


def test_thirds_are_attacked(fre):
    """What --splits is for: cells so large that they are summed in thirds, seen by each server."""
    mechanism = ["--distributed", "--sampling-rate", "0.5", "--tau", "5", "--sigma", "2", "--epsilon", "2",
                 "--delta", "1e-4", "--lambda", "4", "--gamma", "60"]
    whole, thirds = audit(fre, 0, *mechanism), audit(fre, 0, *mechanism, "--splits")
    assert (whole["mechanism"]["splits"], thirds["mechanism"]["splits"]) == (False, True)
    more = {s["name"] for s in thirds["scenarios"]} - {s["name"] for s in whole["scenarios"]}
    assert len(more) == 4 and all("thirds" in name for name in more)
    shown = fre("audit", "--quiet", *mechanism, "--splits", "--runs", "1000", "--dimension", "4",
                "--seed", "a6").out
    assert "large cells in thirds" in " ".join(shown.split())


def test_a_seed_repeats(fre):
    args = ["--epsilon", "4", "--population", "100000"]
    first = audit(fre, 0, *args)
    assert audit(fre, 0, *args, "--threads", "1") == first
    done = fre("audit", "--json", "--quiet", *args, "--runs", "4000", "--dimension", "16",
               "--seed", "a6")
    assert done.json()["scenarios"] != first["scenarios"]


@pytest.mark.parametrize("args, sentence", [
    (["--epsilon", "4", "--tau", "80"],
     "a mechanism of your own needs --sampling-rate, --tau and --sigma; --sigma is missing"),
    (["--epsilon", "4", "--tau", "80", "--sigma", "1"],
     "a mechanism of your own needs --sampling-rate, --tau and --sigma; --sampling-rate is missing"),
    (["--epsilon", "4", *OWN, "--sigma", "1", "--threshold", "100"],
     "--threshold shapes a plan: leave it out, or --tau and --sigma"),
    (["--epsilon", "4", *OWN, "--sigma", "1", "--levels", "auto"],
     "--levels shapes a plan: leave it out, or --tau and --sigma"),
    (["--epsilon", "4", *OWN, "--sigma", "1", "--distributed"], "--distributed needs --lambda too"),
    (["--epsilon", "4", *OWN, "--sigma", "1", "--lambda", "1"],
     "--lambda belongs to --distributed"),
    (["--epsilon", "4", "--lambda", "1"],
     "--lambda belongs to a mechanism given by --tau, --sigma and --sampling-rate: a plan chooses "
     "its own"),
    (["--epsilon", "4", *OWN, "--sigma", "1e-13", "--split", "1.24"],
     "--sigma is too small against the embeddings for exact sums: raise it, or give a smaller "
     "--split"),
    (["--epsilon", "0"], "--epsilon must be a number above 0 and at most 50, not '0'"),
    (["--epsilon", "4", "--runs", "10"], "--runs must be a whole number from 1000 to 10000000, not '10'"),
])
def test_refusals(refused, args, sentence):
    refused(64, "fre-e2t audit: " + sentence, "audit", *args)
