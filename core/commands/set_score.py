"""`score --set`: score all outputs of a system at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from core.commands.options import read_texts
from core.commands.progress import status
from core.errors import UserError
from core.formats import output
from core.formats.write import csv_text
from core.scoring.set_level import METRICS, set_scores

COLUMNS = ("system", "metric", "score", "status", "reason", "signature")


def set_score(files: Sequence[Path], metric: str, out: Path, column: Sequence[str] | None = None) -> None:
    """Write one row per system: CSV, or JSON Lines if `out` ends in .jsonl. Raises `UserError`."""
    if metric not in METRICS:
        raise UserError(
            "no system-level metric has this name", where="--set", got=f"“{metric}”", expected=", ".join(METRICS)
        )
    output.check(output.named("an input", *files), [("--out", out)])
    dataset = read_texts(files, column)

    def progress(share: float) -> None:
        status(f"{metric} · {round(share * len(dataset.systems))} of {len(dataset.systems)}")

    rows = [
        (found.system, metric, found.value.value, found.value.status, found.value.reason, found.signature)
        for found in set_scores(dataset, progress=progress)
    ]
    output.write({out: _jsonl(rows) if out.suffix == ".jsonl" else csv_text(COLUMNS, rows)})


def _jsonl(rows: Sequence[tuple[str | float | None, ...]]) -> str:
    return "".join(json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
