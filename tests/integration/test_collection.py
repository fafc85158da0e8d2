"""A collection before it is served: keys, commitments, contributions, terms."""

import concurrent.futures
import fcntl
import json
import os
import re
import shutil
import stat
import subprocess
import time

import pytest

from conftest import everything
from every_command import HALVES, ROLES, SHOWN, a_log, four_roles, parts_of

BUDGET = ["--epsilon", "4", "--population", "100000"]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    four_roles(folder)
    return folder


@pytest.fixture(scope="session")
def other(tmp_path_factory):
    """Four other roles, and their terms."""
    folder = tmp_path_factory.mktemp("other")
    four_roles(folder)
    parts_of(folder)
    return folder


@pytest.fixture
def roles(tmp_path, made_once):
    shutil.copytree(made_once, tmp_path, dirs_exist_ok=True)
    return tmp_path


def secret_of(role):
    return ["--secret", f"{role}.secret.json"]


def numbers(path):
    return json.loads(path.read_text())


def epoch(text):
    return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone)


# ---- keygen ------------------------------------------------------------------------------------------

def test_keygen_says_what_it_made(fre, tmp_path):
    made = fre("collection", "keygen", "issuer", "--url", "http://localhost:80", "-o", "keys", "--once", "ram",
               "--json").json()
    assert made["role"] == "issuer"
    for key, mode in (("half", 0o644), ("secret", 0o600), ("once", 0o600), ("wrap", 0o600)):
        path = tmp_path / made[key]
        assert stat.S_IMODE(path.stat().st_mode) == mode
    assert made["once"].startswith("ram/issuer-")
    assert "certificate" not in made or made["certificate"] is None
    text = fre("collection", "keygen", "relay", "--url", "http://127.0.0.1", "-o", "keys").out
    assert re.search(r"keys/relay-[0-9a-f]{8}\.half\.json", text) and "No backup" in text
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_keygen_prints_no_secret(fre, tmp_path):
    done = fre("collection", "keygen", "tagging", "--url", "http://localhost", "-o", "keys")
    for name, least in (("secret", 2), ("once", 2), ("wrap", 1)):
        path, = (tmp_path / "keys").glob(f"*.{name}.json")
        digits = re.findall(r'"([0-9a-f]{64})"', path.read_text())
        half, = (tmp_path / "keys").glob("*.half.json")
        secrets = [d for d in digits if d not in half.read_text()]
        assert len(secrets) >= least
        assert not any(d in done.out + done.err for d in secrets)


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_do_not_depend_on_the_mask(fre, tmp_path, umask):
    fre("collection", "keygen", "log", "-o", "keys", preexec_fn=lambda: os.umask(umask))
    secret, = (tmp_path / "keys").glob("*.secret.json")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


@pytest.mark.parametrize("args, says", [
    (["relay", "-o", "keys"], "--url URL is required"),
    (["relay", "--url", "http://example.org", "-o", "keys"], "--url must be https://"),
    (["relay", "--url", "ftp://localhost", "-o", "keys"], "--url must be https://"),
    (["relay", "--url", "http://localhost", "--certificate", "x", "-o", "keys"], "--certificate belongs to"),
    (["log", "--url", "http://localhost", "-o", "keys"], "--url belongs to the roles"),
    (["witness", "--once", "x", "-o", "keys"], "--once belongs to the roles"),
    (["king", "-o", "keys"], "ROLE must be relay, tagging"),
    (["relay", "--url", "http://localhost"], "--output DIR is required"),
])
def test_keygen_refuses(fre, tmp_path, args, says):
    before = everything(tmp_path)
    done = fre("collection", "keygen", *args)
    assert done.code == 64 and says in done.err
    assert everything(tmp_path) == before


