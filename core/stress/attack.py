"""A greedy attack on a metric (He et al. 2023, appendix J): the text is worn down, and the metric is kept from noticing.

In each step every word of the text is deleted, and replaced by every candidate, each on its own; the edit after which the metric likes the
text best, given the source and the original text as the reference, is made. This goes on until the noise ratio reaches a bound. What the
paper leaves open: an edit must raise the noise ratio, since otherwise the best one would be to take back the last; and of equal scores the
first in the text counts, a deletion before the replacements. Nothing is drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from core.data import Item, Value
from core.errors import UserError
from core.metrics.base import Cancelled, Metric, MetricSpec
from core.signature import signature
from core.stress import candidates, neighbours
from core.stress.base import Edit, apply
from core.stress.candidates import Place, Proposer
from core.stress.neighbours import Neighbours
from core.stress.noise.base import noise_ratio
from core.text.words import words

VERSION = 1
BOUND, EXPECTED, NEAR = 0.15, 8, 8
Tell = Callable[[float], bool]
"""Told how much of the bound is reached, in [0, 1]; False asks to stop."""


class Step(NamedTuple):
    """One edit: `old` at code point `start` of the text before gave way to `new`, "" where it was deleted; the `text` after it with
    its `score`, in the metric's unit, and its noise ratio."""

    start: int
    old: str
    new: str
    text: str
    score: float
    ratio: float


class Attack(NamedTuple):
    """What became of a text; `before` is the metric's score of the text against itself, None where it has none. `reason` says why the
    bound was not reached, "" where it was."""

    original: str
    before: float | None
    steps: tuple[Step, ...]
    reason: str

    @property
    def text(self) -> str:
        """The attacked text."""
        return self.steps[-1].text if self.steps else self.original

    @property
    def ratio(self) -> float:
        """Its noise ratio, ≥ 0."""
        return self.steps[-1].ratio if self.steps else 0.0


class Shift(NamedTuple):
    """One metric's score of the gold text and of the attacked one. `change` is relative to the size of the gold score and follows the metric's own direction:
    below 0 the attacked text is worse. None, with a reason, where a score is missing or that of the gold text is 0."""

    metric: str
    signature: str
    gold: float | None
    attacked: float | None
    change: float | None
    reason: str = ""


def attack(
    hypothesis: str,
    source: str | None,
    metric: Metric,
    bound: float = BOUND,
    *,
    expected: int = EXPECTED,
    near: int = NEAR,
    tell: Tell = lambda share: True,
) -> Attack:
    """Attack one text; the metric's score is maximised, or minimised where lower is better.

    `expected` (k1) and `near` (k2) are the candidates a word is given; either may be 0. A metric that needs no reference is given the
    source alone. Raises UserError for a bound that is not in (0, 1] and for negative numbers of candidates; Cancelled when `tell`
    returns False.
    """
    if not 0 < bound <= 1:
        raise UserError("this is no bound of the noise ratio", got=f"{bound:g}", expected="a number above 0, at most 1")
    if min(expected, near) < 0:
        raise UserError("a number of candidates is not negative", got=f"{expected} and {near}")
    if "source" in metric.spec.needs and source is None:
        return Attack(hypothesis, None, (), f"{metric.spec.label} needs a source text, and this text has none")
    model = candidates.proposer() if expected else None
    if model and (reason := model.refuses(hypothesis)):
        return Attack(hypothesis, None, (), reason)
    return _Running(hypothesis, source, metric, bound, (expected, near), tell).run(
        model, neighbours.neighbours() if near else None
    )


def signed(metric: Metric, bound: float, expected: int = EXPECTED, near: int = NEAR) -> str:
    """The metric's signature, then all that an attack on it depends on. Raises UserError where a model is not there."""
    facts = {
        "v": VERSION, "bound": float(bound), "k1": expected, "k2": near,
        "expected": candidates.named(candidates.expecting()) if expected else "none",
        "near": candidates.named(neighbours.embedding()) if near else "none",
    }  # fmt: skip
    return "|".join([metric.signature(), signature("attack", facts)])


