"""fre_e2t.spark on a local cluster: the release of one machine, byte for byte, and nothing of its key anywhere else."""

import contextlib
import gzip
import importlib
import itertools
import json
import os
import pathlib
import pickle
import random
import runpy
import signal
import subprocess
import sys

import pytest

from conftest import ROOT, TIMEOUT
from spark_world import (ARGS, SCHEMA, SEEDED, TEXTS, WORKERS_PATH, fre_e2t, here, interrupted, keys_and_plans, parts_of_passes,
                         records_of, spark_of, spellings)

pytest.importorskip("pyspark", reason="fre_e2t.spark needs PySpark: pip install 'pyspark>=4.0'")


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def session(events, tmp_path_factory):
    from pyspark.sql import SparkSession

    made = (SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2").config("spark.eventLog.enabled", "true")
            .config("spark.eventLog.dir", events.as_uri()).config("spark.eventLog.compress", "false")
            .config("spark.local.dir", str(tmp_path_factory.mktemp("local")))
            .config("spark.shuffle.io.retryWait", "1s").getOrCreate())
    made.sparkContext.environment["PYTHONPATH"] = WORKERS_PATH
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def records():
    return records_of(800)


@pytest.mark.parametrize("user, more, partitions", [
    ("who", {}, 3), (False, {"epsilon": float("inf")}, 5), ("who", {"levels": "1024,256"}, 2), ("who", {}, 1),
])
def test_it_is_the_release_of_one_machine(session, records, user, more, partitions):
    frame = session.createDataFrame(random.Random(2).sample(records, len(records)), SCHEMA)
    seen = spark_of.synthesize(frame, user=user, partitions=partitions, **{**SEEDED, **more})
    assert len(seen) >= 3
    assert seen == here(records, user, **more)


@pytest.mark.parametrize("user", ["who", False])
def test_the_driver_gets_what_can_be_released(session, records, user, monkeypatch):
    """And no other count: of the grid's cells those below the threshold stay, though each partition has of them."""
    passes = parts_of_passes(monkeypatch)
    given = {"epsilon": float("inf"), "levels": "grid,1024"}
    frame = session.createDataFrame(records, SCHEMA)
    seen, alone = spark_of.synthesize(frame, user=user, partitions=3, **{**SEEDED, **given}), here(records, user, **given)
    assert seen == alone
    grid, public, sums = passes
    assert sorted((p.index, p.of) for p in grid) == [(0, 3), (1, 3), (2, 3)] and all(p.closed for p in grid + public + sums)
    counts = [count for p in grid for count in p.counts]
    assert counts and min(counts) >= seen.plan["tau"]
    left_out = sum(p.left_out for p in grid)
    assert left_out > 0 and len(counts) + left_out == seen.not_for_publication["cells"]
    assert sum(p.left_out for p in public + sums) == 0
    assert sum(len(p.counts) for p in sums) == len(seen)


def slice_less(rows):
    return rows[1:]


def slice_twice(rows):
    return rows + rows[:1]


def slice_of_another(rows):
    return [rows[0], {"part": rows[0]["part"]}, *rows[2:]]


@pytest.mark.parametrize("change, words", [
    (slice_less, "1 of 3 slices of a stage are missing"), (slice_twice, "a slice is there twice"),
    (slice_of_another, "a slice is there twice"),
])
def test_slices_come_once(session, records, monkeypatch, change, words):
    every = spark_of._Cluster._all
    monkeypatch.setattr(spark_of._Cluster, "_all", lambda self, frame: iter(change(list(every(self, frame)))))
    with pytest.raises(fre_e2t.DataError, match=words):
        spark_of.synthesize(session.createDataFrame(records, SCHEMA), user="who", partitions=3, **SEEDED)


