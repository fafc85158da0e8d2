"""Hosts whose clocks are ten minutes wrong for as long as a collection lasts: four roles and the devices, each a process
with a clock of its own.  Whoever was told that all was taken is counted, once; whoever was not is told so; and a release
that comes is right.

Where windows are longer than ten minutes that is all: everybody's time goes thirty times as fast, so that such windows
can be waited for.  Where a clock is wrong by more than all windows the collection is lost, and nothing else."""

import concurrent.futures
import math
import os
import subprocess
import time

import pytest

from conftest import LONG, TIMEOUT
from serve_world import DEVICES, REHEARSAL, ROLES, World, needs_servers, until
from test_serve import CLOCK

pytestmark = needs_servers

MINUTES = 60
RATE = 30
EVERYBODY = [*ROLES, "devices"]
USUAL = [("one", "relay"), ("one", "tagging"), ("one", "devices"), ("two", "relay")]  # the rest: make check-every


class Clocks(World):
    """wrong: whose clock is ahead, and by how many seconds."""

    def __init__(self, folder, wrong, **options):
        super().__init__(folder, **options)
        self.wrong = wrong
        for who in EVERYBODY:
            self.set(who)
            self.environment[who] = {"LD_PRELOAD": CLOCK, "FRE_TEST_CLOCK": str(self.folder / f"{who}.clock"),
                                     "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def set(self, who, rate=""):
        part = self.folder / f"{who}.part"
        part.write_text(f"{self.wrong.get(who, 0)} {rate}")
        part.rename(self.folder / f"{who}.clock")

    def go_fast(self):
        since = int(time.time())
        for who in EVERYBODY:
            self.set(who, f"{RATE} {since}")

    def contribute(self, n=DEVICES):
        """For each text, how many were told that all of theirs was taken."""
        code = subprocess.run([REHEARSAL, "devices", self.folder, "0", str(n)], timeout=TIMEOUT,
                              env={**os.environ, **self.environment["devices"]}).returncode
        assert code in (0, 3)
        verdict = [(self.folder / f"device-{i}").read_bytes()[-1] for i in range(n)]
        assert set(verdict) <= {0, 1}
        return sum(verdict[0::2]), sum(verdict[1::2])


def below(n, p, k):
    """How likely fewer than k of n coins fall on heads."""
    return sum(math.comb(n, i) * p**i * (1 - p)**(n - i) for i in range(k))


def a_release(w):
    """The counts, as soon as there are any; None: the relay says that none will come."""
    for _ in range(60):
        released = w.release(3 / w.scale)
        if released or w.phase("relay") == "void":
            return released and released[1]
    pytest.fail(f"neither a release nor its end: {[(role, w.phase(role), w.said[role][-1]) for role in ROLES]}")


def must_hold(w, taken, two):
    """A release comes, with each cell that so many were taken of that their coins make a cell of it, and with no count that
    the coins of those who were taken don't make.  Two contacts: the list counts, and whoever is in it and came too late with
    an answer is told that it is not all."""
    rate, tau = w.terms["p32"] / 2**32, w.terms["tau"]
    counts = a_release(w)
    if counts is None:  # too few entries altogether
        assert sum(taken) < w.terms["batch_min"]
        return
    sure = [n for n in taken if below(n, rate, tau) < 1e-6]
    assert len(sure) <= len(counts) <= 2 and all(count >= tau for count in counts)
    of = sorted(taken)[-len(counts):] if len(counts) == 2 else [max(taken)]
    for count, n in zip(counts, of):
        assert count <= (DEVICES / 2 if two else n) and below(n, rate, count + 1) > 1e-6


def run_apart(folder, who, by, contacts):
    w = Clocks(folder, {who: by}, scale=90, contacts=contacts)
    try:
        w.start_all()
        w.go_fast()
        must_hold(w, w.contribute(), contacts == "two")
        for role in ROLES:
            assert w.stop(role) == 0 and not w.err[role]
    finally:
        w.end()


def all_at_once(run, cases):
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        return [done.result() for done in [pool.submit(run, *case) for case in cases]]


@pytest.mark.parametrize("contacts, who", [(contacts, who) for contacts in ("one", "two") for who in EVERYBODY
                                           if LONG or (contacts, who) in USUAL])
def test_ten_minutes_in_longer_windows(tmp_path, contacts, who):
    all_at_once(run_apart, [(tmp_path / "ahead", who, 10 * MINUTES, contacts),
                            (tmp_path / "behind", who, -10 * MINUTES, contacts)])


def run_lost(folder, who, by):
    w = Clocks(folder, {who: by})
    try:
        w.start_all()
        taken = w.contribute()
        assert taken == (0, 0) or who == "synthesis"  # which has nothing to do with who is taken
        assert not w.release(20)
        for role in ROLES:
            if LONG and not (role == who and by < 0):
                until(lambda: w.phase(role) == "void")
            assert w.stop(role) == 0 and not w.err[role]
    finally:
        w.end()


@pytest.mark.parametrize("by", [10 * MINUTES, -10 * MINUTES])
def test_ten_minutes_that_are_more_than_all_windows(tmp_path, by):
    """Nobody is taken, and every device is told so; where it is the synthesis server's clock they are taken, and nothing
    comes of it.  A device that is behind waits for its time, which takes as long."""
    all_at_once(run_lost, [(tmp_path / who, who, by) for who in EVERYBODY if by > 0 or who != "devices"])
