"""Drawing texts from the inverter, many at a time."""
import torch
import torch.nn.functional as F

from model import BOS, EOS, PAD


@torch.no_grad()
def draw(model, rows, length, temperature=0.0, top_k=64, given=None, dtype=torch.bfloat16):
    """ids (n, length), ended by EOS and filled with PAD; given (n, g): tokens between the rows and
    BOS, the same number for all.  Temperature 0: greedy."""
    s = model.shape
    n, device = rows.shape[0], rows.device
    start = torch.full((n, 1), BOS, device=device)
    ids = start if given is None else torch.cat((given, start), 1)
    table = model.table.to(dtype)
    x = torch.cat((rows.to(dtype), F.embedding(ids, table)), 1)
    room, at = x.shape[1] + length, 0
    cache = [(torch.zeros(n, s.heads, room, s.dim // s.heads, device=device, dtype=dtype),
              torch.zeros(n, s.heads, room, s.dim // s.heads, device=device, dtype=dtype)) for _ in model.blocks]
    out = torch.full((n, length), PAD, device=device)
    done = torch.zeros(n, dtype=torch.bool, device=device)
    with torch.autocast(device.type, torch.bfloat16, enabled=dtype == torch.bfloat16):
        for i in range(length):
            cos, sin = model.turns(at, x.shape[1], dtype)
            for block, (k, v) in zip(model.blocks, cache):
                x = block.forward(x, cos, sin, k, v, at)  # never the compiled one
            at += x.shape[1]
            from_last = model.final(x[:, -1])
            logits = F.linear(from_last.to(dtype), table).float()
            logits[:, PAD] = logits[:, BOS] = -torch.inf
            if temperature == 0.0:
                pick = logits.argmax(1)
            else:
                best, where = logits.topk(top_k, dim=1)
                pick = where.gather(1, torch.multinomial(F.softmax(best / temperature, 1), 1))[:, 0]
            out[:, i] = torch.where(done, PAD, pick)
            done |= pick == EOS
            if i % 4 == 3 and bool(done.all()):
                break
            x = F.embedding(pick[:, None], table)
    return out


def texts(tokenizer, ids):
    rows = [r[:r.index(EOS)] if EOS in r else r for r in ids.tolist()]
    return [" ".join(t.split()) for t in tokenizer.decode_batch(rows)]