@pytest.mark.parametrize("change, words", [
    (lambda frame: frame.dropDuplicates(["slice"]), "3 parts of a stage were made, and 1 are here"),
    (lambda frame: frame.union(frame.where("slice = 1")), "a part is there twice"),
    (lambda frame: frame.selectExpr("slice", "if(slice = 1, substring(part, 1, length(part) - 1), part) AS part"),
     "the bytes of a part are cut"),
])
def test_executors_have_each_part_once(session, records, monkeypatch, change, words):
    closed = spark_of._Cluster._closed
    monkeypatch.setattr(spark_of._Cluster, "_closed", lambda self, frame, *more: closed(self, change(frame), *more))
    with pytest.raises(fre_e2t.DataError, match=words):
        spark_of.synthesize(session.createDataFrame(records, SCHEMA), user="who", partitions=3, **SEEDED)


@pytest.mark.parametrize("more", [{}, {"max_cells_per_user": 2}])
def test_a_user_in_several_partitions(session, records, more):
    """Whose records lie apart in the frame counts once: as one user, and for at most as many cells as stated."""
    again = records if not more else [(u, TEXTS[(TEXTS.index(t) + 7) % len(TEXTS)]) for u, t in records]
    first, second = (session.createDataFrame(some, SCHEMA).coalesce(1) for some in (records, again[::-1]))
    given = {"epsilon": float("inf"), **more}
    seen = spark_of.synthesize(first.union(second), user="who", partitions=4, **{**SEEDED, **given})
    assert seen == here(records + again, "who", **given)
    assert seen.not_for_publication["users"] == len(records) == seen.not_for_publication["records"] / 2


def test_spellings_nulls_and_blanks(session, records):
    extra = [(" u900 ", "  please book a table\n"), ("u900", "please book a table"), (None, "please book a table"), ("  ", "x"),
             ("u901", None), ("u902", " \t"), ("u903", "a\0b")]
    frame = session.createDataFrame(records + extra, SCHEMA)
    seen = spark_of.synthesize(frame, user="who", **SEEDED)
    assert seen == here(records + [("u900", "please book a table")], "who")
    assert seen.not_for_publication["users"] == len({u for u, _ in records}) + 1


def test_tasks_that_fail_are_made_again(session, records, tmp_path):
    """The first attempt of every task dies half-way; a stage's is made again, and so is all that it stands on."""
    from pyspark.sql import functions as F

    def dies_once(batches, folder=str(tmp_path)):
        from pyspark import TaskContext

        c = TaskContext.get()
        for batch in batches:
            yield batch
        if c.attemptNumber() == 0:
            pathlib.Path(folder, f"{c.stageId()}-{c.partitionId()}").touch()
            raise RuntimeError("the machine is gone")

    frame = session.createDataFrame(records, SCHEMA).repartition(3, F.col("who"))
    frame = frame.mapInArrow(dies_once, SCHEMA)
    assert spark_of.synthesize(frame, user="who", **SEEDED) == here(records, "who")
    assert list(tmp_path.iterdir())


def test_the_key_is_in_no_plan_configuration_or_event_log(session, events, records, monkeypatch, capsys):
    keys, plans = keys_and_plans(monkeypatch, capsys)
    frame = session.createDataFrame(records, SCHEMA)
    release = spark_of.synthesize(frame, user="who", **ARGS)
    assert release.is_private and len(set(keys)) == 1
    seen = "\n".join(plans).encode() + str(session.sparkContext.getConf().getAll()).encode()
    logs = [p.read_bytes() for p in events.rglob("*") if p.is_file()]
    assert "MapInArrow" in "\n".join(plans) and any(b"MapInArrow" in log for log in logs)
    for where in [seen, *logs]:
        for spelled in spellings(keys[0]):
            assert spelled not in where
    other = spark_of.synthesize(frame, user="who", **ARGS)
    assert len(set(keys)) == 2 and other is not release  # of one release each


def tasks_of_stages(events):
    """How many tasks each stage has had that ran."""
    lines = [line for p in events.rglob("*") if p.is_file() for line in p.read_bytes().splitlines(True)]
    ends = [json.loads(line) for line in lines if line.startswith(b'{"Event":"SparkListenerTaskEnd"') and line.endswith(b"\n")]
    seen = [(e["Stage ID"], e["Task Info"]["Index"]) for e in ends]
    return {stage: len({i for s, i in seen if s == stage}) for stage, _ in seen}


