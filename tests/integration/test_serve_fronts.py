"""Several processes of a role on one PostgreSQL: one plays the role, the others hand clients' messages on to it (a relay's)
or wait, and whoever gets the store when that one is gone goes on."""

import json
import re
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

from conftest import LONG
from serve_world import DEVICES, REHEARSAL, ROLES, World, free_port, in_time, needs_servers, until
from test_store import postgres  # noqa: F401 (a fixture)

pytestmark = needs_servers


class Balancer:
    """What stands in front of the relay's processes: bytes go to one after the other, whatever is in them."""

    def __init__(self, port, targets):
        self.targets, self.turn = targets, 0
        self.lock = threading.Lock()
        self.socket = socket.create_server(("127.0.0.1", port), backlog=512)
        self.seen = []  # what clients sent, a connection each
        threading.Thread(target=self.accept, daemon=True).start()

    def end(self):
        self.socket.shutdown(socket.SHUT_RDWR)  # who waits in accept hears of it
        self.socket.close()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def connect(self):
        for _ in self.targets:
            with self.lock:
                self.turn += 1
                port = self.targets[self.turn % len(self.targets)]
            try:
                return socket.create_connection(("127.0.0.1", port), 5)
            except OSError:
                continue
        return None

    def serve(self, client):
        server, sent = self.connect(), b""
        with client:
            if not server:
                return
            with server:
                try:
                    while True:
                        for ready in select.select([client, server], [], [], 60)[0] or [None]:
                            data = ready.recv(65536) if ready else b""
                            if not data:
                                return
                            sent += data if ready is client else b""
                            (server if ready is client else client).sendall(data)
                except OSError:
                    pass
                finally:
                    self.seen.append(sent)


class Fronts(World):
    """Roles of several processes, named ROLE-0, ROLE-1, ...; all of a role share its keys, its terms and the store."""

    def __init__(self, folder, several, **options):
        super().__init__(folder, **options)
        self.several = several
        self.names = []
        public = int(self.configuration("relay")["public"]["listen"].rsplit(":", 1)[1])
        scheme = "https" if "certificate" in self.configuration("relay") else "http"
        port = {name: (free_port(), free_port(), free_port()) for name in self.all()}
        peers = {role: " ".join(f"{scheme}://127.0.0.1:{port[name][1]}" for name in self.all() if self.role(name) == role)
                 for role in ROLES}
        for name in self.all():
            self.names.append(name)
            self.said[name], self.err[name] = [], ""
            role = self.role(name)
            own = " ".join(a for a in peers[role].split() if not a.endswith(f":{port[name][1]}"))
            c = self.configuration(role)
            c["peer"]["listen"], c["health"]["listen"] = (f"127.0.0.1:{p}" for p in port[name][1:])
            c["peers"] = {**{other: urls for other, urls in peers.items() if other != role}, **({role: own} if own else {})}
            if role == "relay":
                c["public"]["listen"] = f"127.0.0.1:{port[name][0]}"
            self.config(name).write_text(json.dumps(c))
        self.relays = [port[name][0] for name in self.all() if self.role(name) == "relay"]
        self.balancer = Balancer(public, self.relays)

    def all(self):
        return [f"{role}-{i}" for role in ROLES for i in range(self.several.get(role, 1))]

    @staticmethod
    def role(name):
        return name.rsplit("-", 1)[0]

    def config(self, name):
        return super().config(name) if name in ROLES else self.folder / self.role(name) / f"{name}.json"

    def command(self, name, *more):
        return [super().command("relay")[0], "serve", self.role(name), "--config", str(self.config(name)), *more]

    def is_up(self, name):
        assert self.process[name].poll() is None, self.err[name]
        return self.get(name, "/healthz") == 200

    def start_all(self):
        for name in self.all():
            self.start(name)
        for name in self.all():
            until(lambda: self.is_up(name))
        for role in ROLES:
            until(lambda: self.leader(role))

    def of(self, role):
        return [name for name in self.process if self.role(name) == role]

    def leads(self, name):
        where = self.configuration(name)["health"]["listen"]
        try:
            text = urllib.request.urlopen(f"http://{where}/metrics", timeout=10).read().decode()
        except OSError:
            return False
        return re.search(r'^fre_leads\{.*\} 1$', text, re.M) is not None

    def leader(self, role):
        leaders = [name for name in self.of(role) if self.process[name].poll() is None and self.leads(name)]
        assert len(leaders) <= 1
        return leaders[0] if leaders else None

    def fronts(self, role):
        return [name for name in self.of(role) if not self.leads(name)]

    def is_masked(self, role):
        """Its once file is gone: its keys are masked."""
        return not list((self.folder / role).glob("*.once.json"))

    def phase_of_relay(self):
        return max((self.phase(name) or "" for name in self.of("relay")),
                   key=["", "waiting", "taking", "closed", "answering", "summing", "done", "void"].index)

    def again(self, name, how=signal.SIGKILL):
        """It dies, and whoever supervises it starts it again."""
        self.stop(name, how)
        self.start(name)

    def end(self):
        super().end()
        self.balancer.end()


