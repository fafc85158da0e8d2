"""Calls into the library: long ones run on a thread of their own, without the interpreter's lock, while the
calling thread waits, shows progress and can be interrupted."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ._errors import UsageError, error_of, string
from ._fre import ffi, lib

logger = logging.getLogger("fre_e2t")
logger.addHandler(logging.NullHandler())

_TICK = 0.1  # seconds between two looks at the progress
_LINE = 10.0  # seconds between two lines of the log
_REDRAWN = 0.5  # seconds between two states of the bar of a notebook


class Keep:
    """C memory of a call's arguments; it lives as long as this does."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def text(self, value: str | bytes | None):
        """A C string, or NULL."""
        if value is None:
            return ffi.NULL
        c = ffi.new("char[]", value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape"))
        self._kept.append(c)
        return c

    def also(self, c):
        """Any other object of cffi."""
        self._kept.append(c)
        return c


# ---- words and paths ------------------------------------------------------------------------------

def word(name: str, value: Any) -> str | None:
    """A str that C can hold, or None; name: of the parameter."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise UsageError(f"{name} must be a str, not {type(value).__name__}")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise UsageError(f"{name} holds half of a surrogate pair, which no UTF-8 has: repair it") from None
    if "\0" in value:
        raise UsageError(f"{name} holds NUL: leave it out")
    return value


def is_word(value: Any, wanted: str) -> bool:
    """Whether a value of whatever type is that str: of others == may mean anything."""
    return isinstance(value, str) and value == wanted


def path_of(path: Any, name: str = "data") -> str:
    """A path as str; name: of the parameter."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise UsageError(f"{name} must be a path, not {type(path).__name__}")
    found = word(name, os.fsdecode(path))
    if not found:
        raise UsageError(f"{name} must be a path, and is empty")
    try:
        os.fsencode(found)
    except UnicodeEncodeError:
        raise UsageError(f"{name} is a path that the encoding {sys.getfilesystemencoding()} of this process has no name for: "
                         "set PYTHONUTF8=1") from None
    return found


def flag(name: str, value: Any) -> bool:
    """Yes or no, numpy's too; None: left out."""
    if value is not None and type(value).__name__ not in ("bool", "bool_"):
        raise UsageError(f"{name} must be True or False, not {type(value).__name__}")
    return bool(value)


# ---- interruption ---------------------------------------------------------------------------------

_lock = threading.Lock()
_running = 0
_interrupted = False


def _enter() -> None:
    global _running
    with _lock:
        _running += 1


def _forked() -> None:
    """No call goes on in a child."""
    global _lock, _running, _interrupted
    _lock, _running = threading.Lock(), 0
    if _interrupted:
        lib.fre_interrupt_clear()
    _interrupted = False


os.register_at_fork(after_in_child=_forked)


def _leave() -> None:
    """The last call that ends takes back an interruption, which concerns all that run."""
    global _running, _interrupted
    with _lock:
        _running -= 1
        if _running == 0 and _interrupted:
            lib.fre_interrupt_clear()
            _interrupted = False


def _interrupt() -> None:
    global _interrupted
    with _lock:
        if _running > 0:
            _interrupted = True
            lib.fre_interrupt_set()


# ---- progress -------------------------------------------------------------------------------------

def _in_notebook() -> bool:
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return any(c.__name__ == "ZMQInteractiveShell" for c in type(shell).__mro__)  # others derive theirs from it


def _is_shown() -> bool:
    try:
        return _in_notebook() or sys.stderr.isatty()
    except (AttributeError, ValueError):  # closed, or none
        return False


class Progress:
    """A bar on a terminal or in a notebook, else a line of the log every ten seconds."""

    def __init__(self, shown: bool | None = None) -> None:
        self.sink = ffi.gc(lib.fre_py_progress_new(), lib.fre_py_progress_free)
        if self.sink == ffi.NULL:
            raise MemoryError("out of memory")
        bar = _is_shown() if shown is None else flag("progress", shown)
        self._bar: _Line | _Output | None = (_Output() if _in_notebook() else _Line()) if bar else None
        self._phase, self._since, self._done, self._at = "", time.monotonic(), 0, 0.0
        self._logged = self._since

    @property
    def c(self) -> Any:
        """For the library."""
        return lib.fre_py_progress_sink(self.sink)

    def show(self) -> None:
        """Look at what was told last."""
        phase, done, total = ffi.new("char[64]"), ffi.new("uint64_t *"), ffi.new("uint64_t *")
        lib.fre_py_progress_read(self.sink, phase, done, total)
        name = string(phase)
        if not name:
            return
        now = time.monotonic()
        if name != self._phase:
            self._phase, self._since, self._done = name, now, 0
        if done[0] != self._done:
            self._done, self._at = done[0], now
        line = self._line(done[0], total[0], now)
        if self._bar:
            self._try(lambda bar: bar.draw(line))
        elif now - self._logged >= _LINE:
            self._logged = now
            logger.info("%s", line)

    def _line(self, done: int, total: int, now: float) -> str:
        if not total:
            return f"{self._phase}: {done:,}" if done else self._phase
        share = min(done / total, 1.0)
        full = int(share * 20)
        return f"{self._phase:<19} [{'#' * full}{'.' * (20 - full)}] {share:4.0%}{self._left(share, now)}"

    def _left(self, share: float, now: float) -> str:
        """As the last step lets expect: it counts down until the next."""
        took = self._at - self._since
        if not share or took < 1:
            return ""
        left = took / share - took - (now - self._at)
        return f", {left:.0f} s left" if left >= 0.5 else ""

    def end(self) -> None:
        """Take the bar away."""
        if self._bar:
            self._try(lambda bar: bar.clear())

    def _try(self, what: Callable[[Any], None]) -> None:
        """A bar that cannot be shown ends, and no run with it."""
        try:
            what(self._bar)
        except (OSError, ValueError):
            self._bar = None


class _Line:
    """The last line of a terminal."""

    def __init__(self) -> None:
        self._shown = ""

    def draw(self, line: str) -> None:
        line = line[:max(shutil.get_terminal_size().columns - 1, 1)]
        if line != self._shown:
            self._print("\r" + line + " " * (len(self._shown) - len(line)))
            self._shown = line

    def clear(self) -> None:
        if self._shown:
            self._print("\r" + " " * len(self._shown) + "\r")
            self._shown = ""

    @staticmethod
    def _print(line: str) -> None:
        if sys.stderr is not None:
            print(line, end="", file=sys.stderr, flush=True)


class _Output:
    """A line below a cell of a notebook, changed in place: of a stream each state would be kept with the notebook."""

    def __init__(self) -> None:
        self._shown, self._handle, self._next = "", None, 0.0

    def draw(self, line: str) -> None:
        now = time.monotonic()
        if line == self._shown or now < self._next:
            return
        self._shown, self._next = line, now + _REDRAWN
        self._put({"text/plain": line})

    def _put(self, data: dict[str, str]) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def clear(self) -> None:
        if self._handle is not None:
            self._put({"text/plain": "", "text/html": ""})
            self._shown = ""


# ---- calls ----------------------------------------------------------------------------------------

def check(status: int, err, said=lambda sentence: sentence) -> None:
    """Raise what a status stands for, if it is not FRE_OK."""
    if status != lib.FRE_OK:
        raise error_of(status, err, said)


def call(function: Callable[..., int], *args: Any, said=lambda sentence: sentence) -> None:
    """A function that takes no time and whose last parameter is a fre_err."""
    err = ffi.new("fre_err *")
    check(function(*args, err), err, said)


def _work(job: Callable[[], Any], result: dict[str, Any], turn: threading.Lock, done: threading.Event, pure: bool) -> None:
    if not turn.acquire(blocking=False):
        return  # it was called off
    if not pure:
        _enter()
    try:
        result["value"] = job()
    except BaseException as error:  # raised again by the thread that waits
        result["error"] = error
    finally:
        if not pure:
            _leave()
        done.set()


def _wait_uninterrupted(done: threading.Event, stop: Callable[[], None]) -> None:
    """Whatever handlers of signals raise meanwhile: the library still reads what this call holds."""
    while True:
        try:
            while not done.is_set():
                _interrupt()
                stop()
                done.wait(_TICK)
            return
        except BaseException:
            continue


def in_thread(job: Callable[[], Any], progress: Progress | None = None, pure: bool = False,
              stop: Callable[[], None] = lambda: None) -> Any:
    """What job() returns, from a thread of its own.  KeyboardInterrupt is raised once the library has stopped
    and cleaned up; pure: at once, for nothing is lost if it goes on (and it is none of those that an interruption
    waits for).  stop ends what job waits for, outside the library."""
    if sys.is_finalizing():
        return job()  # what begins now never gets the interpreter
    result: dict[str, Any] = {}
    turn, done = threading.Lock(), threading.Event()  # turn: of the thread, which begins, or of whoever calls it off
    thread = threading.Thread(target=_work, args=(job, result, turn, done, pure), daemon=True, name="fre-e2t")
    try:
        thread.start()
        while not done.wait(_TICK):
            if progress:
                progress.show()
    except BaseException as error:
        if turn.acquire(blocking=False):  # it has not begun, and never will
            if isinstance(error, RuntimeError):  # no thread is to be had
                return job()
        elif not pure:
            _wait_uninterrupted(done, stop)
        raise
    finally:
        if progress:
            progress.end()
    if "error" in result:
        raise result["error"]
    return result["value"]


def run(function: Callable[..., int], *args: Any, progress: Progress | None = None, pure: bool = False,
        said=lambda sentence: sentence, stop: Callable[[], None] = lambda: None, held: Any = None) -> None:
    """A function that takes time and whose last parameter is a fre_err.  held: what the arguments point to, if it is
    pure, for it may go on behind an interruption."""
    err = ffi.new("fre_err *")
    check(in_thread(lambda _=held: function(*args, err), progress, pure, stop), err, said)


class Buffer:
    """Bytes that the library writes."""

    def __init__(self, most: int = 1 << 30) -> None:
        self.c = ffi.new("fre_buf *")
        lib.fre_buf_init(self.c, most)

    def __enter__(self) -> "Buffer":
        return self

    def __exit__(self, *_: object) -> None:
        lib.fre_buf_wipe(self.c)

    def bytes(self) -> bytes:
        """What it holds."""
        return bytes(ffi.buffer(self.c.p, self.c.n)) if self.c.n else b""


def json_of(function: Callable[..., int], *args: Any) -> bytes:
    """The JSON that a function appends to its first parameter, a fre_buf."""
    with Buffer(1 << 24) as out:
        status = function(out.c, *args)
        if status != lib.FRE_OK:
            raise error_of(status, ffi.new("fre_err *"))
        return out.bytes()