def test_partitions_are_counted_at_once(session, events, records):
    """A stage of Spark for all parts of a pass, not one for each, nor a job for each slice of them."""
    before = tasks_of_stages(events)
    frame = session.createDataFrame(records, SCHEMA)
    spark_of.synthesize(frame, user="who", partitions=70, **SEEDED)
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    seen = [n for stage, n in tasks_of_stages(events).items() if stage not in before]
    assert seen.count(70) >= 2 and len(seen) < 70, seen  # counts, and sums; 70 slices of the first pass


def test_records_are_kept_as_values(session, records, monkeypatch):
    """Serialized, 400,000 embeddings took more than a heap of 3 GB, whatever the disk could have held."""
    kept, close = [], spark_of._Cluster.close
    monkeypatch.setattr(spark_of._Cluster, "close", lambda c: (kept.append(c.records.storageLevel), close(c)))
    spark_of.synthesize(session.createDataFrame(records, SCHEMA), user="who", **SEEDED)
    assert [(level.useMemory, level.useDisk, level.deserialized) for level in kept] == [(True, True, True)]


def test_nothing_stays_in_the_cluster(session, records):
    frame = session.createDataFrame(records, SCHEMA)
    spark_of.synthesize(frame, user="who", **SEEDED)
    assert session.sparkContext._jsc.getPersistentRDDs().isEmpty()


def test_the_ledger_refuses_before_anything_is_drawn(session, records, tmp_path):
    frame = session.createDataFrame(records, SCHEMA)
    book = tmp_path / "book.json"
    given = {**ARGS, "ledger": book, "budget_epsilon": 10}
    assert spark_of.synthesize(frame, user="who", **given).not_for_publication["ledger"]["releases"] == 1
    with pytest.raises(fre_e2t.RefusedError):
        spark_of.synthesize(frame, user="who", **given)
    with pytest.raises(fre_e2t.RefusedError):  # the same data, here
        here(records, "who", **{**given, "seed": None})


def test_a_dry_run_plans(session, records):
    frame = session.createDataFrame(records, SCHEMA)
    plan = spark_of.synthesize(frame, user="who", dry_run=True, **ARGS)
    assert plan["epsilon"] == 8 and "differential" in plan.statement.lower()
    assert plan.not_for_publication["records"] == len(records)


@pytest.mark.parametrize("schema, user, more, kind, words", [
    ("who string, text string", "whom", {}, fre_e2t.DataError, "no column 'whom'"),
    ("who string, said string", "who", {}, fre_e2t.DataError, "no column 'text'"),
    ("who string, text array<string>", "who", {}, fre_e2t.DataError, "not a string"),
    ("who double, text string", "who", {}, fre_e2t.DataError, "not a string or an integer"),
    ("who string, text string", "who", {"population": 100, "delta": 1e-3}, fre_e2t.DataError, "more users than"),
    ("who string, text string", "who", {"resume": True}, fre_e2t.UsageError, "takes no resume"),
    ("who string, text string", "who", {"partitions": 0}, fre_e2t.UsageError, "partitions must be"),
    ("who string, text string", "who", {"threshold": -1}, fre_e2t.UsageError, "threshold"),
    ("who string, text string", "text", {}, fre_e2t.UsageError, "text and user name the same column"),
    ("who string, text string", "", {}, fre_e2t.UsageError, "user is the name of a column"),
    ("who string, text string, text string", "who", {}, fre_e2t.DataError, "data has 2 columns 'text' for text"),
    ("who string, text string", "who", {"output": 5}, fre_e2t.UsageError, "output must be a path, not int"),
    ("who string, text string", "who", {"force": "no"}, fre_e2t.UsageError, "force must be True or False"),
])
def test_bad_input(session, records, schema, user, more, kind, words):
    from pyspark.sql import functions as F

    frame = session.createDataFrame(records, SCHEMA)
    if "said" in schema:
        frame = frame.withColumnRenamed("text", "said")
    if "array" in schema:
        frame = frame.withColumn("text", F.array("text"))
    if schema.count("text") == 2:
        frame = frame.select("who", "text", "text")
    if "double" in schema:
        frame = frame.withColumn("who", F.lit(1.5))
    with pytest.raises(kind, match=words):
        spark_of.synthesize(frame, user=user, **{**ARGS, **more})


