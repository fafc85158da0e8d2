"""Options that several functions take."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ._call import Keep, is_word, path_of, word
from ._errors import UsageError
from ._plan import choice, levels_of, number

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
            setattr(o, name, keep.text(word(name, given[name])))


def search_options(o: Any, keep: Keep, given: dict[str, Any]) -> None:
    """Of an inverter's search; o: a fre_search_opts."""
    if "effort" in given:
        o.effort = number("effort", given["effort"], "fre_search_param_effort")
    if "language_weight" in given:
        o.lm_weight = number("language_weight", given["language_weight"], "fre_search_param_language_weight")
    if "public_text_field" in given:
        o.public_text_field = keep.text(word("public_text_field", given["public_text_field"]))
    for name in ("public_corpus", "language_model", "prior", "bridge"):
        if name in given:
            setattr(o, name, keep.text(path_of(given[name], name)))


def seed_of(seed: str | bytes) -> bytes:
    """32 bytes; fewer digits than theirs stand for a number with zeros in front."""
    if isinstance(seed, str) and re.fullmatch("[0-9a-fA-F]{1,64}", seed):
        return bytes.fromhex(seed.zfill(64))
    if not isinstance(seed, bytes) or len(seed) != 32:
        raise UsageError("seed must be 32 bytes, or 1 to 64 hexadecimal digits")
    return seed


def is_zero(value: Any) -> bool:
    """Not the word for it, and no array of it."""
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and value == 0


# ---- what is about nothing ------------------------------------------------------------------------------

_OF_SEARCH = ("effort", "public_corpus", "public_text_field", "language_weight", "language_model", "prior", "bridge")
_WHOLE = {"public_text_field": "public_corpus", "language_weight": "language_model"}


def check_search(given: dict[str, Any]) -> None:
    """Options of a search that nobody makes."""
    for name in _OF_SEARCH:
        if name in given and is_word(given.get("inverter"), "none"):
            raise UsageError(f"{name} is about the texts, of which inverter='none' makes none: leave out one of them")
    for name, of in _WHOLE.items():
        if name in given and of not in given:
            raise UsageError(f"{name} is about {of}: add that")


def check_texts(given: dict[str, Any]) -> None:
    """Options of texts that nobody asks for."""
    for name in ("texts_per_cell", "codebook"):
        if name in given and levels_of(given) == "grid":
            raise UsageError(f"{name} is about public cells: add levels='auto'")
    for name in ("temperature", "paraphrase_distance"):
        if name in given and is_zero(given.get("paraphrases", 0)):
            raise UsageError(f"{name} is about paraphrases: add paraphrases=N")