def test_a_folder_of_others_is_refused(fre, tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys").chmod(0o777)
    done = fre("collection", "keygen", "relay", "--url", "http://localhost", "-o", "keys")
    assert done.code == 77 and "0700" in done.err
    assert list((tmp_path / "keys").iterdir()) == []


# ---- commit ------------------------------------------------------------------------------------------

def test_commit_notes_four_commitments(fre, roles):
    seen = numbers(roles / "relay.secret.json")["commitments"]
    assert seen == {r: numbers(roles / f"{r}.half.json")["commitment"] for r in ROLES}
    for role in ROLES:
        shown = numbers(roles / f"{role}.contribution.json")
        assert shown["commitments"] == seen
    again = fre("collection", "commit", *secret_of("issuer"), *reversed(HALVES), "-o", "-")
    assert again.code == 0 and again.out == (roles / "issuer.contribution.json").read_text()


def test_commit_refuses_other_halves(fre, roles, other):
    before = (roles / "relay.secret.json").read_text()
    done = fre("collection", "commit", *secret_of("relay"), HALVES[0], other / HALVES[1], *HALVES[2:], "-o", "x")
    assert done.code == 77 and "has committed to other halves" in done.err
    done = fre("collection", "commit", *secret_of("relay"), *(other / h for h in HALVES), "-o", "x")
    assert done.code == 77 and "is not that of" in done.err
    done = fre("collection", "commit", *secret_of("relay"), HALVES[0], HALVES[0], *HALVES[2:], "-o", "x")
    assert done.code == 65 and "two of the four halves" in done.err
    done = fre("collection", "commit", *secret_of("relay"), *HALVES[:3], "-o", "x")
    assert done.code == 64 and "HALF4 is missing" in done.err
    done = fre("collection", "commit", *secret_of("relay"), *HALVES)
    assert done.code == 73 and "exists" in done.err
    assert not (roles / "x").exists() and (roles / "relay.secret.json").read_text() == before


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_secrets_that_others_can_read_are_refused(fre, roles, mode):
    (roles / "relay.secret.json").chmod(mode)
    for args in (["commit", *secret_of("relay"), *HALVES, "-o", "x"],
                 ["check", "terms.json", *secret_of("relay")]):
        done = fre("collection", *args)
        assert done.code == 77 and "0600" in done.err
    assert not (roles / "x").exists()


# ---- new ---------------------------------------------------------------------------------------------

def test_terms_have_the_plan_and_the_parties(fre, roles):
    made = fre("collection", "new", *HALVES, *SHOWN, *BUDGET, "--open", "2030-01-01T00:00:00Z", "--exchange-close",
               "+36h", "--tags-close", "2030-01-03T00:00:00+01:00", "--end", "+2w", "--batch-min", "7", "--aead",
               "chacha20-poly1305", "-o", "own.json", "--json").json()
    terms = numbers(roles / "own.json")
    assert terms == made["terms"] and terms["id"] == made["id"]
    assert terms["open"] == epoch("2030-01-01T00:00:00Z")
    assert terms["exchange_close"] == terms["open"] + 36 * 3600
    assert terms["tags_close"] == terms["shares_close"] == epoch("2030-01-02T23:00:00Z")
    assert terms["end"] == terms["tags_close"] + 14 * 86400
    assert (terms["batch_min"], terms["aead"], terms["contacts"]) == (7, "chacha20-poly1305", "one")
    for role, short in zip(ROLES, ("relay", "tag", "syn", "issuer")):
        half = numbers(roles / f"{role}.half.json")
        assert terms[f"{short}_sign"] == half["sign"] and terms[f"{short}_url"] == half["url"]
        assert terms[f"{short}_commitment"] == half["commitment"]
        assert terms[f"{short}_contribution"] == numbers(roles / f"{role}.contribution.json")["contribution"]
    plan = fre("plan", "--distributed", *BUDGET, "--json").json()
    assert terms["sigma"] == plan["sigma"] and terms["tau"] == plan["tau"]
    assert made["plan"]["sigma"] == plan["sigma"] and "Claim:" in made["statement"]


def test_two_contacts_and_public_cells(fre, roles):
    done = fre("collection", "new", *HALVES, *SHOWN, *BUDGET, "--contacts", "two", "--shares-close", "+2h", "-o", "2.json")
    assert done.code == 0
    terms = numbers(roles / "2.json")
    assert terms["shares_close"] == terms["tags_close"] + 7200 and terms["noise_by"] == "clients"
    done = fre("collection", "new", *HALVES, *SHOWN, *BUDGET, "--levels", "1024", "-o", "3.json")
    assert done.code == 0, done.err
    terms = numbers(roles / "3.json")
    assert terms["sketch"] == "codebook" and terms["public_cells"] == 1024
    shown = fre("collection", "show", "3.json")
    assert shown.code == 0 and "1024 public ones" in shown.out


@pytest.mark.parametrize("args, code, says", [
    (["--open", "yesterday"], 64, "--open must be a time as"),
    (["--open", "2030-02-30T00:00:00Z"], 64, "--open must be a time as"),
    (["--open", "2030-01-01T00:00:00"], 64, "--open must be a time as"),
    (["--open", "+0s"], 64, "--open must be a time as"),
    (["--open", "+99999999999d"], 64, "--open must be a time as"),
    (["--open", "2020-01-01T00:00:00Z"], 64, "--open must be later than now"),
    (["--exchange-close", "2020-01-01T00:00:00Z"], 64, "--exchange-close must be later"),
    (["--tags-close", "2020-01-01T00:00:00Z"], 64, "--tags-close must be later"),
    (["--end", "2020-01-01T00:00:00Z"], 64, "--end must be later"),
    (["--shares-close", "+1d"], 64, "--shares-close belongs to --contacts two"),
    (["--batch-min", "0"], 64, "--batch-min must be"),
    (["--batch-min", "100001"], 65, "batch_min"),
    (["--population", "10000000"], 77, "more than 32 bits hold"), # nobody could serve such terms
    (["--levels", "grid,1024"], 64, "a collection releases one level"),
    (["--levels", "1023"], 64, "the codebook has no level"),
    (["--codebook", "x"], 64, "add that"),
    (["--cover", "off"], 64, "--cover"),
    (["--contribution", "relay.contribution.json"], 64, "four times"),
    (["--embedder", "nowhere.gguf"], 66, "nowhere.gguf"),
])
def test_new_refuses(fre, roles, args, code, says):
    done = fre("collection", "new", *HALVES, *SHOWN, *BUDGET, "-o", "own.json", *args)
    assert (done.code, says in done.err) == (code, True), done.err
    assert len(done.err.splitlines()) == 1
    assert not (roles / "own.json").exists()


def test_contributions_have_to_fit(fre, roles, other):
    mixed = [*SHOWN[:2], "--contribution", other / "tagging.contribution.json", *SHOWN[4:]]
    done = fre("collection", "new", *HALVES, *mixed, *BUDGET, "-o", "own.json")
    assert done.code == 65 and "different keys" in done.err
    twice = [*SHOWN[:6], *SHOWN[:2]]
    done = fre("collection", "new", *HALVES, *twice, *BUDGET, "-o", "own.json")
    assert done.code == 65 and "issuer is missing" in done.err
    done = fre("collection", "new", *HALVES, *SHOWN, *BUDGET, "-o", "terms.json")
    assert done.code == 73
    text = (roles / "relay.half.json").read_text()
    (roles / "relay.half.json").write_text(text.replace("localhost", "127.0.0.1"))
    done = fre("collection", "new", *HALVES, *SHOWN, *BUDGET, "-o", "own.json")
    assert done.code == 65 and "signature does not hold" in done.err


# ---- show and check ------------------------------------------------------------------------------------

def test_show_says_what_people_ask(fre, roles):
    shown = fre("collection", "show", "terms.json")
    assert shown.code == 0 and shown.err == ""
    for word in (numbers(roles / "terms.json")["id"], "What is asked", "Who runs it", "When", "Privacy statement",
                 "Claim:", "entries until"):
        assert word in shown.out
    told = fre("collection", "show", "terms.json", "--json").json()
    assert told["id"] == told["terms"]["id"] and told["plan"]["distributed"] is True


def test_check_says_whose_they_are(fre, roles, other):
    for role in ROLES:
        told = fre("collection", "check", "terms.json", *secret_of(role), "--json").json()
        assert told["keys_checked"] is True and told["delta"] <= 1e-5
    done = fre("collection", "check", other / "terms.json", *secret_of("relay"))
    assert done.code == 77 and "another signing key" in done.err
    assert fre("collection", "check", other / "terms.json").code == 0


@pytest.mark.parametrize("change, code, says", [
    (lambda t: t.update(sigma=t["sigma"] / 2), 77, "claim"),
    (lambda t: t.update(lambda16=t["lambda16"] * 2), 77, "claim"),
    (lambda t: t.update(end=t["open"]), 65, "end"),
    (lambda t: t.update(tags_close=t["open"]), 65, "tags_close"),
    (lambda t: t.update(relay_url="http://example.org"), 65, "relay_url"),
    (lambda t: t.update(oprf_pk="00" * 32), 65, "oprf_pk"),
    (lambda t: t.update(grid_seed="11" * 32), 65, "grid_seed"),
    (lambda t: t.update(extra=1), 65, "key"),
    (lambda t: t.pop("tau"), 65, "tau"),
])
def test_changed_terms_are_refused(fre, roles, change, code, says):
    terms = numbers(roles / "terms.json")
    terms.pop("id")
    change(terms)
    (roles / "bad.json").write_text(json.dumps(terms))
    for name in ("show", "check"):
        done = fre("collection", name, "bad.json")
        assert done.code == code and says in done.err, done.err


def test_terms_are_no_other_file(fre, roles):
    for path, code in ((roles / "relay.half.json", 65), (roles / "nothing", 66), ("/dev/null", 66), (roles, 66)):
        assert fre("collection", "show", path).code == code


# ---- https --------------------------------------------------------------------------------------------

def test_https_has_a_certificate(fre, tmp_path):
    done = fre("collection", "keygen", "relay", "--url", "https://relay.example:8443", "-o", "keys", "--json")
    if "built without" in done.err:
        pytest.skip("no module net in this build")
    made = done.json()
    assert stat.S_IMODE((tmp_path / made["private_key"]).stat().st_mode) == 0o600
    assert "PRIVATE" not in (tmp_path / made["certificate"]).read_text()
    pin = numbers(tmp_path / made["half"])["pin"]
    assert pin != "00" * 32
    der = subprocess.run("openssl x509 -pubkey -noout | openssl pkey -pubin -outform DER | sha256sum", shell=True,
                         stdin=(tmp_path / made["certificate"]).open(), capture_output=True, text=True, check=True)
    assert der.stdout.split()[0] == pin
    own = fre("collection", "keygen", "issuer", "--url", "https://issuer.example", "-o", "keys", "--certificate",
              made["certificate"], "--json").json()
    assert numbers(tmp_path / own["half"])["pin"] == pin and own["certificate"] is None
    done = fre("collection", "keygen", "issuer", "--url", "https://issuer.example", "-o", "none", "--certificate",
               made["half"])
    assert done.code == 65 and not (tmp_path / "none").exists()


# ---- release --------------------------------------------------------------------------------------------

@pytest.fixture
def parts(roles):
    if not parts_of(roles):
        pytest.skip("test_collected is not built")
    return roles


def test_a_release_is_a_folder(fre, parts):
    made = fre("collection", "release", "terms.json", "--from", "parts", "--inverter", "none", "-o", "out",
               "--keep-parts", "kept", "--json").json()
    assert made["released_cells"] == 6 and made["statement_differs"] is True
    release = numbers(parts / "out" / "release.json")
    assert release["private"] is True and release["ledger"]["entry"] is None
    assert release["collection"] == numbers(parts / "terms.json")
    assert release["certified"]["epsilon"] == 4 and release["statement"][0].startswith("Claim:")
    lines = [json.loads(line) for line in (parts / "out" / "synthetic.jsonl").read_text().splitlines()]
    assert [line["count"] for line in lines] == [release["parameters"]["tau"] + i for i in range(6)]
    for i in range(3):
        assert (parts / "kept" / f"release-{i}").read_bytes() == (parts / "parts" / f"release-{i}").read_bytes()
    text = fre("collection", "release", "terms.json", "--from", "kept", "--inverter", "none", "-o", "again")
    assert text.code == 0 and "6 cells released" in text.out and "statement of privacy differs" in text.err
    assert fre("report", "out", "-o", "report.html").code == 0


def test_a_release_has_texts(fre, parts):
    done = fre("collection", "release", "terms.json", "--from", "parts", "-o", "out")
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in (parts / "out" / "synthetic.jsonl").read_text().splitlines()]
    assert len(lines) == 6 and all("text" in line for line in lines)


