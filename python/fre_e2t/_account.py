"""What a mechanism costs: `account`."""

from __future__ import annotations

import json
import math
from typing import Any

from ._call import Keep, call, flag, is_word, json_of, run
from ._distributed import distributed as distributed_of
from ._errors import UsageError, string
from ._fre import ffi, lib
from ._plan import _CHOICES, Plan, choice, levels_of, number, said

_NEEDED = ("sampling_rate", "tau", "sigma")  # of the grid
_OF_GRID = (*_NEEDED, "projection_dim", "cell_edge", "sensitivity", "norm_bound", "lattice_step", "split")
_OF_LEVELS = ("counts", "level_sigma", "level_count_sigma", "level_tau", "level_sampling_rate", "radius")
_OTHER_COUNTS = {"level_count_sigma": "noisy", "level_sampling_rate": "sampled", "level_tau": "sampled"}
_IDEALISED = "Continuous noise is an idealisation in the distributed mode, where users add discrete noise."


def preset(name: str) -> float | int:
    """What a parameter is where nothing is said."""
    parameter = getattr(lib, f"fre_param_{name}")
    return int(parameter.preset) if parameter.whole else parameter.preset


def _of(given: dict[str, Any], name: str) -> float | int:
    return number(name, given.get(name, preset(name)), f"fre_param_{name}")


# ---- levels of public cells ---------------------------------------------------------------------------------

def _list(given: dict[str, Any], name: str, parameter: str, n: int) -> list[float]:
    if name not in given:
        raise UsageError(f"levels needs {name} too: a number for each level but the grid")
    values = given[name] if isinstance(given[name], (list, tuple)) else [given[name]]
    if len(values) != n:
        raise UsageError(f"{name} has {len(values)} numbers and levels {n} levels of public cells: give one for each, from "
                         "fine to coarse")
    return [number(name, v, parameter) for v in values]


def _check_levels(request: Any, given: dict[str, Any]) -> None:
    grid, counts = not request.no_grid, given.get("counts", "noisy")
    for name in _NEEDED:
        if grid and name not in given:
            raise UsageError(f"{name} is required, unless levels leaves the grid out")
    for name in _OF_GRID:
        if not grid and name in given:
            raise UsageError(f"{name} is the grid's: leave it out, or let levels begin with grid")
    for name in _OF_LEVELS:
        if request.n_levels == 0 and name in given:
            raise UsageError(f"{name} is of public cells: leave it out, or name some in levels")
    for name, needed in _OTHER_COUNTS.items():
        if name in given and counts != needed:
            raise UsageError(f"{name} belongs to counts={needed!r}")
    if request.n_levels and flag("distributed", given.get("distributed")) and (request.n_levels > 1 or grid or counts != "sampled"):
        raise UsageError("levels: the distributed mode releases one level, the grid or public cells with counts='sampled'")
    if request.n_levels and "split" in given:
        raise UsageError("split: a release by levels is accounted at a split of its own: leave it out")


def _levels(given: dict[str, Any]) -> tuple[Any, Any]:
    """A request with their names, and what each has."""
    request = ffi.new("fre_plan_request *")
    lib.fre_plan_request_init(request)
    request.population = _of(given, "population")
    counts = choice("counts", given.get("counts", "noisy"), _CHOICES["counts"])
    radius = number("radius", given.get("radius", lib.fre_codebook_param_radius.preset), "fre_codebook_param_radius")
    call(lib.fre_plan_request_levels, request, Keep().text(levels_of(given)), radius, counts)
    _check_levels(request, given)
    n = request.n_levels
    level = ffi.new("fre_level[]", max(1, n))
    if n == 0:
        return request, level
    for i, sigma in enumerate(_list(given, "level_sigma", "fre_param_sigma", n)):
        level[i].counts, level[i].sigma = counts, sigma
        level[i].shift = lib.fre_level_shift(counts, radius, sigma, _of(given, "dimension"))
    if counts == lib.FRE_COUNTS_NOISY:
        for i, sigma in enumerate(_list(given, "level_count_sigma", "fre_param_level_count_sigma", n)):
            level[i].count_sigma = sigma
        return request, level
    for i, rate in enumerate(_list(given, "level_sampling_rate", "fre_param_level_sampling_rate", n)):
        level[i].p32 = _p32(rate, "level_sampling_rate")
    for i, tau in enumerate(_list(given, "level_tau", "fre_param_level_tau", n)):
        level[i].tau = tau
    return request, level


def _p32(rate: float, name: str) -> int:
    p32 = lib.fre_p32(rate)
    if p32 == 0:
        raise UsageError(f"{name} must be at least 2^-32")
    return p32


# ---- the mechanism ------------------------------------------------------------------------------------------

def mechanism_of(given: dict[str, Any]) -> Any:
    """Of the grid, where there is one; the rest is the whole's."""
    m = ffi.new("fre_mechanism *")
    if "sampling_rate" in given:
        m.p32 = _p32(number("sampling_rate", given["sampling_rate"], "fre_param_sampling_rate"), "sampling_rate")
    for name in ("tau", "sigma"):
        if name in given:
            setattr(m, name, number(name, given[name], f"fre_param_{name}"))
    m.cells_per_user = _of(given, "max_cells_per_user")
    m.population = _of(given, "population") * m.cells_per_user  # records
    m.norm_bound, m.lattice_step = _of(given, "norm_bound"), _of(given, "lattice_step")
    m.sketch.grid.proj = _of(given, "projection_dim")
    m.sketch.grid.cell_edge = _of(given, "cell_edge") if "cell_edge" in given else 1 / math.sqrt(m.sketch.grid.proj)
    for name in ("adjacency", "sensitivity"):
        if name in given:
            setattr(m, name, choice(name, given[name], _CHOICES[name]))
    if m.lattice_step:
        m.dim = _of(given, "dimension")
    return m


