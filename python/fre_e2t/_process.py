"""What concerns the process and the package as a whole."""

from __future__ import annotations

import os
import pathlib

from ._call import call, word
from ._errors import MissingError, string
from ._fre import lib

__version__: str = string(lib.fre_py_version())


def harden() -> None:
    """No core dumps of this process and no debugger of another user's: what the program does when it starts.  It
    concerns the whole process and cannot be taken back, so it is left to you.  Call it before anything else; data
    that are in memory can then be handed over by root alone, since /proc/self/fd closes for others."""
    call(lambda _: lib.fre_core_harden())


def bundled_data(name: str = "assistant-requests.jsonl.gz") -> str:
    """Path of a file of public data that comes with the package: 100,000 requests, for trying things out."""
    called = word("name", name) or ""
    path = pathlib.Path(__file__).parent / "data" / called
    if not os.path.isfile(path):
        raise MissingError(f"no bundled data is called {called[:40]!r}")
    return os.fspath(path)
