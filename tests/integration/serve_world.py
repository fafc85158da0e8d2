"""Whole collections with a process for each role: keys and configurations of test_rehearsal (FRE_TEST_REHEARSAL),
servers of the program, devices of test_rehearsal again."""

import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

from conftest import PROGRAM, TIMEOUT

REHEARSAL = os.environ.get("FRE_TEST_REHEARSAL", "")
ROLES = ["relay", "tagging", "synthesis", "issuer"]
DEVICES = 120  # half of them with each of two texts
needs_servers = pytest.mark.skipif(not REHEARSAL, reason="built without the servers")


def until(what, seconds=TIMEOUT):
    """Waits for it; what hangs fails."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.02)


TAKEN = set()


def free_port():
    """Never the same; below those that the system gives connections, one of which would have it before its server has."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        below = int(f.read().split()[0])
    while True:
        port = random.randrange(min(10240, below - 1000), below)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in TAKEN:
            TAKEN.add(port)
            return port


class World:
    def __init__(self, folder, scale=1, **options):
        self.folder, self.scale = pathlib.Path(folder), scale
        self.make(scale=scale, **options)
        self.terms = json.loads((self.folder / "terms" / "terms.json").read_text())
        self.process = {}
        self.said = {role: [] for role in ROLES}  # events of the log, of all processes of a role
        self.err = {role: "" for role in ROLES}  # what it printed besides
        self.environment = {}
        self.before = []  # words in front of the program's

    def make(self, tls=True, contacts="one", store="", scale=1):
        self.folder.mkdir(0o700)
        subprocess.run([REHEARSAL, "make", self.folder, store, "tls" if tls else "plain", contacts, str(scale)],
                       check=True, timeout=TIMEOUT)

    def config(self, role):
        return self.folder / role / "server.json"

    def configuration(self, role):
        return json.loads(self.config(role).read_text())

    def change(self, of, **values):
        self.config(of).write_text(json.dumps({**self.configuration(of), **values}))

    def command(self, role, *more):
        return [PROGRAM, "serve", role, "--config", str(self.config(role)), *more]

    def check(self, role):
        return subprocess.run(self.command(role, "--check"), capture_output=True, text=True, timeout=TIMEOUT)

    def read(self, role, process):
        for line in process.stderr:
            if line.startswith("{"):
                self.said[role].append(json.loads(line))
            else:
                self.err[role] += line

    def start(self, role):
        process = subprocess.Popen([*self.before, *self.command(role)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, **self.environment.get(role, {})})
        self.process[role] = process
        reader = threading.Thread(target=self.read, args=(role, process), daemon=True)
        reader.start()
        process.reader = reader

    def start_all(self):
        for role in ROLES:
            self.start(role)
        for role in ROLES:
            until(lambda: self.is_ready(role))

    def stop(self, role, how=signal.SIGTERM):
        """Its exit status."""
        process = self.process.pop(role)
        process.send_signal(how)
        code = process.wait(TIMEOUT)
        process.reader.join(TIMEOUT)
        process.stderr.close()
        return code

    def end(self):
        for role in list(self.process):
            self.stop(role, signal.SIGKILL)

    def get(self, role, path, listener="health"):
        """The status; 0: no answer."""
        where = self.configuration(role)[listener]["listen"]
        try:
            return urllib.request.urlopen(f"http://{where}{path}", timeout=10).status
        except urllib.error.HTTPError as e:
            return e.code
        except OSError:
            return 0

    def is_ready(self, role):
        assert self.process[role].poll() is None, self.err[role]
        return self.get(role, "/readyz") == 200

    def events(self, role):
        return [line["event"] for line in self.said[role]]

    def phase(self, role):
        phases = [line["phase"] for line in self.said[role] if "phase" in line]
        return phases[-1] if phases else None

    def devices(self, n=DEVICES, first=0):
        return subprocess.Popen([REHEARSAL, "devices", self.folder, str(first), str(n)])

    def contribute(self, n=DEVICES):
        """False: somebody came too late."""
        return in_time(self.devices(n))

    def release(self, seconds=60):
        """The sampling rate and the counts; None: none comes."""
        done = subprocess.run([REHEARSAL, "release", self.folder, str(int(seconds * self.scale))],
                              stdout=subprocess.PIPE, text=True, timeout=TIMEOUT + 60 * self.scale)
        if done.returncode != 0:
            return None
        rate, *counts = done.stdout.split()
        return float(rate), [int(n) for n in counts]

    def must_release(self):
        self.must_be_right(self.release())

    @staticmethod
    def must_be_right(released):
        """Both cells, and of each no more than its members, and no fewer than coins give."""
        assert released, "no release came"
        rate, counts = released
        members = DEVICES // 2
        spread = (members * rate * (1 - rate)) ** .5
        assert len(counts) == 2
        for count in counts:
            assert count <= members
            assert abs(count - members * rate) < 6 * spread


class Beside(World):
    """One more collection of a world's servers, whose terms have not come to their folder yet."""

    def __init__(self, of, folder):
        self.folder, self.scale = pathlib.Path(folder), of.scale
        self.folder.mkdir(0o700)
        subprocess.run([REHEARSAL, "beside", of.folder, folder, str(of.scale)], check=True, timeout=TIMEOUT)
        self.terms = json.loads((self.folder / "terms" / "terms.json").read_text())


def in_time(devices):
    code = devices.wait(TIMEOUT)
    assert code in (0, 3)
    return code == 0


def try_until_in_time(folder, run, **world):
    """Windows of time as small as this machine allows now: they are doubled until nobody is late."""
    for scale in (1, 2, 4, 8, 16):
        w = World(folder / f"world-{scale}", scale=scale, **world)
        try:
            if run(w):
                return
        finally:
            w.end()
    pytest.fail("somebody is late however long the windows are")
