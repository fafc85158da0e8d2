"""GGUF files that the program reads: decoder (Q8_0 and F16) and projector with corrector (F16)."""
import argparse
import json
import math
import os

import gguf
import numpy as np
import torch
from gguf.quants import quantize

import weights
from embedder import sha256
from model import BOS, EOS, NOISE_FLOOR, PAD, Shape

Q8, F16 = gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.F16


def load(path):
    state = torch.load(path, map_location="cpu", weights_only=True) if os.path.isfile(path) else weights.read(path)
    if state is None:
        raise SystemExit(f"{path} holds no weights.0; train first")
    return state


def vocabulary(w, path):
    with open(path, encoding="utf-8") as f:
        d = json.load(f)["model"]
    names = [t for t, _ in sorted(d["vocab"].items(), key=lambda x: x[1])]
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(names)
    w.add_token_types([3 if i <= EOS else 1 for i in range(len(names))])
    w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in d["merges"]])
    w.add_bos_token_id(BOS)
    w.add_eos_token_id(EOS)
    w.add_pad_token_id(PAD)
    w.add_add_bos_token(True)
    w.add_add_eos_token(False)


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def decoder(model, s, tokenizer, path, kind):
    w = gguf.GGUFWriter(path, "llama")
    w.add_name("minilm-inverter")
    w.add_description("Text from all-MiniLM-L6-v2 embeddings; needs the projector file for its prefix rows")
    w.add_file_type(int(gguf.LlamaFileType.MOSTLY_Q8_0 if kind == Q8 else gguf.LlamaFileType.MOSTLY_F16))
    w.add_context_length(2048)
    w.add_embedding_length(s.dim)
    w.add_block_count(s.layers)
    w.add_feed_forward_length(s.ffn)
    w.add_head_count(s.heads)
    w.add_head_count_kv(s.heads)
    w.add_rope_dimension_count(s.dim // s.heads)
    w.add_rope_freq_base(s.base)
    w.add_layer_norm_rms_eps(s.eps)
    w.add_vocab_size(s.vocab)
    vocabulary(w, tokenizer)

    def matrix(name, key):
        x = model[key].float().numpy()
        data = quantize(x, kind) if kind == Q8 else x.astype(np.float16)
        w.add_tensor(name + ".weight", data, raw_dtype=kind)

    def vector(name, key):
        w.add_tensor(name + ".weight", model[key].float().numpy())

    matrix("token_embd", "table")
    vector("output_norm", "last_norm")
    for i in range(s.layers):
        for name, key in (("attn_norm", "norm1"), ("ffn_norm", "norm2")):
            vector(f"blk.{i}.{name}", f"blocks.{i}.{key}")
        for name, key in (("attn_q", "q"), ("attn_k", "k"), ("attn_v", "v"), ("attn_output", "o"),
                          ("ffn_gate", "gate"), ("ffn_up", "up"), ("ffn_down", "down")):
            matrix(f"blk.{i}.{name}", f"blocks.{i}.{key}")
    finish(w)


def projector(state, s, decoder_path, path, with_corrector):
    model, p = state["model"], "fre-e2t-projector."
    w = gguf.GGUFWriter(path, "fre-e2t-projector")
    w.add_name("minilm-inverter-projector")
    w.add_uint32(p + "input_embedding_length", s.embedding)
    w.add_uint32(p + "prefix_length", s.prefix)
    w.add_uint32(p + "embedding_length", s.dim)
    w.add_uint32(p + "hidden_length", s.hidden)
    w.add_float32(p + "input_scale", math.sqrt(s.embedding))
    w.add_float32(p + "noise_floor", NOISE_FLOOR)
    w.add_float32(p + "noise_shift", 5.0)
    w.add_float32(p + "noise_scale", 0.5)
    w.add_string(p + "input", "posterior-mean")
    w.add_string(p + "formula", "x=[pm*input_scale, (ln(max(noise_std_per_coordinate,noise_floor))+noise_shift)*noise_scale]; "
                 "y=w2*silu(w1*x+b1)+b2+w0*x")
    w.add_string(p + "embedding_model", "all-MiniLM-L6-v2 (mean pooled, L2-normalised)")
    w.add_string(p + "embedding_model_sha256", state["embedder_sha256"])
    w.add_string(p + "prior_sha256", state["prior_sha256"])
    w.add_string(p + "decoder_sha256", sha256(decoder_path))
    w.add_float32(p + "max_noise_norm_trained", 1.4)
    if with_corrector:
        w.add_uint32(p + "corrector_prefix_length", s.fix_prefix)
        w.add_uint32(p + "corrector_hidden_length", s.fix_hidden)
    for letter, part in (("w", "project"), ("c", "correct"))[:1 + with_corrector]:
        for i in (0, 1, 2):
            w.add_tensor(f"{letter}{i}.weight", model[f"{part}.w{i}"].float().numpy().astype(np.float16))
            if i:
                w.add_tensor(f"{letter}{i}.bias", model[f"{part}.b{i}"].float().numpy())
    finish(w)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("state", help="state.pt, or a folder of weights.N")
    p.add_argument("-o", "--output", required=True, help="folder")
    p.add_argument("--tokenizer", required=True)
    p.add_argument("--corrector", action=argparse.BooleanOptionalAction, default=True)
    a = p.parse_args()
    state = load(a.state)
    s = Shape(**state["shape"])
    os.makedirs(a.output, exist_ok=True)
    names = {k: os.path.join(a.output, f"minilm-inverter.{k}.gguf") for k in ("q8_0", "f16")}
    decoder(state["model"], s, a.tokenizer, names["q8_0"], Q8)
    decoder(state["model"], s, a.tokenizer, names["f16"], F16)
    out = os.path.join(a.output, "minilm-inverter-projector.f16.gguf")
    projector(state, s, names["q8_0"], out, a.corrector)
    for n in (*names.values(), out):
        print(f"{os.path.getsize(n):>10} {sha256(n)} {os.path.basename(n)}")


if __name__ == "__main__":
    main()
