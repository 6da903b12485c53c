"""Try one change of one text, and compare the reactions of all metrics.

A metric misses the error if the changed text scores at least as well as the good one, by the metric's own direction (strict
preference, Chen and Eger 2023, equation 1). It barely notices the error if the score drops by less than `SMALL`: other words for the
same meaning change scores as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.data import Item
from core.errors import UserError
from core.formats.error_cases import AdversarialCase, phenomenon
from core.metrics import ranges
from core.metrics import registry as registry_of_metrics
from core.metrics.base import Metric, MetricSpec
from core.metrics.ranges import Range
from core.perturbations import registry
from core.perturbations.base import Perturbation
from core.ports.robustness import BARELY, MISSES, NOTICES, SavedScore
from core.progress import Progress, no_progress
from core.scoring.values import OnScoring, ScoreCache
from core.services.projects.task import may_preselect
from core.services.robustness.adversarial import Answered, answer
from core.text.edits import Change, Outcome, diff

BY_HAND = "by hand"
QUICK_NEEDS = frozenset({"source", "reference", "seq2seq", "encoder", "nli"})
SLOW = ("bartscore++", "menli")
"""Prefixes of metrics that are slow for one pair of texts."""
SMALL = 0.05
"""Drops below this share of a metric's range are small; without a range, of the absolute score of the good text."""


class TextPair(NamedTuple):
    """A good output and a changed version of it, with a reference, a source, or both."""

    source: str | None
    reference: str | None
    good: str
    changed: str

    def case(self, kind: str = BY_HAND) -> AdversarialCase:
        """Return the texts as a case of the adversarial suites."""
        references = () if self.reference is None else (self.reference,)
        return AdversarialCase(
            kind, "", Item(self.source, self.good, references), Item(self.source, self.changed, references)
        )


class Reaction(NamedTuple):
    """A metric's scores of both texts. `failed`: the metric raised an error, so that a retry may help.

    `share` is the change divided by the metric's frozen range (`core.metrics.ranges`), None without one.
    """

    spec: MetricSpec
    score: SavedScore
    share: float | None
    failed: bool = False

    @property
    def verdict(self) -> str:
        """Return whether the metric notices the error, or why that is unknown."""
        return _verdict(self.score, self.share)


def verdict_of(score: SavedScore) -> str:
    """Return whether a saved score notices the error, or why that is unknown."""
    try:
        declared = registry_of_metrics.load_metric(score.metric).spec.range
        scale = ranges.of_signature(score.signature, declared)
    except UserError:
        scale = None
    return _verdict(score, _share(score, scale))


def _verdict(score: SavedScore, share: float | None) -> str:
    if score.change is None or score.good is None:
        return score.reason
    if score.change >= 0:
        return MISSES
    small = score.change > -SMALL * abs(score.good) if share is None else share > -SMALL
    return BARELY if small else NOTICES


def _share(score: SavedScore, scale: Range | None) -> float | None:
    return None if scale is None or score.change is None else score.change / (scale.high - scale.low)


def by_drop(metric_reactions: Sequence[Reaction]) -> list[Reaction]:
    """Return the reactions by the size of the drop, largest first; those without a range and without a score last."""
    return sorted(metric_reactions, key=lambda r: (r.score.change is None, r.share is None, r.share or 0.0))


class PerturbationTrial(NamedTuple):
    """A perturbation tried on one text: the changed text or the reason for refusal, and the metrics' reactions."""

    perturbation: Perturbation
    outcome: Outcome
    reactions: tuple[Reaction, ...] = ()

    @property
    def phenomenon(self) -> str:
        """Return the name of its phenomenon in the adversarial suites."""
        return phenomenon(self.perturbation.name)


def quick(metric: Metric, languages: Mapping[str, float]) -> bool:
    """Return whether a form may choose a metric at first (`may_preselect`) that is fast for two texts, and scores each independently of the others."""
    fast = metric.spec.needs <= QUICK_NEEDS and not metric.spec.name.startswith(SLOW) and metric.fit is None
    return fast and may_preselect(metric, languages)


def perturbed(text: str, seed: int = 0, progress: Progress = no_progress) -> list[PerturbationTrial]:
    """Try every perturbation of the registry on one text."""
    trials = []
    for k, name in enumerate(registry.PERTURBATIONS):
        progress(k / len(registry.PERTURBATIONS))
        perturbation = registry.load_perturbation(name)
        trials.append(PerturbationTrial(perturbation, perturbation.perturb(text, seed)))
    return trials


def scale_of(metric: Metric) -> Range | None:
    """Return the metric's frozen range, or None."""
    try:
        return ranges.range_of(metric)
    except UserError:
        return None


def reactions(
    texts: TextPair, metrics: Sequence[Metric], progress: Progress = no_progress, scores: ScoreCache | None = None
) -> list[Reaction]:
    """Return each metric's reaction to the change, in order. Existing values in `scores` are reused."""
    answered = answer([texts.case()], metrics, scoring_callback(progress), scores)
    return [_reaction(metric, a, 0) for metric, a in zip(metrics, answered, strict=True)]


def sweep(
    source: str | None,
    reference: str | None,
    good: str,
    metrics: Sequence[Metric],
    seed: int = 0,
    progress: Progress = no_progress,
    scores: ScoreCache | None = None,
) -> list[PerturbationTrial]:
    """Try every perturbation on one output and score the changed texts. Perturbations that refuse have no reactions.

    Existing values in `scores` are reused.
    """
    tried = perturbed(good, seed)
    cases = {
        k: TextPair(source, reference, good, trial.outcome.text).case(trial.phenomenon)
        for k, trial in enumerate(tried)
        if isinstance(trial.outcome, Change)
    }
    answered = answer(list(cases.values()), metrics, scoring_callback(progress), scores)
    for at, k in enumerate(cases):
        scored = tuple(_reaction(m, a, at) for m, a in zip(metrics, answered, strict=True))
        tried[k] = tried[k]._replace(reactions=scored)
    return tried


def _reaction(metric: Metric, answered: Answered, at: int) -> Reaction:
    score, failed = answered.kept(at), "error" in (answered.good[at].status, answered.bad[at].status)
    return Reaction(metric.spec, score, _share(score, scale_of(metric)), failed)


def scoring_callback(progress: Progress) -> OnScoring:
    """Return a callback for scoring that reports the share of items done."""
    return lambda at: progress(at.done / at.total if at.total else 1.0)


def changes(good: str, changed: str) -> str:
    """Return a description of the change: “5 → 9; + not; − old”."""
    pieces, said = diff(good, changed), list[str]()
    for before, (kind, text) in zip((None, *pieces), pieces, strict=False):
        if before and (before.kind, kind) == ("delete", "insert"):
            said[-1] = f"{before.text.strip()} → {text.strip()}"
        elif kind != "same":
            said.append(f"{'−' if kind == 'delete' else '+'} {text.strip()}")
    return "; ".join(said)
