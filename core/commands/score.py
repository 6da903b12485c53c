"""`score` and `refine` over files alone: the same code as the pages, without a database."""

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
from core.metrics.bartscore_pp import NAMES, refinement_of
from core.metrics.base import Metric
from core.refine import prompts
from core.refine.result import Variant
from core.services.references import with_references
from core.services.scoring import Doing, Memory, in_company, score_dataset
from core.signature import content_key

Say = Callable[[str], None]


def score(
    files: Sequence[Path], metrics: Sequence[str], out: Path, say: Say, *, references: Sequence[str] = ()
) -> None:
    """Score outputs in files with metric expressions; writes CSV, or JSON Lines when `out` ends in .jsonl.

    `references` are systems whose outputs are references as well, as in MQM files. Raises UserError.
    """
    if not metrics:
        raise UserError(
            "no metric was named", where="--metrics", expected="one or more of " + ", ".join(registry.METRICS)
        )
    chosen = registry.chosen(metrics)
    output.check(output.named("an input", *files), [("--out", out)])
    dataset = with_references(load(files), references)
    chosen = [in_company(metric, dataset) for metric in chosen]
    memory = _run(dataset, chosen, say)
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
    say: Say,
    *,
    prompts_file: Path | None = None,
) -> None:
    """Refine outputs in files, one JSON object a line; `λ` needs nothing more than its `dist_exp` and `dist_imp`.

    `options` are those of BARTScore++, as values or as the texts of an expression. `prompts_file` is where prompts were read
    from. Raises UserError.
    """
    name = next(n for n, v in NAMES.items() if v == variant)
    if options.get("side") and not options.get("prompt"):
        raise UserError("a side was named, but no prompt", where="--side", hint="Add --prompt or --prompts")
    metric = registry.load(registry.expression(name, options))
    output.check([*output.named("an input", *files), *output.named("--prompts", prompts_file)], [("--out", out)])
    dataset = load(files)
    memory = _run(dataset, [metric], say)
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
    """The prompts of a command line: phrases given one by one, then those of `FILE:LIST` or a list's name. Raises UserError."""
    alone = tuple(prompts.checked(phrase, "--prompt") for phrase in given)
    return alone + (prompts.from_file(listed) if listed else ())


def _step(step: Sequence[Any]) -> dict[str, Any]:
    from core.refine.result import Step

    return Step(*step)._asdict()


def _run(dataset: Dataset, metrics: Sequence[Metric], say: Say) -> Memory:
    memory = Memory()

    def tell(doing: Doing) -> bool:
        say(doing.sentence())
        return True

    for result in score_dataset(dataset, metrics, memory, tell):
        if result.failed and not result.new and not result.known:
            raise UserError(f"{result.metric} scored nothing", got=result.reason)
        if result.failed:
            say(f"{result.metric}: {result.failed} not scored: {result.reason}\n")
    return memory


def _values(dataset: Dataset, memory: Memory, signature: str) -> Iterator[tuple[OutputKey, Value]]:
    for key, item in dataset.items():
        yield key, memory.values[signature, content_key(*item)]
