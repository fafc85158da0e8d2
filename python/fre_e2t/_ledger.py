"""What has been released from which data."""

from __future__ import annotations

import os
from typing import Any

from ._call import Keep, call, path_of, run
from ._errors import MissingError, string
from ._facts import Facts
from ._fre import ffi, lib

_STATES = ("booked", "published", "failed", "unknown")  # in the order of fre_ledger_state


def _word(c: Any) -> str | None:
    return None if c == ffi.NULL else string(c)


def _entry(e: Any) -> dict[str, Any]:
    return {"id": _word(e.id), "date": _word(e.date), "state": _STATES[e.state], "name": _word(e.name),
            "content": _word(e.content), "records": _word(e.records), "data_set": e.set, "apart": bool(e.apart),
            "what": _word(e.what), "epsilon": e.epsilon, "delta": e.delta, "budget_epsilon": e.budget_epsilon or None,
            "budget_delta": e.budget_delta or None}


def _total(d: Any) -> dict[str, Any]:
    s = d.sum
    return {"name": _word(d.name), "content": _word(d.content), "releases": s.releases, "epsilon": s.epsilon,
            "delta": s.delta, "budget_epsilon": s.budget_epsilon or None, "budget_delta": s.budget_delta or None,
            "left_epsilon": s.left_epsilon if s.budget_epsilon > 0 else None,
            "left_delta": s.left_delta if s.budget_delta > 0 else None}


def ledger_path() -> str:
    """Where the user's own ledger lies, whether it is there or not."""
    out = ffi.new("char **")
    call(lib.fre_ledger_default, out, False)
    path = os.fsdecode(ffi.string(out[0]))
    lib.free(out[0])
    return path


def ledger(file: str | os.PathLike[str] | None = None) -> Facts:
    """The entries of a ledger, oldest first, and what each set of data has spent in all: the keys of `fre-e2t ledger
    show --json`.  By default the user's own, of which it is no fault if it is not there yet."""
    path = ledger_path() if file is None else path_of(file, "file")
    out = ffi.new("fre_ledger_book **")
    try:
        run(lib.fre_ledger_read, out, Keep().text(path))
    except MissingError:
        if file is not None:
            raise
        return Facts({"file": path, "entries": [], "totals": []})
    book = ffi.gc(out[0], lib.fre_ledger_book_free)
    return Facts({"file": path, "entries": [_entry(book.entry[i]) for i in range(book.n)],
                  "totals": [_total(book.set[i]) for i in range(book.n_sets)]})
