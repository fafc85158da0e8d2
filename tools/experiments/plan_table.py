#!/usr/bin/env python3
"""What a budget buys under each accountant: the tables of docs/privacy-numbers.md, in Markdown.

usage: plan_table.py [--program build/fre-e2t] [--epsilon 1,2,4,8] [--projection-dim 20,30,40]
                     [--population 1000000,100000000] [--distributed]

A row is one plan: the paper's accountant (its analytic Gaussian, the v with the least noise), the
joint one at the paper's sampling rate, the joint one at its best rate, and the latter with
worst-case sensitivity.  With --distributed: the joint accountant for discrete noise with and
without cover messages, two-phase and one-shot, and the paper's distributed theorem.  delta's terms
are released cells, far members and unreleased tags; they add up to the delta of the plan.  Seconds
are those of one `plan` process by the clock, and are for the reader only.
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
    if done.returncode == INFEASIBLE:
        return None, seconds
    if done.returncode != 0:
        sys.exit(done.stderr.decode())
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
    paper = plan(program, [*common, "--accountant", "paper"])
    yield "paper, analytic", paper
    if paper[0] is None:
        yield "joint, paper's p", (None, 0)
    else:
        yield "joint, paper's p", plan(program,
                                       [*common, "--sampling-rate", paper[0]["sampling_rate"]])
    yield "joint, best p", plan(program, common)
    yield "worst case", plan(program, [*common, "--sensitivity", "worst-case"])


def distributed(program, common):
    common = [*common, "--distributed"]
    yield "cover, two-phase", plan(program, common)
    yield "cover, one-shot", plan(program, [*common, "--one-shot"])
    yield "no cover, two-phase", plan(program, [*common, "--cover", "off"])
    yield "paper, zCDP", plan(program, [*common, "--accountant", "paper"])


def numbers(text):
    return [x for x in text.split(",") if x]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--program", default="build/fre-e2t")
    p.add_argument("--epsilon", default="1,2,4,8")
    p.add_argument("--projection-dim", default="20,30,40")
    p.add_argument("--population", default="1000000,100000000")
    p.add_argument("--distributed", action="store_true")
    a = p.parse_args()
    for population in numbers(a.population):
        for k in numbers(a.projection_dim):
            print(f"\nN = {float(population):.0e}, k = {k}\n")
            print("| ε | accountant | p | τ | σ | σ/p | δ released | δ far | δ unreleased "
                  "| dummies | s |")
            print("|--|--|--|--|--|--|--|--|--|--|--|")
            for epsilon in numbers(a.epsilon):
                common = ["--epsilon", epsilon, "--delta", "1e-6", "--population", population, "--projection-dim", k]
                kinds = distributed if a.distributed else curator
                for label, result in kinds(a.program, common):
                    row(label, epsilon, result)


if __name__ == "__main__":
    main()
