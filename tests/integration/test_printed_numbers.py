"""Privacy numbers that people read are on their safe side of the exact ones: epsilon, delta, chances,
needed noise, rates and distances never below, what is left, lower bounds and noise that is there never
above, and neither by more than a unit of the last digit."""

import json
import random
import re

import pytest

from conftest import LONG

UP, DOWN = 1, -1


def close(text, exact, side):
    """The number as printed is on the side of the exact one, and next to it."""
    shown = float(text)
    digits = len(re.sub(r"e.*|[.]", "", text).lstrip("0"))
    assert side * shown >= side * exact - 1e-12 * abs(exact), (text, exact)
    assert abs(shown - exact) <= abs(exact) * 10.0 ** (1 - max(digits, 1)) or digits < 3, (text, exact)
    assert abs(shown - exact) <= 0.1 * abs(exact), (text, exact)


def rows(text):
    """First number of each row of a table, by the row's name (two or more blanks apart)."""
    found = {}
    for line in text.splitlines():
        parts = re.split(r"\s{2,}|\s(?=[\d.e+-]+$)", line.strip())
        if len(parts) >= 2 and re.fullmatch(r"[\d.]+(e[+-]?\d+)?", parts[1]):
            found.setdefault(parts[0], parts[1])
    return found


def compare(shown, exact, names):
    for row, key, side in names:
        if exact.get(key) is not None:
            close(shown[row], exact[key], side)


PLAN = [("epsilon", "epsilon", UP), ("delta", "delta", UP), ("sampling rate p", "sampling_rate", UP),
        ("noise sigma", "sigma", UP), ("cell edge L", "cell_edge", UP), ("split", "split", UP),
        ("worst-case epsilon", "worst_case_epsilon", UP), ("released cells", "delta_released", UP),
        ("far members", "delta_far", UP), ("unreleased cells", "delta_unreleased", UP)]
PAPER = [("joint epsilon", "joint_epsilon", UP), ("epsilon_fre", "epsilon_fre", UP),
         ("delta_fre", "delta_fre", UP), ("delta_sens", "delta_sens", UP),
         ("epsilon_agg", "epsilon_agg", UP), ("delta_agg", "delta_agg", UP)]
DISTRIBUTED = [("padding lambda", "lambda", UP), ("dummy reports", "expected_dummies", UP),
               ("quantisation", "quantisation", UP), ("published noise", "sigma_published", UP)]
BY_SERVERS = DISTRIBUTED + [("one server's noise", "sigma_local", UP)]
BY_CLIENTS = DISTRIBUTED + [("one user's noise", "sigma_local", UP)]


