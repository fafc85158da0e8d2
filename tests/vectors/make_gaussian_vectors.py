"""Reference values of the discrete Gaussian law (standard library only):

    python make_gaussian_vectors.py > gaussian.txt

Every exponential is computed by itself to 100 digits and summed over all x that matter, which
shares nothing with the recurrence of the table sampler.
"""
from decimal import Decimal, getcontext

getcontext().prec = 110

# variance times 2^16, and the step between the values of m that are listed
LAWS = [(1, 1), (500, 1), (3000, 1), (65536, 1), (4 * 65536, 1), (147457, 1), (225 * 65536, 1),
        (10 ** 4 * 65536, 17), (2 ** 36, 251)]

print("# var16 m floor(2^126 Pr[|X| <= m]) in hexadecimal, Pr[x] ~ exp(-x^2 2^15 / var16)")
for var16, step in LAWS:
    s = Decimal(var16) / 65536
    limit = int((2 * s * 180).sqrt()) + 2  # exp(-180) < 2^-259
    mass = [(-Decimal(x * x) / (2 * s)).exp() * (1 if x == 0 else 2) for x in range(limit)]
    whole = sum(mass)
    below = Decimal(0)
    for m, p in enumerate(mass):
        below += p
        if m % step == 0:
            print(var16, m, format(int(below / whole * 2 ** 126), "032x"))
        if (whole - below) / whole < Decimal(2) ** -112:
            break