def test_other_parts_are_refused(fre, parts, other):
    def release(*args):
        done = fre("collection", "release", "terms.json", "--inverter", "none", "-o", "out", *args)
        assert not (parts / "out").exists()
        return done

    assert release("--from", other / "parts").code == 77
    (parts / "wrong").mkdir()
    parts_of(parts, secret="tagging.secret.json", to="wrong/parts")
    assert release("--from", "wrong/parts").code == 77
    (parts / "parts" / "release-2").rename(parts / "parts" / "aside")
    assert release("--from", "parts").code == 66
    (parts / "parts" / "release-1").replace(parts / "parts" / "release-2")
    (parts / "parts" / "aside").rename(parts / "parts" / "release-1")
    done = release("--from", "parts")
    assert done.code == 65 and "in the place of part 1" in done.err
    assert release("--from", "nowhere").code == 66
    done = release("--from", "http://127.0.0.1:9")
    assert done.code in (64, 74) and len(done.err.splitlines()) == 1


# ---- the ends of a collection ---------------------------------------------------------------------------

def test_cancel_is_signed_by_a_role(fre, roles, other):
    done = fre("collection", "cancel", "terms.json", *secret_of("tagging"))
    assert done.code == 0 and "terms.json.cancel" in done.out
    message = (roles / "terms.json.cancel").read_bytes()
    assert message[:2] == bytes([2, 13]) and message[2:34].hex() == numbers(roles / "terms.json")["id"]
    assert fre("collection", "cancel", "terms.json", *secret_of("tagging")).code == 73
    done = fre("collection", "cancel", other / "terms.json", *secret_of("tagging"), "-o", "x")
    assert done.code == 77 and not (roles / "x").exists()


