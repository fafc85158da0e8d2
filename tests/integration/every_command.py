"""Runs of every command, for tests of what holds of all of them.  A command that the program's help
names and that has no run here fails those tests, so that a new one is tested too."""

import json
import os
import re
import shutil
import subprocess

from conftest import (BUDGET, FREQUENT, MODELS, NO_TEXT, PROGRAM, TIMEOUT, other_embedder, write_corpus)

EMBEDDER = MODELS / "all-minilm-l6-v2.q8_0.gguf"
DECODER = MODELS / "minilm-inverter.q8_0.gguf"
NO_LEDGER = ["--ledger", "none"]
OWN = ["--sampling-rate", "0.8", "--tau", "80", "--sigma", "1.52", "--population", "1000000"]
SEARCH = ["--inverter", "search", "--public-corpus", "public.jsonl", "--effort", "1"]

ROLES = ["relay", "tagging", "synthesis", "issuer"]
HALVES = [f"{r}.half.json" for r in ROLES]
SHOWN = [word for r in ROLES for word in ("--contribution", f"{r}.contribution.json")]

# By the command's name: lists of arguments, with the files of a_folder().  FORCE: writes a file.
RUNS = {
    "synthesize": [["corpus.jsonl", "-o", "made", *BUDGET, *NO_LEDGER, "--force"],
                   ["corpus.jsonl", "-o", "made", *BUDGET, *NO_LEDGER, *SEARCH, "--force"],
                   ["corpus.jsonl", "-o", "made", *BUDGET, *NO_LEDGER, "--dry-run", "--force"],
                   ["x.npy", "-o", "made", *BUDGET, *NO_TEXT, "--ledger", "own.json", "--force"]],
    "plan": [["--epsilon", "4"], ["--epsilon", "4", "--distributed"]],
    "account": [[*OWN, "--projection-dim", "20", "--epsilon", "4"],
                [*OWN, "--projection-dim", "20", "--delta", "1e-7"],
                [*OWN, "--levels", "grid,256", "--level-sigma", "1", "--level-count-sigma", "5"]],
    "audit": [["--epsilon", "4", "--population", "1000000", "--runs", "4000", "--dimension", "16"]],
    "ssp": [["--epsilon", "4"], ["--epsilon", "4", "--neighbours", "10", "--psi", "0.4"]],
    "embed": [["corpus.jsonl", "-o", "made.npy", "--force"]],
    "invert": [["one.npy", "-o", "made.jsonl", "--samples", "4", "--force"],
               ["one.npy", "-o", "made.jsonl", *SEARCH, "--force"]],
    "paraphrase": [["three.jsonl", "-o", "made.jsonl", "--language-model", "none",
                    "--force"]],
    "score": [["corpus.jsonl", "--language-model", DECODER],
              ["corpus.jsonl", "--language-model", DECODER, "-o", "made.jsonl", "--force"]],
    "evaluate": [["release", "corpus.jsonl"], ["public.jsonl", "corpus.jsonl"]],
    "report": [["release", "-o", "made.html", "--force"]],
    "simulate": [["corpus.jsonl", "-o", "made", "--epsilon", "8", "--threshold", "60",
                  "--population", "100000", *NO_TEXT, "--compare", "--force"]],
    "collection keygen": [["relay", "--url", "http://localhost", "-o", "keys"], ["log", "-o", "keys"]],
    "collection commit": [["--secret", "relay.secret.json", *HALVES, "-o", "made.json", "--force"]],
    "collection new": [[*HALVES, *SHOWN, "--epsilon", "4", "--population", "100000", "-o", "made.json",
                        "--force"]],
    "collection show": [["terms.json"]],
    "collection check": [["terms.json"], ["terms.json", "--secret", "relay.secret.json"]],
    "collection cancel": [["terms.json", "--secret", "relay.secret.json", "-o", "made.cancel", "--force"]],
    "collection release": [["terms.json", "--from", "parts", "--inverter", "none", "-o", "made",
                            "--force"]] if os.environ.get("FRE_TEST_COLLECTED") else [],
    "collection close": [["gone/terms.json", "--secret", "gone/issuer.secret.json", "--cancel",
                          "gone/terms.json.cancel"]],
    "collection log": [["check", "log.jsonl", "--key", "log.key.json"],
                       ["sign", "log.jsonl", "--secret", "log.secret.json"]],
    "serve": [["relay", "--config", "relay.json", "--check"]],
    "contribute": [["--collection", "terms.json", "--state", "mine.state"]], # all was taken before
    "baseline": [["central-dp", "corpus.jsonl", "-o", "made", *BUDGET, *NO_TEXT, "--force"],
                 ["ldp-oue", "corpus.jsonl", "-o", "made", *BUDGET, *NO_TEXT, "--domain", "public.jsonl",
                  "--force"],
                 ["ldp-embedding", "x.npy", "-o", "made", *BUDGET, *NO_TEXT, "--force"],
                 ["aug-pe", "corpus.jsonl", "-o", "made", *BUDGET, "--language-model", DECODER, "--samples",
                  "4", "--temperature", "3", "--rounds", "1", "--force"],
                 ["central-dp", "corpus.jsonl", "-o", "made", *BUDGET, *NO_TEXT, "--dry-run", "--force"]],
    "experiment": [["grid.json", "-o", "many"]],
    "bench": [["pipeline", "--rows", "500"], ["embed", "--input", "public.jsonl"], ["sampler"],
              ["protocol"]],
    "model list": [[]],
    "model info": [[EMBEDDER], [DECODER]],
    "model prior": [["some.txt", "-o", "made.gguf", "--force"]],
    "model bridge": [["many.txt", "-o", "made.gguf", "--embedder", "other.q8_0.gguf",
                      "--force"]],
    "model codebook": [["few.txt", "-o", "made.gguf", "--levels", "8x2,4", "--force"]],
    "model verify": [[]],
    "ledger show": [["book.json"]],
    "completion": [["bash"]],
    "help": [[], ["--man"], ["synthesize"]],
    "version": [[]],
}


