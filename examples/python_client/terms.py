"""The public terms of a collection: docs/wire.md, section 2."""
import hashlib
import ipaddress
import json
import math
import re
import struct

from seal import labelled, small_order
from share import padded
from voprf import Refused, decode

OPERATORS = ("relay", "tag", "syn", "issuer")
CHOICES = {"sketch": ("grid", "codebook"), "cover": (False, True), "contacts": ("two", "one"),
           "noise_by": ("clients", "servers"), "splits": (False, True), "adjacency": ("add-remove", "replace"),
           "sensitivity": ("probabilistic", "worst-case")}
AEADS = {1: "aes-128-gcm", 3: "chacha20-poly1305"}
KEYS = [*[r + "_seal" for r in ("tag", "syn", "issuer")], *[r + "_sign" for r in ("tag", "syn", "relay", "issuer")]]
TIMES = ("open", "exchange_close", "tags_close", "shares_close", "end")
# name and form, in their order; those of a codebook are not in this example
FIELDS = [("embedder", "32s"), ("dim", "I"),
          *[(r + kind, "32s") for r in OPERATORS for kind in ("_contribution", "_commitment")],
          ("grid_seed", "32s"), ("sign_seed", "32s"), ("sketch", "B"), ("proj", "I"), ("cell_edge", "d"),
          ("p32", "Q"), ("threshold", "Q"), ("tau", "Q"), ("sigma", "d"), ("split", "d"), ("norm_bound", "d"),
          ("lambda16", "Q"), ("gamma", "I"), ("users", "Q"), ("batch_min", "Q"), ("curious", "I"), ("dropout", "d"),
          ("cover", "B"), ("contacts", "B"), ("noise_by", "B"), ("splits", "B"), ("adjacency", "B"),
          ("sensitivity", "B"), ("cells_per_user", "I"), ("epsilon", "d"), ("delta", "d"), ("phi", "d"), ("aead", "H"),
          ("oprf_pk", "32s"), ("issuer_pk", "32s"), *[(k, "32s") for k in KEYS],
          *[(r + "_url", "url") for r in OPERATORS], *[(r + "_pin", "32s") for r in OPERATORS],
          *[(t, "Q") for t in TIMES]]


def need(holds, what):
    if not holds:
        raise Refused("terms: " + what)


# ---- bytes and JSON ------------------------------------------------------------------------------------


def read(data):
    """The fields, whatever they say."""
    need(data[:2] == b"\x02\x10", "no collection of this version")
    terms, at = {}, 2
    for name, form in FIELDS:
        if form == "url":
            need(at < len(data), "they end too early")
            value, n = data[at + 1:at + 1 + data[at]], 1 + data[at]
            need(len(value) == n - 1 and value.isascii(), f"{name} is cut, or not ASCII")
            value = value.decode()
        else:
            n = struct.calcsize(">" + form)
            need(at + n <= len(data), "they end too early")
            value, = struct.unpack_from(">" + form, data, at)
        terms[name], at = value, at + n
        need(name != "sketch" or value == 0, "public cells are not in this example")
    need(at == len(data), "something follows their end")
    return terms


def from_bytes(data):
    terms = read(data)
    check(terms)
    return terms


def to_bytes(terms):
    out = b"\x02\x10"
    for name, form in FIELDS:
        value = terms[name]
        out += bytes([len(value)]) + value.encode() if form == "url" else struct.pack(">" + form, value)
    return out


def id_of(terms):
    return hashlib.sha256(to_bytes(terms)).digest()


def no_repeats(pairs):
    out = dict(pairs)
    need(len(out) == len(pairs), "a key is repeated")
    return out


def value_of(name, form, v):
    if name in CHOICES:
        need(v in CHOICES[name] and type(v) is type(CHOICES[name][0]), f"{name} has no such value")
        return CHOICES[name].index(v)
    if name == "aead":
        need(v in AEADS.values(), "aead has no such value")
        return next(k for k, word in AEADS.items() if word == v)
    if form == "32s":
        need(isinstance(v, str) and re.fullmatch("[0-9a-f]{64}", v), f"{name} is no 64 hexadecimal digits")
        return bytes.fromhex(v)
    if form == "url":
        need(isinstance(v, str) and v.isascii() and 1 <= len(v) <= 255, f"{name} is no address")
        return v
    need(isinstance(v, (int, float)) and not isinstance(v, bool), f"{name} is no number")
    if form == "d":
        return float(v)
    need(isinstance(v, int) and 0 <= v < 256 ** struct.calcsize(">" + form), f"{name} is out of range")
    return v


def from_json(text):
    given = json.loads(text, object_pairs_hook=no_repeats)
    need(isinstance(given, dict), "no JSON object")
    need(given.get("sketch") == "grid", "public cells are not in this example")
    said = given.pop("id", None)
    names = {name for name, _ in FIELDS}
    need(set(given) == names, "keys unknown or missing: " + ", ".join(sorted(set(given) ^ names)))
    terms = {name: value_of(name, form, given[name]) for name, form in FIELDS}
    check(terms)
    need(said is None or said == id_of(terms).hex(), "their id is another")
    return terms


