"""evaluate and bench: keys, agreement with what is known, refusals."""

import json

import pytest

from conftest import BUDGET, FREQUENT, NO_TEXT, texts

SCORES = {"precision", "recall", "f1", "l2"}


def test_evaluate_known_texts(fre, tmp_path, corpus):
    """Two of the three frequent texts, and one that nobody wrote."""
    made = [FREQUENT[0], FREQUENT[1], "quantum chromodynamics on a lattice"]
    (tmp_path / "made.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in made))
    done = fre("evaluate", "made.jsonl", corpus.name, "--threshold", "100", "--json")
    assert done.code == 0, done.err
    assert "not private" in done.err
    report = done.json()
    assert {"text", "centroid", "cell"} <= set(report)
    assert set(report["text"]["frequent"]) == SCORES == set(report["text"]["all"])
    frequent = report["text"]["frequent"]
    assert frequent["precision"] == pytest.approx(2 / 3)
    assert frequent["recall"] == pytest.approx(270 / 370)
    assert frequent["f1"] == pytest.approx(
        2 * frequent["precision"] * frequent["recall"]
        / (frequent["precision"] + frequent["recall"]))
    public = fre("evaluate", "made.jsonl", corpus.name, "--public", "--json")
    assert public.err == "" and public.json()["text"] == report["text"]


def test_evaluate_a_release(fre, corpus):
    assert fre("synthesize", corpus.name, "-o", "out", *BUDGET, *NO_TEXT, "--quiet").code == 0
    report = fre("evaluate", "out", corpus.name, "--threshold", "40", "--public", "--json").json()
    assert report["text"] is None
    assert report["cell"]["frequent"]["precision"] == 1
    assert report["cell"]["frequent"]["recall"] == 1
    assert set(report["centroid"]["frequent"]) == SCORES
    shown = fre("evaluate", "out", corpus.name, "--threshold", "40", "--public")
    assert shown.code == 0 and max(map(len, shown.out.splitlines())) <= 80


def test_evaluate_nothing(fre, tmp_path, corpus):
    (tmp_path / "none.jsonl").write_text("\n")
    shown = fre("evaluate", "none.jsonl", corpus.name, "--threshold", "40", "--public")
    assert shown.code == 0 and "synthetic texts 0" in shown.out
    assert "of the synthetic texts" not in shown.out


def test_evaluate_refusals(fre, corpus):
    for args, code in ((["absent", corpus.name], 66), ([corpus.name, "absent.txt"], 66),
                       ([corpus.name], 64), ([corpus.name, corpus.name, "--alpha", "0"], 64)):
        done = fre("evaluate", *args)
        assert done.code == code, done.err
        assert done.out == "" and done.err.count("\n") == 1
        assert done.err.startswith("fre-e2t evaluate: ")


def test_an_embedder_that_has_nothing_to_embed_is_refused(fre, refused, tmp_path):
    (tmp_path / "t.txt").write_text("hello\nwhat time is it\n")
    assert fre("embed", "t.txt", "-o", "x.npy").code == 0
    (tmp_path / "s.jsonl").write_text('{"text": null, "unreadable": "noise"}\n')
    assert fre("evaluate", "s.jsonl", "x.npy").code == 0
    embedder = fre("model", "list", "--json").json()["models"][0]["path"]
    refused(64, "fre-e2t evaluate: the originals are embeddings and there is no synthetic text, so nothing "
                "is embedded: leave out --embedder", "evaluate", "s.jsonl", "x.npy", "--embedder", embedder)


def test_bench_pipeline(fre, tmp_path):
    report = fre("bench", "pipeline", "--rows", "3000", "--json").json()
    assert report["rows"] == 3000 and report["dimension"] == 384
    assert report["seconds"] > 0 and report["peak_mib"] < 400
    assert list((tmp_path / "tmp").iterdir()) == []


def test_bench_embed(fre, tmp_path):
    (tmp_path / "t.txt").write_text("\n".join(sorted(set(texts()))))
    report = fre("bench", "embed", "--input", "t.txt", "--json").json()
    assert report["texts"] == len(set(texts()))
    # Company, order and threads move no cell.
    for company in ("one_thread", "two_threads", "batch_1", "reversed"):
        assert report[company]["cells_changed"] == 0
        assert report[company]["max_difference"] <= 1e-5


def test_bench_codebook(fre):
    report = fre("bench", "codebook", "--rows", "2000", "--json").json()
    assert report["rows"] == 2000 and report["dimension"] == 384 and report["seconds"] > 0
    assert report["levels"] == 7 and report["finest_cells"] == 4096 * 64
    assert "into the cells of 7 levels" in fre("bench", "codebook", "--rows", "100").out


def test_bench_protocol(fre):
    report = fre("bench", "protocol", "--json").json()
    assert {"voprf_blind", "voprf_evaluate", "voprf_evaluate_proof", "voprf_finalize",
            "voprf_evaluate_proof_of_ten", "voprf_finalize_of_ten",
            "hpke_seal", "hpke_open", "ohttp_round_trip", "statement_sign",
            "statement_verify", "share_made", "share_made_table_kept",
            "share_accumulated", "cell_reconstructed", "split_id"} <= set(report)
    users = [report.pop(f"user_{d}{how}") for d in (384, 768) for how in ("", "_two", "_first_version")]
    users.append(report.pop("user_768_paper"))
    assert all(cost > 0 for user in users for cost in user.values())
    assert report.pop("list_cell")["bytes"] >= 36
    for role in ("relay", "issuer", "tagging"):
        first, second, third = [report[f"{role}_{n}"] for n in (10000, 100000, 1000000)]
        assert first["row_bytes"] == second["row_bytes"] == third["row_bytes"] > 0
    assert all(row["us"] > 0 for row in report.values())
    assert report["voprf_evaluate"]["paper_us"] == 89.5


def test_bench_sampler(fre):
    report = fre("bench", "sampler", "--json").json()
    assert {"box_muller", "coin", "bernoulli", "bernoulli_exp", "tsdlap", "rounded_gaussian",
            "discrete_gaussian_15", "table_2", "table_15", "table_100"} <= set(report)
    assert all(row["draws_per_second"] > 0 and row["ratio"] > 0 for row in report.values())
    assert report["box_muller"]["ratio"] == 1


def test_bench_without_a_name_takes_no_input(refused):
    refused(64, "fre-e2t bench: --input needs the name of a measurement", "bench", "--input", "x")


def test_rows_of_no_numbers_are_left_out(fre, tmp_path):
    np = pytest.importorskip("numpy")
    x = np.random.default_rng(3).normal(size=(30, 384)).astype("<f4")
    x[7, 3] = np.nan
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "s.txt").write_text("hello\n")
    done = fre("evaluate", "s.txt", "x.npy", "--json")
    assert done.code == 0, done.err
    got = done.json()
    assert got["originals"] == 29
    done = fre("evaluate", "s.txt", "x.npy", "--strict")
    assert done.code == 65 and "row 8" in done.err
