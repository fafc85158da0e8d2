"""The distributed mode with a process for each role: killed, cut off, misled, badly configured."""

import contextlib
import errno
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import PROGRAM, TIMEOUT
from serve_world import DEVICES, REHEARSAL, ROLES, World, in_time, needs_servers, try_until_in_time, until
from test_store import files_below

CLOCK = os.environ.get("FRE_OTHER_CLOCK", str(pathlib.Path(PROGRAM).parent / "libother-clock.so"))
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


def test_no_role_begins_without_its_once_file(tmp_path):
    """A path that was mistyped, or a folder that is not mounted: it has no key, and could only void the collection."""
    w = World(tmp_path / "world", scale=8)
    try:
        for role in ROLES:
            if role == "relay":
                continue
            once, = (w.folder / role).glob("*.once.json")
            away = once.rename(tmp_path / once.name)
            assert w.check(role).returncode == 66 and once.name in w.check(role).stderr
            w.start(role)
            assert w.process[role].wait(TIMEOUT) == 66
            w.stop(role)
            away.rename(once)
        w.start_all()  # nobody has voided it
        until(lambda: not list(w.folder.glob("*/*.once.json")))
        assert not any(w.phase(role) == "void" for role in ROLES)
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


# ---- stores that go away -----------------------------------------------------------------------------------


def marks_of(w, devices=DEVICES):
    """What is of a text, and who has it, as bytes, by kind: embedding, cell, ticket, name; before servers have run, tag."""
    out = subprocess.run([REHEARSAL, "marks", w.folder, str(devices)], stdout=subprocess.PIPE, check=True,
                         text=True, timeout=TIMEOUT)
    found = {}
    for line in out.stdout.splitlines():
        kind, mark = line.split()
        found.setdefault(kind, set()).add(bytes.fromhex(mark))
    return found


def secrets_of(w, devices=DEVICES):
    """What no server may write down, as bytes: whatever the devices have, and every key of every role."""
    kinds = marks_of(w, devices)
    assert sorted(kinds) == ["cell", "embedding", "name", "tag", "ticket"]
    found = set().union(*kinds.values())
    public = (w.folder / "terms" / "terms.json").read_text()
    for kind in ("*/*.secret.json", "*/*.once.json", "ticket.key"):
        for path in w.folder.glob(kind):
            found |= {bytes.fromhex(key) for key in re.findall(r"\b[0-9a-f]{64}\b", path.read_text())
                      if key not in public}
    for path in w.folder.glob("*/*.key.pem"):
        found.add("".join(path.read_text().split("\n")[1:-2]).encode())
    return found


def must_hold_none(secrets, data, where):
    folded = data.lower()
    for secret in secrets:
        assert secret not in data and secret.hex().encode() not in folded, where


def test_files_of_rows_have_no_secret(tmp_path):
    """Nor their logs, which a kill leaves where they are."""
    def run(w):
        secrets = secrets_of(w)
        w.start_all()
        if not w.contribute():
            return False
        for role in ROLES:
            assert w.stop(role, signal.SIGKILL) == -signal.SIGKILL
        found = [path for role in ROLES for path in files_below(w.folder / role / "rows")]
        assert any(path.name.endswith("-wal") and path.stat().st_size > 0 for path in found)
        for path in found:
            must_hold_none(secrets, path.read_bytes(), path)
        return True

    try_until_in_time(tmp_path, run)


@contextlib.contextmanager
def small_disk(folder):
    folder.mkdir(mode=0o700)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", folder],
                          stderr=subprocess.DEVNULL)
    if made.returncode != 0:
        pytest.skip("no file system may be mounted")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(path):
    """All that there is."""
    with open(path, "wb", buffering=0) as f:
        for size in (65536, 4096):
            try:
                while True:
                    f.write(bytes(size))
            except OSError as e:
                assert e.errno == errno.ENOSPC


def test_a_full_disk_is_waited_for(tmp_path):
    def run(w):
        rows = w.folder / "relay" / "rows"
        with small_disk(rows):
            w.start_all()
            devices = w.devices()
            until(lambda: w.phase("relay") == "taking")
            fill(rows / "filler")
            until(lambda: "store failed" in w.events("relay") or devices.poll() is not None)
            if devices.poll() is None:
                assert w.get("relay", "/readyz") == 503
                assert w.process["relay"].poll() is None
                a_carry = bytes([2, 20]) + bytes.fromhex(w.terms["id"])
                assert posted(w, "relay", "public", a_carry) == 503
            (rows / "filler").unlink()
            if not in_time(devices):
                return False
            w.must_release()
            said = [line for line in w.said["relay"] if line["event"].startswith("store ")]
            assert [line["event"] for line in said[:1] + said[-1:]] == ["store failed", "store back"]
            for one, next in zip(said, said[1:]):  # each minute, however often it was tried
                assert one["event"] != next["event"] or one["time"][:16] != next["time"][:16]
            assert w.stop("relay") == 0
        return True

    try_until_in_time(tmp_path, run, tls=False)


# ---- its end -------------------------------------------------------------------------------------------------


def path_of(w):
    return "/fre/v2/" + w.terms["id"]


