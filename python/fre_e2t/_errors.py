"""What the library refuses, as exceptions by kind, with the library's own sentence."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from ._fre import ffi, lib


def one_line(sentence: str) -> str:
    """Without what would break a line or command a terminal."""
    return "".join(c if c.isprintable() else "?" for c in sentence)


_parameters: set[str] = set()


def name_parameters_of(*functions: Callable[..., Any]) -> None:
    """Sentences may begin with the name of one of these functions' parameters."""
    for function in functions:
        _parameters.update(inspect.signature(function).parameters)


class Error(Exception):
    """Anything that went wrong.  `str()` is one sentence that says what to do; it never holds a text, an
    embedding or a secret.  `parameter` is the one that it is about, or None."""

    parameter: str | None = None

    def __init__(self, *args: object, parameter: str | None = None) -> None:
        super().__init__(*(one_line(a) if isinstance(a, str) else a for a in args))
        first = re.match(r"[a-z_]+(?=[ :])", str(self))
        self.parameter = parameter or (first[0] if first and first[0] in _parameters else None)


class UsageError(Error, ValueError):
    """An argument outside its range, or two that contradict each other."""


class InfeasibleError(UsageError):
    """A privacy budget that cannot be met; the sentence says which number to change, and to what."""


class DataError(Error, ValueError):
    """Data that cannot be used: malformed, of another type, too many users."""


class ModelError(Error):
    """A model file that cannot be used."""


class MissingError(Error, FileNotFoundError):
    """An input, or a model, that is missing or unreadable."""


class ExistsError(Error, FileExistsError):
    """An output that exists already, or cannot be created."""


class InputOutputError(Error, OSError):
    """The system failed to read or write."""


class AgainError(Error):
    """Try again later: the ledger is locked, or a file was changed meanwhile."""


class OutOfMemoryError(Error, MemoryError):
    """Memory ran out."""


class LimitError(Error):
    """A limit was reached."""


class RefusedError(Error):
    """Refused: a budget would be passed, or data may not be used so."""


class InternalError(Error):
    """A fault of this package or of the library."""


_KINDS = {
    lib.FRE_E_USAGE: UsageError,
    lib.FRE_E_INFEASIBLE: InfeasibleError,
    lib.FRE_E_DATA: DataError,
    lib.FRE_E_MODEL: ModelError,
    lib.FRE_E_PROOF: DataError,
    lib.FRE_E_KEY: RefusedError,
    lib.FRE_E_NOINPUT: MissingError,
    lib.FRE_E_EXISTS: ExistsError,
    lib.FRE_E_IO: InputOutputError,
    lib.FRE_E_AGAIN: AgainError,
    lib.FRE_E_NOMEM: OutOfMemoryError,
    lib.FRE_E_LIMIT: LimitError,
    lib.FRE_E_REFUSED: RefusedError,
}

# What the library calls a parameter that has another name here.
NAMES = {
    "text_field": "text",
    "user_field": "user",
    "user_file": "user",
    "label_field": "label",
    "force": "force=True",
    "strict": "invalid='strict'",
    "no_classifiers": "classifiers=False",
    "lambda": "lambda_",
}


def name_of(parameter: str) -> str:
    """What a parameter of the library is called here."""
    return NAMES.get(parameter, parameter)


def named(sentence: str) -> str:
    """A sentence of the library, where parameters stand in braces, with their names here."""
    return re.sub(r"\{([a-z_0-9]+)\}( (?=FILE\b))?", lambda m: name_of(m.group(1)) + ("=" if m.group(2) else ""), sentence)


def string(c) -> str:
    """A C string that the library made; what is not UTF-8 in it, such as a path, is kept readable."""
    return ffi.string(c).decode("utf-8", "replace")


def error_of(status: int, err, said=lambda sentence: sentence) -> BaseException:
    """The exception of a status; `said` may change the sentence."""
    if status == lib.FRE_E_INTERRUPTED:
        return KeyboardInterrupt()
    sentence = named(string(err.text)) or string(lib.fre_status_text(status))
    field = string(err.field)
    return _KINDS.get(status, InternalError)(said(sentence), parameter=name_of(field) if field else None)
