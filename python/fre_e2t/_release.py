"""A release: drawn once, then data like any other."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from . import _shown
from ._call import Buffer, Keep, flag, path_of, run
from ._errors import DataError, ExistsError, InputOutputError, MissingError, UsageError, named, string
from ._fre import ffi, lib
from ._plan import Plan, number

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow



def file_names() -> tuple[str, ...]:
    """The files of a release's folder."""
    names, i, found = lib.fre_release_files(), 0, []
    while names[i] != ffi.NULL:
        found.append(string(names[i]))
        i += 1
    return tuple(found)


class Texts(Sequence[dict[str, Any]]):
    """The lines of a release, each a dict with the keys of synthetic.jsonl; also an Arrow table."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, i: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, i: slice) -> Texts: ...

    def __getitem__(self, i: int | slice) -> dict[str, Any] | Texts:
        return Texts(self._lines[i]) if isinstance(i, slice) else self._lines[i]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Texts) and self._lines == other._lines

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Texts: {len(self)} line{'' if len(self) == 1 else 's'}>"

    def __str__(self) -> str:
        return _shown.as_text(self._lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return f"<div>{_shown.as_html(self._lines)}</div>"

    def to_list(self) -> list[str | None]:
        """The texts alone; None: a line that was not put into words."""
        return [line.get("text") for line in self._lines]

    def columns(self) -> dict[str, list[Any]]:
        """The keys that all readers want, as columns."""
        return {key: [line.get(key) for line in self._lines] for key in _COLUMNS}

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule interface, for pandas, polars, pyarrow and DuckDB."""
        from . import _arrow

        columns = self.columns()
        return _arrow.stream_of({key: (columns[key], kind) for key, kind in _COLUMNS.items()}, len(self))

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas.DataFrame."""
        import pandas

        columns = self.columns()
        types = {"int": "Int64", "float": "float64", "string": object}
        return pandas.DataFrame({key: pandas.Series(columns[key], dtype=types[kind])
                                 for key, kind in _COLUMNS.items()})

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow.Table."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """A polars.DataFrame."""
        import polars

        return polars.DataFrame(_Stream(self))


class _Stream:
    """The Arrow stream alone: a sequence of dicts has other columns for polars."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._texts.__arrow_c_stream__(requested_schema)


_COLUMNS = {
    "text": "string", "count": "int", "users": "float", "noise_norm": "float", "similarity": "float",
    "confidence": "float", "confidence_exact": "float", "group": "int", "level": "string", "centre": "int",
    "parent": "int", "theme": "int", "around": "string",
}


