"""The client of examples/python_client, written from docs/wire.md: its vectors, and a part in real collections."""

import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import threading
import time
import types
import urllib.request
from fractions import Fraction

import pytest

from conftest import PROGRAM, ROOT, TIMEOUT
from serve_world import free_port
from test_store import files_below

pytest.importorskip("cryptography")
sys.path.insert(0, str(ROOT / "examples" / "python_client"))
import cells  # noqa: E402
import client  # noqa: E402
import seal  # noqa: E402
import share  # noqa: E402
import terms as collection  # noqa: E402
import voprf  # noqa: E402
from relay import Later, Relay  # noqa: E402
from voprf import Refused  # noqa: E402

VECTORS = ROOT / "tests" / "vectors"
V = {k: bytes.fromhex(v) for k, v in json.loads((VECTORS / "wire.json").read_text()).items()}
ROLES = ("relay", "tagging", "synthesis", "issuer")


def little(name):
    return int.from_bytes(V[name], "little")


class Example(client.Terms):
    """What the client has of terms whose id and keys alone count."""

    def __init__(self, own_id=V["collection_id"]):  # pylint: disable=super-init-not-called
        self.values = {"aead": 1, "oprf_pk": voprf.encode(voprf.times(little("oprf_sk"), voprf.BASE)),
                       "tag_seal": public("tag_seal_sk"), "syn_seal": public("syn_seal_sk"),
                       "issuer_seal": public("issuer_seal_sk"), "users": 100000, "tau": 82, "cells_per_user": 1,
                       **{k: field(k) for k in ("syn_sign", "issuer_sign")}}
        self.places = 1
        self.id = own_id


def public(name):
    return seal.public_of(seal.secret_key(V[name]))


def field(name):
    """A key of the example's terms: they lie one after the other."""
    keys = ["oprf_pk", "issuer_pk", *collection.KEYS]
    at = V["collection"].index(public("tag_seal_sk")) + 32 * (keys.index(name) - 2)
    return V["collection"][at:at + 32]


# ---- vectors -------------------------------------------------------------------------------------------


def test_ristretto255():
    """RFC 9496, A.1 to A.3."""
    assert voprf.encode(voprf.times(2, voprf.BASE)).hex() == (
        "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919")
    for wrong in ("00" * 32, "00" + "ff" * 31, "ff" * 31 + "7f", "f3" + "ff" * 30 + "7f", "01" + "00" * 31,
                  "ed" + "ff" * 30 + "7f", "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371"):
        with pytest.raises(Refused):
            voprf.decode(bytes.fromhex(wrong))


def test_tags_and_their_proof():
    blind, cell, answer = little("blind"), V["cell"], V["tag_response"]
    t = Example()
    assert client.tag_request(t, [cell], [blind]) == V["tag_request"]
    assert client.outputs(t, 2, t["oprf_pk"], answer, [cell], [blind])[0][:32] == V["tag"]
    for at in (36, 68, 100, 131):
        wrong = bytearray(answer)
        wrong[at] ^= 2
        with pytest.raises(Refused):
            client.outputs(t, 2, t["oprf_pk"], bytes(wrong), [cell], [blind])
    with pytest.raises(Refused):
        client.outputs(t, 2, field("issuer_pk"), answer, [cell], [blind])


def test_oblivious_http():
    t = Example()
    sealed, opener = seal.ohttp_request(1, t["tag_seal"], b"/tags", V["tag_request"],
                                        seal.secret_key(V["request_ephemeral_sk"]))
    assert sealed == V["tag_request_sealed"]
    assert client.carry(t, 1, V["token"], sealed) == V["carry"]
    assert seal.ohttp_response(1, opener, V["tag_response_sealed"]) == V["tag_response"]
    with pytest.raises(Refused):
        seal.ohttp_response(1, opener, V["tag_response_sealed"][:-1] + b"\0")


