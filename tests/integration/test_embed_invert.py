"""embed and invert: files, sidecar, order, noise, refusals."""

import json
import struct

import pytest

from conftest import texts


def npy(rows, dim=None):
    """A .npy file of float32: rows x dim, or 1-d without dim."""
    flat = rows if dim is None else [v for row in rows for v in row]
    shape = f"({len(rows)},)" if dim is None else f"({len(rows)}, {dim})"
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (117 - len(header)) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(flat)}f", *flat))


def read_npy(path):
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    size = struct.unpack("<H", data[8:10])[0]
    assert (10 + size) % 64 == 0
    header = eval(data[10:10 + size])  # a literal written by the program under test
    rows, dim = header["shape"]
    flat = struct.unpack(f"<{rows * dim}f", data[10 + size:])
    return [flat[i * dim:(i + 1) * dim] for i in range(rows)]


def test_embed(embedded):
    rows = read_npy(embedded)
    assert embedded.stat().st_mode & 0o077 == 0  # as private as the texts
    assert len(rows) == len(texts()) and len(rows[0]) == 384
    for row in rows[::50]:
        assert sum(v * v for v in row) == pytest.approx(1, abs=1e-5)
    # Repeated texts have the same bits, wherever they stand.
    same = {}
    for text, row in zip(texts(), rows):
        assert same.setdefault(text, row) == row
    meta = json.loads(embedded.with_suffix(".npy.json").read_text())
    assert meta["dimension"] == 384 and meta["rows"] == len(rows)
    assert meta["normalised"] is True and len(meta["sha256"]) == 64


def test_embedding_does_not_depend_on_company(fre, tmp_path, embedded):
    whole = dict(zip(texts(), read_npy(embedded)))
    some = sorted(set(texts()))[::7]
    (tmp_path / "some.txt").write_text("\n".join(some))
    for threads in ("1", "2"):
        assert fre("embed", "some.txt", "-o", "s.npy", "--force", "--threads", threads).code == 0
        for text, row in zip(some, read_npy(tmp_path / "s.npy")):
            assert max(abs(a - b) for a, b in zip(row, whole[text])) <= 1e-5


def test_existing_file(fre, refused, tmp_path):
    (tmp_path / "t.txt").write_text("hello\n")
    assert fre("embed", "t.txt", "-o", "x.npy").code == 0
    refused(73, "fre-e2t embed: 'x.npy' exists; give another name or add --force to replace it",
            "embed", "t.txt", "-o", "x.npy")
    (tmp_path / "x.npy").unlink()
    refused(73, "fre-e2t embed: 'x.npy.json' exists; give another name or add --force to replace "
                "it", "embed", "t.txt", "-o", "x.npy")
    assert fre("embed", "t.txt", "-o", "x.npy", "--force").code == 0


def test_standard_output_is_refused(refused, tmp_path):
    (tmp_path / "t.txt").write_text("hello\n")
    refused(64, "fre-e2t embed: --output must be a file, not standard output: its sidecar goes "
                "beside it", "embed", "t.txt", "-o", "-")


def test_unwritable_file(refused, tmp_path):
    (tmp_path / "t.txt").write_text("hello\n")
    refused(73, "fre-e2t embed: cannot create 't.txt/x.npy': the folder 't.txt/': Not a "
                "directory", "embed", "t.txt", "-o", "t.txt/x.npy")


@pytest.fixture
def two(fre, tmp_path):
    """Embeddings of two texts, with their sidecar."""
    (tmp_path / "two.txt").write_text("where is my parcel\nhow do i reset my password\n")
    assert fre("embed", "two.txt", "-o", "two.npy", "--quiet").code == 0
    return tmp_path / "two.npy"


def test_invert(fre, tmp_path, two):
    done = fre("invert", "two.npy", "-o", "t.jsonl", "--json")
    assert done.code == 0, done.err
    assert done.json()["rows"] == 2
    assert (tmp_path / "t.jsonl").stat().st_mode & 0o077 == 0  # as private as the embeddings
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [set(row) for row in rows] == [{"text", "similarity", "distance"}] * 2
    for row in rows:
        assert row["similarity"] > 0.8
        assert row["distance"] == pytest.approx((2 - 2 * row["similarity"]) ** 0.5, abs=1e-3)
    assert "parcel" in rows[0]["text"].lower() or rows[0]["similarity"] > 0.8
    # The same rows give the same texts, on standard output too.
    again = fre("invert", "two.npy", "-o", "-", "--threads", "1")
    assert again.out == (tmp_path / "t.jsonl").read_text()


def test_noise_from_a_file(fre, tmp_path, two):
    (tmp_path / "s.npy").write_bytes(npy([[1 / 128], [0.0]], 1))
    (tmp_path / "flat.npy").write_bytes(npy([1 / 128, 0.0]))
    by_column = fre("invert", "two.npy", "-o", "-", "--noise-std-file", "s.npy")
    flat = fre("invert", "two.npy", "-o", "-", "--noise-std-file", "flat.npy")
    assert by_column.code == 0, by_column.err
    assert flat.code == 0, flat.err
    assert flat.out == by_column.out and len(flat.out.splitlines()) == 2
    constant = fre("invert", "two.npy", "-o", "-", "--noise-std", "0.0078125")
    assert constant.out.splitlines()[0] == flat.out.splitlines()[0]


def test_invert_refusals(refused, tmp_path, two):
    (tmp_path / "one.npy").write_bytes(npy([[0.1]], 1))
    (tmp_path / "minus.npy").write_bytes(npy([[0.1], [-1.0]], 1))
    (tmp_path / "nan.npy").write_bytes(npy([[float("nan")] * 384], 384))
    (tmp_path / "small.npy").write_bytes(npy([[1.0, 0.0]], 2))
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "cut.npy").write_bytes(two.read_bytes()[:-100])
    base = ["-o", "t.jsonl"]
    for code, sentence, args in [
        (64, "give --noise-std or --noise-std-file, not both",
         ["two.npy", *base, "--noise-std", "1", "--noise-std-file", "one.npy"]),
        (64, "--noise-std must be a number from 0 to 1000000, not '-1'",
         ["two.npy", *base, "--noise-std", "-1"]),
        (64, "--json and --output - cannot share standard output",
         ["two.npy", "-o", "-", "--json"]),
        (64, "--inverter none leaves nothing to invert with; name a GGUF file or search",
         ["two.npy", *base, "--inverter", "none"]),
        (65, "--noise-std-file must hold one number for each of the 2 rows, not 1",
         ["two.npy", *base, "--noise-std-file", "one.npy"]),
        (65, "--noise-std-file: row 2 must be a number of at least 0",
         ["two.npy", *base, "--noise-std-file", "minus.npy"]),
        (65, "nan.npy: row 1 holds a NaN, an infinity or a number too large for float32; remove "
             "the row or embed its text again", ["nan.npy", *base]),
        (65, "the embeddings have dimension 2, but the embedder makes 384; name the one they come "
             "from with --embedder FILE", ["small.npy", *base]),
        (65, "text.npy: is not a .npy file; write one with fre-e2t embed or numpy.save",
         ["text.npy", *base]),
        (65, "cut.npy: the header says 2 rows of 384 numbers (3072 bytes), but 2972 bytes follow "
             "it; the file is cut off or damaged", ["cut.npy", *base]),
        (66, "absent.npy: cannot be opened: No such file or directory; check the path",
         ["absent.npy", *base]),
    ]:
        refused(code, "fre-e2t invert: " + sentence, "invert", *args)
