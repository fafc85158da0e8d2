"""Release by levels: public cells behind the grid, what is in the folder, what is refused."""

import json
import re

import pytest

from conftest import NO_TEXT, ROOT, SEED

PUBLIC = ROOT / "data" / "assistant-requests.jsonl.gz"
LEVELS = "32x4,32,8"
ASKED = ["--epsilon", "8", "--threshold", "30", "--population", "1000", "--ledger", "none", *NO_TEXT]


def words():
    """Requests that nobody repeats word for word, by 600 people."""
    what = ["timer", "song", "light", "alarm", "flight", "recipe"]
    how = ["set a {} for {} minutes", "please start the {} number {}", "i want {} {} now",
           "could you get me {} {}"]
    return [how[i % 4].format(what[i % 6], i) for i in range(600)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A codebook of public text, and embeddings of private text."""
    import gzip
    import subprocess

    from conftest import PROGRAM

    folder = tmp_path_factory.mktemp("levels")
    with gzip.open(PUBLIC, "rt") as f:
        seen = list(dict.fromkeys(json.loads(line)["text"] for line in f))[:500]
    (folder / "public.txt").write_text("\n".join(seen) + "\n")
    (folder / "private.txt").write_text("\n".join(words()) + "\n")
    (folder / "users.txt").write_text("".join(f"u{i}\n" for i in range(600)))
    for args in (["model", "codebook", "public.txt", "--levels", LEVELS, "-o", "c.gguf", "--source",
                  "requests"], ["embed", "private.txt", "-o", "private.npy"]):
        done = subprocess.run([PROGRAM, *args], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return folder


def release(fre, tmp_path, made, levels, *more, asked=ASKED):
    done = fre("synthesize", made / "private.npy", "-o", "out", "--force", "--levels", levels,
               "--codebook", made / "c.gguf", "--json", *asked, *more)
    assert done.code == 0, done.err
    lines = [json.loads(x) for x in (tmp_path / "out/synthetic.jsonl").read_text().splitlines()]
    return done.json(), json.loads((tmp_path / "out/release.json").read_text()), lines


def sizes(lines, level):
    return {x["centre"]: x["count"] for x in lines if x["level"] == level}


def where(fre, tmp_path, made, level, row):
    """The public cell of one embedding."""
    whole = (made / "private.npy").read_bytes()
    begin = 10 + int.from_bytes(whole[8:10], "little")
    each = (len(whole) - begin) // 600
    head = whole[10:begin].replace(b"(600,", b"(1,").rstrip(b"\n").ljust(begin - 11) + b"\n"
    (tmp_path / "one.npy").write_bytes(
        whole[:10] + head + whole[begin + row * each:begin + (row + 1) * each])
    meta = json.loads((made / "private.npy.json").read_text())
    (tmp_path / "one.npy.json").write_text(json.dumps({**meta, "rows": 1}))
    done = fre("synthesize", "one.npy", "-o", "one", "--force", "--levels", level, "--codebook",
               made / "c.gguf", "--json", *EACH)
    assert done.code == 0, done.err
    return json.loads((tmp_path / "one/synthetic.jsonl").read_text())["centre"]


EXACT = ["--epsilon", "inf", "--threshold", "10", "--population", "1000", "--ledger", "none", *NO_TEXT]
EACH = ["--epsilon", "inf", "--threshold", "1", "--population", "1000", "--ledger", "none", *NO_TEXT]


def test_records_leave_with_their_cell(fre, tmp_path, made):
    """Without noise: what a level releases is what the finer ones left, by every level alone."""
    _, _, fine = release(fre, tmp_path, made, "32x4", asked=EACH)
    _, _, coarse = release(fre, tmp_path, made, "8", asked=EACH)
    assert sum(sizes(fine, "32x4").values()) == sum(sizes(coarse, "8").values()) == 600
    report, parameters, lines = release(fre, tmp_path, made, LEVELS, asked=EXACT)
    released = sizes(lines, "32x4")
    assert released == {c: n for c, n in sizes(fine, "32x4").items() if n >= 10}
    assert 0 < len(released) < len(sizes(fine, "32x4"))
    # The next level, base 32: its cells hold what is left of the leaves of the same centre.
    left = {}
    for cell, n in sizes(fine, "32x4").items():
        if n < 10:
            left[cell // 4] = left.get(cell // 4, 0) + n
    assert sizes(lines, "32") == {c: n for c, n in left.items() if n >= 10}
    rest = 600 - sum(released.values()) - sum(sizes(lines, "32").values())
    assert sum(sizes(lines, "8").values()) <= rest
    assert [x["cells"] for x in parameters["parameters"]["levels"]] == [
        len(sizes(lines, name)) for name in LEVELS.split(",")]
    assert report["released"] == len(lines)


def test_fields(fre, tmp_path, made):
    report, parameters, lines = release(fre, tmp_path, made, "grid," + LEVELS)
    levels = parameters["parameters"]["levels"]
    assert [x["name"] for x in levels] == ["grid", "32x4", "32", "8"]
    assert [x["counts"] for x in levels] == ["sampled", "noisy", "noisy", "noisy"]
    assert levels[0]["codebook"] is None and len(levels[1]["codebook"]) == 64
    assert parameters["models"]["codebook"]["sha256"] == levels[1]["codebook"]
    assert lines
    for x in lines:
        of = next(l for l in levels if l["name"] == x["level"])
        assert x["count"] >= of["tau"] and x["users"] == x["count"] / of["sampling_rate"]
        assert (x["parent"] is None) == (x["level"] == "8")
        assert 0 <= x["theme"] < 8 and 0 <= x["centre"] < of["public_cells"]
        assert isinstance(x["around"], str) or x["around"] is None
    assert any(x["around"] for x in lines)
    said = "\n".join(parameters["statement"])
    assert ("Levels 2 to 4, 128 public cells (32x4), 32 public cells (32) and 8 public cells (8), at each: "
            "every record counts") in said
    assert "All records of a released cell leave" in said and "Accountant: joint, by levels" in said
    assert report["plan"]["delta"] <= report["plan"]["delta_target"]
    whole = b"".join(p.read_bytes() for p in (tmp_path / "out").iterdir())
    assert not any(t.encode() in whole for t in words())


def test_repeatable(fre, tmp_path, made):
    """Neither threads nor a run before change a byte; another seed does."""
    def bytes_of(*more):
        release(fre, tmp_path, made, "grid," + LEVELS, *more)
        return {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    first = bytes_of(*SEED)
    assert bytes_of(*SEED, "--threads", "1") == first
    assert bytes_of("--seed", "5f" * 32)["synthetic.jsonl"] != first["synthetic.jsonl"]


def test_sampled_counts(fre, tmp_path, made):
    _, parameters, lines = release(fre, tmp_path, made, "32,8", "--counts", "sampled")
    levels = parameters["parameters"]["levels"]
    assert all(x["counts"] == "sampled" and 0 < x["sampling_rate"] < 1 for x in levels)
    assert lines and all(x["count"] >= levels[0]["tau"] for x in lines if x["level"] == "32")
    assert all(x["users"] > x["count"] for x in lines)


def test_texts_and_their_embeddings_agree(fre, tmp_path, made):
    report, _, lines = release(fre, tmp_path, made, LEVELS, asked=EXACT)
    done = fre("synthesize", made / "private.txt", "-o", "texts", "--levels", LEVELS, "--codebook",
               made / "c.gguf", *EXACT)
    assert done.code == 0, done.err
    of_texts = [json.loads(x) for x in (tmp_path / "texts/synthetic.jsonl").read_text().splitlines()]
    for level in LEVELS.split(","):
        assert sizes(of_texts, level) == sizes(lines, level)


def test_terminal(fre, made):
    done = fre("synthesize", made / "private.npy", "-o", "out", "--levels", "32,8", "--codebook",
               made / "c.gguf", *ASKED, env={"COLUMNS": "80"})
    assert done.code == 0 and " cells released: " in done.out and "  theme " in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert "no text is held by as many users" not in done.err


def test_texts_of_themes(fre, tmp_path, made):
    """A theme has a text and further ones, all different; they depend on the seed alone."""
    asked = ASKED[:-len(NO_TEXT)]

    def texts(*more):
        return [(x["text"], x["texts"]) for x in
                release(fre, tmp_path, made, "8", *SEED, *more, asked=asked)[2]]
    told = texts()
    assert told and all(text and len(further) <= 3 for text, further in told)
    assert any(further for _, further in told)
    assert all(len({text, *further}) == 1 + len(further) for text, further in told)
    assert texts("--threads", "1") == told
    assert texts("--texts-per-cell", "0") == [(text, []) for text, _ in told]


@pytest.fixture
def labelled(tmp_path):
    """The private texts, each with what it is about."""
    what = ["timer", "song", "light", "alarm", "flight", "recipe"]
    (tmp_path / "labelled.jsonl").write_text("".join(
        json.dumps({"text": t, "label": what[i % 6]}) + "\n" for i, t in enumerate(words())))
    return tmp_path / "labelled.jsonl"


def evaluate(fre, made, labelled, *more):
    done = fre("evaluate", "out", labelled, "--embeddings", made / "private.npy", "--threshold", "10",
               "--codebook", made / "c.gguf", "--public", "--json", *more)
    assert done.code == 0, done.err
    return done.json()


def test_evaluate_finds_the_members(fre, tmp_path, made, labelled):
    """Without noise the counts are those of the records that evaluate puts into each cell."""
    _, _, lines = release(fre, tmp_path, made, "grid," + LEVELS, asked=EXACT)
    report = evaluate(fre, made, labelled, "--label-field", "label")
    assert [x["level"] for x in report["levels"]] == ["grid", "32x4", "32", "8"]
    for x in report["levels"]:
        counts = [y["count"] for y in lines if y["level"] == x["level"]]
        assert (x["cells"], x["records"]) == (len(counts), sum(counts))
        assert x["covered"] == pytest.approx(sum(counts) / 600)
        assert x["empty"] == x["rare"] == 0 and x["text"] is None and x["texts"] == 0
    whole = report["all_levels"]
    assert whole["level"] == "all" and whole["cells"] == len(lines) > 0
    assert whole["records"] == sum(x["records"] for x in report["levels"])
    assert report["labels"] == {"all": 6, "frequent": 6}
    assert report["cell"]["released_cells"] == report["levels"][0]["cells"]
    for x in report["levels"] + [whole]:
        of = x["labels"]
        assert 0 <= of["hit"] <= of["majority"] <= of["cells"] == x["cells"]
        assert of["recall"] == of["hit"] / 6
    # Cells that tell apart what people want (by chance: 1/6), and means without noise but for clipping.
    assert whole["labels"]["purity"] > 0.3 and whole["labels"]["nearest_mean"] > 0.8
    assert 0 < whole["centroid_l2"] < 0.5
    without = evaluate(fre, made, labelled)
    assert without["labels"] is None and without["all_levels"]["labels"] is None
    assert without["all_levels"]["covered"] == whole["covered"]


def test_evaluate_texts_by_level(fre, tmp_path, made, labelled):
    release(fre, tmp_path, made, "32,8", *SEED, asked=ASKED[:-len(NO_TEXT)])
    (tmp_path / "other.txt").write_text("".join(f"the {a} of a {b} is no proof\n" for a in ("root", "sum", "limit", "angle")
                                                for b in ("matrix", "prime", "circle", "field")))
    more = "--reference", "other.txt"
    report = evaluate(fre, made, labelled, "--label-field", "label", *more)
    whole = report["all_levels"]
    assert whole["texts"] == report["synthetic"] == sum(x["texts"] for x in report["levels"]) > 0
    assert whole["text"] == report["text"] and whole["exact"] == report["exact"]
    assert 0 < whole["text_l2"] < 1.2 and 0 < whole["noise_norm"]
    assert 0 <= whole["labels"]["nearest_text"] <= 1
    for x in report["levels"] + [whole]:
        halves, unrelated = x["reference"]["halves"], x["reference"]["unrelated"]
        assert set(halves) == set(unrelated) == {"covered", "centroid_l2", "text_l2", "text", "exact", "labels"}
        # Real texts of a cell lie nearer to its mean than texts that have nothing to do with it.
        if x["covered"] and halves["text_l2"] is not None:
            assert halves["covered"] == pytest.approx(x["covered"], abs=0.1)
            assert halves["centroid_l2"] < unrelated["centroid_l2"] and halves["text_l2"] < unrelated["text_l2"]
            assert halves["text"]["all"]["precision"] > 0.5
        assert unrelated["covered"] is None and not any((unrelated["exact"] or {}).values())
    if whole["texts"] <= 16:  # the same texts, once by levels and once as a set
        assert whole["reference"]["unrelated"]["text"] == {k: report["reference"]["unrelated"][k] for k in ("frequent", "all")}
    shown = fre("evaluate", "out", labelled, "--codebook", made / "c.gguf", "--label-field", "label",
                "--public", *more, env={"COLUMNS": "80"})
    assert shown.code == 0 and "By level: " in shown.out and "Labels: 6, of them 6" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    rows = [line for line in shown.out.splitlines() if line.startswith("  all ")]
    assert len(rows) == 4 and all(len(re.findall(r"\d\.\d+ \[\S+ \S+\]", row)) >= 3 for row in rows)


def test_evaluate_refusals(fre, refused, tmp_path, made, labelled):
    _, parameters, _ = release(fre, tmp_path, made, "32,8", asked=EXACT)
    sha = parameters["parameters"]["levels"][0]["codebook"]
    done = fre("evaluate", "out", labelled, "--public", "--json")  # of the default codebook: the rest goes on
    assert done.code == 0 and done.json()["levels"] is None and done.json()["all_levels"] is None, done.err
    assert done.json()["centroid"]["all"]["recall"] is not None
    assert [m["why"] for m in done.json()["missing"] if m["metric"] == "levels"] == [
        "the codebook that the release was made with is not the one beside the embedder: name it, --codebook"]
    refused(65, f"fre-e2t evaluate: the release was made with another codebook (sha256 {sha[:12]}...): "
            "name that, --codebook", "evaluate", "out", labelled, "--public", "--codebook",
            ROOT / "models" / "all-minilm-l6-v2.codebook.gguf")
    refused(64, "fre-e2t evaluate: --codebook is for a release by levels of public cells: leave it out",
            "evaluate", labelled, labelled, "--public", "--codebook", made / "c.gguf")
    done = fre("evaluate", "out", made / "private.npy", "--codebook", made / "c.gguf", "--label-field",
               "label")
    assert done.code == 64 and "--label-field" in done.err


def test_refusals(refused, fre, tmp_path, made):
    def no(code, sentence, *args):
        refused(code, "fre-e2t synthesize: " + sentence, "synthesize", made / "private.npy", "-o", "out",
                *ASKED, *args)
    book = ["--codebook", made / "c.gguf"]
    no(64, "--levels: the codebook has no level '16'; it has 32x4, 32, 8", "--levels", "16", *book)
    no(64, "--levels go from fine to coarse: '32' has no fewer cells than the one before it",
       "--levels", "8,32", *book)
    no(64, "--levels: 'grid' is none: grid (as the first), a number of centres as 1024, or with codes "
       "as 4096x8", "--levels", "32,grid", *book)
    no(64, "--levels: --accountant paper knows the grid alone: leave out one of them", "--levels",
       "grid,32", "--accountant", "paper", *book)
    no(64, "--codebook is for levels of public cells: add --levels auto", *book)


def test_users_stand_once_in_a_cell(fre, tmp_path, made):
    """Without noise: of a user's first texts the first in a public cell counts there, at each level for
    itself, and who has left is not replaced by another of theirs."""
    (tmp_path / "eight.txt").write_text("".join(f"u{i % 8}\n" for i in range(600)))
    users = ["--user-file", "eight.txt", "--max-cells-per-user", "5"]
    cells = {name: [where(fre, tmp_path, made, name, i) for i in range(40)]
             for name in ("32", "8")}
    held = [range(u, 40, 8) for u in range(8)]  # the first five of each user

    def stand(name):
        count = {}
        for mine in held:
            for c in {cells[name][i] for i in mine}:
                count[c] = count.get(c, 0) + 1
        return count

    for name in ("32", "8"):
        assert sizes(release(fre, tmp_path, made, name, *users, asked=EACH)[2], name) == stand(name)
    # By both levels: cells of 32 with three users or more leave; at 8 the first of a user's texts in a cell
    # stands there or, if it has left, nobody.
    _, _, lines = release(fre, tmp_path, made, "32,8", *users, asked=[*EACH, "--threshold", "3"])
    fine = {c: n for c, n in stand("32").items() if n >= 3}
    assert fine and sizes(lines, "32") == fine
    coarse = {}
    for mine in held:
        first = {}
        for i in mine:
            first.setdefault(cells["8"][i], i)
        for c, i in first.items():
            if cells["32"][i] not in fine:
                coarse[c] = coarse.get(c, 0) + 1
    assert sizes(lines, "8") == {c: n for c, n in coarse.items() if n >= 3}


def test_codebook_of_the_input(refused, made):
    """A codebook's medoids come out word for word: it must not be made of what is private."""
    refused(77, "fre-e2t synthesize: the codebook of requests was not made without the input: of the 500 "
            "and 500 different texts compared, 500 are the same.  What it holds can come out past all "
            "noise, so it must be public and independent of the private texts: give another or none",
            "synthesize", made / "public.txt", "-o", "out", *ASKED, "--levels", "32", "--codebook",
            made / "c.gguf", "--quiet")


def test_damaged(fre, tmp_path, made):
    whole = (made / "c.gguf").read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[:-100])
    done = fre("synthesize", made / "private.npy", "-o", "out", *ASKED, "--levels", "32,8",
               "--codebook", "cut.gguf")
    assert done.code == 65 and "cut.gguf" in done.err and not (tmp_path / "out").exists()


