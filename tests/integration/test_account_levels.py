"""account --levels: a plan's noises lead back to its epsilon and delta, less noise does not."""

import math

import pytest

BUDGET = ["--population", "1000000", "--threshold", "50"]
PUBLIC = [["--levels", "4096x8,1024,256"], ["--levels", "1024,256", "--counts", "sampled"]]
ASKED = [
    *PUBLIC,
    ["--levels", "grid,1024,256"],
    ["--levels", "grid,1024", "--counts", "sampled"],
    ["--levels", "1024,256", "--adjacency", "replace"],
    ["--levels", "1024,256", "--max-cells-per-user", "3"],
]


def planned(fre, asked, epsilon="4"):
    done = fre("plan", "--epsilon", epsilon, *BUDGET, *asked, "--json")
    assert done.code == 0, done.err
    return done.json()


def listed(levels, key, factor=1.0):
    return ",".join(repr(level[key] * factor) for level in levels)


def flags_of(plan, factor=1.0):
    """The plan's mechanism, its noise times a factor."""
    grid = [x for x in plan["levels"] if x["name"] == "grid"]
    public = plan["levels"][len(grid):]
    out = ["--levels", ",".join(x["name"] for x in plan["levels"]), "--counts",
           public[0]["counts"], "--level-sigma", listed(public, "sigma", factor),
           "--radius", repr(public[0]["radius"]), "--adjacency", plan["adjacency"],
           "--population", plan["population"], "--max-cells-per-user", plan["cells_per_user"]]
    if public[0]["counts"] == "noisy":
        out += ["--level-count-sigma", listed(public, "count_sigma", factor)]
    else:
        out += ["--level-sampling-rate", listed(public, "sampling_rate"), "--level-tau",
                ",".join(str(x["tau"]) for x in public)]
    if grid:
        out += ["--sampling-rate", repr(grid[0]["sampling_rate"]), "--tau", grid[0]["tau"],
                "--sigma", repr(grid[0]["sigma"] * factor), "--projection-dim",
                plan["projection_dim"], "--cell-edge", repr(plan["cell_edge"]), "--lattice-step",
                repr(plan["lattice_step"])]
    return out


def account(fre, *args):
    done = fre("account", "--json", *args)
    assert done.code == 0, done.err
    assert done.err == ""
    return done.json()


@pytest.mark.parametrize("asked", ASKED)
def test_a_plan_leads_back(fre, asked):
    p = planned(fre, asked)
    of = flags_of(p)
    there = account(fre, *of, "--epsilon", "4")
    # The plan's own account: the lattice's step is that of sigma before it is rounded, at most half.
    assert there["delta"] == pytest.approx(p["delta"], rel=1e-4)
    assert there["delta"] <= p["delta_target"]
    parts = there["delta_addition"], there["delta_removal"]
    assert 0 <= min(parts)
    assert there["delta"] == pytest.approx(
        sum(parts) if p["adjacency"] == "replace" else max(parts), rel=1e-12)
    back = account(fre, *of, "--delta", repr(p["delta_target"]))
    assert back["delta"] <= p["delta_target"]
    assert 4 - 4e-3 <= back["epsilon"] <= 4
    less = flags_of(p, 0.995)
    assert account(fre, *less, "--epsilon", "4")["delta"] > p["delta_target"]
    assert account(fre, *less, "--delta", repr(p["delta_target"]))["epsilon"] > 4


@pytest.mark.parametrize("asked", PUBLIC)
def test_fields(fre, asked):
    p = planned(fre, asked)
    a = account(fre, *flags_of(p), "--delta", "auto")
    assert set(a) == {"epsilon", "delta", "delta_addition", "delta_removal", "adjacency", "accountant",
                      "cells_per_user", "population", "levels", "warnings"}
    for mine, theirs in zip(a["levels"], p["levels"], strict=True):
        noisy = theirs["counts"] == "noisy"
        assert mine == {key: theirs[key] if key != "tau" or not noisy else None for key in mine}
    assert (a["accountant"], a["population"], a["warnings"]) == ("joint", 1000000, [])


def test_one_noisy_level_by_the_formula(fre):
    """A record moves the count by 1 and the sum by R: delta is at least that of one Gaussian, and
    little above it where the threshold is no help; computed here."""
    def phi(x):
        return math.erfc(-x / math.sqrt(2)) / 2
    a = account(fre, "--levels", "256", "--level-sigma", "1.5", "--level-count-sigma", "3",
                "--radius", "0.5", "--epsilon", "1", "--population", "1000")
    mu = math.hypot(1 / 3, 0.5 / 1.5)
    delta = phi(mu / 2 - 1 / mu) - math.e * phi(-mu / 2 - 1 / mu)
    assert delta * (1 - 1e-9) <= a["delta"] <= delta * 1.02
    # Half the radius: less.
    less = account(fre, "--levels", "256", "--level-sigma", "1.5", "--level-count-sigma", "3",
                   "--radius", "0.25", "--epsilon", "1", "--population", "1000")
    assert less["delta"] < 0.5 * delta


