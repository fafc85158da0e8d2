"""Data frames by Arrow's PyCapsule interface: their columns of texts and users as JSON lines, which C code writes."""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ._call import Keep, call
from ._errors import DataError, UsageError, string
from ._fre import ffi, lib

_ROWS = 1 << 12  # that are written between two looks at signals
_STRINGS = {"u": "string", "U": "large_string", "vu": "string_view"}
_INTS = {"c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32", "l": "int64",
         "L": "uint64"}
_OTHERS = {"b": "bool", "e": "halffloat", "f": "float", "g": "double", "z": "binary", "Z": "large_binary",
           "vz": "binary_view", "+s": "struct", "+l": "list", "+L": "large_list", "+vl": "list_view",
           "+vL": "large_list_view", "+m": "map"}
_BEGINNINGS = {"ts": "timestamp", "td": "date", "tt": "time", "tD": "duration", "ti": "interval", "d:": "decimal",
               "w:": "fixed_size_binary", "+w": "fixed_size_list", "+u": "union", "+r": "run_end_encoded"}

_UNSOUND = "data is no sound Arrow"
# Not that error itself, which quotes values: DuckDB's and polars' do what they could not convert.
_FAILED = "data failed to hand over {}: fetch them yourself, as with .fetchall() or .collect(), to see its own error"
_FLOATS = {"e", "f", "g"}  # which pandas makes of integers beside missing ones

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def check_column(name: str, names: list[Any], parameter: str) -> None:
    """Is there one such column?"""
    if names.count(name) == 1:
        return
    if name in names:
        raise DataError(f"data has {names.count(name)} columns {name!r} for {parameter}: give all but one another name",
                        parameter=parameter)
    near = difflib.get_close_matches(name, [n for n in names if isinstance(n, str)], 1)
    likely = f"; did you mean {near[0]!r}?" if near else ""
    asked = f": name the one of the {parameter}s with {parameter}=" if name == parameter else f" for {parameter}"
    known = ", ".join(str(n)[:40] for n in names[:20])
    raise DataError(f"data has no column {name!r}{asked}; its columns: {known or 'none'}{likely}", parameter=parameter)


def _string(c: Any) -> str:
    """That of an exporter, who may have none."""
    return "" if c == ffi.NULL else string(c)


def _kind(schema: Any) -> str:
    """What a column holds, for people."""
    form = _string(schema.format)
    known = {**_STRINGS, **_INTS, **_OTHERS, "n": "null"}
    if schema.dictionary != ffi.NULL:
        return f"dictionary of {_kind(schema.dictionary)}"
    return known.get(form) or _BEGINNINGS.get(form[:2]) or "an unknown type"


def _column(keep: Keep, schema: Any, child: int, name: str, kinds: dict[str, str], wanted: str,
            parameter: str) -> Any:
    """A fre_py_column, if it holds what is wanted."""
    is_dictionary = schema.dictionary != ffi.NULL
    values = schema.dictionary if is_dictionary else schema
    form, is_nested = _string(values.format), is_dictionary and values.dictionary != ffi.NULL
    if form not in kinds and form != "n" or is_nested or is_dictionary and _string(schema.format) not in _INTS:
        holds = f"holds {_kind(schema)}, not {wanted}: convert it"
        if child < 0:
            raise DataError(f"data {holds}")
        whole = " (.astype('Int64') where pandas made floats of integers)" if parameter == "user" and form in _FLOATS else ""
        raise DataError(f"the column {name!r} {holds}{whole}, or name another with {parameter}=", parameter=parameter)
    c = keep.also(ffi.new("fre_py_column *"))
    c.child, c.format = child, form[:1].encode()
    c.index = schema.format[0] if is_dictionary else b"\0"
    c.key = keep.text(json.dumps(name))
    return c


def _columns(keep: Keep, schema: Any, text: str, user: str | None) -> tuple[Any, Any]:
    ints = {**_STRINGS, **_INTS}
    if _string(schema.format) != "+s":
        if user is not None:
            raise UsageError("user names a column, but data is a single column of texts: give a data frame with both")
        return _column(keep, schema, -1, text, _STRINGS, "strings", "text"), ffi.NULL
    n = max(0, schema.n_children)
    if n > 0 and (schema.children == ffi.NULL or any(schema.children[i] == ffi.NULL for i in range(n))):
        raise DataError(f"{_UNSOUND}: its schema lacks columns that it counts")
    fields = [schema.children[i] for i in range(n)]
    names = [_string(f.name) for f in fields]
    check_column(text, names, "text")
    at = names.index(text)
    found = _column(keep, fields[at], at, text, _STRINGS, "strings", "text")
    if user is None:
        return found, ffi.NULL
    check_column(user, names, "user")
    at = names.index(user)
    return found, _column(keep, fields[at], at, user, ints, "strings or integers", "user")


def _next(stream: Any, get: Callable[..., int], what: Any, before: int = 0) -> Any:
    """The schema, or the next chunk, behind so many rows."""
    if get(stream, what) != 0:
        raise DataError(_FAILED.format(f"the rows behind the first {before}" if before else "its rows"))
    return what


def _released(c: Any) -> None:
    if c.release != ffi.NULL:
        c.release(c)


# ---- what hands over ----------------------------------------------------------------------------------------

def _is_of(data: Any, library: str) -> bool:
    return type(data).__module__.partition(".")[0] == library


def _is_lazy(data: Any) -> bool:
    return _is_of(data, "polars") and hasattr(data, "collect_schema") and hasattr(data, "collect")


