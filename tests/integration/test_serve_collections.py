"""Collections that come and go while their servers run."""

import http.server
import os
import shutil
import ssl
import subprocess
import threading
import urllib.error
import urllib.request

from conftest import PROGRAM, TIMEOUT
from every_command import a_log
from serve_world import ROLES, Beside, World, needs_servers, try_until_in_time, until

pytestmark = needs_servers


def put(text, path):
    """At once, whole."""
    part = path.with_suffix(".part")
    part.write_text(text)
    os.rename(part, path)


def fetched(w, path):
    """Of the relay, as a client sees it: status and bytes."""
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(w.terms["relay_url"] + path, timeout=30, context=unverified) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as e:
        return e.code, b""


def all_say(w, event, times=1):
    until(lambda: all(w.events(role).count(event) >= times for role in ROLES))


def test_one_is_added_and_one_dropped_while_servers_run(tmp_path):
    """A file that is no terms disturbs nobody."""
    def run(w):
        terms, log = w.folder / "terms", w.folder / "log.jsonl"
        put("the first line\n", log)
        w.change("relay", log=str(log))
        w.start_all()
        assert fetched(w, "/fre/v2/log") == (200, b"the first line\n")
        put("{}", terms / "broken.json")
        all_say(w, "refused")
        assert all("broken.json" in line["why"] for role in ROLES for line in w.said[role]
                   if line["event"] == "refused")
        second = Beside(w, tmp_path / f"second-{w.scale}")
        put((second.folder / "terms" / "terms.json").read_text(), terms / "second.json")
        put("the first line\nthe second\n", log)
        all_say(w, "collection added")
        devices = second.devices()
        (terms / "terms.json.cancel").touch()
        all_say(w, "rows dropped")
        (terms / "terms.json").unlink()
        all_say(w, "collection dropped")
        assert fetched(w, "/fre/v2/" + w.terms["id"])[0] == 404
        assert fetched(w, "/fre/v2/" + second.terms["id"])[0] == 200
        until(lambda: fetched(w, "/fre/v2/log")[1] == b"the first line\nthe second\n")
        if devices.wait() == 3:
            return False
        second.must_release()
        assert all(w.events(role).count("refused") == 1 for role in ROLES)
        for role in ROLES:
            w.process[role].send_signal(1)  # SIGHUP: say it again
        all_say(w, "refused", 2)
        assert all(w.get(role, "/readyz") == 200 and not w.err[role] for role in ROLES)
        assert all(w.stop(role) == 0 for role in ROLES)
        return True

    try_until_in_time(tmp_path, run)


def test_a_running_collection_outlives_its_terms_file(tmp_path):
    """And a start serves what can be served, but a check says what cannot."""
    def run(w):
        terms = w.folder / "terms"
        w.start("relay")
        until(lambda: w.is_ready("relay"))
        kept = (terms / "terms.json").read_text()
        (terms / "terms.json").unlink()
        until(lambda: "terms gone" in w.events("relay"))
        assert fetched(w, "/fre/v2/" + w.terms["id"])[0] == 200
        put(kept, terms / "terms.json")
        put("{}", terms / "broken.json")
        until(lambda: "refused" in w.events("relay"))
        assert w.stop("relay") == 0
        done = w.check("relay")
        assert done.returncode == 65 and "broken.json" in done.stderr
        w.start("relay")
        until(lambda: w.is_ready("relay"))
        assert w.events("relay").count("refused") == 2
        assert fetched(w, "/fre/v2/" + w.terms["id"])[0] == 200
        assert w.stop("relay") == 0
        return True

    try_until_in_time(tmp_path, run)


# ---- terms by their address -----------------------------------------------------------------------------------


class Gives(http.server.BaseHTTPRequestHandler):
    """The same to everybody."""
    body = b""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/fre-e2t")
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        pass


def take_part(w, state, *trust, terms=None):
    """A device without a text: its exit code, and what it complained of."""
    done = subprocess.run([PROGRAM, "contribute", "--collection", terms or w.folder / "terms" / "terms.json", "--state",
                           w.folder / state, "--no-text", "--once", *trust], capture_output=True, text=True,
                          timeout=TIMEOUT)
    return done.returncode, done.stderr


def by_address(w, url, state):
    return take_part(w, state, terms=url)


