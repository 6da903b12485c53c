"""`adversarial`: how often metrics prefer the good text, per phenomenon, as a table and as CSV, JSON or HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from core.commands.options import LARGEST_SEED, MANY, Metrics, check_ending, chosen
from core.commands.progress import print_note, print_result, show_scoring
from core.errors import UserError
from core.formats import output
from core.formats.adversarial import read_cases
from core.formats.load import read_upload
from core.metrics import registry
from core.reports import adversarial as report
from core.scoring.pool import processes
from core.services.robustness.adversarial import ALL, PhenomenonRow, answer, table
from core.services.robustness.adversarial import failures as failed_cases


def run(
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
    solver = registry.load(solved_by).spec.name if solved_by else ""
    if solver and solver not in {m.spec.name for m in loaded}:
        raise UserError("this metric is not scored", where="--solved-by", got=solved_by, hint="Add it to --metrics")
    read = read_cases([read_upload(path) for path in cases], reference_free=reference_free, fixed=fixed)
    answered = answer(read.cases, loaded, show_scoring, workers=processes())
    rows = table(read.cases, answered, seed=seed)
    if not any(row.compared for row in rows):
        raise UserError("no metric scored any case", got=next((r.reason for r in rows if r.reason), ""))
    failed = failed_cases(read.cases, answered, each=failures, solved_by=solver)
    labels = {a.spec.name: a.spec.label for a in answered}
    notes = [*read.notes, *_notes(rows, labels)]
    notes += [] if reference_free else filter(None, [report.published(rows)])
    written = {
        ".csv": lambda: report.as_csv(rows),
        ".json": lambda: report.as_json(rows, failed, notes),
        ".html": lambda: report.as_html(rows, failed, notes, labels),
    }
    output.write({out: written[out.suffix]()})
    print_note(*notes)
    print_result(report.as_text(rows, labels))


def _notes(rows: Sequence[PhenomenonRow], labels: Mapping[str, str]) -> list[str]:
    notes = []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        whole = next(row for row in mine if row.phenomenon == ALL)
        if whole.undefined:
            why = next((r.reason for r in mine if r.undefined and r.reason), "")
            notes.append(f"{labels[metric]}: {whole.undefined} of {whole.cases} cases have no score ({why}).")
        if whole.tied:
            notes.append(f"{labels[metric]}: {whole.tied} of {whole.compared} cases are tied and count as failures.")
    return notes
