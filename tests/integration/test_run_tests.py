"""run-tests: its closing line counts both suites and whatever ended before any test ran; the times."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

MAKEFILE = """check-rest:
\t@echo ' 1/3 Test  #1: test_a .........   Passed    8.29 sec'
\t@echo ' 2/3 Test #12: integration-b ...***Failed   63.63 sec'
\t@echo ' 3/3 Test  #3: test_c ....***Timeout 600.02 sec'
\t@echo '33% tests passed, 2 tests failed out of 3'; exit 8
asan:
\t{asan}
"""


@pytest.fixture
def checkout(tmp_path):
    """run-tests among stand-ins for what it calls."""
    shutil.copy(ROOT / "run-tests", tmp_path / "run-tests")
    (tmp_path / "tools").mkdir()
    for name in ("install-packages", "bootstrap-llama", "get-language-model"):
        (tmp_path / "tools" / name).write_text("#!/bin/sh\n")
        (tmp_path / "tools" / name).chmod(0o755)

    def run(asan, **env):
        (tmp_path / "Makefile").write_text(MAKEFILE.format(asan=asan))
        return subprocess.run(["sh", tmp_path / "run-tests"], capture_output=True, text=True,
                              env={**os.environ, "FRE_SPARK": "", **env})

    run.top = tmp_path
    return run


@pytest.mark.parametrize("asan, counts", [
    ("@echo '100% tests passed, 0 tests failed out of 4'", "5 passed, 2 failed"),
    ("@echo '100% tests passed, 0 tests failed out of 4'; exit 1", "5 passed, 3 failed"),
    ("@echo 'error: no'; exit 1", "1 passed, 3 failed"),
])
def test_counts_and_times(checkout, asan, counts):
    done = checkout(asan)
    assert done.returncode == 1
    assert done.stdout.endswith(f" s  in all\n\n{counts}\n")
    assert re.search(r"slowest tests of make check-rest:\n +600\.0 s  test_c\n +63\.6 s  integration-b\n"
                     r" +8\.3 s  test_a\n", done.stdout)
    times = done.stdout[done.stdout.index("time of each part:\n"):]
    assert re.findall(r"(?m)^ +\d+ s  (.*)$", times) == ["packages", "llama.cpp", "a small language model",
                                                        "make check-rest", "make asan", "in all"]


@pytest.mark.parametrize("ends, said", [("exit 0", False), ("exit 1", True)])
def test_spark(checkout, ends, said):
    """Where PySpark cannot be had, nothing fails for it."""
    (checkout.top / "tools" / "run-spark").write_text(f"echo asked $1 >>ran\n{ends}\n")
    passes = "@echo '100% tests passed, 0 tests failed out of 4'"
    done = checkout(passes, FRE_SPARK="try")
    assert ("PySpark cannot be had here" in done.stdout) == said and done.stdout.endswith("\n5 passed, 2 failed\n")
    assert (checkout.top / "ran").read_text() == "asked --prepare\n"
    checkout(passes)
    assert (checkout.top / "ran").read_text() == "asked --prepare\n"


@pytest.mark.parametrize("tool", ["install-packages", "bootstrap-llama", "get-language-model"])
def test_nothing_to_test(checkout, tool):
    (checkout.top / "tools" / tool).write_text("#!/bin/sh\nexit 3\n")
    done = checkout("@true")
    assert done.returncode == 1 and done.stdout.endswith("\n0 passed, 1 failed\n")
