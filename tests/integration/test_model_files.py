"""Model files and embeddings that are damaged, foreign or do not belong together: one sentence on
standard error, exit code 65 or 66, nothing left behind."""

import gzip
import json
import signal
import struct

import numpy
import pytest

from conftest import BUDGET, LONG, MODELS, SEED, everything, kill_when_kept, other_embedder

EMBEDDER = "all-minilm-l6-v2.q8_0.gguf"
DECODER = "minilm-inverter.q8_0.gguf"
PROJECTOR = "minilm-inverter-projector.f16.gguf"
PRIOR = "all-minilm-l6-v2.prior.gguf"
DIM = 384


def refused_once(fre, folder, args, code=(65,), part=""):
    """Exactly one line on standard error, with `part` in it; no file more, none less."""
    before = everything(folder)
    done = fre(*args)
    assert done.code in code, (args, done.code, done.err)
    assert done.err.count("\n") == 1 and done.err.startswith("fre-e2t "), done.err
    assert part in done.err, done.err
    assert done.out == ""
    assert everything(folder) == before


def sidecar(path, rows, dim=DIM, sha256="", normalised=True):
    path.with_suffix(".npy.json").write_text(json.dumps(
        {"embedder": "some", "sha256": sha256, "dimension": dim, "normalised": normalised,
         "rows": rows}))


def write_rows(path, rows, **meta):
    numpy.save(path, numpy.asarray(rows, dtype=numpy.float32))
    if meta:
        sidecar(path, len(rows), **meta)


def unit_rows(n=3, dim=DIM):
    x = numpy.random.default_rng(5).normal(size=(n, dim))
    return x / numpy.linalg.norm(x, axis=1, keepdims=True)


# ---- embeddings -------------------------------------------------------------------------------


def test_embeddings_that_do_not_fit(fre, tmp_path):
    x = tmp_path / "x.npy"
    args = ("invert", "x.npy", "-o", "t.jsonl")

    write_rows(x, unit_rows(dim=256))
    refused_once(fre, tmp_path, args, part="dimension 256, but the embedder makes 384")
    write_rows(x, unit_rows(), sha256="ab" * 32)
    refused_once(fre, tmp_path, args, part="made by another embedder")
    x.with_suffix(".npy.json").unlink()

    rows = unit_rows()
    rows[1, 7] = numpy.nan
    write_rows(x, rows)
    refused_once(fre, tmp_path, args, part="row 2")
    rows = unit_rows()
    rows[1] *= 6
    write_rows(x, rows)
    refused_once(fre, tmp_path, args, part="row 2 is longer than an embedding of this embedder")
    refused_once(fre, tmp_path, (*args, "--noise-std", "-1"), code=(64,))
    x.write_bytes(x.read_bytes()[:-100])
    refused_once(fre, tmp_path, args, part="x.npy")


# ---- damaged files ----------------------------------------------------------------------------


def cuts(path, folder):
    """The file cut short at several places, one after the other, under one name."""
    whole = path.read_bytes()
    for keep in (0, 10, 200, len(whole) - 40_000)[::1 if LONG else 3]:
        (folder / path.name).write_bytes(whole[:keep])
        yield keep


@pytest.fixture
def rows(tmp_path):
    write_rows(tmp_path / "x.npy", unit_rows())
    return tmp_path / "x.npy"


def test_cut_embedder(fre, tmp_path, rows):
    (tmp_path / "in.txt").write_text("tell me a joke\n" * 200)
    for _ in cuts(MODELS / EMBEDDER, tmp_path):
        for args in (("embed", "in.txt", "-o", "e.npy"), ("invert", "x.npy", "-o", "t.jsonl"),
                     ("synthesize", "in.txt", "-o", "out", *BUDGET), ("model", "verify"),
                     ("model", "prior", "in.txt", "-o", "p.gguf")):
            refused_once(fre, tmp_path, (*args, "--embedder", EMBEDDER), part=EMBEDDER)


