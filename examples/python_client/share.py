"""A share of an embedding: docs/wire.md, section 6, with one contact and servers' noise."""
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
    """What all shares of a collection have in common."""

    def __init__(self, terms):
        self.bound, self.sign_seed = terms["norm_bound"], terms["sign_seed"]
        self.size = padded(terms["dim"])
        sigma, count = terms["sigma"], max(terms["users"] * terms["cells_per_user"], terms["tau"])
        kappa = 0.2 * terms["split"] / math.sqrt(self.size)
        self.step = min(sigma / 2, kappa)
        cells = count // terms["tau"]
        s2 = (count * self.bound / self.step) ** 2 / self.size + count / 4 + \
            max(8, 2 * (sigma / kappa) ** 2) * (1 + 2**-29) + count / 2**16
        logs = 42 + math.ceil(math.log2(self.size)) + math.ceil(math.log2(cells))
        reach = math.sqrt(s2) * math.sqrt(2 * 0.69314718055994540 * logs) * (1 + 1e-9) + 1
        self.bits = next(b for b in range(8, 33) if reach <= 7 * 2 ** (b - 4) - 1)
        self.bytes = -(-self.size * self.bits // 8)


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


def share(numbers, x, seed):
    norm = math.sqrt(sum(a * a for a in x))
    if norm > numbers.bound:
        x = [a * (numbers.bound / norm) for a in x]
    whole = [round_at_random(a / numbers.step) for a in rotate(x, numbers.sign_seed)]
    return split(whole, seed, numbers.bits)