class Release:
    """What a run released.  It is read, stored and pickled as often as one likes: nothing is drawn again, and
    nothing is spent."""

    def __init__(self, files: dict[str, bytes], private: dict[str, Any] | None = None) -> None:
        self._files = files
        self._about = json.loads(files["release.json"])
        self._lines = [json.loads(line) for line in files["synthetic.jsonl"].splitlines() if line.strip()]
        self.not_for_publication: dict[str, Any] | None = private
        """What the run saw, exactly, and what the ledger says: for the curator's own eyes.  Neither saved nor
        pickled."""

    @property
    def texts(self) -> Texts:
        """A line a released cell, in random order."""
        return Texts(self._lines)

    @property
    def centroids(self) -> npt.NDArray[np.float32]:
        """float32, a row a line of `texts`."""
        return np.load(io.BytesIO(self._files["centroids.npy"]), allow_pickle=False)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """int64, a number a line of `texts`."""
        return np.load(io.BytesIO(self._files["counts.npy"]), allow_pickle=False)

    @property
    def statement(self) -> str:
        """The privacy statement, a sentence or a condition a line."""
        said = self._about.get("statement", [])
        return "\n".join(said) if isinstance(said, list) else str(said)

    @property
    def plan(self) -> Plan:
        """The parameters that it was made with."""
        return Plan(self._about.get("parameters", {}), self.statement)

    @property
    def about(self) -> dict[str, Any]:
        """All of release.json."""
        return json.loads(self._files["release.json"])

    @property
    def is_private(self) -> bool:
        """Whether anything is claimed."""
        return bool(self._about.get("private"))

    @property
    def warnings(self) -> list[str]:
        """What one should know of it."""
        return [named(w) for w in self._about.get("warnings", [])]

    def __len__(self) -> int:
        return len(self._lines)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self._files == other._files

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        cells = f"{len(self)} cell{'' if len(self) == 1 else 's'}"
        return f"<Release: {cells}, {'private' if self.is_private else 'NOT PRIVATE'}>"

    def __str__(self) -> str:
        claim = "" if self.is_private else "NOT PRIVATE\n"
        return claim + _shown.as_text(self._lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        claim = "" if self.is_private else "<p><strong>NOT PRIVATE</strong></p>"
        return (f"<div>{claim}{_shown.as_html(self._lines)}{_shown.notes_html(self.warnings)}"
                f"{_shown.statement_html(self.statement)}</div>")

    def __reduce__(self) -> tuple[Any, ...]:
        return Release, (dict(self._files),)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write it as a folder, which appears whole or not at all; force replaces a release that is there."""
        target = _target(folder, "folder")
        if target.exists() or target.is_symlink():
            if not flag("force", force):
                raise ExistsError(f"{target} exists: name another folder, or add force=True")
            _check_replaceable(target)
        _write_folder(target, self._files)

    def report(self, path: str | os.PathLike[str], *, evaluation: dict[str, Any] | None = None, public: bool = False,
               force: bool = False, threads: int | None = None) -> None:
        """One HTML file that people read; with `evaluation` (of `evaluate`) also how good it is, which is not
        public unless the originals are.  public: only what may be published."""
        target = _target(path, "path")
        is_there = os.path.lexists(target)
        if is_there and (target.is_symlink() or not target.is_file()):
            raise ExistsError(f"{target} is no regular file, so it is not replaced: name another")
        if is_there and not flag("force", force):
            raise ExistsError(f"{target} exists: name another file, or add force=True")
        with tempfile.TemporaryDirectory(prefix="fre-e2t-") as folder, Buffer() as out:
            here = pathlib.Path(folder, "release")
            _write_folder(here, self._files)
            keep, o = Keep(), ffi.new("fre_report_opts *")
            o.release = keep.text(str(here))
            if evaluation is not None:
                measured = keep.also(ffi.from_buffer(_evaluation(evaluation)))
                o.evaluation_json.p, o.evaluation_json.n = ffi.cast("const uint8_t *", measured), len(measured)
            o.is_public = flag("public", public)
            o.threads = lib.fre_cpu_count() if threads is None else number("threads", threads, "fre_param_threads")
            run(lib.fre_report_render, out.c, o)
            try:
                _write_file(target, out.bytes(), 0o600 if evaluation is not None else 0o666)
            except OSError as error:
                raise InputOutputError(f"{target} cannot be written: {error.strerror}") from error


def _evaluation(evaluation: Any) -> bytes:
    if isinstance(evaluation, dict):
        try:
            return json.dumps(evaluation).encode()
        except (TypeError, ValueError, RecursionError):
            pass
    raise UsageError("evaluation is what evaluate returned")


# ---- files ------------------------------------------------------------------------------------------

def _target(path: Any, name: str) -> pathlib.Path:
    """What is to be written."""
    target = pathlib.Path(path_of(path, name))
    target = target if target.name not in ("", "..") else target.resolve()
    try:
        target.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise InputOutputError(f"{str(target)[-200:]} cannot be made: {error.strerror}") from error
    if not target.name:
        raise ExistsError("the root folder cannot be replaced: name another")
    return target


def _write_file(target: pathlib.Path, content: bytes, mode: int) -> None:
    """Whole, or not at all; OSError."""
    part = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
    try:
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "wb") as f:
            f.write(content)
            f.flush()
            os.fsync(f.fileno())
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def _check_replaceable(target: pathlib.Path) -> None:
    """Only a release is ever removed."""
    if target.is_symlink() or not target.is_dir() or not {p.name for p in target.iterdir()} <= set(file_names()):
        raise ExistsError(f"{target} holds other files than those of a release, so it is not replaced: name another "
                          "folder")


def _write_folder(target: pathlib.Path, files: dict[str, bytes]) -> None:
    try:
        part = pathlib.Path(tempfile.mkdtemp(prefix=f".{target.name[:200]}.", dir=target.parent))
    except OSError as error:
        raise InputOutputError(f"{target} cannot be made: {error.strerror}") from error
    try:
        for name, content in files.items():
            _write_file(part / name, content, 0o666)
        os.chmod(part, 0o777 & ~_umask())
        if target.exists():
            shutil.rmtree(target)
        part.rename(target)
    except OSError as error:
        raise InputOutputError(f"{target} cannot be made: {error.strerror}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _umask() -> int:
    with open("/proc/self/status", encoding="ascii") as f:
        for line in f:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o077


def read_folder(folder: str | os.PathLike[str]) -> dict[str, bytes]:
    """The files of a release's folder, once the library has found them sound."""
    path = pathlib.Path(path_of(folder, "folder"))
    release = ffi.new("fre_release *")
    run(lib.fre_release_read, release, Keep().text(os.fspath(path)))
    lib.fre_release_wipe(release)
    files = {}
    for name in file_names():
        try:
            files[name] = (path / name).read_bytes()
        except FileNotFoundError:
            if not name.endswith(".npy.json"):
                raise MissingError(f"{path / name} is missing: this is no release's folder") from None
        except OSError as error:
            raise InputOutputError(f"{path / name} cannot be read: {error.strerror}") from error
    return files


def _check(release: Release, folder: str) -> None:
    """What the library leaves to who reads further: arrays as numpy reads them."""
    for name, kind, shape in (("counts", "i", 1), ("centroids", "f", 2)):
        try:
            a = getattr(release, name)
            is_sound = a.dtype.kind == kind and a.ndim == shape and len(a) == len(release)
        except Exception:  # of numpy's, of many kinds
            is_sound = False
        if not is_sound:
            raise DataError(f"{os.path.join(folder, name + '.npy')} is damaged: it must have a row for each line of the "
                            "release")


def load(folder: str | os.PathLike[str]) -> Release:
    """A release that `save`, `synthesize` or the program wrote."""
    try:
        release = Release(read_folder(folder))
        _check(release, path_of(folder, "folder"))
        return release
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{os.fspath(folder)} is damaged: a file of it is not valid JSON") from error
