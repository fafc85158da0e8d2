"""How good a release is: `evaluate`."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ._call import Keep, Progress, flag, json_of, path_of, run, word
from ._data import Texts, Workspace, file_of, is_iterable, is_path, matrix, write_matrix
from ._errors import UsageError, named
from ._facts import Facts
from ._fre import ffi, lib
from ._options import corpus_options
from ._plan import number, said
from ._release import Release


def _synthetic(space: Workspace, synthetic: Any, called: str) -> str:
    """A path of it."""
    if isinstance(synthetic, Release):
        folder = space.folder / called
        synthetic.save(folder)
        return os.fspath(folder)
    if is_path(synthetic):
        return file_of(synthetic, called)
    return Texts(space, synthetic, None, None, called).path


def _named(evaluation: dict[str, Any], synthetic: Any) -> dict[str, Any]:
    """Sentences with parameters as they are called here; the name of a file that is gone says nothing."""
    for missing in evaluation.get("missing") or []:
        missing["why"] = named(missing["why"])
    evaluation["name"] = pathlib.PurePath(synthetic).name if is_path(synthetic) else type(synthetic).__name__
    return evaluation


def evaluate(synthetic: Any, original: Any, *, text: str | None = None, label: str | None = None,
             release: str | os.PathLike[str] | None = None, radius: float | None = None,
             threshold: int | None = None, alpha: float | None = None,
             reference: str | os.PathLike[str] | None = None,
             embeddings: np.ndarray | str | os.PathLike[str] | None = None,
             language_model: str | os.PathLike[str] | None = None, against: Iterable[Any] = (),
             embedder: str | os.PathLike[str] | None = None,
             codebook: str | os.PathLike[str] | None = None, classifiers: bool = True, format: str | None = None,
             delimiter: str | None = None, encoding: str | None = None, na_values: str | None = None,
             invalid: str | None = None, threads: int | None = None,
             progress: bool | None = None) -> Facts:
    """How near synthetic texts are to the originals: the keys of `fre-e2t evaluate --json`.  NOT private: the
    numbers come from the originals without noise.

    synthetic: a Release, a release's folder, or texts; original: data as `synthesize` reads it; label: a column of a
    file with a record's label; against: further ones like synthetic, measured by the radius and threshold of the first:
    the list `against` of what is returned.  embeddings: a row for each record of original, as `embed` makes them: an
    array, or the path of a .npy."""
    given = said(dict(locals()))
    if is_path(against) or isinstance(against, Release) or not is_iterable(against):
        raise UsageError("against is a list of releases: write [it]")
    others = list(against)
    keep, o, out = Keep(), ffi.new("fre_evaluate_opts *"), ffi.new("fre_evaluation[]", 1 + len(others))
    lib.fre_evaluate_opts_init(o)
    with Workspace() as space:
        o.synthetic = keep.text(_synthetic(space, synthetic, "synthetic"))
        o.n_against = len(others)
        o.against = keep.also(ffi.new("const char *[]", [
            keep.text(_synthetic(space, other, f"against{i}")) for i, other in enumerate(others, 1)]))
        if label is not None and not is_path(original):
            raise UsageError("label is a column of a file: give original as a path")
        texts = Texts(space, original, text, None, "original")
        o.original, o.corpus.text_field = keep.text(texts.path), keep.text(texts.text)
        o.corpus.label_field = keep.text(word("label", label))
        corpus_options(o.corpus, keep, given)
        if embeddings is not None and not is_path(embeddings):
            given["embeddings"] = write_matrix(space, matrix(embeddings), None)
        for name in ("release", "reference", "embeddings", "language_model", "embedder", "codebook"):
            if name in given:
                setattr(o, name, keep.text(path_of(given[name], name)))
        for name, parameter in (("radius", "fre_param_radius"), ("threshold", "fre_param_threshold"),
                                ("alpha", "fre_evaluate_param_alpha"), ("threads", "fre_param_threads")):
            if name in given:
                setattr(o, name, number(name, given[name], parameter))
        o.no_classifiers = not flag("classifiers", classifiers)
        bar = Progress(progress)
        o.progress = bar.c
        run(lib.fre_evaluate_files, out, o, progress=bar, said=space.said)
        measured = json.loads(json_of(lib.fre_evaluation_json, out, 1 + len(others)))
    for other, scores in zip(others, measured["against"]):
        _named(scores, other)
    return Facts(_named(measured, synthetic))
