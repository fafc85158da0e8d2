#!/usr/bin/python3
"""A client of collections with a grid and cover messages, written from docs/wire.md and docs/client.md.

usage: client.py --terms terms.json --id ID --state FILE [--embedding x.npy] [--ticket FILE] --claim-checked

Needs Python 3.11 and its package cryptography (Debian: python3-cryptography).  An example, to be read beside the page:
its arithmetic is not constant time.
"""
import argparse
import array
import ast
import functools
import hashlib
import hmac
import json
import math
import os
import random
import secrets
import struct
import sys
import time

import cells
import seal
import share
import terms as collection
import voprf
from relay import Later, Relay
from voprf import Refused

CARRY, ADMITTED, ENTRY, ANSWER, REJECTION, RECEIPT = 20, 21, 22, 32, 14, 15
AGAIN = {3, 10, 13}  # rejections that are not final: wrong phase, full, unavailable
draw = random.SystemRandom()


# ---- what is said ---------------------------------------------------------------------------------------


class Terms:
    def __init__(self, values, claim_checked):
        if values["cover"] != 1:
            raise Refused("this example takes part with cover alone")
        if not claim_checked:
            raise Refused("whether the terms keep their claim has to be checked: see README.md")
        self.values, self.id = values, collection.id_of(values)
        self.places = values["cells_per_user"]
        self.numbers = share.Numbers(values)

    def __getitem__(self, name):
        return self.values[name]

    @functools.cached_property
    def grid(self):
        return cells.Grid(*(self.values[k] for k in ("grid_seed", "dim", "proj", "cell_edge")))

    def head(self, kind):
        return bytes([2, kind]) + self.id

    def hash(self, label, x):
        return hashlib.sha256(seal.labelled(label, self.id + x)).digest()

    def info(self, label, more=b""):
        return seal.labelled(label, self.id + more)


def ticket(terms, key, name):
    """Credentials of an issuer that knows its users by tickets (section 9)."""
    name = name.encode()
    if not 1 <= len(name) <= 31 or len(key) != 32:
        raise Refused("a ticket's name has 1 to 31 bytes, its key 32")
    return seal.labelled(name, hmac.digest(key, terms.info(b"fre/ticket/v1") + name, "sha256"))


def accepted(message):
    """Raises what a rejection asks for: Later, or Refused."""
    if len(message) == 3 and message[:2] == bytes([2, REJECTION]):
        if message[2] in AGAIN:
            raise Later()
        raise Refused(f"rejected: {message[2]}")


def carry(terms, what, token, inside):
    return terms.head(CARRY) + bytes([what]) + token + inside


def elements(inputs, blinds):
    return len(inputs).to_bytes(2, "big") + b"".join(voprf.blind(x, k) for x, k in zip(inputs, blinds))


def issue_request(terms, credentials, ids, blinds):
    return terms.head(18) + bytes([len(credentials)]) + credentials.ljust(64, b"\0") + elements(ids, blinds)


def tag_request(terms, inputs, blinds):
    return terms.head(1) + elements(inputs, blinds)


def outputs(terms, kind, key, message, inputs, blinds):
    """What an issue response or a tag response says, verified."""
    n = len(inputs)
    accepted(message)
    if len(message) != 36 + 32 * n + 64 or message[:36] != terms.head(kind) + n.to_bytes(2, "big"):
        raise Refused("an answer of a wrong form")
    answered = [message[36 + 32 * i:68 + 32 * i] for i in range(n)]
    return voprf.finish(key, inputs, blinds, answered, message[-64:])


def place_id(terms, place):
    return terms.hash(b"fre/id/v2", place)[:16]


def entry_proof(terms, key, tag):
    return hmac.digest(key, terms.info(b"fre/proof/v2") + tag, "sha256")[:16]


def seal_seed(terms, tag, own_id, seed, place, ephemeral=None, list_hash=b""):
    info = terms.info(b"fre/seed/v2", tag + own_id + list_hash)
    hpke = seal.Hpke(terms["aead"], terms["tag_seal"], info, ephemeral)
    return hpke.seal(b"", seed + place + bytes(4))


def to_syn(terms, kind, plain, ephemeral):
    head, label = terms.head(kind), {ENTRY: b"fre/entry/v2", ANSWER: b"fre/answer/v2"}[kind]
    return head + seal.Hpke(terms["aead"], terms["syn_seal"], terms.info(label), ephemeral).seal(head, plain)


def entry(terms, place, key, tag, share_of_it, ephemeral=None):
    """share_of_it: sealed seed and packed share; with two contacts nothing."""
    plain = place_id(terms, place) + tag + entry_proof(terms, key, tag) + share_of_it
    return to_syn(terms, ENTRY, plain, ephemeral)


