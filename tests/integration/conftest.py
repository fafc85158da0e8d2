"""What the integration tests share: the program, small inputs, and runs of it."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(os.environ.get("FRE_E2T", str(ROOT / "build" / "fre-e2t")))
MODELS = ROOT / "models"
TIMEOUT = 300  # seconds: only what hangs takes as long, under sanitizers too

# A budget that small inputs can meet, and no model where texts are not the point.
BUDGET = ["--epsilon", "8", "--threshold", "40", "--population", "100000"]
NO_TEXT = ["--inverter", "none"]
SEED = ["--seed", "5e" * 32]


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory):
    """No test touches the user's own ledger: each session has a state folder of its own."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


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


def everything(folder):
    """Every path below a folder, hidden ones included."""
    return sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*"))


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
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts()))
    return path


@pytest.fixture(scope="session")
def session_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("session")


@pytest.fixture(scope="session")
def embedded(session_dir):
    """A path to embeddings of texts(), made once."""
    source = session_dir / "corpus.jsonl"
    source.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts()))
    out = session_dir / "x.npy"
    subprocess.run([PROGRAM, "embed", source, "-o", out, "--quiet"], check=True, timeout=TIMEOUT)
    return out
