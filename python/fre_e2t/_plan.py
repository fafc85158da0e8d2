"""What a budget leads to: `plan`."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np

from ._call import Keep, Progress, call, json_of, path_of, run, word
from ._errors import UsageError, name_of, named, string
from ._facts import Facts
from ._fre import ffi, lib
from ._shown import statement_html

_CHOICES = {
    "adjacency": ("add-remove", "replace"),
    "accountant": ("joint", "paper"),
    "gaussian": ("analytic", "zcdp"),
    "sensitivity": ("probabilistic", "worst-case"),
    "counts": ("sampled", "noisy"),  # in the order of fre_counts
}

# A number: the library's parameter, the field of a request, and a word that stands for 0.
_NUMBERS: dict[str, tuple[str, str, str | None]] = {
    "epsilon": ("fre_param_epsilon", "epsilon", None),
    "delta": ("fre_param_delta", "delta", "auto"),
    "threshold": ("fre_param_threshold", "threshold", None),
    "population": ("fre_param_population", "population", None),
    "radius": ("fre_param_radius", "radius", None),
    "projection_dim": ("fre_param_projection_dim", "proj", "auto"),
    "cell_scale": ("fre_param_cell_scale", "cell_scale", None),
    "cell_edge": ("fre_param_cell_edge", "cell_edge", None),
    "sampling_rate": ("fre_param_sampling_rate", "sampling_rate", "auto"),
    "norm_bound": ("fre_param_norm_bound", "norm_bound", None),
    "budget_factor": ("fre_param_budget_factor", "budget_factor", "auto"),
    "sensitivity_ratio": ("fre_param_sensitivity_ratio", "sensitivity_ratio", None),
    "dimension": ("fre_param_dimension", "dim", None),
    "max_cells_per_user": ("fre_param_max_cells_per_user", "cells_per_user", None),
}


def _float(name: str, value: Any) -> float:
    is_other = isinstance(value, (bool, np.bool_, complex, np.complexfloating, str, type)) or getattr(value, "ndim", 0) != 0
    try:
        if not is_other and hasattr(value, "__float__"):
            return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError, ArithmeticError):
        pass
    raise UsageError(f"{name} must be a number, not {type(value).__name__}")


def number(name: str, value: Any, parameter: str) -> float | int:
    """A number in the range that the library has for it."""
    param, x = getattr(lib, parameter), _float(name, value)
    called = name_of(string(param.name))  # which may be that of several
    try:
        call(lib.fre_param_check, ffi.addressof(lib, parameter), x, said=lambda sentence: sentence.replace(called, name, 1))
    except UsageError as error:
        error.parameter = name
        raise
    if not param.whole:
        return x
    if x != math.floor(x):
        raise UsageError(f"{name} must be a whole number")
    return int(value)


def choice(name: str, value: Any, choices: tuple[str, ...]) -> int:
    """The place of a word in a list."""
    if not isinstance(value, str) or value not in choices:
        shown = repr(value[:40]) if isinstance(value, str) else f"of type {type(value).__name__}"
        raise UsageError(f"{name} must be {' or '.join(map(repr, choices))}, not {shown}")
    return choices.index(value)


def _set_number(request: Any, name: str, value: Any) -> None:
    parameter, field, word = _NUMBERS[name]
    if word is not None and isinstance(value, str):
        if value != word:
            raise UsageError(f"{name} must be a number or {word!r}")
        setattr(request, field, 0)
        return
    if name == "epsilon" and isinstance(value, (float, np.floating)) and value == math.inf:
        request.epsilon = math.inf
        return
    setattr(request, field, number(name, value, parameter))


def _check_together(request: Any, given: dict[str, Any]) -> None:
    """What the joint accountant would pass over in silence, and two words for one thing."""
    if "cell_edge" in given and "cell_scale" in given:
        raise UsageError("give cell_edge or cell_scale, not both")
    if request.accountant != lib.FRE_ACCOUNTANT_JOINT:
        return
    for name, preset in (("gaussian", "analytic"), ("budget_factor", "auto"), ("sensitivity_ratio", None)):
        if given.get(name, preset) != preset:
            raise UsageError(f"{name} belongs to accountant='paper'")


def levels_of(given: dict[str, Any]) -> str:
    """As the program takes them."""
    levels = given.get("levels", "grid")
    each = list(levels) if isinstance(levels, (list, tuple)) else [levels]
    if any(isinstance(one, bool) or not isinstance(one, (str, int, np.integer)) for one in each):
        raise UsageError("levels must be 'auto', or 'grid' and numbers, as one str or a list")
    return word("levels", ",".join(map(str, each)))


def request_of(request: Any, given: dict[str, Any]) -> None:
    """Fill a fre_plan_request; given: what the caller said, without what was left out."""
    lib.fre_plan_request_init(request)
    for name in _NUMBERS:
        if name in given:
            _set_number(request, name, given[name])
    for name in ("adjacency", "accountant", "gaussian", "sensitivity"):
        if name in given:
            setattr(request, name, choice(name, given[name], _CHOICES[name]))
    _check_together(request, given)
    counts = choice("counts", given.get("counts", "noisy"), _CHOICES["counts"])
    call(lib.fre_plan_request_levels, request, Keep().text(levels_of(given)), lib.fre_param_clip_radius.preset, counts)


def said(arguments: dict[str, Any]) -> dict[str, Any]:
    """Without what was left out."""
    return {name: value for name, value in arguments.items() if value is not None}


class Plan(Facts):
    """A plan, or an account: the keys that `fre-e2t plan --json` prints."""

    def __init__(self, values: dict[str, Any], statement: str | None = None, private: dict[str, Any] | None = None) -> None:
        super().__init__(values)
        self.statement = statement
        """What a release of this plan will claim, a sentence or a condition a line."""
        self.not_for_publication: dict[str, Any] | None = private
        """What a dry run saw, exactly, and what the ledger says: as a release's."""

    @property
    def noise_at_threshold(self) -> float | None:
        """How blurred the mean of the smallest cell will be, the norm of its noise: below about .5 a text is usually
        recognised, above 1 it is mostly noise.  None: the plan does not say."""
        return _noise(self.get("sigma_published"), self.get("dimension"), self.get("tau"))

    def _shown(self) -> dict[str, Any]:
        """Before the plan's own tables what was read."""
        private = self.not_for_publication
        seen = {"what was read (not for publication)": [{key: private[key] for key in _SEEN}]} if private else {}
        return {**seen, **self, "noise_at_threshold": self.noise_at_threshold}

    def _repr_html_(self) -> str:
        return f"<div>{super()._repr_html_()}{statement_html(self.statement)}</div>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Plan, (dict(self), self.statement)


