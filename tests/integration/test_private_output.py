"""What synthesize prints: only what is marked tells more of the texts than the claim covers."""

import json
import subprocess

from conftest import BUDGET, NO_TEXT, PROGRAM, TIMEOUT, texts


def test_json_marks_what_is_private(fre, tmp_path):
    (tmp_path / "c.txt").write_text("\n".join([*texts(), "word " * 3000]) + "\n")
    done = fre("synthesize", "c.txt", "-o", "out", *BUDGET, *NO_TEXT, "--json")
    assert done.code == 0, done.err
    report = done.json()
    private = report.pop("not_for_publication")
    assert private["truncated"] == 1
    assert any("truncated" in w for w in private["warnings"])
    assert set(private["seconds"]) == {"embedding", "counting", "inversion"}
    # Neither exact counts, nor run times, nor whether a long text was there.
    assert not set(private) - {"warnings"} & set(report)
    assert "truncated" not in json.dumps(report)
    assert "warning: (not for publication) some texts are longer" in done.err


def test_ledger_refuses_a_seed(fre, tmp_path, corpus):
    done = fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--ledger", "book.json",
               "--seed", "ab" * 32)
    assert done.code == 64
    assert "--ledger cannot account for a run with --seed, which is not private" in done.err
    assert not (tmp_path / "out").exists() and not (tmp_path / "book.json").exists()


def test_release_has_its_parameters_to_the_last_bit(fre, tmp_path, corpus):
    done = fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--json")
    assert done.code == 0, done.err
    plan = done.json()["plan"]
    written = json.loads((tmp_path / "out" / "release.json").read_text())["parameters"]
    for key in ("epsilon", "delta", "sampling_rate", "sigma", "cell_edge", "split"):
        assert written[key] == plan[key], key


def test_file_size_limit_leaves_nothing(fre, tmp_path):
    """The kernel kills for that by default, before clean-up."""
    (tmp_path / "many.txt").write_text("".join(f"number {i}\n" for i in range(100)))
    done = subprocess.run(["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", PROGRAM, "embed", "many.txt",
                           "-o", "x.npy"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=TIMEOUT, check=False)
    assert done.returncode == 74, done.stderr
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["many.txt"]
