#!/usr/bin/env python3
"""One release by the program and by the Python package, of the same texts, one after the other, as often as is asked for:
seconds, peak memory, and whether both are the same release.

Needs the package fre_e2t (PYTHONPATH, or installed); installs nothing.  All releases have the same seed, so they are
NOT PRIVATE.  Each run is a process of its own.  Of the package `call` is what synthesize takes and `process` the whole of
it, interpreter and imports among it, as the program's is.

usage: package_vs_cli.py FRE_E2T TEXTS [--runs 5] [--in-memory] [--threads N] [--threshold 100] [--levels grid] ...
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

from processes import run

SEED = "5e" * 32
FILES = ("synthetic.jsonl", "release.json", "centroids.npy", "counts.npy")


# ---- the package, in a process of its own ---------------------------------------------------------------------

def texts_of(path):
    """Its texts, as they lie in a notebook."""
    import gzip

    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        return [json.loads(line)["text"] for line in f]


def by_package(given, target):
    import fre_e2t

    data = texts_of(given.texts) if given.in_memory else given.texts
    wall = time.monotonic()
    fre_e2t.synthesize(data, given.epsilon, output=target, user=False, ledger=False, seed=SEED, population=given.population,
                       threshold=given.threshold, levels=given.levels, inverter=given.inverter, threads=given.threads,
                       progress=False)
    pathlib.Path(target + ".seconds").write_text(str(time.monotonic() - wall), encoding="ascii")


# ---- the runs ---------------------------------------------------------------------------------------------------

def program_words(given, target):
    return [given.program, "synthesize", given.texts, "-o", target, "--quiet", "--epsilon", str(given.epsilon), "--population",
            str(given.population), "--threshold", str(given.threshold), "--levels", given.levels, "--threads", str(given.threads),
            "--ledger", "none", "--user-field", "none", "--seed", SEED,
            *(["--inverter", given.inverter] if given.inverter else [])]


def release_of(folder):
    return [pathlib.Path(folder, name).read_bytes() for name in FILES]


def measure(given, folder):
    """Alternately, so that both have the same of whatever else the machine does."""
    program, package, calls, same = [], [], [], True
    for i in range(given.runs):
        ours, theirs = os.path.join(folder, f"program-{i}"), os.path.join(folder, f"package-{i}")
        program.append(run(program_words(given, ours)))
        package.append(run([sys.executable, *sys.argv, "--package", theirs]))
        calls.append(float(pathlib.Path(theirs + ".seconds").read_text(encoding="ascii")))
        same = same and release_of(ours) == release_of(theirs)
    return program, package, calls, same


def seconds(values):
    return {"min": round(min(values), 3), "median": round(statistics.median(values), 3), "max": round(max(values), 3)}


def table(given, program, package, calls, same):
    theirs = [r["seconds"] for r in program]
    return {"runs": given.runs, "threads": given.threads, "data": "a list of str" if given.in_memory else "a path",
            "the_same_release": same, "program_seconds": seconds(theirs),
            "package_call_seconds": seconds(calls), "package_process_seconds": seconds([r["seconds"] for r in package]),
            "call_to_program": {"min": round(min(calls) / min(theirs), 4),
                                "median": round(statistics.median(calls) / statistics.median(theirs), 4)},
            "program_processor_seconds": seconds([r["processor"] for r in program]),
            "package_processor_seconds": seconds([r["processor"] for r in package]),
            "program_peak_mib": round(max(r["peak_bytes"] for r in program) / 2**20, 1),
            "package_peak_mib": round(max(r["peak_bytes"] for r in package) / 2**20, 1)}


def main():
    parser = argparse.ArgumentParser(description="a release by the Python package beside the program's")
    parser.add_argument("program")
    parser.add_argument("texts")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--in-memory", action="store_true", help="the package gets a list of str (of JSON lines with text)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--levels", default="grid")
    parser.add_argument("--inverter", help="none: centroids alone")
    parser.add_argument("--threshold", type=int, default=100)
    parser.add_argument("--population", type=int, default=1_000_000)
    parser.add_argument("--epsilon", type=float, default=4)
    parser.add_argument("--package", help=argparse.SUPPRESS)  # where one run of it writes
    given = parser.parse_args()
    if given.package:
        return by_package(given, given.package)
    with tempfile.TemporaryDirectory(prefix="package-bench-") as folder:
        found = table(given, *measure(given, folder))
    print(json.dumps(found, indent=1))
    return 0 if found["the_same_release"] else 1


if __name__ == "__main__":
    sys.exit(main())
