"""`synthesize` of a Spark frame: the records stay on the executors, which embed, place, toss and add up; the driver
gets counts and sums, and makes the release in one call of the library, with the same plan, noise, statement and ledger
as on one machine.  Classic Spark and Connect; PySpark 4.0 or later.

Executors and driver are all the curator: they see texts, or exact counts.  The run key, with which coins could be
computed again, travels as a broadcast (Connect: as an artifact), in no plan, configuration or event log, and is of
one release."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pathlib
import pickle
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from typing import Any, Literal, Unpack, overload

from . import _errors, _synthesize
from ._arrow import check_column
from ._call import Keep, Progress, call, flag, path_of, run
from ._data import check_columns
from ._errors import DataError, InputOutputError, InternalError, MissingError, UsageError, string
from ._fre import ffi, lib
from ._plan import Plan, request_of, said
from ._release import Release, read_folder

_WITHOUT = ("a Spark worker has not the package fre-e2t with pyarrow: install the same wheel on every machine, or pass an "
            "environment with it (spark.archives)")
_MEMORY = "Spark ran out of memory: give it more (spark.executor.memory, spark.driver.memory), or more partitions"
_FETCHED = 32  # jobs that bring a pass to the driver: what it gets at once is that part of all
_ENDED = "Spark ended while the release was made, and its own log says why; nothing was released"


def _missing(what: str) -> MissingError:
    return MissingError(f"fre_e2t.spark needs {what}, which is not installed: pip install 'pyspark>=4.0' pyarrow 'pandas<3', and "
                        "Java 17")


def _of_the_frame(sentence: str) -> str:
    """A sentence of the library, which knows of workers' parts and of no frame."""
    if not sentence.startswith("the workers have no record"):
        return sentence
    return "the frame has no record that can be used: it is empty, or in each the text or the user is null"


def _need_pyspark() -> None:
    try:
        import pyarrow  # noqa: F401
        import pyspark
    except ImportError as error:
        raise _missing(error.name or "PySpark") from None
    if importlib.util.find_spec("pandas") is None:  # which PySpark imports for mapInArrow
        raise _missing("pandas")
    if int(pyspark.__version__.split(".")[0]) < 4:
        raise UsageError(f"fre_e2t.spark needs PySpark 4.0 or later, and this is {pyspark.__version__}")


# ---- what comes in --------------------------------------------------------------------------------------

def _has(frame: Any, column: str, parameter: str) -> Any:
    """The type of a column."""
    check_column(column, [field.name for field in frame.schema.fields], parameter)
    return next(field.dataType for field in frame.schema.fields if field.name == column)


def _columns(frame: Any, text: str, user: str | None) -> Any:
    """A frame of (text), or (user, text), of strings."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    def quoted(name: str) -> Any:
        return F.col("`" + name.replace("`", "``") + "`")

    kind = _has(frame, text, "text")
    if not isinstance(kind, T.StringType):
        raise DataError(f"the column {text!r} is of type {kind.simpleString()}, not a string: convert it, or name another "
                        "column", parameter="text")
    columns = [quoted(text).cast("string").alias("text")]
    if user is not None:
        kind = _has(frame, user, "user")
        if not isinstance(kind, (T.StringType, T.ByteType, T.ShortType, T.IntegerType, T.LongType)):
            raise DataError(f"the column {user!r} is of type {kind.simpleString()}, not a string or an integer: name users "
                            "by one of these", parameter="user")
        columns.insert(0, quoted(user).cast("string").alias("user"))
    return frame.select(*columns)


# ---- the cluster ------------------------------------------------------------------------------------------

class _Broadcast:
    """Bytes on their way to the executors of classic Spark."""

    def __init__(self, session: Any, data: bytes) -> None:
        self._sent = session.sparkContext.broadcast(data)

    def fetch(self) -> Any:
        """What a worker calls to get them."""
        return _FromBroadcast(self._sent)

    def close(self) -> None:
        """Executors and driver forget them."""
        self._sent.destroy()


class _FromBroadcast:
    def __init__(self, sent: Any) -> None:
        self.sent = sent

    def __call__(self) -> bytes:
        return self.sent.value


class _Artifact:
    """The same through Connect, which has no broadcasts: a file of the session."""

    def __init__(self, session: Any, data: bytes) -> None:
        self._folder = tempfile.mkdtemp(prefix="fre-e2t-")
        path = pathlib.Path(self._folder, f"fre-e2t-{uuid.uuid4().hex}")
        path.touch(0o600)
        path.write_bytes(data)
        session.addArtifacts(str(path), file=True)
        self._name = path.name
        self.close()

    def fetch(self) -> Any:
        """What a worker calls to get them."""
        return _FromFile(self._name)

    def close(self) -> None:
        """The driver's copy; the executors' are the session's, and go with it."""
        shutil.rmtree(self._folder, ignore_errors=True)


