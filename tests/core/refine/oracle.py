"""METHODS section 1 written plainly: one sentence at a time, a whole forward pass for every few texts, nothing shared.

What the engine must equal, and what it is measured against. Works on token ids; sides carry their language tokens.
"""

import math
from typing import NamedTuple

import torch


class Found(NamedTuple):
    """The texts after each accepted edit, the first being the hypothesis, and the score of each."""

    texts: list[list[int]]
    scores: list[float]


class Plain:
    """`spent` counts the tokens that went through the encoder or the decoder, padding included; `batch` texts at a time."""

    def __init__(self, scorer, batch: int = 4) -> None:
        self.scorer, self.batch, self.spent = scorer, batch, 0
        self.special = set(scorer.special)
        self.pad = scorer.model.config.pad_token_id

    def forward(self, conditions: list[list[int]], targets: list[list[int]]) -> torch.Tensor:
        inputs, mask = self.padded(conditions)
        fed, _ = self.padded([[*self.scorer.starts, *t[:-1]] for t in targets])
        self.spent += inputs.numel() + fed.numel()
        with torch.inference_mode():
            logits = self.scorer.model(
                input_ids=inputs, attention_mask=mask, decoder_input_ids=fed, use_cache=False
            ).logits
        return torch.log_softmax(logits[:, len(self.scorer.starts) - 1 :].float(), dim=-1)

    def padded(self, rows: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        width = max(len(r) for r in rows)
        device = self.scorer.device
        ids = torch.tensor([r + [self.pad] * (width - len(r)) for r in rows], device=device)
        mask = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in rows], device=device)
        return ids, mask

    def logps(self, condition: list[int], target: list[int]) -> list[float]:
        table = self.forward([condition], [target])[0]
        return [float(table[t, token]) for t, token in enumerate(target)]

    def means(self, conditions: list[list[int]], targets: list[list[int]]) -> list[float]:
        """Mean log probability of each target given its condition, a batch at a time."""
        out = []
        for first in range(0, len(targets), self.batch):
            some = targets[first : first + self.batch]
            tables = self.forward(conditions[first : first + self.batch], some)
            for table, target in zip(tables, some, strict=True):
                picked = table[: len(target)].gather(1, torch.tensor(target, device=table.device)[:, None])
                out.append(float(picked.double().mean()))
        return out

    def bartscores(self, texts: list[list[int]], reference: list[int], variant: str) -> list[float]:
        lead = self.scorer.starts[1:]
        precisions = self.means([reference] * len(texts), texts) if variant != "recall" else []
        if variant in ("precision", "faithfulness"):
            return precisions
        target = reference[len(lead) :]
        recalls = self.means([lead + t for t in texts], [target] * len(texts))
        return recalls if variant == "recall" else [(p + r) / 2 for p, r in zip(precisions, recalls, strict=True)]

    def top_k(self, reference: list[int], hypothesis: list[int], position: int, k: int) -> list[int]:
        table = self.forward([reference], [hypothesis])[0, position]
        likely = torch.topk(table, min(len(table), k + len(self.special))).indices.tolist()
        return [token for token in likely if token not in self.special][:k]

    def refine(
        self,
        hypothesis: list[int],
        reference: list[int],
        variant: str,
        k: int = 10,
        rounds: int | None = None,
        edits: tuple[str, ...] = ("insert", "delete", "substitute"),
    ) -> Found:
        """`reference` is the conditioning text as it is read, a language token included."""
        first = self.scorer.first
        texts, scores = [list(hypothesis)], self.bartscores([hypothesis], reference, variant)
        for _ in range(math.ceil((len(hypothesis) - first - 1) / 2) if rounds is None else rounds):
            y = texts[-1]
            p = self.logps(reference, y)
            t = min(range(first, len(y)), key=lambda i: p[i])
            words = self.top_k(reference, y, t, k)
            options = []
            if "insert" in edits and len(y) + len(self.scorer.starts) - 1 < self.scorer.limit:
                options += [y[:t] + [w] + y[t:] for w in words]
            if t < len(y) - 1 and "delete" in edits:
                options.append(y[:t] + y[t + 1 :])
            if t < len(y) - 1 and "substitute" in edits:
                options += [y[:t] + [w] + y[t + 1 :] for w in words if w != y[t]]
            if not options:
                break
            option_scores = self.bartscores(options, reference, variant)
            best = max(range(len(options)), key=lambda i: option_scores[i])
            if option_scores[best] <= scores[-1] + 1e-6:
                break
            texts.append(options[best])
            scores.append(option_scores[best])
        return Found(texts, scores)
