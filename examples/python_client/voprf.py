"""ristretto255 (RFC 9496) and the VOPRF over it (RFC 9497, ristretto255-SHA512, mode 1), by Python's whole numbers.

Not constant time: who can measure this process learns secrets.  A product takes these from libsodium.
"""
import hashlib
import secrets

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)
CONTEXT = b"OPRFV1-\x01-ristretto255-SHA512"


class Refused(Exception):
    """Bytes that the other side should not have sent."""


# ---- the group: extended coordinates of edwards25519 ---------------------------------------------


def add(a, b):
    x = (a[1] - a[0]) * (b[1] - b[0]) % P
    y = (a[1] + a[0]) * (b[1] + b[0]) % P
    t = 2 * a[3] * b[3] * D % P
    z = 2 * a[2] * b[2] % P
    e, f, g, h = y - x, z - t, z + t, y + x
    return e * f % P, g * h % P, f * g % P, e * h % P


NEUTRAL = (0, 1, 1, 0)


def times(k, p):
    q = NEUTRAL
    for i in reversed(range(k.bit_length())):
        q = add(q, q)
        if k >> i & 1:
            q = add(q, p)
    return q


def absolute(x):
    return P - x if x & 1 else x


def sqrt_ratio(u, v):
    """(whether u/v is a square, the root of it or of SQRT_M1·u/v that is not negative)"""
    r = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    check = v * r * r % P
    u %= P
    if check in ((P - u) % P, (P - u) * SQRT_M1 % P):
        r = r * SQRT_M1 % P
    return check in (u, (P - u) % P), absolute(r)


SQRT_AD_MINUS_ONE = 25063068953384623474111414158702152701244531502492656460079210482610430750235
_, INVSQRT_A_MINUS_D = sqrt_ratio(1, (-1 - D) % P)


def encode(p):
    x, y, z, t = p
    u1, u2 = (z + y) * (z - y) % P, x * y % P
    _, inv = sqrt_ratio(1, u1 * u2 * u2 % P)
    d1, d2 = inv * u1 % P, inv * u2 % P
    z_inv = d1 * d2 * t % P
    if t * z_inv % P & 1:
        x, y, d2 = y * SQRT_M1 % P, x * SQRT_M1 % P, d1 * INVSQRT_A_MINUS_D % P
    if x * z_inv % P & 1:
        y = -y
    return absolute(d2 * (z - y) % P).to_bytes(32, "little")


def decode(data):
    """An element that is canonical and not the identity."""
    s = int.from_bytes(data, "little")
    if len(data) != 32 or s >= P or s & 1 or s == 0:
        raise Refused("this is no element of ristretto255")
    ss = s * s % P
    u1, u2 = (1 - ss) % P, (1 + ss) % P
    v = (-D * u1 * u1 - u2 * u2) % P
    square, inv = sqrt_ratio(1, v * u2 * u2 % P)
    dx = inv * u2 % P
    x = absolute(2 * s * dx % P)
    y = u1 * inv * dx * v % P
    t = x * y % P
    if not square or t & 1 or y == 0:
        raise Refused("this is no element of ristretto255")
    return x, y, 1, t


BASE = decode(bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"))


def map_to_group(data):
    t = int.from_bytes(data, "little") & (1 << 255) - 1
    r = SQRT_M1 * t * t % P
    u = (r + 1) * (1 - D * D) % P
    v = (-1 - r * D) * (r + D) % P
    square, s = sqrt_ratio(u, v)
    c = P - 1
    if not square:
        s, c = P - absolute(s * t % P), r
    n = (c * (r - 1) * (D - 1) ** 2 - v) % P
    w0, w1, w2, w3 = 2 * s * v % P, n * SQRT_AD_MINUS_ONE % P, (1 - s * s) % P, (1 + s * s) % P
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P


# ---- the VOPRF ------------------------------------------------------------------------------------


def expand(message, label):
    """64 bytes: expand_message_xmd of RFC 9380 with SHA-512."""
    label += CONTEXT
    end = label + bytes([len(label)])
    first = hashlib.sha512(bytes(128) + message + b"\0\x40\0" + end).digest()
    return hashlib.sha512(first + b"\1" + end).digest()


def hash_to_group(data):
    wide = expand(data, b"HashToGroup-")
    return add(map_to_group(wide[:32]), map_to_group(wide[32:]))


def hash_to_scalar(data):
    return int.from_bytes(expand(data, b"HashToScalar-"), "little") % L


def random_scalar():
    return 1 + secrets.randbelow(L - 1)


def framed(*parts):
    return b"".join(len(p).to_bytes(2, "big") + p for p in parts)


def blind(data, scalar):
    return encode(times(scalar, hash_to_group(data)))


def scalar_of(data):
    s = int.from_bytes(data, "little")
    if s >= L or s == 0:
        raise Refused("a scalar is zero, or not reduced")
    return s


def proof_holds(key, asked, answered, proof):
    c, s = scalar_of(proof[:32]), scalar_of(proof[32:])
    seed = hashlib.sha512(framed(key, b"Seed-" + CONTEXT)).digest()
    m = z = NEUTRAL
    for i, (a, b) in enumerate(zip(asked, answered)):
        weight = hash_to_scalar(framed(seed) + i.to_bytes(2, "big") + framed(a, b) + b"Composite")
        m, z = add(m, times(weight, decode(a))), add(z, times(weight, decode(b)))
    t2 = add(times(s, BASE), times(c, decode(key)))
    t3 = add(times(s, m), times(c, z))
    return c == hash_to_scalar(framed(key, *map(encode, (m, z, t2, t3))) + b"Challenge")


def finish(key, inputs, scalars, answered, proof):
    """The 64-byte output of each input, or Refused."""
    asked = [blind(x, k) for x, k in zip(inputs, scalars)]
    if len(answered) != len(asked) or not proof_holds(key, asked, answered, proof):
        raise Refused("the proof does not hold: this server uses another key")
    plain = [encode(times(pow(k, -1, L), decode(b))) for k, b in zip(scalars, answered)]
    return [hashlib.sha512(framed(x, p) + b"Finalize").digest() for x, p in zip(inputs, plain)]
