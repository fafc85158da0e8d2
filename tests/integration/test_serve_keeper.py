"""VOPRF keys of servers are in a process of their own: not in the memory of who talks to the network; and what happens when
that process dies."""

import json
import os
import pathlib
import signal
import time

import pytest

from conftest import PROGRAM
from serve_world import World, needs_servers, in_time, try_until_in_time, until
from test_serve_fronts import other, run_all
from test_store import postgres  # noqa: F401 (a fixture)

pytestmark = [needs_servers, pytest.mark.skipif(os.geteuid() != 0, reason="memory of servers is root's to look at")]
WITH_KEY = ("tagging", "issuer")
# As releases are linked: who binds a call when it comes saves registers on the stack, and what was copied last is in them.
BOUND = {"LD_BIND_NOW": "1"}
CLOCK = os.environ.get("FRE_OTHER_CLOCK", str(pathlib.Path(PROGRAM).parent / "libother-clock.so"))


def keeper_of(pid):
    """Its one child."""
    children = [int(c) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                for c in (task / "children").read_text().split()]
    assert len(children) == 1
    assert pathlib.Path(f"/proc/{children[0]}/comm").read_text() == "fre-keeper\n"
    return children[0]


def memory_has(pid, marks):
    """Which of them are anywhere in what the process can write to, locked or not."""
    found = set()
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            where, mode = line.split()[:2]
            if not mode.startswith("rw"):
                continue
            first, last = (int(x, 16) for x in where.split("-"))
            try:
                memory.seek(first)
                content = memory.read(last - first)
            except (OSError, OverflowError):
                continue  # it went, or is the kernel's
            found |= {m for m in marks if m in content}
    return found


def key_in(w, role):
    path, = (w.folder / role).glob("*.once.json")
    return bytes.fromhex(json.loads(path.read_text())["oprf"])


def is_masked(w, role):
    return not list((w.folder / role).glob("*.once.json"))


def test_keys_are_in_no_server(tmp_path):
    """From the first start, over a restart (the key comes back from under its mask), to its end."""
    def run(w):
        w.environment = {role: BOUND for role in WITH_KEY}
        keys = {role: key_in(w, role) for role in WITH_KEY}
        # As bytes, and as digits of the once file.
        marks = {role: {keys[role], keys[role].hex().encode()} for role in WITH_KEY}
        w.start_all()
        devices = w.devices()
        until(lambda: all(is_masked(w, role) for role in WITH_KEY))
        for role in WITH_KEY:
            pid = w.process[role].pid
            assert not memory_has(pid, marks[role])
            assert memory_has(keeper_of(pid), {keys[role]})  # the search can find it
            w.stop(role, signal.SIGKILL)
            w.start(role)
            until(lambda: w.is_ready(role))
            time.sleep(.5)
            assert not memory_has(w.process[role].pid, marks[role])
            if time.time() < w.terms["tags_close"] - 2:
                until(lambda: memory_has(keeper_of(w.process[role].pid), {keys[role]}), 20)
        if not in_time(devices):
            return False
        w.must_release()
        tagging = w.process["tagging"].pid
        assert not memory_has(tagging, marks["tagging"])
        assert not memory_has(keeper_of(tagging), marks["tagging"])  # it is over
        return True

    try_until_in_time(tmp_path, run)


@pytest.mark.parametrize("role", WITH_KEY)
def test_a_keeper_is_killed(tmp_path, role):
    """Its server ends, within seconds though nobody asks it for anything, and goes on from rows and masks."""
    def run(w):
        w.start_all()
        devices = w.devices()
        until(lambda: is_masked(w, role))
        for _ in range(2):
            server = w.process[role]
            os.kill(keeper_of(server.pid), signal.SIGKILL)
            assert server.wait(30) == 74
            w.process.pop(role)
            w.start(role)
            until(lambda: w.is_ready(role))
        if not in_time(devices):
            return False
        w.must_release()
        assert "key" in w.err[role] or "could not make an answer" in w.err[role], w.err[role]
        return True

    try_until_in_time(tmp_path, run)


def test_a_keeper_ends_with_its_server(tmp_path):
    def run(w):
        w.start_all()
        keepers = {role: keeper_of(w.process[role].pid) for role in WITH_KEY}
        w.stop("tagging", signal.SIGKILL)
        assert w.stop("issuer", signal.SIGTERM) == 0
        for role in WITH_KEY:
            until(lambda: not pathlib.Path(f"/proc/{keepers[role]}").exists()
                  or " Z " in pathlib.Path(f"/proc/{keepers[role]}/stat").read_text(), 20)
        return True

    try_until_in_time(tmp_path, run)


def test_a_front_whose_keeper_is_killed(tmp_path, postgres):  # noqa: F811
    """It has no collection to use a key for, and could not take its role over any more: it ends too."""
    def run(w):
        until(lambda: is_masked(w, "tagging"))
        leader = w.leader("tagging")
        front = w.process[other(w.of("tagging"), leader)]
        os.kill(keeper_of(front.pid), signal.SIGKILL)
        assert front.wait(30) == 74
        assert w.leader("tagging") == leader
        return True

    run_all(tmp_path, postgres, {"tagging": 2}, run)


@pytest.mark.parametrize("role", WITH_KEY)
def test_a_check_looks_at_what_the_keeper_reads(tmp_path, role):
    """Without its wrap file a server does not start; --check says so before, and names the file."""
    w = World(tmp_path / "world")
    assert w.check(role).returncode == 0
    wrap, = (w.folder / role).glob("*.wrap.json")
    wrap.chmod(0o640)
    done = w.check(role)
    assert done.returncode != 0 and str(wrap) in done.stderr and "0600" in done.stderr
    wrap.unlink()
    done = w.check(role)
    assert done.returncode != 0 and str(wrap) in done.stderr


@pytest.mark.parametrize("goes_on", [True, False], ids=["server", "keeper alone"])
def test_a_key_that_ended_while_the_machine_slept(tmp_path, goes_on):
    """Longer than a jump of the clock that is believed: server and keeper count the sleep, and the key is gone."""
    def run(w):
        slept = w.folder / "slept"
        slept.write_text("0")
        w.environment["tagging"] = {"LD_PRELOAD": CLOCK, "FRE_TEST_SLEPT": str(slept), **BOUND,
                                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        key = key_in(w, "tagging")
        w.start_all()
        until(lambda: is_masked(w, "tagging"))
        server = w.process["tagging"].pid
        keeper = keeper_of(server)
        assert memory_has(keeper, {key})
        if not goes_on:
            os.kill(server, signal.SIGSTOP)
        slept.write_text(str(int(w.terms["tags_close"] - time.time()) + 400))
        until(lambda: not memory_has(keeper, {key}), 30)
        return True

    try_until_in_time(tmp_path, run)
