"""A limit on open files that is too low: named as the cause by every command, whatever it was about
to open, with one exit code, and nothing is left behind."""

import os
import resource
import subprocess

import pytest

from conftest import LONG, PROGRAM, TIMEOUT, everything
from every_command import a_folder, label, runs

MOST = 64  # more than any command needs
# What takes long once it works opens nothing that another run does not; a bridge is made of two
# embedders.
SLOW = [("bench", "sampler"), ("bench", "protocol"), ("bench", "embed")]
if not LONG:
    SLOW.append(("model bridge", "many.txt"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return a_folder(tmp_path_factory.mktemp("few"))


@pytest.mark.parametrize("run", [r for r in runs() if (r[0], *(r[1] or [])[:1]) not in SLOW],
                         ids=label)
def test_few_open_files(folder, tmp_path, run):
    name, args = run
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    before = {*everything(folder), "own.json.lock"}  # a lock stays, as every book's does
    resumed = args[-1] if name == "experiment" else None  # its folder is for going on
    for most in range(4, MOST):
        limit = (most, most)
        done = subprocess.run([PROGRAM, *name.split(), *map(str, args)], cwd=folder, env=env,
                              capture_output=True, text=True, timeout=TIMEOUT, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
        if done.returncode == 0:
            break
        if "error while loading shared libraries" in done.stderr:
            continue
        last = done.stderr.splitlines()[-1]
        unbooked = "refused, because the ledger cannot record this run" in last  # a policy's code, whatever why
        undone = "runs are not done: " in last  # try again, of which they say why
        assert done.returncode == (77 if unbooked else 75 if undone else 74), (most, done.stderr)
        assert last.startswith(f"fre-e2t {name}: ") and "Too many open files" in last, (most, last)
        assert "(ulimit -n" in last, (most, last)
        left = {path for path in everything(folder) if path.split("/")[0] != resumed}
        assert before.issuperset(left), most
    assert done.returncode == 0
