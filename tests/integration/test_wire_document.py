"""docs/wire.md is enough: its worked example taken apart by what the page says, with nothing of the
program's code.  The cryptography is written out here from the RFCs, slow and plain."""
import hashlib
import hmac
import math
import os
import re
import struct

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def example():
    text = open(os.path.join(ROOT, "docs", "wire.md"), encoding="utf-8").read()
    block = text[text.index("## 8. Worked example"):].split("```")[1]
    return {k: bytes.fromhex(re.sub(r"\s", "", h))
            for k, h in re.findall(r"^(\w+) =((?:\s+[0-9a-f]+)+)$", block, re.M)}


V = example()

# ---- Ed25519 (RFC 8032) ------------------------------------------------------------------------

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
EDWARDS = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)


def ed_add(a, b):
    x = (a[1] - a[0]) * (b[1] - b[0]) % P
    y = (a[1] + a[0]) * (b[1] + b[0]) % P
    t = 2 * a[3] * b[3] * EDWARDS % P
    z = 2 * a[2] * b[2] % P
    e, f, g, h = y - x, z - t, z + t, y + x
    return e * f % P, g * h % P, f * g % P, e * h % P


def ed_times(k, p):
    q = (0, 1, 1, 0)
    while k:
        if k & 1:
            q = ed_add(q, p)
        p = ed_add(p, p)
        k >>= 1
    return q


