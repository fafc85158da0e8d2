"""The wheel: built from the checkout, installed into a bare environment without a compiler, and run; what it holds, and
on which machines it runs.  `make check-python` builds it and names it by FRE_WHEEL; without that this is skipped."""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from conftest import ROOT, TIMEOUT

WHEEL = os.environ.get("FRE_WHEEL", "")
pytestmark = pytest.mark.skipif(not WHEEL, reason="no wheel: make check-python builds one")
WITH = ["pytest", "mypy", "pandas", "polars", "pyarrow", "duckdb"]
MOST = 100_000_000  # bytes
SYSTEM = {f"lib{name}" for name in ("c.so.6", "m.so.6", "pthread.so.0", "dl.so.2", "rt.so.1", "stdc++.so.6", "gcc_s.so.1", "z.so.1")} | {"ld-linux-x86-64.so.2"}


def run(*args, **options):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=4 * TIMEOUT, **options)


def install(python, *what):
    done = run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip("no package registry is reached")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """An environment with the wheel and what it needs; its path is all there is."""
    folder = tmp_path_factory.mktemp("bare")
    assert run(sys.executable, "-m", "venv", folder).returncode == 0
    install(folder / "bin" / "python", WHEEL)
    return folder


@pytest.fixture(scope="module")
def environment(bare, tmp_path_factory):
    state = tmp_path_factory.mktemp("state")
    return {"PATH": str(bare / "bin"), "HOME": str(state), "LANG": "C.UTF-8"}