def is_arrow(data: Any) -> bool:
    """Does it have the Arrow PyCapsule interface, or what it collects?"""
    return not isinstance(data, type) and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__") or
                                           _is_lazy(data))


def refuse_spark(data: Any) -> None:
    """Whose rows would all come here."""
    if _is_of(data, "pyspark"):
        raise UsageError("data is a Spark frame: fre_e2t.spark.synthesize takes it where its rows are")


def _check_columns(names: list[Any], text: str, user: str | None, others: list[Any]) -> None:
    for name, parameter in ((text, "text"), (user, "user")):
        if name is not None and name not in others:
            check_column(name, names, parameter)


def _collected(data: Any, text: str, user: str | None) -> Any:
    """Of a lazy frame what is needed."""
    names = data.collect_schema().names()
    _check_columns(names, text, user, [])
    return data.select([name for name in names if name in (text, user)]).collect()


def _wanted(data: Any, text: str, user: str | None) -> Any:
    """Of a pandas frame what is needed: that of other columns Arrow may have no type, and their values say what is
    private."""
    if _is_lazy(data) and not hasattr(data, "__arrow_c_stream__"):
        return _collected(data, text, user)
    if not _is_of(data, "pandas") or getattr(getattr(data, "columns", None), "nlevels", 0) != 1:
        return data
    names = [str(c) for c in data.columns]
    index = [n for n in data.index.names if n is not None]
    _check_columns(names, text, user, index)
    if any(name in index for name in (text, user)):
        return data
    return data.iloc[:, [i for i, name in enumerate(names) if name in (text, user)]].reset_index(drop=True)


def _capsules(data: Any, text: str, user: str | None) -> tuple[Any, ...]:
    """That of a stream, or those of a schema and its array."""
    try:
        frame = _wanted(data, text, user)
        if hasattr(frame, "__arrow_c_stream__"):
            return (frame.__arrow_c_stream__(),)
        schema, array = frame.__arrow_c_array__()
        return schema, array
    except ImportError as error:
        raise UsageError("this data frame hands over Arrow only where pyarrow is installed: install it, or give a list "
                         "of str or of mappings") from error
    except (DataError, MemoryError):
        raise
    except Exception as error:
        is_mixed = _is_of(data, "pandas") or type(error).__module__.startswith("pyarrow")
        found = re.search(r"Conversion failed for column (.+?) with type \w+", " ".join(map(str, error.args)), re.DOTALL)
    if not is_mixed:
        raise DataError(_FAILED.format("its rows"))
    column = f"the column {found[1][:40]!r}" if found else "a column"  # the error itself may quote a value
    raise DataError(f"{column} of data mixes types, or holds what Arrow has no type for: convert it, or leave it out")


def _pointer(capsule: Any, kind: str, name: bytes) -> Any:
    try:
        c = ffi.cast(f"struct {kind} *", _pointer_of(capsule, name))
    except ValueError:
        c = None
    if c is None:
        raise DataError(f"{_UNSOUND}: it returns no capsule {name.decode()!r}")
    if c.release == ffi.NULL:
        raise DataError("data is a stream that was read before: make it anew")
    return c


def _chunks(stream: Any) -> Iterator[Any]:
    before = 0
    while True:
        chunk = _next(stream, stream.get_next, ffi.new("struct ArrowArray *"), before)
        if chunk.release == ffi.NULL:
            return
        try:
            before += chunk.length
            yield chunk
        finally:
            _released(chunk)


@contextlib.contextmanager
def _of_array(capsules: tuple[Any, ...]) -> Iterator[tuple[Any, Iterator[Any]]]:
    schema, chunk = _pointer(capsules[0], "ArrowSchema", b"arrow_schema"), _pointer(capsules[1], "ArrowArray", b"arrow_array")
    try:
        yield schema, iter([chunk])
    finally:
        _released(chunk)
        _released(schema)


@contextlib.contextmanager
def _of_stream(capsules: tuple[Any, ...]) -> Iterator[tuple[Any, Iterator[Any]]]:
    stream, schema = _pointer(capsules[0], "ArrowArrayStream", b"arrow_array_stream"), ffi.new("struct ArrowSchema *")
    chunks = _chunks(stream)
    try:
        yield _next(stream, stream.get_schema, schema), chunks
    finally:
        chunks.close()
        _released(schema)
        _released(stream)


def write(fd: int, data: Any, text: str, user: str | None) -> int:
    """JSON lines at the end of fd, a record each; returns how many."""
    refuse_spark(data)
    capsules, n = _capsules(data, text, user), 0
    with (_of_stream if len(capsules) == 1 else _of_array)(capsules) as (schema, chunks):
        keep = Keep()
        text_column, user_column = _columns(keep, schema, text, user)
        for chunk in chunks:
            for i in range(0, abs(chunk.length), _ROWS):  # one below 0 is refused there, too
                call(lib.fre_py_arrow_lines, fd, chunk, i, min(_ROWS, chunk.length - i), text_column, user_column, n)
            n += chunk.length
    return n


def stream_of(columns: dict[str, tuple[list[Any], str]], length: int) -> Any:
    """A capsule of a table: name -> (values, kind)."""
    import nanoarrow as na  # for what goes out alone: it ends the process at views of strings that come in

    kinds = {"string": na.string(), "int": na.int64(), "float": na.float64()}
    children = [na.c_array(values, kinds[kind]) for values, kind in columns.values()]
    schema = na.struct({name: kinds[kind] for name, (_, kind) in columns.items()})
    array = na.c_array_from_buffers(schema, length, [None], children=children, move=True)
    return na.c_array_stream(array).__arrow_c_stream__()
