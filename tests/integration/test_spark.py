"""fre_e2t.spark on a local cluster: the release of one machine, byte for byte, and nothing of its key anywhere else."""

import base64
import importlib
import os
import pathlib
import pickle
import random
import shutil
import sys

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("pyarrow", reason="fre_e2t.spark needs pyarrow: pip install pyarrow")
pyspark = pytest.importorskip("pyspark", reason="fre_e2t.spark needs PySpark: pip install 'pyspark>=4.0'")
if int(pyspark.__version__.split(".")[0]) < 4:
    pytest.skip(f"fre_e2t.spark needs PySpark 4.0, and this is {pyspark.__version__}", allow_module_level=True)
if not shutil.which("java"):
    pytest.skip("Spark needs Java 17 (default-jre-headless), which is not installed", allow_module_level=True)
PACKAGE = os.environ.get("FRE_PYTHON_PACKAGE", "")
if not PACKAGE:
    pytest.skip("the Python package is not built here: it needs python3-dev and python3-cffi", allow_module_level=True)
if PACKAGE != "installed":
    pytest.importorskip("_cffi_backend")
    sys.path.insert(0, PACKAGE)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [PACKAGE, os.environ.get("PYTHONPATH")]))
fre_e2t = importlib.import_module("fre_e2t")
spark_of = importlib.import_module("fre_e2t.spark")

os.environ["PYSPARK_PYTHON"] = sys.executable
TEXTS = [f"please {verb} {what}" for verb in ("book", "find", "cancel", "play")
         for what in ("a table", "my flight", "some music", "the weather", "an alarm")]
ARGS = {"epsilon": 8, "threshold": 40, "population": 2000, "ledger": False, "inverter": "none"}
SEEDED = {**ARGS, "seed": "5e" * 32}


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def session(events, tmp_path_factory):
    from pyspark.sql import SparkSession

    made = (SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2").config("spark.eventLog.enabled", "true")
            .config("spark.eventLog.dir", events.as_uri()).config("spark.eventLog.compress", "false")
            .config("spark.local.dir", str(tmp_path_factory.mktemp("local"))).getOrCreate())
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def records():
    """A record a user: which of several count is then no question of their order."""
    rng = random.Random(1)
    return [(f"u{i}", TEXTS[int(len(TEXTS) * rng.random() ** 3)]) for i in range(800)]


def here(records, user, **more):
    return fre_e2t.synthesize([{"who": u, "text": t} for u, t in records], user=user, **{**SEEDED, **more})


@pytest.mark.parametrize("user, more, most", [
    ("who", {}, 64), (False, {"epsilon": float("inf")}, 2), ("who", {"levels": "1024,256"}, 1),
])
def test_it_is_the_release_of_one_machine(session, records, user, more, most, monkeypatch):
    """most: parts that the driver adds up itself; executors do it before, of more."""
    monkeypatch.setattr(spark_of, "_MOST_PARTS", most)
    frame = session.createDataFrame(random.Random(2).sample(records, len(records)), "who string, text string")
    seen = spark_of.synthesize(frame, user=user, partitions=3, **{**SEEDED, **more})
    assert len(seen) >= 3
    assert seen == here(records, user, **more)


def test_spellings_nulls_and_blanks(session, records):
    extra = [(" u900 ", "  please book a table\n"), ("u900", "please book a table"), (None, "please book a table"), ("  ", "x"),
             ("u901", None), ("u902", " \t"), ("u903", "a\0b")]
    frame = session.createDataFrame(records + extra, "who string, text string")
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

    frame = session.createDataFrame(records, "who string, text string").repartition(3, F.col("who"))
    frame = frame.mapInArrow(dies_once, "who string, text string")
    assert spark_of.synthesize(frame, user="who", **SEEDED) == here(records, "who")
    assert list(tmp_path.iterdir())


def spellings(secret):
    """Of bytes, in texts and files."""
    signed = ", ".join(str(b - 256 if b > 127 else b) for b in secret)
    return [secret, secret.hex().encode(), secret.hex().upper().encode(), base64.b64encode(secret)[:-2],
            repr(secret)[2:-1].encode(), ", ".join(map(str, secret)).encode(), signed.encode(),
            "".join(f"\\{b:03o}" if not 32 <= b < 127 else chr(b) for b in secret).encode()]


