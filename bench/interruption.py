#!/usr/bin/env python3
"""How long a run goes on after SIGINT: of the Python package until its caller has KeyboardInterrupt, of the program until it
has died of the signal and its outputs are gone.

Needs the package fre_e2t (PYTHONPATH, or installed); installs nothing.  Each case runs once to its end, then once a moment:
the signal comes at as many moments as are asked for, spread evenly over the run.  Of each wait there are seconds, and
processor seconds of all threads: on a machine that others use too, those are what the code decides.  ended: runs that were
over before their moment.  wrong: runs that ended otherwise than by the signal, as if it had not come, or left files; the very last
moment of a run may be among them.

usage: interruption.py FRE_E2T TEXTS.jsonl.gz [--moments 10] [--rows 20000] [--threads N] [--only WORD] [--language-model GGUF]
"""
import argparse
import gzip
import itertools
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import fre_e2t
import numpy as np

OF_PROCESS = 2  # CPUCLOCK_SCHED, see clock_getcpuclockid(3)
SEED = "5e" * 32
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(fre_e2t.__file__)))
RUNS = 5000  # of an audit


# ---- what runs --------------------------------------------------------------------------------------------------

def texts_of(path, n):
    with gzip.open(path, "rt", encoding="utf-8") as f:
        return [json.loads(line)["text"] for line in itertools.islice(f, n)]


def package_cases(given, folder):
    """Name -> (data that is made before, the call)."""
    budget = {"epsilon": 8, "user": False, "ledger": False, "seed": SEED, "threshold": 80, "population": 1_000_000,
              "progress": False, "threads": given.threads}
    some = {"threads": given.threads, "progress": False}
    path, release, rows = (os.path.join(folder, name) for name in ("texts.jsonl.gz", "release", "rows.npy"))

    def texts():
        return texts_of(path, given.rows)

    return {
        "synthesize": (lambda: None, lambda _: fre_e2t.synthesize(path, **budget)),
        "synthesize-memory": (texts, lambda t: fre_e2t.synthesize(t * 20, inverter="none", **budget)),
        "synthesize-iterator": (texts, lambda t: fre_e2t.synthesize(iter(t * 20), inverter="none", dry_run=True, **budget)),
        "synthesize-paraphrases": (lambda: None, lambda _: fre_e2t.synthesize(path, paraphrases=3, **budget)),
        "embed": (texts, lambda t: fre_e2t.embed(t, **some)),
        "embed-long": (lambda: [" ".join(texts())] * 100, lambda t: fre_e2t.embed(t, **some)),
        "invert": (lambda: np.load(rows), lambda x: fre_e2t.invert(x, noise_std=.02, **some)),
        "evaluate": (lambda: None, lambda _: fre_e2t.evaluate(release, path, label="label", **some)),
        "audit": (lambda: None, lambda _: fre_e2t.audit(4, runs=RUNS, **some)),
        "plan": (lambda: None, lambda _: [fre_e2t.plan(4, levels=["grid", "4096x8", "1024"], population=p)
                                          for p in (10**6, 10**5, 10**7, 10**8)]),
        "account": (lambda: None, lambda _: [fre_e2t.account(sampling_rate=.1, tau=80 + i, sigma=1.5) for i in range(3)]),
        **({"score": (texts, lambda t: fre_e2t.score(t, language_model=given.language_model, **some))}
           if given.language_model else {}),
    }


def run_package(given):
    """One case in this process; says when it begins, and when the interruption has come."""
    data, call = package_cases(given, given.folder)[given.case]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where a shell runs this in its background
    made = data()
    print("begins", flush=True)
    try:
        call(made)
    except KeyboardInterrupt:
        print(time.monotonic(), time.process_time(), flush=True)


def program_cases(given, folder):
    """Name -> words; what they write goes to the folder `out`."""
    budget = ["--epsilon", "8", "--threshold", "80", "--population", "1000000", "--user-field", "none", "--ledger", "none", "--seed", SEED, "-o", "out"]
    some = ["--threads", str(given.threads)]
    path, release, rows = (os.path.join(folder, name) for name in ("texts.jsonl.gz", "release", "rows.npy"))
    return {
        "synthesize": ["synthesize", path, *budget, *some],
        "synthesize-reading": ["synthesize", os.path.join(folder, "many.jsonl.gz"), *budget, *some, "--dry-run"],
        "synthesize-rows": ["synthesize", os.path.join(folder, "many.npy"), *budget, *some, "--inverter", "none"],
        "embed": ["embed", path, "-o", "out", *some],
        "invert": ["invert", rows, "-o", "out", *some],
        "evaluate": ["evaluate", release, path, "--label-field", "label", *some],
        "report": ["report", release, "-o", "out"],
        "audit": ["audit", "--epsilon", "4", "--runs", str(RUNS), *some],
        "plan": ["plan", "--epsilon", "4", "--levels", "grid,4096x8,1024", "--population", "100000000"],
        "account": ["account", "--sampling-rate", ".1", "--tau", "80", "--sigma", "1.5"],
        **({"score": ["score", path, "--language-model", given.language_model, *some]} if given.language_model else {}),
    }


