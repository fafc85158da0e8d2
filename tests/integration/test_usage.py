"""Usage: exit codes, exact messages, help, man page, completions."""

import json
import re
import shutil
import signal
import subprocess

import pytest

from conftest import PROGRAM

COMMANDS = ["synthesize", "plan", "account", "ssp", "embed", "invert", "score",
            "evaluate", "simulate", "collection keygen", "collection commit", "collection new",
            "collection show", "collection check", "collection cancel", "collection release",
            "collection close", "collection log", "serve", "contribute", "baseline", "experiment",
            "bench", "model list", "model info", "model prior",
            "model bridge", "model codebook", "model verify", "ledger show", "completion", "help", "version"]


def test_no_arguments(fre):
    done = fre()
    assert done.code == 64
    assert done.err.startswith("Usage: fre-e2t COMMAND")
    assert done.out == ""


def test_overview_names_every_command(fre):
    done = fre("--help")
    assert done.code == 0 and done.err == ""
    for name in COMMANDS:
        assert f"\n  {name} " in done.out
    assert done.out == fre("help").out


@pytest.mark.parametrize("name", COMMANDS)
def test_help(fre, name):
    done = fre(*name.split(), "--help")
    assert done.code == 0 and done.err == ""
    assert done.out == fre("help", *name.split()).out
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.startswith(f"Usage: fre-e2t {name}")
    assert "\nExample:\n  " in done.out


@pytest.mark.parametrize("word", ["model", "ledger", "collection"])
def test_help_of_a_group(fre, word):
    """The first word of commands of two: the list of them, with what each does."""
    shown = fre("help", word)
    assert shown.code == 0 and shown.err == ""
    assert shown.out.startswith(f"Usage: fre-e2t {word} COMMAND")
    overview = fre("help").out
    for name in (n for n in COMMANDS if n.startswith(word + " ")):
        line = re.search(rf"(?m)^  {name} .*$", overview).group()
        assert line in shown.out
    assert fre(word, "--help").out == fre(word, "-h").out == shown.out


@pytest.mark.parametrize("command, essentials", [
    ("synthesize", ["--output", "--text-field", "--user-field", "--epsilon", "--population", "--threshold"]),
    ("simulate", ["--output", "--text-field", "--user-field", "--epsilon", "--population", "--threshold"]),
    ("plan", ["--epsilon", "--population", "--threshold"]),
    ("audit", ["--epsilon", "--population", "--threshold"]),
])
def test_help_begins_with_what_a_beginner_needs(fre, command, essentials):
    shown = fre(command, "--help").out
    order = ["Essentials.*:", *essentials, "--delta", "Mechanism.*:", "--radius", "--accountant", "Common:"]
    places = [re.search(rf"(?m)^  .*{w} |^{w}$", shown).start() for w in order]
    assert places == sorted(places)
    between = shown[places[0]:places[-4]]
    assert not re.search("--(sigma|sampling-rate|projection-dim|cell-scale|gaussian) ", between)
    manual = fre("help", "--man").out.split(f".SS {command}\n")[1].split(".SS ")[0]
    manual = manual[manual.index("Essentials"):]
    listed = [manual.index(w.replace("-", "\\-")) for w in (*essentials, "--delta", "--radius")]
    assert listed == sorted(listed)


def test_help_wins_over_mistakes(fre):
    assert fre("plan", "--epsilon", "x", "--nonsense", "-h").out.startswith("Usage: fre-e2t plan")


@pytest.mark.parametrize("args", [["--version"], ["version"], ["plan", "--version"]])
def test_version(fre, args):
    done = fre(*args)
    assert done.code == 0
    name, version = done.out.split()
    assert name == "fre-e2t" and version[0].isdigit()


def test_version_as_json(fre):
    assert fre("version", "--json").json()["program"] == "fre-e2t"