def test_the_key_is_in_no_plan_configuration_or_event_log(session, events, records, monkeypatch, capsys):
    keys, plans = [], []
    send, later = spark_of._Cluster._send, spark_of._Cluster._parts

    def sent(self, task, key):
        keys.append(key)
        assert key not in task
        return send(self, task, key)

    def planned(self, frame, fetch):
        frame.explain("extended")
        plans.append(capsys.readouterr().out)
        return later(self, frame, fetch)

    monkeypatch.setattr(spark_of._Cluster, "_send", sent)
    monkeypatch.setattr(spark_of._Cluster, "_parts", planned)
    frame = session.createDataFrame(records, "who string, text string")
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


def test_nothing_stays_in_the_cluster(session, records):
    frame = session.createDataFrame(records, "who string, text string")
    spark_of.synthesize(frame, user="who", **SEEDED)
    assert session.sparkContext._jsc.getPersistentRDDs().isEmpty()


def test_the_ledger_refuses_before_anything_is_drawn(session, records, tmp_path):
    frame = session.createDataFrame(records, "who string, text string")
    book = tmp_path / "book.json"
    given = {**ARGS, "ledger": book, "budget_epsilon": 10}
    assert spark_of.synthesize(frame, user="who", **given).not_for_publication["ledger"]["releases"] == 1
    with pytest.raises(fre_e2t.RefusedError):
        spark_of.synthesize(frame, user="who", **given)
    with pytest.raises(fre_e2t.RefusedError):  # the same data, here
        here(records, "who", **{**given, "seed": None})


def test_a_dry_run_plans(session, records):
    frame = session.createDataFrame(records, "who string, text string")
    plan = spark_of.synthesize(frame, user="who", dry_run=True, **ARGS)
    assert plan["epsilon"] == 8 and "differential" in plan.statement.lower()


@pytest.mark.parametrize("schema, user, more, kind, words", [
    ("who string, text string", "whom", {}, fre_e2t.DataError, "no column 'whom'"),
    ("who string, said string", "who", {}, fre_e2t.DataError, "no column 'text'"),
    ("who string, text array<string>", "who", {}, fre_e2t.DataError, "not a string"),
    ("who double, text string", "who", {}, fre_e2t.DataError, "not a string or an integer"),
    ("who string, text string", "who", {"population": 100, "delta": 1e-3}, fre_e2t.DataError, "more users than"),
    ("who string, text string", "who", {"resume": True}, fre_e2t.UsageError, "takes no resume"),
    ("who string, text string", "who", {"partitions": 0}, fre_e2t.UsageError, "partitions must be"),
    ("who string, text string", "who", {"threshold": -1}, fre_e2t.UsageError, "threshold"),
])
def test_bad_input(session, records, schema, user, more, kind, words):
    from pyspark.sql import functions as F

    frame = session.createDataFrame(records, "who string, text string")
    if "said" in schema:
        frame = frame.withColumnRenamed("text", "said")
    if "array" in schema:
        frame = frame.withColumn("text", F.array("text"))
    if "double" in schema:
        frame = frame.withColumn("who", F.lit(1.5))
    with pytest.raises(kind, match=words):
        spark_of.synthesize(frame, user=user, **{**ARGS, **more})


def test_no_record(session):
    with pytest.raises(fre_e2t.MissingError, match="no record"):
        spark_of.synthesize(session.createDataFrame([], "who string, text string"), user="who", **ARGS)


def test_executors_errors_are_the_library_s(session, records, monkeypatch):
    """A sentence of an executor, and what a machine without the package says."""
    executor = importlib.import_module("fre_e2t._executor")
    with monkeypatch.context() as m:
        m.setattr(spark_of._Cluster, "_send", lambda self, task, key: lambda: pickle.dumps(executor.Order(
            task, bytes(32), True, 1, None, None, "0")))
        with pytest.raises(fre_e2t.RefusedError, match="another run's key"):
            spark_of.synthesize(session.createDataFrame(records, "who string, text string"), user="who", **ARGS)
    assert "install the same wheel" in str(spark_of._said(Exception("ModuleNotFoundError: No module named 'fre_e2t'")))


def test_check_installation(session):
    assert spark_of.check_installation(session)["version"] == fre_e2t.__version__
