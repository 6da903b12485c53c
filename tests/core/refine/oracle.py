"""METHODS section 1 written plainly: one sentence, one whole forward pass a text, nothing shared. What the engine must equal."""

import math

import torch


def logps(scorer, condition: list[int], target: list[int]) -> list[float]:
    """log p of every token of the target, through the model's own forward pass on a batch of one."""
    inputs = torch.tensor([[scorer.start, *target[:-1]]])
    with torch.inference_mode():
        logits = scorer.model(input_ids=torch.tensor([condition]), decoder_input_ids=inputs, use_cache=False).logits
    table = torch.log_softmax(logits[0].float(), dim=-1)
    return [float(table[t, token]) for t, token in enumerate(target)]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def bartscore(scorer, hypothesis: list[int], reference: list[int], variant: str) -> float:
    precision = mean(logps(scorer, reference, hypothesis))
    if variant in ("precision", "faithfulness"):
        return precision
    recall = mean(logps(scorer, hypothesis, reference))
    return recall if variant == "recall" else (precision + recall) / 2


def top_k(scorer, reference: list[int], hypothesis: list[int], position: int, k: int = 10) -> list[int]:
    inputs = torch.tensor([[scorer.start, *hypothesis[:position]]])
    with torch.inference_mode():
        logits = scorer.model(input_ids=torch.tensor([reference]), decoder_input_ids=inputs, use_cache=False).logits[
            0, -1
        ]
    order = torch.argsort(logits, descending=True).tolist()
    return [token for token in order if token not in scorer.special][:k]


def refine(scorer, hypothesis: list[int], reference: list[int], variant: str) -> list[list[int]]:
    """The texts after each accepted edit, the first being the hypothesis."""
    y, trace = list(hypothesis), [list(hypothesis)]
    for _ in range(math.ceil((len(hypothesis) - 2) / 2)):
        p = logps(scorer, reference, y)
        t = min(range(1, len(y)), key=lambda i: p[i])
        words = top_k(scorer, reference, y, t)
        options = [y[:t] + [w] + y[t:] for w in words]
        if t < len(y) - 1:
            options.append(y[:t] + y[t + 1 :])
            options += [y[:t] + [w] + y[t + 1 :] for w in words if w != y[t]]
        scores = [bartscore(scorer, o, reference, variant) for o in options]
        best = max(range(len(options)), key=lambda i: scores[i])
        if scores[best] <= bartscore(scorer, y, reference, variant) + 1e-6:
            break
        y = options[best]
        trace.append(y)
    return trace