class _Running:
    def __init__(
        self, original: str, source: str | None, metric: Metric, bound: float, most: tuple[int, int], tell: Tell
    ) -> None:
        self.original, self.source, self.metric, self.bound, self.tell = original, source, metric, bound, tell
        self.most, self.better = most, 1 if metric.spec.higher_is_better else -1
        self.ratio = 0.0

    def run(self, model: Proposer | None, near: Neighbours | None) -> Attack:
        before = self.scores([self.original])[0]
        if before.value is None:
            return Attack(self.original, None, (), f"the text has no score: {before.reason or before.status}")
        steps: list[Step] = []
        while self.ratio < self.bound:
            step, reason = self.step(steps[-1].text if steps else self.original, model, near)
            if step is None:
                return Attack(self.original, before.value, tuple(steps), reason)
            steps.append(step)
            self.ratio = step.ratio
        self.hear()
        return Attack(self.original, before.value, tuple(steps), "")

    def step(self, text: str, model: Proposer | None, near: Neighbours | None) -> tuple[Step | None, str]:
        """The best edit of a text, or why there is none."""
        edits: dict[str, Edit] = {}
        for edit in _edits(text, model, near, self.most):
            edits.setdefault(apply(text, [edit]), edit)
        ratios = {new: noise_ratio(self.original, new) for new in edits}
        there = [new for new in edits if ratios[new] > self.ratio]
        if not there:
            return None, "no edit is left that changes more of the text"
        found = list(zip(self.scores(there), there, strict=True))
        usable = [(value.value, new) for value, new in found if value.value is not None]
        if not usable:
            return None, f"no edited text has a score: {found[0][0].reason or found[0][0].status}"
        score, new = max(usable, key=lambda one: self.better * one[0])
        start, end, word = edits[new]
        old = text[start:end].strip()
        return Step(text.index(old, start), old, word, new, score, ratios[new]), ""

    def scores(self, texts: Sequence[str]) -> list[Value]:
        """The metric on texts held against the original."""
        references = (self.original,) if "reference" in self.metric.spec.needs else ()
        self.hear()
        return [
            _usable(v)
            for v in self.metric.score([Item(self.source, t, references) for t in texts], lambda done: self.hear())
        ]

    def hear(self) -> bool:
        if not self.tell(min(1.0, self.ratio / self.bound)):
            raise Cancelled
        return True


def _edits(text: str, model: Proposer | None, near: Neighbours | None, most: tuple[int, int]) -> list[Edit]:
    """Each word deleted (not the last one there is), then replaced by its candidates, word after word."""
    spans = words(text)
    expected = (
        model.expected([Place(text, start, end) for start, end in spans], most[0]) if model else [[]] * len(spans)
    )
    out: list[Edit] = []
    for (start, end), likely in zip(spans, expected, strict=True):
        if len(spans) > 1:
            out.append(_deletion(text, start, end))
        found = [*likely, *(near.near(text[start:end], most[1]) if near else ())]
        out += [Edit(start, end, word) for word in dict.fromkeys(w.text for w in found)]
    return out


def _deletion(text: str, start: int, end: int) -> Edit:
    """A word out of a text, with the white space before it; after it, where none stands before or the text begins."""
    left = len(text[:start].rstrip())
    if 0 < left < start:
        return Edit(left, end, "")
    return Edit(start, len(text) - len(text[end:].lstrip()), "")


def _usable(value: Value) -> Value:
    """The value, without its number where that cannot be compared."""
    if value.status == "ok" and value.value is not None and math.isfinite(value.value):
        return value
    return Value(
        None, "undefined" if value.status == "ok" else value.status, value.reason or "the metric gave no number"
    )


def compare(gold: Item, attacked: str, metrics: Sequence[Metric]) -> list[Shift]:
    """What other metrics make of an attacked text against the references the gold text is held against (Figure 10)."""
    return [_shift(metric, gold, attacked) for metric in metrics]


def _shift(metric: Metric, gold: Item, attacked: str) -> Shift:
    spec, name = metric.spec, metric.signature()
    if lack := _lacking(spec, gold):
        return Shift(spec.name, name, None, None, None, lack)
    values = [_usable(v) for v in metric.score([gold, gold._replace(hypothesis=attacked)], lambda done: True)]
    old, new = (v.value for v in values)
    reason = next((v.reason or v.status for v in values if v.value is None), "")
    return Shift(spec.name, name, old, new, *relative(spec, old, new, reason))


def relative(
    spec: MetricSpec, gold: float | None, attacked: float | None, reason: str = ""
) -> tuple[float | None, str]:
    """The relative change from gold to attacked in the metric's own direction, below 0 for worse; None with the reason."""
    if gold is None or attacked is None:
        return None, reason
    if gold == 0:
        return None, "the score of the gold text is 0"
    change = (attacked - gold) / abs(gold)
    return (change if spec.higher_is_better or not change else -change), ""


def _lacking(spec: MetricSpec, item: Item) -> str:
    texts = {"source": item.source, "reference": item.references or None}
    lacking = [name for name, text in texts.items() if name in spec.needs and text is None]
    return f"{spec.label} needs a {lacking[0]}, and there is none" if lacking else ""