def run_all(tmp_path, server, several, run, least=1, world=Fronts, **options):
    for scale in (least, 2 * least, 4 * least, 8 * least, 16 * least):
        server.clear()
        w = world(tmp_path / f"world-{scale}", several, scale=scale, **{"store": server.where, **options})
        try:
            w.start_all()
            if run(w):
                return
        finally:
            w.end()
    pytest.fail("somebody is late however long the windows are")


@pytest.mark.parametrize("contacts, n", [("one", 4), ("two", 3)])
def test_several_relays_release(tmp_path, postgres, contacts, n):  # noqa: F811
    """Whichever of them a device comes to, with its entry, for the list, with its answer; begun at once, one of them
    leads."""
    def run(w):
        if not w.contribute():
            return False
        w.must_release()
        assert len(w.of("relay")) == n and len(w.fronts("relay")) == n - 1
        for name in w.fronts("relay"):
            assert w.is_ready(name) and "front" in w.events(name)
            assert w.check(name).returncode == 0  # by somebody who would start one more
        for name in list(w.process):
            assert w.stop(name) == 0 and not w.err[name], w.err[name]
        return True

    run_all(tmp_path, postgres, {"relay": n}, run, contacts=contacts)


# ---- deaths ------------------------------------------------------------------------------------------------------


def other(names, but):
    return next(name for name in names if name != but)


def take_place(w, leader):
    """kill -9, and another one goes on in its place before it comes again."""
    w.stop(leader, signal.SIGKILL)
    until(lambda: w.leader("relay"))
    w.start(leader)


@pytest.mark.parametrize("whom", ["leader", "front"] if LONG else ["leader"])
def test_relays_are_killed_in_every_phase(tmp_path, postgres, whom):  # noqa: F811
    """kill -9, again and again: of the one that leads, which another takes the place of; or of one that hands on."""
    def kill(w):
        leader = w.leader("relay")
        if whom == "front":
            w.again(other(w.of("relay"), leader))
        elif leader:
            take_place(w, leader)

    def run(w):
        devices, killed = w.devices(), []
        until(lambda: all(w.is_masked(role) for role in ("tagging", "issuer", "synthesis")))
        while w.phase_of_relay() not in ("done", "void") and time.time() < w.terms["end"]:
            killed.append(w.phase_of_relay())
            kill(w)
            # Devices get through in between, of which there are more in the windows of time; then it goes fast.
            time.sleep(2 * w.scale if time.time() < w.terms["tags_close"] else .5)
        assert len(killed) >= 2
        if not in_time(devices):
            return False
        w.must_release()
        if whom == "leader":
            assert sum(w.events(name).count("takes over") for name in w.names) >= 2
        return True

    run_all(tmp_path, postgres, {"relay": 3}, run)


@pytest.mark.skipif(not LONG, reason="make check-every runs it")
def test_the_relay_that_leads_is_killed_while_answers_come(tmp_path, postgres, times=2):  # noqa: F811
    """Two contacts: whoever takes its place has the list and the answers that came before; clients say the rest again."""
    def run(w):
        devices, killed = w.devices(), 0
        until(lambda: w.phase_of_relay() == "answering" or devices.poll() is not None)
        while w.phase_of_relay() == "answering" and killed < times:
            leader = w.leader("relay")
            if leader:
                take_place(w, leader)
                killed += 1
        if not in_time(devices) or killed < times:
            return False
        w.must_release()
        assert any("takes over" in w.events(name) for name in w.names)
        return True

    run_all(tmp_path, postgres, {"relay": 3}, run, contacts="two")


@pytest.mark.parametrize("role", ["tagging", "synthesis", "issuer"] if LONG else ["tagging"])
def test_another_process_takes_a_role_over(tmp_path, postgres, role):  # noqa: F811
    """Its keys come back from under their masks; the one that waited is not ready before, and has no once file."""
    def run(w):
        devices = w.devices()
        until(lambda: all(w.is_masked(r) for r in ("tagging", "synthesis", "issuer")))
        first = w.leader(role)
        second = other(w.of(role), first)
        assert not w.is_ready(second)
        w.stop(first, signal.SIGKILL)
        until(lambda: w.leads(second))
        assert w.is_ready(second)
        w.start(first)
        if not in_time(devices):
            return False
        w.must_release()
        assert "takes over" in w.events(second)
        return True

    run_all(tmp_path, postgres, {role: 2}, run)


