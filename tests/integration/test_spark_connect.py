"""fre_e2t.spark through Spark Connect: what test_spark.py asks of classic Spark, of a local server."""

import importlib
import os
import pickle

import pytest

pytest.importorskip("pyspark", reason="fre_e2t.spark needs PySpark: pip install 'pyspark>=4.0'")

from spark_world import (ARGS, SCHEMA, SEEDED, WORKERS_PATH, fre_e2t, here, interrupted, keys_and_plans, parts_of_passes,
                         records_of, spark_of, spellings)

for needed in ("grpc", "grpc_status", "google.rpc"):
    pytest.importorskip(needed, reason="Spark Connect needs gRPC: pip install 'pyspark[connect]>=4.0'")


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def session(events, tmp_path_factory):
    """Two tasks at once, with two threads each."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as m:
        m.setenv("SPARK_TESTING", "1")  # PySpark's own word for a port that is free
        m.setenv("PYTHONPATH", os.pathsep.join(filter(None, [WORKERS_PATH, os.environ.get("PYTHONPATH")])))
        made = (SparkSession.builder.remote("local-cluster[2,2,1024]").config("spark.ui.enabled", "false").config("spark.task.cpus", "2")
                .config("spark.sql.shuffle.partitions", "3").config("spark.eventLog.enabled", "true")
                .config("spark.eventLog.dir", events.as_uri()).config("spark.eventLog.compress", "false")
                .config("spark.local.dir", str(tmp_path_factory.mktemp("local"))).getOrCreate())
        yield made
        made.stop()


@pytest.fixture(scope="module")
def frame(session):
    return session.createDataFrame(records_of(800), SCHEMA)


def test_it_is_the_release_of_one_machine(frame):
    """And so that of classic Spark, which test_spark.py holds to the same."""
    for more in ({}, {"levels": "1024,256"}):
        seen = spark_of.synthesize(frame, user="who", **{**SEEDED, **more})
        assert len(seen) >= 3
        assert seen == here(records_of(800), "who", **more)


def test_the_driver_gets_what_can_be_released(frame, monkeypatch):
    passes = parts_of_passes(monkeypatch)
    given = {**SEEDED, "epsilon": float("inf")}
    seen = spark_of.synthesize(frame, user="who", **given)
    assert [p.of for p in passes[0]] == [4, 4, 4, 4] and sum(p.left_out for p in passes[0]) > 0
    assert min(count for p in passes[0] for count in p.counts) >= seen.plan["tau"]


def test_the_key_is_in_no_plan_configuration_or_event_log(session, events, frame, monkeypatch, capsys):
    keys, plans = keys_and_plans(monkeypatch, capsys)
    assert spark_of.synthesize(frame, user="who", **ARGS).is_private and len(set(keys)) == 1
    seen = "\n".join(plans).encode() + str(session.conf.getAll).encode()
    logs = [p.read_bytes() for p in events.rglob("*") if p.is_file()]
    assert "MapInArrow" in "\n".join(plans) and any(b"MapInArrow" in log for log in logs)
    for where in [seen, *logs]:
        for spelled in spellings(keys[0]):
            assert spelled not in where


def test_a_task_has_as_many_threads_as_cores(session):
    def threads(batches):
        executor = importlib.import_module("fre_e2t._executor")
        pa = importlib.import_module("pyarrow")
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"n": pa.array([executor._threads()], pa.int32())})

    assert {row["n"] for row in session.range(8).mapInArrow(threads, "n int").collect()} == {2}


def test_executors_errors_are_the_library_s(frame, monkeypatch):
    executor = importlib.import_module("fre_e2t._executor")
    monkeypatch.setattr(spark_of._Cluster, "_send", lambda self, task, key: lambda: pickle.dumps(executor.Order(
        task, bytes(32), True, None, None, fre_e2t.__version__, 3)))
    with pytest.raises(fre_e2t.RefusedError, match="another run's key") as error:
        spark_of.synthesize(frame, user="who", **ARGS)
    assert "\n" not in str(error.value)
    with pytest.raises(fre_e2t.DataError, match="no column 'whom'"):
        spark_of.synthesize(frame, user="whom", **ARGS)


def test_it_can_be_interrupted(frame, tmp_path):
    interrupted(frame, tmp_path, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert frame.count() == 800


def test_check_installation(session):
    assert spark_of.check_installation(session)["version"] == fre_e2t.__version__
