"""What a collection without a curator has beside its plan: the parameters of distributed=True."""

from __future__ import annotations

from typing import Any

from ._call import flag
from ._errors import UsageError
from ._fre import lib
from ._plan import choice, number

_OF_IT = ("cover", "curious_users", "dropout", "contacts", "noise_by", "splits")


def _check(given: dict[str, Any], more: tuple[str, ...]) -> bool:
    on = flag("distributed", given.get("distributed"))
    for name in (*_OF_IT, *more):
        if not on and name in given:
            raise UsageError(f"{name} belongs to distributed=True")
    if not on and given.get("noise") == "discrete":
        raise UsageError("noise='discrete' is made of the users' own shares and needs distributed=True: a curator's noise is "
                         "continuous, exactly rounded")
    return on


def _contacts(given: dict[str, Any]) -> tuple[bool, bool]:
    """Does everything travel at once, and do servers add the noise?"""
    one = choice("contacts", given.get("contacts", "one"), ("one", "two")) == 0
    servers = choice("noise_by", given["noise_by"], ("servers", "clients")) == 0 if "noise_by" in given else one
    if one and number("dropout", given.get("dropout", 0), "fre_param_dropout") > 0:
        raise UsageError("contacts='one' asks for no second answer that could stay out: leave out dropout")
    if servers and not one:
        raise UsageError("noise_by='servers' needs contacts='one': with two, users add the noise")
    return one, servers


def distributed(target: Any, given: dict[str, Any], curious: int, dropout: float, more: tuple[str, ...] = ()) -> bool:
    """Fill dist and noise of a fre_plan_request or a fre_mechanism; curious, dropout: where nothing is said.  more:
    further parameters that belong to it.  Whether it is on."""
    if "noise" in given:
        choice("noise", given["noise"], ("continuous", "discrete"))
    if not _check(given, more):
        return False
    d = target.dist
    d.on, d.cover, d.splits = True, flag("cover", given.get("cover", True)), flag("splits", given.get("splits"))
    d.one_contact, d.server_noise = _contacts(given)
    d.curious = number("curious_users", given.get("curious_users", curious), "fre_param_curious_users")
    d.dropout = 0 if d.one_contact else number("dropout", given.get("dropout", dropout), "fre_param_dropout")
    target.noise = lib.FRE_NOISE_CONTINUOUS if given.get("noise") == "continuous" else lib.FRE_NOISE_DISCRETE
    return True
