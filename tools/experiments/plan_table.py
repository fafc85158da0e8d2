#!/usr/bin/env python3
"""What a budget buys under each accountant: the tables of docs/privacy-numbers.md, in Markdown.

usage: plan_table.py [--program build/fre-e2t] [--epsilon 1,2,4,8] [--projection-dim 20,30,40]
                     [--population 1000000,100000000] [--delta auto] [--distributed]
                     [--paper | --before PROGRAM | --levels LIST...]

A row is one plan, delta 1/(10 N) unless --delta says otherwise: the joint accountant at its best
rate, and with worst-case sensitivity; with --distributed, for clients' discrete noise with and without
cover messages, two contacts and one.  --paper: the paper's accountant (its analytic Gaussian,
the v with the least noise, or its distributed theorem), and the joint one at the paper's sampling
rate and at its best.  delta's terms are released cells, far members and unreleased tags; they add
up to the delta of the plan.  Seconds are those of one `plan` process by the clock, and are for the
reader only.

--before PROGRAM: sigma/p of another build and of this one, curator and distributed as each build takes it
by default.

--levels LIST...: plans by levels, with noisy and with sampled counts: the grid's rate and sigma/p, and of
the finest level of public cells its rate, least count, noise of a count and of a sum, and the norm of
the noise on the mean of a cell of the least count.
"""
import argparse
import json
import subprocess
import sys
import time

INFEASIBLE = 64


