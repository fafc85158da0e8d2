"""What a release is written with must not be made of its input, and what the input is like is said
before anything is spent."""

import gzip
import json
import random

from conftest import BUDGET, NO_TEXT, SEED

PLAN = [*BUDGET, "--ledger", "none", "--inverter", "search", "--effort", "1"]
WORDS = "please turn lights kitchen music weather tomorrow alarm table city garden window".split()


def texts(seed, n, words=7):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=words)) + f" {seed} {i}" for i in range(n)]


def write(path, rows, **fields):
    path.write_text("".join(json.dumps({"text": t, **fields}) + "\n" for t in rows))
    return path.name


def test_private_file_as_public_corpus(fre, tmp_path):
    """Refused before anything is embedded or kept, whatever the file looks like."""
    rows = texts("a", 60) + ["turn off the radio"] * 100
    inside = write(tmp_path / "in.jsonl", rows)
    others = texts("b", 300)
    (tmp_path / "link.jsonl").symlink_to("in.jsonl")
    with gzip.open(tmp_path / "copy.jsonl.gz", "wt") as f:
        f.write((tmp_path / "in.jsonl").read_text())
    (tmp_path / "copy.txt").write_text("\n".join(t.upper() + "!" for t in reversed(rows)))
    (tmp_path / "copy.csv").write_text("id,text\n" + "".join(f'{i},"{t}"\n'
                                                             for i, t in enumerate(rows)))
    (tmp_path / "part.txt").write_text("\n".join(rows[:10] + others))
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    dresses = (inside, "link.jsonl", "copy.jsonl.gz", "copy.txt", "copy.csv", "part.txt")
    for command, corpora in (("synthesize", dresses), ("simulate", dresses[-1:])):
        for corpus in corpora:
            plan = PLAN if command == "synthesize" else [*BUDGET, *PLAN[len(BUDGET) + 2:]]
            done = fre(command, inside, "-o", "out", *plan, "--public-corpus", corpus, env=cache)
            assert done.code == 77, (command, corpus, done.err)
            assert "was not made without the input" in done.err.splitlines()[-1]
            assert not any(t in done.err for t in rows)
            assert not (tmp_path / "out").exists() and not (tmp_path / "cache").exists()