@pytest.mark.parametrize("args, sentence", [
    (["synthesise"],
     "fre-e2t: 'synthesise' is not a command of this version; did you mean 'synthesize'?"),
    (["weather"], "fre-e2t: 'weather' is not a command of this version; 'fre-e2t help' lists them"),
    (["model"], "fre-e2t: 'model' needs a second word: 'model list' or 'model info' or "
                "'model prior' or 'model bridge' or 'model codebook' or 'model verify'"),
    (["plan", "--espilon", "4"],
     "fre-e2t plan: unknown flag --espilon; did you mean --epsilon?"),
    (["plan", "--qqqqqqqq"],
     "fre-e2t plan: unknown flag --qqqqqqqq; 'fre-e2t plan --help' lists them"),
    (["plan"], "fre-e2t plan: --epsilon E is required; see 'fre-e2t plan --help'"),
    (["plan", "--epsilon"], "fre-e2t plan: --epsilon needs a value: --epsilon E"),
    (["plan", "--epsilon", "4", "more"], "fre-e2t plan: unexpected argument 'more'"),
    (["plan", "--epsilon", "4", "--", "--json"],
     "fre-e2t plan: unexpected argument '--json'"),
    (["plan", "--epsilon=4", "--json=yes"], "fre-e2t plan: --json takes no value"),
    (["synthesize", "--epsilon", "4", "-o", "x"],
     "fre-e2t synthesize: INPUT is missing; see 'fre-e2t synthesize --help'"),
    (["synthesize", "in", "--epsilon", "4"],
     "fre-e2t synthesize: --output DIR is required; see 'fre-e2t synthesize --help'"),
    (["completion", "tcsh"],
     "fre-e2t completion: SHELL must be bash, zsh or fish, not 'tcsh'"),
])
def test_refusals(refused, args, sentence):
    refused(64, sentence, *args)


@pytest.mark.parametrize("value, flag, wanted", [
    ("0", "--epsilon", "a number above 0 and at most 50"),
    ("-1", "--epsilon", "a number above 0 and at most 50"),
    ("nan", "--epsilon", "a number above 0 and at most 50"),
    ("inf", "--epsilon", "a number above 0 and at most 50"),
    ("4x", "--epsilon", "a number above 0 and at most 50"),
    ("51", "--epsilon", "a number above 0 and at most 50"),
    ("0", "--delta", "auto or a number above 0 and below 1"),
    ("1", "--delta", "auto or a number above 0 and below 1"),
    ("-1e-6", "--delta", "auto or a number above 0 and below 1"),
    ("nan", "--delta", "auto or a number above 0 and below 1"),
    ("0", "--threshold", "a whole number from 1 to 1000000000000"),
    ("1.5", "--threshold", "a whole number from 1 to 1000000000000"),
    ("0", "--population", "a whole number from 1 to 1000000000000"),
    ("1e-6", "--population", "a whole number from 1 to 1000000000000"),
    ("0", "--radius", "a number above 0 and at most 1000000"),
    ("65", "--projection-dim", "auto or a whole number from 1 to 64"),
    ("0", "--sampling-rate", "auto or a number above 0 and at most 1"),
    ("1.1", "--sampling-rate", "auto or a number above 0 and at most 1"),
    ("swap", "--adjacency", "add-remove or replace"),
    ("moments", "--accountant", "joint or paper"),
])
def test_ranges(refused, flag, value, wanted):
    args = ["plan", "--epsilon", "4", flag, value]
    refused(64, f"fre-e2t plan: {flag} must be {wanted}, not '{value}'", *args)


def test_a_repeated_flag_counts_the_last_time(fre):
    one = fre("plan", "--epsilon", "2", "--epsilon=4", "--json").json()
    assert one["epsilon_target"] == 4


def test_seed_is_not_shown(refused):
    refused(64, "fre-e2t synthesize: --seed must be 1 to 64 hexadecimal digits", "synthesize",
            "in", "-o", "x", "--epsilon", "4", "--seed", "deadbeefs")


@pytest.mark.parametrize("args, sentence", [
    (["--ledger", "none", "--data-name", "x"],
     "--data-name needs a ledger: leave out --ledger none"),
    (["--ledger", "none", "--budget-epsilon", "3"],
     "--budget-epsilon needs a ledger: leave out --ledger none"),
    (["--ledger", "none", "--budget-delta", "1e-5"],
     "--budget-delta needs a ledger: leave out --ledger none"),
    (["--max-cells-per-user", "2"], "--max-cells-per-user needs --user-field F, or "
                                    "--user-file FILE for a .npy: without it each record is a "
                                    "user of its own"),
    (["--cell-edge", "1", "--cell-scale", "2"], "give --cell-edge or --cell-scale, not both"),
    (["--gaussian", "zcdp"], "--gaussian zcdp belongs to --accountant paper"),
    (["--budget-factor", "4"], "--budget-factor belongs to --accountant paper"),
    (["--sensitivity-ratio", "2"], "--sensitivity-ratio belongs to --accountant paper"),
])
def test_flags_that_go_together(refused, args, sentence):
    refused(64, "fre-e2t synthesize: " + sentence, "synthesize", "in", "-o", "x", "--epsilon", "4",
            *args)