class _FromFile:
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self) -> bytes:
        from pyspark import SparkFiles

        return pathlib.Path(SparkFiles.get(self.name)).read_bytes()


def _is_connect(session: Any) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


@contextlib.contextmanager
def _tagged(session: Any, tag: str) -> Iterator[None]:
    """Jobs of this thread have a tag, meanwhile."""
    of = session if _is_connect(session) else session.sparkContext
    add, remove = (of.addTag, of.removeTag) if of is session else (of.addJobTag, of.removeJobTag)
    add(tag)
    try:
        yield
    finally:
        remove(tag)


def _cancel(session: Any, tag: str) -> None:
    """From any thread: a classic session's own interruptTag knows the tags of its thread alone."""
    if _is_connect(session):
        session.interruptTag(tag)
    else:
        session.sparkContext.cancelJobsWithTag(tag)


def _partitions(session: Any, wanted: int | None) -> int:
    if wanted is not None:
        if not isinstance(wanted, int) or isinstance(wanted, bool) or not 1 <= wanted <= 1 << 20:
            raise UsageError("partitions must be a whole number from 1 to 1048576")
        return wanted
    if session.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        return int(session.conf.get("spark.sql.shuffle.partitions"))
    if not _is_connect(session):
        return max(2, session.sparkContext.defaultParallelism)
    from pyspark.sql import functions as F

    numbers = session.range(1 << 20).select(F.spark_partition_id().alias("n"))  # in as many as there are cores
    return 1 + numbers.agg(F.max("n")).first()[0]


_OURS = re.compile(r"fre_e2t\.(?:_errors\.)?(\w*Error): (.*)")


def _condition(error: BaseException) -> str:
    """What Spark calls it, in capitals."""
    with contextlib.suppress(Exception):
        name = str(error.getCondition())  # type: ignore[attr-defined]
        if re.fullmatch(r"[A-Z0-9_.]+", name):
            return f" ({name})"
    return ""


def _said(error: BaseException) -> BaseException:
    """An executor's error as the library's own, if it is one; Spark's quote values, such as what it could not cast."""
    if isinstance(error, _errors.Error):
        return error
    try:
        text = str(error)
    except Exception:  # py4j asks Java for the text, which may have ended
        text = ""
    if "java.lang.OutOfMemoryError" in text:
        return _errors.OutOfMemoryError(_MEMORY)
    if not text or isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError":
        return InternalError(_ENDED)
    if re.search(r"No module named '(fre_e2t|pyarrow|numpy|_?cffi)", text):
        return MissingError(_WITHOUT)
    found = _OURS.findall(text)
    kind = getattr(_errors, found[-1][0], None) if found else None
    return kind(found[-1][1].strip()) if kind else InputOutputError(f"Spark failed{_condition(error)}: its own log has the error")