# ---- what is refused -------------------------------------------------------------------------------------


def seeds(terms):
    drawn = [terms[r + "_contribution"] for r in OPERATORS]
    need(len(set(drawn)) == 4, "two contributions are the same")
    for i, r in enumerate(OPERATORS):
        told = hashlib.sha256(labelled(b"fre/contribution/v2", bytes([i]) + drawn[i])).digest()
        need(terms[r + "_commitment"] == told, f"{r}_commitment is of other bytes")
    for name, label in (("grid_seed", b"fre/grid-seed/v2"), ("sign_seed", b"fre/sign-seed/v2")):
        need(terms[name] == hashlib.sha256(labelled(label, b"".join(drawn))).digest(),
             f"{name} does not follow from the contributions")


BETWEEN = {"dim": (1, 8192), "proj": (1, 64), "p32": (1, 2**32), "threshold": (1, 10**12), "tau": (2, 10**12),
           "lambda16": (1, 2**32), "gamma": (0, 2**24), "users": (1, 2**32 - 1), "cells_per_user": (1, 64),
           **{t: (1, 253402300799) for t in TIMES}}
ABOVE_0 = {"cell_edge": 1e12, "sigma": 1e12, "split": 1e12, "norm_bound": 1e12, "epsilon": 50}
TO_1 = ("dropout", "phi")  # from 0, below 1, never -0


def numbers(terms):
    for name, (low, high) in BETWEEN.items():
        need(low <= terms[name] <= high, f"{name} is out of range")
    for name, high in ABOVE_0.items():
        need(0 < terms[name] <= high, f"{name} is out of range")
    for name in TO_1:
        need(0 <= terms[name] < 1 and math.copysign(1, terms[name]) > 0, f"{name} is out of range")
    for name, values in CHOICES.items():
        need(terms[name] < len(values), f"{name} has no such value")
    need(0 < terms["delta"] < 1, "delta is out of range")
    need(terms["aead"] in AEADS, "aead has no such value")
    entries = terms["users"] * terms["cells_per_user"]
    need(entries < 2**32, "users and cells_per_user are too many")
    need(1 <= terms["batch_min"] <= entries, "batch_min is out of range")
    need(terms["tau"] == -(-terms["p32"] * terms["threshold"] // 2**32), "tau does not follow from p32 and threshold")
    need(terms["curious"] < terms["tau"], "curious is out of range")


def modes(terms):
    one = terms["contacts"] == 1
    need(one or terms["noise_by"] == 0, "servers' noise needs one contact")
    need(not one or terms["dropout"] == 0, "with one contact nobody drops out")
    need(terms["sensitivity"] == 0 or terms["split"] == 2 * terms["norm_bound"], "split is not that of the worst case")
    needed = terms["tau"] if one else max(1, math.ceil((1 - terms["dropout"]) * terms["tau"] * (1 - 1e-12)))
    need(needed > terms["curious"], "too few answers of the smallest cell are asked for")
    at = [terms[t] for t in TIMES]
    close = at[2] == at[3] if one else at[2] < at[3]
    need(at[0] < at[1] < at[2] and close and at[3] < at[4], "the times are not in order")


def is_local(host):
    if host == "localhost" or host.endswith(".onion"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def addresses(terms):
    for r in OPERATORS:
        url = re.fullmatch(r"(https?)://(\[[0-9a-f:.]+\]|[^\s/:?#@\[\]]+)(:\d+)?(/[^\s?#@]*)?", terms[r + "_url"])
        need(url, f"{r}_url is no address")
        plain = url[1] == "http"
        need(not plain or is_local(url[2]), f"{r}_url: plain http is for this machine and .onion services")
        need((terms[r + "_pin"] == bytes(32)) == plain, f"{r}_pin does not fit the address")


def keys(terms):
    nine = [terms[k] for k in ("oprf_pk", "issuer_pk", *KEYS)]
    need(len(set(nine)) == 9 and bytes(32) not in nine, "two keys are the same, or one is zero")
    decode(terms["oprf_pk"])
    decode(terms["issuer_pk"])
    need(not any(small_order(terms[k]) for k in KEYS if k.endswith("_sign")), "a signing key is of small order")


def check(terms):
    """All that section 2 refuses, but for the claim itself (see README.md)."""
    for one_kind in (numbers, modes, seeds, addresses, keys):
        one_kind(terms)
    noise = terms["sigma"] if terms["noise_by"] else terms["sigma"] / math.sqrt(terms["tau"] - terms["curious"])
    step = min(noise / 2, 0.2 * terms["split"] / math.sqrt(padded(terms["dim"])))
    need(terms["norm_bound"] <= 4096 * terms["split"] and noise <= 1024 * step, "no share can be made for these terms")