def plan(program, words):
    """The plan as a dictionary and its seconds; None when the budget can't be met."""
    start = time.monotonic()
    done = subprocess.run([program, "plan", "--json", *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    seconds = time.monotonic() - start
    said = done.stderr.decode()
    if done.returncode == INFEASIBLE and "unknown flag" not in said:
        return None, seconds
    if done.returncode != 0:
        sys.exit(said)
    return json.loads(done.stdout), seconds


def short(x):
    return "–" if x is None else f"{x:.3g}"


def delta(x):
    return "–" if x is None else "0" if x == 0 else f"{x:.1e}".replace("e-0", "e-")


def row(label, first, result):
    p, seconds = result
    if p is None:
        print(f"| {first} | {label} | – | – | – | – | – | – | – | – | {seconds:.2f} |")
        return
    rate, sigma = p["sampling_rate"], p["sigma"]
    print(f"| {first} | {label} | {rate:.3g} | {p['tau']} | {short(sigma)} | {short(sigma / rate)} "
          f"| {delta(p['delta_released'])} | {delta(p['delta_far'])} | {delta(p['delta_unreleased'])} "
          f"| {short(p['expected_dummies'])} | {seconds:.2f} |")


def curator(program, common):
    yield "joint, best p", plan(program, common)
    yield "worst case", plan(program, [*common, "--sensitivity", "worst-case"])


def distributed(program, common):
    common = [*common, "--distributed", "--noise-by", "clients"]
    two = [*common, "--contacts", "two"]
    yield "cover, two contacts", plan(program, two)
    yield "cover, one contact", plan(program, [*common, "--contacts", "one"])
    yield "no cover, two contacts", plan(program, [*two, "--cover", "off"])


def curator_and_paper(program, common):
    paper = plan(program, [*common, "--accountant", "paper"])
    yield "paper, analytic", paper
    if paper[0] is None:
        yield "joint, paper's p", (None, 0)
    else:
        yield "joint, paper's p", plan(program,
                                       [*common, "--sampling-rate", paper[0]["sampling_rate"]])
    yield "joint, best p", plan(program, common)


def distributed_and_paper(program, common):
    common = [*common, "--distributed"]
    yield "paper, zCDP", plan(program, [*common, "--accountant", "paper"])
    yield "joint, best p", plan(program, common)


KINDS = {(False, False): curator, (False, True): distributed, (True, False): curator_and_paper,
         (True, True): distributed_and_paper}


def numbers(text):
    return [x for x in text.split(",") if x]


def budget(a, epsilon, population, k):
    delta = repr(1 / (10 * float(population))) if a.delta == "auto" else a.delta
    return ["--epsilon", epsilon, "--delta", delta, "--population", population, "--projection-dim", k]


def ratio(result):
    p = result[0]
    return "–" if p is None else short(p["sigma"] / p["sampling_rate"])


def compare(a):
    epsilons = numbers(a.epsilon)
    print("| mode | N | k | " + " | ".join(f"ε = {e}" for e in epsilons) + " |")
    print("|--|--|--|" + "--|" * len(epsilons))
    for mode, more in (("curator", []), ("distributed", ["--distributed"])):
        for population in numbers(a.population):
            for k in numbers(a.projection_dim):
                cells = [" → ".join(ratio(plan(program, [*budget(a, e, population, k), *more]))
                                    for program in (a.before, a.program)) for e in epsilons]
                print(f"| {mode} | {float(population):.0e} | {k} | " + " | ".join(cells) + " |",
                      flush=True)


def levels_row(epsilon, names, counts, p):
    if p is None:
        print(f"| {epsilon} | {names} | {counts} |" + " – |" * 9, flush=True)
        return
    grid = [x for x in p["levels"] if x["name"] == "grid"]
    level = p["levels"][len(grid)]
    rate = short(grid[0]["sampling_rate"]) if grid else "–"
    noise = short(grid[0]["sigma"] / grid[0]["sampling_rate"]) if grid else "–"
    on_mean = level["sigma"] * p["dimension"] ** 0.5 / level["tau"]
    print(f"| {epsilon} | {names} | {counts} | {rate} | {noise} | {short(level['sampling_rate'])} "
          f"| {level['tau']} | {short(level['count_sigma'])} | {short(level['sigma'])} "
          f"| {short(on_mean)} | {delta(p['delta'] - p['delta_levels'])} | {delta(p['delta_levels'])} |",
          flush=True)


def by_levels(a):
    for population in numbers(a.population):
        for k in numbers(a.projection_dim):
            print(f"\nN = {float(population):.0e}, k = {k}\n")
            print("| ε | levels | counts | grid's p | grid's σ/p | p | T | σ₀ | σ | σ√d/T | δ grid | δ levels |")
            print("|--|--|--|--|--|--|--|--|--|--|--|--|", flush=True)
            for epsilon in numbers(a.epsilon):
                for names in a.levels:
                    for counts in ("noisy", "sampled"):
                        words = [*budget(a, epsilon, population, k), "--levels", names, "--counts", counts]
                        levels_row(epsilon, names, counts, plan(a.program, words)[0])


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--program", default="build/fre-e2t")
    p.add_argument("--epsilon", default="1,2,4,8")
    p.add_argument("--projection-dim", default="20,30,40")
    p.add_argument("--population", default="1000000,100000000")
    p.add_argument("--delta", default="auto", help="auto: 1/(10 N)")
    p.add_argument("--distributed", action="store_true")
    p.add_argument("--paper", action="store_true")
    p.add_argument("--before", metavar="PROGRAM")
    p.add_argument("--levels", metavar="LIST", nargs="+")
    a = p.parse_args()
    if a.before:
        compare(a)
        return
    if a.levels:
        by_levels(a)
        return
    for population in numbers(a.population):
        for k in numbers(a.projection_dim):
            print(f"\nN = {float(population):.0e}, k = {k}\n")
            print("| ε | accountant | p | τ | σ | σ/p | δ released | δ far | δ unreleased "
                  "| dummies | s |")
            print("|--|--|--|--|--|--|--|--|--|--|--|", flush=True)
            for epsilon in numbers(a.epsilon):
                for label, result in KINDS[a.paper, a.distributed](
                        a.program, budget(a, epsilon, population, k)):
                    row(label, epsilon, result)


if __name__ == "__main__":
    main()
