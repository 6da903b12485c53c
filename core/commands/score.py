"""`score` and `refine`: score and refine outputs in files, with the same code as the pages but without a database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.data import Dataset, OutputKey, Score, Value
from core.errors import UserError
from core.formats import output
from core.formats.load import load
from core.formats.write import scores_csv, scores_jsonl
from core.metrics import registry
from core.metrics.base import Metric
from core.metrics.generation.bartscore_pp import NAMES, refinement_of
from core.refine import prompts
from core.refine.result import Variant
from core.scoring.dataset import Memory, ScoringProgress, for_dataset, score_dataset
from core.services.projects.references import with_references
from core.signature import content_key

Echo = Callable[[str], None]
"""Shows a status, or prints a message that ends in a line feed (`core.commands.progress.StatusLine`)."""


def score(
    files: Sequence[Path], metrics: Sequence[str], out: Path, echo: Echo, *, references: Sequence[str] = ()
) -> None:
    """Score the outputs in files with metric expressions and write CSV, or JSON Lines if `out` ends in .jsonl.

    `references` are systems whose outputs also serve as references, as in MQM files. Raises `UserError`.
    """
    if not metrics:
        raise UserError("no metric given", where="--metrics", expected="one or more of " + ", ".join(registry.METRICS))
    chosen = registry.chosen(metrics)
    output.check(output.named("an input", *files), [("--out", out)])
    dataset = with_references(load(files), references)
    chosen = [for_dataset(metric, dataset) for metric in chosen]
    memory = _run(dataset, chosen, echo)
    rows: list[Score] = []
    for metric in chosen:
        name, signature = metric.spec.name, metric.signature()
        for key, value in _values(dataset, memory, signature):
            rows.append(Score(*key, name, signature, value.value, value.status, value.reason))
    write = scores_jsonl if out.suffix == ".jsonl" else scores_csv
    output.write({out: write(rows)})


def refine(
    files: Sequence[Path],
    variant: Variant,
    options: Mapping[str, object],
    out: Path,
    echo: Echo,
    *,
    prompts_file: Path | None = None,
) -> None:
    """Refine the outputs in files and write one JSON object per line. To find λ, `dist_exp` and `dist_imp` suffice.

    `options` are those of BARTScore++, as values or in the notation of an expression. `prompts_file` is the file from which
    prompts were read. Raises `UserError`.
    """
    name = next(n for n, v in NAMES.items() if v == variant)
    if options.get("side") and not options.get("prompt"):
        raise UserError("--side needs a prompt", where="--side", hint="Add --prompt or --prompts")
    metric = registry.load(registry.expression(name, options))
    output.check([*output.named("an input", *files), *output.named("--prompts", prompts_file)], [("--out", out)])
    dataset = load(files)
    memory = _run(dataset, [metric], echo)
    segments = dataset.segment_of()
    texts = {o.key: o.text for o in dataset.outputs}
    lines: list[str] = []
    for key, value in _values(dataset, memory, metric.signature()):
        segment = segments[key.segment]
        row: dict[str, Any] = {
            **key._asdict(),
            "output": texts[key],
            "status": value.status,
            "reason": value.reason,
        }
        if value.detail is not None:
            at = value.detail["condition"]
            row |= {
                "reference": segment.source if at < 0 else segment.references[at],
                "refined": value.detail["refined"],
                "non_translation": value.detail["non_translation"],
                **value.parts,
                "steps": [_step(s) for s in value.detail["steps"]],
            }
        row["signature"] = refinement_of(metric.signature())
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    output.write({out: "".join(lines)})


def phrases(given: Sequence[str], listed: str | None) -> tuple[str, ...]:
    """Return the prompts of a command line: single phrases, then those of a list (`FILE:LIST` or its name). Raises `UserError`."""
    alone = tuple(prompts.checked(phrase, "--prompt") for phrase in given)
    return alone + (prompts.from_file(listed) if listed else ())


def _step(step: Sequence[Any]) -> dict[str, Any]:
    from core.refine.result import EditStep

    return EditStep(*step)._asdict()


def _run(dataset: Dataset, metrics: Sequence[Metric], echo: Echo) -> Memory:
    memory = Memory()

    def progress(at: ScoringProgress) -> None:
        echo(at.sentence())

    for result in score_dataset(dataset, metrics, memory, progress):
        if result.failed and not result.new and not result.known:
            raise UserError(f"{result.metric} scored no output", got=result.reason)
        if result.failed:
            echo(f"{result.metric}: {result.failed} not scored: {result.reason}\n")
    return memory


def _values(dataset: Dataset, memory: Memory, signature: str) -> Iterator[tuple[OutputKey, Value]]:
    for key, item in dataset.items():
        yield key, memory.values[signature, content_key(*item)]