def test_place_and_issue():
    t = Example()
    own = client.place_id(t, V["place"])
    assert own == V["entry_id"]
    blind = little("issue_blind")
    request = client.issue_request(t, b"ticket", [own], [blind])
    assert request == V["issue_request"]
    assert client.outputs(t, 19, field("issuer_pk"), V["issue_response"], [own], [blind]) == [V["place_key"]]
    assert client.entry_proof(t, V["place_key"], V["tag"]) == V["entry_proof"]


def test_entry_of_one_contact():
    t = Example(V["one_collection_id"])
    sealed = client.seal_seed(t, V["tag"], V["one_entry_id"], V["share_seed"], V["place"],
                              seal.secret_key(V["one_entry_seed_ephemeral_sk"]))
    assert sealed == V["one_sealed_entry_seed"]
    assert share.split(range(12), V["share_seed"], V["share_bits"][0]) == V["share_packed"]
    whole = client.entry(t, V["place"], V["one_place_key"], V["tag"], sealed + V["share_packed"],
                         seal.secret_key(V["one_entry_ephemeral_sk"]))
    assert whole == V["one_entry"]


def test_entry_list_and_answer_of_two_contacts():
    t = Example()
    ephemeral = seal.secret_key(V["entry_ephemeral_sk"])
    assert client.entry(t, V["place"], V["place_key"], V["tag"], b"", ephemeral) == V["entry"]
    listed = client.Listed(t, V["listed"])
    assert listed.count(V["tag"]) == 128 and listed.count(bytes(32)) == 0
    sealed = client.seal_seed(t, V["tag"], V["entry_id"], V["share_seed"], V["place"],
                              seal.secret_key(V["entry_seed_ephemeral_sk"]), listed.hash)
    assert sealed == V["sealed_entry_seed"]
    name = client.answer_name(t, V["entry_id"], V["entry_proof"])
    assert name == V["answer_name"]
    assert client.answer(t, name, sealed, V["share_packed"], ephemeral) == V["answer"]
    for at in range(0, len(V["listed"]), 5):
        wrong = bytearray(V["listed"])
        wrong[at] ^= 1
        with pytest.raises(Refused):
            client.Listed(t, bytes(wrong))


def test_bits():
    """Of the worked example."""
    values = collection.read(V["collection"])
    assert collection.id_of(values) == V["collection_id"]
    assert share.Numbers(values).bits([128]) == V["share_bits"][0]


def test_noise_has_the_law_of_the_vectors():
    """Distribution functions of |X| against frequencies: 4,000 draws are within 5 standard errors."""
    cdf = {}
    for line in (VECTORS / "gaussian.txt").read_text().splitlines()[1:]:
        var16, m, below = line.split()
        cdf.setdefault(int(var16), {})[int(m)] = int(below, 16) / 2**126
    for var16 in (65536, 4 * 65536, 147457):
        drawn = [share.gaussian(Fraction(var16, 2**16)) for _ in range(4000)]
        for m, p in list(cdf[var16].items())[:6]:
            error = (p * (1 - p) / 4000) ** 0.5
            assert abs(sum(abs(z) <= m for z in drawn) / 4000 - p) < 5 * error + 1e-3
        assert abs(sum(z > 0 for z in drawn) - sum(z < 0 for z in drawn)) < 5 * 4000**0.5


def test_signatures():
    key = field("syn_sign")
    assert seal.verify(key, b"fre/release/v1", V["release"]) == V["release"][:-64]
    for label, message, other in ((b"fre/release/v1", V["release"][:-1] + b"\0", key),
                                  (b"fre/list/v1", V["release"], key),
                                  (b"fre/release/v1", V["release"], bytes(32))):
        with pytest.raises(Refused):
            seal.verify(other, label, message)


def test_every_line_of_the_grid():
    grid, n = None, 0
    for line in (VECTORS / "sketch.txt").read_text().splitlines():
        w = line.split()
        if w[0] == "grid":
            dim = int(w[2])
            grid = cells.Grid(bytes.fromhex(w[1]), dim, int(w[3]), float.fromhex(w[4]))
        else:
            a, b, c = map(int, w[1:4])
            x = [((a * j * j + b * j + c) % 2048 - 1024) / 32768 for j in range(dim)]
            assert grid.coordinates(x) == list(map(int, w[4:-1])) and grid.cell(x).hex() == w[-1]
            n += 1
    assert n > 50


