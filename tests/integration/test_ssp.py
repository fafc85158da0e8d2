"""ssp: keys, agreement with plan, refusals."""

import pytest

KEYS = """warnings sampling_rate tau sigma radius psi neighbours count dimension projection_dim cell_edge
population cells bound bound_sampling bound_noise m bound_repaired bound_release bound_pairs
bound_paper paper_vacuous""".split()


def ssp(fre, *args):
    done = fre("ssp", "--json", *args)
    assert done.code == 0, done.err
    assert done.err == ""
    return done.json()


def test_keys_and_relations(fre):
    b = ssp(fre, "--sampling-rate", "0.3", "--sigma", "1", "--neighbours", "20", "--psi", "0.4")
    assert set(KEYS) == set(b)
    assert b["tau"] == b["count"] == 30
    assert b["bound"] == pytest.approx(b["bound_sampling"] + b["bound_noise"])
    assert 0 < b["bound"] < 1e-2
    assert b["bound"] <= b["bound_repaired"] <= 1
    assert b["bound_release"] == b["bound_pairs"] == 1
    few = ssp(fre, "--sampling-rate", "0.3", "--sigma", "1", "--neighbours", "20", "--psi", "0.4",
              "--population", "2", "--cells", "7")
    assert few["bound"] <= few["bound_release"] < 1


def test_takes_the_numbers_of_a_plan(fre):
    budget = ["--epsilon", "4", "--population", "1000000", "--projection-dim", "30"]
    plan = fre("plan", "--json", *budget).json()
    b = ssp(fre, *budget)
    for key in ("sampling_rate", "tau", "sigma", "cell_edge", "projection_dim"):
        assert b[key] == plan[key]
    given = ssp(fre, "--sampling-rate", repr(plan["sampling_rate"]), "--sigma",
                repr(plan["sigma"]), *budget[2:])
    assert given == b


def test_the_printed_theorem(fre):
    args = ["--sampling-rate", "0.5", "--sigma", "1", "--neighbours", "100"]
    b = ssp(fre, *args)
    assert b["paper_vacuous"] and b["bound_paper"] == 1
    text = fre("ssp", *args).out
    assert "vacuous      its Lambda" in text and "nothing is proved" in text
    b = ssp(fre, "--sampling-rate", "0.5", "--sigma", "2", "--threshold", "1000",
            "--neighbours", "60", "--cell-edge", "0.02", "--psi", "0.1")
    assert not b["paper_vacuous"] and b["bound_paper"] < 1


def test_for_people(fre):
    done = fre("ssp", "--epsilon", "4", "--neighbours", "10", "--psi", "0.4")
    assert done.code == 0 and done.err == ""
    assert max(map(len, done.out.splitlines())) <= 80
    for part in ("this cell", "whole release", "the paper's theorem", "In words: "):
        assert part in done.out


@pytest.mark.parametrize("args, sentence", [
    ([], "give --sampling-rate and --sigma, or --epsilon for a plan's"),
    (["--sigma", "1"], "give --sampling-rate and --sigma, or --epsilon for a plan's"),
    (["--epsilon", "4", "--sigma", "1"], "give --sigma or --epsilon, not both"),
    (["--sampling-rate", "0.5", "--sigma", "1", "--count", "49"],
     "--count 49 is below the threshold: a cell is released from a sampled count of 50"),
    (["--sampling-rate", "1e-12", "--sigma", "1"], "--sampling-rate must be at least 2^-32"),
    (["--epsilon", "4", "--cell-edge", "1", "--cell-scale", "2"],
     "give --cell-edge or --cell-scale, not both"),
])
def test_refusals(refused, args, sentence):
    refused(64, "fre-e2t ssp: " + sentence, "ssp", *args)
