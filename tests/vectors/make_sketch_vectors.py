#!/usr/bin/env python3
"""Known answers for the grid sketch, computed without its code.

The projection and the offsets come from the C expansion (`test_sketch dump`, standard input); what
is computed here, in exact integers and 60-digit decimals, is everything after it: products, the
division by sqrt(k), the floor, and the hash of the cell.

usage: build/dev/test_sketch dump | make_sketch_vectors.py > sketch.txt
"""
import decimal
import hashlib
import struct
import sys

decimal.getcontext().prec = 60


def coordinates(g, offsets, edge, x_scaled):
    """g: k rows of integers (2^-24), offsets: integers (2^-32 L), x: integers (2^-15)."""
    k = len(g)
    root = decimal.Decimal(k).sqrt()
    edge = decimal.Decimal(edge)
    out = []
    for row, u in zip(g, offsets):
        dot = sum(a * b for a, b in zip(row, x_scaled))
        y = decimal.Decimal(dot) / decimal.Decimal(2**39) / root
        c = (y / edge + decimal.Decimal(u) / decimal.Decimal(2**32))
        out.append(int(c.to_integral_value(rounding=decimal.ROUND_FLOOR)))
    return out


def cell(seed, coords):
    data = b"fre/cell/v1" + seed + struct.pack("<I", len(coords))
    data += b"".join(struct.pack("<i", c) for c in coords)
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def embedding(a, b, c, d):
    """The test builds the same vector; multiples of 2^-15, so floats hold them exactly."""
    return [(a * j * j + b * j + c) % 2048 - 1024 for j in range(d)]


def emit(seed, d, k, edge, g, offsets, rows):
    packed = b"".join(struct.pack("<q", v) for row in g for v in row)
    packed += b"".join(struct.pack("<I", u) for u in offsets)
    digest = hashlib.blake2b(packed, digest_size=32).hexdigest()
    print("grid", seed.hex(), d, k, edge.hex(), rows, digest)
    for i in range(rows):
        a, b, c = 3 + 2 * i, 17 + 5 * i, 101 * i
        coords = coordinates(g, offsets, edge, embedding(a, b, c, d))
        print("x", a, b, c, *coords, cell(seed, coords))


def main():
    words = sys.stdin.read().split()
    at = 0
    while at < len(words):
        seed, d, k, edge = bytes.fromhex(words[at]), int(words[at + 1]), int(words[at + 2]), \
            float.fromhex(words[at + 3])
        at += 4
        values = [int(w) for w in words[at:at + k * d + k]]
        at += k * d + k
        g = [values[i * d:(i + 1) * d] for i in range(k)]
        emit(seed, d, k, edge, g, values[k * d:], 24)


main()
