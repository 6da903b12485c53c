"""A stress test from gold texts to a report (He et al. 2023, sections 2 and 5.5.1, appendix I).

Every gold text is noised by every test, at every level, under every seed; source and references stay. Each different text is scored
once a metric. What is compared is in `noised`, what is tested and how it is judged in `verdict`.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from core.data import Item
from core.errors import UserError
from core.formats.problems import counted
from core.metrics import registry as metric_registry
from core.metrics.base import Metric
from core.services.lab.cells import Table, cell
from core.services.lab.gold import REFERENCE, Gold
from core.services.lab.making import makers
from core.services.lab.noised import Noised, expanded, noised, work
from core.services.lab.report import Cell, MetricFacts, Report
from core.services.lab.scores import Cache, Run, Work, among, keyed, score
from core.services.scoring import OnProgress, keep_going
from core.stress import registry
from core.stress.noise.base import Noise

BUNDLED = "bundled/"
FEWEST_DRAWS = 100
"""Below it no p-value after Holm's correction, and no end of an interval, means anything."""


class Asked(NamedTuple):
    """What to run. `gold` and `data` describe the texts for the reader; `tests` are names or groups (`noised.expanded`), `metrics`
    expressions. Seeds are `seed`, `seed + 1`, … (`seeds` of them); `seed` also draws the bootstrap, `draws` times.
    `left_out` counts the texts that are missing or blank (`gold.left_out`), for the notes."""

    name: str
    gold: str
    data: str
    tests: tuple[str, ...]
    metrics: tuple[str, ...]
    seed: int = 0
    seeds: int = 5
    draws: int = 1000
    left_out: int = 0


def run(
    golds: Sequence[Gold],
    asked: Asked,
    cache: Cache,
    on_progress: OnProgress = keep_going,
    *,
    noises: Sequence[Noise] | None = None,
    metrics: Sequence[Metric] | None = None,
    workers: int = 1,
) -> Report:
    """Run tests over gold texts and judge every metric under each of them.

    What `cache` knows is not scored again, so a run that was broken off goes on. `noises` and `metrics` are used instead of those
    of the registries, where given; texts are made, and metrics that ask no model score, in `workers` processes. Raises `Cancelled`, and `UserError` for
    unknown names, no gold texts, or when no metric scored anything.
    """
    if not golds:
        raise UserError("there is no gold text", where="gold", hint="Name references, or a system that wrote something")
    checked(asked)
    tests = list(noises) if noises is not None else registry.noises(expanded(asked.tests))
    chosen = [among(m, golds) for m in (metrics if metrics is not None else metric_registry.chosen(asked.metrics))]
    if not tests or not chosen:
        raise UserError("nothing was chosen", got=f"{len(tests)} tests and {len(chosen)} metrics")
    jobs = [work(test, golds, asked.seeds) for test in tests]
    doing = Work(on_progress, sum(jobs), len(chosen))
    made: list[Noised] = []
    with makers(golds, workers) as make:
        for test, job in zip(tests, jobs, strict=True):
            made.append(noised(test, golds, asked.seed, asked.seeds, doing.making(job, test.label), make))
            doing.done += job
    items: dict[str, Item] = {}
    tables = [Table(m, keyed(m.items(golds), items)) for m in made]
    known = sum(len(cache.known(m.signature(), items.keys())) for m in chosen)
    pure = {key for t in tables for key in t.keys[:: 1 + len(t.noised.noise.levels) * len(t.noised.seeds)]}
    runs = score(items, chosen, cache, doing, workers, pure)
    cells = tuple(_cells(tables, golds, runs, cache, asked))
    if not any(c.texts for c in cells) and any(t.noised.compared for t in tables):
        raise UserError("no metric scored a single text", got=next((c.why for c in cells), ""))
    return Report(
        asked.name, datetime.now(UTC).isoformat(timespec="seconds"), asked.gold, asked.data, len(golds), asked.seed, asked.seeds,
        asked.draws, tuple(m.facts for m in made), tuple(map(_facts, runs)), cells,
        tuple(_notes(golds, asked, made, runs, known, len(items) * len(chosen))),
    )  # fmt: skip


def checked(asked: Asked) -> None:
    """Raises UserError for a number of seeds or draws, or a seed, that cannot be used."""
    if asked.seeds < 1:
        raise UserError("a test is drawn at least once", where="seeds", got=str(asked.seeds), expected="1 or more")
    if asked.seed < 0:
        raise UserError("seeds are counted from 0", where="seed", got=str(asked.seed), expected="0 or more")
    if asked.draws < FEWEST_DRAWS:
        raise UserError(
            "so few draws of the bootstrap show nothing", where="draws", got=str(asked.draws), expected=f"{FEWEST_DRAWS} or more"
        )  # fmt: skip


def _cells(
    tables: Sequence[Table], golds: Sequence[Gold], runs: Sequence[Run], cache: Cache, asked: Asked
) -> Iterator[Cell]:
    for table in tables:
        for done in runs:
            yield cell(table, golds, done.metric, cache.values, asked.seed, asked.draws)


def _facts(run: Run) -> MetricFacts:
    spec, signature = run.metric.spec, run.metric.signature()
    return MetricFacts(spec.name, spec.label, signature, spec.higher_is_better, BUNDLED in signature, run.seconds)


def _notes(
    golds: Sequence[Gold], asked: Asked, made: Sequence[Noised], runs: Sequence[Run], known: int, all_scores: int
) -> Iterator[str]:
    if n := asked.left_out:
        what = "first reference" if asked.gold == REFERENCE else f"text of {asked.gold}"
        yield f"{n} {'segment is' if n == 1 else 'segments are'} left out: the {what} is blank or missing."
    alone = sum(not g.item.references for g in golds)
    if alone:
        why = "the first reference is the gold text" if asked.gold == REFERENCE else "their segments have no reference"
        yield (
            f"{alone} of {len(golds)} gold texts have no reference to be held against ({why}): metrics that need one leave them out."
        )
    for test in made:
        if not test.compared:
            yield f"{test.noise.label}: no text could be noised."
        for level, texts in zip(test.noise.levels, test.texts, strict=True):
            if test.compared and not _changed(test, golds, texts):
                yield f"{test.noise.label}: no text was changed at {level.label}, which is not judged."
    for one in runs:
        if one.failed:
            yield f"{one.metric.spec.label}: {counted(one.failed, 'text')} not scored: {one.reason}"
    if known:
        yield f"{known:,} of {all_scores:,} scores were known from an earlier run; the seconds of metrics count the others."
    yield f"Python {platform.python_version()}, NumPy {np.__version__}."


def _changed(test: Noised, golds: Sequence[Gold], seeds: Sequence[Sequence[str]]) -> bool:
    return any(t != golds[at].item.hypothesis for texts in seeds for at, t in zip(test.compared, texts, strict=True))