def test_private_file_as_public_corpus_of_its_embeddings(fre, tmp_path):
    inside = write(tmp_path / "in.jsonl", texts("a", 60))
    assert fre("embed", inside, "-o", "x.npy").code == 0
    done = fre("synthesize", "x.npy", "-o", "out", *PLAN, "--public-corpus", inside,
               env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert done.code == 77 and "by its embeddings" in done.err, done.err


def test_input_that_can_be_read_once(fre, tmp_path):
    rows = texts("a", 60)
    inside = write(tmp_path / "in.jsonl", rows)
    done = fre("synthesize", "-", "--format", "jsonl", "-o", "out", *PLAN, "--public-corpus",
               inside, env={"XDG_CACHE_HOME": str(tmp_path / "cache")},
               input=(tmp_path / "in.jsonl").read_text())
    assert done.code == 77 and not (tmp_path / "out").exists(), done.err


def test_another_corpus_is_taken(fre, tmp_path):
    """Common phrases are shared by anybody."""
    common = ["hello", "thank you", "good morning", "yes"]
    inside = write(tmp_path / "in.jsonl", ["turn off the radio"] * 200 + texts("a", 150) + common)
    outside = write(tmp_path / "public.jsonl", texts("b", 150) + common)
    done = fre("synthesize", inside, "-o", "out", *PLAN, *SEED, "--public-corpus", outside,
               env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert done.code == 0, done.err
    statement = " ".join(json.loads((tmp_path / "out" / "release.json").read_text())["statement"])
    assert "public corpus) was made independently of them" in statement


def test_prior_made_of_the_input(fre, tmp_path):
    """By the hashes that it carries, of texts as of their embeddings; the release names a good one."""
    inside = write(tmp_path / "in.jsonl", texts("a", 1600, words=2))
    assert fre("embed", inside, "-o", "x.npy").code == 0
    for made_of in (inside, "x.npy"):
        done = fre("model", "prior", made_of, "-o", "own.gguf", "--force", "--author", "the tester")
        assert done.code == 0, done.err
        for source in (inside, "x.npy") if made_of == "x.npy" else (inside,):
            done = fre("synthesize", source, "-o", "out", *PLAN, "--prior", "own.gguf",
                       "--public-corpus", write(tmp_path / "public.jsonl", texts("b", 60)),
                       env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
            assert done.code == 77 and "the prior of" in done.err, (made_of, source, done.err)
    public = write(tmp_path / "p.jsonl", texts("c", 1600, words=2))
    assert fre("model", "prior", public, "-o", "good.gguf", "--author", "the tester").code == 0
    made_of = fre("model", "info", "good.gguf", "--json").json()["made_of"]
    assert made_of["file"] == "p.jsonl" and made_of["author"] == "the tester"
    assert made_of["kind"] == "texts" and made_of["marks"] == 1600
    done = fre("synthesize", write(tmp_path / "few.jsonl", texts("a", 60)), "-o", "out", *PLAN,
               "--prior", "good.gguf", "--public-corpus", "public.jsonl",
               env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert done.code == 0, done.err
    prior = json.loads((tmp_path / "out" / "release.json").read_text())["models"]["prior"]
    assert prior["source"] == "p.jsonl" and prior["texts"] == 1600
    assert prior["made_of"]["sha256"] == made_of["sha256"]


# ---- what is said before the budget is spent ---------------------------------------------------


def test_nobody_repeats_a_wording(fre, tmp_path):
    """Near each other and never the same: said before and after, and true."""
    inside = write(tmp_path / "in.jsonl", texts("a", 120))
    for command, more in (("synthesize", ("--ledger", "none")), ("simulate", ())):
        args = (command, inside, "-o", f"{command}.out", *BUDGET[:2], "--threshold", "60",
                *BUDGET[4:], *NO_TEXT, *more)
        done = fre(*args)
        assert done.code == 0, done.err
        assert "120 records of 120 users, 120 different texts" in done.err
        assert "word for word: 0 texts, 0 of the 120 records that can count (0.0 %)" in done.err
        assert done.err.index("the budget is spent all the same") < done.err.index("no cell was")
        assert "repeated and nearly identical wordings, not all texts about one matter" in done.err
        released = (tmp_path / f"{command}.out" / "release.json").read_text()
        assert "word for word" not in released
        report = fre(*args, "--force", "--json").json()
        seen = report["not_for_publication"]
        assert seen["repeated_records"] == 0 and seen["distinct"] == 120 == seen["counted"]
        assert any("nowhere did enough users" in w for w in report["warnings"])


def test_dry_run_counts(fre, tmp_path):
    rows = ["turn off the radio"] * 90 + texts("a", 30)
    with (tmp_path / "in.jsonl").open("w") as f:
        for i, t in enumerate(rows):
            f.write(json.dumps({"text": t, "who": i // 2}) + "\n")
    done = fre("synthesize", "in.jsonl", "-o", "out", *BUDGET, *NO_TEXT, "--dry-run", "--json",
               "--user-field", "who", "--threshold", "40")
    assert done.code == 0, done.err
    seen = done.json()["not_for_publication"]
    assert (seen["records"], seen["users"], seen["distinct"]) == (120, 60, 31)
    assert (seen["counted"], seen["repeated_texts"], seen["repeated_records"]) == (60, 1, 45)


def test_too_many_users_before_embedding(fre, tmp_path):
    """While the input is read."""
    inside = write(tmp_path / "in.jsonl", texts("a", 50))
    for command in ("synthesize", "simulate"):
        done = fre(command, inside, "-o", "out", *BUDGET[:2], "--threshold", "40", "--population",
                   "49", *NO_TEXT)
        assert done.code == 65 and "more users than --population 49" in done.err, done.err
        assert "embedding" not in done.err


# ---- whose data --------------------------------------------------------------------------------


def test_one_user_however_typed(fre, tmp_path):
    """The same name composed and apart; the unit of the claim is said."""
    with (tmp_path / "in.jsonl").open("w") as f:
        for i in range(100):
            for name in (f"jos\u00e9{i}", f" jose\u0301{i}", f"JOS\u00c9{i}"):
                f.write(json.dumps({"text": "read my list", "user": name}) + "\n")
    for fold, users in ((), 200), (("--user-fold", "case"), 100), (("--user-fold", "none"), 300):
        for command, more in (("synthesize", ("--ledger", "none")), ("simulate", ())):
            done = fre(command, "in.jsonl", "-o", f"{command}.out", "--force", *BUDGET[:2],
                       "--threshold", "60", *BUDGET[4:], *NO_TEXT, *more, "--user-field", "user",
                       *fold, "--json")
            assert done.code == 0, done.err
            report = done.json()
            seen = report["not_for_publication"]
            assert seen["users" if command == "synthesize" else "input_users"] == users
            assert "each record counts" not in report["statement"] + done.err
            release = json.loads((tmp_path / f"{command}.out" / "release.json").read_text())
            assert release["privacy_unit"] == "user"
    done = fre("synthesize", "in.jsonl", "-o", "synthesize.out", "--force", *BUDGET, *NO_TEXT,
               "--ledger", "none")
    assert done.err.count("each record counts as a user of its own") == 1
    assert "the claim is about one record" in done.out.replace("\n  ", " ")
    release = json.loads((tmp_path / "synthesize.out" / "release.json").read_text())
    assert release["privacy_unit"] == "record"
    for command, more in (("synthesize", ("--ledger", "none")), ("simulate", ())):
        done = fre(command, "in.jsonl", "-o", f"{command}.out", "--force", *BUDGET[:2], "--threshold",
                   "60", *BUDGET[4:], *NO_TEXT, *more, "--user-field", "none", "--json")
        assert done.code == 0, done.err
        assert not any("each record counts" in w for w in done.json()["warnings"])
        release = json.loads((tmp_path / f"{command}.out" / "release.json").read_text())
        assert release["privacy_unit"] == "record"