def make_data(given, folder):
    """Texts, a release of them, rows, and what takes long to read."""
    with gzip.open(given.texts, "rb") as f:
        lines = list(itertools.islice(f, given.rows))
    pathlib.Path(folder, "texts.jsonl.gz").write_bytes(gzip.compress(b"".join(lines), 1))
    pathlib.Path(folder, "many.jsonl.gz").write_bytes(gzip.compress(b"".join(lines), 1) * (600_000 // len(lines)))
    texts = [json.loads(line)["text"] for line in lines]
    np.save(os.path.join(folder, "rows.npy"), fre_e2t.embed(texts[:12], progress=False))
    np.save(os.path.join(folder, "many.npy"), np.random.default_rng(1).normal(size=(100_000, 384)).astype(np.float32))
    fre_e2t.synthesize(texts, 8, user=False, ledger=False, threshold=80, population=1_000_000, seed=SEED, progress=False,
                       output=os.path.join(folder, "release"))


# ---- one run ----------------------------------------------------------------------------------------------------

def processor_of(pid):
    return time.clock_gettime(~pid << 3 | OF_PROCESS)


class Run:
    """A process that begins, is hit, and ends."""

    def __init__(self, words, folder, says):
        self.words, self.folder, self.says = words, folder, says
        os.makedirs(folder)
        self.before = set(os.listdir(folder))
        self.process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "TMPDIR": folder, "PYTHONPATH": PACKAGE})
        if says:
            self.process.stdout.readline()
        self.began = time.monotonic()

    def to_its_end(self):
        self.process.stdout.read()
        if self.process.wait() != 0:
            sys.exit(f"{' '.join(self.words)}: exit code {self.process.returncode}")
        return time.monotonic() - self.began

    def hit(self, after):
        """Seconds and processor seconds from the signal on; None: it was over."""
        try:
            self.process.wait(max(0.0, self.began + after - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        if self.process.returncode is not None:
            return None
        used, at = processor_of(self.process.pid), time.monotonic()
        self.process.send_signal(signal.SIGINT)
        said = self.process.stdout.read()
        _, status, all_used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.process.stdout.close()
        if self.says:
            return self._caller(said, at, used)
        return time.monotonic() - at, all_used.ru_utime + all_used.ru_stime - used, self._is_clean(-signal.SIGINT)

    def _caller(self, said, at, used):
        if not said:
            return None if self.process.returncode == 0 else (0.0, 0.0, False)
        then, then_used = map(float, said.split())
        return then - at, then_used - used, self._is_clean(0)

    def _is_clean(self, code):
        return self.process.returncode == code and set(os.listdir(self.folder)) == self.before


def measure(given, name, words, says, folder):
    whole = Run(words, os.path.join(folder, f"{name}-whole"), says).to_its_end()
    found = [Run(words, os.path.join(folder, f"{name}-{i}"), says).hit(whole * (i + .5) / given.moments)
             for i in range(given.moments)]
    hits = [f for f in found if f is not None]
    wall, used = [f[0] for f in hits] or [0.0], [f[1] for f in hits] or [0.0]
    return {"case": name, "run_seconds": round(whole, 2), "moments": len(hits), "ended": len(found) - len(hits),
            "wrong": sum(not f[2] for f in hits),
            "median_seconds": round(statistics.median(wall), 3), "max_seconds": round(max(wall), 3),
            "median_processor_seconds": round(statistics.median(used), 3), "max_processor_seconds": round(max(used), 3)}


# ---- all of them ------------------------------------------------------------------------------------------------

def main():
    parser = argparse.ArgumentParser(description="how long a run goes on after SIGINT")
    parser.add_argument("program")
    parser.add_argument("texts")
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--rows", type=int, default=20000, help="texts of a run")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="cases whose name has this word")
    parser.add_argument("--language-model", help="for score")
    parser.add_argument("--case", help=argparse.SUPPRESS)  # the package's process
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        return run_package(given)
    given.program, given.texts = os.path.abspath(given.program), os.path.abspath(given.texts)
    with tempfile.TemporaryDirectory(prefix="interruption-") as folder:
        make_data(given, folder)
        again = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--folder", folder, "--case"]
        cases = [(f"package {name}", [*again, name], True) for name in package_cases(given, folder)]
        cases += [(f"program {name}", [given.program, *words], False) for name, words in program_cases(given, folder).items()]
        for name, words, says in cases:
            if given.only in name:
                print(json.dumps(measure(given, name, words, says, os.path.join(folder, "runs"))), flush=True)


if __name__ == "__main__":
    main()
