"""Five failures to show on the sample project: which text, noise and metric is chosen here; what comes of it is computed."""

from __future__ import annotations

from typing import NamedTuple

from core.data import Item, SegmentKey
from core.errors import UserError
from core.metrics import registry
from core.metrics.base import Metric, no_progress
from core.services import sample
from core.services.robustness import Texts
from core.services.scoring import values_of
from core.stress import registry as noises
from core.stress.base import Change
from core.stress.noise.base import Beside


class Stop(NamedTuple):
    """A failure: the output of a system for a segment of the sample, noised at a level, and the metric that is fooled by it."""

    title: str
    says: str
    system: str
    segment: SegmentKey
    noise: str
    strength: float
    metric: str
    seed: int = 0


class Shown(NamedTuple):
    """What comes of it: both texts, the metric's numbers, and whether it is fooled: the noised text scores at least as well."""

    stop: Stop
    label: str
    texts: Texts
    signature: str
    higher_is_better: bool
    good: float
    spoilt: float

    @property
    def fooled(self) -> bool:
        return self.spoilt >= self.good if self.higher_is_better else self.spoilt <= self.good


STOPS: tuple[Stop, ...] = (
    Stop(
        "Half a sentence",
        "Half of the output is cut off, and BARTScore’s precision rises: it asks how likely the words that are left are, and never misses any.",
        "Meridian", SegmentKey("ar-school-garden", "5"), "truncation", 0.5, "bartscore-p",
    ),
    Stop(
        "The same end thirty times",
        "The last four words again and again: each round is easier to foresee than the one before, and the mean over all words rises.",
        "Meridian", SegmentKey("ar-mobile-clinic", "1"), "repetition", 30, "bartscore-faithfulness",
    ),
    Stop(
        "No translation at all",
        "The source itself is handed in: nothing is more likely, given the source.",
        "Meridian", SegmentKey("de-night-train", "2"), "copy-source", 1, "bartscore-faithfulness",
    ),
    Stop(
        "The halves exchanged",
        "The sentence begins with its second half. ROUGE-1 counts words wherever they stand: not one number moves.",
        "Meridian", SegmentKey("de-town-council", "1"), "middle-swap", 1.0, "rouge1",
    ),
    Stop(
        "The places exchanged",
        "The names of the text change places, so that it says something else. An entailment model looks past it.",
        "Meridian", SegmentKey("de-night-train", "1"), "entity-switching", 1.0, "nli",
    ),
)  # fmt: skip


def shown(stop: Stop) -> Shown:
    """Noise the text and score both. Raises UserError where the metric cannot run here, or the noise refuses."""
    item = _item(stop)
    noise, metric = noises.noise(stop.noise), registry.load(stop.metric)
    outcome = noise.noised(item.hypothesis, stop.strength, stop.seed, Beside(item.source, (item.hypothesis,)))
    if not isinstance(outcome, Change):
        raise UserError("this text cannot be spoilt", where=noise.label, got=outcome.reason)
    good, spoilt = _scores(metric, [item, item._replace(hypothesis=outcome.text)])
    texts = Texts(item.source, next(iter(item.references), None), item.hypothesis, outcome.text)
    return Shown(stop, metric.spec.label, texts, metric.signature(), metric.spec.higher_is_better, good, spoilt)


def _item(stop: Stop) -> Item:
    found = dict(sample.dataset().items())
    item = next(i for key, i in found.items() if (key.system, key.segment) == (stop.system, stop.segment))
    return item._replace(references=item.references[:1])


def _scores(metric: Metric, items: list[Item]) -> list[float]:
    found = values_of(metric, items, no_progress)
    lost = next((v for v in found if v.value is None), None)
    if lost is not None:
        raise UserError("there is no score", where=metric.spec.label, got=lost.reason or lost.status)
    return [v.value for v in found if v.value is not None]