def posted(w, role, listener, body):
    host, port = w.configuration(role)[listener]["listen"].split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT)
    try:
        connection.request("POST", path_of(w), body, {"Content-Type": "application/fre-e2t"})
        return connection.getresponse().status
    finally:
        connection.close()


def test_the_first_process_of_a_container_ends(tmp_path):
    """PID 1 has no signal's default action.  What is under way is answered; what was kept is there."""
    w = World(tmp_path / "world", tls=False)
    if subprocess.run(["unshare", "-fp", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no namespaces here")
    w.before = ["unshare", "-fp"]
    try:
        w.start("relay")
        until(lambda: w.is_ready("relay"))
        pid = w.process["relay"].pid
        inner = int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())
        host, port = w.configuration("relay")["public"]["listen"].split(":")
        with socket.create_connection((host, int(port)), timeout=TIMEOUT) as s:
            s.sendall((f"POST {path_of(w)} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/fre-e2t\r\n"
                       "Content-Length: 8\r\n\r\n1234").encode())
            time.sleep(0.5)  # its headers are read
            os.kill(inner, signal.SIGTERM)
            time.sleep(0.5)
            s.sendall(b"5678")
            assert s.recv(4096).startswith(b"HTTP/1.1 200 ")
        assert w.process["relay"].wait(TIMEOUT) == 0
        w.process.pop("relay").reader.join()
        assert w.events("relay")[0] == "started" and w.events("relay")[-1] == "stopped"
        w.before = []
        w.start("relay")
        until(lambda: w.is_ready("relay"))
        assert w.stop("relay") == 0
    finally:
        w.end()


# ---- what goes on from the relay ----------------------------------------------------------------------------


class Between(http.server.BaseHTTPRequestHandler):
    """Passes requests on, with `more` headers, and keeps those that it saw."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.path, self.headers.items(), self.client_address))
        connection = http.client.HTTPConnection(*self.server.to, timeout=60)
        try:
            connection.request("POST", self.path, body,
                               {"Content-Type": self.headers["Content-Type"], **self.server.more})
            answer = connection.getresponse()
            data = answer.read()
        except OSError:
            self.close_connection = True
            return
        finally:
            connection.close()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def between(listen, to, more=None):
    server = http.server.ThreadingHTTPServer(listen, Between)
    server.to, server.more, server.seen = to, more or {}, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def address(text):
    host, port = text.split("//")[-1].split(":")
    return host, int(port)


CLIENT = {"User-Agent": "somebodys-phone/1", "X-Forwarded-For": "192.0.2.77", "Forwarded": "for=192.0.2.77",
          "Via": "1.1 somebody", "Cookie": "session=somebody", "Referer": "http://somebody/", "X-Request-Id": "77",
          "Date": "Mon, 30 Nov 2026 04:00:00 GMT", "Traceparent": "00-somebody"}


def test_nothing_of_a_client_goes_on_but_its_message(tmp_path):
    def run(w):
        own = address(w.configuration("relay")["public"]["listen"])
        here = ("127.0.0.1", 0)
        tagging, issuer = (address(w.terms[key]) for key in ("tag_url", "issuer_url"))
        with between(here, tagging) as to_tagging, between(here, issuer) as to_issuer:
            w.change("relay", public={"listen": "127.0.0.1:0", "requests_a_minute": 0},
                     peers={"tagging": "http://127.0.0.1:%d" % to_tagging.server_address[1],
                            "issuer": "http://127.0.0.1:%d" % to_issuer.server_address[1]})
            with socket.socket() as probe:
                probe.bind(here)
                listen = probe.getsockname()
            w.change("relay", public={"listen": "%s:%d" % listen, "requests_a_minute": 0})
            w.start_all()
            with between(own, listen, CLIENT) as clients:
                late = not w.contribute(20)
        if late:
            return False
        assert len(clients.seen) >= 40 and len(to_tagging.seen) >= 20 and len(to_issuer.seen) >= 20
        for path, headers, _ in clients.seen + to_tagging.seen + to_issuer.seen:
            assert path == path_of(w)
            assert sorted(name.lower() for name, _ in headers) == ["content-length", "content-type", "host"]
            assert dict((name.lower(), value) for name, value in headers)["content-type"] == "application/fre-e2t"
        return True

    try_until_in_time(tmp_path, run, tls=False)


# ---- clocks ---------------------------------------------------------------------------------------------------


def test_a_clock_that_jumps_is_not_believed(tmp_path):
    """Ten minutes ahead, in the middle of it all, at one role after the other: it would be past the end."""
    def run(w):
        for role in ROLES:
            (w.folder / f"{role}.clock").write_text("0")
            w.environment[role] = {"LD_PRELOAD": CLOCK, "FRE_TEST_CLOCK": str(w.folder / f"{role}.clock"),
                                   "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        w.start_all()
        devices = w.devices()
        for role in ROLES:
            (w.folder / f"{role}.clock").write_text("600")
            until(lambda: w.get(role, "/readyz") == 503)
            time.sleep(0.3)
            (w.folder / f"{role}.clock").write_text("0")
            until(lambda: w.is_ready(role))
        if not in_time(devices):
            return False
        w.must_release()
        return True

    try_until_in_time(tmp_path, run)
