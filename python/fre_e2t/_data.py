"""What users hand over, as the files that the library reads: a path as it is, and what is in memory as a file
in memory (memfd), so that nothing private touches a disk.  The library's own readers do the rest."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import pathlib
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np

from ._arrow import check_column, is_arrow, refuse_spark, write
from ._call import path_of, word
from ._errors import DataError, InputOutputError, MissingError, UsageError

_BLOCK = 1 << 20  # bytes that are written at once
_OF_FILES = {  # what the library says of a file's bytes, of what was no file
    r"invalid UTF-8 at byte \d+ of the record; name the file's encoding \(\S+ \S+\)":
        "it is not UTF-8, or holds half of a surrogate pair; repair it",
    "a string escapes NUL or half of a surrogate pair; remove the escape":
        "it holds NUL or half of a surrogate pair; repair it",
}
_UNREADABLE = ("this process may not open its own files under /proc/self/fd, where data from memory is handed "
               "over: mount /proc, or write the data to a file and give its path")


@contextlib.contextmanager
def _handing_over() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputOutputError(f"data cannot be handed over: {error.strerror}") from error


class Workspace:
    """A private folder of links to files in memory; they are gone when it is left."""

    def __init__(self) -> None:
        self._folder: pathlib.Path | None = None
        self._fds: list[int] = []
        self._files: list[io.BufferedWriter] = []
        self._names: dict[str, str] = {}

    def __enter__(self) -> "Workspace":
        with _handing_over():
            self._folder = pathlib.Path(tempfile.mkdtemp(prefix="fre-e2t-"))
        return self

    def __exit__(self, *_: object) -> None:
        """No stream may write later what it still holds: its number may by then be another file's."""
        for out in self._files:
            with contextlib.suppress(OSError):
                out.flush()
            out.raw.close()
        for fd in self._fds:
            os.close(fd)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def folder(self) -> pathlib.Path:
        """Where it lies."""
        assert self._folder
        return self._folder

    def file(self, name: str, called: str) -> tuple[str, io.BufferedWriter]:
        """A file in memory: its path, and a stream to write it; `called`: in messages."""
        path = str(self.folder / name)
        with _handing_over():
            fd = os.memfd_create("fre-e2t", os.MFD_CLOEXEC)
            self._fds.append(fd)
            os.symlink(f"/proc/self/fd/{fd}", path)
        if not os.access(path, os.R_OK):
            raise InputOutputError(_UNREADABLE)
        self._names[path] = called
        self._files.append(io.BufferedWriter(io.FileIO(fd, "wb", closefd=False), _BLOCK))
        return path, self._files[-1]

    def said(self, sentence: str) -> str:
        """A sentence of the library with what its files are here."""
        for path, called in self._names.items():
            if path.endswith(".jsonl"):  # which the user never saw
                sentence = re.sub(re.escape(path) + r": line (\d+)", rf"{called}: record \1", sentence)
                for words, here in _OF_FILES.items():
                    sentence = re.sub(words, here, sentence)
            sentence = sentence.replace(path, called)
        return sentence


# ---- texts ------------------------------------------------------------------------------------------

def is_path(data: Any) -> bool:
    """A str is a path: texts come in a list."""
    return isinstance(data, (str, os.PathLike))


def is_iterable(data: Any) -> bool:
    """But for arrays of numpy without a dimension, which only say so."""
    return isinstance(data, Iterable) and getattr(data, "ndim", 1) != 0


def is_nobody(user: Any) -> bool:
    """Whether no users are named."""
    return user is None or user is False or isinstance(user, np.bool_) and not user


def check_columns(text: Any, user: Any) -> None:
    """text, user: names of columns, or None."""
    if word("text", text) == "":
        raise UsageError("text is the name of a column, and is empty")
    if user is not None and (not isinstance(user, str) or not user):
        raise UsageError("user is the name of a column or key; with embeddings it is a sequence")
    if word("user", user) is not None and user == (text or "text"):
        raise UsageError("text and user name the same column: a text is no name of a user")