def answer_name(terms, own_id, proof):
    return terms.hash(b"fre/name/v2", own_id + proof)[:16]


def answer(terms, name, sealed_seed, packed, ephemeral=None):
    return to_syn(terms, ANSWER, name + sealed_seed + packed, ephemeral)


class Listed:
    """What S_syn counted and the issuer agrees with; Refused if anything is wrong."""

    def __init__(self, terms, message):
        outer = seal.verify(terms["issuer_sign"], b"fre/listed/v2", message)
        inner = outer[38:]
        if outer[:34] != terms.head(31) or int.from_bytes(outer[34:38], "big") != len(inner):
            raise Refused("no list of this collection")
        signed = seal.verify(terms["syn_sign"], b"fre/list/v1", inner)
        rows, n = signed[38:], int.from_bytes(signed[34:38], "big")
        if signed[:34] != terms.head(6) or len(rows) != 36 * n or n > 2**20:
            raise Refused("no list of this collection")
        self.tags = [rows[i:i + 32] for i in range(0, 36 * n, 36)]
        self.counts = [int.from_bytes(rows[i + 32:i + 36], "big") for i in range(0, 36 * n, 36)]
        if any(a >= b for a, b in zip(self.tags, self.tags[1:])):
            raise Refused("the tags of the list do not ascend")
        if min(self.counts, default=terms["tau"]) < terms["tau"] or sum(self.counts) > terms["users"] * terms.places:
            raise Refused("the counts of the list are impossible")
        self.hash = hashlib.sha256(rows).digest()

    def count(self, tag):
        """0: it is not there.  The whole list is looked at."""
        return sum(count for other, count in zip(self.tags, self.counts) if hmac.compare_digest(other, tag))


# ---- the state: everything is in it before it leaves ------------------------------------------------------


class State:
    """A private JSON file; bytes are hexadecimal."""

    def __init__(self, path):
        self.path = path

    def load(self):
        try:
            with open(self.path, encoding="ascii") as f:
                return json.load(f)
        except FileNotFoundError:
            return None

    def keep(self, values):
        temporary = self.path + ".new"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w", encoding="ascii") as f:
            json.dump(values, f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, self.path)
        folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def some_time(start, end):
    return start + draw.random() * max(0, end - start)


