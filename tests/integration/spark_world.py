"""What the tests of fre_e2t.spark share: whether they can run here, records, and releases to hold beside those of a cluster.
Of both kinds of session, classic Spark's and Connect's."""

import base64
import importlib
import os
import pathlib
import random
import shutil
import signal
import struct
import sys
import threading
import time

import pytest

from conftest import TIMEOUT
from the_package import PACKAGE, fre_e2t

pytest.importorskip("pyarrow", reason="fre_e2t.spark needs pyarrow: pip install pyarrow")
pyspark = pytest.importorskip("pyspark", reason="fre_e2t.spark needs PySpark: pip install 'pyspark>=4.0'")
if int(pyspark.__version__.split(".")[0]) < 4:
    pytest.skip(f"fre_e2t.spark needs PySpark 4.0, and this is {pyspark.__version__}", allow_module_level=True)
if not shutil.which("java"):
    pytest.skip("Spark needs Java 17 (default-jre-headless), which is not installed", allow_module_level=True)
WORKERS_PATH = "" if PACKAGE == "installed" else PACKAGE
spark_of = importlib.import_module("fre_e2t.spark")

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # whatever the machine is called, and whether that name is known
TEXTS = [f"please {verb} {what}" for verb in ("book", "find", "cancel", "play")
         for what in ("a table", "my flight", "some music", "the weather", "an alarm")]
ARGS = {"epsilon": 8, "threshold": 40, "population": 2000, "ledger": False, "inverter": "none"}
SEEDED = {**ARGS, "seed": "5e" * 32}
SCHEMA = "who string, text string"


def records_of(n):
    """A record a user: which of several count is then no question of their order."""
    rng = random.Random(1)
    return [(f"u{i}", TEXTS[int(len(TEXTS) * rng.random() ** 3)]) for i in range(n)]


def here(records, user, **more):
    """The release of one machine."""
    return fre_e2t.synthesize([{"who": u, "text": t} for u, t in records], user=user, **{**SEEDED, **more})


def spellings(secret):
    """Of bytes, in texts and files."""
    signed = ", ".join(str(b - 256 if b > 127 else b) for b in secret)
    return [secret, secret.hex().encode(), secret.hex().upper().encode(), base64.b64encode(secret)[:-2],
            repr(secret)[2:-1].encode(), ", ".join(map(str, secret)).encode(), signed.encode(),
            "".join(f"\\{b:03o}" if not 32 <= b < 127 else chr(b) for b in secret).encode()]


class Part:
    """What the bytes of a part say (docs/formats.md, "Tasks and parts")."""

    def __init__(self, data, of_grid, dim):
        at = 16 + 32
        self.index, self.of, self.closed, self.left_out, parts = struct.unpack_from(">IIBQI", data, at)
        at += 21 + 16 * parts
        if of_grid and self.index == 0:
            at += 8 * (7 + 3 * 512)
            for _ in range(2):
                at += 4 + 6 * struct.unpack_from(">I", data, at)[0]
        (n,) = struct.unpack_from(">I", data, at)
        each = (32 if of_grid else 4) + 8 + 8 * dim
        assert len(data) == at + 4 + n * each + 32
        self.counts = [struct.unpack_from(">Q", data, at + 4 + i * each + (32 if of_grid else 4))[0] for i in range(n)]


def parts_of_passes(monkeypatch):
    """A list that gets, for each pass from now on, the list of what the driver collects; the grid's comes first."""
    passes, every, stage = [], spark_of._Cluster._all, spark_of._Cluster.stage
    lib = spark_of.lib

    def noted(self, total, task, key):
        told = lib.fre_partial_task_view(total)
        self.dim_of_pass = told.terms.dim if told.stage == lib.FRE_PARTIAL_SUMS else 0
        passes.append([])
        stage(self, total, task, key)

    def rows(self, frame):
        for row in every(self, frame):
            passes[-1].append(Part(bytes(row["part"]), len(passes) == 1, self.dim_of_pass))
            yield row

    monkeypatch.setattr(spark_of._Cluster, "stage", noted)
    monkeypatch.setattr(spark_of._Cluster, "_all", rows)
    return passes


def keys_and_plans(monkeypatch, capsys):
    """Lists that get the key and the plan of each stage from now on."""
    keys, plans = [], []
    send, closed = spark_of._Cluster._send, spark_of._Cluster._closed

    def sent(self, task, key):
        keys.append(key)
        assert key not in task
        return send(self, task, key)

    def planned(self, frame, fetch, slices):
        made = closed(self, frame, fetch, slices)
        made.explain("extended")
        plans.append(capsys.readouterr().out)
        return made

    monkeypatch.setattr(spark_of._Cluster, "_send", sent)
    monkeypatch.setattr(spark_of._Cluster, "_closed", planned)
    return keys, plans


def interrupted(frame, folder, **more):
    """A release of the frame, whose records take for ever, is interrupted once an executor is at work."""
    at_work, ended = pathlib.Path(folder, "at-work"), pathlib.Path(folder, "ended")

    def hangs(batches, paths=(str(at_work), str(ended)), seconds=TIMEOUT):
        for batch in batches:
            pathlib.Path(paths[0]).touch()
            time.sleep(seconds)
            pathlib.Path(paths[1]).touch()
            yield batch

    def interrupt():
        while not at_work.exists():
            time.sleep(.05)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark's own cancels what others run, too
    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            spark_of.synthesize(frame.mapInArrow(hangs, SCHEMA), user="who", **{**ARGS, **more})
    finally:
        signal.signal(signal.SIGINT, before)
    assert at_work.exists() and not ended.exists()