@pytest.mark.parametrize("command, sentence", [
    ("invert x.npy -o t --inverter search --samples 4",
     "--samples is about an inverter's decoder, which --inverter search does without: leave out one of them"),
    ("invert x.npy -o t --inverter search --temperature 1",
     "--temperature is about an inverter's decoder, which --inverter search does without: leave out one of "
     "them"),
    ("invert x.npy -o - --force", "--force replaces a file, and standard output is none: leave it out"),
    ("score t.txt --force", "--force is about --output FILE: add that"),
    ("paraphrase t.jsonl -o - --force",
     "--force replaces a file, and standard output is none: leave it out"),
    ("paraphrase t.jsonl -o p --inverter none --language-model default --prior x.gguf",
     "--prior is about the inverter, which --inverter none leaves out: leave out one of them"),
    ("model verify --public-text-field t", "--public-text-field is about --public-corpus FILE: add that"),
    ("bench protocol --input t.txt", "--input is read by pipeline and embed alone: leave it out"),
    ("bench sampler --rows 5", "--rows is about pipeline and codebook alone: leave it out"),
    ("bench pipeline --embedder e.gguf", "--embedder is about embed alone: leave it out"),
    ("bench pipeline --input x.npy --rows 5",
     "--rows are made where no --input gives them: leave out one of the two"),
    ("ssp --sampling-rate 0.5 --sigma 1 --delta 1e-7", "--delta is half of a budget: add --epsilon E"),
])
def test_flags_that_would_say_nothing(refused, command, sentence):
    args = command.split()
    name = " ".join(args[:2]) if args[0] == "model" else args[0]
    refused(64, f"fre-e2t {name}: {sentence}", *args)


def test_full_standard_output():
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 74
    assert done.stderr == ("fre-e2t help: cannot write standard output: No space left on "
                           "device\n")


def test_reader_that_goes_away():
    with subprocess.Popen([PROGRAM, "help", "--man"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() in (0, -signal.SIGPIPE)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_syntax(fre, tmp_path, shell):
    done = fre("completion", shell)
    assert done.code == 0 and "synthesize" in done.out
    script = tmp_path / "script"
    script.write_text(done.out)
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    checked = subprocess.run([shell, "-n", script], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert checked.stderr == ""


def test_bash_completion_completes(fre, tmp_path):
    script = tmp_path / "script"
    script.write_text(fre("completion", "bash").out + """
try() {
    COMP_WORDS=("$@"); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    _fre_e2t
    echo "${COMPREPLY[*]}"
}
try fre-e2t sy
try fre-e2t plan --adj
try fre-e2t plan --adjacency ''
try fre-e2t plan --adjacency = re
try fre-e2t plan --sampling-rate ''
try fre-e2t model ''
try fre-e2t model info --th
try fre-e2t completion f
try fre-e2t embed ./scr
""")
    out = subprocess.run(["bash", script], cwd=tmp_path, capture_output=True, text=True).stdout
    assert out.splitlines() == ["synthesize", "--adjacency", "add-remove replace", "replace",
                                "auto", "list info prior bridge codebook verify", "--threads", "fish", "./script"]


def test_man_page(fre, tmp_path):
    done = fre("help", "--man")
    assert done.code == 0
    for name in COMMANDS:
        assert f"\n.SS {name}\n" in done.out
    page = tmp_path / "fre-e2t.1"
    page.write_text(done.out)
    if not shutil.which("man"):
        pytest.skip("man is not installed")
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "80"}
    shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True,
                           env=env)
    assert shown.returncode == 0
    assert shown.stderr == ""
    assert "--sampling-rate P|auto" in shown.stdout
    assert "XDG_STATE_HOME" in shown.stdout and "fre-e2t/ledger.json in the" in shown.stdout


def test_model_list(fre):
    models = fre("model", "list", "--json").json()["models"]
    assert [m["use"] for m in models] == ["embedder", "inverter", "projector of the inverter",
                                         "vocabulary of the inverter", "prior of the embedder",
                                         "codebook of the embedder", "language model (optional)"]
    assert all(m["path"] for m in models[:-2])
    assert not any(".." in m["path"] for m in models[:-2])
    shown = fre("model", "list")
    assert shown.code == 0 and "all-minilm-l6-v2.q8_0.gguf" in shown.out


def test_model_info(fre):
    info = fre("model", "info", "all-minilm-l6-v2.q8_0.gguf", "--json").json()
    assert info["kind"] == "embedder" and info["dimension"] == 384
    assert info["pooling"] == "mean" and info["normalised"] is True
    assert len(info["sha256"]) == 64
    info = fre("model", "info", "minilm-inverter.q8_0.gguf", "--json").json()
    assert info["kind"] == "decoder"


def test_json_errors_go_to_standard_error(fre):
    done = fre("plan", "--epsilon", "0", "--json")
    assert done.code == 64 and done.out == "" and done.err.startswith("fre-e2t plan: ")
    assert json.loads(fre("plan", "--epsilon", "4", "--json").out)
