"""`sensitivity`: z and accuracy per error type, from pairs of good and perturbed outputs, as CSV or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from core.commands.options import LARGEST_SEED, Metrics, Out, check_ending, chosen, parsed_lambda
from core.commands.progress import print_note, show_scoring
from core.errors import UserError
from core.formats import output
from core.formats.load import read_upload
from core.formats.pairs import read_pairs
from core.formats.write import csv_text, json_text
from core.scoring.pool import processes
from core.services.evaluate.sensitivity import SensitivityRow, score_pairs, table


def run(
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
    read = read_pairs([read_upload(path) for path in pairs])
    scored = score_pairs(read.pairs, loaded, show_scoring, empty=empty, workers=processes())
    rows = table(read.pairs, scored, lam=lam, seed=seed)
    if not any(row.n or row.compared for row in rows):
        raise UserError("no metric scored any pair", got=rows[0].reason)
    notes = [*read.notes(), *_notes(rows, {m.spec.name: m.spec.label for m in loaded})]
    if out.suffix == ".json":
        text = json_text({"rows": [row._asdict() for row in rows], "notes": notes})
    else:
        text = csv_text(SensitivityRow._fields, rows)
    output.write({out: text})
    print_note(*notes)
    return rows


def _notes(rows: Sequence[SensitivityRow], labels: Mapping[str, str]) -> list[str]:
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
