"""Calls into the library: long ones run on a thread of their own, without the interpreter's lock, while the
calling thread waits, shows progress and can be interrupted."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ._errors import error_of, string
from ._fre import ffi, lib

logger = logging.getLogger("fre_e2t")
logger.addHandler(logging.NullHandler())

_TICK = 0.1  # seconds between two looks at the progress
_LINE = 10.0  # seconds between two lines of the log


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


# ---- interruption ---------------------------------------------------------------------------------

_lock = threading.Lock()
_running = 0
_interrupted = False


def _enter() -> None:
    global _running
    with _lock:
        _running += 1


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
    return bool(shell) and type(shell).__name__ == "ZMQInteractiveShell"


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
        self._bar = _is_shown() if shown is None else shown
        self._phase, self._since, self._drawn = "", time.monotonic(), 0
        self._logged = self._since

    @property
    def c(self):
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
            self._phase, self._since = name, now
        line = self._line(done[0], total[0], now)
        if self._bar:
            self._draw(line)
        elif now - self._logged >= _LINE:
            self._logged = now
            logger.info("%s", line)

    def _line(self, done: int, total: int, now: float) -> str:
        seconds = now - self._since
        if not total:
            return f"{self._phase}: {done:,}"
        share = min(done / total, 1.0)
        left = f", {seconds / share - seconds:.0f} s left" if share > 0 and seconds > 1 else ""
        full = int(share * 20)
        return f"{self._phase:<19} [{'#' * full}{'.' * (20 - full)}] {share:4.0%}{left}"

    def _draw(self, line: str) -> None:
        blanks = " " * (self._drawn - len(line))
        self._drawn = len(line)
        print("\r" + line + blanks, end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Take the bar away."""
        if self._bar and self._drawn:
            print("\r" + " " * self._drawn + "\r", end="", file=sys.stderr, flush=True)


# ---- calls ----------------------------------------------------------------------------------------

def check(status: int, err, said=lambda sentence: sentence) -> None:
    """Raise what a status stands for, if it is not FRE_OK."""
    if status != lib.FRE_OK:
        raise error_of(status, err, said)


def call(function: Callable[..., int], *args: Any, said=lambda sentence: sentence) -> None:
    """A function that takes no time and whose last parameter is a fre_err."""
    err = ffi.new("fre_err *")
    check(function(*args, err), err, said)


def _work(job: Callable[[], Any], result: dict[str, Any], done: threading.Event) -> None:
    try:
        result["value"] = job()
    except BaseException as error:  # raised again by the thread that waits
        result["error"] = error
    finally:
        _leave()
        done.set()


def _wait_uninterrupted(done: threading.Event, stop: Callable[[], None]) -> None:
    while not done.is_set():
        try:
            stop()
            done.wait(_TICK)
        except KeyboardInterrupt:
            continue


def in_thread(job: Callable[[], Any], progress: Progress | None = None, pure: bool = False,
              stop: Callable[[], None] = lambda: None) -> Any:
    """What job() returns, from a thread of its own.  KeyboardInterrupt is raised once the library has stopped
    and cleaned up; pure: at once, for nothing is lost if it goes on.  stop ends what job waits for, outside the
    library."""
    result: dict[str, Any] = {}
    done = threading.Event()
    _enter()
    thread = threading.Thread(target=_work, args=(job, result, done), daemon=True, name="fre-e2t")
    try:
        thread.start()
    except BaseException:
        _leave()
        raise
    try:
        while not done.wait(_TICK):
            if progress:
                progress.show()
    except BaseException:
        if not pure:
            _interrupt()
            _wait_uninterrupted(done, stop)
        raise
    finally:
        if progress:
            progress.end()
    if "error" in result:
        raise result["error"]
    return result["value"]


def run(function: Callable[..., int], *args: Any, progress: Progress | None = None, pure: bool = False,
        said=lambda sentence: sentence, stop: Callable[[], None] = lambda: None) -> None:
    """A function that takes time and whose last parameter is a fre_err."""
    err = ffi.new("fre_err *")
    check(in_thread(lambda: function(*args, err), progress, pure, stop), err, said)


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
