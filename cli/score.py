"""`score` and `refine`: score and refine outputs in files, with the same code as the pages but without a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import typer

from cli.options import Columns, Files, Out, Workers, chosen, counted, print_note, read_texts, show_scoring
from core.data import Dataset, OutputKey, Score, Value
from core.errors import UserError
from core.formats import output
from core.formats.write import csv_text, json_lines, scores_csv, scores_jsonl
from core.formatting import format_count
from core.judges.questions import reply_rows
from core.metrics import registry
from core.metrics.base import Metric
from core.metrics.generation.bartscore_pp import NAMES, refinement_of
from core.processes.pool import processes
from core.refine import prompts as prompt_lists
from core.refine.result import EditStep
from core.scoring.dataset import Keep, for_dataset, score_dataset
from core.scoring.items import METRICS, set_scores
from core.scoring.values import InMemoryScores
from core.services.projects.adding import with_references
from core.signature import content_key

NO_PARTS: Mapping[str, float] = MappingProxyType({})


def score_command(
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
    replies: Annotated[
        Path | None, typer.Option(help="file for the raw replies of judges, one JSON object per line")
    ] = None,
) -> None:
    """Write the scores as CSV, or as JSON Lines if `out` ends in .jsonl. Raises `UserError`."""
    if set_ is not None:
        return set_score(files, set_, out, column)
    loaded = chosen(metrics)
    outputs = [("--out", out), *output.named("--replies", replies)]
    output.check(output.named("an input", *files), outputs)
    dataset = with_references(read_texts(files, column), reference or ())
    fitted = [for_dataset(metric, dataset) for metric in loaded]
    _print_costs(dataset, fitted)
    scores = scored(dataset, fitted, workers=processes(workers), keep=None if replies else _without_parts)
    write = scores_jsonl if out.suffix == ".jsonl" else scores_csv
    texts = {out: write(_rows(dataset, fitted, scores))}
    output.write_files(texts | ({replies: json_lines(_replies(dataset, fitted, scores))} if replies else {}))


def _print_costs(dataset: Dataset, metrics: Sequence[Metric]) -> None:
    """Print what judges will take, before they are asked."""
    items = list(dict.fromkeys(item for _, item in dataset.items()))
    for metric in metrics:
        if metric.judge is not None:
            print_note(f"note: {metric.judge.cost(items).sentence(metric.spec.label)}")


def _replies(dataset: Dataset, metrics: Sequence[Metric], scores: InMemoryScores) -> Iterator[dict[str, Any]]:
    """Yield the raw replies of judges."""
    for metric in metrics:
        signature = metric.signature()
        for key, value in values_of(dataset, scores, signature) if metric.judge else ():
            yield from reply_rows(key, metric.spec.name, signature, value)


def _rows(dataset: Dataset, metrics: Sequence[Metric], scores: InMemoryScores) -> Iterator[Score]:
    for metric in metrics:
        name, signature = metric.spec.name, metric.signature()
        for key, value in values_of(dataset, scores, signature):
            yield Score(*key, name, signature, value.value, value.status, value.reason)


def _without_parts(key: str, value: Value) -> Value:
    """Drop parts and details, which are not in the file and take more memory than the rest."""
    return replace(value, parts=NO_PARTS, detail=None)


def scored(
    dataset: Dataset, metrics: Sequence[Metric], *, workers: int = 1, keep: Keep | None = None
) -> InMemoryScores:  # fmt: skip
    """Return the scores of all outputs. Raises `UserError` if a metric scores none; prints how many others it did not score.

    `workers` and `keep` are those of `score_dataset`.
    """
    scores = InMemoryScores()
    for result in score_dataset(dataset, metrics, scores, show_scoring, workers=workers, keep=keep):
        if result.failed and not result.new and not result.known:
            raise UserError(f"{result.metric} scored no output", got=result.reason)
        if result.failed:
            print_note(f"{result.metric}: {result.failed} not scored: {result.reason}")
    return scores


def values_of(dataset: Dataset, scores: InMemoryScores, signature: str) -> Iterator[tuple[OutputKey, Value]]:
    """Yield the value of every output under a signature."""
    values = scores.by_signature.get(signature, {})
    for key, item in dataset.items():
        yield key, values[content_key(*item)]


SET_COLUMNS = ("system", "metric", "score", "status", "reason", "signature")


def set_score(files: Sequence[Path], metric: str, out: Path, column: Sequence[str] | None = None) -> None:
    """Write one row per system: CSV, or JSON Lines if `out` ends in .jsonl. Raises `UserError`."""
    if metric not in METRICS:
        raise UserError(
            "no system-level metric has this name", where="--set", got=f"“{metric}”", expected=", ".join(METRICS)
        )
    output.check(output.named("an input", *files), [("--out", out)])
    dataset = read_texts(files, column)

    rows = [
        (score.system, metric, score.value.value, score.value.status, score.value.reason, score.signature)
        for score in set_scores(dataset, progress=counted(metric, len(dataset.systems)))
    ]
    in_json = (dict(zip(SET_COLUMNS, row, strict=True)) for row in rows)
    output.write_files({out: json_lines(in_json) if out.suffix == ".jsonl" else csv_text(SET_COLUMNS, rows)})


def refine_command(
    files: Files,
    out: Out,
    variant: Annotated[
        Literal["f", "precision", "recall", "faithfulness"], typer.Option(help="direction of BARTScore")
    ] = "f",
    k: Annotated[
        str | None, typer.Option(help="number of candidate tokens tried at the worst position; default 10")
    ] = None,
    rounds: Annotated[
        str | None,
        typer.Option(help="maximum number of edits: a number, or half (the number of tokens / 2); default half"),
    ] = None,
    edits: Annotated[
        str | None, typer.Option(help="edit operations, joined by +; default insert+delete+substitute")
    ] = None,
    non_translation: Annotated[
        Literal["overlap", "probability", "off"] | None,
        typer.Option(help="how to detect outputs that are no translation, which are not refined; default overlap"),
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="prompt phrase for the three scores; repeatable, scores are averaged over prompts"),
    ] = None,
    prompts: Annotated[
        str | None, typer.Option(help="list of prompt phrases: FILE:LIST, a list in ERRORSCOPE_PROMPTS, or mt")
    ] = None,
    side: Annotated[
        Literal["encoder", "decoder"] | None, typer.Option(help="where prompts are added; default encoder")
    ] = None,
    column: Columns = None,
) -> None:
    """Write one JSON object per line. To find λ, `dist_exp` and `dist_imp` suffice. Raises `UserError`."""
    phrases = [prompt_lists.checked(phrase, "--prompt") for phrase in prompt or ()]
    phrases += prompt_lists.from_file(prompts) if prompts else ()
    if side and not phrases:
        raise UserError("--side needs a prompt", where="--side", hint="Add --prompt or --prompts")
    options = {"k": k, "rounds": rounds, "edits": edits, "nt": non_translation, "prompt": tuple(phrases), "side": side}
    name = next(n for n, v in NAMES.items() if v == variant)
    metric = registry.load_metric(
        registry.expression(name, {option: value for option, value in options.items() if value})
    )
    prompts_file = prompt_lists.file_in(prompts) if prompts else None
    output.check([*output.named("an input", *files), *output.named("--prompts", prompts_file)], [("--out", out)])
    dataset = read_texts(files, column)
    scores = scored(dataset, [metric])
    values = dict(values_of(dataset, scores, metric.signature()))
    output.write_files({out: json_lines(_refined(dataset, values, refinement_of(metric.signature())))})
    other_tokens = sum(bool((value.detail or {}).get("refined_ids")) for value in values.values())
    if other_tokens:
        print_note(
            f"{format_count(other_tokens, 'refined text')} would be divided into other tokens than those that were edited and scored "
            "(score_refined_of: tokens, with their refined_ids). The BARTScore of such a text differs from score_refined."
        )


def _refined(dataset: Dataset, values: Mapping[OutputKey, Value], signature: str) -> Iterator[dict[str, Any]]:
    segments = dataset.segment_of()
    texts = {o.key: o.text for o in dataset.outputs}
    for key, value in values.items():
        row: dict[str, Any] = {
            **key._asdict(),
            "output": texts[key],
            "status": value.status,
            "reason": value.reason,
        }
        if value.detail is not None:
            segment, at, ids = segments[key.segment], value.detail["condition"], value.detail.get("refined_ids")
            row |= {
                "reference": segment.source if at < 0 else segment.references[at],
                "refined": value.detail["refined"],
                "non_translation": value.detail["non_translation"],
                **value.parts,
                "score_refined_of": "tokens" if ids else "text",
                **({"refined_ids": ids} if ids else {}),
                "steps": [EditStep(*step)._asdict() for step in value.detail["steps"]],
            }
        yield row | {"signature": signature}
