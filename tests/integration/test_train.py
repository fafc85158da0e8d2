"""train/: what is gathered and learnt; with PyTorch installed also the network and its files."""

import gzip
import json
import random
import subprocess
import sys

import pytest
from conftest import MODELS, ROOT

TRAIN = ROOT / "train"
sys.path.insert(0, str(TRAIN))

import corpus  # noqa: E402


def write_lines(path, texts, source="snips"):
    path.write_text("".join(json.dumps({"text": t, "source": source}) + "\n" for t in texts))


def prepare(tmp_path, *args):
    return subprocess.run([sys.executable, TRAIN / "prepare.py", "-o", tmp_path / "out", *args],
                          capture_output=True, text=True)


def test_usual_case():
    assert corpus.usual_case("what can i do, i'm lost") == "What can I do, I'm lost"
    assert corpus.usual_case("the iPod in i3") == "The iPod in i3"
    assert corpus.usual_case("") == ""


def test_forms_of_a_line():
    rng = random.Random(1)
    assert set(corpus.forms("Play some jazz.", True, rng)) == {"Play some jazz.", "Play some jazz"}
    assert set(corpus.forms("And then...", True, rng)) == {"And then..."}
    parts = set(corpus.forms("I am hungry. Find me a restaurant. Ok?", True, rng))
    assert {p.rstrip(".?") for p in parts} == {
        "I am hungry. Find me a restaurant. Ok", "I am hungry", "Find me a restaurant"}


def test_packed_and_read_again(tmp_path):
    rows = {("b  a", "snips"), ("é — ü", "wiki"), ("c d", "snips")}
    corpus.pack(tmp_path / "x.xz", rows)
    assert set(corpus.read(str(tmp_path / "x.xz"))) == {
        ("b a", "snips"), ("é — ü", "wiki"), ("c d", "snips")}


def test_tests_are_not_learnt(tmp_path):
    """In no form: not another case, not without the mark, not as one sentence of a line."""
    write_lines(tmp_path / "t.jsonl", ["What is the time?", "Hello there you. What is the time?",
                                       "How is the weather?"])
    write_lines(tmp_path / "tests.jsonl", ["what is the time"])
    corpus.write_closed(tmp_path / "closed.bin", [str(tmp_path / "tests.jsonl")])
    texts, weights = corpus.load(str(tmp_path / "t.jsonl"), tmp_path / "closed.bin")
    assert {corpus.fold(t) for t in texts} == {
        "how is the weather", "hello there you", "hello there you what is the time"}
    assert len(weights) == len(texts) and min(weights) > 0


def test_prepare(tmp_path):
    good = [f"please play the song number {i} now" for i in range(2000)]
    bad = ["mail me at someone@example.com now", "see https://example.com for more", "too short",
           "my number is 555-1234 by the way", "it lies in /etc/hosts over there",
           "word " * 27]
    write_lines(tmp_path / "t.jsonl", good + bad)
    done = prepare(tmp_path, tmp_path / "t.jsonl")
    assert done.returncode == 0, done.stderr
    learnt = {t for t, _ in corpus.read(str(tmp_path / "out" / "corpus.xz"))}
    with gzip.open(tmp_path / "out" / "heldout.jsonl.gz", "rt") as f:
        held = {json.loads(line)["text"] for line in f}
    assert learnt | held == set(good) and not learnt & held
    assert 5 <= len(held) <= 45
    assert corpus.read_closed(tmp_path / "out" / "closed.bin") == {corpus.digest(t) for t in held}


def test_prepare_wants_terms(tmp_path):
    write_lines(tmp_path / "t.jsonl", ["one two three"], source="found somewhere")
    done = prepare(tmp_path, tmp_path / "t.jsonl")
    assert done.returncode == 2 and "is not in sources.json; say its licence" in done.stderr


def test_card_counts(tmp_path):
    corpus.pack(tmp_path / "x.xz", {(f"line {i}", "snips") for i in range(3)})
    done = subprocess.run([sys.executable, TRAIN / "card.py", tmp_path / "x.xz"],
                          capture_output=True, text=True, check=True)
    assert "| Snips | 3 | CC0 |" in done.stdout


