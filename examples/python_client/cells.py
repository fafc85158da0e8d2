"""The cell of an embedding on a collection's grid: docs/wire.md, section 4."""
import hashlib
import math
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms


class Stream:
    """S(seed, label): words."""

    def __init__(self, seed, label):
        self.key, self.words = hashlib.blake2b(label, key=seed, digest_size=32).digest(), []

    def word(self):
        if not self.words:
            cipher = Cipher(algorithms.ChaCha20(self.key, bytes(16)), mode=None).encryptor()
            out = cipher.update(bytes(1056))
            self.key, self.words = out[:32], list(struct.unpack("<256I", out[32:]))
            self.words.reverse()
        return self.words.pop()

    def below(self, m):
        while True:
            x = self.word() * m
            if x & 0xffffffff >= 2**32 % m:
                return x >> 32


class Deviate:
    """A fraction between 0 and 1, digits of 32 bits drawn when they are first looked at."""

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
    """H: true with probability e^(-1/2)"""
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


def odd_run(s, k, x):
    """One round of step (3): whether its n is odd."""
    y, n = x, 0
    while True:
        z = Deviate(s)
        if not z.less(y):
            return n % 2 == 1
        h = s.below(2 * k + 2)
        if h > 2 * k or h == 2 * k and not Deviate(s).less(x):
            return n % 2 == 1
        y, n = z, n + 1


def rounded(k, x):
    """2^24 (k + x) to the nearest whole number."""
    n = 2
    while True:
        low = (k << 32 * n) + sum(x.digit(i) << 32 * (n - 1 - i) for i in range(n)) << 24
        half = 1 << 32 * n - 1
        m, top = low + half >> 32 * n, low + (1 << 24) - 1 + half >> 32 * n
        if m == top:
            return m
        n += 1


def normal(s):
    """N: round(2^24 Z)"""
    while True:
        k = 0
        while half_exp(s):
            k += 1
        if k >= 2 and not all(half_exp(s) for _ in range(k * (k - 1))):
            continue
        x = Deviate(s)
        if not any(odd_run(s, k, x) for _ in range(k + 1)):
            break
    m = rounded(k, x)
    return -m if s.word() % 2 else m


class Grid:
    def __init__(self, seed, dim, proj, edge):
        s = Stream(seed, b"fre/grid/v1")
        self.seed, self.proj, self.edge = seed, proj, edge
        self.numbers = [[normal(s) for _ in range(dim)] for _ in range(proj)]
        self.words = [s.word() for _ in range(proj)]

    def coordinates(self, x):
        out, root = [], math.sqrt(self.proj)
        for row, word in zip(self.numbers, self.words):
            total = 0.0
            for a, g in zip(x, row):  # one after the other: sum() may do otherwise
                total += a * (g / 2**24)
            out.append(math.floor((total / root + word / 2**32 * self.edge) / self.edge))
        return out

    def cell(self, x):
        at = self.coordinates(x)
        return hashlib.blake2b(b"fre/cell/v1" + self.seed + struct.pack(f"<I{len(at)}i", len(at), *at),
                               digest_size=32).digest()