def test_no_frame():
    with pytest.raises(fre_e2t.UsageError, match="frame is of type list, not a Spark frame"):
        spark_of.synthesize(["a"], user="who", **ARGS)


def test_no_record(session):
    with pytest.raises(fre_e2t.MissingError, match="^the frame has no record that can be used"):
        spark_of.synthesize(session.createDataFrame([], SCHEMA), user="who", **ARGS)


@pytest.mark.parametrize("version, kind, words", [
    (fre_e2t.__version__, fre_e2t.RefusedError, "another run's key"),
    ("0", fre_e2t.UsageError, "a Spark worker has fre-e2t .*, and the driver 0: install the same wheel"),
])
def test_executors_errors_are_the_library_s(session, records, monkeypatch, version, kind, words):
    executor = importlib.import_module("fre_e2t._executor")
    monkeypatch.setattr(spark_of._Cluster, "_send", lambda self, task, key: lambda: pickle.dumps(executor.Order(
        task, bytes(32), True, None, None, version, 2)))
    with pytest.raises(kind, match=words) as error:
        spark_of.synthesize(session.createDataFrame(records, SCHEMA), user="who", **ARGS)
    assert "\n" not in str(error.value)


def raises(batches):
    yield from ()
    raise ValueError("a secret")


def test_what_spark_says_of_values_is_not_repeated(session, records):
    """Of a cast on an executor, and of a function of the user's."""
    frame = session.createDataFrame(records, SCHEMA)
    cast = frame.selectExpr("who", "cast(cast(concat('a secret ', text) as int) as string) as text")
    for failing, words in [(cast, r"^Spark failed \(CAST_INVALID_INPUT\): its own log has the error$"),
                           (frame.mapInArrow(raises, SCHEMA), r"^Spark failed( \([A-Z_.]+\))?: its own log has the error$")]:
        with pytest.raises(fre_e2t.InputOutputError, match=words) as error:
            spark_of.synthesize(failing, user="who", **ARGS)
        assert "secret" not in str(error.value.__context__) and error.value.__cause__ is None


def test_without_pandas(session, monkeypatch):
    """Which PySpark asks for, and nothing here uses."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(fre_e2t.MissingError, match="^fre_e2t.spark needs pandas, which is not installed: pip install "):
        spark_of.check_installation(session)


@pytest.mark.skipif(not WORKERS_PATH, reason="this package is every worker's")
def test_a_worker_without_the_package(session, records, monkeypatch):
    monkeypatch.delitem(session.sparkContext.environment, "PYTHONPATH")
    frame = session.createDataFrame(records, SCHEMA)
    for run in (lambda: spark_of.check_installation(session), lambda: spark_of.synthesize(frame, user="who", **ARGS)):
        with pytest.raises(fre_e2t.MissingError, match="^a Spark worker has not the package .*: install the same wheel") as error:
            run()
        assert "\n" not in str(error.value)


def test_executors_that_are_lost(session, records, monkeypatch, tmp_path):
    """In the midst of a pass, and between two with all that they had cached: what they did is done again, bit for bit."""
    died, stage, driver = tmp_path / "died", spark_of._Cluster.stage, session.sparkContext._gateway.proc.pid

    def parent(pid):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

    def dies(batches):
        for batch in batches:
            if not died.exists():
                died.touch()
                os.kill(parent(os.getppid()), signal.SIGKILL)  # the executor has a daemon, which has the workers
            yield batch

    def executors():
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if parent(process.name) == driver and b"ExecutorBackend" in (process / "cmdline").read_bytes():
                    yield int(process.name)

    def lost(cluster, *args):
        stage(cluster, *args)
        for pid in executors():
            os.kill(pid, signal.SIGKILL)

    def changes(batches):
        for batch in batches:
            texts = [f"please {random.choice('abcdef')}" for _ in range(batch.num_rows)]
            yield type(batch).from_pydict({"who": batch.column(0), "text": texts})

    monkeypatch.setattr(spark_of._Cluster, "stage", lost)
    frame, given = session.createDataFrame(records, SCHEMA), {"user": "who", "partitions": 2, **SEEDED}
    seen = spark_of.synthesize(frame.mapInArrow(dies, SCHEMA), **given)
    assert died.exists() and seen == here(records, "who")
    with pytest.raises(fre_e2t.AgainError, match="the workers' records changed between two stages") as error:
        spark_of.synthesize(frame.mapInArrow(changes, SCHEMA), **given)
    assert "\n" not in str(error.value)


OF_THEIR_OWN = """
import os, signal, sys
import pyspark.sql
import fre_e2t, fre_e2t.spark
session = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
session.sparkContext.setLogLevel("OFF")
java = session.sparkContext._gateway.proc.pid
def dies(batches):
    os.kill(java, signal.SIGKILL)
    yield from batches