@pytest.mark.parametrize("dim", [1, 12, 24, 100, 384, 768])
def test_rotation_is_orthonormal(dim):
    rows = [share.rotate([1.0 if j == i else 0.0 for j in range(dim)], bytes(range(32))) for i in range(min(dim, 20))]
    assert len(rows[0]) == {1: 1, 12: 12, 24: 24, 100: 128, 384: 384, 768: 768}[dim]
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            assert abs(sum(x * y for x, y in zip(a, b)) - (i == j)) < 1e-12


def test_rounding_has_the_right_mean():
    assert [share.round_at_random(x, lambda n: 0) for x in (-1.25, 2.0, 0.5, 1e-300)] == [-1, 2, 1, 1]
    assert [share.round_at_random(x, lambda n: n - 1) for x in (-1.25, 2.0, 0.5, 1e-300)] == [-2, 2, 0, 0]
    # the chance is the fraction itself, whatever its digits
    assert share.round_at_random(0.1, lambda n: 3602879701896397 * n // 2**55 - 1) == 1
    assert share.round_at_random(0.1, lambda n: -(-3602879701896397 * n // 2**55)) == 0


OF_A_CLIENT = json.loads((VECTORS / "client.json").read_text())
TERMS = OF_A_CLIENT["terms"]


def test_from_a_text_to_its_cell(tmp_path):
    t = client.Terms(collection.from_json(json.dumps(TERMS)), True)
    (tmp_path / "t.txt").write_text("".join(e["text"] + "\n" for e in OF_A_CLIENT["texts"]))
    run(tmp_path, "embed", "t.txt", "-o", "x.npy", "--quiet")
    for e, here in zip(OF_A_CLIENT["texts"], client.read_embeddings(str(tmp_path / "x.npy"))):
        x = struct.unpack(f"<{t['dim']}f", bytes.fromhex(e["embedding"]))
        assert max(abs(a - b) for a, b in zip(x, here)) < 1e-3
        assert t.grid.coordinates(x) == e["coordinates"] and t.grid.cell(x).hex() == e["cell"]


@pytest.mark.parametrize("r", OF_A_CLIENT["rotations"], ids=lambda r: str(r["dim"]))
def test_rotation(r):
    x = [((3 * j * j + 17 * j) % 2048 - 1024) / 32768 for j in range(r["dim"])]
    y = share.rotate(x, bytes.fromhex(r["sign_seed"]))
    assert len(y) == r["padded"] == share.padded(r["dim"])
    assert max(abs(a - b) for a, b in zip(y[::r["step"]], r["values"], strict=True)) < 1e-12


class Given:
    """What is drawn of a stream, by tests/vectors/README.md."""

    def __init__(self, case):
        self.stream = cells.Stream(bytes.fromhex(case["stream"]), case["label"].encode())
        self.tables = {}
        for line in (VECTORS / "gaussian.txt").read_text().splitlines()[1:]:
            var16, _, below = line.split()
            self.tables.setdefault(int(var16), []).append(int(below, 16))

    def u64(self):
        return self.stream.word() | self.stream.word() << 32

    def rounded(self, y):
        n = math.floor(abs(y))
        n += self.u64() >> 11 < math.floor((abs(y) - n) * 2**53)
        return -n if y < 0 else n

    def drawn(self, variance):
        low, high = self.u64(), self.u64()
        v = low % 2**63 + 2**63 * (high % 2**63)
        size = sum(below <= v for below in self.tables[variance * 2**16])
        return -size if high >> 63 else size

    def bytes(self, n):
        return b"".join(struct.pack("<I", self.stream.word()) for _ in range(n // 4))


@pytest.mark.parametrize("case", OF_A_CLIENT["shares"], ids=lambda c: str(c["dim"]))
def test_a_share_of_a_given_stream(case):
    numbers = types.SimpleNamespace(t={"norm_bound": case["norm_bound"], "sign_seed": bytes.fromhex(case["sign_seed"])},
                                    of=lambda count: (case["step"], Fraction(case["var16"], 2**16)))
    x = [((3 * j * j + 17 * j) % 2048 - 1024) / 32768 for j in range(case["dim"])]
    given, seed = Given(case), bytes.fromhex(case["seed"])
    assert share.share(numbers, x, seed, case["bits"], 1, given.rounded, given.drawn).hex() == case["packed"]
    assert given.bytes(16) == seed


def test_terms_that_the_program_accepts(tmp_path):
    values = collection.from_json(json.dumps(TERMS))
    data = collection.to_bytes(values)
    assert collection.from_bytes(data) == values and collection.id_of(values).hex() == TERMS["id"]
    with pytest.raises(Refused, match="claim"):
        client.Terms(values, False)
    (tmp_path / "terms.json").write_text(json.dumps(TERMS))
    told = json.loads(run(tmp_path, "collection", "check", "terms.json", "--json"))
    assert told["id"] == TERMS["id"] and abs(told["delta"] / OF_A_CLIENT["delta"] - 1) < 1e-6
    for case in OF_A_CLIENT["refused"]:
        other = {**TERMS, case["change"]: case["to"]}
        del other["id"]
        (tmp_path / "other.json").write_text(json.dumps(other))
        done = subprocess.run([PROGRAM, "collection", "check", "other.json"], cwd=tmp_path, capture_output=True)
        assert done.returncode == case["code"] != 0


def test_any_other_byte_is_another_id_or_refused():
    data = collection.to_bytes(collection.from_json(json.dumps(TERMS)))
    for at in range(len(data)):
        wrong = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
        try:
            assert collection.id_of(collection.from_bytes(wrong)).hex() != TERMS["id"]
        except (Refused, UnicodeDecodeError):
            pass
    for wrong in (data + b"\0", data[:-1], b"\2\x0f" + data[2:], b""):
        with pytest.raises(Refused):
            collection.from_bytes(wrong)


def other_hash(name):
    return {name: ("0" if TERMS[name][0] != "0" else "1") + TERMS[name][1:]}


@pytest.mark.parametrize("change", [
    *[other_hash(r + kind) for r in collection.OPERATORS for kind in ("_contribution", "_commitment")],
    other_hash("grid_seed"), other_hash("sign_seed"), other_hash("id"), {"more": 1}, {"contacts": 1}, {"cover": "true"},
    {"relay_contribution": TERMS["tag_contribution"]}, {"oprf_pk": "00" * 32}, {"oprf_pk": "01" + "00" * 31},
    {"tag_sign": TERMS["syn_sign"]}, {"relay_sign": "01" + "00" * 31}, {"relay_url": "http://relay.example"},
    {"relay_url": "https://relay.example"}, {"relay_pin": "11" * 32}, {"tau": TERMS["tau"] - 1}, {"dropout": -0.0},
    {"shares_close": TERMS["shares_close"] + 1}, {"end": TERMS["open"]}, {"curious": TERMS["tau"]}, {"sigma": 0},
    {"sigma": 1e6}, {"norm_bound": 1e9}, {"sketch": "codebook"}, {"users": 2**32}, {"epsilon": "4"}, {"noise_by": True}],
    ids=lambda c: next(iter(c)))
def test_terms_that_are_refused(change):
    with pytest.raises(Refused):
        values = {**TERMS, **change}
        if "id" not in change:
            del values["id"]
        collection.from_json(json.dumps(values))


def test_a_key_twice_is_refused():
    with pytest.raises(Refused, match="repeated"):
        collection.from_json(json.dumps(TERMS)[:-1] + ', "tau": 3}')


# ---- a real collection -----------------------------------------------------------------------------------


def run(folder, *args):
    done = subprocess.run([PROGRAM, *map(str, args)], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT)
    if "built without" in done.stderr:
        pytest.skip("this build has no servers")
    assert done.returncode == 0, done.stderr
    return done.stdout


def keygen(folder, role, https):
    port = {"peer": free_port(), "health": free_port()}
    port["url"] = free_port() if role == "relay" else port["peer"]
    made = json.loads(run(folder, "collection", "keygen", role, "--url", f"http{'s' * https}://127.0.0.1:{port['url']}",
                          "-o", f"keys-{role}", "--json"))
    return types.SimpleNamespace(role=role, port=port, made=made)


def configure(folder, r, others, https):
    def listen(port):
        return {"listen": f"127.0.0.1:{r.port[port]}"}

    c = {"role": r.role, "store": f"sqlite:{folder}/rows-{r.role}", "keys": f"{folder}/keys-{r.role}",
         "collections": f"{folder}/terms", "peer": listen("peer"), "health": listen("health")}
    if r.role == "relay":
        c["public"] = {**listen("url"), "requests_a_minute": 0}
    else:
        relay = next(o for o in others if o.role == "relay")
        c["peers"] = {"relay": f"http{'s' * https}://127.0.0.1:{relay.port['peer']}"}
    if r.role == "issuer":
        c["credentials"] = {"kind": "hmac", "file": f"{folder}/ticket.key"}
    if https:
        c.update(certificate=str(folder / r.made["certificate"]), private_key=str(folder / r.made["private_key"]))
    (folder / f"{r.role}.json").write_text(json.dumps(c))


def agree(folder, roles, times):
    halves = [r.made["half"] for r in roles]
    shown = []
    for r in roles:
        run(folder, "collection", "commit", "--secret", r.made["secret"], *halves, "-o", f"{r.role}.contribution.json")
        shown += ["--contribution", f"{r.role}.contribution.json"]
    (folder / "terms").mkdir()
    run(folder, "collection", "new", *halves, *shown, "--epsilon", "20", "--delta", "1e-3", "--threshold", "30",
        "--population", "200", "--batch-min", "10", *times, "-o", "terms/terms.json")
    run(folder, "collection", "check", "terms/terms.json")
    return client.Terms(collection.from_json((folder / "terms" / "terms.json").read_text()), True)


class World:
    """Four roles in processes of their own."""

    def __init__(self, folder, https, two, scale):
        self.folder = folder
        self.roles = [keygen(folder, role, https) for role in ROLES]
        self.key = os.urandom(32)
        (folder / "ticket.key").touch(0o600)
        (folder / "ticket.key").write_text(self.key.hex())
        for r in self.roles:
            configure(folder, r, self.roles, https)
        self.terms = agree(folder, self.roles, ["--open", f"+{4 * scale}s", "--exchange-close", f"+{8 * scale}s",
                                                "--tags-close", f"+{6 * scale}s", "--end", "+1h",
                                                *(["--contacts", "two", "--shares-close", f"+{8 * scale}s"] * two)])
        self.processes = []

    def __enter__(self):
        for r in self.roles:
            with open(self.folder / f"{r.role}.log", "w", encoding="ascii") as log:
                self.processes.append(subprocess.Popen([PROGRAM, "serve", r.role, "--config", f"{r.role}.json"],
                                                       cwd=self.folder, stdin=subprocess.DEVNULL, stderr=log))
        for r, p in zip(self.roles, self.processes):
            self.wait(r, p)
        return self

    def wait(self, r, process):
        until = time.monotonic() + TIMEOUT
        while True:
            assert process.poll() is None and time.monotonic() < until, (self.folder / f"{r.role}.log").read_text()
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{r.port['health']}/readyz", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)

    def __exit__(self, *_):
        for p in self.processes:
            p.kill()
        for p in self.processes:
            p.wait(TIMEOUT)

    def ticket(self, name):
        return client.ticket(self.terms, self.key, name)


class Lossy(Relay):
    """A relay of which every first answer is lost; keeps what was sent."""

    def __init__(self, terms):
        super().__init__(terms, terms.id)
        self.sent = []

    def post(self, message):
        self.sent.append(message)
        answer = super().post(message)
        if self.sent.count(message) == 1:
            raise Later()
        return answer


class Device(threading.Thread):
    def __init__(self, world, name, x, lossy=False):
        super().__init__()
        t = world.terms
        self.state = client.State(str(world.folder / name))
        self.relay = Lossy(t) if lossy else Relay(t, t.id)
        self.client = client.Client(t, self.state, [x] if x else [], world.ticket(name))
        self.coin = bool(x) and self.client.s["coins"][0]
        self.error = None

    def run(self):
        try:
            # of what is stored alone, as after a restart
            client.Client(self.client.terms, self.state).run(self.relay)
        except Refused as e:
            self.error = str(e)


def in_c(world, n):
    """As many devices of the program, with the same text."""
    (world.folder / "one.txt").write_text(TEXT + "\n")
    return [subprocess.Popen([PROGRAM, "contribute", "one.txt", "--collection", "terms/terms.json", "--state", f"c-{i}",
                              "--name", f"c-{i}", "--ticket-key", "ticket.key", "--quiet"], cwd=world.folder,
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for i in range(n)]


TEXT = "where is my parcel"
PYTHON, OURS = 42, 4


def take_part(world, x):
    """The devices of Python, and whether everybody was in time."""
    devices = [Device(world, f"python-{i}", x, lossy=i < 3) for i in range(PYTHON)]
    devices.append(Device(world, "without-a-text", None))
    others = in_c(world, OURS)
    for d in devices:
        d.start()
    for d in devices:
        d.join()
    said = [p.communicate(timeout=TIMEOUT)[1] for p in others] + [d.error or "" for d in devices]
    late = [s for s in said if "too late" in s]
    assert late or not any(said), said
    return devices, not late


def the_release(world):
    relay, until = Relay(world.terms, world.terms.id), time.monotonic() + TIMEOUT
    while True:
        try:
            return client.read_release(world.terms, relay.release(0))
        except Later:
            assert time.monotonic() < until, "no release"
            time.sleep(0.2)


def must_be_forgotten(world, x):
    """Nothing of the text is in any file of a server, a device or their logs, but where it came from."""
    marks = [TEXT.encode(), struct.pack(f"<{len(x)}f", *x)[:32], world.terms.grid.cell(x)]
    for path in files_below(world.folder):
        if path.name != "one.txt":
            data = path.read_bytes()
            assert not any(m in data or m.hex().encode() in data for m in marks), path


def must_hold(world, devices, x, two):
    parts, statement, rows = the_release(world)
    assert parts == 1 and statement and len(rows) == 1
    (count, centroid), = rows
    heads = sum(d.coin for d in devices)
    assert heads <= count <= heads + OURS
    noise = world.terms["sigma"] * (2 * len(x)) ** 0.5 / count  # two contacts: less
    assert sum((a - b) ** 2 for a, b in zip(centroid, x)) ** 0.5 < 2 * noise + 0.1
    for d in devices:
        assert d.state.load() == {"id": world.terms.id.hex(), "stage": "over"}
    must_be_forgotten(world, x)
    for d in devices[:3]:  # each message twice, and no other
        assert sorted(d.relay.sent) == sorted(2 * list(set(d.relay.sent))) and len(set(d.relay.sent)) == 3 + two


def refuses_another_key(world):
    other = {**world.terms.values, "relay_pin": bytes(range(32))}
    with pytest.raises(Refused, match="relay_pin"):
        Relay(other, world.terms.id).release(0)


@pytest.mark.parametrize("https, two", [(False, False), (True, True)])
def test_a_collection(tmp_path, https, two):
    (tmp_path / "one.txt").write_text(TEXT + "\n")
    run(tmp_path, "embed", "one.txt", "-o", "x.npy", "--quiet")
    x, = client.read_embeddings(str(tmp_path / "x.npy"))
    for scale in (2, 4, 8, 16):  # a busy machine is no fault
        folder = pathlib.Path(tmp_path / f"times-{scale}")
        folder.mkdir()
        with World(folder, https, two, scale) as world:
            devices, in_time = take_part(world, x)
            if not in_time:
                continue
            must_hold(world, devices, x, two)
            if https:
                refuses_another_key(world)
            return
    pytest.fail("somebody was late with the longest times")
