"""Data frames by Arrow's PyCapsule interface: their columns of texts and users as JSON lines, which C code writes."""

from __future__ import annotations

import ctypes
import difflib
import json
from collections.abc import Callable
from typing import Any

from ._call import Keep, call
from ._errors import DataError, UsageError, string
from ._fre import ffi, lib

_ROWS = 1 << 16  # that are written between two looks at signals
_STRINGS = {"u": "string", "U": "large_string", "vu": "string_view"}
_INTS = {"c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32", "l": "int64",
         "L": "uint64"}
_OTHERS = {"b": "bool", "e": "halffloat", "f": "float", "g": "double", "z": "binary", "Z": "large_binary",
           "vz": "binary_view", "+s": "struct", "+l": "list", "+L": "large_list", "+vl": "list_view", "+m": "map"}
_BEGINNINGS = {"ts": "timestamp", "td": "date", "tt": "time", "tD": "duration", "ti": "interval", "d:": "decimal",
               "w:": "fixed_size_binary", "+w": "fixed_size_list", "+u": "union", "+r": "run_end_encoded"}

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def check_column(name: str, names: list[str], parameter: str) -> None:
    """Is there such a column?"""
    if name in names:
        return
    near = difflib.get_close_matches(name, names, 1)
    likely = f"; did you mean {near[0]!r}?" if near else ""
    asked = f": name the one of the {parameter}s with {parameter}=" if name == parameter else f" for {parameter}"
    raise DataError(f"data has no column {name!r}{asked}; its columns: {', '.join(names[:20]) or 'none'}{likely}")


def _kind(schema: Any) -> str:
    """What a column holds, for people."""
    form = string(schema.format)
    known = {**_STRINGS, **_INTS, **_OTHERS, "n": "null"}
    if schema.dictionary != ffi.NULL:
        return f"dictionary of {_kind(schema.dictionary)}"
    return known.get(form) or _BEGINNINGS.get(form[:2], form)


def _column(keep: Keep, schema: Any, child: int, name: str, kinds: dict[str, str], wanted: str,
            parameter: str) -> Any:
    """A fre_py_column, if it holds what is wanted."""
    is_dictionary = schema.dictionary != ffi.NULL
    form = string((schema.dictionary if is_dictionary else schema).format)
    if form not in kinds and form != "n" or is_dictionary and string(schema.format) not in _INTS:
        raise DataError(f"the column {name!r} holds {_kind(schema)}, not {wanted}: convert it, or name another with "
                        f"{parameter}=")
    c = keep.also(ffi.new("fre_py_column *"))
    c.child, c.format = child, form[:1].encode()
    c.index = schema.format[0] if is_dictionary else b"\0"
    c.key = keep.text(json.dumps(name))
    return c


def _columns(keep: Keep, schema: Any, text: str, user: str | None) -> tuple[Any, Any]:
    ints = {**_STRINGS, **_INTS}
    if string(schema.format) != "+s":
        if user is not None:
            raise UsageError("user names a column, but data is a single column of texts: give a data frame with both")
        return _column(keep, schema, -1, text, _STRINGS, "strings", "text"), ffi.NULL
    fields = [schema.children[i] for i in range(schema.n_children)]
    names = ["" if f.name == ffi.NULL else string(f.name) for f in fields]
    check_column(text, names, "text")
    at = names.index(text)
    found = _column(keep, fields[at], at, text, _STRINGS, "strings", "text")
    if user is None:
        return found, ffi.NULL
    check_column(user, names, "user")
    at = names.index(user)
    return found, _column(keep, fields[at], at, user, ints, "strings or integers", "user")


def _next(stream: Any, get: Callable[..., int], what: Any) -> Any:
    """The schema, or the next chunk; the exporter's own error is the user's code speaking."""
    if get(stream, what) != 0:
        said = stream.get_last_error(stream)
        raise DataError("the data frame failed to hand over its rows" +
                        (f": {string(said).splitlines()[0][:200]}" if said != ffi.NULL else ""))
    return what


def _released(c: Any) -> None:
    if c.release != ffi.NULL:
        c.release(c)


def write(fd: int, data: Any, text: str, user: str | None) -> int:
    """JSON lines at the end of fd, a record each; returns how many."""
    try:
        capsule = data.__arrow_c_stream__()
    except ImportError as error:
        raise UsageError("this data frame hands over Arrow only where pyarrow is installed: install it, or give a list "
                         "of str or of mappings") from error
    stream = ffi.cast("struct ArrowArrayStream *", _pointer_of(capsule, b"arrow_array_stream"))
    schema, keep, n = ffi.new("struct ArrowSchema *"), Keep(), 0
    try:
        _next(stream, stream.get_schema, schema)
        text_column, user_column = _columns(keep, schema, text, user)
        while True:
            chunk = _next(stream, stream.get_next, ffi.new("struct ArrowArray *"))
            if chunk.release == ffi.NULL:
                return n
            try:
                for i in range(0, chunk.length, _ROWS):
                    call(lib.fre_py_arrow_lines, fd, chunk, i, min(_ROWS, chunk.length - i), text_column, user_column)
                n += chunk.length
            finally:
                _released(chunk)
    finally:
        _released(schema)
        _released(stream)


def stream_of(columns: dict[str, tuple[list[Any], str]], length: int) -> Any:
    """A capsule of a table: name -> (values, kind)."""
    import nanoarrow as na  # for what goes out alone: it ends the process at views of strings that come in

    kinds = {"string": na.string(), "int": na.int64(), "float": na.float64()}
    children = [na.c_array(values, kinds[kind]) for values, kind in columns.values()]
    schema = na.struct({name: kinds[kind] for name, (_, kind) in columns.items()})
    array = na.c_array_from_buffers(schema, length, [None], children=children, move=True)
    return na.c_array_stream(array).__arrow_c_stream__()
