"""Attack a metric greedily (He et al. 2023, appendix J): degrade a text while its score stays as good as possible.

Each step tries to delete every word and to replace it by every candidate, and makes the edit with the best score, given the source and
the original text as the reference. This repeats until the noise ratio reaches a bound. Two choices are not in the paper: an edit must
raise the noise ratio (otherwise the best edit could undo the last one), and among equal scores the first in the text is taken, deletions
before replacements. Nothing is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from core.data import Item, Value
from core.errors import UserError
from core.metrics import registry
from core.metrics.base import Metric, MetricSpec
from core.perturbations import candidates
from core.perturbations.base import noise_ratio
from core.perturbations.candidates import Neighbours, Proposer, WordPlace
from core.processes import host
from core.progress import Progress, no_progress
from core.scoring.values import values_of
from core.signature import signature
from core.text.edits import Edit, apply
from core.text.words import words

VERSION = 2
BOUND, EXPECTED, NEAR = 0.15, 8, 8


class AttackStep(NamedTuple):
    """One edit: `old` at code point `start` of the previous text is replaced by `new` ("" for a deletion). `text` is the result, with
    its `score` in the metric's unit and its noise ratio."""

    start: int
    old: str
    new: str
    text: str
    score: float
    ratio: float


class Attack(NamedTuple):
    """An attacked text. `before` is the score of the original text against itself, None if undefined. `reason` says why the bound was
    not reached, "" if it was."""

    original: str
    before: float | None
    steps: tuple[AttackStep, ...]
    reason: str

    @property
    def text(self) -> str:
        """The attacked text."""
        return self.steps[-1].text if self.steps else self.original

    @property
    def ratio(self) -> float:
        """The noise ratio of the attacked text, ≥ 0."""
        return self.steps[-1].ratio if self.steps else 0.0


class Shift(NamedTuple):
    """One metric's scores of the gold text and the attacked text. `change` is relative to the absolute gold score, below 0 if the
    attacked text is worse. It is None, with a reason, if a score is missing or the gold score is 0."""

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
    progress: Progress = no_progress,
) -> Attack:
    """Attack one text; the score is maximised, or minimised if lower is better.

    `expected` (k1) and `near` (k2) are the numbers of candidates per word from the masked language model and from word embeddings; either
    may be 0. A metric that needs no reference gets the source only. `progress` is called with the share of the bound that is reached.
    Raises UserError for a bound outside (0, 1] and for negative numbers of candidates.
    """
    if not 0 < bound <= 1:
        raise UserError("invalid bound of the noise ratio", got=f"{bound:g}", expected="a number above 0, at most 1")
    if min(expected, near) < 0:
        raise UserError("negative number of candidates", got=f"{expected} and {near}", expected="0 or more")
    if "source" in metric.spec.needs and source is None:
        return Attack(hypothesis, None, (), f"{metric.spec.label} needs a source text, and this text has none")
    model = candidates.proposer() if expected else None
    if model and (reason := model.refuses(hypothesis)):
        return Attack(hypothesis, None, (), reason)
    nearest = candidates.neighbours() if near else None
    return _Running(hypothesis, source, metric, bound, (expected, near), progress).run(model, nearest)


def attack_metric(
    hypothesis: str, source: str | None, metric: str, bound: float, expected: int, near: int, progress: Progress
) -> Attack:
    """Attack a text as `attack` does, with a metric given by its expression, where models are run (`core.processes.host`)."""
    return host.run(_attack_metric, hypothesis, source, metric, bound, expected, near, progress=progress)


def _attack_metric(
    hypothesis: str, source: str | None, metric: str, bound: float, expected: int, near: int, progress: Progress
) -> Attack:
    loaded = registry.load_metric(metric)
    return attack(hypothesis, source, loaded, bound, expected=expected, near=near, progress=progress)


def signed(metric: Metric, bound: float, expected: int = EXPECTED, near: int = NEAR) -> str:
    """Return the metric's signature followed by that of the attack. Raises UserError if a model is not available."""
    facts = {
        "v": VERSION, "bound": float(bound), "k1": expected, "k2": near,
        "expected": candidates.name_with_revision(candidates.proposer_checkpoint()) if expected else "none",
        "near": candidates.name_with_revision(candidates.embedding()) if near else "none",
    }  # fmt: skip
    return "|".join([metric.signature(), signature("attack", facts)])


