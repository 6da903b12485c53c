"""Run stress tests on gold texts and return a report (He et al. 2023, sections 2 and 5.5.1, appendix I).

Every test noises every gold text at every level with every seed; source and references stay the same. Each distinct text is scored
once per metric. `texts` defines which texts are compared, `verdict` how the scores are tested.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from core.data import Dataset, Item, Output, Segment, SegmentKey, Value
from core.errors import UserError
from core.formatting import format_count
from core.metrics import registry as metric_registry
from core.metrics.base import Metric
from core.perturbations import registry
from core.perturbations.base import Noise
from core.ports.scores import Timing
from core.progress import Progress
from core.robustness.stress.report import MetricFacts, Report
from core.robustness.stress.texts import REFERENCE, Gold, Noised, expanded, makers, noised, work
from core.robustness.stress.verdict import KeyedTexts, cell
from core.scoring.dataset import ScoringResult, score_dataset
from core.scoring.values import OnScoring, ScoreCache, ScoringProgress
from core.signature import content_key


class RunProgress:
    """Progress of making and scoring texts. Passes on `Cancelled` from `on_scoring`.

    `done` and `total` count texts made and scored; until all texts are made, `total` is an upper bound.
    """

    def __init__(self, on_scoring: OnScoring | None, texts: int, metrics: int) -> None:
        self.on_scoring, self.total, self.done, self.shown = on_scoring, texts * (1 + metrics), 0, 0

    def report(self, done: int, what: str, part: int, parts: int, seconds_left: float | None = None) -> None:
        done = self.shown = max(done, self.shown)  # texts of a chunk that failed are counted twice
        if self.on_scoring is not None:
            self.on_scoring(ScoringProgress(done, max(done, self.total), what, part, parts, seconds_left))

    def making(self, parts: int, label: str) -> Progress:
        """Return the callback for making the `parts` texts of a test."""

        def report(share: float) -> None:
            made = round(share * parts)
            self.report(self.done + made, f"Making texts: {label}", made, parts)

        return report


class MetricRun(NamedTuple):
    """A metric after scoring (fitted on the gold texts if it depends on the batch), and its value of each text by content key."""

    metric: Metric
    values: Mapping[str, Value]
    result: ScoringResult


def fitted_on(metric: Metric, golds: Sequence[Gold]) -> Metric:
    """Return the metric fitted on the gold texts, so that its weights do not depend on the noised texts."""
    return metric.for_outputs([(SegmentKey("", str(i)), gold.item) for i, gold in enumerate(golds)])


def keyed(items: Iterable[Item], into: dict[str, Item]) -> list[str]:
    """Return the content keys of items, in order, and add each distinct item to `into`."""
    keys = []
    for item in items:
        key = content_key(*item)
        into.setdefault(key, item)
        keys.append(key)
    return keys


class _NoTimings:
    """Timings of earlier jobs: none is known, so a sample of each metric is scored first, and the time of the run is estimated from it."""

    def of(self, metric: str, model: str) -> list[Timing]:
        return []

    def add(self, metric: str, model: str, timing: Timing) -> None:
        return


def score(
    items: Mapping[str, Item],
    metrics: Sequence[Metric],
    cache: ScoreCache,
    work: RunProgress,
    workers: int = 1,
    detailed: Collection[str] = (),
) -> list[MetricRun]:
    """Score all items with all metrics, except those in the cache; `detail` is kept only for the keys in `detailed`. Raises `Cancelled`."""

    def keep(key: str, value: Value) -> Value:
        return value if value.detail is None or key in detailed else replace(value, detail=None)

    def watch(at: ScoringProgress) -> None:
        work.report(
            work.done + at.done, at.metric, at.metric_done, at.metric_total, at.seconds_left if at.whole else None
        )

    work.total = work.done + len(items) * len(metrics)
    results = score_dataset(_dataset(items), metrics, cache, watch, timings=_NoTimings(), workers=workers, keep=keep)
    return [MetricRun(m, cache.values(r.signature, items.keys()), r) for m, r in zip(metrics, results, strict=True)]


def _dataset(items: Mapping[str, Item]) -> Dataset:
    return Dataset(
        tuple(Segment("", key, item.source, item.references) for key, item in items.items()),
        tuple(Output("noised", "", key, item.hypothesis) for key, item in items.items()),
    )


BUNDLED = "bundled/"
FEWEST_DRAWS = 100
"""With fewer draws, p-values after Holm's correction and CI bounds are meaningless."""


class StressTestRequest(NamedTuple):
    """What to run. `gold` and `data` describe the texts for the reader; `tests` are names or groups (`texts.expanded`), `metrics`
    metric expressions. The seeds are `seed`, `seed + 1`, … (`seeds` of them); `seed` also seeds the bootstrap of `draws` resamples.
    `left_out` counts missing or blank texts (`texts.left_out`), for the notes."""

    name: str
    gold: str
    data: str
    tests: tuple[str, ...]
    metrics: tuple[str, ...]
    seed: int = 0
    seeds: int = 5
    draws: int = 1000
    left_out: int = 0


