"""Muon (Jordan and others 2024) for matrices, AdamW for the rest."""
import torch


def orthogonal(g, steps=5):
    """Newton-Schulz towards the nearest semi-orthogonal matrix; g: (batch, rows, cols)."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.bfloat16()
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(steps):
        y = x @ x.mT
        x = a * x + (b * y + c * y @ y) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.95, decay=0.02):
        super().__init__(params, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            alike = {}
            for p in group["params"]:
                if p.grad is not None:
                    alike.setdefault(p.shape, []).append(p)
            for shape, ps in alike.items():
                for p in ps:
                    if "momentum" not in self.state[p]:
                        self.state[p]["momentum"] = torch.zeros_like(p)
                grads = [p.grad for p in ps]
                moments = [self.state[p]["momentum"] for p in ps]
                torch._foreach_lerp_(moments, grads, 1 - group["momentum"])
                ahead = torch._foreach_lerp(grads, moments, group["momentum"])
                step = orthogonal(torch.stack(ahead)).to(ps[0].dtype)
                torch._foreach_mul_(ps, 1 - group["lr"] * group["decay"])
                torch._foreach_add_(ps, list(step.unbind()), alpha=-group["lr"] * max(1, shape[0] / shape[1]) ** 0.5)


def optimisers(model, muon_lr, adam_lr):
    """Matrices inside the blocks and the mappings' hidden layers go to Muon; the token table, the
    mappings' direct paths, norms and biases to AdamW."""
    matrices, direct, rest = [], [], []
    for name, p in model.named_parameters():
        if p.ndim == 2 and not name.endswith((".w0", "table")):
            matrices.append(p)
        elif p.ndim == 2:
            direct.append(p)
        else:
            rest.append(p)
    fused = next(model.parameters()).is_cuda
    return [Muon(matrices, muon_lr),
            torch.optim.AdamW([{"params": direct, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}],
                              lr=adam_lr, betas=(0.9, 0.98), eps=1e-10, fused=fused)]