def _collection(m: Any, request: Any, level: Any, given: dict[str, Any]) -> None:
    if not distributed_of(m, given, 0, 0, ("lambda_", "gamma")):
        if "phi" in given:
            raise UsageError("phi belongs to noise='discrete'")
        return
    for name in ("lambda_", "gamma"):
        if name not in given:
            raise UsageError(f"distributed needs {name} too: the padding of tags that are not released is part of the "
                             "mechanism (plan(distributed=True) chooses it)")
    m.dist.gamma = _of(given, "gamma")
    setattr(m.dist, "lambda", number("lambda_", given["lambda_"], "fre_param_lambda"))
    if m.noise == lib.FRE_NOISE_DISCRETE:
        m.dist.phi, m.dim = _of(given, "phi"), _of(given, "dimension")
    elif "phi" in given:
        raise UsageError("phi belongs to noise='discrete'")
    if request.n_levels:  # the one level of public cells, in place of the grid
        m.sketch, m.sensitivity = request.level[0].sketch, lib.FRE_SENSITIVITY_WORST_CASE
        m.p32, m.tau, m.sigma = level[0].p32, level[0].tau, level[0].sigma


# ---- what it costs --------------------------------------------------------------------------------------------

def _asked_delta(given: dict[str, Any]) -> float:
    if is_word(given.get("delta", "auto"), "auto"):
        return lib.fre_default_delta(_of(given, "population"))
    return number("delta", given["delta"], "fre_param_delta")


def _by_levels(m: Any, request: Any, level: Any, epsilon: float | None, given: dict[str, Any]) -> dict[str, Any]:
    whole, a = ffi.new("fre_levels *"), ffi.new("fre_levels_account *")
    whole.grid = ffi.NULL if request.no_grid else m
    whole.level, whole.n = level, request.n_levels
    whole.adjacency, whole.cells_per_user = m.adjacency, m.cells_per_user
    if epsilon is not None:
        run(lib.fre_levels_delta, a, whole, epsilon, pure=True, held=(m, level))
    else:
        run(lib.fre_levels_epsilon, a, whole, _asked_delta(given), pure=True, held=(m, level))
    weak = lib.fre_delta_warning(_asked_delta(given) if epsilon is None else a.delta, request.population)
    return json.loads(json_of(lib.fre_levels_account_json, a, whole, request, weak))


def _by_grid(m: Any, epsilon: float | None, given: dict[str, Any]) -> dict[str, Any]:
    a, split = ffi.new("fre_account *"), _of(given, "split") if "split" in given else None
    at = epsilon if epsilon is not None else _asked_delta(given)
    if split is None:
        run(lib.fre_joint_epsilon if epsilon is None else lib.fre_joint_delta, a, m, at, pure=True)
    else:
        run(lib.fre_joint_epsilon_at_split if epsilon is None else lib.fre_joint_delta_at_split, a, m, at, split, pure=True)
    weak = lib.fre_delta_warning(at if epsilon is None else a.delta, _of(given, "population"))
    values = json.loads(json_of(lib.fre_account_json, a, m, ffi.NULL, 0))
    values["warnings"] = [_IDEALISED] if m.dist.on and m.noise == lib.FRE_NOISE_CONTINUOUS else []
    values["warnings"] += [string(weak)] if weak != ffi.NULL else []
    return values


def account(*, epsilon: float | None = None, delta: float | str | None = None, sampling_rate: float | None = None,
            tau: int | None = None, sigma: float | None = None, population: int | None = None,
            projection_dim: int | None = None, cell_edge: float | None = None, split: float | None = None,
            adjacency: str | None = None, sensitivity: str | None = None, norm_bound: float | None = None,
            max_cells_per_user: int | None = None, dimension: int | None = None, lattice_step: float | None = None,
            levels: str | list[Any] | None = None, counts: str | None = None, radius: float | None = None,
            level_sigma: float | list[float] | None = None, level_count_sigma: float | list[float] | None = None,
            level_sampling_rate: float | list[float] | None = None, level_tau: int | list[int] | None = None,
            distributed: bool | None = None, cover: bool | None = None, curious_users: int | None = None,
            dropout: float | None = None, contacts: str | None = None, noise_by: str | None = None,
            splits: bool | None = None, noise: str | None = None, lambda_: float | None = None,
            gamma: int | None = None, phi: float | None = None) -> Plan:
    """What a mechanism costs under the joint accountant: delta at an epsilon, or the least epsilon at a delta (of
    neither: at 1/(10 population)).  Keys as `fre-e2t account --json`.

    The grid has sampling_rate, tau and sigma; levels of public cells lists with a number for each, from fine to coarse.
    distributed: of a collection, with its padding lambda_ and gamma."""
    given = said(dict(locals()))
    if epsilon is not None and delta is not None:
        raise UsageError("give epsilon or delta, not both")
    request, level = _levels(given)
    m = mechanism_of(given)
    _collection(m, request, level, given)
    if epsilon is not None:
        epsilon = number("epsilon", epsilon, "fre_param_epsilon")
    if request.n_levels and not m.dist.on:
        return Plan(_by_levels(m, request, level, epsilon, given))
    return Plan(_by_grid(m, epsilon, given))
