#!/usr/bin/env python3
"""Evaluations a second of S_tag, with their proofs, as devices come: a TLS connection each to the relay, from there to
S_tag, from there to its keeper.

Starts the four servers on this machine.  So many devices (examples/python_client) ask once for their tags; then each
request is sent again, as often as a relay takes it (REPEATS), by as many clients at a time (ab, Debian's
apache2-utils): the relay hands it on each time, and S_tag evaluates and proves anew, since it keeps no answers.  Rows
are written for the first time alone.  Beside it, from the same run, what evaluation and proof alone cost one processor
(fre-e2t bench protocol).

usage: serve_evaluations.py BUILD [--devices 100] [--clients 8]

BUILD: a build folder with fre-e2t and test_rehearsal (make dev: build/dev).
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "integration"), str(ROOT / "examples" / "python_client")]


REPEATS = 60


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("build", type=pathlib.Path)
    p.add_argument("--devices", type=int, default=100)
    p.add_argument("--clients", type=int, default=8)
    return p.parse_args()


def requests_for_tags(w, folder, n):
    """Of n devices, each once it had an answer; and where they went."""
    import client  # pylint: disable=import-outside-toplevel
    import terms as collection  # pylint: disable=import-outside-toplevel
    from relay import Relay  # pylint: disable=import-outside-toplevel

    t = client.Terms(collection.from_json((w.folder / "terms" / "terms.json").read_text()), True)
    key = bytes.fromhex((w.folder / "ticket.key").read_text().strip())
    relay = Relay(t, t.id)
    time.sleep(max(0, t["open"] - time.time()))
    for i in range(n):
        device = client.Client(t, client.State(str(folder / f"state-{i}")), [], client.ticket(t, key, f"device-{i}"))
        for stage in ("issue", "tags"):
            assert device.s["stage"] == stage
            _, message = device.due()
            device.take(relay.post(message), message)
        (folder / f"body-{i}").write_bytes(message)
    return [folder / f"body-{i}" for i in range(n)], f"{t['relay_url']}/fre/v2/{t.id.hex()}"


def ask_again(url, body):
    done = subprocess.run(["ab", "-q", "-n", str(REPEATS), "-c", "1", "-p", body, "-T", "application/fre-e2t", url],
                          check=True, capture_output=True, text=True).stdout
    assert re.search(r"^Failed requests:\s+0$", done, re.M) and "Non-2xx" not in done, done


def main():
    a = arguments()
    if not shutil.which("ab"):
        sys.exit("ab is missing; on Debian: apt-get install apache2-utils")
    program = a.build / "fre-e2t"
    os.environ.update(FRE_E2T=str(program.resolve()), FRE_TEST_REHEARSAL=str((a.build / "test_rehearsal").resolve()))
    import serve_world  # pylint: disable=import-outside-toplevel

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        w = serve_world.World(folder / "world", scale=32)
        try:
            w.start_all()
            bodies, url = requests_for_tags(w, folder, a.devices)
            begun = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(a.clients) as pool:
                list(pool.map(lambda body: ask_again(url, body), bodies))
            seconds = time.monotonic() - begun
        finally:
            w.end()
    rate = a.devices * REPEATS / seconds
    alone = json.loads(subprocess.run([program, "bench", "protocol", "--json"], check=True, capture_output=True,
                                      text=True).stdout)
    print(f"{rate:.0f} evaluations a second, each with its proof and a TLS connection of its own: {a.devices * REPEATS} "
          f"in {seconds:.1f} s by {a.clients} clients, on {os.cpu_count()} processors that clients and servers share")
    print(f"evaluation and proof alone: {alone['voprf_evaluate_proof']['us']:.0f} us of one processor")


if __name__ == "__main__":
    main()
