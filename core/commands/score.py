"""`score`: score outputs in files, with the same code as the pages but without a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated

import typer

from core.commands.options import Columns, Files, Out, Workers, chosen, read_texts
from core.commands.progress import print_note, show_scoring
from core.commands.set_score import set_score
from core.data import Dataset, OutputKey, Score, Value
from core.errors import UserError
from core.formats import output
from core.formats.write import scores_csv, scores_jsonl
from core.metrics.base import Metric
from core.scoring.dataset import Memory, for_dataset, score_dataset
from core.scoring.pool import processes
from core.services.projects.references import with_references
from core.signature import content_key

NO_PARTS: Mapping[str, float] = MappingProxyType({})


def run(
    files: Files,
    out: Out,
    metrics: Annotated[
        str, typer.Option(help="metrics, separated by commas; options as name|option:value (see `metrics`)")
    ] = "chrf,bartscore++",
    set_: Annotated[
        str | None, typer.Option("--set", help="score each system as a whole with this metric instead: mauve")
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(help="system whose outputs also serve as references, as in MQM files; repeatable"),
    ] = None,
    column: Columns = None,
    workers: Workers = None,
) -> None:
    """Write the scores as CSV, or as JSON Lines if `out` ends in .jsonl. Raises `UserError`."""
    if set_ is not None:
        return set_score(files, set_, out, column)
    loaded = chosen(metrics)
    output.check(output.named("an input", *files), [("--out", out)])
    dataset = with_references(read_texts(files, column), reference or ())
    fitted = [for_dataset(metric, dataset) for metric in loaded]
    memory = scored(dataset, fitted, _WithoutParts(), workers=processes(workers))
    write = scores_jsonl if out.suffix == ".jsonl" else scores_csv
    output.write({out: write(_rows(dataset, fitted, memory))})


def _rows(dataset: Dataset, metrics: Sequence[Metric], memory: Memory) -> Iterator[Score]:
    for metric in metrics:
        name, signature = metric.spec.name, metric.signature()
        for key, value in values_of(dataset, memory, signature):
            yield Score(*key, name, signature, value.value, value.status, value.reason)


class _WithoutParts(Memory):
    """Scores without their parts and details, which are not in the file and take more memory than the rest."""

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        without = {key: replace(value, parts=NO_PARTS, detail=None) for key, value in values.items()}
        super().put(metric, signature, without, seconds)


def scored(
    dataset: Dataset, metrics: Sequence[Metric], memory: Memory | None = None, *, workers: int = 1
) -> Memory:  # fmt: skip
    """Return the scores of all outputs, in `memory` if given. Raises `UserError` if a metric scores none; prints how many others it did
    not score. `workers` is that of `score_dataset`.
    """
    memory = Memory() if memory is None else memory
    for result in score_dataset(dataset, metrics, memory, show_scoring, workers=workers):
        if result.failed and not result.new and not result.known:
            raise UserError(f"{result.metric} scored no output", got=result.reason)
        if result.failed:
            print_note(f"{result.metric}: {result.failed} not scored: {result.reason}")
    return memory


def values_of(dataset: Dataset, memory: Memory, signature: str) -> Iterator[tuple[OutputKey, Value]]:
    """Yield the value of every output under a signature."""
    for key, item in dataset.items():
        yield key, memory.values[signature, content_key(*item)]
