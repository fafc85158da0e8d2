"""What the integration tests share: the program, small inputs, and runs of it."""

import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(os.environ.get("FRE_E2T", str(ROOT / "build" / "fre-e2t")))
MODELS = ROOT / "models"
LONG = "FRE_LONG_TESTS" in os.environ  # by `make check-long`: every combination
TIMEOUT = 300  # seconds: only what hangs takes as long, under sanitizers too

# A budget that small inputs can meet, and no model where texts are not the point.
BUDGET = ["--epsilon", "8", "--threshold", "40", "--population", "100000"]
NO_TEXT = ["--inverter", "none"]
SEED = ["--seed", "5e" * 32]


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory):
    """No test touches the user's own ledger: each session has a state folder of its own."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


def pytest_sessionfinish(session):
    """FRE_SKIPS=fail: all that the tests need is installed, so one that is skipped has failed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("FRE_SKIPS") == "fail" and session.exitstatus == 0 and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def without_progress(err):
    """Standard error without the line that a slow run prints every ten seconds."""
    return re.sub(r"(?m)^[a-z ]+: (\d+%|[\d.]+ ?[kM]?B? done,) .*\n", "", err)


class Result:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout
        self.err = without_progress(done.stderr)

    def json(self):
        """The one object on standard output."""
        return json.loads(self.out)


@pytest.fixture
def fre(tmp_path):
    """Run the program in a folder of its own; also its TMPDIR is there."""
    (tmp_path / "tmp").mkdir()

    def run(*args, **options):
        env = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), **options.pop("env", {})}
        return Result(subprocess.run([PROGRAM, *map(str, args)], cwd=tmp_path, env=env,
                                     capture_output=True, text=True, timeout=TIMEOUT, **options))

    return run


@pytest.fixture
def refused(fre, tmp_path):
    """Run, and expect a code and exactly one sentence; nothing new may be left behind."""

    def run(code, sentence, *args, **options):
        before = everything(tmp_path)
        done = fre(*args, **options)
        assert done.err == sentence + "\n"
        assert done.code == code
        assert done.out == ""
        assert everything(tmp_path) == before

    return run


def on_terminal(folder, *args, columns=100, typed="", **variables):
    """The status, and what a terminal gets from the program, where somebody has typed ahead."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    os.write(main, typed.encode())
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "CLICOLOR")}
    process = subprocess.Popen([PROGRAM, *map(str, args)], cwd=folder, stdin=side, stdout=side,
                               stderr=side, env={**env, "TERM": "xterm", **variables})
    os.close(side)
    got = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        got += part
    os.close(main)
    return process.wait(TIMEOUT), got.decode("utf-8", "surrogateescape")


def everything(folder):
    """Every path below a folder, hidden ones included."""
    return sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*"))


def start(tmp_path, *args, stdin=None):
    env = dict(os.environ, TMPDIR=str(tmp_path / "tmp"))
    return subprocess.Popen([PROGRAM, *args], cwd=tmp_path, env=env, text=True, stdin=stdin,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def feed(process, lines):
    process.stdin.write("".join(t + "\n" for t in lines))
    process.stdin.flush()


def kill_when_kept(tmp_path, args, lines, spool, size, sig):
    """A run with --resume on standard input gets these lines, and the signal while it waits for more and its
    spool has more than that many bytes."""
    process = start(tmp_path, *args, "--resume", stdin=subprocess.PIPE)
    feed(process, lines)
    deadline = time.monotonic() + TIMEOUT
    while not (spool.exists() and spool.stat().st_size > size):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(sig)
    _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == -sig
    if sig != signal.SIGKILL:
        assert without_progress(err).endswith("interrupted; run it again with --resume to go on\n")


def other_embedder(folder):
    """An embedder with the bundled one's numbers, under another hash: the name is spelled anew."""
    data = bytearray((MODELS / "all-minilm-l6-v2.q8_0.gguf").read_bytes())
    at = data.index(b"general.name") + len(b"general.name") + 4 + 8
    data[at:at + 1] = data[at:at + 1].swapcase()
    (folder / "other.q8_0.gguf").write_bytes(data)
    return "other.q8_0.gguf"


FREQUENT = ["how do i reset my password", "where is my parcel", "please cancel my subscription"]


def texts(extra=40):
    """Three frequent texts (150, 120 and 100 times) among others that nobody shares."""
    lines = []
    for text, times in zip(FREQUENT, (150, 120, 100)):
        lines += [text] * times
    lines += [f"a rare request about item {i} of order {7919 * i % 1009}" for i in range(extra)]
    return lines


@pytest.fixture
def corpus(tmp_path):
    """texts() as corpus.jsonl."""
    return write_corpus(tmp_path / "corpus.jsonl")


def write_corpus(path):
    path.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts()))
    return path


@pytest.fixture(scope="session")
def session_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("session")


@pytest.fixture(scope="session")
def embedded(session_dir):
    """A path to embeddings of texts(), made once."""
    source = write_corpus(session_dir / "corpus.jsonl")
    out = session_dir / "x.npy"
    subprocess.run([PROGRAM, "embed", source, "-o", out, "--quiet"], check=True, timeout=TIMEOUT)
    return out


@pytest.fixture(scope="session")
def one_embedded(session_dir):
    """A path to the embedding of one frequent text, made once."""
    (session_dir / "one.txt").write_text("where is my parcel\n")
    out = session_dir / "one.npy"
    subprocess.run([PROGRAM, "embed", session_dir / "one.txt", "-o", out, "--quiet"], check=True,
                   timeout=TIMEOUT)
    return out


# A ledger's sketches of texts are estimates, which differ by its salt: what is said of an overlap would too.
EMPTY_BOOK = json.dumps({"format": "fre-e2t ledger", "version": 3, "salt": "5e1f" * 16}) + "\n"


def book_of_a_release(folder, *args):
    write_corpus(folder / "corpus.jsonl")
    (folder / "book.json").write_text(EMPTY_BOOK)
    subprocess.run([PROGRAM, "synthesize", "corpus.jsonl", "-o", "out", "--quiet", *BUDGET,
                    *NO_TEXT, "--ledger", "book.json", *args], cwd=folder, check=True,
                   timeout=TIMEOUT)
    return folder / "book.json"


@pytest.fixture(scope="session")
def released_once(tmp_path_factory):
    return book_of_a_release(tmp_path_factory.mktemp("released"))


@pytest.fixture(scope="session")
def spent_once(tmp_path_factory):
    return book_of_a_release(tmp_path_factory.mktemp("spent"), "--budget-epsilon", "9")


def own_copy(book, tmp_path):
    """The arguments of a ledger that is a copy of a book."""
    shutil.copy(book, tmp_path / "book.json")
    return ["--ledger", "book.json"]


@pytest.fixture
def released(released_once, tmp_path):
    """A ledger in which corpus.jsonl was released once."""
    return own_copy(released_once, tmp_path)


@pytest.fixture
def spent(spent_once, tmp_path):
    """A ledger that has no more for corpus.jsonl."""
    return own_copy(spent_once, tmp_path)