def ask(server, sql):
    return subprocess.run([server.bin / "psql", "-qtA", server.where, "-c", sql], check=True, capture_output=True,
                          text=True).stdout.split()


# Sessions that have a machine's lock which another one waits for.
HELD = """SELECT a.pid FROM pg_locks a JOIN pg_locks b USING (locktype, classid, objid)
          WHERE locktype = 'advisory' AND a.granted AND NOT b.granted"""


def test_who_lost_the_store_ends(tmp_path, postgres):  # noqa: F811
    """A leader whose session is gone finds another one there, though it has nothing to store: it ends within seconds, and
    comes back to wait."""
    def run(w):
        devices = w.devices()
        until(lambda: all(w.is_masked(r) for r in ("tagging", "synthesis", "issuer")))
        first = w.leader("tagging")
        second = other(w.of("tagging"), first)
        until(lambda: ask(postgres, HELD))
        w.process[first].send_signal(signal.SIGSTOP)  # as where its network is gone
        ask(postgres, f"SELECT pg_terminate_backend(pid) FROM ({HELD}) AS held")
        until(lambda: w.leads(second))
        w.process[first].send_signal(signal.SIGCONT)
        assert w.process[first].wait(30) == 74
        w.process.pop(first)
        w.start(first)
        if not in_time(devices):
            return False
        w.must_release()
        assert w.leader("tagging") == second
        return True

    run_all(tmp_path, postgres, {"tagging": 2}, run)


# ---- the same bytes again ----------------------------------------------------------------------------------------------


def body_of(request):
    head, _, body = request.partition(b"\r\n\r\n")
    return head.split(b" ")[1].decode(), body, head.startswith(b"POST")


def test_a_message_said_again_to_another_gets_the_same(tmp_path, postgres):  # noqa: F811
    """Requests that had an answer, byte for byte, to each process: the same answer from all, and nobody counts twice."""
    def post(port, path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body, method="POST",
                                         headers={"Content-Type": "application/fre-e2t"})
        return urllib.request.urlopen(request, timeout=30).read()

    def run(w):
        devices = w.devices()
        said = at = 0
        while time.time() < w.terms["exchange_close"] and said < 60:
            if at == len(w.balancer.seen):
                time.sleep(.02)
                continue
            path, body, is_post = body_of(w.balancer.seen[at])
            at += 1
            answers = {post(port, path, body) for port in w.relays} if is_post else set()
            if time.time() < w.terms["exchange_close"]:  # else some are late
                assert len(answers) <= 1
                said += len(answers)
        assert said > 20
        if not in_time(devices):
            return False
        w.must_release()
        return True

    run_all(tmp_path, postgres, {"relay": 3}, run, least=4, tls=False)


# ---- one release -------------------------------------------------------------------------------------------------------


class Exact(Fronts):
    """Servers of the same code that add no noise (test_rehearsal, linked so), and devices that draw from a seed.  All have
    the keys, and so the cells, of one world, at another time: what comes out follows from what the devices sent, and from
    nothing else."""

    def make(self, of, store, scale):
        shutil.copytree(of, self.folder)
        terms = self.folder / "terms" / "terms.json"
        told, now = json.loads(terms.read_text()), int(time.time())
        del told["id"]
        for key, seconds in (("open", 2), ("exchange_close", 10), ("tags_close", 16), ("shares_close", 16), ("end", 200)):
            told[key] = now + seconds * scale
        terms.write_text(json.dumps(told))
        for role in ROLES:
            text = self.config(role).read_text().replace(str(of), str(self.folder))
            self.config(role).write_text(text)
            if store:
                self.change(role, store=store)

    def command(self, name, *more):
        return [REHEARSAL, "serve", self.role(name), str(self.config(name)), *more]

    def devices(self, n=DEVICES, first=0):
        return subprocess.Popen([REHEARSAL, "seeded-devices", self.folder, str(first), str(n)])

    def cells(self):
        return subprocess.run([REHEARSAL, "cells", self.folder], check=True, capture_output=True, text=True).stdout.split()


def test_one_release_whatever_the_processes(tmp_path, postgres):  # noqa: F811
    """The same devices over SQLite, and over PostgreSQL with 1, 2 and 4 relays: every count and every coordinate."""
    seen = []

    def run(w):
        if not w.contribute():
            return False
        w.must_release()
        seen.append(w.cells())
        return True

    of = World(tmp_path / "of").folder
    for where, n in (("", 1), (postgres.where, 1), (postgres.where, 2), (postgres.where, 4)):
        folder = tmp_path / f"{len(seen)}"
        folder.mkdir()
        run_all(folder, postgres, {"relay": n}, run, world=Exact, store=where, of=of)
    assert len(seen) == 4 and len(seen[0]) == 2
    assert all(cells == seen[0] for cells in seen)