def forecast(fre, made, corpus, *more):
    done = fre("plan", "--epsilon", "8", "--threshold", "30", "--population", "1000", "--public-corpus",
               corpus, "--codebook", made / "c.gguf", "--json", *more)
    assert done.code == 0, done.err
    return done.json()


def test_levels_tried_on_public_text(fre, tmp_path, made, labelled):
    """Lists of the codebook's levels; what is said is what synthesize releases of the same texts."""
    report = forecast(fre, made, labelled, "--label-field", "label")
    told = report["forecast"]
    assert told["records"] == 600 and told["private"] is False
    assert [x["list"] for x in told["lists"]] == ["grid", "grid,32x4,32,8", "grid,32x4,8", "32x4,32,8"]
    for x in told["lists"]:
        whole = x["all_levels"]
        left_out = (1 - whole["covered"]) * 2 ** .5
        assert x["expected_distance"] == pytest.approx(
            whole["covered"] * (whole["member_l2"] or 0) + left_out)
        assert sum(y["records"] for y in x["levels"]) == whole["records"]
    least = min(x["expected_distance"] for x in told["lists"])
    chosen = next(x for x in told["lists"] if x["list"] == told["chosen"])
    assert chosen["expected_distance"] <= least + .005 and chosen["all_levels"]["covered"] > .3
    assert [x["name"] for x in report["levels"]] == told["chosen"].split(",")
    assert told["command"] == (
        "fre-e2t synthesize INPUT -o DIR --epsilon 8 --threshold 30 --population 1000 --levels "
        f"{told['chosen']} --codebook {made / 'c.gguf'}")
    _, _, lines = release(fre, tmp_path, made, told["chosen"], "--seed", "00")
    assert len(lines) == chosen["all_levels"]["cells"]
    assert not list((tmp_path / "tmp").iterdir()) if (tmp_path / "tmp").exists() else True