class Client:
    """One device in one collection.  Its steps are those of wire.md, section 3."""

    def __init__(self, terms, state, embeddings=(), credentials=b"", now=time.time):
        self.terms, self.file, self.now = terms, state, now
        self.s = state.load()
        if self.s is None:
            self.s = self.begin(list(embeddings)[:terms.places], credentials)
            self.file.keep(self.s)
        if self.s["id"] != terms.id.hex():
            raise Refused("the state is of another collection")

    # -- coins, places, blinds and the first message

    def begin(self, embeddings, credentials):
        t = self.terms
        start, half = t["open"], (t["open"] + t["exchange_close"]) / 2
        places = [secrets.token_bytes(16) for _ in range(t.places)]
        ids, blinds = [place_id(t, r) for r in places], [voprf.random_scalar() for _ in places]
        sealed, opener = seal.ohttp_request(t["aead"], t["issuer_seal"], b"/issue",
                                            issue_request(t, credentials, ids, blinds))
        return {"id": t.id.hex(), "stage": "issue", "at": some_time(max(start, self.now()), half),
                "coins": [secrets.randbelow(2**32) < t["p32"] for _ in places],
                "places": [r.hex() for r in places], "blinds": blinds, "opener": opener.hex(),
                "message": carry(t, 18, bytes(32), sealed).hex(), **self.inputs(embeddings)}

    def inputs(self, embeddings):
        """What S_tag is asked of each place: the cell of a text, or random bytes."""
        t = self.terms
        found, asked, real = [], [], []
        for i in range(t.places):
            x = floats(embeddings[i], t) if i < len(embeddings) else None
            cell = t.grid.cell(x) if x else None
            real.append(list(x) if x and cell not in found else None)
            asked.append(cell if real[-1] else secrets.token_bytes(32))
            found.append(cell)
        return {"asked": [a.hex() for a in asked], "x": real}

    # -- answers

    def bytes_of(self, name):
        return [bytes.fromhex(h) for h in self.s[name]]

    def opened(self, answer):
        return seal.ohttp_response(self.terms["aead"], bytes.fromhex(self.s["opener"]), answer)

    def take_issue(self, answer):
        t, s = self.terms, self.s
        if answer[:34] != t.head(ADMITTED):
            raise Refused("an answer of a wrong form")
        token, inside = answer[34:66], self.opened(answer[66:])
        ids = [place_id(t, r) for r in self.bytes_of("places")]
        found = outputs(t, 19, t["issuer_pk"], inside, ids, s["blinds"])
        blinds = [voprf.random_scalar() for _ in ids]
        sealed, opener = seal.ohttp_request(t["aead"], t["tag_seal"], b"/tags",
                                            tag_request(t, self.bytes_of("asked"), blinds))
        s.update(stage="tags", keys=[k.hex() for k in found], blinds=blinds, opener=opener.hex(), token=token.hex(),
                 at=self.now(), message=carry(t, 1, token, sealed).hex())

    def take_tags(self, answer):
        t, s = self.terms, self.s
        found = outputs(t, 2, t["oprf_pk"], self.opened(answer), self.bytes_of("asked"), s["blinds"])
        last = self.now() + 0.9 * (t["tags_close"] - self.now())
        said = [bool(coin and x is not None) for coin, x in zip(s["coins"], s["x"])]
        s["tags"] = [(out[:32] if yes else secrets.token_bytes(32)).hex() for out, yes in zip(found, said)]
        s["x"] = [x if yes else None for x, yes in zip(s["x"], said)]
        s["entries"] = [{"at": some_time(self.now(), last), "message": self.entry(i).hex()} for i in range(t.places)]
        s["stage"] = "entries"
        self.forget("message", "opener", "blinds", "asked", "coins")
        if t["contacts"] == 1:
            self.forget("x", "keys", "places", "tags")

    def forget(self, *names):
        for name in names:
            del self.s[name]

    def place(self, i):
        """(place, key, tag)"""
        return tuple(bytes.fromhex(self.s[name][i]) for name in ("places", "keys", "tags"))

    def entry(self, i):
        t = self.terms
        place, key, tag = self.place(i)
        share_of_it = b""
        if t["contacts"] == 1:
            seed = secrets.token_bytes(16)
            share_of_it = seal_seed(t, tag, place_id(t, place), seed, place) + self.share(i, seed, t.numbers.bits(), t["tau"])
        return carry(t, ENTRY, bytes.fromhex(self.s["token"]), entry(t, place, key, tag, share_of_it))

    def share(self, i, seed, bits, count):
        x = self.s["x"][i] or [0.0] * self.terms["dim"]
        return share.share(self.terms.numbers, x, seed, bits, count)

    def take_list(self, message):
        t, s = self.terms, self.s
        listed = Listed(t, message)
        bits = t.numbers.bits(listed.counts)
        last = self.now() + 0.9 * (t["shares_close"] - self.now())
        s["entries"] = [{"at": some_time(self.now(), last), "message": self.answer(i, listed, bits).hex()}
                        for i in range(t.places)]
        s["stage"] = "answers"
        self.forget("x", "keys", "places", "tags")

    def answer(self, i, listed, bits):
        t, seed = self.terms, secrets.token_bytes(16)
        place, key, tag = self.place(i)
        count = listed.count(tag) if self.s["x"][i] else 0
        if not count:  # one that says nothing
            self.s["x"][i] = None
            place, tag = secrets.token_bytes(16), secrets.token_bytes(32)
        own_id = place_id(t, place)
        name = answer_name(t, own_id, entry_proof(t, key, tag)) if count else secrets.token_bytes(16)
        sealed = seal_seed(t, tag, own_id, seed, place, list_hash=listed.hash)
        whole = answer(t, name, sealed, self.share(i, seed, bits, count or t["tau"]))
        return carry(t, ANSWER, bytes.fromhex(self.s["token"]), whole)

    # -- on its way

    def due(self):
        """(when, message) of what is to be sent next, an empty one for the list; None when all is said."""
        if self.s["stage"] == "list":
            return self.terms["tags_close"], b""
        if self.s["stage"] in ("issue", "tags"):
            return self.s["at"], bytes.fromhex(self.s["message"])
        waiting = self.s.get("entries", [])
        first = min(waiting, key=lambda e: e["at"], default=None)
        return (first["at"], bytes.fromhex(first["message"])) if first else None

    def too_late(self):
        name = {"entries": "tags_close", "list": "shares_close", "answers": "shares_close"}
        return self.now() >= self.terms[name.get(self.s["stage"], "exchange_close")]

    def take(self, answer, message):
        """An answer to a message that was due.  Raises Later where it says so."""
        accepted(answer)
        if self.s["stage"] == "issue":
            self.take_issue(answer)
        elif self.s["stage"] == "tags":
            self.take_tags(answer)
        elif self.s["stage"] == "list":
            self.take_list(answer)
        elif answer == bytes([2, RECEIPT]):
            self.s["entries"] = [e for e in self.s["entries"] if e["message"] != message.hex()]
            if not self.s["entries"] and self.s["stage"] == "entries" and self.terms["contacts"] == 0:
                self.s["stage"] = "list"
            elif not self.s["entries"]:
                self.s = {"id": self.terms.id.hex(), "stage": "over"}
        else:
            raise Refused("an answer of a wrong form")
        self.file.keep(self.s)

    def run(self, relay):
        """Until all is receipted.  Refused: it ends here, and stays ended."""
        pause = 1.0
        while (next_one := self.due()) is not None:
            when, message = next_one
            while (left := when - self.now()) > 0:
                time.sleep(min(left, 60))
            try:
                if self.too_late():
                    raise Refused("too late: the collection closed before everything was taken")
                self.take(relay.post(message) if message else relay.listed(), message)
                pause = 1.0
            except Later as later:
                time.sleep(max(later.after, pause / 2 + draw.random() * pause / 2))
                pause = min(2 * pause, 300)
            except Refused:
                self.s = {"id": self.terms.id.hex(), "stage": "ended"}
                self.file.keep(self.s)
                raise
        if self.s["stage"] == "ended":
            raise Refused("this device takes no part any more")


