"""Reference values of the projector (needs numpy and gguf):

    python make_invert_vectors.py models/minilm-inverter-projector.f16.gguf \\
        models/all-minilm-l6-v2.prior.gguf > invert.txt
"""
import sys

import gguf
import numpy as np


def tensors(path):
    return {t.name: np.asarray(t.data).astype(np.float64) for t in gguf.GGUFReader(path).tensors}


w, prior = tensors(sys.argv[1]), tensors(sys.argv[2])
d = 384
mu = (np.sin(np.arange(1, d + 1, dtype=np.float64)) / 15.0).astype(np.float32).astype(np.float64)
mean, values, vectors = (prior[k] for k in ("mean", "eigenvalues", "eigenvectors"))
print(f"# noise std, index, value; mu[i] = float(sin(i + 1) / 15), i = 0..{d - 1}")
for std in (0.0, 0.01, 0.05):
    shrink = std * std / (values.ravel() + std * std)
    guess = mu - vectors.T @ (shrink * (vectors @ (mu - mean.ravel())))
    x = np.append(guess * np.sqrt(d), (np.log(max(std, 5e-4)) + 5.0) / 2.0)
    h = w["w1.weight"] @ x + w["w1.bias"].ravel()
    h = h / (1.0 + np.exp(-h))
    y = w["w2.weight"] @ h + w["w2.bias"].ravel() + w["w0.weight"] @ x
    for i in range(0, len(y), 89):
        print(f"{std:.3g} {i} {y[i]:.9g}")