def test_close_erases_what_is_over(fre, roles):
    def secrets():
        return sorted(p.name for p in roles.glob("*.json") if "secret" in p.name)

    before = secrets()
    for role in ROLES:
        done = fre("collection", "close", "terms.json", *secret_of(role), "--from", "nowhere")
        assert done.code == 77 and "needed" in done.err
    fre("collection", "cancel", "terms.json", *secret_of("relay"))
    done = fre("collection", "close", "terms.json", *secret_of("issuer"), "--cancel", "relay.half.json")
    assert done.code == 77 and secrets() == before
    for role in ROLES:
        told = fre("collection", "close", "terms.json", *secret_of(role), "--cancel", "terms.json.cancel",
                   "--json").json()
        assert told["erased"] == [f"{role}.secret.json"]
    assert secrets() == []
    assert fre("collection", "close", "terms.json", *secret_of("relay")).code == 66


def test_close_after_a_release(fre, parts):
    done = fre("collection", "close", "terms.json", *secret_of("relay"), "--from", "parts")
    assert done.code == 77 and "serves the release" in done.err
    assert fre("collection", "close", "terms.json", *secret_of("tagging"), "--from", "parts").code == 0


def test_close_takes_the_once_file(fre, tmp_path):
    made = {}
    for role in ROLES:
        made[role] = fre("collection", "keygen", role, "--url", "http://localhost", "-o", f"{role}-keys", "--once",
                         f"{role}-ram", "--json").json()
    halves = [made[r]["half"] for r in ROLES]
    shown = []
    for role in ROLES:
        fre("collection", "commit", "--secret", made[role]["secret"], *halves, "-o", f"{role}.shown")
        shown += ["--contribution", f"{role}.shown"]
    assert fre("collection", "new", *halves, *shown, *BUDGET, "-o", "t").code == 0
    fre("collection", "cancel", "t", "--secret", made["issuer"]["secret"])
    told = fre("collection", "close", "t", "--secret", made["issuer"]["secret"], "--once", "issuer-ram", "--cancel",
               "t.cancel", "--json").json()
    assert told["erased"] == [made["issuer"]["once"], made["issuer"]["wrap"], made["issuer"]["secret"]]
    assert list((tmp_path / "issuer-ram").iterdir()) == []