def named_by_help():
    """The commands of the overview."""
    shown = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True,
                           timeout=TIMEOUT).stdout
    return re.findall(r"(?m)^  ([a-z]+(?: [a-z]+)?)  ", shown.partition("\nCommands:\n")[2])


def runs():
    """(name, arguments) of all runs; a command without one has an empty list, which no test takes."""
    return [(name, args) for name in named_by_help() for args in RUNS.get(name, [None])]


def label(run):
    return " ".join(map(str, [run[0], *(run[1] or ["?"])])).replace(str(MODELS) + "/", "")


def four_roles(folder, url="http://localhost"):
    """Keys of four roles, their contributions, and terms; each file under its role's name."""
    def command(*args):
        subprocess.run([PROGRAM, "collection", *args, "--quiet"], cwd=folder, check=True, timeout=TIMEOUT,
                       stdout=subprocess.DEVNULL)

    for role in ROLES:
        command("keygen", role, "--url", url, "-o", "keys")
        for made in (folder / "keys").glob(f"{role}-*"):
            shutil.copy2(made, folder / (role + "." + made.name.split(".", 1)[1]))
    for role in ROLES:
        command("commit", "--secret", f"{role}.secret.json", *HALVES)
    command("new", *HALVES, *SHOWN, "--epsilon", "4", "--population", "100000", "-o", "terms.json")
    for made in (folder / "keys").iterdir(): # with what was committed to
        shutil.copy2(folder / (made.name.split("-")[0] + "." + made.name.split(".", 1)[1]), made)


def served(folder):
    """A relay's configuration, and a device that has said everything."""
    (folder / "terms").mkdir()
    shutil.copy(folder / "terms.json", folder / "terms")
    (folder / "relay.json").write_text(json.dumps({
        "role": "relay", "store": "sqlite:rows", "keys": "keys", "collections": "terms",
        "public": {"listen": "127.0.0.1:0"}, "peer": {"listen": "127.0.0.1:0"}}))
    known = bytes.fromhex(json.loads((folder / "terms.json").read_text())["id"])
    state = folder / "mine.state"
    state.write_bytes(b"fre-cl1\n" + known + bytes([252, 0, 0, 0, 0, 0, 0, 0, 0, 1]) + b"\1")
    state.chmod(0o600)


def parts_of(folder, terms="terms.json", secret="synthesis.secret.json", to="parts"):
    """The signed parts of a release of six cells; False: the program that makes them is not built."""
    maker = os.environ.get("FRE_TEST_COLLECTED")
    (folder / to).mkdir()
    if maker:
        subprocess.run([maker, "parts", folder / terms, folder / secret, folder / to], check=True,
                       timeout=TIMEOUT)
    return bool(maker)


def a_log(folder):
    """A log of the collection of terms.json with a head, and a witness's keys, each under its kind's name."""
    def command(*args):
        subprocess.run([PROGRAM, "collection", *args], cwd=folder, check=True, timeout=TIMEOUT,
                       stdout=subprocess.DEVNULL)

    for kind in ("log", "witness"):
        command("keygen", kind, "-o", "keys")
        for made in (folder / "keys").glob(f"{kind}-*"):
            made.rename(folder / (kind + "." + made.name.split(".", 1)[1]))
    command("log", "new", "log.jsonl", "--key", "log.key.json")
    command("log", "add", "log.jsonl", "--key", "log.key.json", "--terms", "terms.json")
    command("log", "sign", "log.jsonl", "--secret", "log.secret.json")


def a_folder(folder):
    """What the runs need, in an empty folder."""
    write_corpus(folder / "corpus.jsonl")
    (folder / "one.txt").write_text("where is my parcel\n")
    (folder / "three.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in FREQUENT))
    lines = [f"show me {a} {b}" for a in ("cheap", "late", "early", "direct") for b in
             ("flights", "trains", "buses", "trips", "hotels", "fares", "tours", "rides")]
    (folder / "public.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in lines))
    for name, n in (("few", 100), ("some", 1600), ("many", 3100)):  # what a prior and a bridge need
        (folder / f"{name}.txt").write_text("".join(f"text number {i}\n" for i in range(n)))
    (folder / "grid.json").write_text(json.dumps({
        "format": "fre-e2t-experiment/1", "name": "grid", "input": "corpus.jsonl",
        "set": {"inverter": "none", "threshold": 40, "population": 100000},
        "grid": {"seed": [1], "epsilon": [8]}}))
    other_embedder(folder)
    four_roles(folder)
    parts_of(folder)
    a_log(folder)
    (folder / "gone").mkdir()
    four_roles(folder / "gone")
    subprocess.run([PROGRAM, "collection", "cancel", "terms.json", "--secret", "issuer.secret.json"],
                   cwd=folder / "gone", check=True, timeout=TIMEOUT, stdout=subprocess.DEVNULL)
    served(folder)
    for args in (["embed", "corpus.jsonl", "-o", "x.npy"], ["embed", "one.txt", "-o", "one.npy"],
                 ["synthesize", "corpus.jsonl", "-o", "release", *BUDGET, *NO_TEXT, "--ledger",
                  "book.json"]):
        subprocess.run([PROGRAM, *args, "--quiet"], cwd=folder, check=True, timeout=TIMEOUT)
    return folder
