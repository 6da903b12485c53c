"""`sensitivity`: pairs of good and perturbed outputs to z and accuracy by type of error, as CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from core.commands.score import Say
from core.errors import UserError
from core.formats import output
from core.formats.load import read_upload
from core.formats.pairs import read_pairs
from core.formats.write import csv_text
from core.metrics import registry
from core.services.scoring import Doing
from core.services.sensitivity import Row, score_pairs, table


def run(
    files: Sequence[Path],
    metrics: Sequence[str],
    out: Path,
    say: Say,
    *,
    lam: float = 1.0,
    empty: str = "",
    seed: int = 0,
) -> list[Row]:
    """Score the pairs of all files and write one row a metric and type; JSON where `out` ends in .json, else CSV.

    Everything odd is told through `say` and, in JSON, stands under `notes`. Raises `UserError` for files, metrics or a λ
    that cannot be used, and when no metric scored a single pair.
    """
    if not metrics:
        raise UserError(
            "no metric was named", where="--metrics", expected="one or more of " + ", ".join(registry.METRICS)
        )
    if out.suffix not in (".csv", ".json"):
        hint = "A page with the chart would need a script from the network, so there is none"
        raise UserError("a file of this kind is not written", where=str(out), expected=".csv or .json", hint=hint)
    if not lam >= 0:
        raise UserError("this is no λ", where="--lambda", got=str(lam), expected="a number ≥ 0, or inf")
    output.check(output.named("an input", *files), [("--out", out)])
    read = read_pairs([read_upload(path) for path in files])
    chosen = registry.chosen(metrics)

    def tell(doing: Doing) -> bool:
        say(doing.sentence())
        return True

    scored = score_pairs(read.pairs, chosen, tell, empty=empty)
    rows = table(read.pairs, scored, lam=lam, seed=seed)
    if not any(row.n or row.compared for row in rows):
        raise UserError("no metric scored a single pair", got=rows[0].reason)
    notes = [*read.notes(), *_notes(rows)]
    output.write({out: _json(rows, notes) if out.suffix == ".json" else csv_text(Row._fields, rows)})
    for note in notes:
        say(f"{note}\n")
    return rows


def _notes(rows: Sequence[Row]) -> list[str]:
    notes = []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        pairs, lost = sum(row.pairs for row in mine), sum(row.undefined for row in mine)
        if lost:
            notes.append(f"{metric}: {lost} of {pairs} pairs have no z; the reasons stand in the file.")
        if turned := sum(row.empty_better for row in mine):
            notes.append(f"{metric}: likes an empty output more than the good one in {turned} of {pairs} pairs.")
    return notes


def _json(rows: Sequence[Row], notes: Sequence[str]) -> str:
    report = {"rows": [row._asdict() for row in rows], "notes": list(notes)}
    return json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