class _Running:
    def __init__(
        self, original: str, source: str | None, metric: Metric, bound: float, most: tuple[int, int], progress: Progress
    ) -> None:
        self.original, self.source, self.metric, self.bound, self.progress = original, source, metric, bound, progress
        self.most, self.better = most, 1 if metric.spec.higher_is_better else -1
        self.ratio = 0.0

    def run(self, model: Proposer | None, near: Neighbours | None) -> Attack:
        before = self.scores([self.original])[0]
        if before.value is None:
            return Attack(self.original, None, (), f"the text has no score: {before.reason or before.status}")
        steps: list[AttackStep] = []
        while self.ratio < self.bound:
            step, reason = self.step(steps[-1].text if steps else self.original, model, near)
            if step is None:
                return Attack(self.original, before.value, tuple(steps), reason)
            steps.append(step)
            self.ratio = step.ratio
        self.report()
        return Attack(self.original, before.value, tuple(steps), "")

    def step(self, text: str, model: Proposer | None, near: Neighbours | None) -> tuple[AttackStep | None, str]:
        """Return the best edit of a text, or None and the reason."""
        edits: dict[str, Edit] = {}
        for edit in _edits(text, model, near, self.most):
            edits.setdefault(apply(text, [edit]), edit)
        ratios = {new: noise_ratio(self.original, new) for new in edits}
        allowed = [new for new in edits if ratios[new] > self.ratio]
        if not allowed:
            return None, "no edit is left that raises the noise ratio"
        scored = list(zip(self.scores(allowed), allowed, strict=True))
        usable = [(value.value, new) for value, new in scored if value.value is not None]
        if not usable:
            return None, f"no edited text has a score: {scored[0][0].reason or scored[0][0].status}"
        score, new = max(usable, key=lambda one: self.better * one[0])
        start, end, word = edits[new]
        old = text[start:end].strip()
        return AttackStep(text.index(old, start), old, word, new, score, ratios[new]), ""

    def scores(self, texts: Sequence[str]) -> list[Value]:
        """Score texts with the original text as the reference."""
        references = (self.original,) if "reference" in self.metric.spec.needs else ()
        self.report()
        items = [Item(self.source, text, references) for text in texts]
        return values_of(self.metric, items, lambda _: self.report())

    def report(self) -> None:
        self.progress(min(1.0, self.ratio / self.bound))


def _edits(text: str, model: Proposer | None, near: Neighbours | None, most: tuple[int, int]) -> list[Edit]:
    """Return the edits word by word: its deletion (unless it is the only word), then its replacements."""
    spans = words(text)
    places = [WordPlace(text, start, end) for start, end in spans]
    expected = model.expected(places, most[0]) if model else [[]] * len(spans)
    out: list[Edit] = []
    for (start, end), likely in zip(spans, expected, strict=True):
        if len(spans) > 1:
            out.append(_deletion(text, start, end))
        replacements = [*likely, *(near.near(text[start:end], most[1]) if near else ())]
        out += [Edit(start, end, word) for word in dict.fromkeys(w.text for w in replacements)]
    return out


def _deletion(text: str, start: int, end: int) -> Edit:
    """Delete a word with the white space before it, or after it if there is none before it or only white space."""
    left = len(text[:start].rstrip())
    if 0 < left < start:
        return Edit(left, end, "")
    return Edit(start, len(text) - len(text[end:].lstrip()), "")


def compare(gold: Item, attacked: str, metrics: Sequence[Metric]) -> list[Shift]:
    """Score the attacked text with other metrics, with the references of the gold text (He et al. 2023, Figure 10)."""
    shifts = []
    for metric in metrics:
        values = values_of(metric, [gold, gold._replace(hypothesis=attacked)], no_progress)
        old, new = (v.value for v in values)
        reason = next((v.reason or v.status for v in values if v.value is None), "")
        shifts.append(Shift(metric.spec.name, metric.signature(), old, new, *relative(metric.spec, old, new, reason)))
    return shifts


def relative(
    spec: MetricSpec, gold: float | None, attacked: float | None, reason: str = ""
) -> tuple[float | None, str]:
    """Return the relative change from gold to attacked, below 0 if worse, or None and the reason."""
    if gold is None or attacked is None:
        return None, reason
    if gold == 0:
        return None, "the score of the good text is 0"
    change = (attacked - gold) / abs(gold)
    return (change if spec.higher_is_better or not change else -change), ""
