"""What Spark runs on its executors: records in, parts of a release out (fre/partial.h).  Nothing here decides
anything about privacy: which records count, coins, counts and sums are the library's."""

from __future__ import annotations

import dataclasses
import functools
import os
import pickle
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ._call import Buffer, call, check
from ._errors import DataError, ModelError, UsageError, string
from ._fre import ffi, lib
from ._language import _Chunk, _open_embedder

_ID = 16  # bytes of a user's, or a text's, name under the run key
_CACHED = 16384  # embeddings that a worker keeps, for texts that many users share

RECORD = "user binary, text binary, records long, place binary, x binary, slice int, part binary"
PART = "slice int, part binary"
OTHER_VERSION = "a Spark worker has fre-e2t {}, and the driver {}: install the same wheel on every machine"
_RECORD = pa.schema([("user", pa.binary()), ("text", pa.binary()), ("records", pa.int64()), ("place", pa.binary()),
                     ("x", pa.binary()), ("slice", pa.int32()), ("part", pa.binary())])
_PART = pa.schema([("slice", pa.int32()), ("part", pa.binary())])


@dataclasses.dataclass(frozen=True)
class Order:
    """What a stage's workers are told."""

    task: bytes = dataclasses.field(repr=False)
    key: bytes = dataclasses.field(repr=False)
    named: bool
    embedder: str | None
    codebook: str | None
    version: str
    parts: int  # that are made of a stage


Fetch = Callable[[], bytes]  # of a pickled Order, from where it travels


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0


def _threads() -> int:
    """Of this task: as many as Spark reserves for it (spark.task.cpus)."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return max(1, int(context.cpus())) if context else 1


# ---- clean records -------------------------------------------------------------------------------------

def clean_text(text: str | None) -> str | None:
    """As the library's readers take it; None: no text."""
    text = text.strip() if text is not None else ""
    return None if not text or "\0" in text else text


def clean_user(user: Any) -> str | None:
    """One spelling of a name; None: nobody."""
    name = unicodedata.normalize("NFC", str(user).strip()) if user is not None else ""
    return None if not name or "\0" in name else name


class Clean:
    """Rows (text) or (user, text); those without either are left out, each by itself."""

    def __init__(self, named: bool) -> None:
        self.named = named

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts = [clean_text(t) for t in batch.column("text").to_pylist()]
            if not self.named:
                yield pa.RecordBatch.from_arrays([pa.array([t for t in texts if t is not None], pa.string())], ["text"])
                continue
            users = [clean_user(u) for u in batch.column("user").to_pylist()]
            kept = [(u, t) for u, t in zip(users, texts) if u is not None and t is not None]
            yield pa.RecordBatch.from_arrays([pa.array([u for u, _ in kept], pa.string()),
                                              pa.array([t for _, t in kept], pa.string())], ["user", "text"])


# ---- workers of the library ------------------------------------------------------------------------------

@functools.lru_cache(maxsize=1)
def _embedder(path: str | None, threads: int) -> Any:
    """One model a worker process."""
    return _open_embedder(path, threads)


@functools.lru_cache(maxsize=1)
def _codebook(path: str | None, embedder: str | None, threads: int) -> Any:
    out, e = ffi.new("fre_codebook **"), _embedder(embedder, threads)
    name = ffi.new("char[]", os.fsencode(path)) if path else ffi.NULL
    call(lib.fre_codebook_open_for, out, name, lib.fre_embedder_path(e), lib.fre_embedder_info(e))
    return ffi.NULL if out[0] == ffi.NULL else ffi.gc(out[0], lib.fre_codebook_free)


def view(data: bytes) -> Any:
    """A fre_bytes, and what it looks into."""
    kept = ffi.from_buffer("uint8_t[]", data)
    b = ffi.new("fre_bytes *")
    b.p, b.n = kept, len(data)
    return b, kept


