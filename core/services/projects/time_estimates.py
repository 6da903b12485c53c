"""How long scoring takes on this machine, and which partly scored metrics can be finished."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from core.data import Dataset, Item, SegmentKey
from core.errors import UserError
from core.formatting import format_duration
from core.metrics import base, registry
from core.metrics.base import JudgeCost, Metric
from core.ports.store import Store
from core.scoring.dataset import FIRST_CHUNK, for_dataset
from core.scoring.timing import ENOUGH, model_of, seconds_per_unit, similar, size_of
from core.services.projects.view import Column, View
from core.signature import content_key

LONG_SECONDS = 600.0
"""A job that takes longer scores what is on the screen, or a sample, first."""
TOO_LONG_SECONDS = 3600.0
"""A default metric that takes longer is not chosen at first."""
SAMPLE_SEED = 0


class OpenOutputs(NamedTuple):
    """The outputs that a metric has not scored, with their sizes, and the seconds per unit of size if they are known.

    `measured` is the number of outputs that the speed was measured on, `n` that of all distinct outputs. If they are a sample, `scale` is the number of outputs that each of them stands for.
    """

    metric: str
    label: str
    sizes: Mapping[str, int]
    speed: float | None
    measured: int = 0
    n: int = 0
    scale: float = 1.0
    asks_judge: bool = False

    @property
    def total(self) -> int:
        """Return the number of distinct outputs, scored or not."""
        return round(self.scale * self.n)

    @property
    def left(self) -> int:
        return round(self.scale * len(self.sizes))

    @property
    def rough(self) -> bool:
        """Return whether the time is known from a few outputs only."""
        return self.speed is not None and bool(self.sizes) and self.measured < ENOUGH

    @property
    def timed(self) -> bool:
        """Return whether the time is known, too short to measure, or that of a judge, which is asked nothing only for its time."""
        return self.speed is not None or len(self.sizes) <= FIRST_CHUNK or self.asks_judge

    def seconds(self) -> float | None:
        """Return the estimated time for the open outputs; None if it is not known."""
        size = self.scale * sum(self.sizes.values())
        return self.speed * size if self.speed is not None else None if size else 0.0


def distinct_outputs(dataset: Dataset) -> dict[str, Item]:
    """Return the outputs of a dataset by content key: equal outputs count once."""
    return {content_key(*item): item for _, item in dataset.items()}


def open_outputs(
    store: Store, outputs: Mapping[str, Item], metrics: Iterable[Metric], scale: float = 1.0
) -> list[OpenOutputs]:
    """Return what each metric (fitted on the dataset) has not scored yet. Each output stands for `scale` of them."""
    unscored = []
    of_needs: dict[frozenset[str], dict[str, int]] = {}
    for metric in metrics:
        spec, signature = metric.spec, metric.signature()
        needs = frozenset(spec.needs & {"source", "reference"})
        if needs not in of_needs:
            of_needs[needs] = {key: size_of(item, spec) for key, item in outputs.items()}
        sizes = of_needs[needs]
        known = store.scores.known(signature, sizes.keys())
        timings = store.timings.of(spec.name, model_of(signature))
        length = sum(sizes.values()) / max(1, len(sizes))
        measured = sum(t.n for t in similar(timings, length))
        left = {k: n for k, n in sizes.items() if k not in known}
        speed, judge = seconds_per_unit(timings, length), metric.judge is not None
        unscored.append(OpenOutputs(spec.name, spec.label, left, speed, measured, len(sizes), scale, judge))
    return unscored


def total_seconds(metrics: Iterable[OpenOutputs]) -> float | None:
    """Return the time of all metrics together; None if that of one is not known."""
    seconds = [metric.seconds() for metric in metrics]
    known = [s for s in seconds if s is not None]
    return sum(known) if len(known) == len(seconds) else None


def in_words(metrics: Sequence[OpenOutputs]) -> str:
    """Return the total and what takes longest: "about 1 h 20 min (BARTScore++ 1 h, 3 others 12 min)"; "" if not known."""
    total = total_seconds(metrics)
    if total is None:
        return ""
    slowest = sorted(metrics, key=lambda m: -(m.seconds() or 0.0))
    named = [m for m in slowest[:3] if (m.seconds() or 0.0) > max(1.0, total / 20)]
    parts = [f"{m.label} {format_duration(m.seconds() or 0.0)}" for m in named]
    others = [m for m in slowest if m not in named]
    rest = total_seconds(others)
    if parts and others and rest:
        parts.append(f"{len(others)} other{'s' * (len(others) > 1)} {format_duration(rest)}")
    return f"about {format_duration(total)}" + (f" ({', '.join(parts)})" if len(parts) > 1 else "")


def sample_of(keys: Sequence[SegmentKey], n: int) -> list[SegmentKey]:
    """Return `n` random segments in their order; a larger sample contains the smaller ones."""
    drawn = set(random.Random(SAMPLE_SEED).sample(keys, len(keys))[:n])
    return [key for key in keys if key in drawn]


def start(
    store: Store, project_id: int, metrics: Sequence[str], segments: Sequence[SegmentKey] = (),
    first: Sequence[SegmentKey] = (),
) -> None:  # fmt: skip
    """Queue the scoring of `segments` (or all); without `segments`, those in `first` come before the others."""
    if first and not segments:
        store.jobs.enqueue(project_id, metrics, first)
    store.jobs.enqueue(project_id, metrics, segments)


class JudgeEstimate(NamedTuple):
    """What the open outputs of a metric take of its judge, which is on this machine if `is_local`."""

    label: str
    is_local: bool
    cost: JudgeCost

    def sentence(self) -> str:
        return self.cost.sentence(self.label)


def judge_estimates(
    outputs: Mapping[str, Item], opened: Iterable[OpenOutputs], metrics: Iterable[Metric]
) -> list[JudgeEstimate]:
    """Return what each metric that asks a judge takes for its open outputs. Raises `UserError` if a judge is not ready."""
    by_name = {metric.spec.name: metric.judge for metric in metrics if metric.judge is not None}
    estimates = []
    for one in opened:
        judge = by_name.get(one.metric)
        if judge is not None and one.sizes:
            cost = judge.cost([outputs[key] for key in one.sizes])
            scaled = JudgeCost(*(None if part is None else part * one.scale for part in cost))  # type: ignore[arg-type]
            estimates.append(JudgeEstimate(one.label, judge.is_local, scaled))
    return estimates


class Finishable(NamedTuple):
    """`metrics` are expressions whose missing outputs a scoring job can compute; `others` are (label, reason)."""

    metrics: tuple[str, ...]
    others: tuple[tuple[str, str], ...]


def finishable(dataset: Dataset, columns: Iterable[Column]) -> Finishable:
    """Return which columns can be continued: those that would get the same signature on this machine."""
    metrics, others = list[str](), list[tuple[str, str]]()
    for column in columns:
        if column.labelled:
            others.append((column.label, "label the other outputs on Annotate"))
            continue
        if base.is_external(column.metric):
            others.append((column.label, "import the missing scores"))
            continue
        try:
            signed = for_dataset(registry.load_metric(column.metric), dataset).signature()
        except (UserError, ImportError) as error:
            others.append((column.label, str(error)))
            continue
        if signed == column.signature:
            metrics.append(column.metric)
        else:
            others.append((column.label, "scored with another model or version; compute it again"))
    return Finishable(tuple(metrics), tuple(others))


def incomplete(view: View, names: Collection[str] = ()) -> list[tuple[Column, int]]:
    """Return the metrics (of `names`, or all) that lack results of outputs, with the number of outputs that have one."""
    columns = [c for c in view.columns if not c.human and (not names or c.name in names)]
    counted = [(c, view.table(c.name).n) for c in columns]
    return [(c, n) for c, n in counted if n < view.index.n_outputs]
