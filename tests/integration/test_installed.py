"""An installation on its own, without checkout and cache, and libraries planted in the current
folder, where neither the installed program nor that of the build tree may look."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BUDGET, NO_TEXT, PROGRAM, ROOT, TIMEOUT, texts

BUILD = pathlib.Path(PROGRAM).resolve().parent
PLANTED = """#include <unistd.h>
__attribute__((constructor)) static void run(void) {
    (void)!write(2, "planted\\n", 8);
    _exit(99);
}
"""


def output(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


def hidden(*folders):
    """A command's prefix that runs it with empty folders in their place; empty where that is refused."""
    script = 'while [ "$1" != -- ]; do mount -t tmpfs none "$1" || exit 1; shift; done; shift; exec "$@"'
    prefix = ["unshare", "--mount", "sh", "-c", script, "sh", *map(str, folders), "--"]
    return prefix if subprocess.run([*prefix, "true"], capture_output=True).returncode == 0 else []


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Staged as a package is made, then moved."""
    stage = tmp_path_factory.mktemp("stage")
    output("cmake", "--install", BUILD, "--prefix", "/opt/fre", env={**os.environ, "DESTDIR": str(stage)})
    return (stage / "opt" / "fre").rename(tmp_path_factory.mktemp("moved") / "tree")


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(lib[^]/]*)\]", output("readelf", "-dW", path))


def run(program, folder, *args, prefix=(), **env):
    return subprocess.run([*prefix, program, *map(str, args)], cwd=folder, capture_output=True,
                          text=True, timeout=TIMEOUT, env={**os.environ, **env})


def test_planted_libraries_are_not_loaded(tree, tmp_path):
    source = tmp_path / "planted.c"
    source.write_text(PLANTED)
    objects = [pathlib.Path(PROGRAM), tree / "bin" / "fre-e2t", BUILD / "examples" / "take_part"]
    names = {name for path in objects for name in needed(path) if not re.match(r"lib(c|asan|ubsan)\.", name)}
    assert "libsodium.so.23" in names and "libfre-e2t.so.0" in names
    backends = {p.name for p in pathlib.Path(output(ROOT / "tools" / "bootstrap-llama", "--prefix").strip()
                                             ).glob("lib/libggml-cpu*")}
    here = tmp_path / "here"
    here.mkdir()
    output("cc", "-shared", "-fPIC", "-o", tmp_path / "planted.so", source)
    for name in {*names, *backends, "libggml-cpu.so"}:
        shutil.copy(tmp_path / "planted.so", here / name)
    (here / "in.txt").write_text("\n".join(texts()))
    for program in objects[:2]:
        for args in (("synthesize", "in.txt", "-o", "out", *BUDGET, *NO_TEXT, "--ledger", "none",
                      "--force"), ("embed", "in.txt", "-o", "x.npy", "--force")):
            done = run(program, here, *args)
            assert done.returncode == 0 and "planted" not in done.stderr, done.stderr
    assert run(objects[2], here).returncode == 0
    # They do act where they are asked for.
    for program in objects:
        done = run(program, here, LD_LIBRARY_PATH=".")
        assert done.returncode != 0 and ("planted" in done.stderr or "undefined" in done.stderr)


def test_runs_without_checkout_and_cache(tree, tmp_path):
    prefix = hidden(ROOT, output(ROOT / "tools" / "bootstrap-llama", "--prefix").strip())
    (tmp_path / "in.txt").write_text("tell me a joke\n" * 400)
    done = run(tree / "bin" / "fre-e2t", tmp_path, "synthesize", "in.txt", "-o", "out", *BUDGET,
               "--ledger", "none", prefix=prefix, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert "joke" in (tmp_path / "out" / "synthetic.jsonl").read_text()


def test_what_messages_name_is_there(tree, tmp_path):
    """`score` without its model names a program of the installation; no text names a place that only
    a checkout has, unless it says so."""
    program = tree / "bin" / "fre-e2t"
    (tmp_path / "t.txt").write_text("one\n")
    prefix = hidden(ROOT)
    done = run(program, tmp_path, "score", "t.txt", prefix=prefix, XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 66
    script, = re.findall(r"by (fre-e2t-[a-z-]+) \(in a checkout: ", done.stderr)
    path = run(tree / "bin" / script, tmp_path, "--path", prefix=prefix, XDG_CACHE_HOME=str(tmp_path))
    assert path.stdout == f"{tmp_path}/fre-e2t/smollm2-135m-instruct.q4_1.gguf\n"
    path = run(tree / "bin" / "fre-e2t-get-embedder", tmp_path, "--path", "bge-small-en", prefix=prefix)
    assert path.returncode == 0 and path.stdout.endswith(".gguf\n")

    output("strip", "-o", tmp_path / "stripped", program)
    found = (tmp_path / "stripped").read_bytes() + (tree / "share" / "man" / "man1" / "fre-e2t.1"
                                                    ).read_bytes().replace(b"\\-", b"-")
    for match in re.finditer(rb"(?<!src/)\b(tools|docs|tests|bench|train|examples)/[a-z]|\./?(run-tests|quickstart)",
                             found):
        assert found[:match.start()].endswith(b"in a checkout: "), found[match.start() - 60:match.end() + 40]


def test_links_of_documents(tree):
    """Every relative link of every installed document leads to something that is installed."""
    top = tree / "share" / "doc" / "fre-e2t"
    documents = list(top.rglob("*.md"))
    assert {"README.md", "privacy.md"} <= {p.name for p in documents}
    linked = 0
    for document in documents:
        for target in re.findall(r"\]\(([^)#\s]+)", document.read_text()):
            if not re.match(r"[a-z]+:", target):
                linked += 1
                assert (document.parent / target).exists(), (document.name, target)
                assert top in (document.parent / target).resolve().parents
    assert linked > 40


def test_a_client_can_be_written(tree):
    """The page, the vectors and the example are there, as in the checkout."""
    share = tree / "share"
    for path in ("docs/wire.md", "docs/client.md", "examples/python_client/client.py"):
        assert (share / "doc" / "fre-e2t" / path).read_bytes() == (ROOT / path).read_bytes()
    for name in ("wire.json", "client.json", "sketch.txt", "seal.txt"):
        assert (share / "fre-e2t" / "vectors" / name).read_bytes() == (ROOT / "tests" / "vectors" / name).read_bytes()


def test_search_paths(tree, tmp_path):
    """tools/check-runpath finds nothing in what was installed."""
    manifest = tmp_path / "manifest"
    manifest.write_text("".join(f"{p}\n" for p in tree.rglob("*")))
    said = output(ROOT / "tools" / "check-runpath", "--installed", manifest)
    assert re.fullmatch(r"runpath: ok \(\d+ objects\)\n", said)
