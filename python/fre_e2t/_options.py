"""Options that several functions take."""

from __future__ import annotations

import os
from typing import Any

from ._call import Keep
from ._errors import UsageError
from ._fre import lib
from ._plan import choice, number

_FORMATS = ("auto", "txt", "jsonl", "csv", "tsv")  # in the order of fre_corpus_format
_INVALID = ("strict", "skip", "replace")  # of fre_corpus_invalid


def corpus_options(o: Any, keep: Keep, given: dict[str, Any]) -> None:
    """How a file of texts is read; o: a fre_corpus_opts."""
    if "format" in given:
        o.format = choice("format", given["format"], _FORMATS)
    if "invalid" in given:
        o.invalid = choice("invalid", given["invalid"], _INVALID)
    if "delimiter" in given:
        delimiter = given["delimiter"]
        if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in "\"\r\n\0":
            raise UsageError("delimiter must be one ASCII character")
        o.delimiter = delimiter.encode()
    for name in ("encoding", "na_values"):
        if name in given:
            setattr(o, name, keep.text(str(given[name])))


def search_options(o: Any, keep: Keep, given: dict[str, Any]) -> None:
    """Of an inverter's search; o: a fre_search_opts."""
    if "effort" in given:
        o.effort = number("effort", given["effort"], "fre_search_param_effort")
    if "language_weight" in given:
        o.lm_weight = number("language_weight", given["language_weight"], "fre_search_param_language_weight")
    for name in ("public_corpus", "public_text_field", "language_model", "prior", "bridge"):
        if name in given:
            setattr(o, name, keep.text(os.fsdecode(given[name])))


def seed_of(seed: str | bytes) -> bytes:
    """32 bytes."""
    try:
        value = bytes.fromhex(seed) if isinstance(seed, str) else bytes(seed)
    except (ValueError, TypeError):
        value = b""
    if len(value) != 32:
        raise UsageError("seed must be 32 bytes, or their 64 hexadecimal digits")
    return value