def test_run_explains_itself():
    done = subprocess.run([TRAIN / "run"], capture_output=True, text=True)
    assert done.returncode == 0 and "train/run export" in done.stdout
    assert subprocess.run([TRAIN / "run", "dance"], capture_output=True).returncode == 64


# ---- with PyTorch ------------------------------------------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch", minversion="2.6")


@pytest.fixture
def small(torch):
    import model

    torch.manual_seed(3)
    m = model.Inverter(model.Shape(vocab=300, dim=64, layers=2, heads=1, ffn=128, hidden=32, fix_hidden=32))
    with torch.no_grad():
        m.table.mul_(30)
    return m.eval()


def test_sequences(torch):
    from data import sequences

    ids, before = torch.zeros(2, 32, dtype=torch.int16), torch.zeros(2, 32, dtype=torch.int16)
    ids[0, :3], ids[1, :2] = torch.tensor([11, 12, 2]), torch.tensor([21, 2])
    before[0, :2], before[1, :1] = torch.tensor([7, 8]), 9
    x, goal = sequences(ids, torch.tensor([3, 2]), 4)
    assert x.tolist() == [[1, 11, 12, 2], [1, 21, 2, 0]]
    assert goal.tolist() == [[11, 12, 2, -100], [21, 2, -100, -100]]
    x, goal = sequences(ids, torch.tensor([3, 2]), 6, before, torch.tensor([2, 1]))
    assert x.tolist() == [[7, 8, 1, 11, 12, 2], [9, 1, 21, 2, 0, 0]]
    assert goal.tolist() == [[-100, -100, 11, 12, 2, -100], [-100, 21, 2, -100, -100, -100]]


def test_drawing_is_the_model(torch, small):
    """Greedy tokens, drawn with kept keys and values, are the whole network's likeliest."""
    from sample import draw

    rows = small.rows(torch.randn(4, 384) / 20, torch.tensor([0, 0.01, 0.03, 0.05]), torch.randn(4, 384) / 20)
    given = torch.randint(3, 300, (4, 5))
    made = draw(small, rows, 12, given=given, dtype=torch.float32)
    ids = torch.cat((given, torch.full((4, 1), 1), made[:, :-1]), 1)
    x = torch.cat((rows, small.table[ids]), 1)
    logits = (small.run(x)[:, rows.shape[1] + 5:] @ small.table.T).detach()
    logits[..., :2] = -torch.inf
    for i in range(4):
        n = made[i].tolist().index(2) + 1 if 2 in made[i] else 12
        assert logits[i, :n].argmax(1).tolist() == made[i, :n].tolist()


def test_orthogonal(torch):
    from optimiser import orthogonal

    for shape in ((2, 40, 90), (2, 90, 40)):
        values = torch.linalg.svdvals(orthogonal(torch.randn(*shape)).float())
        assert 0.6 < values.min() and values.max() < 1.3


def test_posterior_mean(torch):
    pytest.importorskip("gguf")
    from prior import Prior

    p = Prior(str(MODELS / "all-minilm-l6-v2.prior.gguf"), torch.device("cpu"))
    mu = torch.randn(3, 384) / 20
    assert torch.equal(p.posterior_mean(mu, torch.zeros(3)), mu)
    far = p.posterior_mean(mu, torch.full((3,), 100.0))
    assert (far - p.mean).abs().max() < 1e-3


def test_weights_in_parts(torch, small, tmp_path, monkeypatch):
    import weights

    assert weights.read(tmp_path) is None
    monkeypatch.setattr(weights, "PART", 50_000)
    weights.write({"model": small.state_dict(), "optimisers": [1], "step": 7}, tmp_path)
    assert len(list(tmp_path.glob("weights.*"))) > 3
    back = weights.read(tmp_path)
    assert back["step"] == 7 and "optimisers" not in back
    assert torch.equal(back["model"]["table"], small.table.half())
