"""Every input gives the same whether it is a file, a pipe, a named pipe or standard input, plain or
compressed, in every command: it is opened once, and what is looked at first is not lost.  That the
reader gives the same in each way, for each layout, is test_corpus's test_ways."""

import ctypes
import gzip
import json
import os
import shutil
import struct
import subprocess
import threading

import pytest

from conftest import BUDGET, MODELS, NO_TEXT, PROGRAM, SEED, TIMEOUT, other_embedder, texts

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
FEW = ["file", "process substitution", "gzip file"]
IN_OPEN, IN_OTHER = 0x20, 0x1 | 0x18  # IN_ACCESS, IN_CLOSE: two openings in a row would be one


class Opens:
    """Counts how often a file is opened, from here on, by whatever program."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.fd >= 0
        assert libc.inotify_add_watch(self.fd, os.fsencode(path), IN_OPEN | IN_OTHER) >= 0

    def count(self):
        n = 0
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                break
            while data:
                _, mask, _, length = struct.unpack_from("iIII", data)
                n += mask & IN_OPEN != 0
                data = data[16 + length:]
        os.close(self.fd)
        return n


def test_openings_are_counted(tmp_path):
    (tmp_path / "x").write_bytes(b"x")
    opens = Opens(tmp_path / "x")
    for _ in range(3):
        (tmp_path / "x").read_bytes()
    assert opens.count() == 3


class Feeder:
    """Runs a command on bytes that come in one of WAYS; {} in its arguments is the input."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name

    def run(self, way, data, args, name=None):
        name = name or self.name
        if way.startswith("gzip"):
            data = gzip.compress(data)
        elif way.startswith("zstd"):
            data = zstd(data)
        way = {"gzip pipe": "-", "zstd pipe": "-", "gzip file": "file", "zstd file": "file"}.get(
            way, way)
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
        opens = Opens(self.folder / name) if "file" in way else None
        process = subprocess.Popen([PROGRAM, *[str(a).replace("{}", str(path)) for a in args]],
                                   cwd=self.folder, stdin=stdin, pass_fds=fds,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for c in close:
            c()
        for t in threads:
            t.start()
        out, err = process.communicate(timeout=TIMEOUT)
        if way == "named pipe":  # its writer must not wait for one who never opened it
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        for t in threads:
            t.join(timeout=TIMEOUT)
        if opens:  # standard input is open already
            assert opens.count() == (1 if way == "file" else 0), (way, args)
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
    args = ["synthesize", "{}", "-o", "q", "--force", "--user-field", "user", "--quiet", *BUDGET,
            *NO_TEXT, *SEED]

    def results(_):
        found = files(tmp_path / "q")
        assert found["synthetic.jsonl"].count(b"\n") == 3
        return found

    if kind == "jsonl":
        same_in_all_ways(feeder, JSONL, args, results)
    else:
        same_in_all_ways(feeder, ARRAY, args, results, ways=["file", "-", "zstd file"])


def test_booked_under_one_name(feeder, tmp_path):
    """What the ledger knows of data is the same in every way, so a second release is refused."""
    args = ["synthesize", "{}", "-o", "q", "--force", "--quiet", *BUDGET, *NO_TEXT, "--ledger",
            "book.json", "--budget-epsilon", "9"]
    assert feeder.run("process substitution", JSONL, args)[0] == 0
    for way in ("file", "gzip file", "named pipe"):
        assert feeder.run(way, JSONL, [*args, "--dry-run"])[0] == 77, way
    nothing = ["-" if a == "{}" else a for a in args]
    assert feeder.run("-", b"\n \n", nothing)[0] == 66  # nothing to release: nothing is booked


def test_dry_run(feeder):
    args = ["synthesize", "{}", "-o", "q", "--dry-run", "--json", *BUDGET, *NO_TEXT,
            "--ledger", "none"]

    def results(out):
        private = json.loads(out)["not_for_publication"]
        assert private["records"] == len(RECORDS)
        assert private["input"]["format"] == "JSON lines"
        return private["records"]

    same_in_all_ways(feeder, JSONL, args, results, ways=["file", "-", "stdin file", "zstd pipe"])


def test_simulate(feeder, tmp_path):
    args = ["simulate", "{}", "-o", "q", "--force", "--quiet", "--epsilon", "8", "--population",
            "100000", "--users", "110", *NO_TEXT, *SEED]
    same_in_all_ways(feeder, JSONL, args, lambda _: files(tmp_path / "q"),
                     ways=["file", "named pipe"])


@pytest.mark.parametrize("kind, ways", [
    ("jsonl", ["file", "process substitution", "socket", "zstd pipe", "zstd file"]),
    ("array", ["file", "-"]), ("csv", ["file", "named pipe"])])
def test_embed(feeder, tmp_path, kind, ways):
    data = {"jsonl": JSONL, "array": ARRAY,
            "csv": ("pad,text\n" + "".join(f"{WIDE},{r['text']}\n" for r in RECORDS)).encode()}[kind]
    args = ["embed", "{}", "-o", "x.npy", "--force", "--quiet"]
    same_in_all_ways(feeder, data, args, lambda _: (tmp_path / "x.npy").read_bytes(),
                     "input." + kind.replace("array", "json"), ways)


def npy(rows, tmp_path):
    (tmp_path / "t.txt").write_text("".join(t + "\n" for t in texts(20)[:rows]))
    subprocess.run([PROGRAM, "embed", "t.txt", "-o", "rows.npy", "--quiet"], cwd=tmp_path,
                   check=True, timeout=TIMEOUT)
    return (tmp_path / "rows.npy").read_bytes()


def test_embeddings(feeder, tmp_path):
    """A .npy by its content, from a pipe too, and whatever its name's case.  For texts it needs the
    sidecar, which a pipe cannot have."""
    data = npy(390, tmp_path)
    args = ["synthesize", "{}", "-o", "q", "--force", "--quiet", *BUDGET, *NO_TEXT, *SEED]

    def results(_):
        found = files(tmp_path / "q")
        assert found["synthetic.jsonl"].count(b"\n") == 3
        del found["centroids.npy.json"], found["release.json"]  # name the embedder of the sidecar
        return found

    same_in_all_ways(feeder, data, args, results, "X.NPY",
                     ["file", "process substitution", "-", "stdin file", "gzip file"])
    for command in (["synthesize", "-", "-o", "p", *BUDGET], ["model", "prior", "-", "-o", "p"]):
        code, _, err = feeder.run("-", data, command)
        assert code == 65 and ("which has no sidecar that names the embedder; give the .npy file "
                               "itself") in err


def test_invert(feeder, tmp_path):
    data = npy(1, tmp_path)
    args = ["invert", "{}", "-o", "-", "--effort", "1", "--quiet"]
    same_in_all_ways(feeder, data, args, lambda out: out, "x.npy", FEW)


# ---- the public corpus -------------------------------------------------------------------------


SEARCH = ["--inverter", "search", "--effort", "1", "--quiet", "--public-corpus", "{}"]
PUBLIC = "".join(json.dumps({"pad": WIDE * 2, "text": f"a public text of number {i % 7}"}) + "\n"
                 for i in range(300)).encode()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_public_corpus(feeder, tmp_path, cache):
    npy(1, tmp_path)
    args = ["invert", "rows.npy", "-o", "-", *SEARCH]
    same_in_all_ways(feeder, JSONL, args, lambda out: out, ways=FEW)


@pytest.mark.parametrize("command, more", [
    ("synthesize", ["--epsilon", "8", "--threshold", "40", "--ledger", "none"]),
    ("simulate", ["--epsilon", "8"])])
def test_public_corpus_of_a_release(feeder, tmp_path, cache, command, more):
    """It is compared with the input and then searched, however it comes."""
    (tmp_path / "in.txt").write_text("turn off the radio\n" * 150)
    args = [command, "in.txt", "-o", "q", "--force", *more, "--population", "100000", *SEED, *SEARCH]

    def results(_):
        found = files(tmp_path / "q")
        assert found["synthetic.jsonl"].count(b"\n") == 1
        return found

    same_in_all_ways(feeder, PUBLIC, args, results, "public.jsonl", ["file", "named pipe"])
    code, _, err = feeder.run("process substitution", b"turn off the radio\n" * 150, args)
    assert code == 77 and "was not made without the input" in err


def test_one_pipe_for_two(feeder, tmp_path):
    """Neither can be read by both of two inputs."""
    for way, args in (("-", ["synthesize", "-", "-o", "q", *BUDGET, *SEARCH[:-1], "-"]),
                      ("named pipe", ["synthesize", "{}", "-o", "q", *BUDGET, *SEARCH]),
                      ("/dev/stdin", ["evaluate", "-", "/dev/stdin"])):
        code, _, err = feeder.run(way, b"", args)
        assert code == 64 and "are one and the same pipe, which can be read only once" in err


# ---- the other commands ------------------------------------------------------------------------


def test_evaluate(feeder, tmp_path):
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(
        {"text": t, "paraphrases": [t + "?"]}) + "\n" for t in sorted(set(texts(3)))))
    args = ["evaluate", "s.jsonl", "{}", "--json", "--quiet"]

    def results(out):
        found = json.loads(out)
        found.pop("seconds", None)
        return {k: v for k, v in found.items() if "second" not in k and k != "name"}

    same_in_all_ways(feeder, JSONL, args, results, ways=["file", "-", "gzip file"])
    # and the synthetic texts with their paraphrases
    (tmp_path / "o.jsonl").write_bytes(JSONL)
    data = (tmp_path / "s.jsonl").read_bytes()
    args = ["evaluate", "{}", "o.jsonl", "--json", "--quiet"]
    same_in_all_ways(feeder, data, args, results, ways=["file", "process substitution"])


