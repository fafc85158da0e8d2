"""tools/prove-fresh and .ci/run: what they delete and leave, and when they fall back.  debootstrap
and chroot are stand-ins, so that no test needs a mirror; where mounts are refused, that is tested."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from conftest import ROOT, everything

MARK = ".made-by-prove-fresh"


def may_mount():
    done = subprocess.run(["sh", ROOT / "tools" / "prove-fresh", "--can"], capture_output=True,
                          text=True)
    assert done.returncode in (0, 75), done.stderr
    return done.returncode == 0


needs_mounts = pytest.mark.skipif(not may_mount(), reason="no fresh root can be made here")


def stand_in(folder, name, text):
    path = folder / "stand-ins" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


@pytest.fixture
def project(tmp_path):
    """A checkout that holds little but the two scripts; its tests pass when run plainly."""
    top = tmp_path / "project"
    for name in ("tools/prove-fresh", ".ci/run"):
        (top / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, top / name)
    (top / "run-tests").write_text("echo plainly\necho '3 passed, 0 failed'\n")
    git = ["git", "-C", top, "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *words], check=True)
    # debootstrap --variant SUITE FOLDER; chroot FOLDER /usr/bin/env ... sh -c COMMANDS
    stand_in(tmp_path, "debootstrap", 'mkdir -p "$3/etc/apt" "$3/srv"\n')
    stand_in(tmp_path, "chroot", 'case "$*" in *run-tests*) . "$STAND_IN" ;; esac\n')
    return top


def environment(tmp_path, inside):
    (tmp_path / "inside").write_text(inside)
    return {**os.environ, "PATH": f"{tmp_path / 'stand-ins'}:{os.environ['PATH']}",
            "STAND_IN": str(tmp_path / "inside"), "FRESH_DIR": str(tmp_path / "fresh")}


def run(tmp_path, script, *args, inside="", **env):
    return subprocess.run(["sh", script, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**environment(tmp_path, inside), **env}, timeout=300)


@needs_mounts
def test_the_way_through(project, tmp_path):
    """The command's own closing line is the last one, and only the log and the lock stay."""
    inside = 'ls "$1/srv/fre-e2t"; ls "$1/proc/self" >/dev/null && echo mounted; echo "5 passed, 0 failed"\n'
    done = run(tmp_path, project / ".ci" / "run", inside=inside)
    assert done.returncode == 0, done.stderr
    assert "in the fresh root" in done.stdout and "\nmounted\n" in done.stdout
    assert "\nrun-tests\n" in done.stdout  # the clone
    assert done.stdout.endswith("\n5 passed, 0 failed\n") and "plainly" not in done.stdout
    assert {p.name for p in tmp_path.glob("fresh*")} <= {"fresh.lock", "fresh.log"}


@needs_mounts
def test_no_second_chance(project, tmp_path):
    """Tests that fail in the fresh root fail, with 75 as with any other status."""
    for code in (1, 75):
        done = run(tmp_path, project / ".ci" / "run", inside=f"echo '4 passed, 1 failed'; exit {code}\n")
        assert done.returncode == 1 and "plainly" not in done.stdout
        assert done.stdout.endswith("\n4 passed, 1 failed\n") and done.stderr == ""
        assert not (tmp_path / "fresh").exists()


def test_falls_back_and_says_so(project, tmp_path):
    """Where no root can be made the tests run plainly, with the reason before them."""
    def fell_back(reason):
        done = run(tmp_path, project / ".ci" / "run")
        assert done.returncode == 0 and reason in done.stderr, done.stderr
        assert "no fresh root on this machine" in done.stdout
        assert done.stdout.endswith("plainly\n3 passed, 0 failed\n")
        assert not (tmp_path / "fresh").exists()

    stand_in(tmp_path, "debootstrap", "echo no route to the mirror; exit 1\n")
    fell_back("no route to the mirror\nprove-fresh: debootstrap failed" if may_mount()
              else "prove-fresh: ")
    stand_in(tmp_path, "id", "echo 1000\n")
    fell_back("needs root")


