"""Every input gives the same whether it is a file, a pipe, a named pipe or standard input, plain or
compressed: it is opened once, and what is looked at first is not lost."""

import gzip
import json
import os
import shutil
import subprocess
import threading

import pytest

from conftest import BUDGET, NO_TEXT, PROGRAM, SEED, TIMEOUT, texts

# Far beyond the 64 KiB that are looked at first; few distinct texts, so that embedding is quick.
WIDE = "x" * 200
RECORDS = [{"pad": WIDE, "text": t, "user": f"u{i}"} for i, t in enumerate(texts(30))]
JSONL = "".join(json.dumps(r) + "\n" for r in RECORDS).encode()
ARRAY = json.dumps(RECORDS, indent=1).encode()


def zstd(data):
    program = shutil.which("zstd")
    if not program:
        pytest.skip("no zstd program here")
    return subprocess.run([program, "-qc"], input=data, capture_output=True, check=True).stdout


WAYS = ["file", "process substitution", "named pipe", "/dev/stdin", "-", "stdin file",
        "socket", "gzip pipe", "zstd pipe"]


class Feeder:
    """Runs a command on bytes that come in one of WAYS; {} in its arguments is the input."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name

    def run(self, way, data, args, name=None):
        name = name or self.name
        if way == "gzip pipe":
            data, way = gzip.compress(data), "-"
        elif way == "zstd pipe":
            data, way = zstd(data), "-"
        path, stdin, fds, close, threads = self.folder / name, subprocess.DEVNULL, (), [], []

        def feed(fd, closing=os.close):
            def write():
                try:
                    left = memoryview(data)
                    while left:
                        left = left[os.write(fd, left[:30011]):]
                except BrokenPipeError:
                    pass
                closing(fd)
            threads.append(threading.Thread(target=write, daemon=True))

        if way == "file":
            path.write_bytes(data)
        elif way == "stdin file":
            path.write_bytes(data)
            stdin = open(path, "rb")
            path = "-"
        elif way == "named pipe":
            path.unlink(missing_ok=True)
            os.mkfifo(path)

            def open_and_write():
                with open(path, "wb") as f:
                    try:
                        f.write(data)
                    except BrokenPipeError:
                        pass
            threads.append(threading.Thread(target=open_and_write, daemon=True))
        elif way == "socket":
            import socket
            ours, theirs = socket.socketpair()
            threads.append(threading.Thread(
                target=lambda: (ours.sendall(data), ours.close()), daemon=True))
            stdin, path = theirs, "/dev/stdin"
            close.append(theirs.close)
        else:
            read, write = os.pipe()
            feed(write)
            close.append(lambda: os.close(read))
            if way == "process substitution":
                fds, path = (read,), f"/dev/fd/{read}"
            else:
                stdin, path = read, way
        process = subprocess.Popen([PROGRAM, *[str(a).replace("{}", str(path)) for a in args]],
                                   cwd=self.folder, stdin=stdin, pass_fds=fds,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for c in close:
            c()
        for t in threads:
            t.start()
        out, err = process.communicate(timeout=TIMEOUT)
        for t in threads:
            t.join(timeout=TIMEOUT)
        (self.folder / name).unlink(missing_ok=True)
        return process.returncode, out, err.decode()


@pytest.fixture
def feeder(tmp_path):
    return Feeder(tmp_path, "input.jsonl")


def files(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def same_in_all_ways(feeder, data, args, results, name=None, ways=WAYS):
    """results(way) -> what must be equal."""
    seen = {}
    for way in ways:
        code, out, err = feeder.run(way, data, args, name)
        assert code == 0, (way, err)
        seen[way] = results(out)
    assert all(v == seen["file"] for v in seen.values()), {k: v == seen["file"]
                                                           for k, v in seen.items()}


@pytest.mark.parametrize("kind", ["jsonl", "array"])
def test_synthesize(feeder, tmp_path, kind):
    data = JSONL if kind == "jsonl" else ARRAY
    args = ["synthesize", "{}", "-o", "q", "--force", "--user-field", "user", "--quiet", *BUDGET,
            *NO_TEXT, *SEED]

    def results(_):
        found = files(tmp_path / "q")
        assert found["synthetic.jsonl"].count(b"\n") == 3
        return found

    same_in_all_ways(feeder, data, args, results)


def test_dry_run(feeder):
    args = ["synthesize", "{}", "-o", "q", "--dry-run", "--json", *BUDGET, *NO_TEXT,
            "--ledger", "none"]

    def results(out):
        private = json.loads(out)["not_for_publication"]
        assert private["records"] == len(RECORDS)
        assert private["input"]["format"] == "JSON lines"
        return private["records"]

    same_in_all_ways(feeder, JSONL, args, results)


def test_simulate(feeder, tmp_path):
    args = ["simulate", "{}", "-o", "q", "--force", "--quiet", "--epsilon", "8", "--population",
            "100000", "--users", "150", *NO_TEXT, *SEED]
    same_in_all_ways(feeder, JSONL, args, lambda _: files(tmp_path / "q"),
                     ways=["file", "named pipe", "-", "gzip pipe"])


@pytest.mark.parametrize("kind", ["jsonl", "array", "csv"])
def test_embed(feeder, tmp_path, kind):
    data = {"jsonl": JSONL, "array": ARRAY,
            "csv": ("pad,text\n" + "".join(f"{WIDE},{r['text']}\n" for r in RECORDS)).encode()}[kind]
    args = ["embed", "{}", "-o", "x.npy", "--force", "--quiet"]
    same_in_all_ways(feeder, data, args, lambda _: (tmp_path / "x.npy").read_bytes(),
                     "input." + kind.replace("array", "json"))


def npy(rows, tmp_path):
    (tmp_path / "t.txt").write_text("".join(t + "\n" for t in texts(20)[:rows]))
    subprocess.run([PROGRAM, "embed", "t.txt", "-o", "rows.npy", "--quiet"], cwd=tmp_path,
                   check=True, timeout=TIMEOUT)
    return (tmp_path / "rows.npy").read_bytes()


def test_embeddings(feeder, tmp_path):
    """A .npy by its content, from a pipe too, and whatever its name's case."""
    data = npy(390, tmp_path)
    args = ["synthesize", "{}", "-o", "q", "--force", "--quiet", *BUDGET, *NO_TEXT, *SEED]

    def results(_):
        found = files(tmp_path / "q")
        assert found["synthetic.jsonl"].count(b"\n") == 3
        del found["centroids.npy.json"], found["release.json"]  # name the embedder of the sidecar
        return found

    same_in_all_ways(feeder, data, args, results, "X.NPY")


