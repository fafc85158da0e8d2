"""Least noise of the baselines (needs mpmath; a minute):

    python make_baseline_vectors.py > baseline.txt

The hockey stick of two Gaussians is integrated as a density, without the formula that the product
uses, and the noise is found by bisection: nothing is shared with the product but the mathematics of
docs/decisions/0029-baselines.md.
"""
import mpmath as mp

mp.mp.dps = 20


def density(x, at):
    return mp.exp(-(x - at) ** 2 / 2) / mp.sqrt(2 * mp.pi)


def delta_of(epsilon, mu):
    """Integral of max(0, p - e^epsilon q) for p = N(mu, 1), q = N(0, 1), from where they are equal."""
    equal = epsilon / mu + mu / 2
    edges = [equal + i for i in (0, 1, 2, 4, 8, 16, 40)]
    return mp.quad(lambda x: density(x, mu) - mp.exp(epsilon) * density(x, 0), edges)


def largest_mu(epsilon, delta):
    low, high = mp.mpf("1e-3"), mp.mpf(60)
    for _ in range(48):
        middle = (low + high) / 2
        if delta_of(epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    return low


def alone(threshold, count_sigma):
    """Chance that 1 + noise reaches the threshold, on a lattice of 2^-16."""
    at = (threshold - 1 - mp.mpf(2) ** -16) / count_sigma
    return mp.quad(lambda x: density(x, 0), [at + i for i in (0, 1, 2, 4, 8, 40)])


def central(adjacency, epsilon, delta, threshold, share):
    """Noise of count and sum: two cells change by one user each, or one sum by two embeddings."""
    empty = mp.mpf(0)
    for _ in range(60):
        mu = largest_mu(epsilon + mp.log1p(-empty), delta - empty)
        w = mu ** 2 / (1 if adjacency == "add-remove" else max(mp.mpf(2), 4 * (1 - share)))
        count_sigma, sigma = 1 / mp.sqrt(share * w), 1 / mp.sqrt((1 - share) * w)
        found = alone(threshold, count_sigma)
        if found <= empty * (1 + mp.mpf("1e-12")):
            break
        empty = found
    return count_sigma, sigma


def show(*values):
    print(*(mp.nstr(v, 12) if isinstance(v, mp.mpf) else v for v in values))


print("# method adjacency epsilon delta threshold count_share count_sigma sigma flip (norm bound 1; - : none)")
for epsilon, delta in (("0.5", "1e-6"), ("4", "1e-8"), ("16", "1e-6")):
    e, d = mp.mpf(epsilon), mp.mpf(delta)
    show("ldp-embedding", "replace", epsilon, delta, 100, "0.5", "-", 2 / largest_mu(e, d), "-")
    for share in ("0.5", "0.9"):
        s = mp.mpf(share)
        flip = 1 / (mp.exp(s * e) + 1)
        rest = largest_mu(e * (1 - s), d)
        show("ldp-oue", "add-remove", epsilon, delta, 100, share, "-", 1 / rest, flip)
        show("ldp-oue", "replace", epsilon, delta, 100, share, "-", 2 / rest, flip)
for adjacency in ("add-remove", "replace"):
    least = 40 if adjacency == "add-remove" else 80  # where a cell of one user takes a part of delta
    for epsilon, delta, threshold, share in (("4", "1e-8", 100, "0.25"), ("4", "1e-8", least, "0.046"),
                                             ("1", "1e-6", 100, "0.5"), ("16", "1e-6", 20, "0.8")):
        found = central(adjacency, mp.mpf(epsilon), mp.mpf(delta), threshold, mp.mpf(share))
        show("central-dp", adjacency, epsilon, delta, threshold, share, *found, "-")
for epsilon, delta in (("0.5", "1e-6"), ("4", "1e-8"), ("16", "1e-6")):
    mu = largest_mu(mp.mpf(epsilon), mp.mpf(delta))
    for adjacency, changed in (("add-remove", 1), ("replace", 2)):  # of the votes of 5 rounds
        show("aug-pe", adjacency, epsilon, delta, 100, "0.5", mp.sqrt(5 * changed) / mu, "-", "-")
