"""The ledger knows data by what they hold: ways round it, one by one and in chains."""

import gzip
import json
import random
import subprocess

import pytest

from conftest import BUDGET, NO_TEXT, PROGRAM, TIMEOUT, on_terminal


def release(fre, path, *args, **options):
    return fre("synthesize", path.name, "-o", "out", "--force", *BUDGET, *NO_TEXT, *args, **options)


def lines_of(corpus):
    return [json.loads(line)["text"] for line in corpus.read_text().splitlines()]


def jsonl(lines):
    return "".join(json.dumps({"text": t}) + "\n" for t in lines)


def plain(lines):
    return "".join(t + "\n" for t in lines)


def as_csv(lines, more=""):
    return "id,note,text\n" + "".join(f'{i},{more},"{t}"\n' for i, t in enumerate(lines))


def half(lines):
    return random.Random(1).sample(lines, len(lines) // 2)


WAYS = {
    "a copy": lambda t: ("c.jsonl", jsonl(t)),
    "other line ends": lambda t: ("c.jsonl", jsonl(t).replace("\n", "\r\n")),
    "other escapes": lambda t: ("c.jsonl", jsonl(t).replace("w", "\\u0077")),
    "gzip": lambda t: ("c.jsonl.gz", gzip.compress(jsonl(t).encode(), mtime=1)),
    "csv": lambda t: ("c.csv", as_csv(t)),
    "csv with another column": lambda t: ("c.csv", as_csv(t, "x")),
    "tsv": lambda t: ("c.tsv", "text\n" + plain(t)),
    "text": lambda t: ("c.txt", plain(t)),
    "another order": lambda t: ("c.txt", plain(reversed(t))),
    "one line more": lambda t: ("c.txt", plain(t + ["and this one"])),
    "one line less": lambda t: ("c.txt", plain(t[:-1])),
    "a half": lambda t: ("c.txt", plain(half(t))),
    "twice": lambda t: ("c.txt", plain(t + t)),
    "among others": lambda t: ("c.txt", plain(t + [f"other text {i}" for i in range(900)])),
    "capitals": lambda t: ("c.txt", plain(x.upper() for x in t)),
    "spaces": lambda t: ("c.txt", plain(x.replace(" ", "  ") for x in t)),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_data_in_another_dress(fre, tmp_path, corpus, spent, way):
    name, content = WAYS[way](lines_of(corpus))
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = release(fre, path, *spent)  # behind the reading of all of it, so it is no bad file
    assert done.code == 77 and "refused by the ledger" in done.err


def test_many_dresses_at_once(fre, tmp_path, corpus, spent):
    """Any chain of them, drawn: shuffled, cut, extended, written anew, compressed, linked."""
    draw = random.Random(7)
    for i in range(12):
        lines = lines_of(corpus)
        for _ in range(draw.randrange(1, 4)):
            step = draw.randrange(4)
            if step == 0:
                draw.shuffle(lines)
            elif step == 1:
                lines = draw.sample(lines, max(len(lines) // 2, 120))
            elif step == 2:
                lines = lines + [f"more of run {i}: {j}" for j in range(draw.randrange(1, 60))]
            else:
                lines = [t.capitalize() for t in lines]
        name, content = draw.choice([("x.jsonl", jsonl(lines)), ("x.csv", as_csv(lines)),
                                     ("x.txt", plain(lines))])
        data = content.encode()
        path = tmp_path / f"{i}{name}"
        path.write_bytes(gzip.compress(data) if draw.random() < .5 else data)
        if draw.random() < .3:
            (tmp_path / f"link{i}{name}").symlink_to(path)
            path = tmp_path / f"link{i}{name}"
        assert release(fre, path, *spent).code == 77, (i, name)


def test_embeddings_from_texts_and_texts_from_embeddings(fre, tmp_path, corpus, spent):
    assert fre("embed", corpus, "-o", "x.npy", "--quiet").code == 0
    done = release(fre, tmp_path / "x.npy", *spent)
    assert done.code == 77 and "refused by the ledger" in done.err
    ledger = ["--ledger", "second.json"]
    assert release(fre, tmp_path / "x.npy", *ledger, "--budget-epsilon", "9").code == 0
    assert release(fre, corpus, *ledger).code == 77


def test_the_same_users(fre, tmp_path):
    """Other texts of the same people cost the same people's budget."""
    def rows(word):
        path = tmp_path / f"{word}.csv"
        path.write_text("text,user\n" + "".join(f"{word} {i % 3},u{i}\n" for i in range(300)))
        return path

    ledger = ["--ledger", "book.json", "--user-field", "user"]
    assert release(fre, rows("first"), *ledger, "--budget-epsilon", "9").code == 0
    assert release(fre, rows("second"), *ledger).code == 77
    assert release(fre, rows("third"), *ledger, "--data-name", "others").code == 0


def test_other_data_are_other_data(fre, tmp_path, spent):
    (tmp_path / "other.txt").write_text(plain(f"a text of its own {i % 200}" for i in range(2000)))
    done = release(fre, tmp_path / "other.txt", *spent)
    assert done.code == 0 and "in 1 release (" in done.err


def test_overlap_is_said(fre, tmp_path, corpus, released):
    ledger = released
    (tmp_path / "more.txt").write_text(plain(lines_of(corpus) + ["one more"]))
    done = release(fre, tmp_path / "more.txt", *ledger)
    assert done.code == 0 and "in 2 releases (" in done.err
    assert ("(not for publication) about 98 % of this data's texts, users or embeddings are also "
            "in data released on 20") in done.err
    assert "counted as the same data" in done.err
    (tmp_path / "more.txt").write_text(plain(lines_of(corpus) + ["two more"]))
    done = release(fre, tmp_path / "more.txt", *ledger, "--data-name", "June")
    assert done.code == 0 and "in 1 release (" in done.err
    assert "counted apart, as you say" in done.err


@pytest.mark.parametrize("answer, totals", [("\n", [2]), ("y\n", [2]), ("n\n", [1, 1])])
def test_a_terminal_is_asked(fre, tmp_path, corpus, released, answer, totals):
    (tmp_path / "more.txt").write_text(plain(lines_of(corpus) + ["one more"]))
    code, seen = on_terminal(tmp_path, "synthesize", "more.txt", "-o", "out", "--force", *BUDGET,
                             *NO_TEXT, *released, typed=answer)
    assert code == 0 and "Do both cost the same people's budget? [Y/n]" in seen, seen
    shown = fre("ledger", "show", "book.json", "--json").json()
    assert [t["releases"] for t in shown["totals"]] == totals


def test_runs_at_once(fre, tmp_path, corpus):
    """First runs on a ledger that is not there: one salt, one set, no lost entry, one budget."""
    runs = [subprocess.Popen([PROGRAM, "synthesize", corpus, "-o", f"out{i}", *BUDGET, *NO_TEXT,
                              "--ledger", "book.json", "--budget-epsilon", "17"], cwd=tmp_path,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for i in range(4)]
    assert sorted(run.wait(timeout=TIMEOUT) for run in runs) == [0, 0, 77, 77]
    shown = fre("ledger", "show", "book.json", "--json").json()
    assert [t["releases"] for t in shown["totals"]] == [2]


def test_a_dry_run_tells_what_the_run_would(fre, tmp_path, corpus, spent):
    (tmp_path / "more.txt").write_text(plain(lines_of(corpus) + ["one more"]))
    done = release(fre, tmp_path / "more.txt", *spent, "--dry-run")
    assert done.code == 77 and "refused by the ledger" in done.err
    (tmp_path / "other.txt").write_text(plain(f"a text of its own {i % 200}" for i in range(2000)))
    assert release(fre, tmp_path / "other.txt", *spent, "--dry-run").code == 0


def test_a_file_is_refused_before_it_is_embedded(fre, tmp_path, corpus, spent):
    """Not after the hours that this may take: there is no spool yet."""
    (tmp_path / "more.txt").write_text(plain(lines_of(corpus) + ["one more"]))
    done = fre("synthesize", "more.txt", "-o", "o", *BUDGET, *spent, "--inverter", "none",
               "--resume")
    assert done.code == 77
    assert not list(tmp_path.glob("o.resume*")) # no text was embedded
