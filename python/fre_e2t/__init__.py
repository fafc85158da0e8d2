"""Learn what many people write without reading what anyone wrote.

`synthesize` turns private texts into synthetic ones under differential privacy; `plan` and `account` say what a budget
leads to; `load` reads a release; `evaluate`, `audit` and `ledger` tell how good it is, attack the claim, and show what
was spent; `embed`, `invert` and `score` are the steps by themselves.  `python -m fre_e2t` is the whole program.

Nothing is printed but a bar on a terminal or in a notebook; logging.getLogger("fre_e2t") tells the rest.  Two things
concern the whole process: an interruption (Ctrl-C) ends all calls that run, and `harden()`.
"""

from __future__ import annotations

import os
import pathlib

from ._account import account
from ._audit import audit
from ._call import call
from ._errors import (AgainError, DataError, Error, ExistsError, InfeasibleError, InputOutputError, InternalError,
                      LimitError, MissingError, ModelError, OutOfMemoryError, RefusedError, UsageError, string)
from ._fre import lib
from ._language import embed, invert, score
from ._ledger import ledger
from ._plan import Plan, plan
from ._release import Release, Texts, load
from ._study import evaluate
from ._synthesize import synthesize

__version__: str = string(lib.fre_py_version())

__all__ = [
    "AgainError", "DataError", "Error", "ExistsError", "InfeasibleError", "InputOutputError", "InternalError",
    "LimitError", "MissingError", "ModelError", "OutOfMemoryError", "Plan", "RefusedError", "Release", "Texts",
    "UsageError", "account", "audit", "bundled_data", "embed", "evaluate", "harden", "invert", "ledger", "load", "plan",
    "score", "synthesize",
]


def harden() -> None:
    """No core dumps of this process and no debugger of another user's: what the program does when it starts.  It
    concerns the whole process and cannot be taken back, so it is left to you.  Call it before anything else; data
    that are in memory can then be handed over by root alone, since /proc/self/fd closes for others."""
    call(lambda _: lib.fre_core_harden())


def bundled_data(name: str = "assistant-requests.jsonl.gz") -> str:
    """Path of a file of public data that comes with the package: 100,000 requests, for trying things out."""
    path = pathlib.Path(__file__).parent / "data" / name
    if not path.is_file():
        raise MissingError(f"no bundled data is called {name!r}")
    return os.fspath(path)
