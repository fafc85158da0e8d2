"""A producer of Arrow's C stream that says whatever a test wants it to: lengths that lie, buffers that are missing, errors."""

import ctypes as c
import struct


class Schema(c.Structure):
    pass


class Array(c.Structure):
    pass


class Stream(c.Structure):
    _fields_ = [(name, c.c_void_p) for name in ("get_schema", "get_next", "get_last_error", "release", "private")]


Schema._fields_ = [("format", c.c_char_p), ("name", c.c_char_p), ("metadata", c.c_char_p), ("flags", c.c_int64),
                   ("n_children", c.c_int64), ("children", c.POINTER(c.POINTER(Schema))), ("dictionary", c.POINTER(Schema)),
                   ("release", c.c_void_p), ("private", c.c_void_p)]
Array._fields_ = [("length", c.c_int64), ("null_count", c.c_int64), ("offset", c.c_int64), ("n_buffers", c.c_int64),
                  ("n_children", c.c_int64), ("buffers", c.POINTER(c.c_void_p)), ("children", c.POINTER(c.POINTER(Array))),
                  ("dictionary", c.POINTER(Array)), ("release", c.c_void_p), ("private", c.c_void_p)]

_capsule = c.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
_kept = []  # for good: C code points to it


@c.CFUNCTYPE(None, c.POINTER(Schema))
def _release_schema(schema):
    schema[0].release = None


@c.CFUNCTYPE(None, c.POINTER(Array))
def _release_array(array):
    array[0].release = None


def capsule(of, name):
    """One of a struct, which frees nothing."""
    _kept.append(name)
    return _capsule(c.addressof(of), name, None)


def _address(kept):
    _kept.append(kept)
    return c.cast(kept, c.c_void_p).value


def _pointers(kind, items):
    made = (c.POINTER(kind) * max(1, len(items)))(*[None if i is None else c.pointer(i) for i in items])
    _kept.append(made)
    return c.cast(made, c.POINTER(c.POINTER(kind)))


def ints(kind, *values):
    """As bytes; kind: a letter of struct."""
    return struct.pack(f"<{len(values)}{kind}", *values)


def _made(one, dictionary, lies):
    if dictionary is not None:
        one.dictionary = c.pointer(dictionary)
    for field, value in lies.items():
        setattr(one, field, value)
    _kept.append(one)
    return one


def schema(form, name=b"", children=(), dictionary=None, **lies):
    """children: schemas; lies: fields that say something else."""
    s = Schema(format=form, name=name, n_children=len(children), release=_address(_release_schema))
    if children:
        s.children = _pointers(Schema, children)
    return _made(s, dictionary, lies)


def array(length, buffers=(), children=(), dictionary=None, **lies):
    """buffers: bytes, or None for NULL."""
    a = Array(length=length, n_buffers=len(buffers), n_children=len(children), release=_address(_release_array))
    if buffers:
        held = [None if b is None else _address(c.create_string_buffer(b, max(1, len(b)))) for b in buffers]
        made = (c.c_void_p * len(held))(*held)
        _kept.append(made)
        a.buffers = c.cast(made, c.POINTER(c.c_void_p))
    if children:
        a.children = _pointers(Array, children)
    return _made(a, dictionary, lies)


class Producer:
    """What has Arrow's stream: a schema, then chunks, then code (0: the end) with a message."""

    def __init__(self, what, chunks=(), code=0, message=None, name=b"arrow_array_stream", **lies):
        self.chunks, self.name, self.ends = list(chunks), name, []
        said = None if message is None else _address(c.create_string_buffer(message))

        def get_schema(_, out):
            c.memmove(out, c.byref(what), c.sizeof(Schema))
            return 0

        def get_next(_, out):
            if not self.chunks:
                c.memset(out, 0, c.sizeof(Array))
                return code
            c.memmove(out, c.byref(self.chunks.pop(0)), c.sizeof(Array))
            return 0

        def release(stream):
            stream[0].release = None
            self.ends.append("released")

        p = c.POINTER
        made = [c.CFUNCTYPE(c.c_int, p(Stream), p(Schema))(get_schema), c.CFUNCTYPE(c.c_int, p(Stream), p(Array))(get_next),
                c.CFUNCTYPE(c.c_void_p, p(Stream))(lambda _: said), c.CFUNCTYPE(None, p(Stream))(release)]
        self.stream = Stream(*[_address(f) for f in made])
        for field, value in lies.items():
            setattr(self.stream, field, value)
        _kept.append(self)

    def __arrow_c_stream__(self, requested_schema=None):
        return capsule(self.stream, self.name) if self.name else 42


STRING = schema(b"u", b"t")
TWO = [None, ints("i", 0, 7, 17), b"one twothree four"]


def column(child, form=STRING, rows=2, **lies):
    """A table of one column."""
    return Producer(schema(b"+s", children=[form]), [array(rows, [None], [child], **lies)])


def indices(form, values, rows=2, **of):
    """A table of one column, a dictionary's."""
    held = of.pop("dictionary", array(2, TWO))
    return column(array(rows, [None, values], dictionary=held, **of), schema(form, b"t", dictionary=schema(b"u")), rows)


def view(head, buffers=(b"x" * 20,), lengths=ints("q", 20)):
    """A table of one view of a string: its 16 bytes, its buffers and their lengths."""
    return column(array(1, [None, head, *buffers, lengths]), schema(b"vu", b"t"), 1)