def ed_point(b):
    y = int.from_bytes(b, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    xx = (y * y - 1) * pow(EDWARDS * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if (x * x - xx) % P:
        x = x * ROOT_OF_MINUS_1 % P
    assert (x * x - xx) % P == 0
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


BASE = ed_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed_bytes(p):
    z = pow(p[2], P - 2, P)
    return (p[1] * z % P | (p[0] * z % P & 1) << 255).to_bytes(32, "little")


def ed_public(seed):
    a = int.from_bytes(hashlib.sha512(seed).digest()[:32], "little")
    return ed_bytes(ed_times(a & ((1 << 254) - 8) | 1 << 254, BASE))


def ed_verify(pk, message, sig):
    s = int.from_bytes(sig[32:], "little")
    k = int.from_bytes(hashlib.sha512(sig[:32] + pk + message).digest(), "little") % L
    assert s < L
    right = ed_add(ed_point(sig[:32]), ed_times(k, ed_point(pk)))
    return ed_bytes(ed_times(s, BASE)) == ed_bytes(right)


# ---- X25519 (RFC 7748), HKDF (RFC 5869), AES-128 with CTR and GCM --------------------------------


def x25519(k, u):
    k = int.from_bytes(k, "little") & ((1 << 254) - 8) | 1 << 254
    x1 = int.from_bytes(u, "little") & (2**255 - 1)
    x2, z2, x3, z3 = 1, 0, x1, 1
    for t in reversed(range(255)):
        bit = k >> t & 1
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        da, cb = d * a % P, c * b % P
        x3, z3 = (da + cb) ** 2 % P, x1 * (da - cb) ** 2 % P
        aa, bb = a * a % P, b * b % P
        x2, z2 = aa * bb % P, (aa - bb) * (aa + 121665 * (aa - bb)) % P
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


NINE = (9).to_bytes(32, "little")


def extract(salt, ikm):
    return hmac.new(salt or bytes(32), ikm, hashlib.sha256).digest()


def expand(prk, info, n):
    out, t, i = b"", b"", 1
    while len(out) < n:
        t = hmac.new(prk, t + info + bytes([i]), hashlib.sha256).digest()
        out, i = out + t, i + 1
    return out[:n]


def make_sbox():
    box, p, q = [0] * 256, 1, 1
    box[0] = 0x63
    while True:
        p = p ^ (p << 1 & 0xff) ^ (0x1b if p & 0x80 else 0)
        for s in (1, 2, 4):
            q = q ^ q << s & 0xff
        q ^= 0x09 if q & 0x80 else 0
        r = q
        for s in (1, 2, 3, 4):
            r ^= (q << s | q >> (8 - s)) & 0xff
        box[p] = r ^ 0x63
        if p == 1:
            return box


SBOX = make_sbox()


def twice(a):
    return (a << 1 ^ (0x1b if a & 0x80 else 0)) & 0xff


def aes(key, block):
    w, rcon = [list(key[i:i + 4]) for i in range(0, 16, 4)], 1
    for i in range(4, 44):
        t = list(w[i - 1])
        if i % 4 == 0:
            t = [SBOX[b] for b in t[1:] + t[:1]]
            t[0] ^= rcon
            rcon = twice(rcon)
        w.append([a ^ b for a, b in zip(w[i - 4], t)])
    s = list(block)
    for r in range(11):
        if r:
            s = [SBOX[s[(i + 4 * (i % 4)) % 16]] for i in range(16)]
            if r < 10:
                m = []
                for c in range(0, 16, 4):
                    a = s[c:c + 4]
                    m += [twice(a[i] ^ a[(i + 1) % 4]) ^ a[(i + 1) % 4] ^ a[(i + 2) % 4] ^ a[(i + 3) % 4]
                          for i in range(4)]
                s = m
        s = [a ^ b for a, b in zip(s, sum(w[4 * r:4 * r + 4], []))]
    return bytes(s)


def ctr(key, counter, n, bits=128):
    out = b""
    number = int.from_bytes(counter, "big")
    while len(out) < n:
        out += aes(key, number.to_bytes(16, "big"))
        low = (number + 1) % 2**bits
        number = number >> bits << bits | low
    return out[:n]


def gcm_open(key, nonce, aad, ct):
    text, tag = ct[:-16], ct[-16:]
    h = int.from_bytes(aes(key, bytes(16)), "big")

    def times(x):
        z, v = 0, h
        for i in range(127, -1, -1):
            if x >> i & 1:
                z ^= v
            v = v >> 1 ^ (0xe1 << 120 if v & 1 else 0)
        return z

    y = 0
    for part in (aad, text, struct.pack(">QQ", 8 * len(aad), 8 * len(text))):
        part += bytes(-len(part) % 16)
        for i in range(0, len(part), 16):
            y = times(y ^ int.from_bytes(part[i:i + 16], "big"))
    mask = int.from_bytes(aes(key, nonce + b"\0\0\0\1"), "big")
    assert (y ^ mask).to_bytes(16, "big") == tag, "not authentic"
    return bytes(a ^ b for a, b in zip(text, ctr(key, nonce + b"\0\0\0\2", len(text), 32)))


# ---- HPKE (RFC 9180), base mode ------------------------------------------------------------------

SUITE = b"HPKE" + struct.pack(">HHH", 0x20, 1, 1)
KEM = b"KEM" + struct.pack(">H", 0x20)


def hpke_extract(suite, salt, label, ikm):
    return extract(salt, b"HPKE-v1" + suite + label + ikm)


def hpke_expand(suite, prk, label, info, n):
    return expand(prk, struct.pack(">H", n) + b"HPKE-v1" + suite + label + info, n)


def hpke_context(sk, enc, info):
    """key, nonce, exporter secret"""
    prk = hpke_extract(KEM, b"", b"eae_prk", x25519(sk, enc))
    shared = hpke_expand(KEM, prk, b"shared_secret", enc + x25519(sk, NINE), 32)
    context = b"\0" + hpke_extract(SUITE, b"", b"psk_id_hash", b"") + \
        hpke_extract(SUITE, b"", b"info_hash", info)
    secret = hpke_extract(SUITE, shared, b"secret", b"")
    return tuple(hpke_expand(SUITE, secret, label, context, n)
                 for label, n in ((b"key", 16), (b"base_nonce", 12), (b"exp", 32)))


def hpke_open(sk, sealed, info, aad):
    key, nonce, _ = hpke_context(sk, sealed[:32], info)
    return gcm_open(key, nonce, aad, sealed[32:])


# ---- the grid's stream (section 4) ---------------------------------------------------------------


def chacha20_block(key, counter):
    start = struct.unpack("<16I", b"expand 32-byte k" + key + struct.pack("<I", counter) + bytes(12))
    s = list(start)
    for _ in range(10):
        for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                           (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            for x, y, z, r in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                s[x] = s[x] + s[y] & 0xffffffff
                t = s[z] ^ s[x]
                s[z] = (t << r | t >> (32 - r)) & 0xffffffff
    return struct.pack("<16I", *(x + y & 0xffffffff for x, y in zip(s, start)))


class Stream:
    def __init__(self, seed, label):
        self.key, self.words = hashlib.blake2b(label, key=seed, digest_size=32).digest(), []

    def word(self):
        if not self.words:
            out = b"".join(chacha20_block(self.key, i) for i in range(17))[:1056]
            self.key, self.words = out[:32], list(struct.unpack("<256I", out[32:]))
            self.words.reverse()
        return self.words.pop()

    def below(self, m):
        while True:
            x = self.word() * m
            if x & 0xffffffff >= 2**32 % m:
                return x >> 32


class Deviate:
    def __init__(self, stream):
        self.stream, self.digits = stream, [stream.word()]

    def digit(self, i):
        while len(self.digits) <= i:
            self.digits.append(self.stream.word())
        return self.digits[i]

    def less(self, other):
        i = 0
        while True:
            a, b = self.digit(i), other.digit(i)
            if a != b:
                return a < b
            i += 1


def half_exp(s):
    u = Deviate(s)
    if u.digit(0) >= 2**31:
        return True
    while True:
        v = Deviate(s)
        if not v.less(u):
            return False
        u = Deviate(s)
        if not u.less(v):
            return True


def accepted(s, k, x):
    for _ in range(k + 1):
        y, n = x, 0
        while True:
            z = Deviate(s)
            if not z.less(y):
                break
            h = s.below(2 * k + 2)
            if h > 2 * k or h == 2 * k and not Deviate(s).less(x):
                break
            y, n = z, n + 1
        if n % 2:
            return False
    return True


def normal(s):
    """round(2^24 Z)"""
    while True:
        k = 0
        while half_exp(s):
            k += 1
        if k >= 2 and not all(half_exp(s) for _ in range(k * (k - 1))):
            continue
        x = Deviate(s)
        if accepted(s, k, x):
            break
    n = 2
    while True:
        low = (k << 32 * n) + sum(x.digit(i) << 32 * (n - 1 - i) for i in range(n)) << 24
        half = 1 << 32 * n - 1
        m, top = low + half >> 32 * n, low + (1 << 24) - 1 + half >> 32 * n
        if m == top:
            break
        n += 1
    return -m if s.word() % 2 else m


# ---- the page ------------------------------------------------------------------------------------

OPERATORS = ("relay", "tag", "syn", "issuer")
FIELDS = [("embedder", "32s"), ("dim", "I"),
          *[(o + kind, "32s") for o in OPERATORS for kind in ("_contribution", "_commitment")],
          ("grid_seed", "32s"), ("sign_seed", "32s"), ("sketch", "B"), ("grid:proj", "I"),
          ("grid:cell_edge", "d"), ("codebook:codebook", "32s"), ("codebook:codebook_level", "I"),
          ("codebook:public_cells", "Q"), ("codebook:clip_radius", "d"), ("codebook:gain", "d"),
          ("p32", "Q"), ("threshold", "Q"), ("tau", "Q"), ("sigma", "d"), ("split", "d"),
          ("norm_bound", "d"), ("lambda16", "Q"), ("gamma", "I"), ("users", "Q"), ("batch_min", "Q"),
          ("curious", "I"), ("dropout", "d"), ("cover", "B"), ("contacts", "B"), ("noise_by", "B"),
          ("splits", "B"),
          ("adjacency", "B"), ("sensitivity", "B"),
          ("cells_per_user", "I"), ("epsilon", "d"), ("delta", "d"), ("phi", "d"), ("aead", "H"),
          ("oprf_pk", "32s"), ("issuer_pk", "32s"), ("tag_seal", "32s"), ("syn_seal", "32s"),
          ("issuer_seal", "32s"), ("tag_sign", "32s"), ("syn_sign", "32s"), ("relay_sign", "32s"),
          ("issuer_sign", "32s"), *[(o + "_url", "url") for o in OPERATORS],
          *[(o + "_pin", "32s") for o in OPERATORS], ("open", "Q"), ("exchange_close", "Q"),
          ("tags_close", "Q"), ("shares_close", "Q"), ("end", "Q")]


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, n):
        out, self.data = self.data[:n], self.data[n:]
        assert len(out) == n
        return out

    def number(self, n):
        return int.from_bytes(self.take(n), "big")

    def end(self):
        assert self.data == b""


def collection(which="collection"):
    r, c = Reader(V[which]), {}
    assert r.take(2) == b"\x02\x10"
    for name, form in FIELDS:
        kind, _, name = name.rpartition(":")
        if kind and kind != ("grid", "codebook")[c["sketch"]]:
            continue
        if form == "url":
            c[name] = r.take(r.number(1)).decode("ascii")
        else:
            c[name] = struct.unpack(">" + form, r.take(struct.calcsize(">" + form)))[0]
    r.end()
    return c


C = collection()
ID = V["collection_id"]


def head(kind):
    return b"\x02" + bytes([kind]) + ID


def body(name, kind, label=None, key=None):
    message = V[name]
    if not label:
        assert message[:34] == head(kind)
        return Reader(message[34:])
    signed, sig = message[:-64], message[-64:]
    frame = bytes([len(label)]) + label.encode() + struct.pack(">Q", len(signed)) + signed
    assert signed[:34] == head(kind) and ed_verify(C[key], frame, sig)
    assert not ed_verify(C[key], frame + b"\0", sig)
    return Reader(signed[34:])


def info(label, more=b"", collection_id=ID):
    return bytes([len(label)]) + label.encode() + collection_id + more


def residues(packed, n, b):
    bits = int.from_bytes(packed, "little")
    assert bits >> n * b == 0
    return [bits >> b * i & ((1 << b) - 1) for i in range(n)]


def labelled(label, more):
    return hashlib.sha256(bytes([len(label)]) + label.encode() + more).digest()


def test_collection():
    assert hashlib.sha256(V["collection"]).digest() == ID
    drawn = [C[o + "_contribution"] for o in OPERATORS]
    for i, o in enumerate(OPERATORS):
        assert C[o + "_commitment"] == labelled("fre/contribution/v2", bytes([i]) + drawn[i])
    assert C["grid_seed"] == labelled("fre/grid-seed/v2", b"".join(drawn))
    assert C["sign_seed"] == labelled("fre/sign-seed/v2", b"".join(drawn))
    assert C["tau"] == -(-C["p32"] * C["threshold"] // 2**32) == 82
    assert (C["dim"], C["epsilon"], C["delta"], C["users"]) == (12, 4.0, 1e-6, 100000)
    assert C["tag_url"] == "https://tag.example:8443/fre"
    assert C["open"] < C["exchange_close"] < C["tags_close"] < C["shares_close"] < C["end"]
    assert C["tag_seal"] == x25519(V["tag_seal_sk"], NINE)
    assert C["syn_seal"] == x25519(V["syn_seal_sk"], NINE)
    for role in ("tag", "syn", "relay"):
        assert C[role + "_sign"] == ed_public(V[role + "_sign_seed"])


def test_collection_of_public_cells():
    c = collection("collection_of_public_cells")
    assert hashlib.sha256(V["collection_of_public_cells"]).digest() == V["id_of_public_cells"]
    assert c["codebook"] == bytes(range(0xc0, 0xe0)) and c["codebook_level"] == 3
    assert (c["public_cells"], c["clip_radius"], c["gain"]) == (4096, 0.6, 1.3)
    assert c["sensitivity"] == 1 and c["split"] == 2 * c["clip_radius"]
    assert {k: v for k, v in c.items() if k in C and k not in ("sketch", "sensitivity", "split")} == {
        k: v for k, v in C.items() if k not in ("sketch", "proj", "cell_edge", "sensitivity", "split")}


def test_tags_through_oblivious_http():
    sealed = Reader(V["tag_request_sealed"])
    header = sealed.take(7)
    assert header == struct.pack(">BHHH", 1, 0x20, 1, 1)
    enc = sealed.take(32)
    assert enc == x25519(V["request_ephemeral_sk"], NINE)
    key, nonce, exporter = hpke_context(V["tag_seal_sk"], enc, b"message/bhttp request\0" + header)
    plain = Reader(gcm_open(key, nonce, b"", sealed.data))
    n = 34 + 2 + 32
    assert len(plain.data) == 1 + 5 + 6 + 1 + 6 + 1 + 2 + n
    assert plain.take(1) == b"\0"
    assert [plain.take(plain.number(1)) for _ in range(4)] == [b"POST", b"https", b"", b"/tags"]
    assert plain.number(1) == 0 and plain.number(2) == 0x4000 | n
    assert plain.data == V["tag_request"]
    request = body("tag_request", 1)
    assert request.number(2) == 1 and len(request.take(32)) == 32
    request.end()

    secret = hpke_expand(SUITE, exporter, b"sec", b"message/bhttp response", 16)
    sealed = Reader(V["tag_response_sealed"])
    response_nonce = sealed.take(16)
    assert response_nonce == V["response_nonce"]
    prk = extract(enc + response_nonce, secret)
    plain = Reader(gcm_open(expand(prk, b"key", 16), expand(prk, b"nonce", 12), b"", sealed.data))
    n += 64
    assert len(plain.data) == 1 + 2 + 1 + 2 + n
    assert plain.take(6) == b"\x01" + struct.pack(">H", 0x4000 | 200) + b"\0" + struct.pack(">H", 0x4000 | n)
    assert plain.data == V["tag_response"]
    response = body("tag_response", 2)
    assert response.number(2) == 1
    response.take(32 + 64)
    response.end()


def test_shares_add_up():
    b, n = V["share_bits"][0], 12
    size = -(-n * b // 8)
    stream = residues((int.from_bytes(ctr(V["share_seed"], bytes(16), size), "little")
                       & ((1 << n * b) - 1)).to_bytes(size, "little"), n, b)
    assert residues(V["seed_expanded"], n, b) == stream
    share = residues(V["share_packed"], n, b)
    assert [(x + y) % 2**b for x, y in zip(share, stream)] == list(range(12))


def test_bits_of_the_collection():
    d, tau, drop, w = 12, C["tau"], C["dropout"], C["curious"]
    kappa = 0.2 * C["split"] / math.sqrt(d)

    def needed(c):
        return max(1, math.ceil((1 - drop) * c * (1 - 1e-12)))

    def local(c):
        return C["sigma"] / math.sqrt(needed(c) - w)

    c, m = 128, 1
    u = needed(tau) / (1 - drop) * (1 + 4e-12)
    beta = min(local(c) / 2, kappa)
    s2 = (c * C["norm_bound"] / beta) ** 2 / d + c / 4 + \
        max(4 * c, u * (local(tau) / kappa) ** 2) * (1 + 2**-29) + c / 2**16
    reach = math.sqrt(s2) * math.sqrt(2 * 0.69314718055994540 * (42 + math.ceil(math.log2(d)) +
                                                                 math.ceil(math.log2(m))))
    reach = reach * (1 + 1e-9) + 1
    assert min(b for b in range(8, 33) if reach <= 7 * 2 ** (b - 4) - 1) == V["share_bits"][0]


def test_signed_messages():
    r = body("closed", 4, "fre/closed/v1", "tag_sign")
    assert (r.number(8), r.number(8)) == (C["tags_close"], 81234)
    r.end()
    r = body("list", 6, "fre/list/v1", "syn_sign")
    assert r.number(4) == 1 and r.take(32) == V["tag"] and r.number(4) == 128
    r.end()
    r = body("release", 12, "fre/release/v1", "syn_sign")
    assert (r.number(4), r.number(4), r.number(8)) == (0, 1, C["shares_close"] + 60)
    assert r.take(r.number(2)) == b"NOT PRIVATE: an example"
    assert (r.number(4), r.number(4), r.number(4)) == (1, 128, 0)
    assert struct.unpack(">12f", r.take(48)) == tuple(i / 8 - 0.5 for i in range(12))
    r.end()
    r = body("cancel", 13, "fre/cancel/v1", "tag_sign")
    assert (r.number(1), r.number(1), r.number(8)) == (1, 2, C["open"] + 1)
    r.end()
    assert V["rejection"] == b"\x02\x0e\x04" and V["receipt"] == b"\x02\x0f"


def test_places_and_entries():
    assert C["issuer_seal"] == x25519(V["issuer_seal_sk"], NINE)
    assert C["issuer_sign"] == ed_public(V["issuer_sign_seed"])
    assert V["entry_id"] == hashlib.sha256(info("fre/id/v2") + V["place"]).digest()[:16]
    proof = hmac.new(V["place_key"], info("fre/proof/v2") + V["tag"], "sha256").digest()[:16]
    assert V["entry_proof"] == proof
    request = body("issue_request", 18)
    assert request.take(request.number(1)) == b"ticket" and request.take(58) == bytes(58)
    assert request.number(2) == 1 and len(request.take(32)) == 32
    request.end()
    response = body("issue_response", 19)
    assert response.number(2) == 1
    response.take(32 + 64)
    response.end()
    carry = body("carry", 20)
    assert carry.number(1) == 1 and carry.take(32) == V["token"] and carry.data == V["tag_request_sealed"]
    admitted = body("admitted", 21)
    assert admitted.take(32) == V["token"] and admitted.data == V["tag_response_sealed"]
    plain = hpke_open(V["syn_seal_sk"], body("entry", 22).data, info("fre/entry/v2"), head(22))
    assert plain == V["entry_id"] + V["tag"] + proof
    plain = hpke_open(V["syn_seal_sk"], body("answer", 32).data, info("fre/answer/v2"), head(32))
    assert plain == V["answer_name"] + V["sealed_entry_seed"] + V["share_packed"]
    entries = hashlib.sha256(V["list"][38:-64]).digest()
    assert V["answer_name"] == hashlib.sha256(info("fre/name/v2") + V["entry_id"] + V["entry_proof"]).digest()[:16]
    seed = hpke_open(V["tag_seal_sk"], V["sealed_entry_seed"],
                     info("fre/seed/v2", V["tag"] + V["entry_id"] + entries), b"")
    assert seed == V["share_seed"] + V["place"] + bytes(4)


def test_entry_of_one_contact():
    one = V["one_collection_id"]
    assert V["one_entry_id"] == hashlib.sha256(info("fre/id/v2", collection_id=one) + V["place"]).digest()[:16]
    assert V["one_entry"][:34] == bytes([2, 22]) + one
    plain = Reader(hpke_open(V["syn_seal_sk"], V["one_entry"][34:], info("fre/entry/v2", collection_id=one),
                             V["one_entry"][:34]))
    assert plain.take(16 + 32 + 16) == V["one_entry_id"] + V["tag"] + V["one_entry_proof"]
    assert plain.take(84) == V["one_sealed_entry_seed"] and plain.data == V["share_packed"]
    seed = hpke_open(V["tag_seal_sk"], V["one_sealed_entry_seed"],
                     info("fre/seed/v2", V["tag"] + V["one_entry_id"], one), b"")
    assert seed == V["share_seed"] + V["place"] + bytes(4)


def test_batches_and_members():
    for name, kind, role, closed, held in (("collected", 23, "relay", b"", "entry"),
                                           ("mixed", 24, "tag", V["closed"], "entry"),
                                           ("gathered", 33, "relay", b"", "answer")):
        r = body(name, kind, f"fre/{name}/v2", role + "_sign")
        assert (r.number(4), r.number(4)) == (0, 1) and r.take(r.number(2)) == closed
        assert r.number(4) == 1 and r.data == V[held][34:]
    r = body("listed", 31, "fre/listed/v2", "issuer_sign")
    assert r.take(r.number(4)) == V["list"] and not r.data
    for name, kind, role, extra in (("vouch", 25, "syn", V["entry_proof"]), ("vouched", 26, "issuer", b"")):
        r = body(name, kind, f"fre/{name}/v2", role + "_sign")
        assert (r.number(4), r.number(4), r.number(4)) == (0, 1, 1)
        assert r.take(32) == V["tag"] and r.number(4) == 1 and r.data == V["entry_id"] + extra
    r = body("unseal", 27, "fre/unseal/v2", "syn_sign")
    assert (r.number(4), r.number(4)) == (0, 1) and r.take(r.number(4)) == V["vouched"]
    assert r.number(4) == 1 and r.data == V["sealed_entry_seed"]
    r = body("summed", 28, "fre/summed/v2", "tag_sign")
    assert (r.number(4), r.number(4), r.number(4)) == (0, 1, 1)
    assert r.take(32) == V["tag"] and r.number(4) == 1 and r.take(16) == V["entry_id"]
    assert r.take(r.number(4)) == V["seed_expanded"] and r.number(4) == 0
    r.end()
    for name, kind, role in (("mark", 29, "tag"), ("marked", 30, "relay")):
        r = body(name, kind, f"fre/{name}/v2", role + "_sign")
        assert r.number(1) == 2 and r.data == bytes(range(0xb0, 0xd0))


def test_thirds():
    ids = [V["split_ids"][i:i + 16] for i in range(0, 160, 16)]
    ranked = sorted(ids, key=lambda i: hashlib.sha256(info("fre/split/v2") + V["split_seed"] + i).digest())
    thirds = [ranked[:4], ranked[4:7], ranked[7:]]  # ten: the first has one more
    assert [next(t for t in range(3) if i in thirds[t]) for i in ids] == list(V["split_thirds"])


def test_masks():
    r = body("mask_put", 34, "fre/mask-put/v2", "tag_sign")
    assert (r.number(1), r.number(1)) == (1, 1)
    mask = r.take(64)
    r.end()
    assert bytes(a ^ b for a, b in zip(V["masked_oprf_sk"], mask)) == V["oprf_sk"]
    r = body("mask_get", 35, "fre/mask-get/v2", "tag_sign")
    assert (r.number(1), r.number(1)) == (1, 1) and r.take(32) == hashlib.sha256(mask).digest()
    assert len(r.data) == 32
    r = body("mask_wipe", 36, "fre/mask-wipe/v2", "tag_sign")
    assert (r.number(1), r.number(1)) == (1, 1) and r.take(32) == hashlib.sha256(mask).digest()
    assert r.data == bytes(32)


def test_grid_stream():
    for line in open(os.path.join(ROOT, "tests", "vectors", "sketch.txt"), encoding="ascii"):
        w = line.split()
        if w[0] != "grid" or int(w[2]) * int(w[3]) > 8000:
            continue
        s = Stream(bytes.fromhex(w[1]), b"fre/grid/v1")
        packed = struct.pack("<%dq" % (int(w[2]) * int(w[3])), *(normal(s) for _ in range(int(w[2]) * int(w[3]))))
        packed += struct.pack("<%dI" % int(w[3]), *(s.word() for _ in range(int(w[3]))))
        assert hashlib.blake2b(packed, digest_size=32).hexdigest() == w[6]
        return
    assert False, "no small grid"