# ---- embeddings ---------------------------------------------------------------------------------------------


def floats(x, terms):
    if len(x) != terms["dim"] or not all(math.isfinite(a) for a in x):
        raise Refused(f"an embedding has {terms['dim']} finite numbers")
    return array.array("f", x)


def read_npy(path):
    """The rows of a .npy file of float32 or float64."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:6] != b"\x93NUMPY":
        raise Refused(f"{path} is no .npy file")
    start, size = (10, "<H") if data[6] == 1 else (12, "<I")
    n, = struct.unpack_from(size, data, 8)
    head = ast.literal_eval(data[start:start + n].decode("latin-1"))
    if head["descr"] not in ("<f4", "<f8") or head["fortran_order"]:
        raise Refused(f"{path} has to hold little-endian floats, row by row")
    x = array.array(head["descr"][1:].replace("f4", "f").replace("f8", "d"), data[start + n:])
    d = head["shape"][-1]
    return [list(x[i:i + d]) for i in range(0, len(x), d)]


def read_embeddings(path):
    if path.endswith(".npy"):
        return read_npy(path)
    with open(path, encoding="utf-8") as f:
        return [[float(a) for a in line.replace(",", " ").strip(" []\n").split()] for line in f if line.strip()]


# ---- the release -----------------------------------------------------------------------------------------------


def read_release(terms, message):
    """(parts in all, statement, [(count, centroid)]) of a part of the release."""
    signed = seal.verify(terms["syn_sign"], b"fre/release/v1", message)
    if signed[:34] != terms.head(12):
        raise Refused("no release of this collection")
    _, parts, _, n = struct.unpack_from(">IIQH", signed, 34)
    statement, at = signed[52:52 + n].decode(), 56 + n
    count, = struct.unpack_from(">I", signed, 52 + n)
    size = 8 + 4 * terms["dim"]
    if len(signed) != at + count * size:
        raise Refused("a release of a wrong size")
    rows = [struct.unpack_from(f">II{terms['dim']}f", signed, at + i * size) for i in range(count)]
    return parts, statement, [(r[0], list(r[2:])) for r in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--terms", required=True)
    parser.add_argument("--id", required=True, help="from somebody you trust")
    parser.add_argument("--state", required=True, help="a file of this collection alone; no backup")
    parser.add_argument("--embedding", help=".npy, or a line of numbers a text; without it: no text")
    parser.add_argument("--ticket", help="a file with hexadecimal digits: what the issuer is shown")
    parser.add_argument("--claim-checked", action="store_true", help="fre-e2t collection check accepts the terms")
    args = parser.parse_args()
    try:
        with open(args.terms, encoding="utf-8") as f:
            terms = Terms(collection.from_json(f.read()), args.claim_checked)
        if not hmac.compare_digest(terms.id.hex(), args.id):
            raise Refused("the terms have another id than --id")
        credentials = b""
        if args.ticket:
            with open(args.ticket, encoding="ascii") as f:
                credentials = bytes.fromhex(f.read().strip())
        x = read_embeddings(args.embedding) if args.embedding else []
        Client(terms, State(args.state), x, credentials).run(Relay(terms, terms.id))
    except (Refused, OSError, ValueError) as e:
        print(f"client.py: {e}", file=sys.stderr)
        return 1
    print("Everything was taken; the state keeps no more than that.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
