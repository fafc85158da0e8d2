#!/usr/bin/env python3
"""Known values of the noncentral chi-square distribution function, to 15 digits.

By the inversion integral of its Laplace transform along the vertical line through the saddle
point (50 digits); the product sums a Poisson mixture instead.  Small noncentralities are computed
by the mixture as well, with 600 digits (differences cancel), and both must agree.

usage: make_chi2_vectors.py > noncentral_chi2.txt          (needs mpmath; about a minute)
"""
import sys

import mpmath as mp

CASES = [
    # x, d, lambda
    (1, 1, 0), (0.01, 1, 0.5), (3, 2, 1), (1e-6, 2, 3), (9, 3, 20), (40, 3, 20), (1, 8, 300),
    (100, 64, 0), (20, 64, 0), (64, 64, 30), (5, 64, 30), (300, 384, 0), (100, 384, 250),
    (384, 384, 1e-3), (625, 384, 156.25), (700, 384, 100), (150, 384, 1000), (1500, 384, 1000),
    (30, 384, 2500), (2, 384, 0.25), (500, 768, 4e4), (3e4, 768, 4e4), (4.1e4, 768, 4e4),
    (8192, 8192, 0), (7000, 8192, 0), (7500, 8192, 50), (2e4, 8192, 1e4), (1.2e4, 8192, 1e4),
    (9e5, 384, 1e6), (1.001e6, 384, 1e6), (9.7e5, 8192, 1e6), (9.996e7, 384, 1e8),
    (1.0001e8, 384, 1e8), (9.93e7, 8192, 1e8), (1.0004e8, 8192, 1e8), (9.98e7, 1, 1e8),
]


def mixture(x, d, lam):
    with mp.workdps(600):
        x, a, lam = mp.mpf(x), mp.mpf(d) / 2, mp.mpf(lam)
        if lam == 0:
            return mp.gammainc(a, 0, x / 2, regularized=True)
        total, w = mp.mpf(0), mp.exp(-lam / 2)
        p = mp.gammainc(a, 0, x / 2, regularized=True)
        g = (x / 2) ** a * mp.exp(-x / 2) / mp.gamma(a + 1)
        j = 0
        while True:
            total += w * p
            if j > lam / 2 and w * p < total * mp.mpf(10) ** -40:
                return total
            j += 1
            w *= lam / 2 / j
            p -= g
            g *= x / 2 / (a + j)


def inversion(x, d, lam):
    with mp.workdps(50):
        x, d, lam = mp.mpf(x), mp.mpf(d), mp.mpf(lam)

        def exponent(s):
            return s * x - d / 2 * mp.log(1 + 2 * s) - lam * s / (1 + 2 * s) - mp.log(s)

        def slope(s):
            return x - d / (1 + 2 * s) - lam / (1 + 2 * s) ** 2 - 1 / s

        lo, hi = mp.mpf(10) ** -20, mp.mpf(1)
        while slope(hi) < 0:
            hi *= 2
        for _ in range(200):
            mid = (lo + hi) / 2
            lo, hi = (mid, hi) if slope(mid) < 0 else (lo, mid)
        top = exponent(hi)
        curve = 2 * d / (1 + 2 * hi) ** 2 + 4 * lam / (1 + 2 * hi) ** 3 + 1 / hi ** 2
        width = 1 / mp.sqrt(curve)

        def f(t):
            return mp.exp(exponent(mp.mpc(hi, t)) - top).real

        total, at, step = mp.mpf(0), mp.mpf(0), 4 * width
        while True:
            piece = mp.quad(f, [at, at + step / 2, at + step])
            total += piece
            at += step
            if abs(f(at)) * at < mp.mpf(10) ** -24 * abs(total) and at > 40 * width:
                return mp.exp(top) * total / mp.pi
            step *= mp.mpf("1.3") if step * x < 40 else 1


for x, d, lam in CASES:
    small = lam <= 5e3 and x <= 5e3
    value = mixture(x, d, lam) if small else None
    if d >= 64:
        other = inversion(x, d, lam)
        assert value is None or abs(other / value - 1) < 1e-18, (x, d, lam, value, other)
        value = other if value is None else value
    if value is None:  # one degree of freedom, in closed form
        assert d == 1
        with mp.workdps(60):
            r, m = mp.sqrt(mp.mpf(x)), mp.sqrt(mp.mpf(lam))
            value = mp.ncdf(r - m) - mp.ncdf(-r - m)
    print(f"{float(x)!r} {d} {float(lam)!r} {mp.nstr(value, 16)}")
    sys.stdout.flush()
