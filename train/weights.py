"""Weights alone, in half precision, in parts of at most 15 MiB: what travels between machines."""
import io
import os

import torch

PART = 15 << 20


def write(state, folder, name="weights"):
    """state: the training state; writes folder/name.0, name.1, ..."""
    keep = {k: v for k, v in state.items() if k != "optimisers"}
    keep["model"] = {k: v.half() if v.is_floating_point() else v for k, v in state["model"].items()}
    buffer = io.BytesIO()
    torch.save(keep, buffer)
    data = buffer.getvalue()
    for i in range(0, len(data), PART):
        part = os.path.join(folder, f"{name}.{i // PART}.part")
        with open(part, "wb") as f:
            f.write(data[i:i + PART])
        os.replace(part, part[:-5])


def read(folder, name="weights"):
    """What `write` wrote there, or None."""
    data, i = b"", 0
    while os.path.exists(path := os.path.join(folder, f"{name}.{i}")):
        with open(path, "rb") as f:
            data += f.read()
        i += 1
    if not data:
        return None
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
