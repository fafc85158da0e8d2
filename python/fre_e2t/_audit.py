"""Whether a mechanism keeps its claim: `audit`."""

from __future__ import annotations

import json
import math
from typing import Any

from ._account import mechanism_of, preset
from ._call import Progress, is_word, json_of, logger, run
from ._distributed import distributed as distributed_of
from ._errors import UsageError, named, string
from ._facts import Facts
from ._fre import ffi, lib
from ._options import seed_of
from ._plan import collection_of, number, request_of, said

_OF_PLANS = ("threshold", "radius", "cell_scale", "accountant", "gaussian", "budget_factor", "levels", "counts",
             "sensitivity_ratio")
_NEEDED = ("tau", "sigma", "sampling_rate")  # of a mechanism in place of a plan
_PADDING = ("lambda_", "gamma")


# ---- what is attacked -----------------------------------------------------------------------------------

def _from_plan(o: Any, given: dict[str, Any]) -> Any:
    """A fre_plan, which stays with o where it has levels."""
    request, made = ffi.new("fre_plan_request *"), ffi.new("fre_plan *")
    request_of(request, given)
    for name in _PADDING:
        if name in given:
            raise UsageError(f"{name} belongs to a mechanism given by tau, sigma and sampling_rate: a plan chooses its own")
    collection_of(request, given)
    run(lib.fre_plan_make, made, request, pure=True)
    o.mechanism, o.delta, o.split = made.mechanism, made.request.delta, made.account.split
    if made.request.n_levels > 0 and not made.mechanism.dist.on:  # there a level is the mechanism's cells
        o.levels = made
    return made


def _check_own(given: dict[str, Any]) -> None:
    for name in _OF_PLANS:
        if name in given:
            raise UsageError(f"{name} shapes a plan: leave it out, or tau and sigma")
    for name in _NEEDED:
        if is_word(given.get(name, "auto"), "auto"):
            raise UsageError(f"a mechanism of your own needs sampling_rate, tau and sigma; {name} is missing")
    if is_word(given.get("projection_dim"), "auto"):
        raise UsageError("projection_dim='auto' needs a plan: give a number")


def _own_padding(m: Any, given: dict[str, Any]) -> None:
    on = distributed_of(m, given, 0, 0.1, _PADDING)
    for name in _PADDING:
        if on and name not in given:
            raise UsageError(f"distributed needs {name} too")
    if not on:  # the attack is on one of a user's cells
        m.population //= m.cells_per_user
        m.cells_per_user = 1
        return
    one = lib.FRE_TSDLAP_ONE
    setattr(m.dist, "lambda", math.ceil(number("lambda_", given["lambda_"], "fre_audit_param_lambda") * one) / one)
    m.dist.gamma = number("gamma", given["gamma"], "fre_audit_param_gamma")
    m.dist.phi = lib.fre_param_phi.preset


def _from_numbers(o: Any, given: dict[str, Any]) -> None:
    """A mechanism taken as it is, whatever it is worth."""
    _check_own(given)
    m = mechanism_of(given)
    m.tau = number("tau", given["tau"], "fre_audit_param_tau")
    m.dim = number("dimension", given.get("dimension", preset("dimension")), "fre_param_dimension")
    _own_padding(m, given)
    population = int(number("population", given.get("population", preset("population")), "fre_param_population"))
    asked = given.get("delta", "auto")
    o.delta = lib.fre_default_delta(population) if is_word(asked, "auto") else number("delta", asked, "fre_param_delta")
    o.mechanism = m[0]


def _weaken(o: Any, plan: Any, given: dict[str, Any]) -> list[Any]:
    """Put a defect in; what o borrows."""
    f, claimed = ffi.new("fre_audit_factors *", (1, 1, 1)), ffi.new("fre_mechanism *", o.mechanism)
    for name in ("sigma", "tau", "rate"):
        if f"{name}_factor" in given:
            setattr(f, name, number(f"{name}_factor", given[f"{name}_factor"], "fre_audit_param_factor"))
    if not lib.fre_audit_weaken(ffi.addressof(o, "mechanism"), f):
        return []
    o.claimed = claimed
    if o.levels == ffi.NULL:
        return [claimed]
    runs = ffi.new("fre_plan *", plan[0])
    lib.fre_audit_weaken_levels(runs, ffi.addressof(o, "mechanism"), f)
    o.levels, o.claimed_levels = runs, plan
    return [claimed, runs]


