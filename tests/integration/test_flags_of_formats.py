"""A flag that says nothing of the input it is given with is refused, not passed over: whoever gave it
believes in fields, users or columns that are not there."""

import json

import pytest

from conftest import BUDGET, FREQUENT, MODELS, NO_TEXT

DECODER = MODELS / "minilm-inverter.q8_0.gguf"
FILES = {"t.txt": "\n".join(FREQUENT), "t.jsonl": "\n".join(json.dumps({"text": t})
                                                          for t in FREQUENT)}
COMMANDS = {
    "synthesize": ["-o", "out", *BUDGET, *NO_TEXT, "--ledger", "none"],
    "simulate": ["-o", "out", *BUDGET, *NO_TEXT],
    "embed": ["-o", "out.npy"],
    "score": ["--language-model", DECODER],
    "evaluate": ["ORIGINAL"],
    "model prior": ["-o", "out.gguf"],
    "model codebook": ["-o", "out.gguf"],
}
WITH_USERS = ("synthesize", "simulate")
WITH_ROWS = ("synthesize", "simulate", "evaluate", "model prior", "model codebook")  # those that take a .npy
SILENT = [("t.txt", "--text-field", "message"), ("t.txt", "--text-field", "text"),
          ("t.txt", "--user-field", "who"), ("t.jsonl", "--delimiter", "tab"),
          ("x.npy", "--text-field", "message"), ("x.npy", "--user-field", "who"),
          ("x.npy", "--delimiter", "comma"), ("x.npy", "--encoding", "latin-1"),
          ("x.npy", "--na-values", "NA"), ("x.npy", "--format", "csv"),
          ("t.txt", "--user-fold", "case"), ("t.jsonl", "--user-fold", "none"),
          ("x.npy", "--user-fold", "none")]


def cases():
    for command in COMMANDS:
        for name, flag, value in SILENT:
            if (command in WITH_USERS or not flag.startswith("--user")) and (
                    command in WITH_ROWS or name != "x.npy"):
                yield command, name, flag, value


@pytest.mark.parametrize("command, name, flag, value", cases())
def test_a_flag_that_says_nothing(fre, tmp_path, embedded, command, name, flag, value):
    for path, content in FILES.items():
        (tmp_path / path).write_text(content + "\n")
    (tmp_path / "x.npy").symlink_to(embedded)
    (tmp_path / "x.npy.json").symlink_to(f"{embedded}.json")
    args = COMMANDS[command]
    inputs = ["t.txt", name] if args == ["ORIGINAL"] else [name, *args]
    done = fre(*command.split(), *inputs, flag, value)
    assert done.code == 64, done.err
    assert flag in done.err or "a .npy file has no fields" in done.err
    assert done.out == ""
    assert not list(tmp_path.glob("out*"))


def test_flags_of_the_users_file(fre, tmp_path, embedded):
    """Beside --user-file they are about that file."""
    rows = [f"user {i}" for i in range(410)]
    (tmp_path / "users.csv").write_text("who;n\n" + "".join(f"{u};1\n" for u in rows))
    (tmp_path / "x.npy").symlink_to(embedded)
    done = fre("synthesize", "x.npy", "-o", "out", *BUDGET, *NO_TEXT, "--ledger", "none",
               "--user-file", "users.csv", "--user-field", "who", "--delimiter", "semicolon",
               "--user-fold", "case", "--encoding", "utf-8")
    assert done.code == 0, done.err


SEARCHES = [(("--effort", "7"), NO_TEXT), (("--public-corpus", "t.txt"), NO_TEXT),
            (("--prior", "no.gguf"), NO_TEXT), (("--language-model", "no.gguf"), NO_TEXT),
            (("--bridge", "no.gguf"), NO_TEXT), (("--public-text-field", "a"), []),
            (("--language-weight", "1"), []),
            (("--language-weight", "1", "--language-model", "none"), [])]


@pytest.mark.parametrize("command", ["synthesize", "simulate", "invert"])
@pytest.mark.parametrize("flags, way", SEARCHES)
def test_a_search_that_has_nothing_to_do(fre, tmp_path, embedded, command, flags, way):
    if command == "invert" and way:
        pytest.skip("refuses --inverter none itself")
    (tmp_path / "t.txt").write_text("\n".join(FREQUENT) + "\n")
    (tmp_path / "x.npy").symlink_to(embedded)
    rest = ["x.npy", "-o", "out"] if command == "invert" else ["t.txt", "-o", "out", *BUDGET]
    done = fre(command, *rest, *way, *flags)
    assert done.code == 64 and flags[0] in done.err
    assert not list(tmp_path.glob("out*"))


def test_no_search_of_nothing_is_fine(fre, tmp_path):
    """What says "none" of something that is not there anyway is no mistake."""
    (tmp_path / "t.txt").write_text("\n".join(FREQUENT) + "\n")
    done = fre("synthesize", "t.txt", "-o", "out", *BUDGET, *NO_TEXT, "--ledger", "none", "--prior",
               "none", "--language-model", "none", "--bridge", "none")
    assert done.code == 0, done.err
