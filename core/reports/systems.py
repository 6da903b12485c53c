"""The table systems × scores as CSV and LaTeX."""

from __future__ import annotations

import math

from core.formats.write import csv_text
from core.formatting import format_number
from core.reports.latex import bold, latex_table, latex_text
from core.services.compare.compare import signature_at
from core.services.compare.systems import SystemScores
from core.services.projects.view import Column

CSV_COLUMNS = ("system", "score", "signature", "mean", "outputs")


def title(column: Column) -> str:
    """Return the label with the direction: "chrF ↑"."""
    return f"{column.label} {column.arrow}".strip()


def mean_text(column: Column, mean: float) -> str:
    """Return a mean with the decimals of its column, two for whole numbers; a dash for NaN."""
    return format_number(None if math.isnan(mean) else mean, column.digits or 2, leading_zero=True)


def as_csv(found: SystemScores, lam: float) -> str:
    """Return one row per system and score, with `CSV_COLUMNS`; a system without scores has an empty mean."""
    return csv_text(
        CSV_COLUMNS,
        (
            (system, c.label, signature_at(c, lam), None if math.isnan(mean) else mean, int(found.counts[i, k]))
            for i, system in enumerate(found.systems)
            for k, (c, mean) in enumerate(zip(found.columns, found.means[i].tolist(), strict=True))
        ),
    )


def as_latex(found: SystemScores) -> str:
    """Return a booktabs table with the best means in bold."""
    rows = []
    for system, means, best in zip(found.systems, found.means.tolist(), found.best.tolist(), strict=True):
        cells = [latex_text(mean_text(c, m)) for c, m in zip(found.columns, means, strict=True)]
        rows.append(
            [latex_text(system), *(bold(cell) if first else cell for cell, first in zip(cells, best, strict=True))]
        )
    lacking = "".join(f" {c.label}: {n} of {found.outputs} outputs have a score." for c, n in found.partial)
    caption = f"Means of output scores over {found.outputs} outputs. Bold: best mean, not tested.{lacking}"
    return latex_table(["System", *map(title, found.columns)], [rows], caption, "systems")
