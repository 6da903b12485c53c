"""`adversarial` and `sensitivity`: how often metrics prefer the good text, and what each kind of error costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cli.options import (
    LARGEST_SEED,
    MANY,
    Metrics,
    Out,
    check_ending,
    chosen,
    parsed_lambda,
    print_note,
    print_result,
    show_scoring,
)
from core.errors import UserError
from core.formats import output
from core.formats.error_cases import read_cases, read_pairs
from core.formats.files import file_at
from core.formats.write import csv_text, json_text
from core.metrics import registry
from core.processes.pool import processes
from core.reports import adversarial as report
from core.services.evaluate.sensitivity import SensitivityRow, score_pairs, sensitivity_table
from core.services.robustness.adversarial import ALL, PhenomenonRow, accuracy_table, answer
from core.services.robustness.adversarial import failures as failed_cases


def adversarial_command(
    cases: Annotated[list[Path], typer.Argument(help="MENLI's CSV (also .gz), or pairs as `sensitivity` reads them")],
    out: Annotated[Path, typer.Option(help="file to write: .csv, .json or .html")],
    metrics: Metrics = "chrf,bleu,rouge1",
    reference_free: Annotated[
        bool, typer.Option("--reference-free", help="compare with the source, with the reference as the good text")
    ] = False,
    fixed: Annotated[
        bool, typer.Option("--fixed", help="use MENLI's later columns, in which spacing and case are fixed")
    ] = False,
    failures: Annotated[
        int, typer.Option(min=0, max=MANY, help="failures listed per metric and phenomenon (JSON, HTML)")
    ] = 3,
    solved_by: Annotated[str, typer.Option(help="list only failures that this metric ranks correctly")] = "",
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="random seed of the bootstrap")] = 0,
) -> None:
    """Score the cases of all files and write one row per metric and phenomenon, as CSV, JSON or HTML by the suffix of `out`.

    The rows and notes are also printed. Raises `UserError` for files or metrics that cannot be used, and if no metric scored a
    case.
    """
    check_ending(out, ".csv", ".json", ".html")
    loaded = chosen(metrics)
    output.check(output.named("an input", *cases), [("--out", out)])
    solver = registry.load_metric(solved_by).spec.name if solved_by else ""
    if solver and solver not in {m.spec.name for m in loaded}:
        raise UserError("this metric is not scored", where="--solved-by", got=solved_by, hint="Add it to --metrics")
    read = read_cases([file_at(path) for path in cases], reference_free=reference_free, fixed=fixed)
    answered = answer(read.cases, loaded, show_scoring, workers=processes())
    rows = accuracy_table(read.cases, answered, seed=seed)
    if not any(row.compared for row in rows):
        raise UserError("no metric scored any case", got=next((r.reason for r in rows if r.reason), ""))
    failed = failed_cases(read.cases, answered, each=failures, solved_by=solver)
    labels = {a.spec.name: a.spec.label for a in answered}
    notes = [*read.notes, *_notes_on_cases(rows, labels)]
    notes += [] if reference_free else filter(None, [report.published(rows)])
    written = {
        ".csv": lambda: report.as_csv(rows),
        ".json": lambda: report.as_json(rows, failed, notes),
        ".html": lambda: report.as_html(rows, failed, notes, labels),
    }
    output.write_files({out: written[out.suffix]()})
    print_note(*notes)
    print_result(report.as_text(rows, labels))


def _notes_on_cases(rows: Sequence[PhenomenonRow], labels: Mapping[str, str]) -> list[str]:
    notes = []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        all_kinds = next(row for row in mine if row.phenomenon == ALL)
        if all_kinds.undefined:
            why = next((r.reason for r in mine if r.undefined and r.reason), "")
            notes.append(f"{labels[metric]}: {all_kinds.undefined} of {all_kinds.cases} cases have no score ({why}).")
        if all_kinds.tied:
            notes.append(
                f"{labels[metric]}: {all_kinds.tied} of {all_kinds.compared} cases are tied and count as failures."
            )
    return notes


def sensitivity_command(
    pairs: Annotated[
        list[Path], typer.Argument(help="pairs of a good and a perturbed output: CSV, TSV, JSONL or JSON")
    ],
    out: Out,
    metrics: Metrics = "chrf,bartscore++",
    lam: Annotated[float, typer.Option("--lambda", parser=parsed_lambda, help="λ of BARTScore++, 0 to inf")] = 1.0,
    empty: Annotated[str, typer.Option(help="text used as the empty output; DEMETR uses a full stop")] = "",
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="random seed of the bootstrap")] = 0,
) -> list[SensitivityRow]:
    """Score the pairs of all files and write one row per metric and type: JSON if `out` ends in .json, else CSV.

    Notes are printed and, in JSON, written under `notes`. Raises `UserError` for files or metrics that cannot be used, and if no
    metric scored any pair.
    """
    check_ending(out, ".csv", ".json")
    loaded = chosen(metrics)
    output.check(output.named("an input", *pairs), [("--out", out)])
    read = read_pairs([file_at(path) for path in pairs])
    scored = score_pairs(read.pairs, loaded, show_scoring, empty=empty, workers=processes())
    rows = sensitivity_table(read.pairs, scored, lam=lam, seed=seed)
    if not any(row.n or row.compared for row in rows):
        raise UserError("no metric scored any pair", got=rows[0].reason)
    notes = [*read.notes(), *_notes_on_pairs(rows, {m.spec.name: m.spec.label for m in loaded})]
    if out.suffix == ".json":
        text = json_text({"rows": [row._asdict() for row in rows], "notes": notes})
    else:
        text = csv_text(SensitivityRow._fields, rows)
    output.write_files({out: text})
    print_note(*notes)
    return rows


def _notes_on_pairs(rows: Sequence[SensitivityRow], labels: Mapping[str, str]) -> list[str]:
    notes = []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        pairs, lost = sum(row.pairs for row in mine), sum(row.undefined for row in mine)
        if lost:
            notes.append(f"{labels[metric]}: {lost} of {pairs} pairs have no z; see the file for the reasons.")
        if turned := sum(row.empty_better for row in mine):
            notes.append(
                f"{labels[metric]}: scores the empty output higher than the good one in {turned} of {pairs} pairs."
            )
    return notes
