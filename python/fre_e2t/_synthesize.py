"""`synthesize`: private texts in, a release out."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from ._call import Keep, Progress, flag, is_word, logger, path_of, run, word
from ._data import (Texts, Workspace, check_columns, encoded, is_nobody, is_path, matrix, read_back, write_matrix,
                    write_users)
from ._errors import DataError, UsageError, named, string
from ._fre import ffi, lib
from ._language import embedder_meta
from ._options import check_search, check_texts, corpus_options, is_zero, search_options, seed_of
from ._plan import Plan, choice, levels_of, number, plan_of, request_of, said
from ._release import Release, read_folder

_FOLDS = ("nfc", "none", "case")  # of fre_fold

# Numbers of a run beside its plan's: the library's parameter, and the path of the field.
_NUMBERS = {
    "texts_per_cell": ("fre_curator_param_texts", "texts_per_cell"),
    "min_confidence": ("fre_curator_param_confidence", "min_confidence"),
    "paraphrases": ("fre_curator_param_paraphrases", "paraphrases"),
    "temperature": ("fre_paraphrase_param_temperature", "temperature"),
    "paraphrase_distance": ("fre_paraphrase_param_distance", "paraphrase_distance"),
    "threads": ("fre_param_threads", "threads"),
    "budget_epsilon": ("fre_ledger_param_budget_epsilon", "budget_epsilon"),
    "budget_delta": ("fre_ledger_param_budget_delta", "budget_delta"),
}

IN_MEMORY = "a release in memory (Python)"  # to the ledger, where no folder was named
_RECORDS_ARE_USERS = ("each record counts as a user of its own, so the claim is about one record: if people have several, "
                      "name them with user; if not, say user=False")


# ---- what comes in --------------------------------------------------------------------------------------

def _from_texts(o: Any, keep: Keep, space: Workspace, data: Any, given: dict[str, Any]) -> None:
    user = _user_column(given)
    if not is_path(data):
        for name in ("format", "delimiter", "encoding"):
            if name in given:
                raise UsageError(f"{name} is about a file, but data is in memory: leave it out")
    texts = Texts(space, data, given.get("text"), user)
    o.input = keep.text(texts.path)
    o.corpus.text_field = keep.text(texts.text)
    o.corpus.user_field = keep.text(texts.user)


def _user_column(given: dict[str, Any]) -> str | None:
    user = given.get("user")
    return None if is_nobody(user) else user


def _rows_without_text(given: dict[str, Any]) -> None:
    """Rows of numbers of an embedder that the library does not have cannot be put into words, nor into its cells."""
    if levels_of(given) != "grid":
        raise UsageError("levels must be 'grid' for embeddings of a model that is no GGUF file: public cells are those of an "
                         "embedder")
    if not is_word(given.setdefault("inverter", "none"), "none"):
        raise UsageError("inverter must be 'none' for embeddings of a model that is no GGUF file: the release has "
                         "centroids and no texts")


def _from_model(o: Any, keep: Keep, space: Workspace, data: Any, given: dict[str, Any]) -> None:
    """Texts that another embedder embeds."""
    if is_path(data):
        raise UsageError("with an embedding_model of your own, data must be in memory: read the file first")
    _rows_without_text(given)
    text, user = given.get("text"), _user_column(given)
    check_columns(text, user)
    text = text or "text"
    some = [(t, who) for t, who in read_back(data, text, user) if t is not None and t.strip()]
    if not some:
        raise DataError("data is empty: it has no record with a text")
    rows = encoded(given["embedding_model"], [t for t, _ in some])
    if not rows.any():
        raise DataError("embedding_model returned nothing but zeros, as for texts of which it knows no word: choose another")
    o.input = keep.text(write_matrix(space, rows, None))
    if user is not None:
        o.user_file = keep.text(write_users(space, (who for _, who in some), len(rows)))


def _from_rows(o: Any, keep: Keep, space: Workspace, embeddings: Any, given: dict[str, Any]) -> None:
    rows, meta, model = matrix(embeddings), None, given.get("embedding_model")
    if not rows.any():
        raise DataError("embeddings holds nothing but zeros, as of texts of which a model knows no word")
    if model is None:
        _rows_without_text(given)
    elif is_path(model):
        meta = embedder_meta(path_of(model, "embedding_model"), given.get("threads"))
        if meta["dimension"] != rows.shape[1]:
            raise DataError(f"embeddings has rows of {rows.shape[1]} numbers, but embedding_model makes "
                            f"{meta['dimension']}: name the model that made them")
    else:
        raise UsageError("with embeddings, embedding_model is 'default' or the GGUF file that made them")
    o.input = keep.text(write_matrix(space, rows, meta))
    users = given.get("user")
    if isinstance(users, os.PathLike):
        o.user_file = keep.text(path_of(users, "user"))
    elif not is_nobody(users):
        o.user_file = keep.text(write_users(space, users, len(rows)))


def _input(o: Any, keep: Keep, space: Workspace, data: Any, embeddings: Any, given: dict[str, Any]) -> None:
    model = given.get("embedding_model")
    if (data is None) == (embeddings is None):
        raise UsageError("give data, or embeddings" + ("" if data is None else ", not both"))
    if embeddings is not None:
        if "text" in given:
            raise UsageError("text is about data, and embeddings has no columns: leave it out")
        _from_rows(o, keep, space, embeddings, given)
    elif model is not None and not is_path(model):
        _from_model(o, keep, space, data, given)
    else:
        _from_texts(o, keep, space, data, given)
    if is_path(model) and not is_word(model, "default"):
        if "embedder" in given:
            raise UsageError("embedding_model and embedder both name the embedder: give one of them")
        given["embedder"] = model


# ---- options ----------------------------------------------------------------------------------------------

def _ledger(o: Any, keep: Keep, given: dict[str, Any]) -> None:
    ledger = given.get("ledger")
    o.ledger_default = ledger is None
    if ledger is False or is_word(ledger, "none"):
        for name in ("budget_epsilon", "budget_delta", "data_name"):
            if name in given:
                raise UsageError(f"{name} needs a ledger: leave out ledger=False")
    elif ledger is True:
        raise UsageError("ledger is the path of one, or False for none: leave it out for your own")
    elif ledger is not None:
        o.ledger = keep.text(path_of(ledger, "ledger"))
    if "data_name" in given:
        name = word("data_name", given["data_name"])
        if not name.strip():
            raise UsageError("data_name is empty: give the data a name")
        o.data_name = keep.text(name)


def _check_together(given: dict[str, Any]) -> None:
    named_users = not is_nobody(given.get("user"))
    if "max_cells_per_user" in given and not named_users and \
            number("max_cells_per_user", given["max_cells_per_user"], "fre_param_max_cells_per_user") != 1:
        raise UsageError("max_cells_per_user needs user: without it each record is a user of its own")
    if "user_fold" in given and not named_users:
        raise UsageError("user_fold needs user: nobody is named")
    inverter = given.get("inverter")
    if "paraphrases" in given and is_word(inverter, "none") and not is_zero(given["paraphrases"]):
        raise UsageError("paraphrases needs texts: leave out inverter='none'")
    check_search(given)
    check_texts(given)


def _options(o: Any, keep: Keep, given: dict[str, Any]) -> None:
    for name, (parameter, field) in _NUMBERS.items():
        if name in given:
            value = given[name]
            setattr(o, field, 0 if name == "paraphrases" and is_zero(value) else number(name, value, parameter))
    request_of(ffi.addressof(o, "plan"), given)
    corpus_options(o.corpus, keep, given)
    search_options(o.search, keep, given)
    if "user_fold" in given:
        o.corpus.user_fold = choice("user_fold", given["user_fold"], _FOLDS)
    for name in ("embedder", "inverter", "codebook"):
        if name in given:
            setattr(o, name, keep.text(path_of(given[name], name)))
    _ledger(o, keep, given)
    if "seed" in given:
        o.seeded = True
        ffi.buffer(o.seed)[:] = seed_of(given["seed"])


# ---- what comes out -----------------------------------------------------------------------------------------

def _ledger_seen(r: Any) -> dict[str, Any] | None:
    if not r.recorded:
        return None
    total = r.receipt.sum
    return {"file": string(r.ledger), "entry": string(r.receipt.id), "releases": total.releases,
            "epsilon": total.epsilon, "delta": total.delta, "budget_epsilon": total.budget_epsilon or None,
            "budget_delta": total.budget_delta or None}


def _seen(r: Any) -> dict[str, Any]:
    """Exact numbers, which no claim covers."""
    s = r.stats
    notes = [named(string(note)) for note in (r.ledger_note, r.ledger_warning) if note[0] != b"\0"]
    if r.resume_left != ffi.NULL:
        notes.append("an interrupted run left files beside the output: " + string(r.resume_left) + ".*")
    seen = {"records": s.records - s.text.empty, "users": s.users, "distinct": s.distinct,
            "empty": s.empty + s.text.empty, "invalid": s.invalid, "counted": s.counted,
            "repeated_texts": s.repeated_texts, "repeated_records": s.repeated_records, "unknown": s.text.unknown,
            "warnings": notes, "ledger": _ledger_seen(r)}
    if not r.dry_run:
        seen |= {"contributed": s.contributed, "cells": s.cells, "truncated": s.text.truncated,
                 "foreign": s.text.foreign,
                 "seconds": dict(zip(("embedding", "counting", "inversion"), list(r.seconds)))}
    return seen


def seen_plan(r: Any) -> Plan:
    """What a dry run would do, and what it saw."""
    statement = string(r.release.statement) if r.release.statement != ffi.NULL else None
    return plan_of(ffi.addressof(r, "plan"), statement, _seen(r))


def _log(found: Release | Plan, given: dict[str, Any]) -> None:
    seen = found.not_for_publication or {}
    for warning in [*found.warnings, *seen.get("warnings", [])]:
        logger.warning("%s", warning)
    if "user" not in given:
        logger.warning("%s", _RECORDS_ARE_USERS)
    ledger = seen.get("ledger")
    if ledger:
        logger.info("this data has now spent epsilon %.6g, delta %.4g in %d release%s", ledger["epsilon"], ledger["delta"],
                    ledger["releases"], "" if ledger["releases"] == 1 else "s")


class Common(TypedDict, total=False):
    """What synthesize takes here and of a Spark frame alike, for type checkers."""

    population: int | None
    threshold: int | None
    levels: str | list[Any] | None
    delta: float | str | None
    ledger: str | os.PathLike[str] | bool | None
    data_name: str | None
    budget_epsilon: float | None
    budget_delta: float | None
    embedder: str | os.PathLike[str] | None
    inverter: str | os.PathLike[str] | None
    codebook: str | os.PathLike[str] | None
    texts_per_cell: int | None
    min_confidence: float | None
    paraphrases: int | None
    temperature: float | None
    paraphrase_distance: float | None
    effort: int | None
    public_corpus: str | os.PathLike[str] | None
    public_text_field: str | None
    language_model: str | os.PathLike[str] | None
    language_weight: float | None
    prior: str | os.PathLike[str] | None
    bridge: str | os.PathLike[str] | None
    counts: str | None
    radius: float | None
    projection_dim: int | str | None
    cell_scale: float | None
    cell_edge: float | None
    sampling_rate: float | str | None
    adjacency: str | None
    accountant: str | None
    gaussian: str | None
    budget_factor: float | str | None
    sensitivity_ratio: float | None
    sensitivity: str | None
    norm_bound: float | None
    max_cells_per_user: int | None
    threads: int | None
    seed: str | bytes | None


class Options(Common, total=False):
    """What synthesize takes beside data, epsilon and dry_run."""

    text: str | None
    user: Any
    output: str | os.PathLike[str] | None
    force: bool
    resume: bool
    embeddings: np.ndarray | None
    embedding_model: Any
    user_fold: str | None
    format: str | None
    delimiter: str | None
    encoding: str | None
    na_values: str | None
    invalid: str | None
    progress: bool | None


@overload
def synthesize(data: Any = None, epsilon: float = 4, *, dry_run: Literal[False] = False,
               **options: Unpack[Options]) -> Release: ...


@overload
def synthesize(data: Any = None, epsilon: float = 4, *, dry_run: Literal[True],
               **options: Unpack[Options]) -> Plan: ...


@overload
def synthesize(data: Any = None, epsilon: float = 4, *, dry_run: bool,
               **options: Unpack[Options]) -> Release | Plan: ...


def synthesize(data: Any = None, epsilon: float = 4, *, text: str | None = None, user: Any = None,
               population: int | None = None, threshold: int | None = None,
               levels: str | list[Any] | None = None, delta: float | str | None = None,
               output: str | os.PathLike[str] | None = None, force: bool = False, resume: bool = False,
               dry_run: bool = False,
               embeddings: np.ndarray | None = None, embedding_model: Any = None,
               ledger: str | os.PathLike[str] | bool | None = None, data_name: str | None = None,
               budget_epsilon: float | None = None, budget_delta: float | None = None,
               embedder: str | os.PathLike[str] | None = None, inverter: str | os.PathLike[str] | None = None,
               codebook: str | os.PathLike[str] | None = None, texts_per_cell: int | None = None,
               min_confidence: float | None = None, paraphrases: int | None = None,
               temperature: float | None = None, paraphrase_distance: float | None = None,
               effort: int | None = None, public_corpus: str | os.PathLike[str] | None = None,
               public_text_field: str | None = None, language_model: str | os.PathLike[str] | None = None,
               language_weight: float | None = None, prior: str | os.PathLike[str] | None = None,
               bridge: str | os.PathLike[str] | None = None, counts: str | None = None,
               radius: float | None = None, projection_dim: int | str | None = None,
               cell_scale: float | None = None, cell_edge: float | None = None,
               sampling_rate: float | str | None = None, adjacency: str | None = None,
               accountant: str | None = None, gaussian: str | None = None,
               budget_factor: float | str | None = None, sensitivity_ratio: float | None = None,
               sensitivity: str | None = None, norm_bound: float | None = None,
               max_cells_per_user: int | None = None, user_fold: str | None = None, format: str | None = None,
               delimiter: str | None = None, encoding: str | None = None, na_values: str | None = None,
               invalid: str | None = None, threads: int | None = None, seed: str | bytes | None = None,
               progress: bool | None = None) -> Release | Plan:
    """Make private synthetic texts of private texts, once.

    data: anything with Arrow's PyCapsule stream (a data frame), a list or an iterator of str or of mappings, or
    the path of a file (a str is a path).  text, user: the columns; user=False: every record is another user's.
    embeddings: rows of numbers in place of data, with user a sequence, and embedding_model 'default' or the GGUF
    file that made them; of other models the release has centroids alone.  embedding_model: a sentence-transformers
    object or a function from a list of str to rows, which then embeds data.

    output: a folder that the release is written to as well; with resume an interrupted run goes on from there.
    ledger: a file, or False for none; by default the user's own.  dry_run: check and plan, spend nothing; returns the Plan.  invalid: 'skip' (default), 'replace', or
    'strict', which ends the run at the first record that cannot be used.  seed makes a run repeatable and NOT
    PRIVATE.  progress: show a bar, or not; by default on a terminal and in a notebook.  Everything else is that of
    `fre-e2t synthesize --help` by the same name, and has its default.

    The ledger's entry is written before anything is released.  Reading, saving or pickling the release draws
    nothing again."""
    given = said({k: v for k, v in locals().items()
                  if k not in ("data", "embeddings", "output", "force", "resume", "dry_run", "progress")})
    _check_together(given)
    force, resume, dry_run = flag("force", force), flag("resume", resume), flag("dry_run", dry_run)
    if resume and output is None:
        raise UsageError("resume needs output: what is kept lies beside that folder")
    keep, o, result = Keep(), ffi.new("fre_curator_opts *"), ffi.new("fre_curator_result **")
    lib.fre_curator_opts_init(o)
    with Workspace() as space:
        folder = space.folder / "release" if output is None else pathlib.Path(path_of(output, "output"))
        request_of(ffi.addressof(o, "plan"), given)  # what is out of range is said before data is read
        _input(o, keep, space, data, embeddings, given)
        _options(o, keep, given)
        o.output = keep.text(os.fspath(folder))
        o.what = keep.text(IN_MEMORY if output is None else None)
        o.force, o.resume, o.dry_run = force, resume, dry_run
        bar = Progress(progress)
        o.progress = bar.c
        run(lib.fre_curator_synthesize, result, o, progress=bar, said=space.said)
        r = ffi.gc(result[0], lib.fre_curator_result_free)
        ffi.buffer(o.seed)[:] = bytes(32)
        found: Release | Plan = seen_plan(r) if dry_run else Release(read_folder(folder), _seen(r))
    _log(found, given)
    return found


