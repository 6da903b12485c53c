"""Plan a job: find what is not scored yet, measure metrics whose speed is not known, and cut the outputs into chunks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from core.data import Dataset, Item, Output, Segment, SegmentKey, grouped
from core.errors import UserError
from core.metrics.base import Metric
from core.ports.jobs import Chunk, Job, OutputWindow, PlannedChunk, PlannedMetric
from core.ports.store import Store
from core.scoring.dataset import Claim, score_dataset
from core.scoring.ready_metrics import Stream, examples_of, for_project
from core.scoring.timing import model_of, seconds_per_unit, sizes_of, spread
from core.scoring.turns import split_into_chunks
from core.scoring.values import InMemoryScores, OnScoring

log = logging.getLogger("errorscope.worker")

Load = Callable[[str], Metric]
SAMPLE = 2000
"""Outputs from which those are taken that are timed."""
LOOKED_UP = 20_000
"""Outputs that are looked up in the scores at a time."""
EXAMPLES = 200
"""Most pairs of project and metric whose example outputs a worker keeps."""

KnownExamples = dict[tuple[int, int, str], tuple[int, ...]]
"""The ids of the example outputs by project id, number of the last import and metric name."""


class Planner(NamedTuple):
    """How to plan: `load` returns a metric by name, `check` raises `Cancelled` if the worker must stop.

    `examples` are those of projects that this worker has planned before, so that a job for one segment does not read all texts again.
    """

    store: Store
    worker: str
    load: Load
    check: Callable[[], None]
    on_scoring: OnScoring
    claim: Claim
    examples: KnownExamples

    def run(self, chunk: Chunk) -> None:
        """Run a chunk that plans. Raises `Cancelled` if `check` does, and `UserError` if the project is gone."""
        job, window = self.store.jobs.get(chunk.job_id), self.store.chunks.window(chunk)
        planned = self.store.chunks.metrics(job.id) if chunk.after else self._prepared(job, window)
        if job.timing:
            self.store.chunks.plan(chunk, self.worker, window._replace(total=1), planned, (), {})
            return
        chunks, known = list[PlannedChunk](), dict[str, int]()
        for metric in planned:
            if not metric.unusable:
                known_keys = self._known(metric.signature, window.keys)
                known[metric.name] = len(known_keys)
                chunks += self._cut(metric, window, known_keys)
        self.store.chunks.plan(chunk, self.worker, window, planned, chunks, known)

    def _prepared(self, job: Job, window: OutputWindow) -> list[PlannedMetric]:
        """Return the metrics of a job, fitted and timed."""
        metrics, unusable = self._loaded(job.metrics)
        stream = self.stream(job.project_id)
        examples = self._examples(job, window, metrics)
        texts = self.store.chunks.items([number for numbers in examples for number in numbers])
        fitted = {
            name: for_project(metric, stream, [texts[i] for i in numbers if i in texts])
            for (name, metric), numbers in zip(metrics.items(), examples, strict=True)
        }
        self._time(job, window, fitted)
        planned = []
        for (name, metric), numbers in zip(fitted.items(), examples, strict=True):
            signature, length = (
                metric.signature(),
                float(np.mean(sizes_of(window, metric.spec))) if window.keys else 0.0,
            )
            speed = seconds_per_unit(self.store.timings.of(metric.spec.name, model_of(signature)), length)
            planned.append(PlannedMetric(name, metric.spec.label, signature, "", numbers, speed, length))
        return [*planned, *(PlannedMetric(name, name, "", reason) for name, reason in unusable.items())]

    def _examples(self, job: Job, window: OutputWindow, metrics: dict[str, Metric]) -> list[tuple[int, ...]]:
        keys = {name: (job.project_id, window.version, name) for name in metrics}
        new = [name for name, key in keys.items() if key not in self.examples]
        examples = examples_of([metrics[name] for name in new], self.stream(job.project_id))
        known = {keys[name]: self.examples[keys[name]] for name in metrics if name not in new}
        known |= {keys[name]: numbers for name, numbers in zip(new, examples, strict=True)}
        self.examples.update(known)
        while len(self.examples) > EXAMPLES:
            self.examples.pop(next(iter(self.examples)))
        return [known[key] for key in keys.values()]

    def _loaded(self, names: Sequence[str]) -> tuple[dict[str, Metric], dict[str, str]]:
        """Return the metrics that can run, and the reasons why others cannot."""
        metrics, unusable = dict[str, Metric](), dict[str, str]()
        for name in names:
            try:
                metric = self.load(name)
                metric.signature()
                metrics[name] = metric
            except UserError as error:
                unusable[name] = str(error)
            except Exception as error:
                log.exception("%s cannot be loaded", name)
                unusable[name] = f"cannot be loaded ({type(error).__name__}); see worker.log"
        return metrics, unusable

    def stream(self, project_id: int) -> Stream:
        """Return the stream of a project's texts, which `check` can stop."""

        def checked() -> Iterator[list[tuple[int, SegmentKey, Item]]]:
            for part in self.store.chunks.stream(project_id):
                self.check()
                yield part

        return checked

    def _time(self, job: Job, window: OutputWindow, metrics: dict[str, Metric]) -> None:
        """Measure metrics whose speed is not known on a sample. Its scores are kept, unless the job is for timing only.

        Judges are not measured: nothing is asked only for its time.
        """
        measured = {name: metric for name, metric in metrics.items() if metric.judge is None}
        unknown = [
            metric
            for metric in measured.values()
            if seconds_per_unit(
                self.store.timings.of(metric.spec.name, model_of(metric.signature())),
                float(np.mean(sizes_of(window, metric.spec))) if window.keys else 0.0,
            )
            is None
        ]
        if not unknown and not job.timing:
            return
        sample, timings = self._sample(window), self.store.timings
        if job.timing:  # half a score is worse than none
            metric_list = list(measured.values())
            score_dataset(sample, metric_list, InMemoryScores(), self.on_scoring, timings=timings, only_time=True)
        else:
            scores = self.store.scores
            score_dataset(sample, unknown, scores, self.on_scoring, claim=self.claim, timings=timings, only_time=True)

    def _sample(self, window: OutputWindow) -> Dataset:
        """Return outputs of all lengths, those of a segment together, because some metrics read a reference once for all."""
        of_segment = grouped(zip(window.segments.tolist(), range(len(window.keys)), strict=True))
        by_length = sorted(of_segment.values(), key=lambda at: float(np.mean(window.hypothesis[at])))
        chosen = list[int]()
        for positions in spread(by_length):
            if len(chosen) >= SAMPLE:
                break
            chosen += positions
        texts = self.store.chunks.items(window.ids[chosen].tolist())
        together = grouped(((item.source, item.references), item.hypothesis) for item in texts.values())
        return Dataset(
            tuple(Segment("", str(i), *anchor) for i, anchor in enumerate(together)),
            tuple(Output(str(k), "", str(i), t) for i, of in enumerate(together.values()) for k, t in enumerate(of)),
        )

    def _known(self, signature: str, keys: Sequence[str]) -> set[str]:
        known_keys = set[str]()
        for start in range(0, len(keys), LOOKED_UP):
            self.check()
            known_keys |= self.store.scores.known(signature, keys[start : start + LOOKED_UP])
        return known_keys

    def _cut(self, metric: PlannedMetric, window: OutputWindow, known: set[str]) -> list[PlannedChunk]:
        open_ones = np.array([key not in known for key in window.keys], dtype=bool)
        ids, sizes = window.ids[open_ones], sizes_of(window, self.load(metric.name).spec)[open_ones]
        cuts = split_into_chunks(sizes, window.segments[open_ones], metric.speed)
        return [PlannedChunk(metric.name, ids[at], int(sizes[at].sum())) for at in cuts]