def test_a_list_tried_on_public_text(fre, made, labelled):
    told = forecast(fre, made, labelled, "--levels", "32,8")["forecast"]
    assert [x["list"] for x in told["lists"]] == ["grid", "32,8"] and told["lists"][1]["levels"]
    assert told["lists"][1]["all_levels"]["labels"] is None
    shown = fre("plan", "--epsilon", "8", "--threshold", "30", "--population", "1000", "--levels", "32,8",
                "--public-corpus", labelled, "--codebook", made / "c.gguf", "--label-field", "label",
                env={"COLUMNS": "80"})
    assert shown.code == 0 and "(chosen)" in shown.out and "--levels 32,8" in shown.out
    table = [x for x in shown.out.splitlines() if not x.startswith("fre-e2t ")]
    assert max(map(len, table)) <= 80


def test_forecast_refusals(refused, made, labelled):
    def no(code, sentence, *args):
        refused(code, "fre-e2t plan: " + sentence, "plan", "--epsilon", "8", "--threshold", "30", "--population", "1000",
                *args)
    no(64, "--label-field is about --public-corpus FILE: add it", "--label-field", "label")
    no(64, "--public-corpus tries what a curator would release: leave out --distributed",
       "--public-corpus", labelled, "--distributed")
    no(77, "the codebook of requests was not made without the input: of the 500 and 500 different texts "
       "compared, 500 are the same.  What it holds can come out past all noise, so it must be public and "
       "independent of the private texts: give another or none", "--public-corpus", made / "public.txt",
       "--codebook", made / "c.gguf", "--levels", "32", "--quiet")


def test_plan(fre):
    plan = fre("plan", "--epsilon", "4", "--threshold", "50", "--population", "1000000", "--levels",
               "auto", "--json").json()
    assert len(plan["levels"]) == 8 and plan["levels"][0]["name"] == "grid"
    assert plan["delta_released"] + plan["delta_far"] + plan["delta_unreleased"] + plan[
        "delta_levels"] == pytest.approx(plan["delta"], rel=1e-9)
    assert plan["delta"] <= 1e-7
    shown = fre("plan", "--epsilon", "4", "--population", "1000000", "--levels", "auto",
                env={"COLUMNS": "80"})
    assert shown.code == 0 and "Levels, from fine to coarse" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    alone = fre("plan", "--epsilon", "4", "--json").json()
    assert [x["name"] for x in alone["levels"]] == ["grid"] and alone["delta_levels"] == 0