def test_cut_decoder(fre, tmp_path, rows):
    (tmp_path / PROJECTOR).symlink_to(MODELS / PROJECTOR)
    for _ in cuts(MODELS / DECODER, tmp_path):
        for args in (("invert", "x.npy", "-o", "t.jsonl"), ("model", "verify")):
            refused_once(fre, tmp_path, (*args, "--inverter", DECODER), part=DECODER)


def test_cut_projector(fre, tmp_path, rows):
    (tmp_path / DECODER).symlink_to(MODELS / DECODER)
    args = ("invert", "x.npy", "-o", "t.jsonl", "--inverter", DECODER)
    refused_once(fre, tmp_path, args, code=(66,), part=PROJECTOR)
    for _ in cuts(MODELS / PROJECTOR, tmp_path):
        refused_once(fre, tmp_path, args, part=PROJECTOR)


def test_models_in_the_wrong_place(fre, tmp_path, rows):
    """Each kind where another is wanted."""
    for flag, models in (("--embedder", (DECODER, PROJECTOR)), ("--inverter", (EMBEDDER, PROJECTOR)),
                         ("--prior", (EMBEDDER, PROJECTOR))):
        for model in models:
            refused_once(fre, tmp_path, ("invert", "x.npy", "-o", "t.jsonl", flag, MODELS / model))


# ---- parts that do not belong together ---------------------------------------------------------


def gguf_text(data, key, value):
    """The file with the string of a key replaced by another of the same length."""
    at = data.index(key.encode()) + len(key)
    kind, length = struct.unpack("<IQ", data[at:at + 12])
    assert kind == 8 and length == len(value)
    return data[:at + 12] + value.encode() + data[at + 12 + length:]


def test_projector_of_another_decoder(fre, tmp_path, rows):
    (tmp_path / DECODER).symlink_to(MODELS / DECODER)
    whole = (MODELS / PROJECTOR).read_bytes()
    (tmp_path / PROJECTOR).write_bytes(gguf_text(whole, "decoder_sha256", "0" * 64))
    refused_once(fre, tmp_path, ("invert", "x.npy", "-o", "t.jsonl", "--inverter", DECODER),
                 part="the inverter's projector was made for another decoder")


def test_inverter_of_another_embedder(fre, tmp_path, rows):
    """A 384-dimensional embedder that is not the inverter's: the bundled one with other numbers."""
    data = bytearray((MODELS / EMBEDDER).read_bytes())
    rng = numpy.random.default_rng(1)
    # The word embeddings: eight-bit numbers in blocks of a scale (2 bytes) and 32 of them.
    start = len(data) // 3
    for at in range(start, start + 6_000_000, 34):
        data[at + 2:at + 34] = rng.integers(0, 256, 32, dtype=numpy.uint8).tobytes()
    (tmp_path / "other.gguf").write_bytes(data)
    for args in (("model", "verify"), ("invert", "x.npy", "-o", "t.jsonl")):
        refused_once(fre, tmp_path, (*args, "--embedder", "other.gguf", "--prior", "none"))


# ---- the prior --------------------------------------------------------------------------------


@pytest.fixture
def prior(fre, tmp_path):
    """A prior of made-up embeddings, by the program."""
    x = numpy.random.default_rng(2).normal(size=(4 * DIM, DIM))
    x /= numpy.linalg.norm(x, axis=1, keepdims=True)
    info = fre("model", "info", EMBEDDER, "--json").json()
    write_rows(tmp_path / "p.npy", x, sha256=info["sha256"])
    done = fre("model", "prior", "p.npy", "-o", "p.gguf", "--source", "made up", "--json")
    assert done.code == 0, done.err
    made = done.json()
    assert made["rows"] == 4 * DIM and made["dimension"] == DIM and made["source"] == "made up"
    shown = fre("model", "info", "p.gguf", "--json").json()
    assert shown["kind"] == "prior" and shown["rows"] == 4 * DIM and shown["dimension"] == DIM
    assert shown["source"] == "made up" and shown["embedder_sha256"] == info["sha256"]
    assert "source        made up\n" in fre("model", "info", "p.gguf").out
    assert abs(made["variance"] + made["mean_norm_squared"] - 1) < 1e-3
    return tmp_path / "p.gguf"