def run_stress_tests(
    golds: Sequence[Gold],
    asked: StressTestRequest,
    cache: ScoreCache,
    on_scoring: OnScoring | None = None,
    *,
    noises: Sequence[Noise] | None = None,
    metrics: Sequence[Metric] | None = None,
    workers: int = 1,
) -> Report:
    """Run the tests on the gold texts and return a verdict for every test and metric.

    Scores in `cache` are reused, so an interrupted run continues. `noises` and `metrics` replace those of the registries, if given.
    Texts are made, and metrics without a model score, in `workers` processes. Raises `Cancelled`, and `UserError` for unknown names,
    without gold texts, or if no metric scored any text.
    """
    if not golds:
        raise UserError("there are no good texts", where="gold", hint="Choose references, or a system with outputs")
    checked(asked)
    tests = list(noises) if noises is not None else registry.noises(expanded(asked.tests))
    chosen = [fitted_on(m, golds) for m in (metrics if metrics is not None else metric_registry.chosen(asked.metrics))]
    if not tests or not chosen:
        got = f"{len(tests)} tests and {len(chosen)} metrics"
        raise UserError("nothing to run", got=got, expected="at least one of each")
    jobs = [work(test, golds, asked.seeds) for test in tests]
    tracker = RunProgress(on_scoring, sum(jobs), len(chosen))
    made: list[Noised] = []
    with makers(golds, workers) as make:
        for test, job in zip(tests, jobs, strict=True):
            made.append(noised(test, golds, asked.seed, asked.seeds, tracker.making(job, test.label), make))
            tracker.done += job
    items: dict[str, Item] = {}
    tables = [KeyedTexts(m, keyed(m.items(golds), items)) for m in made]
    pure = {key for t in tables for key in t.keys[:: 1 + len(t.noised.noise.levels) * len(t.noised.seeds)]}
    runs = score(items, chosen, cache, tracker, workers, pure)
    cells = tuple(
        cell(table, golds, run.metric, run.values, asked.seed, asked.draws) for table in tables for run in runs
    )
    if not any(c.texts for c in cells) and any(t.noised.compared for t in tables):
        raise UserError("no metric scored any text", got=next((c.why for c in cells), ""))
    return Report(
        asked.name, datetime.now(UTC).isoformat(timespec="seconds"), asked.gold, asked.data, len(golds), asked.seed, asked.seeds,
        asked.draws, tuple(m.facts for m in made), tuple(map(_facts, runs)), cells,
        tuple(_notes(golds, asked, made, runs, len(items) * len(chosen))),
    )  # fmt: skip


def checked(asked: StressTestRequest) -> None:
    """Raise UserError for an invalid seed, number of seeds or number of draws."""
    if asked.seeds < 1:
        raise UserError("too few seeds", where="seeds", got=str(asked.seeds), expected="1 or more")
    if asked.seed < 0:
        raise UserError("invalid seed", where="seed", got=str(asked.seed), expected="0 or more")
    if asked.draws < FEWEST_DRAWS:
        expected = f"{FEWEST_DRAWS} or more"
        raise UserError("too few bootstrap draws", where="draws", got=str(asked.draws), expected=expected)


def _facts(run: MetricRun) -> MetricFacts:
    spec, signature = run.metric.spec, run.metric.signature()
    return MetricFacts(
        spec.name, spec.label, signature, spec.higher_is_better, BUNDLED in signature, run.result.seconds
    )


def _notes(
    golds: Sequence[Gold],
    asked: StressTestRequest,
    made: Sequence[Noised],
    runs: Sequence[MetricRun],
    all_scores: int,
) -> Iterator[str]:
    if n := asked.left_out:
        what = "first reference" if asked.gold == REFERENCE else f"text of {asked.gold}"
        yield f"{n} {'segment is' if n == 1 else 'segments are'} left out: the {what} is blank or missing."
    alone = sum(not g.item.references for g in golds)
    if alone:
        why = "the first reference is the good text" if asked.gold == REFERENCE else "their segments have no reference"
        yield (
            f"{alone} of {len(golds)} good texts have no reference to compare with ({why}): metrics that need one leave them out."
        )
    for test in made:
        if not test.compared:
            yield f"{test.noise.label}: no text could be changed."
        for level, texts in zip(test.noise.levels, test.texts, strict=True):
            if test.compared and not _changed(test, golds, texts):
                yield f"{test.noise.label}: no text was changed at {level.label}; this level is not tested."
    for run in runs:
        if run.result.failed:
            yield f"{run.metric.spec.label}: {format_count(run.result.failed, 'text')} not scored: {run.result.reason}"
    if known := sum(run.result.known for run in runs):
        yield f"{known:,} of {all_scores:,} scores were reused from an earlier run; seconds per metric count only the others."
    yield f"Python {platform.python_version()}, NumPy {np.__version__}."


def _changed(test: Noised, golds: Sequence[Gold], seeds: Sequence[Sequence[str]]) -> bool:
    return any(t != golds[at].item.hypothesis for texts in seeds for at, t in zip(test.compared, texts, strict=True))
