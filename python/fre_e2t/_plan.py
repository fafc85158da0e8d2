"""What a budget leads to, and what a mechanism costs: `plan` and `account`."""

from __future__ import annotations

import html
import json
import math
from typing import Any

from ._call import Keep, call, json_of, run
from ._errors import UsageError, named, string
from ._fre import ffi, lib

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


def number(name: str, value: Any, parameter: str) -> float | int:
    """A number in the range that the library has for it."""
    param = getattr(lib, parameter)
    if isinstance(value, bool) or not isinstance(value, (int, float)) and not hasattr(value, "__float__"):
        raise UsageError(f"{name} must be a number, not {type(value).__name__}")
    x = float(value)
    call(lib.fre_param_check, ffi.addressof(lib, parameter), x)
    if not param.whole:
        return x
    if x != math.floor(x):
        raise UsageError(f"{name} must be a whole number")
    return int(value)


def choice(name: str, value: Any, choices: tuple[str, ...]) -> int:
    """The place of a word in a list."""
    if value not in choices:
        raise UsageError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")
    return choices.index(value)


def _set_number(request: Any, name: str, value: Any) -> None:
    parameter, field, word = _NUMBERS[name]
    if word is not None and isinstance(value, str):
        if value != word:
            raise UsageError(f"{name} must be a number or {word!r}")
        setattr(request, field, 0)
        return
    if name == "epsilon" and value == math.inf:
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
    levels = given.get("levels", "grid")
    if not isinstance(levels, str):
        levels = ",".join(map(str, levels))
    counts = choice("counts", given.get("counts", "noisy"), _CHOICES["counts"])
    call(lib.fre_plan_request_levels, request, Keep().text(levels), lib.fre_param_clip_radius.preset, counts)


def said(arguments: dict[str, Any]) -> dict[str, Any]:
    """Without what was left out."""
    return {name: value for name, value in arguments.items() if value is not None}


class Plan(dict[str, Any]):
    """A plan, or an account: the keys that `fre-e2t plan --json` prints."""

    def __init__(self, values: dict[str, Any], statement: str | None = None) -> None:
        super().__init__(values)
        self.statement = statement
        """What a release of this plan will claim, a sentence or a condition a line."""

    @property
    def warnings(self) -> list[str]:
        """What one should know of it."""
        return [named(w) for w in self.get("warnings", [])]

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(str(key))}</th>"
                       f"<td style='text-align:left'>{html.escape(_shown(value))}</td></tr>"
                       for key, value in self.items() if value is not None and not isinstance(value, (list, dict)))
        notes = "".join(f"<li>{html.escape(w)}</li>" for w in self.warnings)
        return f"<table>{rows}</table>" + (f"<ul>{notes}</ul>" if notes else "")

    def __reduce__(self):
        return Plan, (dict(self), self.statement)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def plan_of(c_plan: Any, statement: str | None = None) -> Plan:
    """A fre_plan as a Plan."""
    return Plan(json.loads(json_of(lib.fre_plan_json, c_plan)), statement)


def plan(epsilon: float = 4, *, threshold: int | None = None, population: int | None = None,
         delta: float | str | None = None, levels: str | list[Any] | None = None, counts: str | None = None,
         radius: float | None = None, projection_dim: int | str | None = None, cell_scale: float | None = None,
         cell_edge: float | None = None, sampling_rate: float | str | None = None, adjacency: str | None = None,
         accountant: str | None = None, gaussian: str | None = None, budget_factor: float | str | None = None,
         sensitivity_ratio: float | None = None, sensitivity: str | None = None, norm_bound: float | None = None,
         max_cells_per_user: int | None = None, dimension: int | None = None) -> Plan:
    """Which sampling rate, threshold and noise a budget leads to, without any data: the computation that
    `synthesize` runs by.  What is left out has the program's default (`fre-e2t plan --help`)."""
    request, made = ffi.new("fre_plan_request *"), ffi.new("fre_plan *")
    request_of(request, said(locals()))
    run(lib.fre_plan_make, made, request, pure=True)
    return plan_of(made, json_statement(made))


