#!/usr/bin/env python3
"""A release by Spark on this machine beside that of the program, of the same texts: records a second of processor time, bytes
that travel, memory, and whether both are the same release.

Needs the package fre_e2t (PYTHONPATH, or installed), pyspark 4, pyarrow and Java 17; installs nothing.  Both releases
have the same seed, so they are NOT PRIVATE.  Processor time is that of all processes of a run, so what else the machine does
counts for nothing; wall-clock time is beside it.  A record is a user's of its own.

usage: spark_vs_cli.py FRE_E2T TEXTS.jsonl.gz [--rows 50000] [--cores 2] [--levels grid,4096x8,1024,256] [--threshold 100]
"""
import argparse
import gzip
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import fre_e2t
import fre_e2t.spark as spark_of

from processes import memory_peak, processor_time, run

SEED = "5e" * 32


# ---- what is measured of the cluster ------------------------------------------------------------------------

class Watch:
    """Each pass of a release: its seconds, and the bytes of the slices that the driver gets."""

    def __init__(self):
        self.passes, self.cached = [], 0
        stage, close, view = spark_of._Cluster.stage, spark_of._Cluster.close, spark_of._Cluster._all

        def watched(cluster, total, task, key):
            wall, used = time.monotonic(), processor_time()
            self.passes.append({"part_bytes": 0, "parts": 0, "task_bytes": len(task)})
            stage(cluster, total, task, key)
            self.passes[-1] |= {"seconds": time.monotonic() - wall, "processor": processor_time() - used}

        def rows(cluster, frame):
            for row in view(cluster, frame):
                self.passes[-1]["part_bytes"] += len(row["part"])
                self.passes[-1]["parts"] += 1
                yield row

        def closed(cluster):
            stored = cluster.session.sparkContext._jsc.sc().getRDDStorageInfo()
            self.cached = max([info.memSize() + info.diskSize() for info in stored], default=0)
            close(cluster)

        spark_of._Cluster.stage, spark_of._Cluster.close, spark_of._Cluster._all = watched, closed, rows


def shuffled(events):
    """Bytes that tasks wrote for others."""
    total = 0
    for path in pathlib.Path(events).rglob("*"):
        for line in path.read_bytes().splitlines() if path.is_file() else []:
            if line.startswith(b'{"Event":"SparkListenerTaskEnd"'):
                metrics = json.loads(line).get("Task Metrics") or {}
                total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total


def session_of(cores, folder):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = (SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false")
            .config("spark.eventLog.enabled", "true").config("spark.eventLog.compress", "false")
            .config("spark.eventLog.dir", pathlib.Path(folder, "events").as_uri())
            .config("spark.local.dir", os.path.join(folder, "local")).config("spark.driver.memory", "3g").getOrCreate())
    made.sparkContext.setLogLevel("ERROR")
    return made


# ---- the runs -------------------------------------------------------------------------------------------------

def by_spark(folder, given, arguments):
    watch, session = Watch(), session_of(given.cores, folder)
    frame = session.read.json(os.path.join(folder, "texts.jsonl"))
    spark_of.check_installation(session)  # workers are there, with the model
    wall, used, held = time.monotonic(), processor_time(), memory_peak()
    release = spark_of.synthesize(frame, user="user", **arguments)
    out = {"seconds": time.monotonic() - wall, "processor": processor_time() - used, "passes": watch.passes,
           "cached_bytes": watch.cached, "driver_python_bytes": memory_peak() - held}
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    out["shuffle_bytes"] = shuffled(os.path.join(folder, "events"))
    session.stop()
    return release, out


def by_program(program, folder, given, source, extra):
    target = os.path.join(folder, "out-" + source)
    words = [program, "synthesize", os.path.join(folder, source), "-o", target, "--epsilon", str(given.epsilon),
             "--threshold", str(given.threshold), "--population", str(given.population), "--levels", given.levels,
             "--ledger", "none", "--inverter", "none", "--seed", SEED, "--threads", str(given.cores), *extra]
    return target, run(words)


def write_texts(source, folder, rows):
    n = 0
    opened = gzip.open if source.endswith(".gz") else open
    with opened(source, "rt", encoding="utf-8") as f, \
            open(os.path.join(folder, "texts.jsonl"), "w", encoding="utf-8") as out:
        for n, line in enumerate(itertools.islice(f, rows), 1):
            print(json.dumps({"user": f"u{n}", "text": json.loads(line)["text"]}), file=out)
    return n


def measure(given, folder):
    n = write_texts(given.texts, folder, given.rows)
    os.mkdir(os.path.join(folder, "events"))
    arguments = {"epsilon": given.epsilon, "threshold": given.threshold, "population": given.population,
                 "levels": given.levels, "ledger": False, "inverter": "none", "seed": SEED}
    out = {"rows": n, "cores": given.cores, "levels": given.levels}

    def measured(**more):  # at once: of many rows, each takes long, and the next may fail
        out.update(more)
        print(json.dumps(more), file=sys.stderr)

    target, program = by_program(given.program, folder, given, "texts.jsonl", ["--user-field", "user"])
    measured(program=program)
    release, spark = by_spark(folder, given, arguments)
    measured(spark=spark, released_cells=len(release), the_same_release=release == fre_e2t.load(target))
    subprocess.run([given.program, "embed", os.path.join(folder, "texts.jsonl"), "-o", os.path.join(folder, "rows.npy"),
                    "--threads", str(given.cores)], check=True, stdout=subprocess.DEVNULL)
    _, cached = by_program(given.program, folder, given, "rows.npy", [])
    measured(program_on_embeddings=cached)
    return out


def main():
    parser = argparse.ArgumentParser(description="a release by Spark beside the program's")
    parser.add_argument("program")
    parser.add_argument("texts")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--levels", default="grid,4096x8,1024,256")
    parser.add_argument("--threshold", type=int, default=100)
    parser.add_argument("--population", type=int, default=1_000_000)
    parser.add_argument("--epsilon", type=float, default=8)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spark-bench-") as folder:
        print(json.dumps(measure(given, folder), indent=1))


if __name__ == "__main__":
    main()