def odd_budgets(n):
    """n of them; a part by `make check`."""
    draw = random.Random(14)
    for i in range(n if LONG else (n + 1) // 2):
        yield ["--epsilon", f"{draw.uniform(1, 9):.9g}", "--population",
               str(draw.randrange(10000, 10**8)), "--threshold", str(draw.randrange(90, 300))]


@pytest.mark.parametrize("more, extra", [
    ([], []), (["--adjacency", "replace"], []), (["--accountant", "paper"], PAPER),
    (["--distributed"], BY_SERVERS), (["--distributed", "--contacts", "two"], BY_CLIENTS),
    (["--sensitivity", "worst-case"], [])])
def test_plan(fre, more, extra):
    for budget in odd_budgets(3):
        exact = fre("plan", *budget, *more, "--json")
        if exact.code != 0:
            continue
        compare(rows(fre("plan", *budget, *more).out), exact.json(), PLAN + extra)


def test_levels(fre):
    """The row of each level: noise, as what stands above it, never less than it is."""
    for budget in odd_budgets(2):
        of = ["plan", *budget, "--levels", "grid,4096,256"]
        exact = fre(*of, "--json").json()["levels"]
        lines = fre(*of).out.split("Levels, from fine to coarse")[1].splitlines()
        for level in exact:
            row = next(line.split() for line in lines if line.split()[:1] == [level["name"]])
            close(row[2], level["sampling_rate"], UP)
            assert int(row[3]) == level["tau"]
            if level["counts"] == "noisy":
                close(row[4], level["count_sigma"], UP)
            close(row[5], level["sigma"], UP)


@pytest.mark.parametrize("question", [["--epsilon", "3.14159265358"], ["--delta", "1.23456789e-7"]])
@pytest.mark.parametrize("more", [[], ["--distributed", "--lambda", "0.71234567", "--gamma", "14"]])
def test_account(fre, question, more):
    of = ["account", "--sampling-rate", "0.7123456", "--tau", "80", "--sigma", "1.23456789",
          "--population", "1000003", *more, *question]
    done = fre(*of)
    exact, shown = fre(*of, "--json").json(), rows(done.out)
    compare(shown, exact, [("epsilon", "epsilon", UP), ("delta", "delta", UP),
                           ("released cells", "delta_released", UP),
                           ("far members", "delta_far", UP), ("unreleased", "delta_unreleased", UP)])
    close(re.search(r"split at distance (\S+)", done.out).group(1), exact["split"], UP)


def test_ssp(fre):
    # 0.12345 as %.4g would be below it
    for budget in odd_budgets(4):
        more = ["ssp", *budget, "--neighbours", "11", "--psi", "0.77777777", "--radius", "0.4567891"]
        done, exact = fre(*more), fre(*more, "--json").json()
        shown = rows(done.out)
        compare(shown, exact, [("this cell", "bound", UP), ("sampling", "bound_sampling", UP),
                               ("noise", "bound_noise", UP), ("noise sigma", "sigma", UP),
                               ("by the paper's argument", "bound_repaired", UP),
                               ("whole release", "bound_release", UP), ("pairs", "bound_pairs", UP),
                               ("sampling rate p", "sampling_rate", UP)])
        close(shown["too close"], exact["psi"] * exact["radius"], DOWN)
        words = re.search(r"mean within (\S+) of this text is at most (\S+), as", " ".join(done.out.split()))
        if words:
            close(words.group(1), exact["psi"] * exact["radius"], DOWN)
            close(words.group(2), exact["bound"], UP)


@pytest.mark.parametrize("more", [[], ["--sigma-factor", "0.3"], ["--distributed"]])
def test_audit(fre, more):
    of = ["audit", "--epsilon", "4.123456789", "--population", "1000003", "--runs", "4000",
          "--dimension", "16", "--seed", "14", *more]
    done = fre(*of)
    exact = fre(*of, "--json").json()
    text = " ".join(done.out.split())
    claim = re.search(r"Audit of the claim epsilon = (\S+), delta = (\S+) ", text)
    close(claim.group(1), exact["epsilon_claimed"], UP)
    close(claim.group(2), exact["delta_claimed"], UP)
    mechanism = re.search(r"mechanism p = ([\d.e-]+), tau = \d+, sigma = ([\d.e-]+)", text)
    close(mechanism.group(1), exact["mechanism"]["sampling_rate"], UP)
    close(mechanism.group(2), exact["mechanism"]["sigma"], DOWN)
    first, second = done.out.split("Along the claim's curve")
    for s in exact["scenarios"]:
        number = re.search(re.escape(s["name"]) + r" +(\S+)", first).group(1)
        close(number, s["epsilon_lower_bound"], DOWN)
        lower, allowed = re.search(re.escape(s["name"]) + r" +(\S+) +(\S+) ", second).groups()
        close(lower, s["curve"]["delta_lower_bound"], DOWN)
        close(allowed, s["curve"]["delta_claimed"], UP)
    verdict = re.search(r"(?:REFUTED|Not refuted).*?at least (\S+?), (?:and|which).*?(\d\S*?) "
                        r"was claimed", text)
    if verdict:
        close(verdict.group(1), exact["epsilon_lower_bound"], DOWN)
        close(verdict.group(2), exact["epsilon_claimed"], UP)
    refuted = re.search(r"delta is at least (\S+), and the account of the claim allows (\S+)\. ", text)
    if refuted: # digits enough to see it
        assert float(refuted.group(1)) > float(refuted.group(2))
        assert float(refuted.group(1)) <= exact["curve"]["delta_lower_bound"]
    assert bool(verdict or refuted)


def test_ledger(fre, tmp_path):
    book = tmp_path / "book.json"
    (tmp_path / "texts.txt").write_text("good day\n" * 60 + "good night\n" * 60)
    for epsilon, delta in ("1.23456789", "1.23456789e-7"), ("2.34567891", "2.3456789e-6"):
        done = fre("synthesize", "texts.txt", "--epsilon", epsilon, "--delta", delta, "--population",
                   "100000", "--inverter", "none", "--ledger", book, "--threshold", "150",
                   "--budget-epsilon", "7.123456789", "--budget-delta", "1e-5",
                   "--output", f"out{epsilon}")
        assert done.code == 0, done.err
        spent = re.search(r"now spent epsilon (\S+), delta (\S+) in", done.err)
        total = fre("ledger", "show", book, "--json").json()["totals"][0]
        close(spent.group(1), total["epsilon"], UP)
        close(spent.group(2), total["delta"], UP)
    shown, exact = fre("ledger", "show", book).out, fre("ledger", "show", book, "--json").json()
    lines = re.findall(r"(?m)^ *\d{4}-\S+ \S+ +(\S+) +(\S+) ", shown)
    assert len(lines) == 2
    for (epsilon, delta), e in zip(lines, exact["entries"]):
        close(epsilon, e["epsilon"], UP)
        close(delta, e["delta"], UP)
    for what in "epsilon", "delta":
        spent, budget, left = re.search(what + r" +(\S+) of (\S+), (\S+) left", shown).groups()
        close(spent, total[what], UP)
        close(budget, total["budget_" + what], DOWN)
        close(left, total["left_" + what], DOWN)
    # what a refusal proposes fits
    refused = fre("synthesize", "texts.txt", "--epsilon", "5", "--delta", "1e-7", "--population",
                  "100000", "--inverter", "none", "--ledger", book, "--output", "out3",
                  "--threshold", "150")
    assert refused.code == 77, refused.err
    rest = re.search(r"fit into the (\S+) left", refused.err).group(1)
    assert float(rest) <= total["left_epsilon"] * (1 + 1e-12)
    done = fre("synthesize", "texts.txt", "--epsilon", rest, "--delta", "1e-7", "--population",
               "100000", "--inverter", "none", "--ledger", book, "--output", "out4",
               "--threshold", "150")
    assert done.code == 0, done.err


STATEMENT = [(r"privacy, epsilon = (\S+), ", "epsilon", UP), (r", delta = (\S+), for", "claim", UP),
             (r"Delta computed for this mechanism: (\S+)\.\n", "delta", UP),
             (r"probability p = (\S+);", "sampling_rate", UP), (r"sigma = (\S+) ", "sigma", DOWN),
             (r"edge L = (\S+)\.\n", "cell_edge", UP), (r"\((\S+) in all\)", "delta_far", UP),
             (r"farther than (\S+) from each", "split", UP),
             (r"epsilon would be (\S+)\.\n", "worst_case_epsilon", UP),
             (r"certifies epsilon = (\S+) for", "joint_epsilon", UP),
             (r"TSDLap\((\S+),", "lambda", DOWN), (r"deviation (\S+) where", "sigma_local", DOWN)]


def check_statement(text, plan):
    text = "".join(line + "\n" for line in (text if isinstance(text, list) else [text]))
    seen = 0
    for pattern, key, side in STATEMENT:
        found = re.search(pattern, text)
        if found:
            close(found.group(1), plan[key], side)
            seen += 1
    assert seen >= 7


@pytest.mark.parametrize("more", [[], ["--adjacency", "replace"], ["--accountant", "paper"]])
def test_statement(fre, tmp_path, more):
    (tmp_path / "texts.txt").write_text("good day\n" * 60)
    for i, budget in enumerate(odd_budgets(3)):
        done = fre("synthesize", "texts.txt", *budget, "--inverter", "none", "--ledger", "none",
                   "--output", f"out{i}", *more)
        if done.code == 64:
            continue
        assert done.code == 0, done.err
        release = json.loads((tmp_path / f"out{i}" / "release.json").read_text())
        plan = fre("plan", *budget, *more, "--json").json()  # the same one, as it searches nothing at random
        plan["claim"] = plan["delta_target"]
        check_statement(release["statement"], plan)


def test_simulation(fre, tmp_path):
    (tmp_path / "texts.txt").write_text("good day\n" * 130)
    of = ["simulate", "texts.txt", "--epsilon", "8.123456789", "--threshold", "60", "--population",
          "100003", "--inverter", "none", "--seed", "14", "--compare", "--force", "--output", "out"]
    done, exact = fre(*of), fre(*of, "--json").json()
    check_statement(exact["statement"], dict(exact["plan"], claim=exact["plan"]["delta_target"]))
    for name, plan in (("plan here", exact["plan"]),
                       ("curator's plan", exact["not_for_publication"]["comparison"]["curator_plan"])):
        rate, sigma = re.search(re.escape(name) + r" +p = (\S+), tau = \d+, sigma = (\S+)",
                                done.out).groups()
        close(rate, plan["sampling_rate"], UP)
        close(sigma, plan["sigma"], UP)
