"""Reference values of the projector (needs numpy and gguf):

    python make_invert_vectors.py models/minilm-inverter-projector.f16.gguf > invert.txt
"""
import sys

import gguf
import numpy as np

tensors = {t.name: np.asarray(t.data).astype(np.float64)
           for t in gguf.GGUFReader(sys.argv[1]).tensors}
mu = np.sin(np.arange(1, 385, dtype=np.float64)) / 15.0
mu = mu.astype(np.float32).astype(np.float64)
print("# noise std, index, value; mu[i] = float(sin(i + 1) / 15), i = 0..383")
for std in (0.0, 0.01, 0.05):
    x = np.append(mu * np.sqrt(384.0), (np.log(max(std, 5e-4)) + 5.0) / 2.0)
    h = tensors["w1.weight"] @ x + tensors["w1.bias"].ravel()
    h = h / (1.0 + np.exp(-h))
    y = tensors["w2.weight"] @ h + tensors["w2.bias"].ravel() + tensors["w0.weight"] @ x
    for i in range(0, 2048, 89):
        print(f"{std:.3g} {i} {y[i]:.9g}")
