"""Five failures of metrics on the sample project. Text, noise and metric are fixed; the scores are computed."""

from __future__ import annotations

from typing import NamedTuple

from core.data import OutputKey, SegmentKey
from core.errors import UserError
from core.metrics import registry
from core.perturbations import registry as noises
from core.perturbations.noise.base import NoiseContext
from core.ports.robustness import SavedScore
from core.processes import host
from core.progress import no_progress
from core.scoring.progress import values_of
from core.services.projects import sample
from core.services.robustness.break_metric import TextPair
from core.text.edits import Change


class TourExample(NamedTuple):
    """A failure: an output of the sample, a noise with its strength, and a metric that misses the error."""

    title: str
    says: str
    system: str
    segment: SegmentKey
    noise: str
    strength: float
    metric: str
    seed: int = 0


class TourResult(NamedTuple):
    """The result: both texts and their scores."""

    stop: TourExample
    label: str
    texts: TextPair
    score: SavedScore


STOPS: tuple[TourExample, ...] = (
    TourExample(
        "Half a sentence",
        "Half of the output is cut off, and BARTScore’s precision rises: it measures how likely the remaining words are, not what is missing.",
        "Meridian", SegmentKey("ar-school-garden", "5"), "truncation", 0.5, "bartscore-p",
    ),
    TourExample(
        "Ending repeated 30 times",
        "The last four words are repeated. Each repetition is easier to predict, so the mean over all words rises.",
        "Meridian", SegmentKey("ar-mobile-clinic", "1"), "repetition", 30, "bartscore-faithfulness",
    ),
    TourExample(
        "No translation at all",
        "The output is a copy of the source. Given the source, the model finds no text more likely.",
        "Meridian", SegmentKey("de-night-train", "2"), "copy-source", 1, "bartscore-faithfulness",
    ),
    TourExample(
        "Halves swapped",
        "The sentence begins with its second half. ROUGE-1 ignores word order, so its score does not change.",
        "Meridian", SegmentKey("de-town-council", "1"), "middle-swap", 1.0, "rouge1",
    ),
    TourExample(
        "Verbs swapped",
        "“Not to close but to renovate” becomes “not to renovate but to close”, the opposite. The entailment model misses the error: the changed text scores higher.",
        "Meridian", SegmentKey("de-town-council", "1"), "verb-switching", 1.0, "nli",
    ),
)  # fmt: skip


def shown(stop: TourExample) -> TourResult:
    """Apply the noise and score both texts, where models are run (`core.processes.host`).

    Raises `UserError` if the metric is not available or the noise refuses.
    """
    return host.run(_shown, stop)


def _shown(stop: TourExample) -> TourResult:
    item = dict(sample.dataset().items())[OutputKey(stop.system, *stop.segment)]
    item = item._replace(references=item.references[:1])
    noise, metric = noises.noise(stop.noise), registry.load_metric(stop.metric)
    outcome = noise.noised(item.hypothesis, stop.strength, stop.seed, NoiseContext(item.source, (item.hypothesis,)))
    if not isinstance(outcome, Change):
        raise UserError("the noise does not apply to this text", where=noise.label, got=outcome.reason)
    values = values_of(metric, [item, item._replace(hypothesis=outcome.text)], no_progress)
    if lost := next((v for v in values if v.value is None), None):
        raise UserError("there is no score", where=metric.spec.label, got=lost.reason or lost.status)
    texts = TextPair(item.source, next(iter(item.references), None), item.hypothesis, outcome.text)
    good, changed = (v.value for v in values)
    score = SavedScore(stop.metric, metric.signature(), metric.spec.higher_is_better, good, changed)
    return TourResult(stop, metric.spec.label, texts, score)