# ---- the log ----------------------------------------------------------------------------------------------

def log(fre, action, *args):
    return fre("collection", "log", action, "log.jsonl", *args)


def test_a_log_is_kept_signed_witnessed_and_checked(fre, roles):
    a_log(roles)
    key = ["--key", "log.key.json"]
    trust = ["--terms", "terms.json", "--witness-key", "witness.key.json"]
    done = log(fre, "check", *key, *trust)
    assert done.code == 77
    assert log(fre, "witness", *key, "--secret", "witness.secret.json").code == 0
    assert log(fre, "check", *key, *trust).code == 0
    told = log(fre, "check", *key, "--json").json()
    assert told["entries"] == 1 and told["head"]["size"] == 1
    assert numbers(roles / "witness.secret.json")["seen_root"] == told["head"]["root"]
    done = log(fre, "add", *key, "--terms", "terms.json")
    assert done.code == 77
    assert log(fre, "check", *key, *trust, "--max-age", "+1s", "--need", "2").code == 64


def test_a_witness_signs_no_second_past(fre, roles):
    a_log(roles)
    key = ["--key", "log.key.json"]
    first = (roles / "log.jsonl").read_text()
    fre("collection", "new", *HALVES, *SHOWN, *BUDGET, "--batch-min", "5", "-o", "second.json")
    assert log(fre, "witness", *key, "--secret", "witness.secret.json").code == 0
    (roles / "log.jsonl").unlink()
    assert log(fre, "new", *key).code == 0
    assert log(fre, "add", *key, "--terms", "second.json").code == 0
    assert log(fre, "sign", "--secret", "log.secret.json").code == 0
    before = (roles / "log.jsonl").read_text()
    done = log(fre, "witness", *key, "--secret", "witness.secret.json")
    assert done.code == 77 and (roles / "log.jsonl").read_text() == before
    (roles / "log.jsonl").write_text(first.replace('"collection"', '"release"', 1))
    assert log(fre, "check", *key).code == 65


