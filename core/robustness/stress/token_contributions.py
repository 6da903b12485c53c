"""Sub-word contributions to a score: log probabilities of BARTScore, best similarities of BERTScore."""

from __future__ import annotations

from typing import NamedTuple

from core.data import Item
from core.metrics import registry
from core.metrics.embedding.bertscore import layer_of
from core.metrics.embedding.distances import encoder
from core.metrics.generation.bartscore import scorer
from core.models.configs import configured_model
from core.processes import host
from core.refine import inspect
from core.refine.result import token_labels

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


class SubwordValue(NamedTuple):
    """A sub-word of the text and its value: natural log probability (≤ 0) or cosine (−1 to 1); higher is better.

    `text` is "" at the end of the text. `label` is how it is written beside the others (`token_labels`).
    """

    text: str
    label: str
    value: float


class TextContributions(NamedTuple):
    """A text as the model read it; `mean` over its sub-words is its part of the score."""

    title: str
    subs: tuple[SubwordValue, ...]
    mean: float


def able(metric: str) -> bool:
    """Return whether the metric (by its stored name) has sub-word contributions that can be shown."""
    return _family(metric) is not None or registry.split(metric)[0] == BERT


def strips(metric: str, item: Item) -> list[TextContributions]:
    """Return the contributions per direction of the metric, with the first reference and without prompts.

    Empty if the other text is missing. Computed where models are run (`core.processes.host`). Raises UserError if the model is
    not available.
    """
    return host.run(_strips, metric, item)


def _strips(metric: str, item: Item) -> list[TextContributions]:
    sides = _family(metric)
    if sides is None:
        return _bertscore(metric, item)
    contributions = []
    for side in sides:
        against = item.source if side == "faithfulness" else next(iter(item.references), None)
        if against is None:
            continue
        text, condition = (against, item.hypothesis) if side == "recall" else (item.hypothesis, against)
        seen = inspect.inspect_text(
            scorer(), text, condition, "faithfulness" if side == "faithfulness" else "precision", 1
        )
        labels = token_labels([t[:3] for t in seen.tokens])
        subs = tuple(SubwordValue(t.text, label, t.logp) for t, label in zip(seen.tokens, labels, strict=True))
        contributions.append(TextContributions(_TITLES[side], subs, seen.score))
    return contributions


def _family(metric: str) -> tuple[str, ...] | None:
    name = registry.split(metric)[0]
    for family in ("bartscore++", "bartscore"):
        if name.startswith(family):
            return SIDES.get(name.removeprefix(family))
    return None


def _bertscore(metric: str, item: Item) -> list[TextContributions]:
    reference = next(iter(item.references), None)
    if reference is None:
        return []
    layer = registry.split(metric)[1].get("layer")
    number = int(layer) if layer and layer.isdecimal() and len(layer) < 10 else None
    model, at = encoder(), layer_of(configured_model("encoder"), number)
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
        inner = [
            (text[a:b], a, b, float(v)) for (a, b), v, special in zip(read.offsets, best, read.special, strict=True) if not special
        ]  # fmt: skip
        labels = token_labels([part[:3] for part in inner])
        subs = tuple(SubwordValue(word, label, v) for (word, _, _, v), label in zip(inner, labels, strict=True))
        if subs:
            out.append(TextContributions(title, subs, sum(s.value for s in subs) / len(subs)))
    return out
