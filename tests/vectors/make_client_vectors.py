#!/usr/bin/env python3
"""What a client computes from a text to a share, by the program and its library: client.json.

usage: make_client_vectors.py build/dev/fre-e2t build/dev/libfre-e2t.so > client.json

The terms are new ones in each run: the program accepts them, and refuses what `refused` changes of them.
"""
import array
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROLES = ("relay", "tagging", "synthesis", "issuer")
TEXTS = ["What is the weather like tomorrow?", "Crème brûlée, naïve façade; ŁÓDŹ İSTANBUL ẞ"]
REFUSED = [["sigma", 0.9], ["lambda16", 2], ["epsilon", 0.5], ["users", 1000], ["cell_edge", 2]]  # and the factor


class Grid(ctypes.Structure):
    _fields_ = [("proj", ctypes.c_uint32), ("edge", ctypes.c_double)]


class Sketch(ctypes.Structure):
    _fields_ = [("seed", ctypes.c_uint8 * 32), ("dim", ctypes.c_uint32), ("grid", Grid)]


def run(program, folder, *args):
    done = subprocess.run([program, *map(str, args)], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout


def make_terms(program, folder):
    made = [json.loads(run(program, folder, "collection", "keygen", r, "--url", f"http://127.0.0.1:{9001 + i}", "-o",
                           "keys", "--json")[1]) for i, r in enumerate(ROLES)]
    halves, shown = [m["half"] for m in made], []
    for r, m in zip(ROLES, made):
        run(program, folder, "collection", "commit", "--secret", m["secret"], *halves, "-o", f"{r}.json")
        shown += ["--contribution", f"{r}.json"]
    code, _ = run(program, folder, "collection", "new", *halves, *shown, "--epsilon", 4, "--population", 100000, "--open",
                  "2030-01-01T00:00:00Z", "-o", "terms.json")
    assert code == 0
    return json.loads((folder / "terms.json").read_text())


def judged(program, folder, terms):
    (folder / "other.json").write_text(json.dumps(terms))
    return run(program, folder, "collection", "check", "other.json", "--json")


def refusals(program, folder, terms):
    out = []
    for name, factor in REFUSED:
        other = {k: v for k, v in terms.items() if k != "id"}
        other[name] = other[name] * factor
        out.append({"change": name, "to": other[name], "code": judged(program, folder, other)[0]})
    return out


def cells(library, program, folder, terms):
    ids = {t["text"]: t["ids"] for t in json.loads((HERE / "tokenizer.json").read_text())["texts"]}
    (folder / "t.txt").write_text("".join(t + "\n" for t in TEXTS))
    assert run(program, folder, "embed", "t.txt", "-o", "x.npy")[0] == 0
    d = terms["dim"]
    x = array.array("f", (folder / "x.npy").read_bytes()[-4 * d * len(TEXTS):])
    p = Sketch((ctypes.c_uint8 * 32)(*bytes.fromhex(terms["grid_seed"])), d, Grid(terms["proj"], terms["cell_edge"]))
    sketch = ctypes.c_void_p()
    assert library.fre_sketch_new(ctypes.byref(sketch), ctypes.byref(p)) == 0
    out = []
    for i, text in enumerate(TEXTS):
        row, cell, at = x[i * d:(i + 1) * d], (ctypes.c_uint8 * 32)(), (ctypes.c_int32 * terms["proj"])()
        numbers = (ctypes.c_float * d)(*row)
        assert library.fre_sketch_cell(sketch, cell, numbers, ctypes.c_size_t(d)) == 0
        assert library.fre_sketch_coords(sketch, at, numbers, ctypes.c_size_t(d)) == 0
        out.append({"text": text, "ids": ids[text], "embedding": row.tobytes().hex(), "coordinates": list(at),
                    "cell": bytes(cell).hex()})
    return out


def rotation(library, dim):
    seed = bytes(range(0x40, 0x60))
    r = ctypes.c_void_p()
    assert library.fre_rotation_new(ctypes.byref(r), dim, seed) == 0
    size = library.fre_rotation_padded(r)
    x = (ctypes.c_float * dim)(*(((3 * j * j + 17 * j) % 2048 - 1024) / 32768 for j in range(dim)))
    y = (ctypes.c_double * size)()
    library.fre_rotation_apply(r, y, x)
    return {"dim": dim, "sign_seed": seed.hex(), "padded": size, "step": 7, "values": list(y)[::7]}


class ShareCell(ctypes.Structure):
    _fields_ = [("dim", ctypes.c_uint32), ("padded", ctypes.c_uint32), ("bits", ctypes.c_uint32),
                ("count", ctypes.c_uint64), ("answers_needed", ctypes.c_uint64), ("norm_bound", ctypes.c_double),
                ("sigma_local", ctypes.c_double), ("beta", ctypes.c_double), ("var16", ctypes.c_uint64)]


class Noise(ctypes.Structure):
    _fields_ = [("draw", ctypes.c_void_p), ("ctx", ctypes.c_void_p)]


def given_share(library, dim, bits, bound, step, var16):
    """var16 0: rounded alone."""
    sign_seed, stream, label = bytes(range(0x40, 0x60)), bytes(range(0x60, 0x80)), f"a client of {dim}"
    r, table, rng, seed = ctypes.c_void_p(), ctypes.c_void_p(), (ctypes.c_uint64 * 512)(), (ctypes.c_uint8 * 16)()
    assert library.fre_rotation_new(ctypes.byref(r), dim, sign_seed) == 0
    assert library.fre_rng_init_seeded(rng, stream, label.encode()) == 0
    cell = ShareCell(dim, library.fre_rotation_padded(r), bits, norm_bound=bound, beta=step, var16=var16)
    x = (ctypes.c_float * dim)(*(((3 * j * j + 17 * j) % 2048 - 1024) / 32768 for j in range(dim)))
    packed = (ctypes.c_uint8 * ((cell.padded * bits + 7) // 8))()
    noise = None
    if var16:
        assert library.fre_gaussian_table_new(ctypes.byref(table), ctypes.c_uint64(var16)) == 0
        noise = ctypes.byref(library.fre_share_table_noise(table))
    assert library.fre_share_make_with(packed, ctypes.c_size_t(len(packed)), seed, r, ctypes.byref(cell), x, noise, rng) == 0
    return {"dim": dim, "sign_seed": sign_seed.hex(), "stream": stream.hex(), "label": label, "bits": bits,
            "norm_bound": bound, "step": step, "var16": var16, "seed": bytes(seed).hex(), "packed": bytes(packed).hex()}


def shares(library):
    library.fre_share_table_noise.restype = Noise
    library.fre_rotation_padded.argtypes = None
    return [given_share(library, 12, 14, 1.0, 0.003, 0), given_share(library, 100, 16, 0.1, 0.0007, 65536),
            given_share(library, 384, 20, 1.0, 0.0001, 147457)]


def main():
    program, library = os.path.abspath(sys.argv[1]), ctypes.CDLL(os.path.abspath(sys.argv[2]))
    library.fre_rotation_padded.argtypes = library.fre_rotation_apply.argtypes = None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        terms = make_terms(program, folder)
        code, said = judged(program, folder, terms)
        assert code == 0
        json.dump({"terms": terms, "delta": json.loads(said)["delta"], "refused": refusals(program, folder, terms),
                   "texts": cells(library, program, folder, terms),
                   "rotations": [rotation(library, d) for d in (12, 100, 384, 768)], "shares": shares(library)}, sys.stdout, indent=1,
                  ensure_ascii=False)
        print()


if __name__ == "__main__":
    main()
