"""`adversarial`: how often metrics prefer the right text, by phenomenon, as a table and as CSV, JSON or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.commands.score import Say
from core.errors import UserError
from core.formats import output
from core.formats.adversarial import read_cases
from core.formats.load import read_upload
from core.metrics import registry
from core.services import adversarial_report as report
from core.services.adversarial import ALL, Row, answer, failures, table
from core.services.scoring import Doing

KINDS = (".csv", ".json", ".html")


def run(
    files: Sequence[Path],
    metrics: Sequence[str],
    out: Path,
    say: Say,
    *,
    reference_free: bool = False,
    fixed: bool = False,
    each: int = 3,
    solved_by: str = "",
    seed: int = 0,
) -> list[Row]:
    """Score the cases of all files and write a row a metric and phenomenon; the kind of file follows the ending of `out`.

    JSON and HTML list `each` failures a metric and phenomenon, with `solved_by` those that this metric gets right. Everything
    odd is told through `say`. Raises `UserError` for files or metrics that cannot be used, and when no metric scored a case.
    """
    if not metrics:
        raise UserError("no metric was named", where="--metrics", expected="some of " + ", ".join(registry.METRICS))
    if out.suffix not in KINDS:
        raise UserError("a file of this kind is not written", where=str(out), expected=" or ".join(KINDS))
    output.check(output.named("an input", *files), [("--out", out)])
    chosen = registry.chosen(metrics)
    solver = registry.load(solved_by).spec.name if solved_by else ""
    if solver and solver not in {m.spec.name for m in chosen}:
        raise UserError("this metric is not among those scored", where="--solved-by", got=solved_by)
    read = read_cases([read_upload(path) for path in files], reference_free=reference_free, fixed=fixed)

    def tell(doing: Doing) -> bool:
        say(doing.sentence())
        return True

    answered = answer(read.cases, chosen, tell)
    rows = table(read.cases, answered, seed=seed)
    if not any(row.compared for row in rows):
        raise UserError("no metric scored a single case", got=next((r.reason for r in rows if r.reason), ""))
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
        say(f"{note}\n")
    return rows


def _notes(rows: Sequence[Row]) -> list[str]:
    notes = []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        whole = next(row for row in mine if row.phenomenon == ALL)
        if whole.undefined:
            why = next((r.reason for r in mine if r.undefined and r.reason), "")
            notes.append(f"{metric}: {whole.undefined} of {whole.cases} cases have no score ({why}).")
        if whole.tied:
            notes.append(f"{metric}: {whole.tied} of {whole.compared} cases are tied, and count as wrong.")
    return notes