class _Cluster:
    """Stages of one release, made by the executors."""

    def __init__(self, frame: Any, columns: Any, is_named: bool, given: dict[str, Any], partitions: int | None) -> None:
        self.session = frame.sparkSession
        self.columns, self.named, self.given = columns, is_named, given
        self.partitions = _partitions(self.session, partitions)
        self.records: Any = None  # places and embeddings, cached
        self.error: BaseException | None = None
        self._sent: list[Any] = []
        self._tag = f"fre-e2t-{uuid.uuid4().hex}"

    def _send(self, task: bytes, key: bytes) -> Any:
        from ._executor import Order

        def path(name: str) -> str | None:
            return None if self.given.get(name) in (None, "default") else os.path.abspath(os.fsdecode(self.given[name]))

        order = Order(task, key, self.named, path("embedder"), path("codebook"), string(lib.fre_py_version()),
                      self.partitions)
        way = _Artifact if _is_connect(self.session) else _Broadcast
        self._sent.append(way(self.session, pickle.dumps(order)))
        return self._sent[-1].fetch()

    def _grouped(self) -> Any:
        """Each user's records together, in an order that is theirs alone; nobody's by their text."""
        from pyspark.sql import functions as F

        from ._executor import Clean

        if not self.named:
            clean = self.columns.mapInArrow(Clean(False), "text string")
            return clean.groupBy("text").agg(F.count("*").alias("records")).repartition(self.partitions, "text")
        clean = self.columns.mapInArrow(Clean(True), "user string, text string")
        return (clean.repartition(self.partitions, "user")
                .sortWithinPartitions("user", F.xxhash64("text"), "text"))

    def _first(self, fetch: Any) -> Any:
        from pyspark import StorageLevel

        from ._executor import RECORD, Place

        # As values: what Spark would serialize into memory it holds twice, and the heap ends before it turns to the disk.
        self.records = self._grouped().mapInArrow(Place(fetch), RECORD).persist(StorageLevel.MEMORY_AND_DISK_DESER)
        return self.records.where("part IS NOT NULL").select("slice", "part")

    def _later(self, fetch: Any, sums: bool) -> Any:
        from ._executor import PART, Count

        columns = ["user", "text", "records", "place"] + (["x"] if sums else [])
        return self.records.where("part IS NULL").select(*columns).mapInArrow(Count(fetch), PART)

    def _closed(self, frame: Any, fetch: Any, slices: int) -> Any:
        """Each slice of all parts added up by one task, which leaves out what cannot be released."""
        from ._executor import PART, Sum

        return frame.repartition(slices, "slice").sortWithinPartitions("slice").mapInArrow(Sum(fetch), PART)

    def _all(self, frame: Any) -> Any:
        """The rows of a frame, made by all executors at once and taken one by one: an iterator alone would have them
        made one after the other, and `collect` would hold all of them at the driver."""
        from pyspark import StorageLevel

        kept = frame.persist(StorageLevel.MEMORY_AND_DISK_DESER)
        try:
            kept.count()
            yield from kept.coalesce(_FETCHED).toLocalIterator()
        finally:
            kept.unpersist()

    def stage(self, total: Any, task: bytes, key: bytes) -> None:
        """What all parts of a task add up to, into total."""
        from ._executor import view

        fetch = self._send(task, key)
        told = lib.fre_partial_task_view(total)
        sums, slices = told.stage == lib.FRE_PARTIAL_SUMS, lib.fre_partial_slices(told, self.partitions)
        with _tagged(self.session, self._tag):
            frame = self._first(fetch) if self.records is None else self._later(fetch, sums)
            for row in self._all(self._closed(frame, fetch, slices)):
                part = view(bytes(row["part"]))
                call(lib.fre_partial_add, total, part[0][0])

    def stop(self) -> None:
        """Cancel what runs for this release; again and again, for another job may begin meanwhile."""
        with contextlib.suppress(Exception):
            _cancel(self.session, self._tag)

    def close(self) -> None:
        """Nothing of the records, and no key, is left in the cluster.  One that ended has nothing, and no say."""
        for leave in [*([self.records.unpersist] if self.records is not None else []), *(s.close for s in self._sent)]:
            with contextlib.suppress(Exception):
                leave()


@ffi.def_extern(name="fre_py_stage")
def _stage(ctx: Any, total: Any, task: Any, key: Any, err: Any) -> int:
    cluster = ffi.from_handle(ctx)
    try:
        cluster.stage(total, bytes(ffi.buffer(task.p, task.n)), bytes(ffi.buffer(key.b)))
        return lib.FRE_OK
    except BaseException as error:  # raised again where the call was made
        cluster.error = error
        return lib.FRE_E_INTERNAL


# ---- the calls ---------------------------------------------------------------------------------------------

def check_installation(session: Any) -> dict[str, str]:
    """Whether the executors have this package, of the driver's version and with its models; what they have."""
    _need_pyspark()
    from ._executor import OTHER_VERSION, Version

    n = _partitions(session, None)
    try:
        seen = session.range(n).repartition(n).mapInArrow(Version(), "version string, embedder string").distinct().collect()
    except Exception as error:
        raise _said(error) from None
    version = string(lib.fre_py_version())
    for row in seen:
        if row["version"] != version:
            raise UsageError(OTHER_VERSION.format(row["version"], version))
    if len(seen) != 1:
        raise DataError("Spark workers have different embedders: install the same wheel on every machine")
    return {"version": version, "embedder": seen[0]["embedder"]}