def test_prior_in_and_out(fre, tmp_path, prior):
    """The same prior from the same rows, from texts too; an existing file is not overwritten."""
    again = fre("model", "prior", "p.npy", "-o", "q.gguf", "--source", "made up", "--quiet",
                "--threads", "1")
    assert again.code == 0 and again.out == "" and again.err == ""
    assert (tmp_path / "q.gguf").read_bytes() == prior.read_bytes()
    refused_once(fre, tmp_path, ("model", "prior", "p.npy", "-o", "q.gguf"), code=(73,))
    (tmp_path / "t.txt").write_text("".join(f"text number {i}\n" for i in range(4 * DIM)))
    done = fre("model", "prior", "t.txt", "-o", "t.gguf", "--json")
    assert done.code == 0, done.err
    assert done.json()["rows"] == 4 * DIM and done.json()["source"] == "t.txt"


def test_prior_refusals(fre, tmp_path, prior):
    few = ("model", "prior", "few.txt", "-o", "f.gguf")
    (tmp_path / "few.txt").write_text("one text\nanother\n")
    refused_once(fre, tmp_path, few, part="needs at least 1536 texts, and there are 2")
    write_rows(tmp_path / "n.npy", unit_rows())
    refused_once(fre, tmp_path, ("model", "prior", "n.npy", "-o", "f.gguf"), part="no sidecar")
    refused_once(fre, tmp_path, ("model", "prior", "absent.txt", "-o", "f.gguf"), code=(66,))
    refused_once(fre, tmp_path, (*few, "--source", "x" * 128), code=(64,))
    refused_once(fre, tmp_path, ("model", "prior", "few.txt", "-o", "-"), code=(64,))


