"""The stores of rows under kills and restarts, over SQLite and a real PostgreSQL, which is started here in a
folder of its own, by nobody in particular."""

import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))
from conftest import TIMEOUT  # noqa: E402

PROGRAM = os.environ.get("FRE_TEST_STORE", "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="built without the servers")


def programs_of_postgres():
    """The folder with initdb and postgres: Debian keeps it out of the path."""
    found = shutil.which("initdb")
    if found:
        return pathlib.Path(found).resolve().parent
    versions = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda p: p.split("/")[4].zfill(4))
    return pathlib.Path(versions[-1]).parent if versions else None


class Postgres:
    """A cluster, reached by a socket in its folder alone."""

    def __init__(self, *options):
        self.bin = programs_of_postgres()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fre-pg-", dir="/tmp"))  # a socket's path is short
        self.user = None
        if os.geteuid() == 0:  # postgres does not run as root
            self.user = pwd.getpwnam("nobody")
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self.options = options
        self.process = None
        self.data = self.folder / "data"
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8",
                 "--no-locale")
        self.start()
        self.where = f"postgresql:///postgres?host={self.folder}&user=tester"

    def as_user(self):
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}

    def run(self, name, *args):
        subprocess.run([self.bin / name, *args], check=True, cwd=self.folder, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, timeout=TIMEOUT, **self.as_user())

    def start(self):
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [self.bin / "postgres", "-D", self.data, "-k", self.folder, "-c", "listen_addresses=",
             "-c", "shared_buffers=32MB", *self.options],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.as_user())
        deadline = time.monotonic() + 60
        while subprocess.run([self.bin / "pg_isready", "-q", "-h", self.folder]).returncode != 0:
            assert time.monotonic() < deadline and self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.1)

    def stop(self, how=signal.SIGINT):
        """SIGINT: at once, in order; SIGQUIT: as after a crash."""
        self.process.send_signal(how)
        self.process.wait(60)

    def clear(self):
        """No rows, and no schema."""
        subprocess.run([self.bin / "psql", "-q", self.where, "-c",
                        "DROP TABLE IF EXISTS fre_store_row; DROP TABLE IF EXISTS fre_store_schema"], check=True,
                       stderr=subprocess.DEVNULL)

    def end(self):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder)


@pytest.fixture(scope="module")
def postgres():
    if programs_of_postgres() is None:
        if os.environ.get("FRE_POSTGRES") == "required":
            pytest.fail("PostgreSQL is not installed")
        pytest.skip("PostgreSQL is not installed")
    server = Postgres()
    yield server
    server.end()


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, tmp_path):
    """A place for rows, empty."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/rows"
    server = request.getfixturevalue("postgres")
    server.clear()
    return server.where


def store(*args):
    return subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT)


def numbers(text):
    return [int(n) for n in text.split()]


def test_cases_of_both(postgres):
    """The unit test, with a database."""
    done = subprocess.run([PROGRAM], env={**os.environ, "FRE_TEST_POSTGRES": postgres.where},
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SKIPPED" not in done.stdout + done.stderr


def test_what_was_answered_survives_a_kill(where):
    """Killed at any time: every number that was printed is there, and at most one more."""
    for rounds in range(5):
        writer = subprocess.Popen([PROGRAM, "write", where, "4000"], stdout=subprocess.PIPE, text=True)
        seen = [writer.stdout.readline() for _ in range(20 + 37 * rounds)]
        writer.kill()
        seen += writer.stdout.readlines()
        writer.wait(TIMEOUT)
        printed = numbers("".join(line for line in seen if line.endswith("\n")))
        assert len(printed) >= 20
        for _ in range(50):  # the database may not have seen yet that its client is gone
            done = store("read", where)
            if done.returncode == 0:
                break
            time.sleep(0.1)
        there = set(numbers(done.stdout))
        assert set(printed) <= there


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_database_that_restarts(postgres, how):
    postgres.clear()
    writer = subprocess.Popen([PROGRAM, "write", postgres.where, "1000000"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    seen = [writer.stdout.readline() for _ in range(200)]
    postgres.stop(how)
    out, err = writer.communicate(timeout=TIMEOUT)
    assert writer.returncode == 75
    assert "PostgreSQL" in err and err.count("\n") == 1
    postgres.start()
    printed = numbers("".join(seen) + out)
    there = store("read", postgres.where)
    assert there.returncode == 0
    assert set(printed) <= set(numbers(there.stdout))


def files_below(folder):
    return [p for p in pathlib.Path(folder).rglob("*") if p.is_file()]


def test_nothing_is_readable_in_the_database(where, postgres, tmp_path):
    """Neither in tables nor in logs of transactions."""
    assert store("secret", where).returncode == 0
    folder = tmp_path / "rows" if where.startswith("sqlite:") else postgres.folder
    postgres.stop()  # its files come and go
    found = files_below(folder)
    data = [(path, path.read_bytes()) for path in found]
    postgres.start()
    assert found
    for path, content in data:
        for mark in (b"that nobody may read", b"that nobody may read".hex().encode(), b"the key of a machine"):
            assert mark not in content, path


def test_a_database_that_does_not_sync_is_refused():
    if programs_of_postgres() is None:
        pytest.skip("PostgreSQL is not installed")
    server = Postgres("-c", "fsync=off")
    try:
        done = store("read", server.where)
        assert done.returncode != 0
        assert "fsync off" in done.stderr
    finally:
        server.end()