def test_invert(feeder, tmp_path):
    data = npy(1, tmp_path)
    args = ["invert", "{}", "-o", "-", "--effort", "1", "--quiet"]
    same_in_all_ways(feeder, data, args, lambda out: out, "x.npy",
                     ways=["file", "process substitution", "named pipe", "-", "gzip pipe"])


def test_public_corpus(feeder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    npy(1, tmp_path)
    args = ["invert", "rows.npy", "-o", "-", "--inverter", "search", "--effort", "1", "--quiet",
            "--public-corpus", "{}"]
    same_in_all_ways(feeder, JSONL, args, lambda out: out,
                     ways=["file", "process substitution", "named pipe", "-", "gzip pipe"])


def test_evaluate(feeder, tmp_path):
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(
        {"text": t, "paraphrases": [t + "?"]}) + "\n" for t in sorted(set(texts(3)))))
    args = ["evaluate", "s.jsonl", "{}", "--json", "--quiet"]

    def results(out):
        found = json.loads(out)
        found.pop("seconds", None)
        return {k: v for k, v in found.items() if "second" not in k}

    same_in_all_ways(feeder, JSONL, args, results, ways=["file", "named pipe", "-", "gzip pipe"])
    # and the synthetic texts with their paraphrases
    (tmp_path / "o.jsonl").write_bytes(JSONL)
    data = (tmp_path / "s.jsonl").read_bytes()
    args = ["evaluate", "{}", "o.jsonl", "--json", "--quiet"]
    same_in_all_ways(feeder, data, args, results, ways=["file", "process substitution", "-"])


def test_paraphrase(feeder, tmp_path):
    data = b'{"text": "where is my parcel"}\n'
    args = ["paraphrase", "{}", "-o", "-", "--paraphrases", "1", "--quiet"]
    same_in_all_ways(feeder, data, args, lambda out: out,
                     ways=["file", "process substitution", "named pipe", "-", "gzip pipe"])


def test_model_prior(feeder):
    args = ["model", "prior", "{}", "-o", "p.gguf", "--force", "--source", "made up", "--json"]
    data = "".join(f"{WIDE[:9]} number {i} of many\n" for i in range(1600)).encode()
    # the numbers; the file also names what it was made of, if that has a name
    same_in_all_ways(feeder, data, args, lambda out: json.loads(out), "input.txt",
                     ways=["file", "named pipe", "-", "gzip pipe"])