def test_for_people(fre):
    of = ["--levels", "256", "--level-sigma", "1", "--level-count-sigma", "4"]
    done = fre("account", *of, "--epsilon", "2")
    assert done.code == 0 and max(map(len, done.out.splitlines())) <= 80
    rows = {line[:18].strip(): line[19:].split()[0] for line in done.out.splitlines()
            if len(line) > 19 and line[19:].split()}
    exact = account(fre, *of, "--epsilon", "2")
    assert rows["epsilon"] == "2"
    for row, key in (("delta", "delta"), ("addition", "delta_addition"), ("removal", "delta_removal")):
        assert exact[key] <= float(rows[row]) <= exact[key] * (1 + 2e-5)
    assert "1/(10 N)" in " ".join(done.out.split())
    # What is printed is accepted again.
    done = fre("account", *of, "--delta", "1e-8")
    again = account(fre, *of, "--epsilon", done.out.split()[1])
    assert again["delta"] <= 1e-8


NOISY = {"--level-sigma": "1,2", "--level-count-sigma": "4,5"}
SAMPLED = {"--counts": "sampled", "--level-sigma": "1,2", "--level-sampling-rate": "0.1,0.2",
           "--level-tau": "10,20"}
GRID = {"--sampling-rate": "0.8", "--tau": "80", "--sigma": "1.5"}


@pytest.mark.parametrize("levels, options, sentence", [
    ("1024,256", {**NOISY, "--level-sigma": "1,2,3"},
     "--level-sigma has 3 numbers and --levels 2 levels of public cells: give one for each, from fine "
     "to coarse"),
    ("grid,1024,256", {**NOISY, **GRID, "--level-count-sigma": "4"},
     "--level-count-sigma has 1 number and --levels 2 levels of public cells: give one for each, from "
     "fine to coarse"),
    ("1024,256", {**SAMPLED, "--level-tau": "10"},
     "--level-tau has 1 number and --levels 2 levels of public cells: give one for each, from fine to "
     "coarse"),
    ("1024,256", {"--level-sigma": "1,2"},
     "--levels needs --level-count-sigma S,... too: a number for each level but the grid"),
    ("1024,256", {"--level-count-sigma": "1,2"},
     "--levels needs --level-sigma S,... too: a number for each level but the grid"),
    ("256,1024", NOISY, "--levels go from fine to coarse: '1024' has no fewer cells than the one "
     "before it"),
    ("256,256", NOISY, "--levels go from fine to coarse: '256' has no fewer cells than the one before "
     "it"),
    ("256,grid", NOISY, "--levels: 'grid' is none: grid (as the first), a number of centres as 1024, "
     "or with codes as 4096x8"),
    ("1024,256", {**NOISY, "--level-sigma": "1,0"},
     "--level-sigma must be a number above 0 and at most 1e+12, not '0'"),
    ("1024,256", {**NOISY, "--level-sigma": "1,"},
     "--level-sigma must be a number above 0 and at most 1e+12, not ''"),
    ("1024,256", {**NOISY, "--level-count-sigma": "1,0.001"},
     "--level-count-sigma must be a number from 0.01 to 1e+12, not '0.001'"),
    ("1024,256", {**SAMPLED, "--level-sampling-rate": "0.1,1"},
     "--level-sampling-rate must be a number above 0 and below 1, not '1'"),
    ("1024,256", {**SAMPLED, "--level-sampling-rate": "0.1,1e-12"},
     "--level-sampling-rate must be at least 2^-32"),
    ("1024,256", {**SAMPLED, "--level-tau": "10,16385"},
     "--level-tau must be a whole number from 1 to 16384, not '16385'"),
    ("1024,256", {**NOISY, "--radius": "0"}, "--radius must be a number from 1e-06 to 1000, "
     "not '0'"),
    ("1024,256", {**NOISY, "--level-tau": "10,20"}, "--level-tau belongs to --counts sampled"),
    ("1024,256", {**SAMPLED, "--level-count-sigma": "1,2"},
     "--level-count-sigma belongs to --counts noisy"),
    ("1024,256", {**NOISY, "--sigma": "1"},
     "--sigma is the grid's: leave it out, or let --levels begin with grid"),
    ("1024,256", {**NOISY, "--split": "1"},
     "--split is the grid's: leave it out, or let --levels begin with grid"),
    ("grid,1024,256", {**NOISY, **GRID, "--split": "1"},
     "--split: a release by levels is accounted at a split of its own: leave it out"),
    ("grid,1024,256", {**NOISY, "--tau": "80", "--sigma": "1"},
     "--sampling-rate is required, unless --levels leaves the grid out; see 'fre-e2t account --help'"),
    ("grid", {**GRID, "--level-sigma": "1"},
     "--level-sigma is of public cells: leave it out, or name some in --levels"),
    ("1024,256", {**NOISY, "--distributed": "--cover=on"},
     "--levels: the distributed mode releases one level, the grid or public cells with --counts "
     "sampled"),
    ("1024,256", {**NOISY, "--accountant": "paper"},
     "unknown flag --accountant; 'fre-e2t account --help' lists them"),
    ("grid,1024,256", {**NOISY, **GRID, "--tau": "16385", "--epsilon": "4"},
     "levels take a --tau of the grid up to 16384"),
])
def test_refusals(refused, levels, options, sentence):
    refused(64, "fre-e2t account: " + sentence, "account", "--levels", levels,
            *[part for pair in options.items() for part in pair])
