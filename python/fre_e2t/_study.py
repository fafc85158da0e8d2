"""How good a release is, and whether the mechanism keeps its claim: `evaluate`, `audit`."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable
from typing import Any

from ._call import Keep, Progress, json_of, run
from ._data import Texts, Workspace, is_path, path_of
from ._errors import UsageError, named, string
from ._fre import ffi, lib
from ._options import corpus_options, seed_of
from ._plan import number, request_of, said
from ._release import Release


def _synthetic(space: Workspace, synthetic: Any, called: str) -> str:
    """A path of it."""
    if isinstance(synthetic, Release):
        folder = space.folder / called
        synthetic.save(folder)
        return os.fspath(folder)
    if is_path(synthetic):
        return path_of(synthetic, called)
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
             reference: str | os.PathLike[str] | None = None, embeddings: str | os.PathLike[str] | None = None,
             language_model: str | os.PathLike[str] | None = None, against: Iterable[Any] = (),
             embedder: str | os.PathLike[str] | None = None,
             codebook: str | os.PathLike[str] | None = None, classifiers: bool = True, format: str | None = None,
             delimiter: str | None = None, encoding: str | None = None, na_values: str | None = None,
             invalid: str | None = None, threads: int | None = None,
             progress: bool | None = None) -> dict[str, Any]:
    """How near synthetic texts are to the originals: the keys of `fre-e2t evaluate --json`.  NOT private: the
    numbers come from the originals without noise.

    synthetic: a Release, a release's folder, or texts; original: data as `synthesize` reads it; label: a column of a
    file with a record's label; against: further ones like synthetic, measured by the radius and threshold of the first:
    the list `against` of what is returned."""
    given = said(dict(locals()))
    if is_path(against) or isinstance(against, Release):
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
        o.corpus.label_field = keep.text(label)
        corpus_options(o.corpus, keep, given)
        for name in ("release", "reference", "embeddings", "language_model", "embedder", "codebook"):
            if name in given:
                setattr(o, name, keep.text(path_of(given[name], name)))
        for name, parameter in (("radius", "fre_param_radius"), ("threshold", "fre_param_threshold"),
                                ("alpha", "fre_evaluate_param_alpha"), ("threads", "fre_param_threads")):
            if name in given:
                setattr(o, name, number(name, given[name], parameter))
        o.no_classifiers = not classifiers
        bar = Progress(progress)
        o.progress = bar.c
        run(lib.fre_evaluate_files, out, o, progress=bar, said=space.said)
        measured = json.loads(json_of(lib.fre_evaluation_json, out, 1 + len(others)))
    for other, scores in zip(others, measured["against"]):
        _named(scores, other)
    return _named(measured, synthetic)


# ---- audit ----------------------------------------------------------------------------------------------

def _direction(backward: bool) -> str:
    return "backward" if backward else "forward"


def _curve(s: Any) -> dict[str, Any] | None:
    if not s.curve_epsilon > 0:
        return None
    return {"epsilon": s.curve_epsilon, "delta_claimed": s.curve_claimed, "delta_lower_bound": s.curve_lower,
            "direction": _direction(s.curve_backward)}


def _scenario(s: Any) -> dict[str, Any]:
    return {"name": string(s.name), "epsilon_lower_bound": s.epsilon_lower,
            "test": "learned" if s.learned else "known law", "direction": _direction(s.backward), "curve": _curve(s)}


def audit(epsilon: float = 4, *, runs: int | None = None, confidence: float | None = None, split: float | None = None,
          seed: str | bytes | None = None, threshold: int | None = None, population: int | None = None,
          delta: float | str | None = None, levels: str | list[Any] | None = None, counts: str | None = None,
          radius: float | None = None, projection_dim: int | str | None = None, cell_scale: float | None = None,
          cell_edge: float | None = None, sampling_rate: float | str | None = None, adjacency: str | None = None,
          accountant: str | None = None, gaussian: str | None = None, budget_factor: float | str | None = None,
          sensitivity_ratio: float | None = None, sensitivity: str | None = None, norm_bound: float | None = None,
          max_cells_per_user: int | None = None, dimension: int | None = None, threads: int | None = None,
          progress: bool | None = None) -> dict[str, Any]:
    """Attack the mechanism of a plan: a lower bound on epsilon against the claim, without any data.  The main keys
    of `fre-e2t audit --json`; a bound above the claim refutes it, one below proves nothing."""
    given = said(dict(locals()))
    request, made = ffi.new("fre_plan_request *"), ffi.new("fre_plan *")
    request_of(request, given)
    run(lib.fre_plan_make, made, request, pure=True)
    o, out, bar = ffi.new("fre_audit_opts *"), ffi.new("fre_audit **"), Progress(progress)
    o.mechanism, o.delta, o.split = made.mechanism, made.request.delta, made.account.split
    o.epsilon = request.epsilon
    if made.request.n_levels > 0:
        o.levels = made
    o.runs, o.confidence = int(lib.fre_audit_param_runs.preset), lib.fre_audit_param_confidence.preset
    o.threads, o.progress = lib.fre_cpu_count(), bar.c
    for name, parameter in (("runs", "fre_audit_param_runs"), ("confidence", "fre_audit_param_confidence"),
                            ("split", "fre_param_split"), ("threads", "fre_param_threads")):
        if name in given:
            setattr(o, name, number(name, given[name], parameter))
    if seed is not None:
        o.seeded = True
        ffi.buffer(o.seed)[:] = seed_of(seed)
    run(lib.fre_audit_run, out, o, progress=bar)
    a = ffi.gc(out[0], lib.fre_audit_free)
    return {"epsilon_claimed": a.epsilon, "delta_claimed": a.delta, "epsilon_lower_bound": a.epsilon_lower,
            "runs": a.runs, "worst_case": string(a.scenario[a.worst].name), "confidence": a.confidence,
            "split": a.split, "refuted": bool(a.refuted), "curve_refuted": bool(a.curve_refuted),
            "curve": _curve(a.scenario[a.curve_worst]), "verdict": "refuted" if a.refuted else "not refuted",
            "scenarios": [_scenario(a.scenario[i]) for i in range(a.n)]}