class Options(_synthesize.Common, total=False):
    """What synthesize takes beside frame, epsilon and dry_run, for type checkers."""

    text: str
    user: str | bool | None
    partitions: int | None
    output: str | os.PathLike[str] | None
    force: bool
    progress: bool | None


@overload
def synthesize(frame: Any, epsilon: float = 4, *, dry_run: Literal[False] = False,
               **options: Unpack[Options]) -> Release: ...


@overload
def synthesize(frame: Any, epsilon: float = 4, *, dry_run: Literal[True],
               **options: Unpack[Options]) -> Plan: ...


@overload
def synthesize(frame: Any, epsilon: float = 4, *, dry_run: bool,
               **options: Unpack[Options]) -> Release | Plan: ...


def synthesize(frame: Any, epsilon: float = 4, *, text: str = "text", user: str | bool | None = None,
               partitions: int | None = None, output: str | os.PathLike[str] | None = None, force: bool = False,
               dry_run: bool = False, progress: bool | None = None, **more: Any) -> Release | Plan:
    """A private release of a Spark frame, once: fre_e2t.synthesize, which has the other parameters, where the data
    are.  text: a column of strings; user: of strings or integers; user=False: every record is another user's.
    partitions: in how many parts the records are divided; what is released does not depend on it.  By default as
    many as there are cores, or, where executors come and go, spark.sql.shuffle.partitions.

    The frame is read once.  What is kept between stages (places and embeddings, no texts) is cached, and released at
    the end.  Where files are named (embedder, codebook) they lie at the same path on every machine."""
    _need_pyspark()
    given = said({"epsilon": epsilon, "text": text, "user": user, **more})
    for name in more:
        if name not in _synthesize.Common.__annotations__:
            raise UsageError(f"synthesize of a Spark frame takes no {name}")
    if not hasattr(frame, "sparkSession"):
        raise UsageError(f"frame is of type {type(frame).__name__}, not a Spark frame: fre_e2t.synthesize takes data of one "
                         "machine")
    is_named = isinstance(user, str)
    if user is not None and user is not False and not is_named:
        raise UsageError("user is the name of a column, or False")
    check_columns(text, user if is_named else None)
    _synthesize._check_together(given)
    keep, o, result = Keep(), ffi.new("fre_curator_opts *"), ffi.new("fre_curator_result **")
    lib.fre_curator_opts_init(o)
    request_of(ffi.addressof(o, "plan"), given)  # what is out of range is said before data is read
    _synthesize._options(o, keep, given)
    cluster = _Cluster(frame, _columns(frame, text, user if is_named else None), is_named, given, partitions)
    parts, handle = keep.also(ffi.new("fre_curator_parts *")), keep.also(ffi.new_handle(cluster))
    parts.ctx, parts.stage, parts.users_named = handle, lib.fre_py_stage, is_named
    o.parts = parts
    with tempfile.TemporaryDirectory(prefix="fre-e2t-") as folder:
        target = pathlib.Path(folder, "release") if output is None else pathlib.Path(path_of(output, "output"))
        o.input, o.output = keep.text("the frame"), keep.text(os.fspath(target))
        o.what = keep.text(_synthesize.IN_MEMORY if output is None else None)
        o.force, o.dry_run = flag("force", force), flag("dry_run", dry_run)
        bar = Progress(progress)
        o.progress = bar.c
        try:
            run(lib.fre_curator_synthesize, result, o, progress=bar, stop=cluster.stop, said=_of_the_frame)
        except InternalError:
            if cluster.error is None:
                raise
            raise _said(cluster.error) from None
        finally:
            ffi.buffer(o.seed)[:] = bytes(32)
            cluster.close()
        r = ffi.gc(result[0], lib.fre_curator_result_free)
        found: Release | Plan = _synthesize.seen_plan(r) if dry_run else Release(read_folder(target), _synthesize._seen(r))
    _synthesize._log(found, given)
    return found