def _noise(sigma: Any, dimension: Any, tau: Any) -> float | None:
    return sigma * math.sqrt(dimension) / tau if sigma is not None and dimension and tau else None


_SEEN = ("records", "users", "distinct", "empty", "invalid")


def plan_of(c_plan: Any, statement: str | None = None, private: dict[str, Any] | None = None) -> Plan:
    """A fre_plan as a Plan."""
    return Plan(json.loads(json_of(lib.fre_plan_json, c_plan)), statement, private)


_FORECAST = ("text", "label", "format", "delimiter", "encoding", "na_values", "invalid", "embedder", "codebook")
_NOT_FORECAST = {
    "distributed": "tries what a curator would release: leave out distributed",
    "dimension": "takes the dimension from the embedder: leave out dimension",
    "max_cells_per_user": "takes each record for a user: leave out max_cells_per_user",
}


def _records(request: Any, given: dict[str, Any]) -> None:
    """The paper's reading of several records."""
    if "multi_record" not in given:
        return
    if request.accountant == lib.FRE_ACCOUNTANT_JOINT:
        raise UsageError("multi_record chooses a reading of the article: it needs accountant='paper'")
    request.records = choice("multi_record", given["multi_record"], ("cap", "group", "bespoke"))


def collection_of(request: Any, given: dict[str, Any], more: tuple[str, ...] = ()) -> None:
    """What only a collection has; more: further parameters that belong to it."""
    from ._distributed import distributed

    if not distributed(request, given, 1, 0.1, more):
        return
    if request.accountant != lib.FRE_ACCOUNTANT_JOINT:  # the paper's protocol has two contacts, and users add noise
        request.dist.server_noise &= "noise_by" in given
        request.dist.one_contact &= "contacts" in given
    if "curious_users" not in given:
        request.dist.curious *= request.cells_per_user  # w counts places
    if "max_dummies" in given:
        request.max_dummies = number("max_dummies", given["max_dummies"], "fre_param_max_dummies")
    for i in range(0 if "counts" in given else request.n_levels):
        request.level[i].counts = lib.FRE_COUNTS_SAMPLED  # the only kind there


