"""`adversarial`: how often metrics prefer the good text, per phenomenon, as a table and as CSV, JSON or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.commands.score import Echo
from core.errors import UserError
from core.formats import output
from core.formats.adversarial import read_cases
from core.formats.load import read_upload
from core.metrics import registry
from core.reports import adversarial as report
from core.scoring.dataset import ScoringProgress
from core.services.robustness.adversarial import ALL, PhenomenonRow, answer, failures, table

KINDS = (".csv", ".json", ".html")


def run(
    files: Sequence[Path],
    metrics: Sequence[str],
    out: Path,
    echo: Echo,
    *,
    reference_free: bool = False,
    fixed: bool = False,
    each: int = 3,
    solved_by: str = "",
    seed: int = 0,
) -> list[PhenomenonRow]:
    """Score the cases of all files and write one row per metric and phenomenon, as CSV, JSON or HTML by the suffix of `out`.

    JSON and HTML also list `each` failures per metric and phenomenon; with `solved_by`, only those that this metric ranks
    correctly. Notes are printed with `echo`. Raises `UserError` for files or metrics that cannot be used, and if no metric
    scored a case.
    """
    if not metrics:
        raise UserError("no metric given", where="--metrics", expected="some of " + ", ".join(registry.METRICS))
    if out.suffix not in KINDS:
        raise UserError("cannot write this type of file", where=str(out), expected=" or ".join(KINDS))
    output.check(output.named("an input", *files), [("--out", out)])
    chosen = registry.chosen(metrics)
    solver = registry.load(solved_by).spec.name if solved_by else ""
    if solver and solver not in {m.spec.name for m in chosen}:
        raise UserError("this metric is not scored", where="--solved-by", got=solved_by, hint="Add it to --metrics")
    read = read_cases([read_upload(path) for path in files], reference_free=reference_free, fixed=fixed)

    def progress(at: ScoringProgress) -> None:
        echo(at.sentence())

    answered = answer(read.cases, chosen, progress)
    rows = table(read.cases, answered, seed=seed)
    if not any(row.compared for row in rows):
        raise UserError("no metric scored any case", got=next((r.reason for r in rows if r.reason), ""))
    failed = failures(read.cases, answered, each=each, solved_by=solver)
    notes = [*read.notes, *_notes(rows)]
    notes += [] if reference_free else filter(None, [report.published(rows)])
    written = {
        ".csv": lambda: report.as_csv(rows),
        ".json": lambda: report.as_json(rows, failed, notes),
        ".html": lambda: report.as_html(rows, failed, notes),
    }
    output.write({out: written[out.suffix]()})
    for note in notes:
        echo(f"{note}\n")
    return rows


def _notes(rows: Sequence[PhenomenonRow]) -> list[str]:
    notes = []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        whole = next(row for row in mine if row.phenomenon == ALL)
        if whole.undefined:
            why = next((r.reason for r in mine if r.undefined and r.reason), "")
            notes.append(f"{metric}: {whole.undefined} of {whole.cases} cases have no score ({why}).")
        if whole.tied:
            notes.append(f"{metric}: {whole.tied} of {whole.compared} cases are tied and count as failures.")
    return notes