def test_cut_or_foreign_prior(fre, tmp_path, rows, prior):
    args = ("invert", "x.npy", "-o", "t.jsonl", "--prior")
    whole = prior.read_bytes()
    (tmp_path / "cut.gguf").write_bytes(b"")
    for keep in (0, 3, 100, 500, len(whole) // 2, len(whole) - 200):
        (tmp_path / "cut.gguf").write_bytes(whole[:keep])
        refused_once(fre, tmp_path, (*args, "cut.gguf"), part="cut.gguf")
    (tmp_path / "cut.gguf").write_bytes(gguf_text(whole, "embedding_model_sha256", "0" * 64))
    refused_once(fre, tmp_path, (*args, "cut.gguf"), part="made for another embedder")
    refused_once(fre, tmp_path, (*args, "absent.gguf"), code=(66,), part="absent.gguf")


def test_prior_beside_the_embedder_is_found(fre, tmp_path, rows, prior):
    """A damaged one there is an error, not silence, and so is one, or none, that the inverter was
    not trained with."""
    (tmp_path / EMBEDDER).symlink_to(MODELS / EMBEDDER)
    beside = tmp_path / "all-minilm-l6-v2.prior.gguf"
    beside.write_bytes(prior.read_bytes()[:1000])
    args = ("invert", "x.npy", "-o", "t.jsonl", "--samples", "8", "--embedder", EMBEDDER)
    refused_once(fre, tmp_path, args, part=beside.name)
    beside.write_bytes(prior.read_bytes())
    refused_once(fre, tmp_path, args, part="trained with another prior")
    refused_once(fre, tmp_path, (*args, "--prior", "none"), part="name it with --prior FILE")


# ---- the codebook ------------------------------------------------------------------------------


@pytest.fixture
def codebook(fre, tmp_path):
    """A codebook of made-up embeddings, by the program."""
    x = unit_rows(600)
    info = fre("model", "info", EMBEDDER, "--json").json()
    write_rows(tmp_path / "p.npy", x, sha256=info["sha256"])
    done = fre("model", "codebook", "p.npy", "-o", "c.gguf", "--source", "made up", "--levels",
               "64x3,64,8", "--json")
    assert done.code == 0, done.err
    made = done.json()
    assert made["rows"] == 600 and made["dimension"] == DIM and made["source"] == "made up"
    assert [v["name"] for v in made["levels"]] == ["64x3", "64", "8"]
    assert [v["cells"] for v in made["levels"]] == [192, 64, 8]
    assert all(v["radius"] == 0.6 and v["gain"] >= 1 and v["medoids"] == 0
               and v["quantiles"] == sorted(v["quantiles"]) and 0 < v["quantiles"][2] < v["spread"] * 2
               for v in made["levels"])
    shown = fre("model", "info", "c.gguf", "--json").json()
    assert shown["kind"] == "codebook" and shown["levels"] == made["levels"]
    assert shown["embedder_sha256"] == info["sha256"] and shown["made_of"]["kind"] == "rows"
    assert "64x3" in fre("model", "info", "c.gguf").out
    return tmp_path / "c.gguf"


def test_codebook_in_and_out(fre, tmp_path, codebook):
    """The same bytes from the same rows and seed whatever the threads, others from another seed; an
    existing file is not overwritten."""
    args = ("model", "codebook", "p.npy", "--source", "made up", "--levels", "64x3,64,8")
    again = fre(*args, "-o", "d.gguf", "--quiet", "--threads", "1")
    assert again.code == 0 and again.out == "" and again.err == ""
    assert (tmp_path / "d.gguf").read_bytes() == codebook.read_bytes()
    turned = fre(*args, "--levels", "8,64,64x3", "-o", "f.gguf", "--quiet")
    assert turned.code == 0 and (tmp_path / "f.gguf").read_bytes() == codebook.read_bytes()
    assert fre(*args, "-o", "e.gguf", "--seed", "1").code == 0
    assert (tmp_path / "e.gguf").read_bytes() != codebook.read_bytes()
    refused_once(fre, tmp_path, (*args, "-o", "d.gguf"), code=(73,))


def test_codebook_of_texts(fre, tmp_path):
    """Cells keep texts of the input, of another file, or none; more texts than are kept is no harm."""
    texts = [f"{a} {b} {c}" for a in ("book", "cancel", "find", "change") for b in
             ("a table", "the train", "my flight", "this hotel", "one taxi") for c in
             ("today", "in Rome", "for two", "at noon", "again")]
    (tmp_path / "t.txt").write_text("\n".join(texts))
    (tmp_path / "other.txt").write_text("see you later\nreserve a table\n")
    args = ("model", "codebook", "t.txt", "--levels", "8x2,4", "--json", "--rows", "64", "-o")
    levels = fre(*args, "t.gguf").json()["levels"]
    assert levels[1]["medoids"] == 4
    data = (tmp_path / "t.gguf").read_bytes()
    assert sum(t.encode() + b"\0" in data for t in texts) >= 4
    assert fre(*args, "o.gguf", "--medoids", "other.txt").json()["levels"][1]["medoids"] <= 2
    data = (tmp_path / "o.gguf").read_bytes()
    assert b"reserve a table\0" in data and not any(t.encode() + b"\0" in data for t in texts)
    assert fre(*args, "n.gguf", "--medoids", "none").json()["levels"][1]["medoids"] == 0


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGINT])
def test_codebook_goes_on(fre, tmp_path, sig):
    """Interrupted while it waits for its second chunk of texts, it embeds none of the first again, and the file
    is the same."""
    texts = [f"{i} and {i * 7919 % 10007} of a line about as long as what people write"
             for i in range(40)] * 160
    whole = "".join(t + "\n" for t in texts)
    args = ["model", "codebook", "-", "--format", "txt", "--levels", "4x2,2", "--rows", "256",
            "--source", "made up", "-o", "c.gguf"]
    spool = tmp_path / "c.gguf.resume.spool"
    kill_when_kept(tmp_path, args, texts[:6200], spool, 4000 * 4 * DIM, sig)
    assert not (tmp_path / "c.gguf").exists()
    other = fre(*args, "--resume", input=whole.replace("39 and", "40 and"))
    assert other.code == 65 and other.err.count("\n") == 1, other.err
    assert "run without --resume, or remove c.gguf.resume.*" in other.err
    assert spool.exists() and not (tmp_path / "c.gguf").exists()
    assert fre(*args, "--resume", input=whole).code == 0
    assert everything(tmp_path) == ["c.gguf", "tmp"]
    resumed = (tmp_path / "c.gguf").read_bytes()
    assert fre(*args, "--force", input=whole).code == 0
    assert (tmp_path / "c.gguf").read_bytes() == resumed


