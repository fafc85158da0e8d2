"""tools/run-spark: what it installs, and when; a test that is skipped has failed."""

import os
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

# Stand-ins of commands, which say that they ran.
VENV = """case "$*" in "-m venv "*) ;; *) exit 9 ;; esac
mkdir -p "$3/bin"
printf '%s\\n' '#!/bin/sh' 'echo pip >>ran; [ ! -e no-network ]' >"$3/bin/pip"
chmod +x "$3/bin/pip"
"""


@pytest.fixture
def checkout(tmp_path):
    """run-spark among stand-ins; what ran, and how it ended."""
    for name, text in {"tools/install-packages": 'echo "packages $1" >>ran\n', "tools/bootstrap-llama": "echo llama >>ran\n",
                       "bin/python3": VENV, "bin/make": "echo make >>ran\n", "bin/java": "",
                       "bin/ctest": 'echo "ctest $*" >>ran\n[ ! -e failing ]\n'}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n" + text)
        (tmp_path / name).chmod(0o755)
    shutil.copy(ROOT / "tools" / "run-spark", tmp_path / "tools")
    for tool in ("sh", "cat", "rm", "mkdir", "chmod", "dirname"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))

    def run(*args):
        (tmp_path / "ran").unlink(missing_ok=True)
        done = subprocess.run(["sh", tmp_path / "tools" / "run-spark", *args], capture_output=True, text=True,
                              env={"PATH": str(tmp_path / "bin")})
        return done.returncode, (tmp_path / "ran").read_text().splitlines(), done.stderr

    run.top = tmp_path
    return run


BEFORE, AFTER = ["packages spark"], ["llama", "make", "ctest --preset dev -R ^integration-spark(_connect)?$ --no-tests=error"]


def test_once(checkout):
    """PySpark is installed once, and again where a version is another."""
    assert checkout("--prepare") == (0, [*BEFORE, "pip"], "")
    assert checkout("--prepare") == (0, BEFORE, "")
    assert checkout() == (0, [*BEFORE, *AFTER], "")
    script = checkout.top / "tools" / "run-spark"
    script.write_text(script.read_text().replace("pyspark[connect]==", "pyspark[connect]==0."))
    assert checkout() == (0, [*BEFORE, "pip", *AFTER], "")


def test_what_ends_it(checkout):
    (checkout.top / "no-network").touch()
    code, ran, _ = checkout()
    assert code != 0 and ran == [*BEFORE, "pip"]
    (checkout.top / "no-network").unlink()
    (checkout.top / "failing").touch()
    code, ran, _ = checkout()
    assert code == 1 and ran[-1] == AFTER[-1]
    assert subprocess.run(["sh", checkout.top / "tools" / "run-spark", "--help"]).returncode == 64
    (checkout.top / "bin" / "java").unlink()
    code, ran, said = checkout()
    assert code == 1 and ran == BEFORE and "apt-get install default-jre-headless" in said


@pytest.mark.parametrize("test, code", [("def test():\n    pytest.skip('no')\n", 1), ("pytest.importorskip('nothing_at_all')\n", 5),
                                        ("def test():\n    pass\n", 0)])
def test_skipped(tmp_path, test, code):
    shutil.copy(ROOT / "tests" / "integration" / "conftest.py", tmp_path)
    (tmp_path / "test_a.py").write_text(f"import pytest\n{test}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path]
    env = {name: value for name, value in os.environ.items() if name != "FRE_SKIPS"}
    assert subprocess.run(command, env={**env, "FRE_SKIPS": "fail"}).returncode == code
    assert (subprocess.run(command, env=env).returncode == 0) == (code != 5)