def _forecast(request: Any, given: dict[str, Any], progress: bool | None) -> Plan:
    """Levels tried out on public text: the plan of the chosen one, with what was found."""
    from ._options import corpus_options

    for name, why in _NOT_FORECAST.items():
        if name in given:
            raise UsageError(f"public_corpus {why}")
    keep, o, out, bar = Keep(), ffi.new("fre_forecast_opts *"), ffi.new("fre_forecast *"), Progress(progress)
    lib.fre_forecast_opts_init(o)
    o.plan, o.counts = request[0], choice("counts", given.get("counts", "noisy"), _CHOICES["counts"])
    o.corpus = keep.text(path_of(given["public_corpus"], "public_corpus"))
    o.levels = keep.text(levels_of(given) if "levels" in given else None)
    corpus_options(o.read, keep, given)
    o.read.text_field, o.read.label_field = (keep.text(word(n, given.get(n))) for n in ("text", "label"))
    for name in ("embedder", "codebook"):
        if name in given:
            setattr(o, name, keep.text(path_of(given[name], name)))
    o.threads, o.progress = lib.fre_cpu_count(), bar.c
    if "threads" in given:
        o.threads = number("threads", given["threads"], "fre_param_threads")
    run(lib.fre_forecast_make, out, o, progress=bar)
    chosen = ffi.addressof(out.list[out.chosen], "plan")
    made, found = plan_of(chosen, json_statement(chosen)), json.loads(json_of(lib.fre_forecast_json, out))
    for tried in found["lists"]:
        tried["why"] = tried["why"] and named(tried["why"])
    made["forecast"] = found
    return made


def plan(epsilon: float = 4, *, threshold: int | None = None, population: int | None = None,
         delta: float | str | None = None, levels: str | list[Any] | None = None, counts: str | None = None,
         radius: float | None = None, projection_dim: int | str | None = None, cell_scale: float | None = None,
         cell_edge: float | None = None, sampling_rate: float | str | None = None, adjacency: str | None = None,
         accountant: str | None = None, gaussian: str | None = None, budget_factor: float | str | None = None,
         sensitivity_ratio: float | None = None, sensitivity: str | None = None, norm_bound: float | None = None,
         max_cells_per_user: int | None = None, dimension: int | None = None, multi_record: str | None = None,
         distributed: bool | None = None, cover: bool | None = None, curious_users: int | None = None,
         dropout: float | None = None, contacts: str | None = None, noise_by: str | None = None,
         splits: bool | None = None, noise: str | None = None, max_dummies: float | None = None,
         public_corpus: str | os.PathLike[str] | None = None, text: str | None = None, label: str | None = None,
         format: str | None = None, delimiter: str | None = None, encoding: str | None = None,
         na_values: str | None = None, invalid: str | None = None, embedder: str | os.PathLike[str] | None = None,
         codebook: str | os.PathLike[str] | None = None, threads: int | None = None,
         progress: bool | None = None) -> Plan:
    """Which sampling rate, threshold and noise a budget leads to, without any data: the computation that
    `synthesize` runs by.  What is left out has the program's default (`fre-e2t plan --help`).

    distributed: of a collection without a curator, with cover, curious_users, dropout, contacts, noise_by, splits,
    noise and max_dummies.  public_corpus: a file of public texts (text, label: its columns) that levels are tried out
    on, each record a user's; one list of levels is chosen, and the key `forecast` says how they did."""
    given = said({k: v for k, v in locals().items() if k != "progress"})
    request, made = ffi.new("fre_plan_request *"), ffi.new("fre_plan *")
    for name in (*_FORECAST, "threads"):
        if name in given and public_corpus is None:
            raise UsageError(f"{name} is about public_corpus: give it too")
    request_of(request, given)
    collection_of(request, given, ("max_dummies",))
    _records(request, given)
    if public_corpus is not None:
        return _forecast(request, given, progress)
    run(lib.fre_plan_make, made, request, pure=True)
    warning = lib.fre_collection_plan_warning(made)
    if warning != ffi.NULL and made.n_warnings < len(made.warnings):
        made.warnings[made.n_warnings] = warning
        made.n_warnings += 1
    return plan_of(made, json_statement(made))


def json_statement(made: Any) -> str:
    """The statement of a fre_plan."""
    return json_of(lambda out, p: lib.fre_plan_statement(out, p, True), made).decode()