def test_paraphrase(feeder, tmp_path):
    data = b'{"text": "where is my parcel"}\n'
    args = ["paraphrase", "{}", "-o", "-", "--paraphrases", "1", "--quiet"]
    same_in_all_ways(feeder, data, args, lambda out: out, ways=FEW)


def test_score(feeder):
    """By the bundled decoder, which is a language model like any other."""
    args = ["score", "{}", "-o", "-", "--quiet", "--language-model",
            MODELS / "minilm-inverter.q8_0.gguf"]
    data = b"".join(t.encode() + b"\n" for t in texts(2)[-8:])
    same_in_all_ways(feeder, data, args, lambda out: out, "input.txt", FEW)


def test_model_prior(feeder):
    args = ["model", "prior", "{}", "-o", "p.gguf", "--force", "--source", "made up", "--json"]
    data = "".join(f"{i}\n" for i in range(1600)).encode()
    # the numbers; the file also names what it was made of, if that has a name
    same_in_all_ways(feeder, data, args, lambda out: json.loads(out), "input.txt",
                     ways=["file", "-"])


def test_model_codebook(feeder):
    args = ["model", "codebook", "{}", "-o", "c.gguf", "--force", "--source", "made up", "--json",
            "--levels", "8x2,8,2"]
    data = "".join(f"text number {i}\n" for i in range(100)).encode()
    same_in_all_ways(feeder, data, args, lambda out: json.loads(out), "input.txt",
                     ways=["file", "-"])


