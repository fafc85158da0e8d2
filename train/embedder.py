"""The sentence encoder from its GGUF file, in PyTorch: the same weights that the program uses."""
import hashlib

import gguf
import numpy as np
import tokenizers
import torch
import torch.nn.functional as F
from gguf.quants import dequantize


def read(path):
    """Tensors (float32 arrays) and metadata of a GGUF file."""
    r = gguf.GGUFReader(path)
    data = {t.name: dequantize(t.data, t.tensor_type).reshape(t.shape[::-1].tolist()).astype(np.float32)
            for t in r.tensors}
    return data, {k: f.contents() for k, f in r.fields.items()}


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def word_pieces(meta):
    """GGUF marks the start of a word, WordPiece its continuation."""
    names = meta["tokenizer.ggml.tokens"]
    kind = meta["tokenizer.ggml.token_type"]
    vocab = {}
    for i, t in enumerate(names):
        plain = kind[i] == 3
        vocab.setdefault(t if plain else t[1:] if t.startswith("\u2581") else "##" + t, i)
    tk = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="[UNK]"))
    tk.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tk.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tk.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])])
    tk.enable_truncation(256)
    return tk


class Embedder:
    def __init__(self, path, device, dtype=torch.float32):
        data, meta = read(path)
        if meta["general.architecture"] != "bert":
            raise SystemExit(f"{path} is no BERT-shaped encoder")
        self.device, self.dtype = device, dtype
        self.layers, self.heads = meta["bert.block_count"], meta["bert.attention.head_count"]
        self.eps = meta["bert.attention.layer_norm_epsilon"]
        self.dim = meta["bert.embedding_length"]
        self.w = {k: torch.from_numpy(v).to(device) for k, v in data.items()}
        self.tokenizer = word_pieces(meta)

    def linear(self, x, name):
        return F.linear(x, self.w[name + ".weight"].to(x.dtype), self.w[name + ".bias"].to(x.dtype))

    def norm(self, x, name):
        w, b = self.w[name + ".weight"], self.w[name + ".bias"]
        return F.layer_norm(x.float(), (self.dim,), w, b, self.eps).to(self.dtype)

    def forward(self, ids, mask):
        n, t = ids.shape
        x = self.w["token_embd.weight"][ids] + self.w["position_embd.weight"][:t] + self.w["token_types.weight"][0]
        x = self.norm(x, "token_embd_norm")
        for i in range(self.layers):
            p = f"blk.{i}."
            q, k, v = (self.linear(x, p + f"attn_{c}").view(n, t, self.heads, -1).transpose(1, 2) for c in "qkv")
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
            x = self.norm(x + self.linear(y.transpose(1, 2).reshape(n, t, -1), p + "attn_output"), p + "attn_output_norm")
            y = self.linear(F.gelu(self.linear(x, p + "ffn_up")), p + "ffn_down")
            x = self.norm(x + y, p + "layer_output_norm")
        m = mask[:, :, None].float()
        return F.normalize((x.float() * m).sum(1) / m.sum(1), dim=1)

    @torch.no_grad()
    def embed(self, texts, tokens=1 << 17):
        """(n, d) float16 on the device; about `tokens` word pieces a batch."""
        out = torch.empty(len(texts), self.dim, dtype=torch.float16, device=self.device)
        step = 1 << 18
        for at in range(0, len(texts), step):
            ids = [e.ids for e in self.tokenizer.encode_batch(texts[at:at + step])]
            order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
            i = 0
            while i < len(order):
                n = max(1, tokens // max(len(ids[order[min(len(order), i + 4096) - 1]]), 1))
                part = order[i:i + n]
                longest = len(ids[part[-1]])
                a = np.zeros((len(part), longest), np.int64)
                m = np.zeros((len(part), longest), bool)
                for r, j in enumerate(part):
                    a[r, :len(ids[j])] = ids[j]
                    m[r, :len(ids[j])] = True
                with torch.autocast("cuda", torch.float16, enabled=self.dtype == torch.float16):
                    y = self.forward(torch.from_numpy(a).to(self.device), torch.from_numpy(m).to(self.device))
                out[at + torch.tensor(part, device=self.device)] = y.half()
                i += n
        return out