# ---- the attack -------------------------------------------------------------------------------------------

def _attack(o: Any, given: dict[str, Any], bar: Progress) -> None:
    o.epsilon = number("epsilon", given.get("epsilon", 0), "fre_param_epsilon")
    o.runs, o.confidence = int(lib.fre_audit_param_runs.preset), lib.fre_audit_param_confidence.preset
    o.threads, o.progress = lib.fre_cpu_count(), bar.c
    for name, parameter in (("runs", "fre_audit_param_runs"), ("confidence", "fre_audit_param_confidence"),
                            ("split", "fre_param_split"), ("threads", "fre_param_threads")):
        if name in given:
            setattr(o, name, number(name, given[name], parameter))
    if "seed" in given:
        o.seeded = True
        ffi.buffer(o.seed)[:] = seed_of(given["seed"])


def audit(epsilon: float = 4, *, runs: int | None = None, confidence: float | None = None, split: float | None = None,
          seed: str | bytes | None = None, threshold: int | None = None, population: int | None = None,
          delta: float | str | None = None, levels: str | list[Any] | None = None, counts: str | None = None,
          radius: float | None = None, projection_dim: int | str | None = None, cell_scale: float | None = None,
          cell_edge: float | None = None, sampling_rate: float | str | None = None, adjacency: str | None = None,
          accountant: str | None = None, gaussian: str | None = None, budget_factor: float | str | None = None,
          sensitivity_ratio: float | None = None, sensitivity: str | None = None, norm_bound: float | None = None,
          max_cells_per_user: int | None = None, dimension: int | None = None, distributed: bool | None = None,
          cover: bool | None = None, curious_users: int | None = None, dropout: float | None = None,
          contacts: str | None = None, noise_by: str | None = None, splits: bool | None = None,
          noise: str | None = None, tau: int | None = None, sigma: float | None = None, lambda_: float | None = None,
          gamma: int | None = None, sigma_factor: float | None = None, tau_factor: float | None = None,
          rate_factor: float | None = None, threads: int | None = None,
          progress: bool | None = None) -> Facts:
    """Attack a mechanism: a lower bound on epsilon against the claim, without any data.  The keys of `fre-e2t audit
    --json`; a bound above the claim refutes it, one below proves nothing.

    It is the mechanism of the budget's plan, with distributed of a collection's (cover, curious_users, dropout,
    contacts, noise_by, splits, noise); or, with tau, sigma and sampling_rate, one of your own, whatever it is worth, of
    a collection with its padding lambda_ and gamma.  sigma_factor, tau_factor, rate_factor run one that is so much
    worse than what is claimed, to learn what would be caught."""
    given = said({k: v for k, v in locals().items() if k != "progress"})
    o, out, bar, plan = ffi.new("fre_audit_opts *"), ffi.new("fre_audit **"), Progress(progress), None
    if "tau" in given or "sigma" in given:
        _from_numbers(o, given)
    else:
        plan = _from_plan(o, given)
    _attack(o, given, bar)
    kept = _weaken(o, plan, given)
    weak = lib.fre_delta_warning(o.delta, o.mechanism.population // o.mechanism.cells_per_user)
    if weak != ffi.NULL:
        logger.warning("%s", named(string(weak)))
    run(lib.fre_audit_run, out, o, progress=bar)
    a = ffi.gc(out[0], lib.fre_audit_free)
    found = Facts(json.loads(json_of(lib.fre_audit_json, a, o, weak)))
    found["warnings"] = [named(w) for w in found["warnings"]]
    del kept  # until here
    return found