def test_a_release_ends_a_collection_in_the_log(fre, parts):
    a_log(parts)
    key = ["--key", "log.key.json"]
    assert log(fre, "add", *key, "--terms", "terms.json", "--release", "parts").code == 0
    assert log(fre, "sign", "--secret", "log.secret.json").code == 0
    assert log(fre, "witness", *key, "--secret", "witness.secret.json").code == 0
    done = log(fre, "check", *key, "--terms", "terms.json", "--witness-key", "witness.key.json")
    assert done.code == 77
    assert log(fre, "check", *key).code == 0


@pytest.mark.parametrize("args, code, says", [
    (["new"], 64, "new needs --key"), (["add", "--key", "log.key.json"], 64, "add needs --terms"),
    (["sign"], 64, "sign needs --secret"), (["witness", "--key", "log.key.json"], 64, "witness needs --secret"),
    (["sign", "--secret", "witness.secret.json"], 65, "of the other kind"),
    (["check", "--key", "witness.key.json"], 65, "the log's is needed"),
    (["check", "--key", "log.key.json", "--terms", "terms.json"], 64, "check needs --witness-key"),
    (["add", "--key", "log.key.json", "--terms", "terms.json", "--closed", "terms.json"], 77, "no such statement"),
    (["new", "--key", "log.key.json"], 73, "exists"),
])
def test_log_refuses(fre, roles, args, code, says):
    a_log(roles)
    before = (roles / "log.jsonl").read_text()
    done = log(fre, *args)
    assert done.code == code and says in done.err, done.err
    assert (roles / "log.jsonl").read_text() == before


def new_terms(fre, n):
    """So many collections, whose terms differ."""
    names = [f"other-{i}.json" for i in range(n)]
    for i, name in enumerate(names):
        done = fre("collection", "new", *HALVES, *SHOWN, *BUDGET, "--batch-min", str(5 + i), "-o", name)
        assert done.code == 0, done.err
    return names


def at_once(path, jobs):
    """All of them, begun while somebody else has that file, and what became of them once it is let go."""
    with open(path, "rb") as held, concurrent.futures.ThreadPoolExecutor(len(jobs)) as threads:
        fcntl.flock(held, fcntl.LOCK_EX)
        running = [threads.submit(job) for job in jobs]
        waited = not concurrent.futures.wait(running, 1).done
        fcntl.flock(held, fcntl.LOCK_UN)
        return waited, [job.result() for job in running]


def test_a_log_is_added_to_by_one_at_a_time(fre, roles):
    a_log(roles)
    key = ["--key", "log.key.json"]
    names = new_terms(fre, 4)
    waited, done = at_once(roles / "log.jsonl",
                           [lambda name=name: log(fre, "add", *key, "--terms", name) for name in names])
    assert waited and [job.code for job in done] == [0] * 4, [job.err for job in done]
    assert log(fre, "check", *key, "--json").json()["entries"] == 5
    assert sorted(path.name for path in roles.glob("*log.jsonl*")) == ["log.jsonl"]


def test_a_witness_signs_one_log_at_a_time(fre, roles):
    """Two logs that differ, at once: the memory of one head is read and written by one of them only."""
    a_log(roles)
    key = ["--key", "log.key.json"]
    fre("collection", "new", *HALVES, *SHOWN, *BUDGET, "--batch-min", "5", "-o", "second.json")
    for action, *args in (("new", *key), ("add", *key, "--terms", "second.json"), ("sign", "--secret", "log.secret.json")):
        assert fre("collection", "log", action, "fork.jsonl", *args).code == 0
    waited, done = at_once(roles / "witness.secret.json", [
        lambda name=name: fre("collection", "log", "witness", name, *key, "--secret", "witness.secret.json")
        for name in ("log.jsonl", "fork.jsonl")])
    assert waited and sorted(job.code for job in done) == [0, 77], [job.err for job in done]
