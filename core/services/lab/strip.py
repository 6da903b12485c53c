"""Why a metric scored a text as it did, sub-word by sub-word: BARTScore's log probabilities, BERTScore's best similarities."""

from __future__ import annotations

from typing import NamedTuple

from core.data import Item
from core.metrics import registry
from core.metrics.bartscore import scorer
from core.metrics.bertscore_layers import layer_of
from core.metrics.encoding import encoder
from core.models.roles import player
from core.refine import inspect

SIDES: dict[str, tuple[str, ...]] = {
    "": ("precision", "recall"),
    "-p": ("precision",),
    "-r": ("recall",),
    "-faithfulness": ("faithfulness",),
}
BERT = "bertscore"
_TITLES = {
    "precision": "log probability of the output’s sub-words, given the reference",
    "recall": "log probability of the reference’s sub-words, given the output",
    "faithfulness": "log probability of the output’s sub-words, given the source",
}


class Sub(NamedTuple):
    """A sub-word as it stands in the text, and its value: natural log probability (≤ 0) or cosine (−1 to 1); higher is better."""

    text: str
    value: float


class Strip(NamedTuple):
    """A text as a model read it; `mean` over its sub-words is the part of the score that it makes."""

    title: str
    subs: tuple[Sub, ...]
    mean: float


def able(metric: str) -> bool:
    """Whether a metric, by the name its scores are stored under, is a sum over sub-words that can be shown."""
    return _family(metric) is not None or registry.split(metric)[0] == BERT


def strips(metric: str, item: Item) -> list[Strip]:
    """One strip a direction the metric reads; against the first reference, and without prompts.

    Empty where the text that it reads against is missing. Raises UserError where the model is not there.
    """
    sides = _family(metric)
    if sides is None:
        return _bertscore(metric, item)
    found = []
    for side in sides:
        against = item.source if side == "faithfulness" else next(iter(item.references), None)
        if against is None:
            continue
        text, condition = (against, item.hypothesis) if side == "recall" else (item.hypothesis, against)
        seen = inspect.look(scorer(), text, condition, "faithfulness" if side == "faithfulness" else "precision", 1)
        subs = tuple(Sub(t.text, t.logp) for t in seen.tokens)
        found.append(Strip(_TITLES[side], subs, seen.score))
    return found


def _family(metric: str) -> tuple[str, ...] | None:
    name = registry.split(metric)[0]
    for family in ("bartscore++", "bartscore"):
        if name.startswith(family):
            return SIDES.get(name.removeprefix(family))
    return None


def _bertscore(metric: str, item: Item) -> list[Strip]:
    reference = next(iter(item.references), None)
    if reference is None:
        return []
    layer = registry.split(metric)[1].get("layer")
    model, at = (
        encoder(),
        layer_of(player("encoder"), int(layer) if layer and layer.isdecimal() and len(layer) < 10 else None),
    )
    texts = [item.hypothesis.strip(), reference.strip()]
    ours, theirs = model.tokens(texts, [at])
    unit = [t.states[0] / (t.states[0] ** 2).sum(axis=1, keepdims=True) ** 0.5 for t in (ours, theirs)]
    cosines = unit[0] @ unit[1].T
    titles = (
        "similarity of the output’s sub-words to their best match",
        "similarity of the reference’s sub-words to their best match",
    )
    out = []
    for title, text, tokens, best in zip(titles, texts, (ours, theirs), (cosines.max(1), cosines.max(0)), strict=True):
        read = tokens.read
        subs = tuple(
            Sub(text[a:b], float(v)) for (a, b), v, special in zip(read.offsets, best, read.special, strict=True) if not special
        )  # fmt: skip
        if subs:
            out.append(Strip(title, subs, sum(s.value for s in subs) / len(subs)))
    return out
