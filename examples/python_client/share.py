"""A share of an embedding: docs/wire.md, section 6."""
import math
import secrets
from fractions import Fraction

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

SQUARES = {i * i % 11 for i in range(1, 11)}


def chi(x):
    x %= 11
    return 0 if x == 0 else 1 if x in SQUARES else -1


def paley(i, j):
    """Entry of the Hadamard matrix of order 12: I + S."""
    if i == j:
        return 1
    if i == 0:
        return 1
    return -1 if j == 0 else chi(i - j)


PALEY = [[paley(i, j) for j in range(12)] for i in range(12)]


def padded(dim):
    """D: the least 2^n or 12·2^n from dim up."""
    power = 1
    while power < dim:
        power *= 2
    twelve = 12
    while twelve < dim:
        twelve *= 2
    return min(power, twelve)


def keystream(key, counter, n):
    return Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor().update(bytes(n))


def sylvester(x):
    """H x for H of order 2^n."""
    x, step = list(x), 1
    while step < len(x):
        for i in range(len(x)):
            if not i & step:
                x[i], x[i + step] = x[i] + x[i + step], x[i] - x[i + step]
        step *= 2
    return x


def rotate(x, sign_seed):
    """H/√D of the signed x, filled up with zeros."""
    size = padded(len(x))
    bits = int.from_bytes(keystream(sign_seed[:16], sign_seed[16:], -(-size // 8)), "little")
    x = [-a if bits >> i & 1 else a for i, a in enumerate([*x, *[0.0] * (size - len(x))])]
    if size & size - 1:
        n = size // 12
        blocks = [sylvester(x[i * n:(i + 1) * n]) for i in range(12)]
        x = [sum(sign * block[j] for sign, block in zip(row, blocks)) for row in PALEY for j in range(n)]
    else:
        x = sylvester(x)
    root = math.sqrt(size)
    return [a / root for a in x]


class Numbers:
    """What shares are made with: of the collection, and of a cell's published count."""

    def __init__(self, terms):
        self.t, self.size = terms, padded(terms["dim"])
        self.kappa = 0.2 * terms["split"] / math.sqrt(self.size)
        self.one, self.by_servers = terms["contacts"] == 1, terms["noise_by"] == 1

    def needed(self, count):
        t = self.t
        return t["tau"] if self.one else max(1, math.ceil((1 - t["dropout"]) * count * (1 - 1e-12)))

    def local(self, count, splits=False):
        n = self.needed(count)
        if splits and not self.one and n >= 3 * self.t["tau"]:
            n //= 3
        return self.t["sigma"] if self.by_servers else self.t["sigma"] / math.sqrt(n - self.t["curious"])

    def step(self, local):
        return min(local / 2, self.kappa)

    def users(self, largest):
        """u: how many add noise to the largest cell."""
        t = self.t
        if self.one:
            return 2 if self.by_servers else largest
        return self.needed(t["tau"]) / (1 - t["dropout"]) * (1 + 4e-12) * (1 + 2 / t["tau"] if t["splits"] else 1)

    def bits(self, counts=()):
        """b, of the counts in the list; with one contact of nothing but the terms."""
        t = self.t
        if self.one:
            q = max(t["users"] * t["cells_per_user"], t["tau"])
            cells = q // t["tau"]
        else:
            q, cells = max(counts, default=t["tau"]), max(1, len(counts))
            cells *= 3 if t["splits"] else 1
        noise = max(4 * (2 if self.by_servers else q), self.users(q) * (self.local(t["tau"]) / self.kappa) ** 2)
        s2 = (q * t["norm_bound"] / self.step(self.local(q))) ** 2 / self.size + q / 4 + \
            noise * (1 + 2**-29) + q / 2**16
        logs = 42 + math.ceil(math.log2(self.size)) + math.ceil(math.log2(cells))
        reach = math.sqrt(s2) * math.sqrt(2 * 0.69314718055994540 * logs) * (1 + 1e-9) + 1
        return next(b for b in range(8, 33) if reach <= 7 * 2 ** (b - 4) - 1)

    def of(self, count):
        """(step, variance in steps of a user's noise) of a cell."""
        local = self.local(count, self.t["splits"])
        step = self.step(local)
        var16 = 0 if self.by_servers else math.ceil((local / step) ** 2 * (1 + 2**-30) * 2**16)
        return step, Fraction(var16, 2**16)


# ---- discrete Gaussian noise, exact [Canonne, Kamath, Steinke 2020] ----------------------------------------


def falls(x):
    """True with probability e^(-x), x a Fraction from 0."""
    while x > 1:
        if not falls(Fraction(1)):
            return False
        x -= 1
    k = 1
    while secrets.randbelow(x.denominator * k) < x.numerator:
        k += 1
    return k % 2 == 1


def laplace(t):
    """Pr[z] in proportion to e^(-|z|/t)"""
    while True:
        u = secrets.randbelow(t)
        if not falls(Fraction(u, t)):
            continue
        v = 0
        while falls(Fraction(1)):
            v += 1
        z = u + t * v
        if not secrets.randbelow(2):
            return z
        if z:
            return -z


def gaussian(variance):
    """Pr[z] in proportion to e^(-z²/(2 variance))"""
    t = math.isqrt(math.floor(variance)) + 1
    while True:
        z = laplace(t)
        if falls((abs(z) - variance / t) ** 2 / (2 * variance)):
            return z


def round_at_random(x, below=secrets.randbelow):
    """One of the two whole numbers around x, so that its mean is x: exactly."""
    low = math.floor(x)
    part = Fraction(x) - low
    return low + (below(part.denominator) < part.numerator)


def expand(seed, size, bits):
    stream = int.from_bytes(keystream(seed, bytes(16), -(-size * bits // 8)), "little")
    return [stream >> bits * i & (1 << bits) - 1 for i in range(size)]


def pack(residues, bits):
    total = sum(r << bits * i for i, r in enumerate(residues))
    return total.to_bytes(-(-len(residues) * bits // 8), "little")


def split(whole, seed, bits):
    """S_syn's part of whole numbers, where S_tag's is the seed."""
    mask = (1 << bits) - 1
    return pack([w - r & mask for w, r in zip(whole, expand(seed, len(whole), bits))], bits)


def share(numbers, x, seed, bits, count, rounded=round_at_random, drawn=gaussian):
    """S_syn's part of x, for a cell of this count.  rounded, drawn: where randomness is given, as vectors have it."""
    bound, (step, variance) = numbers.t["norm_bound"], numbers.of(count)
    norm = math.sqrt(sum(a * a for a in x))
    if norm > bound:
        x = [a * (bound / norm) for a in x]
    whole = [rounded(a / step) for a in rotate(x, numbers.t["sign_seed"])]
    if variance:
        whole = [w + drawn(variance) for w in whole]
    return split(whole, seed, bits)
