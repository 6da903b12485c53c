"""Five failures of metrics on the sample project. Text, noise and metric are fixed; the scores are computed."""

from __future__ import annotations

from typing import NamedTuple

from core.data import Item, SegmentKey
from core.errors import UserError
from core.metrics import registry
from core.metrics.base import Metric
from core.perturbations import registry as noises
from core.perturbations.noise.base import NoiseContext
from core.progress import no_progress
from core.scoring.dataset import values_of
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
    """The result: both texts and their scores. The metric is fooled if the noised text scores at least as well."""

    stop: TourExample
    label: str
    texts: TextPair
    signature: str
    higher_is_better: bool
    good: float
    spoilt: float

    @property
    def fooled(self) -> bool:
        return self.spoilt >= self.good if self.higher_is_better else self.spoilt <= self.good


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
        "Places swapped",
        "The names in the text swap positions, which changes the meaning. The entailment model misses it.",
        "Meridian", SegmentKey("de-night-train", "1"), "entity-switching", 1.0, "nli",
    ),
)  # fmt: skip


def shown(stop: TourExample) -> TourResult:
    """Apply the noise and score both texts. Raises `UserError` if the metric is not available or the noise refuses."""
    item = _item(stop)
    noise, metric = noises.noise(stop.noise), registry.load(stop.metric)
    outcome = noise.noised(item.hypothesis, stop.strength, stop.seed, NoiseContext(item.source, (item.hypothesis,)))
    if not isinstance(outcome, Change):
        raise UserError("the noise does not apply to this text", where=noise.label, got=outcome.reason)
    good, spoilt = _scores(metric, [item, item._replace(hypothesis=outcome.text)])
    texts = TextPair(item.source, next(iter(item.references), None), item.hypothesis, outcome.text)
    return TourResult(stop, metric.spec.label, texts, metric.signature(), metric.spec.higher_is_better, good, spoilt)


def _item(stop: TourExample) -> Item:
    found = dict(sample.dataset().items())
    item = next(i for key, i in found.items() if (key.system, key.segment) == (stop.system, stop.segment))
    return item._replace(references=item.references[:1])


def _scores(metric: Metric, items: list[Item]) -> list[float]:
    found = values_of(metric, items, no_progress)
    lost = next((v for v in found if v.value is None), None)
    if lost is not None:
        raise UserError("there is no score", where=metric.spec.label, got=lost.reason or lost.status)
    return [v.value for v in found if v.value is not None]
