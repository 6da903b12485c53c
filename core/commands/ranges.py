"""`ranges`: from what `score` wrote to stored ranges, by which combinations put metrics on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.errors import UserError
from core.formats import output
from core.formats.load import read_upload
from core.formats.numbers import expected_number, number
from core.formats.problems import shown
from core.formats.write import SCORE_COLUMNS, read_export
from core.metrics import ranges
from core.metrics.ranges import Range


def run(files: Sequence[Path], out: Path | None = None) -> dict[str, Range]:
    """Store the least and the greatest score under each signature, of all files together, whatever the versions of the
    libraries they were computed with. Raises `UserError`."""
    output.check(
        output.named("the scores", *files), [("--out", out)] if out else [("the stored ranges", ranges.own())], writes_ranges=True
    )  # fmt: skip
    values: dict[str, list[float]] = {}
    for path in files:
        table = read_export(read_upload(path))
        if lacking := {"metric", "signature", "score", "status"} - set(table.columns):
            raise UserError(
                "these are no scores", where=path.name, got=f"no column {', '.join(sorted(lacking))}",
                expected=", ".join(SCORE_COLUMNS), hint="Give the CSV that `score` wrote",
            )  # fmt: skip
        for row in table.rows:
            cells = dict(zip(table.columns, row.cells, strict=True))
            if cells["status"] == "ok":
                values.setdefault(str(cells["signature"]), []).append(_number(cells["score"], path, row.line))
    if not values:
        raise UserError("there is no score to take a range from", where=", ".join(p.name for p in files))
    return ranges.fit(values, out)


def _number(cell: object, path: Path, line: int) -> float:
    text = str(cell)
    if (value := number(text)) is None:
        where = f"{path.name}, line {line}"
        raise UserError("this is no score", where=where, got=shown(text), expected=expected_number(text))
    return value
