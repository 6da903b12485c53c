"""`sensitivity`: z and accuracy per error type, from pairs of good and perturbed outputs, as CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from core.commands.score import Echo
from core.errors import UserError
from core.formats import output
from core.formats.load import read_upload
from core.formats.pairs import read_pairs
from core.formats.write import csv_text
from core.metrics import registry
from core.scoring.dataset import ScoringProgress
from core.services.evaluate.sensitivity import SensitivityRow, score_pairs, table


def run(
    files: Sequence[Path],
    metrics: Sequence[str],
    out: Path,
    echo: Echo,
    *,
    lam: float = 1.0,
    empty: str = "",
    seed: int = 0,
) -> list[SensitivityRow]:
    """Score the pairs of all files and write one row per metric and type: JSON if `out` ends in .json, else CSV.

    Notes are printed with `echo` and, in JSON, written under `notes`. Raises `UserError` for files, metrics or a λ that cannot
    be used, and if no metric scored any pair.
    """
    if not metrics:
        raise UserError("no metric given", where="--metrics", expected="one or more of " + ", ".join(registry.METRICS))
    if out.suffix not in (".csv", ".json"):
        raise UserError("cannot write this type of file", where=str(out), expected=".csv or .json")
    if not lam >= 0:
        raise UserError("invalid λ", where="--lambda", got=str(lam), expected="a number ≥ 0, or inf")
    output.check(output.named("an input", *files), [("--out", out)])
    read = read_pairs([read_upload(path) for path in files])
    chosen = registry.chosen(metrics)

    def progress(at: ScoringProgress) -> None:
        echo(at.sentence())

    scored = score_pairs(read.pairs, chosen, progress, empty=empty)
    rows = table(read.pairs, scored, lam=lam, seed=seed)
    if not any(row.n or row.compared for row in rows):
        raise UserError("no metric scored any pair", got=rows[0].reason)
    notes = [*read.notes(), *_notes(rows)]
    output.write({out: _json(rows, notes) if out.suffix == ".json" else csv_text(SensitivityRow._fields, rows)})
    for note in notes:
        echo(f"{note}\n")
    return rows


def _notes(rows: Sequence[SensitivityRow]) -> list[str]:
    notes = []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        pairs, lost = sum(row.pairs for row in mine), sum(row.undefined for row in mine)
        if lost:
            notes.append(f"{metric}: {lost} of {pairs} pairs have no z; see the file for the reasons.")
        if turned := sum(row.empty_better for row in mine):
            notes.append(f"{metric}: scores the empty output higher than the good one in {turned} of {pairs} pairs.")
    return notes


def _json(rows: Sequence[SensitivityRow], notes: Sequence[str]) -> str:
    report = {"rows": [row._asdict() for row in rows], "notes": list(notes)}
    return json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