def test_codebook_refusals(fre, tmp_path, codebook):
    few = ("model", "codebook", "few.txt", "-o", "f.gguf")
    (tmp_path / "few.txt").write_text("one text\nanother\n")
    refused_once(fre, tmp_path, few, part="need at least 16384 texts, and there are 2")
    refused_once(fre, tmp_path, ("model", "codebook", "absent.txt", "-o", "f.gguf"), code=(66,))
    refused_once(fre, tmp_path, (*few, "--medoids", "absent.txt"), code=(66,))
    refused_once(fre, tmp_path, ("model", "codebook", "few.txt", "-o", "-"), code=(64,))
    for levels in ("", "8,", "8x", "8x1", "0", "x8", "8;4", "8,4,2x2x2", "99999999999",
                   ",".join(str(99 - i) for i in range(17))):
        refused_once(fre, tmp_path, (*few, "--levels", levels), code=(64,), part="--levels")
    for levels in ("4,8,2", "8,8", "4x2,8", "8,4,8x2"):
        refused_once(fre, tmp_path, ("model", "codebook", "p.npy", "-o", "f.gguf", "--levels",
                                     levels), code=(64,), part="from fine to coarse")
    refused_once(fre, tmp_path, (*few, "--radius", "0"), code=(64,), part="--radius")