def _kind(value: Any) -> str:
    return type(value).__name__


def _wrong(where: str, value: Any, wanted: str, what_to_do: str) -> DataError:
    """A value of another type; NaN and its like are how pandas writes what is missing."""
    is_nan = isinstance(value, (float, np.floating)) and value != value
    if is_nan or _kind(value) in ("NAType", "NaTType"):
        return DataError(f"{where} is {'NaN' if is_nan else _kind(value)}, not {wanted}: make what is missing None")
    return DataError(f"{where} is of type {_kind(value)}, not {wanted}: {what_to_do}")


def _text(value: Any, row: int, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise _wrong(f"{where} of record {row}", value, "a str", "convert it, or name another column")


def _user(value: Any, row: int, where: str) -> str | int | None:
    if isinstance(value, (str, int)) and not isinstance(value, bool) or value is None:
        return value
    if isinstance(value, np.integer):
        return int(value)
    raise _wrong(f"{where} of record {row}", value, "a str or an int", "name users by one of these")


Record = tuple[str | None, str | int | None]


def _of_mappings(first: Mapping[str, Any], rest: Iterator[Any], text: str, user: str | None) -> Iterator[Record]:
    check_column(text, list(first), "text")
    if user is not None:
        check_column(user, list(first), "user")
    row, item = 1, first
    while True:
        if not isinstance(item, Mapping):
            raise DataError(f"record {row} of data is of type {_kind(item)}, but the first is a mapping: mixed "
                            "records cannot be read")
        who = _user(item.get(user), row, f"the column {user!r}") if user is not None else None
        yield _text(item.get(text), row, f"the column {text!r}"), who
        row += 1
        try:
            item = next(rest)
        except StopIteration:
            return


def _of_texts(first: Any, rest: Iterator[Any], user: str | None) -> Iterator[Record]:
    if user is not None:
        raise UsageError("user names a column, but data holds bare texts: give mappings, a data frame or a file")
    row, item = 1, first
    while True:
        if item is not None and not isinstance(item, str):
            raise _wrong(f"record {row} of data", item, "a str", "give a list of str, of mappings, a data frame or a path")
        yield item, None
        row += 1
        try:
            item = next(rest)
        except StopIteration:
            return


def _of_iterable(data: Iterable[Any], text: str, user: str | None) -> Iterator[Record]:
    rest = iter(data)
    try:
        first = next(rest)
    except StopIteration:
        return
    if isinstance(first, Mapping):
        yield from _of_mappings(first, rest, text, user)
    else:
        yield from _of_texts(first, rest, user)


def _check_kind(data: Any) -> None:
    """What could be iterated over, and is not meant so."""
    refuse_spark(data)
    if hasattr(type(data), "columns"):
        raise UsageError(f"data is of type {_kind(data)}, which has no stream of Arrow: give a frame that has one (pandas "
                         "2.2 or later, polars' DataFrame, pyarrow.table), or a list of str or of mappings")
    if isinstance(data, (bytes, bytearray, Mapping)) or not isinstance(data, Iterable):
        raise UsageError(f"data is of type {_kind(data)}: give a data frame or anything else with Arrow's stream, a "
                         "list of str or of mappings, an iterator of them, or the path of a file")
    if isinstance(data, np.ndarray) and data.dtype.kind in "biufc":
        raise UsageError("data is an array of numbers: give embeddings as embeddings=")
    if isinstance(data, np.ndarray) and data.ndim != 1:
        raise UsageError(f"data is an array of {data.ndim} dimensions: give one of str with a single one")


def records(data: Any, text: str, user: str | None) -> Iterator[Record]:
    """(text, user) of each record of what is in memory, but for data frames; None: missing."""
    _check_kind(data)
    return _of_iterable(data, text, user)


def _line(keys: tuple[str, str | None], record: Record) -> str:
    text, user = record
    line = "{" + keys[0] + (json.dumps(text, ensure_ascii=False) if text is not None else "null")
    if keys[1] is not None and user is not None:
        line += "," + keys[1] + json.dumps(user, ensure_ascii=False)
    return line + "}\n"


def _write(out: io.BufferedWriter, lines: Iterable[str]) -> int:
    n = 0
    for n, line in enumerate(lines, 1):
        data = line.encode("utf-8", "surrogatepass")
        with _handing_over():
            out.write(data)
    with _handing_over():
        out.flush()
    return n


def write_records(out: io.BufferedWriter, rows: Iterable[Record], text: str, user: str | None) -> int:
    """JSON lines, a record each; returns how many."""
    keys = (json.dumps(text) + ":", json.dumps(user) + ":" if user is not None else None)
    return _write(out, (_line(keys, record) for record in rows))


def file_of(data: Any, called: str) -> str:
    """A path; what reads like a text and is no file is repeated by nobody."""
    path = path_of(data, called)
    if isinstance(data, str) and (len(data.split()) > 1 or not re.search("[./]", data)) and not os.path.exists(path):
        raise MissingError(f"{called} is a str, so it is taken for a path, and there is no such file: give texts in a list")
    return path


@contextlib.contextmanager
def _called(called: str) -> Iterator[None]:
    """Sentences about data, of what is called otherwise here; only the originals' column is named by text."""
    try:
        yield
    except (DataError, UsageError) as error:
        if called == "data":
            raise
        sentence = re.sub(r"(?<!')\bdata\b(?! frame)", called, str(error), count=1)
        if called != "original":
            sentence = sentence.replace("name the one of the texts with text=", "call the one of the texts so")
        error.args = (sentence,)
        raise


class Texts:
    """Texts as a file, and how it is to be read."""

    def __init__(self, space: Workspace, data: Any, text: str | None, user: str | None, called: str = "data") -> None:
        check_columns(text, user)
        self.text, self.user = text, user
        if is_path(data):
            self.path = file_of(data, called)
            return
        self.text = text or "text"
        self.path, out = space.file(f"{called}.jsonl", called)
        with _called(called):
            n = write(out.fileno(), data, self.text, user) if is_arrow(data) else \
                write_records(out, records(data, self.text, user), self.text, user)
        if n == 0:
            raise DataError(f"{called} is empty: it has no record")


def read_back(data: Any, text: str, user: str | None) -> list[Record]:
    """The records of what is in memory, data frames included."""
    if not is_arrow(data):
        return list(records(data, text, user))
    with Workspace() as space:
        path, out = space.file("data.jsonl", "data")
        write(out.fileno(), data, text, user)
        with open(path, "rb") as lines:
            read = [_read(line, i) for i, line in enumerate(lines, 1)]
    return [(r[text], r.get(user) if user is not None else None) for r in read]


def _read(line: bytes, row: int) -> dict[str, Any]:
    try:
        return json.loads(line)
    except UnicodeDecodeError:  # which quotes it
        pass
    raise DataError(f"record {row} of data is not UTF-8: repair it")


# ---- embeddings ---------------------------------------------------------------------------------------

def _array(embeddings: Any, called: str) -> np.ndarray:
    if isinstance(embeddings, np.ma.MaskedArray) and np.ma.is_masked(embeddings):
        raise DataError(f"{called} has numbers that are masked: leave their rows out")
    a, is_ragged = None, False
    try:
        a = np.asarray(embeddings)
    except (TypeError, ValueError, RuntimeError) as error:  # which may quote a value
        is_ragged = isinstance(error, ValueError) and isinstance(embeddings, (list, tuple))
    if is_ragged:
        raise DataError(f"{called} has rows of different lengths")
    if a is None:
        raise DataError(f"{called} is of type {_kind(embeddings)}, which numpy makes no array of: convert it (a tensor: "
                        ".detach().float().cpu().numpy())")
    if a.dtype.kind == "O" and (a.ndim == 0 or isinstance(embeddings, (str, os.PathLike))):
        raise DataError(f"{called} must be an array with a row a text, and is of type {_kind(embeddings)}")
    return a


def _numbers(dtype: np.dtype) -> str:
    return {"U": "str", "S": "bytes", "V": "records", "O": "object"}.get(dtype.kind, dtype.name)


def matrix(embeddings: Any, called: str = "embeddings") -> np.ndarray:
    """float32 rows in C order."""
    a = _array(embeddings, called)
    if a.dtype.kind != "f":
        rows = ": np.stack makes one of a column of rows" if a.dtype.kind == "O" and a.ndim == 1 else ""
        raise DataError(f"{called} must be an array of floating-point numbers, not of {_numbers(a.dtype)}{rows}")
    if a.ndim != 2:
        raise DataError(f"{called} must have two dimensions, a row a text, not {a.ndim}")
    if a.shape[0] == 0 or a.shape[1] == 0:
        raise DataError(f"{called} is empty: its shape is {a.shape}")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(a, dtype="<f4")


def write_matrix(space: Workspace, rows: np.ndarray, meta: dict[str, Any] | None, called: str = "embeddings") -> str:
    """A .npy in memory, and its sidecar if it is known who made the rows."""
    path, out = space.file(f"{called}.npy", called)
    with _handing_over():
        np.lib.format.write_array(out, rows, version=(1, 0), allow_pickle=False)
        out.flush()
    if meta is not None:
        side = {**meta, "dimension": rows.shape[1], "rows": rows.shape[0]}
        _, out = space.file(f"{called}.npy.json", f"{called} (sidecar)")
        out.write(json.dumps(side).encode())
        out.flush()
    return path


def write_users(space: Workspace, users: Any, rows: int) -> str:
    """Whose the rows of embeddings are."""
    users = users.to_pylist() if hasattr(users, "to_pylist") else users  # pyarrow's, which give no values of Python's
    if isinstance(users, (str, bytes, Mapping, Set)) or not is_iterable(users):
        raise UsageError("with embeddings, user is a sequence: the user of each row, or the path of a file with them "
                         "(a pathlib.Path)")
    path, out = space.file("user.jsonl", "user")
    names = (_user(name, i, "the user") for i, name in enumerate(users, 1))
    n = _write(out, (json.dumps({"user": name}, ensure_ascii=False) + "\n" for name in itertools.islice(names, rows + 1)))
    if n > rows:
        raise DataError(f"user names more users than the {rows} rows of embeddings: give one for each")
    if n != rows:
        raise DataError(f"user names {n} users, but embeddings has {rows} rows: give one for each")
    return path


def encoder(model: Any):
    """The function of another embedder: a sentence-transformers object, or a callable."""
    if callable(getattr(model, "encode", None)):
        return model.encode
    if callable(model):
        return model
    raise UsageError("embedding_model must have a method encode, as sentence-transformers' models do, or be a function "
                     "from a list of str to rows of numbers, or the path of a GGUF file")


def encoded(model: Any, texts: list[str], batch: int = 4096) -> np.ndarray:
    """Rows of texts by another embedder, each distinct text once."""
    encode = encoder(model)
    place: dict[str, int] = {}
    for text in texts:
        place.setdefault(text, len(place))
    distinct, rows = list(place), []
    for i in range(0, len(distinct), batch):
        some = distinct[i:i + batch]
        made = matrix(encode(some), "what embedding_model returned")
        if len(made) != len(some):
            raise DataError(f"embedding_model returned {len(made)} rows for {len(some)} texts: it must return one for "
                            "each")
        rows.append(made)
    if len({r.shape[1] for r in rows}) > 1:
        raise DataError("embedding_model returned rows of different lengths")
    return np.concatenate(rows)[[place[t] for t in texts]]