def test_name_and_size():
    wheel = pathlib.Path(WHEEL)
    version = re.search(r"project\(fre-e2t VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert re.fullmatch(rf"fre_e2t-{re.escape(version)}-cp311-abi3-manylinux_2_\d+_x86_64\.whl", wheel.name)
    assert wheel.stat().st_size <= MOST


def test_what_it_holds():
    names = zipfile.ZipFile(WHEEL).namelist()
    assert not [n for n in names if n.endswith((".c", ".h", ".a", ".pyc"))]
    assert ("fre_e2t/licenses/sources.txt" in names) == ("manylinux_2_28" in WHEEL)  # of what it was made
    for name in ("_fre.abi3.so", "py.typed", "bin/fre-e2t", "licenses/LICENSE", "licenses/NOTICE", "licenses/llama.cpp-LICENSE",
                 "models/all-minilm-l6-v2.q8_0.gguf", "models/minilm-inverter.q8_0.gguf", "data/assistant-requests.jsonl.gz"):
        assert f"fre_e2t/{name}" in names
    assert [n for n in names if n.endswith(".data/scripts/fre-e2t-get-language-model")]
    for name in names:  # no path of the machine that built it
        if name.endswith((".so", ".py", "fre-e2t")):
            text = zipfile.ZipFile(WHEEL).read(name)
            assert str(ROOT).encode() not in text and b"/tmp/pip-" not in text, name


def test_no_newer_libc_than_the_tag_says(bare):
    """Nor any library but those that every Linux has."""
    if not shutil.which("objdump"):
        pytest.skip("objdump is not installed")
    tag = tuple(map(int, re.search(r"manylinux_(\d+)_(\d+)_", WHEEL).groups()))
    package = next((bare / "lib").glob("python*/site-packages"))
    binaries = [p for p in package.glob("fre_e2t*/**/*") if p.is_file() and p.open("rb").read(4) == b"\x7fELF"]
    assert len(binaries) >= 9
    ours = {p.name for p in binaries}
    for path in binaries:
        told = subprocess.run(["objdump", "-p", "-T", str(path)], capture_output=True, text=True, check=True).stdout
        newest = max([tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", told)], default=(0,))
        assert newest[:2] <= tag, path.name
        needed = set(re.findall(r"NEEDED +(\S+)", told)) - ours
        assert needed <= SYSTEM, path.name


def test_extension_shows_its_entry_alone(bare):
    """A process may have another OpenSSL, libsodium or llama.cpp: none of them takes our symbols for its own."""
    extension = next((bare / "lib").glob("python*/site-packages/fre_e2t/_fre.abi3.so"))
    told = run("nm", "-D", "--defined-only", extension)
    assert [line.split()[-1] for line in told.stdout.splitlines()] == ["PyInit__fre"]


def test_synthesizes(bare, environment, tmp_path):
    assert not any(shutil.which(tool, path=environment["PATH"]) for tool in ("cc", "gcc", "c++", "ld", "cmake"))
    code = ("import fre_e2t\n"
            "some = ['please cancel my subscription'] * 300 + [f'rare wish {i}' for i in range(50)]\n"
            "r = fre_e2t.synthesize(some, 8, threshold=40, population=100000, user=False, output='out')\n"
            "assert r == fre_e2t.load('out')\n"
            "print(r.texts.to_list(), r.is_private, fre_e2t.ledger()['entries'][0]['state'])\n")
    done = run(bare / "bin" / "python", "-c", code, cwd=tmp_path, env=environment)
    assert (done.stdout.lower(), done.stderr) == ("['please cancel my subscription'] true published\n", "")


def test_program(bare, environment, tmp_path):
    (tmp_path / "a.txt").write_text("please cancel my subscription\n" * 300)
    args = ["synthesize", "a.txt", "-o", "out", "--epsilon", "8", "--threshold", "40", "--population", "100000", "--quiet"]
    for program in ([bare / "bin" / "python", "-m", "fre_e2t"], [bare / "bin" / "fre-e2t"]):
        done = run(*program, *args, "--force", cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        assert "ancel my subscription" in (tmp_path / "out" / "synthetic.jsonl").read_text()


WIDE = re.compile(r"%[yz]mm[0-9]")


def test_no_wide_registers_but_by_choice(bare, environment):
    """What runs on every processor has none of AVX: llama.cpp's libraries, but for the variants of its kernels that are
    chosen at run time, one of which is for processors without it.  Of the extension and the program see the next test."""
    if not shutil.which("objdump"):
        pytest.skip("objdump is not installed")
    lib = next((bare / "lib").glob("python*/site-packages")) / "fre_e2t" / "lib"
    plain = [p for p in lib.iterdir() if not re.search(r"-cpu-(haswell|alderlake|cascadelake)\.so", p.name)]
    assert [p for p in plain if "cpu-x64" in p.name] and len(plain) >= 4
    for path in plain:
        done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(path)], capture_output=True, text=True, check=True)
        assert not WIDE.search(done.stdout), path.name


def test_embeddings_are_the_program_s(bare, environment, tmp_path):
    """Bit for bit: with another compiler too, the library's own kernels run, whose order of sums is fixed."""
    if not (program := os.environ.get("FRE_E2T")):
        pytest.skip("FRE_E2T names no program")
    lines = zipfile.ZipFile(WHEEL).read("fre_e2t/data/assistant-requests.jsonl.gz")
    (tmp_path / "some.jsonl").write_bytes(b"".join(gzip.decompress(lines).splitlines(keepends=True)[:300]))
    made = []
    for which, env in ((program, os.environ), (bare / "bin" / "fre-e2t", environment)):
        done = run(which, "embed", "some.jsonl", "-o", f"{len(made)}.npy", "--quiet", cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        made.append((tmp_path / f"{len(made)}.npy").read_bytes())
    assert made[0] == made[1]


def test_an_old_processor(bare, environment, tmp_path):
    """Under a processor without AVX, where qemu-user is installed."""
    qemu = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
    if not qemu:
        pytest.skip("qemu-user is not installed")
    python = (bare / "bin" / "python").resolve()
    code = "import fre_e2t; print(fre_e2t.embed(['where is my parcel']).shape, fre_e2t.plan(4)['tau'])"
    where = next((bare / "lib").glob("python*/site-packages"))
    done = run(qemu, "-cpu", "Nehalem", python, "-c", code, cwd=tmp_path, env={**environment, "PYTHONPATH": str(where)})
    assert done.returncode == 0 and done.stdout.startswith("(1, 384)"), done.stderr


def test_the_package_as_installed(bare, environment, tmp_path):
    """All tests of the package, with every library that hands over data frames."""
    install(bare / "bin" / "python", *WITH)
    here = ROOT / "tests" / "integration"
    env = {**environment, "FRE_PYTHON_PACKAGE": "installed", "FRE_E2T": str(bare / "bin" / "fre-e2t"), "FRE_LONG_TESTS": "1", "PYTHONDONTWRITEBYTECODE": "1",
           "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")}  # the language model, which no wheel holds
    done = run(bare / "bin" / "python", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", here / "test_python.py",
               here / "test_python_arrow.py", here / "test_python_shown.py",
               here / "test_notebook.py", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout.splitlines()[-1], done.stdout