if sys.argv[1] == "killed":
    frame = session.createDataFrame([("a", "please book a table")], "who string, text string").mapInArrow(dies, "who string, text string")
else:
    frame = session.range(1).selectExpr("'a' AS who", "repeat('please ', 2000000000 / 8) AS text")
try:
    fre_e2t.spark.synthesize(frame, 8, user="who", threshold=40, population=2000, ledger=False, output="never")
except fre_e2t.Error as error:
    print(type(error).__name__, "|", error, "|", os.path.exists("never"), flush=True)
os._exit(0)  # Spark's own goodbyes need Java
"""


@pytest.mark.parametrize("way, said", [
    ("killed", "InternalError | Spark ended while the release was made, and its own log says why; nothing was released | False"),
    ("memory", "OutOfMemoryError | Spark ran out of memory: give it more"),
])
def test_a_spark_that_ends(tmp_path, way, said):
    env = {**os.environ, "PYTHONPATH": WORKERS_PATH}
    done = subprocess.run([sys.executable, "-c", OF_THEIR_OWN, way], cwd=tmp_path, env=env, capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert done.stdout.startswith(said) and done.stdout.count("\n") == 1, done.stderr[-2000:]


def test_it_can_be_interrupted(session, records, tmp_path):
    frame = session.createDataFrame(records, SCHEMA)
    interrupted(frame, tmp_path, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert session.sparkContext._jsc.getPersistentRDDs().isEmpty()
    assert frame.count() == len(records)  # only this release's jobs were cancelled


def test_partitions_by_default(session, monkeypatch):
    """As many as there are cores; where executors come and go nobody knows that, and Spark's own number is taken."""
    assert spark_of._partitions(session, None) == 2
    told = {"spark.dynamicAllocation.enabled": "true", "spark.sql.shuffle.partitions": "70"}
    monkeypatch.setattr(type(session.conf), "get", lambda conf, name, default=None: told.get(name, default))
    assert spark_of._partitions(session, None) == 70


def test_check_installation(session):
    assert spark_of.check_installation(session)["version"] == fre_e2t.__version__


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_the_example(session, tmp_path, monkeypatch, capsys, kind):
    with gzip.open(fre_e2t.bundled_data(), "rt") as f:
        rows = [{"user": f"u{i}", "text": json.loads(line)["text"]} for i, line in enumerate(itertools.islice(f, 3000))]
    given = tmp_path / f"texts.{kind}"
    if kind == "json":
        given.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        importlib.import_module("pyarrow.parquet").write_table(importlib.import_module("pyarrow").Table.from_pylist(rows), given)
    monkeypatch.setattr("sys.argv", ["spark_release.py", str(given), str(tmp_path / "out"), "--population", "100000",
                                     "--threshold", "40", "--epsilon", "8", "--levels", "grid"])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    runpy.run_path(str(ROOT / "examples" / "spark_release.py"), run_name="__main__")
    release, printed = fre_e2t.load(tmp_path / "out"), capsys.readouterr().out.splitlines()
    assert release.is_private and len(release) > 0
    assert printed[0] == release.statement.splitlines()[0] and len(printed) == 1 + min(20, len(release))