def test_model_bridge(feeder, tmp_path):
    args = ["model", "bridge", "{}", "-o", "b.gguf", "--force", "--source", "made up", "--json",
            "--embedder", other_embedder(tmp_path)]
    data = "".join(f"text {i}\n" for i in range(20)).encode()
    for way in FEW:  # all of it is read, and is too little; a whole bridge takes a minute
        code, _, err = feeder.run(way, data, args, "input.txt")
        assert code == 65 and "needs at least 3072 texts, and there are 20" in err, (way, err)


def test_model_verify(feeder, cache):
    args = ["model", "verify", "--json", *SEARCH[2:]]
    same_in_all_ways(feeder, PUBLIC, args, lambda out: json.loads(out), ways=FEW[:2])


def test_ledger(tmp_path):
    """The book that is shown."""
    (tmp_path / "in.txt").write_text("one\n")
    subprocess.run([PROGRAM, "synthesize", "in.txt", "-o", "q", *BUDGET, *NO_TEXT, "--ledger",
                    "book.json", "--quiet"], cwd=tmp_path, check=True, timeout=TIMEOUT)
    opens = Opens(tmp_path / "book.json")
    subprocess.run([PROGRAM, "ledger", "show", "book.json"], cwd=tmp_path, check=True,
                   stdout=subprocess.DEVNULL, timeout=TIMEOUT)
    assert opens.count() == 1