class _Worker:
    def __init__(self, order: Order) -> None:
        task, key = view(order.task), ffi.new("fre_partial_key *")
        ffi.buffer(key.b)[:] = order.key
        self.order, self.threads = order, _threads()
        made = ffi.new("fre_partial_task *")
        call(lib.fre_partial_task_decode, made, task[0][0])
        self.levels, self.dim = made.terms.n_levels, made.terms.dim
        embedder = bytes(ffi.buffer(made.terms.embedder))
        lib.fre_partial_task_wipe(made)
        self.codebook = _codebook(order.codebook, order.embedder, self.threads) if self.levels else ffi.NULL
        self._check_embedder(embedder)
        out = ffi.new("fre_partial_worker **")
        call(lib.fre_partial_worker_new, out, task[0][0], key, self.codebook, _partition())
        ffi.buffer(key.b)[:] = bytes(32)
        self.c = ffi.gc(out[0], lib.fre_partial_worker_free)
        self.place_bytes = lib.fre_partial_worker_place_bytes(self.c)

    def _check_embedder(self, wanted: bytes) -> None:
        info = lib.fre_embedder_info(_embedder(self.order.embedder, self.threads))
        if bytes(ffi.buffer(info.sha256)) != wanted:
            raise ModelError(f"a Spark worker embeds with {string(info.name)!r} of another file than the driver's: put "
                             "the same embedder on every machine")

    def finish(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The part, a row a slice."""
        n = lib.fre_partial_slices(lib.fre_partial_worker_task(self.c), self.order.parts)
        out = ffi.new("fre_buf[]", n)
        for i in range(n):
            lib.fre_buf_init(out + i, 1 << 30)
        try:
            check(lib.fre_partial_worker_finish(self.c, out, n), ffi.new("fre_err *"))
            for i in range(n):
                part = bytes(ffi.buffer(out[i].p, out[i].n))
                lib.fre_buf_wipe(out + i)
                yield pa.RecordBatch.from_pylist([{"slice": i, "part": part}], schema=schema)
        finally:
            for i in range(n):
                lib.fre_buf_wipe(out + i)


def _order(fetch: Fetch) -> Order:
    order, version = pickle.loads(fetch()), string(lib.fre_py_version())
    if order.version != version:
        raise UsageError(OTHER_VERSION.format(version, order.version))
    return order


# ---- the first stage: embed, place, count --------------------------------------------------------------------

class Place:
    """Rows (user, text), each user's together, or (text, records); gives records with their places and, as the
    last rows, the part."""

    def __init__(self, fetch: Fetch) -> None:
        self.fetch = fetch

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        w = _Worker(_order(self.fetch))
        kept: dict[str, np.ndarray] = {}
        for batch in batches:
            if batch.num_rows:
                yield _placed(w, batch, kept)
        yield from w.finish(_RECORD)


def _rows(w: _Worker, texts: list[str], kept: dict[str, np.ndarray]) -> np.ndarray:
    """Embeddings, each distinct text's made once."""
    new = list(dict.fromkeys(t for t in texts if t not in kept))
    if len(kept) + len(new) > _CACHED:
        kept.clear()
        new = list(dict.fromkeys(texts))
    if new:
        made, some, err = np.zeros((len(new), w.dim), dtype="<f4"), _Chunk(new), ffi.new("fre_err *")
        e = _embedder(w.order.embedder, w.threads)
        check(lib.fre_embed_texts(e, ffi.from_buffer("float[]", made, require_writable=True), some.texts, some.lengths,
                                  len(new), err), err)
        kept.update(zip(new, made))
    return np.stack([kept[t] for t in texts])


def _name(w: _Worker, name: bytes) -> bytes:
    out, b = ffi.new("uint8_t[16]"), view(name)
    lib.fre_partial_worker_id(w.c, out, b[0][0])
    return bytes(ffi.buffer(out))


def _placed(w: _Worker, batch: pa.RecordBatch, kept: dict[str, np.ndarray]) -> pa.RecordBatch:
    texts = batch.column("text").to_pylist()
    n, rows = len(texts), _rows(w, texts, kept)
    users = batch.column("user").to_pylist() if w.order.named else [None] * n
    records = [1] * n if w.order.named else batch.column("records").to_pylist()
    place, err = bytearray(n * w.place_bytes), ffi.new("fre_err *")
    matrix = ffi.new("fre_rows *")
    matrix.x, matrix.n = ffi.from_buffer("float[]", rows), n
    check(lib.fre_partial_worker_place(w.c, ffi.from_buffer("uint8_t[]", place), matrix[0], w.threads, err), err)
    names = [_name(w, u.encode()) if u is not None else None for u in users]
    ids = [_name(w, t.encode()) for t in texts]
    for i in range(n):
        _look(w, i, names[i], ids[i], records[i], place, rows, users[i], texts[i])
    size = w.place_bytes
    return pa.RecordBatch.from_arrays(
        [pa.array(names, pa.binary()), pa.array(ids, pa.binary()), pa.array(records, pa.int64()),
         pa.array([bytes(place[i * size:(i + 1) * size]) for i in range(n)], pa.binary()),
         pa.array([r.tobytes() for r in rows], pa.binary()), pa.nulls(n, pa.int32()), pa.nulls(n, pa.binary())],
        schema=_RECORD)


def _look(w: _Worker, i: int, user: bytes | None, text: bytes, records: int, place: bytearray, rows: np.ndarray,
          name: str | None, said: str) -> None:
    """Count a record, and tell the library who it is and what it says, for the ledger."""
    r, err = ffi.new("fre_partial_record *"), ffi.new("fre_err *")
    held = [ffi.from_buffer("uint8_t[]", b) for b in (text, place, said.encode(), (name or "").encode(), user or b"")]
    r.text, r.place, r.records = held[0], held[1] + i * w.place_bytes, records
    r.text_bytes.p, r.text_bytes.n = held[2], len(held[2])
    r.user_name.p, r.user_name.n = held[3], len(held[3])
    r.user = held[4] if user is not None else ffi.NULL
    r.row = r.x = ffi.cast("const float *", ffi.from_buffer(rows)) + i * w.dim
    check(lib.fre_partial_worker_add(w.c, r, err), err)


# ---- later stages --------------------------------------------------------------------------------------------

def _values(column: pa.Array, each: int) -> Any:
    """The bytes of a column whose values are all as long."""
    _, offsets, data = column.buffers()
    at = np.frombuffer(offsets, dtype="<i4")[column.offset:column.offset + len(column) + 1]
    if not np.array_equal(np.diff(at), np.full(len(column), each)):
        raise DataError("what Spark kept of the records was changed: run this again")
    return ffi.from_buffer("uint8_t[]", data) + int(at[0])


class Count:
    """Records as Place gave them; gives the part of another stage."""

    def __init__(self, fetch: Fetch) -> None:
        self.fetch = fetch

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        w, err = _Worker(_order(self.fetch)), ffi.new("fre_err *")
        for batch in batches:
            n = batch.num_rows
            if n == 0:
                continue
            columns = {name: batch.column(name) for name in batch.schema.names}
            records = np.ascontiguousarray(columns["records"].to_numpy(zero_copy_only=False), dtype="<u8")
            x = _values(columns["x"], 4 * w.dim) if "x" in columns else ffi.NULL
            check(lib.fre_py_partial_add(
                w.c, n, _values(columns["user"], _ID) if w.order.named else ffi.NULL, _values(columns["text"], _ID),
                ffi.from_buffer("uint64_t[]", records), _values(columns["place"], w.place_bytes),
                ffi.cast("const float *", x), err), err)
        yield from w.finish(_PART)


class Sum:
    """Slices of all parts, each one's together; gives each slice, added up and closed."""

    def __init__(self, fetch: Fetch) -> None:
        self.fetch = fetch

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        order, made, at = _order(self.fetch), None, None
        for batch in batches:
            for number, part in zip(batch.column("slice").to_pylist(), batch.column("part")):
                if made is not None and number != at:
                    yield _closed(made, at, order.parts)
                    made = None
                if made is None:
                    made, at = _nothing(order.task), number
                b = view(part.as_buffer())
                call(lib.fre_partial_add, made, b[0][0])
        if made is not None:
            yield _closed(made, at, order.parts)


def _nothing(task: bytes) -> Any:
    out, b = ffi.new("fre_partial **"), view(task)
    call(lib.fre_partial_new, out, b[0][0])
    return ffi.gc(out[0], lib.fre_partial_free)


def _closed(made: Any, number: int | None, parts: int) -> pa.RecordBatch:
    call(lib.fre_partial_close, made, parts)
    with Buffer() as out:
        check(lib.fre_partial_encode(out.c, made), ffi.new("fre_err *"))
        ffi.release(made)
        return pa.RecordBatch.from_pylist([{"slice": number, "part": out.bytes()}], schema=_PART)


class Version:
    """What a machine has, for check_installation."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        info = lib.fre_embedder_info(_embedder(None, 1))
        yield pa.RecordBatch.from_pylist([{"version": string(lib.fre_py_version()),
                                           "embedder": bytes(ffi.buffer(info.sha256)).hex()}],
                                         schema=pa.schema([("version", pa.string()), ("embedder", pa.string())]))