def test_cut_or_foreign_codebook(fre, tmp_path, codebook):
    whole = codebook.read_bytes()
    for keep in (0, 3, 100, 500, len(whole) // 2, len(whole) - 200):
        (tmp_path / "cut.gguf").write_bytes(whole[:keep])
        refused_once(fre, tmp_path, ("model", "info", "cut.gguf"), part="cut.gguf")


# ---- verify -----------------------------------------------------------------------------------


def test_verify(fre):
    done = fre("model", "verify", "--json", "--effort", "1")
    assert done.code == 0, done.err
    seen = done.json()
    assert seen["passed"] is True and len(seen["sentences"]) == 20
    assert seen["returned"] == sum(s["own"] for s in seen["sentences"]) >= 17
    assert abs(seen["mean_distance"] - sum(s["distance"] for s in seen["sentences"]) / 20) < 1e-9
    assert seen["mean_similarity"] > 0.8


# ---- the bridge -------------------------------------------------------------------------------


def test_bridge(fre, tmp_path):
    """An embedder of another hash is told to make one; over it, found by its name, texts come back;
    model info, the release and refusals."""
    other = other_embedder(tmp_path)
    with gzip.open(MODELS.parent / "data" / "assistant-requests.jsonl.gz", "rt") as f:
        public = {json.loads(line)["text"] for line in f}
    public = sorted(public, key=lambda t: (len(t), t))  # short ones, for sanitizers are slow
    (tmp_path / "public.txt").write_text("\n".join(public[:8 * DIM]))
    (tmp_path / "few.txt").write_text("\n".join(public[:10]))
    make = ("model", "bridge", "public.txt", "--embedder", other, "-o", "other.bridge.gguf")
    refused_once(fre, tmp_path, ("model", "bridge", "few.txt", *make[3:]),
                 part="needs at least 3072 texts, and there are 10")
    refused_once(fre, tmp_path, (*make[:-1], "-"), code=(64,))
    refused_once(fre, tmp_path, (*make[:-1], other, "--force"), code=(73,))
    refused_once(fre, tmp_path, ("model", "bridge", "public.txt", "-o", "b.gguf"), code=(64,))
    refused_once(fre, tmp_path, ("model", "bridge", "public.txt", "-o", "b.gguf", "--embedder",
                                 MODELS / EMBEDDER), code=(64,), part="needs none")
    done = fre(*make, "--source", "made up", "--json")
    assert done.code == 0, done.err
    assert done.json()["rows"] == 8 * DIM and done.json()["variance_left"] < 1e-3
    refused_once(fre, tmp_path, make, code=(73,))
    shown = fre("model", "info", "other.bridge.gguf", "--json").json()
    assert shown["kind"] == "bridge" and shown["source"] == "made up"
    assert shown["embedder_sha256"] != shown["to_embedder_sha256"]
    assert "384 to 384\n" in fre("model", "info", "other.bridge.gguf").out
    verified = fre("model", "verify", "--embedder", other, "--effort", "1")
    assert verified.code == 0 and verified.out.endswith("\npassed\n"), verified.err
    assert verified.out.count(" yes\n") >= 17

    (tmp_path / "in.txt").write_text(
        "tell me a joke\n" * 400 + "Wie wird das Wetter morgen in der Stadt\n" * 400)
    done = fre("synthesize", "in.txt", "-o", "out", "--embedder", other, *BUDGET, *SEED,
               "--effort", "1")
    assert done.code == 0, done.err
    release = json.loads((tmp_path / "out" / "release.json").read_text())
    assert release["models"]["bridge"]["sha256"] == shown["sha256"]
    cells = list(map(json.loads, (tmp_path / "out" / "synthetic.jsonl").read_text().splitlines()))
    assert sorted((c["text"] or c["unreadable"]).lower().strip(".!") for c in cells) == [
        "outside the inverter's language", "tell me a joke"]

    done = fre("paraphrase", "out", "-o", "p.jsonl", "--embedder", other,
               "--paraphrase-distance", "1")
    assert done.code == 0, done.err
    varied = list(map(json.loads, (tmp_path / "p.jsonl").read_text().splitlines()))
    assert [bool(v["paraphrases"]) for v in varied] == [c["text"] is not None for c in cells]
    refused_once(fre, tmp_path, ("paraphrase", "out", "-o", "q.jsonl", "--embedder", other,
                                 "--bridge", "none", "--prior", "none"))

    write_rows(tmp_path / "x.npy", unit_rows())
    invert = ("invert", "x.npy", "-o", "t.jsonl", "--bridge")
    refused_once(fre, tmp_path, (*invert, "other.bridge.gguf"), part="begins at another embedder")
    refused_once(fre, tmp_path, (*invert, MODELS / PRIOR, "--embedder", other))
    refused_once(fre, tmp_path, (*invert, "absent", "--embedder", other), code=(66,))
    refused_once(fre, tmp_path, ("invert", "x.npy", "-o", "t.jsonl", "--embedder", other,
                                 "--prior", "none"), part="--prior FILE")
    refused_once(fre, tmp_path, (*invert, "absent", "--embedder", other, "--inverter", "search",
                                 "--public-corpus", "few.txt"), code=(64,), part="leave out one")
    whole = (tmp_path / "other.bridge.gguf").read_bytes()
    (tmp_path / "b.gguf").write_bytes(gguf_text(whole, "to_model_sha256", "0" * 64))
    refused_once(fre, tmp_path, (*invert, "b.gguf", "--embedder", other), part="does not lead to")
    name = shown["to_embedder"]
    hostile = "\x1b[31m\n" + "x" * (len(name) - 6)
    (tmp_path / "b.gguf").write_bytes(gguf_text(whole, ".to_model", hostile))
    assert f"\nto            ?[31m?{hostile[6:]}, sha256 " in fre("model", "info", "b.gguf").out
    assert fre("model", "info", "b.gguf", "--json").json()["to_embedder"] == f"?[31m?{hostile[6:]}"
    for _ in cuts(tmp_path / "other.bridge.gguf", tmp_path):
        refused_once(fre, tmp_path, ("model", "info", "other.bridge.gguf"), part="bridge.gguf")
        refused_once(fre, tmp_path, ("invert", "x.npy", "-o", "t.jsonl", "--embedder", other),
                     part="bridge.gguf")
