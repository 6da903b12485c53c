"""`ranges`: store the range of each metric in files that `score` wrote; combinations use it to bring metrics to one scale."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.commands.progress import print_result
from core.errors import UserError
from core.formats import output
from core.formats.load import read_upload
from core.formats.parsing.numbers import expected_number, number
from core.formats.problems import shown
from core.formats.write import SCORE_COLUMNS, read_export
from core.metrics import ranges


def run(
    scores: Annotated[list[Path], typer.Argument(help="CSV files that `score` wrote")],
    out: Annotated[Path | None, typer.Option(help="file to write; the ranges of this installation by default")] = None,
) -> None:
    """Store the minimum and maximum score per signature over all files, ignoring library versions. Raises `UserError`."""
    output.check(
        output.named("the scores", *scores), [("--out", out)] if out else [("the stored ranges", ranges.own())], writes_ranges=True
    )  # fmt: skip
    values: dict[str, list[float]] = {}
    for path in scores:
        table = read_export(read_upload(path))
        if lacking := {"metric", "signature", "score", "status"} - set(table.columns):
            raise UserError(
                "this file has no scores", where=path.name, got=f"no column {', '.join(sorted(lacking))}",
                expected=", ".join(SCORE_COLUMNS), hint="Use a CSV that `score` wrote",
            )  # fmt: skip
        for row in table.rows:
            cells = dict(zip(table.columns, row.cells, strict=True))
            if cells["status"] == "ok":
                values.setdefault(str(cells["signature"]), []).append(_number(cells["score"], path, row.line))
    if not values:
        raise UserError("the files have no score with status ok", where=", ".join(p.name for p in scores))
    for signature, stored in ranges.fit(values, out).items():
        print_result(f"{stored.words}  n = {stored.n}  {signature}")


def _number(cell: object, path: Path, line: int) -> float:
    text = str(cell)
    if (value := number(text)) is None:
        where = f"{path.name}, line {line}"
        raise UserError("this is not a score", where=where, got=shown(text), expected=expected_number(text))
    return value