def json_statement(made: Any) -> str:
    """The statement of a fre_plan."""
    return json_of(lambda out, p: lib.fre_plan_statement(out, p, True), made).decode()


_MECHANISM = {
    "tau": ("fre_param_tau", "tau"),
    "sigma": ("fre_param_sigma", "sigma"),
    "norm_bound": ("fre_param_norm_bound", "norm_bound"),
    "lattice_step": ("fre_param_lattice_step", "lattice_step"),
}


def _mechanism(given: dict[str, Any]) -> Any:
    m = ffi.new("fre_mechanism *")
    cells = number("max_cells_per_user", given["max_cells_per_user"], "fre_param_max_cells_per_user")
    proj = number("projection_dim", given["projection_dim"], "fre_param_projection_dim")
    m.p32 = lib.fre_p32(number("sampling_rate", given["sampling_rate"], "fre_param_sampling_rate"))
    if m.p32 == 0:
        raise UsageError("sampling_rate must be at least 2^-32")
    for name, (parameter, field) in _MECHANISM.items():
        if given.get(name):
            setattr(m, field, number(name, given[name], parameter))
    m.population = given["population"] * cells
    m.cells_per_user = cells
    m.sketch.grid.proj = proj
    edge = given.get("cell_edge")
    m.sketch.grid.cell_edge = 1 / math.sqrt(proj) if edge is None else number("cell_edge", edge, "fre_param_cell_edge")
    m.adjacency = choice("adjacency", given["adjacency"], _CHOICES["adjacency"])
    m.sensitivity = choice("sensitivity", given["sensitivity"], _CHOICES["sensitivity"])
    if given.get("lattice_step"):
        m.dim = number("dimension", given["dimension"], "fre_param_dimension")
    return m


def account(*, sampling_rate: float, tau: int, sigma: float, epsilon: float | None = None,
            delta: float | None = None, population: int | None = None, projection_dim: int | None = None,
            cell_edge: float | None = None, split: float | None = None, adjacency: str = "add-remove",
            sensitivity: str = "probabilistic", norm_bound: float = 1.0, max_cells_per_user: int = 1,
            dimension: int = 384, lattice_step: float | None = None) -> Plan:
    """What a mechanism over the grid costs under the joint accountant: delta at an epsilon, or the least epsilon
    at a delta (of neither: at 1/(10 population)).  Keys as `fre-e2t account --json`."""
    given = dict(locals())
    if epsilon is not None and delta is not None:
        raise UsageError("give epsilon or delta, not both")
    if split is not None and epsilon is None:
        raise UsageError("split is for delta at an epsilon: give epsilon")
    for name in ("population", "projection_dim"):
        if given[name] is None:
            given[name] = int(getattr(lib, f"fre_param_{name}").preset)
    given["population"] = number("population", given["population"], "fre_param_population")
    m, a = _mechanism(given), ffi.new("fre_account *")
    if epsilon is not None:
        epsilon = number("epsilon", epsilon, "fre_param_epsilon")
    if epsilon is not None and split is not None:
        run(lib.fre_joint_delta_at_split, a, m, epsilon, number("split", split, "fre_param_split"), pure=True)
    elif epsilon is not None:
        run(lib.fre_joint_delta, a, m, epsilon, pure=True)
    else:
        at = lib.fre_default_delta(given["population"]) if delta is None else number("delta", delta, "fre_param_delta")
        run(lib.fre_joint_epsilon, a, m, at, pure=True)
    weak = lib.fre_delta_warning(a.delta if epsilon is not None else at, given["population"])
    values = json.loads(json_of(lib.fre_account_json, a, m, ffi.NULL, 0))
    values["warnings"] = [string(weak)] if weak != ffi.NULL else []
    return Plan(values)
