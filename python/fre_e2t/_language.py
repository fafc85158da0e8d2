"""Texts to embeddings and back, and how natural texts are: `embed`, `invert`, `score`."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from ._call import Keep, Progress, in_thread, check, is_word, path_of, run
from ._data import check_columns, is_path, matrix, read_back
from ._errors import DataError, UsageError, string
from ._fre import ffi, lib
from ._options import check_search, search_options
from ._plan import number, said

_BATCH = 2048  # texts that are handed over at once


def _file(path: str | os.PathLike[str] | None, what: str) -> str | None:
    return None if path is None or is_word(path, "default") else path_of(path, what)


def _threads(threads: int | None) -> int:
    if threads is None:
        return lib.fre_cpu_count()
    return number("threads", threads, "fre_param_threads")


def _open_embedder(path: str | os.PathLike[str] | None, threads: int | None) -> Any:
    keep, o, out = Keep(), ffi.new("fre_embedder_opts *"), ffi.new("fre_embedder **")
    o.path, o.threads = keep.text(_file(path, "embedder")), _threads(threads)
    run(lib.fre_embedder_new, out, o)
    return ffi.gc(out[0], lib.fre_embedder_free)


def embedder_meta(path: str | os.PathLike[str] | None, threads: int | None) -> dict[str, Any]:
    """What a sidecar says of rows that this embedder made."""
    embedder, meta = _open_embedder(path, threads), ffi.new("fre_npy_meta *")
    lib.fre_embedder_rows_meta(embedder, meta)
    return {"embedder": string(meta.embedder), "sha256": string(meta.sha256), "normalised": bool(meta.normalised),
            "dimension": lib.fre_embedder_info(embedder).dim}


def _strings(data: Any, text: str | None, what: str) -> list[str]:
    if is_path(data):
        raise UsageError(f"{what} takes texts in memory: a list of str or a data frame; for a file run the program "
                         "(python -m fre_e2t)")
    check_columns(text, None)
    found = [t for t, _ in read_back(data, text or "text", None)]
    for i, t in enumerate(found, 1):
        if t is None:
            raise DataError(f"record {i} has no text: leave it out, so that rows and records stay in step")
    return found


def _utf8(text: str, row: int) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # which quotes it
        pass
    raise DataError(f"record {row} holds half of a surrogate pair, which no UTF-8 has: repair it")


class _Chunk:
    """Some texts as C strings with their lengths."""

    def __init__(self, texts: list[str], before: int = 0) -> None:
        data = [_utf8(t, row) for row, t in enumerate(texts, before + 1)]
        self.kept = [ffi.from_buffer("char[]", b) for b in data]
        self.texts = ffi.new("const char *[]", self.kept)
        self.lengths = ffi.new("size_t[]", [len(b) for b in data])


def embed(data: Any, *, text: str | None = None, embedder: str | os.PathLike[str] | None = None,
          threads: int | None = None, progress: bool | None = None) -> np.ndarray:
    """float32 rows, one a text, in order; a text without a word has a row of zeros.  As private as the texts."""
    texts = _strings(data, text, "embed")
    e, bar = _open_embedder(embedder, threads), Progress(progress)
    out = np.zeros((len(texts), lib.fre_embedder_info(e).dim), dtype=np.float32)
    err = ffi.new("fre_err *")

    def work() -> None:
        lib.fre_progress_update(bar.c, b"embedding", 0, len(texts))
        for i in range(0, len(texts), _BATCH):
            some = _Chunk(texts[i:i + _BATCH], i)
            rows = ffi.from_buffer("float[]", out[i:i + _BATCH])
            check(lib.fre_embed_texts(e, rows, some.texts, some.lengths, len(some.kept), err), err)
            lib.fre_progress_update(bar.c, b"embedding", min(i + _BATCH, len(texts)), len(texts))

    in_thread(work, bar)
    return out


def _noise(noise_std: float | Iterable[float], n: int) -> Any:
    try:
        values = np.asarray(noise_std).astype(np.float64, casting="same_kind" if np.iscomplexobj(noise_std) else "unsafe")
    except (TypeError, ValueError, ArithmeticError):
        raise DataError("noise_std must be a number, or one for each row") from None
    if values.ndim == 0:
        values = np.broadcast_to(values, (n,))
    if values.shape != (n,):
        raise DataError(f"noise_std must be one number, or one for each of the {n} rows")
    if not np.all(np.isfinite(values) & (values >= 0)):
        raise DataError("noise_std must be finite and at least 0")
    return ffi.new("double[]", [float(v) for v in values])


def _inversion(v: Any) -> dict[str, Any]:
    has = v.text != ffi.NULL
    row: dict[str, Any] = {"text": string(v.text) if has else None}
    if v.unreadable != ffi.NULL:
        row["unreadable"] = string(v.unreadable)
    row["similarity"], row["distance"] = (v.similarity, v.distance) if has else (None, None)
    return row


def invert(embeddings: Any, *, noise_std: float | Iterable[float] = 0.0,
           inverter: str | os.PathLike[str] | None = None, embedder: str | os.PathLike[str] | None = None,
           samples: int | None = None, temperature: float | None = None, effort: int | None = None,
           public_corpus: str | os.PathLike[str] | None = None, public_text_field: str | None = None,
           language_model: str | os.PathLike[str] | None = None, language_weight: float | None = None,
           prior: str | os.PathLike[str] | None = None, bridge: str | os.PathLike[str] | None = None,
           threads: int | None = None, progress: bool | None = None) -> list[dict[str, Any]]:
    """The text that explains each row best, given how noisy it is: dicts with the keys of `fre-e2t invert`.
    embeddings: rows of the embedder, as they are; noise_std: of a coordinate."""
    given = said(dict(locals()))
    rows = matrix(embeddings)
    if is_word(inverter, "none"):
        raise UsageError("inverter='none' leaves nothing to invert with; name a GGUF file or 'search'")
    check_search(given)
    for name in ("samples", "temperature"):
        if name in given and is_word(inverter, "search"):
            raise UsageError(f"{name} is about an inverter's decoder, which inverter='search' does without: leave out one of "
                             "them")
    noise = _noise(noise_std, len(rows))
    e, keep, bar = _open_embedder(embedder, threads), Keep(), Progress(progress)
    dim = lib.fre_embedder_info(e).dim
    if rows.shape[1] != dim:
        raise DataError(f"embeddings has rows of {rows.shape[1]} numbers, but the embedder makes {dim}: name the one "
                        "they come from with embedder")
    o, v = ffi.new("fre_inverter_opts *"), ffi.new("fre_inverter **")
    o.path, o.threads, o.progress = keep.text(_file(inverter, "inverter")), _threads(threads), bar.c
    if samples is not None:
        o.samples = number("samples", samples, "fre_inverter_param_samples")
    if temperature is not None:
        o.temperature = number("temperature", temperature, "fre_inverter_param_temperature")
    search_options(o.search, keep, given)
    run(lib.fre_inverter_new, v, e, o, progress=bar)
    made = ffi.gc(v[0], lambda p: (lib.fre_inverter_free(p), e))  # which it stands on
    out = ffi.new("fre_inversion[]", len(rows))
    run(lib.fre_invert, made, out, ffi.from_buffer("float[]", rows), noise, len(rows), bar.c,
        progress=bar)
    result = [_inversion(out[i]) for i in range(len(rows))]
    for i in range(len(rows)):
        lib.fre_inversion_wipe(ffi.addressof(out, i))
    return result


def score(data: Any, *, text: str | None = None, language_model: str | os.PathLike[str] | None = None,
          max_tokens: int | None = None, threads: int | None = None,
          progress: bool | None = None) -> list[dict[str, Any]]:
    """How natural texts read under a language model: dicts with text, tokens, nll and perplexity, as `fre-e2t
    score` has them.  The default model is not in the wheel: `fre-e2t score` says how it is obtained."""
    texts = _strings(data, text, "score")
    keep, o, out = Keep(), ffi.new("fre_lm_opts *"), ffi.new("fre_lm **")
    o.path, o.threads = keep.text(_file(language_model, "language_model")), _threads(threads)
    if max_tokens is not None:
        o.max_tokens = number("max_tokens", max_tokens, "fre_lm_param_max_tokens")
    run(lib.fre_lm_open, out, o)
    lm, bar, some = ffi.gc(out[0], lib.fre_lm_free), Progress(progress), _Chunk(texts)
    scores = ffi.new("fre_lm_score[]", max(len(texts), 1))
    run(lib.fre_lm_score_texts, lm, scores, some.texts, some.lengths, len(texts), bar.c, progress=bar)
    return [_scored(t, scores[i]) for i, t in enumerate(texts)]


def _scored(text: str, s: Any) -> dict[str, Any]:
    nll = _nll(s)
    return {"text": text, "tokens": s.tokens, "nll": nll, "perplexity": None if nll is None else math.exp(nll)}


def _nll(s: Any) -> float | None:
    copy = ffi.new("fre_lm_score *")
    copy[0] = s
    nll = lib.fre_lm_nll(copy)
    return None if math.isnan(nll) else nll
