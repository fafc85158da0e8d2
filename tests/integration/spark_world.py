"""What the tests of fre_e2t.spark share: whether they can run here, records, and releases to hold beside those of a cluster.
Of both kinds of session, classic Spark's and Connect's."""

import base64
import importlib
import os
import pathlib
import random
import shutil
import signal
import sys
import threading
import time

import pytest

from conftest import TIMEOUT

pytest.importorskip("numpy")
pytest.importorskip("pyarrow", reason="fre_e2t.spark needs pyarrow: pip install pyarrow")
pyspark = pytest.importorskip("pyspark", reason="fre_e2t.spark needs PySpark: pip install 'pyspark>=4.0'")
if int(pyspark.__version__.split(".")[0]) < 4:
    pytest.skip(f"fre_e2t.spark needs PySpark 4.0, and this is {pyspark.__version__}", allow_module_level=True)
if not shutil.which("java"):
    pytest.skip("Spark needs Java 17 (default-jre-headless), which is not installed", allow_module_level=True)
PACKAGE = os.environ.get("FRE_PYTHON_PACKAGE", "")
WORKERS_PATH = "" if PACKAGE == "installed" else PACKAGE
if not PACKAGE:
    pytest.skip("the Python package is not built here: it needs python3-dev and python3-cffi", allow_module_level=True)
if PACKAGE != "installed":
    pytest.importorskip("_cffi_backend")
    sys.path.insert(0, PACKAGE)
fre_e2t = importlib.import_module("fre_e2t")
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


def keys_and_plans(monkeypatch, capsys):
    """Lists that get the key and the plan of each stage from now on."""
    keys, plans = [], []
    send, parts = spark_of._Cluster._send, spark_of._Cluster._parts

    def sent(self, task, key):
        keys.append(key)
        assert key not in task
        return send(self, task, key)

    def planned(self, frame, fetch):
        frame.explain("extended")
        plans.append(capsys.readouterr().out)
        return parts(self, frame, fetch)

    monkeypatch.setattr(spark_of._Cluster, "_send", sent)
    monkeypatch.setattr(spark_of._Cluster, "_parts", planned)
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
