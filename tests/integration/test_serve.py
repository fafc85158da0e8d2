"""The distributed mode with a process for each role: killed, cut off, misled, badly configured."""

import json
import shutil
import signal
import subprocess
import threading
import time

import pytest

from conftest import TIMEOUT
from serve_world import ROLES, World, needs_servers, try_until_in_time, until

pytestmark = needs_servers


# ---- killed ------------------------------------------------------------------------------------------


class Hunter(threading.Thread):
    """Kills one role after the other, and starts it again at once: at each phase that it says, and all the time
    besides.  Two at once would lose their keys: each has the masks of others in its memory."""

    def __init__(self, world):
        super().__init__()
        self.world = world
        self.over = threading.Event()
        self.code, self.times, self.phases = None, {role: [] for role in ROLES}, {role: [] for role in ROLES}

    def kill(self, role):
        w = self.world
        self.times[role].append(time.time())
        self.phases[role].append(w.phase(role))
        self.code = w.stop(role, signal.SIGKILL)
        w.start(role)
        until(lambda: w.process[role].poll() is not None or w.get(role, "/readyz") == 200)
        self.over.wait(0.5 * w.scale)  # keys come back

    def run(self):
        while not self.over.is_set():
            news = [role for role in ROLES if self.world.phase(role) not in self.phases[role]]
            self.kill((news or sorted(ROLES, key=lambda role: len(self.times[role])))[0])
            if self.code != -signal.SIGKILL:
                return  # it ended by itself

    def have_hit(self, since, before):
        return all(any(since <= t < before for t in times) for times in self.times.values())


@pytest.mark.parametrize("contacts", ["one", "two"])
def test_every_role_is_killed_in_every_phase(tmp_path, contacts):
    def run(w):
        w.start_all()
        until(lambda: all("keys masked" in w.events(role) for role in ROLES[1:]))
        hunter = Hunter(w)
        hunter.start()
        try:
            late = not w.contribute()
            released = None if late else w.release()
            if released:
                until(lambda: hunter.have_hit(w.terms["tags_close"], w.terms["end"]))
        finally:
            hunter.over.set()
            hunter.join()
        assert hunter.code == -signal.SIGKILL, w.err
        assert not any(w.err.values())
        if late:
            return False
        w.must_be_right(released)
        assert w.release() == released
        assert w.contribute()  # says nothing any more
        times = w.terms["open"], w.terms["exchange_close"], w.terms["tags_close"]
        return all(hunter.have_hit(*window) for window in zip(times, times[1:]))

    try_until_in_time(tmp_path, run, contacts=contacts)


# ---- configurations ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """Nobody runs."""
    return World(tmp_path_factory.mktemp("ready") / "world")


def one_of(world, role, kind):
    return next((world.folder / role).glob(f"{role}-*.{kind}"))


def without(key):
    def change(w, role):
        there = w.configuration(role)
        del there[key]
        w.config(role).write_text(json.dumps(there))

    return change


def with_value(**values):
    return lambda w, role: w.change(role, **values)


def no_keys(w, role):
    one_of(w, role, "secret.json").unlink()


def keys_of_another(w, role):
    w.change(role, keys=str(w.folder / "synthesis"))


def other_terms(w, role):
    """Somebody changed who signs."""
    path = w.folder / "terms" / "terms.json"
    path.write_text(path.read_text().replace(w.terms["relay_sign"], w.terms["tag_sign"]))


def another_certificate(w, role):
    w.change(role, certificate=str(one_of(w, "issuer", "certificate.pem")),
             private_key=str(one_of(w, "issuer", "key.pem")))


def no_certificate(w, role):
    without("certificate")(w, role)
    without("private_key")(w, role)


def readable(w, role):
    one_of(w, role, "secret.json").chmod(0o644)


CONFIGURATIONS = [
    (without("store"), "relay", 65, "store"),
    (without("peer"), "tagging", 65, "peer"),
    (without("credentials"), "issuer", 65, "credentials"),
    (with_value(colour="red"), "relay", 65, "colour"),
    (with_value(role="issuer"), "relay", 64, "issuer"),
    (no_keys, "relay", 66, "no terms there name keys of this role"),
    (no_keys, "tagging", 66, "no terms there name keys of this role"),
    (keys_of_another, "tagging", 66, "no terms there name keys of this role"),
    (other_terms, "relay", 65, "terms.json"),
    (another_certificate, "relay", 77, "is not the one that the terms pin"),
    (no_certificate, "relay", 77, "the terms pin a certificate"),
    (readable, "relay", 77, "secret.json"),
    (readable, "synthesis", 77, "secret.json"),
]


@pytest.mark.parametrize("change,role,code,word", CONFIGURATIONS)
def test_a_bad_configuration_is_said(ready, tmp_path, change, role, code, word):
    """By --check and by a start, in one sentence."""
    kept = tmp_path / "kept"
    shutil.copytree(ready.folder, kept)  # modes too
    try:
        change(ready, role)
        done = ready.check(role)
        assert done.returncode == code, done.stderr
        assert word in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""
        started = subprocess.run(ready.command(role), capture_output=True, text=True, timeout=TIMEOUT)
        assert (started.returncode, started.stderr) == (code, done.stderr)
    finally:
        shutil.rmtree(ready.folder)
        shutil.copytree(kept, ready.folder)


def test_a_store_has_one_process(tmp_path):
    w = World(tmp_path / "world")
    assert w.check("relay").returncode == 0
    w.start("relay")
    try:
        until(lambda: w.is_ready("relay"))
        done = w.check("relay")
        assert done.returncode == 75 and done.stderr.count("\n") == 1
        assert w.stop("relay") == 0
        assert w.check("relay").returncode == 0
    finally:
        w.end()


def test_a_check_changes_no_row(tmp_path):
    """Whoever has the store goes on: somebody else has looked, and not written."""
    w = World(tmp_path / "world")
    w.start("relay")
    until(lambda: w.is_ready("relay"))
    assert w.stop("relay") == 0
    rows = w.folder / "relay" / "rows"
    before = {p.name: p.read_bytes() for p in rows.iterdir()}
    assert w.check("relay").returncode == 0
    assert {p.name: p.read_bytes() for p in rows.iterdir()} == before
