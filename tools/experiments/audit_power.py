#!/usr/bin/env python3
"""What `fre-e2t audit` would catch: the factor on sigma, tau and p nearest to 1 at which it refutes
the claim's plan, by bisection; each step is a whole audit, with a seed of its own.

    tools/experiments/audit_power.py --epsilon 1,4 --runs 1000000

A step is one audit, so the last digit is that audit's luck.
"""
import argparse
import json
import subprocess
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "fre-e2t"
# A factor that certainly shows, and the way to 1.
WORST = {"sigma": 0.2, "tau": 0.5, "rate": 2.0}


def refuted(args, epsilon, parameter, factor, seed):
    command = [str(PROGRAM), "audit", "--json", "--quiet", "--epsilon", epsilon, "--population",
               args.population, "--delta", args.delta, "--confidence", args.confidence, "--dimension",
               args.dimension, "--runs", args.runs, "--seed", f"{seed:x}",
               f"--{parameter}-factor", f"{factor:.6g}"] + args.more
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def least(args, epsilon, parameter):
    """The factor nearest to 1 that is refuted, and the audit there."""
    bad, good, seed = WORST[parameter], 1.0, 1
    found = None
    while abs(good - bad) > float(args.tolerance):
        middle = (bad + good) / 2
        seed += 1
        answer = refuted(args, epsilon, parameter, middle, seed)
        if answer["refuted"]:
            bad, found = middle, answer
        else:
            good = middle
    return bad, found


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--epsilon", default="1,4")
    p.add_argument("--population", default="1000000")
    p.add_argument("--delta", default="1e-7")
    p.add_argument("--runs", default="1000000")
    p.add_argument("--confidence", default="0.95")
    p.add_argument("--dimension", default="16", help="only the record's direction tells")
    p.add_argument("--tolerance", default="0.02")
    p.add_argument("--parameters", default="sigma,tau,rate")
    p.add_argument("more", nargs="*", help="further flags of audit, after --")
    args = p.parse_args()
    print("| epsilon | parameter | refuted at a factor of | by |", flush=True)
    print("|--|--|--|--|", flush=True)
    for epsilon in args.epsilon.split(","):
        for parameter in args.parameters.split(","):
            factor, a = least(args, epsilon, parameter)
            how = "no factor tried"
            if a and a["curve_refuted"]:
                c = a["curve"]
                how = (f"delta {c['delta_lower_bound']:.3g} where {c['delta_claimed']:.3g} is "
                       f"allowed, at epsilon {c['epsilon']:.2g}")
            elif a:
                how = f"epsilon {a['epsilon_lower_bound']:.3g}"
            print(f"| {epsilon} | {parameter} | {factor:.3g} | {how} |", flush=True)


if __name__ == "__main__":
    main()