def test_mounts_refused(project, tmp_path):
    stand_in(tmp_path, "id", "echo 0\n")
    stand_in(tmp_path, "unshare", "exit 1\n")
    done = run(tmp_path, project / "tools" / "prove-fresh", "run-tests")
    assert done.returncode == 75 and "allows no mounts" in done.stderr


@needs_mounts
def test_not_ours_is_left_alone(project, tmp_path):
    """A folder with someone's files, a link to one, and paths that could mean more."""
    for what in ("folder", "link"):
        theirs = tmp_path / "theirs"
        theirs.mkdir(exist_ok=True)
        (theirs / "letter").write_text("dear")
        fresh = tmp_path / "fresh"
        shutil.copytree(theirs, fresh) if what == "folder" else fresh.symlink_to(theirs)
        done = run(tmp_path, project / "tools" / "prove-fresh", "run-tests")
        assert done.returncode == 1 and "was not made by this script" in done.stderr
        assert (fresh / "letter").read_text() == "dear"
        shutil.rmtree(fresh) if what == "folder" else fresh.unlink()
    (tmp_path / "fresh").mkdir()
    (tmp_path / "fresh" / ".base").touch()  # as a root that was kept, but without the mark
    assert run(tmp_path, project / "tools" / "prove-fresh", "run-tests").returncode == 1
    assert everything(tmp_path / "fresh") == [".base"]


def test_odd_places(project, tmp_path):
    for place in ("/", "relative", f"{tmp_path}/../x", f"{tmp_path}/x/", f"{tmp_path}//x", "/..", "."):
        done = run(tmp_path, project / "tools" / "prove-fresh", "run-tests", FRESH_DIR=place)
        assert done.returncode == 1 and "FRESH_DIR" in done.stderr
    assert run(tmp_path, project / "tools" / "prove-fresh", "make").returncode == 64


@needs_mounts
def test_never_through_a_mount(project, tmp_path):
    """What another program mounted below a left-over root is neither entered nor deleted."""
    fresh, outside = tmp_path / "fresh", tmp_path / "outside"
    (fresh / "dev").mkdir(parents=True)
    (fresh / MARK).touch()
    outside.mkdir()
    (outside / "precious").write_text("yes")
    subprocess.run(["mount", "--bind", outside, fresh / "dev"], check=True)
    try:
        done = run(tmp_path, project / "tools" / "prove-fresh", "run-tests")
        assert done.returncode == 1 and "mounted below" in done.stderr
        assert (outside / "precious").exists() and (fresh / MARK).exists()
    finally:
        subprocess.run(["umount", fresh / "dev"], check=True)
    done = run(tmp_path, project / "tools" / "prove-fresh", "run-tests")
    assert done.returncode == 0 and not fresh.exists()
    assert (outside / "precious").exists()


@needs_mounts
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_interrupted(project, tmp_path, sign):
    """Nothing stays mounted and nothing runs on; the folder goes too, but for SIGKILL: next time."""
    inside = 'echo $$ >"$1/started"; sleep 300; touch "$1/went-on"\n'
    process = subprocess.Popen(["sh", project / "tools" / "prove-fresh", "run-tests"],
                               env=environment(tmp_path, inside), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    fresh = tmp_path / "fresh"
    while not (fresh / "started").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(sign)
    code = process.wait(timeout=60)
    assert str(fresh) not in pathlib.Path("/proc/self/mountinfo").read_text()
    assert os.path.exists("/dev/null") and os.path.exists("/proc/self")
    if sign != signal.SIGKILL:
        assert code == 130 and not fresh.exists()
        return
    assert (fresh / MARK).exists()
    while any(str(fresh) in line or str(project) in line for line in running()):
        time.sleep(0.05)
    done = run(tmp_path, project / "tools" / "prove-fresh", "run-tests")
    assert done.returncode == 0, done.stderr
    assert not fresh.exists()


def running():
    """The command lines of what still runs in a fresh root."""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if "--in-namespaces" in line:
            yield line
