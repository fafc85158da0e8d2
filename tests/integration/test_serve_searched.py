"""What can be found of texts and their owners by whoever searches a device's disk, or a server's memory."""

import contextlib
import os
import re
import struct
import threading
import time

import pytest

from serve_world import ROLES, in_time, needs_servers, try_until_in_time, until
from test_serve import marks_of

pytestmark = needs_servers


# ---- devices --------------------------------------------------------------------------------------------------


class Keeper(threading.Thread):
    """Gives every file of a folder's devices a second name as soon as it is there, so that what is deleted or replaced can
    be read afterwards, as from the blocks of a disk."""

    def __init__(self, folder, kept):
        super().__init__()
        self.folder, self.kept = folder, kept
        self.over = threading.Event()
        self.first = {}  # inode: what was in it when it was seen

    def look(self):
        for entry in os.scandir(self.folder):
            if not entry.name.startswith("device-") or entry.inode() in self.first:
                continue
            try:
                os.link(entry.path, self.kept / "one")
            except FileNotFoundError:
                continue  # gone already
            inode = (self.kept / "one").stat().st_ino
            os.rename(self.kept / "one", self.kept / str(inode))
            self.first.setdefault(inode, (self.kept / str(inode)).read_bytes())

    def run(self):
        while not self.over.wait(0.001):
            self.look()


@pytest.mark.parametrize("contacts", ["one", "two"])
def test_a_device_that_is_done_has_nothing(tmp_path, contacts, n=12):
    """Neither in its state nor in what lay there before, deleted or replaced: no embedding, cell, coin, ticket."""
    def run(w):
        marks = marks_of(w, n)
        kept = w.folder / "kept"
        kept.mkdir()
        keeper = Keeper(w.folder, kept)
        keeper.start()
        w.start_all()
        try:
            late = not w.contribute(n)
        finally:
            keeper.over.set()
            keeper.join()
        if late:
            return False
        states = {path.stat().st_ino: path for path in w.folder.glob("device-*")}
        assert len({path.read_bytes() for path in states.values()}) == 1  # that it is over, and no coin
        assert len(states) == n and len(keeper.first) >= 3 * n
        for kind in ("embedding", "ticket"):  # they were there
            assert all(any(mark in data for data in keeper.first.values()) for mark in marks[kind]), kind
        for path in kept.iterdir():
            assert int(path.name) in states or not any(path.read_bytes()), "it was replaced, and is there still"
        return True

    try_until_in_time(tmp_path, run, contacts=contacts)


# ---- servers --------------------------------------------------------------------------------------------------


PAGE = os.sysconf("SC_PAGE_SIZE")
HERE = 3 << 62  # of a page's entry: in memory, or swapped


def pages_of(pagemap, start, end):
    """Runs of pages that there are: most of the stacks of threads is not."""
    pagemap.seek(start // PAGE * 8)
    run = None
    for at, (entry,) in zip(range(start, end, PAGE), struct.iter_unpack("=Q", pagemap.read((end - start) // PAGE * 8))):
        if entry & HERE and run is None:
            run = at
        if not entry & HERE and run is not None:
            yield run, at
            run = None
    if run is not None:
        yield run, end


def memory_of(pid, in_a_core=False):
    """Whatever is in mappings that are written to; or without those that a core would leave out (dd)."""
    area = None
    with open(f"/proc/{pid}/smaps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory, \
            open(f"/proc/{pid}/pagemap", "rb", 0) as pagemap:
        for line in maps:
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (....) ", line)
            if head:
                area = int(head[1], 16), int(head[2], 16), head[3]
            elif line.startswith("VmFlags:") and "w" in area[2] and not (in_a_core and "dd" in line.split()):
                for start, end in pages_of(pagemap, *area[:2]):
                    memory.seek(start)
                    with contextlib.suppress(OSError):
                        yield memory.read(end - start)


def kinds_in(pid, marks):
    try:
        seen = list(memory_of(pid))
    except PermissionError:
        pytest.skip("nobody here may look into another process")
    return {kind for kind, all_of in marks.items() if any(mark in data for data in seen for mark in all_of)}


# docs/threat-model.md, section 2, of a grid: what a role may ever know, and what when tags were vouched for.
MAY = {"relay": set(), "tagging": set(), "synthesis": set(), "issuer": {"ticket", "name"}}
MAY_AT_THE_END = {role: may | ({"tag"} if role != "relay" else set()) for role, may in MAY.items()}


def test_no_role_has_in_memory_what_it_may_not_know(tmp_path):
    """While devices exchange, while entries come, and when all is over: no embedding and no cell anywhere, who it was with
    the issuer alone, tags with nobody before they are counted, and never with the relay."""
    def search(w, marks):
        for role in ROLES:
            known = kinds_in(w.process[role].pid, marks)
            assert known <= MAY_AT_THE_END[role], role
            if time.time() < w.terms["tags_close"]:
                assert known <= MAY[role], role

    def run(w):
        marks = marks_of(w)
        w.start_all()
        devices = w.devices()
        until(lambda: devices.poll() is not None or kinds_in(devices.pid, marks) >= {"embedding", "ticket", "name"})
        assert devices.poll() is None  # a search finds what is there
        while devices.poll() is None and time.time() < w.terms["tags_close"]:
            search(w, marks)
            time.sleep(1)
        if not in_time(devices):
            return False
        w.must_release()
        search(w, marks)
        return True

    try_until_in_time(tmp_path, run)