def test_terms_by_their_address(tmp_path):
    """Asked for once, and known by their id, whoever has the address."""
    w = World(tmp_path / "world", scale=16)
    path = "/fre/v2/" + w.terms["id"]
    at, kept = w.terms["relay_url"] + path, w.folder / "mine.state.terms"
    try:
        w.start("relay")
        until(lambda: w.is_ready("relay"))
        assert at.startswith("https:") and by_address(w, at, "mine.state")[0] == 75
        assert kept.read_bytes() == fetched(w, path)[1] and kept.stat().st_mode & 0o777 == 0o600
        assert by_address(w, at[:-1] + ("0" if at[-1] != "0" else "1"), "no.state") == (
            66, "fre-e2t contribute: there is no such collection at that address\n")
        other = Beside(w, tmp_path / "other")
        given = type("Other", (Gives,), {"body": kept.read_bytes()})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), given)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        code, said = by_address(w, f"http://127.0.0.1:{server.server_port}/fre/v2/{other.terms['id']}", "no.state")
        assert code == 65 and "is not the collection that it names" in said
        given.body = bytes(100000)
        assert by_address(w, f"http://127.0.0.1:{server.server_port}{path}", "no.state")[0] not in (0, 75)
        server.shutdown()
        assert not (w.folder / "no.state.terms").exists() and not (w.folder / "no.state").exists()
        for wrong in ("https://127.0.0.1/terms.json", "https://127.0.0.1" + path + "0", "http://"):
            assert by_address(w, wrong, "no.state")[0] == 64, wrong
        assert w.stop("relay") == 0
        assert by_address(w, at, "mine.state")[0] == 75  # it has them
        kept.write_bytes(b"damaged")
        assert by_address(w, at, "mine.state")[0] not in (0, 64, 65, 75)
    finally:
        w.end()


# ---- what a client asks of the log ----------------------------------------------------------------------------


def run_log(folder, action, *args):
    subprocess.run([PROGRAM, "collection", "log", action, "log.jsonl", *args], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, timeout=TIMEOUT)


def test_a_client_takes_part_in_what_is_in_the_log(tmp_path):
    w = World(tmp_path / "world", scale=16)
    ours, other = tmp_path / "ours", tmp_path / "other"
    second = Beside(w, tmp_path / "second")
    for folder, of in ((ours, w), (other, second)):
        folder.mkdir()
        shutil.copy(of.folder / "terms" / "terms.json", folder)
        a_log(folder)
    served = w.folder / "log.jsonl"
    trust = ["--log-key", ours / "log.key.json", "--witness-key", ours / "witness.key.json", "--log-head",
             tmp_path / "head"]

    def serve(text):
        put(text, served)
        until(lambda: fetched(w, "/fre/v2/log")[1] == text.encode())

    try:
        w.start("relay")
        until(lambda: w.is_ready("relay"))
        code, why = take_part(w, "a", *trust)
        assert code == 77 and "serves no log" in why
        assert w.stop("relay") == 0
        put((ours / "log.jsonl").read_text(), served)
        w.change("relay", log=str(served))
        w.start("relay")
        until(lambda: w.is_ready("relay"))
        code, why = take_part(w, "a", *trust)
        assert code == 77 and "too few witnesses" in why
        run_log(ours, "witness", "--key", "log.key.json", "--secret", "witness.secret.json")
        once = (ours / "log.jsonl").read_text()
        serve(once)
        assert take_part(w, "a", *trust)[0] == 75  # its messages are on their way
        shutil.copy(other / "terms.json", ours / "other.json")
        run_log(ours, "add", "--key", "log.key.json", "--terms", "other.json")
        run_log(ours, "sign", "--secret", "log.secret.json")
        run_log(ours, "witness", "--key", "log.key.json", "--secret", "witness.secret.json")
        serve((ours / "log.jsonl").read_text())
        assert take_part(w, "b", *trust)[0] == 75
        serve(once)  # as it was before
        code, why = take_part(w, "c", *trust)
        assert code == 77 and "not the one of before" in why
        serve((other / "log.jsonl").read_text())
        code, why = take_part(w, "c", *trust)
        assert code == 77
        serve(once.replace('"collection"', '"release"', 1))
        code, why = take_part(w, "c", *trust)
        assert code == 65 and "log of collections" in why
        key = ["--log-key", other / "log.key.json", "--witness-key", other / "witness.key.json"]
        run_log(other, "witness", "--key", "log.key.json", "--secret", "witness.secret.json")
        serve((other / "log.jsonl").read_text())
        code, why = take_part(w, "c", *key)
        assert code == 77 and "not in the log" in why
        code, why = take_part(w, "c", *key, "--log-head", tmp_path / "head")
        assert code == 65 and "another log" in why
        assert not (w.folder / "c").exists()
        for half in (trust[:2], trust[2:4]):
            assert take_part(w, "c", *half)[0] == 64
    finally:
        w.end()
