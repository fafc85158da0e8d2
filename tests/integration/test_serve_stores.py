"""A collection whose rows lie in PostgreSQL, which goes away in the middle; and what can be found of it afterwards,
or in a process at any time, by whoever searches files, logs and memory."""

import json
import os
import pathlib
import re
import signal
import time

from serve_world import ROLES, World, in_time, needs_servers, try_until_in_time, until
from test_serve import must_hold_none, secrets_of
from test_serve_searched import memory_of
from test_store import files_below, postgres  # noqa: F401 (a fixture)

pytestmark = needs_servers


# ---- memory ----------------------------------------------------------------------------------------------------


def keys_in_use(w):
    """The keys that open what was recorded, by role, as bytes: k_T, k_I and seal keys."""
    found = {}
    for role in ROLES:
        texts = [path.read_text() for path in (w.folder / role).glob("*.once.json")]
        found[role] = [bytes.fromhex(json.loads(text)[key]) for text in texts for key in ("seal", "oprf")
                       if key in json.loads(text)]
    assert [len(found[role]) for role in ROLES] == [0, 2, 1, 2]
    return found


def keys_found(pid, keys, known):
    """known: what is sure to be there, so that a search which sees nothing is noticed."""
    try:
        seen = list(memory_of(pid, in_a_core=True))
    except PermissionError:
        return []  # who may not look there finds nothing
    assert any(known in data for data in seen)
    return [key for key in keys if any(key in data for data in seen)]


def test_no_role_leaves_a_core(tmp_path):
    """Whatever the limits are that it was started with."""
    w = World(tmp_path / "world", tls=False)
    there = tmp_path / "there"
    there.mkdir()
    w.before = ["sh", "-c", f'ulimit -c $(ulimit -H -c) && cd "{there}" && exec "$@"', "sh"]
    try:
        for role in ROLES:
            w.start(role)
            until(lambda: w.is_ready(role))
            pid = w.process[role].pid
            limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
            assert re.search(r"^Max core file size +0 +0 ", limits, re.M)
            os.kill(pid, signal.SIGABRT)
            assert os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_code == os.CLD_KILLED  # not CLD_DUMPED
            assert w.stop(role) == -signal.SIGABRT
        assert not list(there.iterdir())
    finally:
        w.end()


# ---- PostgreSQL ----------------------------------------------------------------------------------------------


def restart(w, database, how, devices):
    """Away for as long as it takes that a role with something to commit notices."""
    def failures():
        return sum(w.events(role).count("store failed") for role in ROLES)

    before = failures()
    database.stop(how)
    until(lambda: failures() > before or devices.poll() is not None)
    assert all(process.poll() is None for process in w.process.values())
    database.start()
    until(lambda: all(w.is_ready(role) for role in ROLES))


def test_postgresql_restarts_under_all_four_roles(tmp_path, postgres):  # noqa: F811
    """While devices exchange, and while entries come: nothing is lost, nothing is counted twice.  And whoever has the
    database, its write-ahead log and its own log has no secret."""
    def run(w):
        secrets, keys = secrets_of(w, 10), keys_in_use(w)
        w.start_all()
        devices = w.devices()
        until(lambda: w.phase("relay") == "taking")
        restart(w, postgres, signal.SIGQUIT, devices)
        for role in ROLES:
            assert not keys_found(w.process[role].pid, keys[role], bytes.fromhex(w.terms["id"])), role
        until(lambda: devices.poll() is not None or w.terms["exchange_close"] < time.time())
        if devices.poll() is None:
            restart(w, postgres, signal.SIGINT, devices)
        if not in_time(devices):
            return False
        w.must_release()
        for role in ROLES:
            assert w.stop(role) == 0 and not w.err[role]
        postgres.stop(signal.SIGQUIT)  # as after a crash: what is in its log only is there too
        found = files_below(postgres.folder)
        assert any("pg_wal" in str(path) for path in found)
        for path in found:
            must_hold_none(secrets, path.read_bytes(), path)
        postgres.start()
        return True

    def run_and_clear(w):
        postgres.clear()
        return run(w)

    try_until_in_time(tmp_path, run_and_clear, store=postgres.where)
