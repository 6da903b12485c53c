"""Breaking metrics by hand: one text with a change, and what every metric makes of it.

A metric is fooled where the changed text scores at least as high as the good one, by the metric's own direction (the
strict preference of Chen and Eger 2023, equation 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.calibration.drawn import Tell, quiet
from core.data import Item, Value
from core.errors import UserError
from core.formats.adversarial import Case, phenomenon
from core.metrics import ranges
from core.metrics.base import Metric, MetricSpec
from core.metrics.ranges import Range
from core.ports import KeptScore
from core.services.adversarial import Answered, answer
from core.services.scoring import Doing, Memory, OnProgress
from core.stress import registry
from core.stress.base import Change, Outcome, Perturbation
from core.text.diff import diff

BY_HAND = "by hand"
QUICK_NEEDS = frozenset({"source", "reference", "seq2seq", "encoder", "nli"})
SLOW = ("bartscore++", "menli")
"""Families that take more than a moment for one pair of texts."""


class Texts(NamedTuple):
    """A good output and the same with a change, against a reference, a source, or both."""

    source: str | None
    reference: str | None
    good: str
    changed: str

    def case(self, kind: str = BY_HAND) -> Case:
        """As the adversarial test takes it."""
        references = () if self.reference is None else (self.reference,)
        return Case(kind, "", Item(self.source, self.good, references), Item(self.source, self.changed, references))


class Reaction(NamedTuple):
    """What a metric makes of the change.

    `change` is in the metric's unit, below 0 where the changed text is worse by the metric's own direction; `share` is the same
    in parts of the metric's frozen range (`core.metrics.ranges`), None where it has none. `fooled` as in the module's text; None,
    as `change`, where one of the two texts has no score, and `reason` says why.
    """

    spec: MetricSpec
    signature: str
    good: Value
    changed: Value
    change: float | None
    share: float | None
    fooled: bool | None
    reason: str

    def kept(self) -> KeptScore:
        """As it is stored with a case."""
        numbers = (self.good.value, self.changed.value)
        return KeptScore(self.spec.name, self.signature, self.spec.higher_is_better, *numbers, self.reason)


class Tried(NamedTuple):
    """A perturbation, what it made of a text or why it would not, and how metrics react where it made something."""

    perturbation: Perturbation
    outcome: Outcome
    reactions: tuple[Reaction, ...] = ()

    @property
    def phenomenon(self) -> str:
        """What the tables of the adversarial test call it."""
        return phenomenon(self.perturbation.name)


def quick(metric: Metric) -> bool:
    """A metric that answers for two texts in a moment, with models of ordinary size, and whose values do not depend on the
    company they are scored in."""
    return metric.spec.needs <= QUICK_NEEDS and not metric.spec.name.startswith(SLOW) and metric.on is None


def by_strings(spec: MetricSpec) -> bool:
    """A metric that asks no model."""
    return spec.needs <= {"source", "reference"}


def perturbed(text: str, seed: int = 0, tell: Tell = quiet) -> list[Tried]:
    """Every perturbation of the registry tried on one text."""
    found = []
    for k, name in enumerate(registry.PERTURBATIONS):
        tell(k / len(registry.PERTURBATIONS))
        perturbation = registry.load(name)
        found.append(Tried(perturbation, perturbation.perturb(text, seed)))
    return found


def scale_of(metric: Metric) -> Range | None:
    """The frozen range that changes are shown in parts of, None where there is none."""
    try:
        return ranges.of(metric)
    except UserError:
        return None


def reactions(
    texts: Texts, metrics: Sequence[Metric], tell: Tell = quiet, scores: Memory | None = None
) -> list[Reaction]:
    """How each metric reacts to the change, in the order of the metrics. What is in `scores` is not scored again."""
    answered = answer([texts.case()], metrics, telling(tell), scores)
    return [_reaction(metric, a, 0) for metric, a in zip(metrics, answered, strict=True)]


def sweep(
    source: str | None,
    reference: str | None,
    good: str,
    metrics: Sequence[Metric],
    seed: int = 0,
    tell: Tell = quiet,
    scores: Memory | None = None,
) -> list[Tried]:
    """Every perturbation of one output, scored where it applies: the perturbations that refuse have no reactions. What is in
    `scores` is not scored again."""
    tried = perturbed(good, seed)
    made = [t for t in tried if isinstance(t.outcome, Change)]
    cases = [
        Texts(source, reference, good, t.outcome.text).case(t.phenomenon) for t in made if isinstance(t.outcome, Change)
    ]
    answered = answer(cases, metrics, telling(tell), scores)
    scored = {
        t.perturbation.name: tuple(_reaction(m, a, i) for m, a in zip(metrics, answered, strict=True))
        for i, t in enumerate(made)
    }
    return [t._replace(reactions=scored.get(t.perturbation.name, ())) for t in tried]


def _reaction(metric: Metric, answered: Answered, at: int) -> Reaction:
    good, changed = answered.good[at], answered.bad[at]
    margin = answered.margins()[at]
    if np.isnan(margin):
        lost = good if good.value is None else changed
        return Reaction(metric.spec, answered.signature, good, changed, None, None, None, lost.reason or lost.status)
    scale = scale_of(metric)
    share = None if scale is None else -float(margin) / (scale.high - scale.low) + 0.0  # no −0
    change = 0.0 if margin == 0 else -float(margin)
    return Reaction(metric.spec, answered.signature, good, changed, change, share, bool(margin <= 0), "")


def telling(tell: Tell) -> OnProgress:
    """What scoring may report to: the share of all items that is done."""

    def hear(doing: Doing) -> bool:
        tell(doing.done / doing.total if doing.total else 1.0)
        return True

    return hear


def changes(good: str, changed: str) -> str:
    """What was changed, in words: “5 → 9; + not; − old”."""
    pieces, said, k = diff(good, changed), [], 0
    while k < len(pieces):
        kind, text = pieces[k]
        if kind == "delete" and k + 1 < len(pieces) and pieces[k + 1].kind == "insert":
            said.append(f"{text.strip()} → {pieces[k + 1].text.strip()}")
            k += 1
        elif kind != "same":
            said.append(f"{'−' if kind == 'delete' else '+'} {text.strip()}")
        k += 1
    return "; ".join(said)
