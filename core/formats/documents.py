"""Convert JSON Lines of documents with the outputs of several systems (SummEval) to a table with one row per output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from core.formats.columns import guess
from core.formats.parsing.cells import Cell, FileTable, Meter, Nested, TableReading, TableRow
from core.formats.problems import Collector, shown

OUTPUTS = "outputs"
_ONE = "a text, or an object with “text” and optionally “human” (numbers by name)"


def holds_documents(table: FileTable) -> bool:
    """Return whether `outputs` maps systems to texts and there is no other column for systems or outputs."""
    if OUTPUTS not in table.columns or {"system", "output"} & set(table.columns):
        return False
    at = table.columns.index(OUTPUTS)
    return any(isinstance(cell := row.cells[at], Nested) and cell.json.startswith("{") for row in table.rows)


def by_output(table: FileTable, limit: int | None = None) -> TableReading:
    """Read a table with one row per output: the columns of the document, `system`, `output` and the names under `human`; `limit`
    stops after that many rows.

    `outputs` is {system: text} or {system: {"text": …, "human": {name: number}}}. Rows keep the line of their document. Raises
    `ImportProblems` with every malformed document and every name under `human` that would be read as another column.
    """
    problems, meter = Collector(), Meter(table.name)
    at = table.columns.index(OUTPUTS)
    kept = [c for c in table.columns if c != OUTPUTS]
    human: dict[str, None] = {}
    for row in table.rows:
        for _, _, numbers in _outputs(table.name, row, row.cells[at], problems):
            for name in numbers.keys() - human:
                if name in kept or _is_taken(name):
                    problems.add(
                        table.name, row.line, OUTPUTS, f"a human score called {shown(name)}", "a name that no other column and no metric has",
                        "Rename it under human, for example " + shown(" ".join(f"human {name} score".split())),
                    )  # fmt: skip
            human.update(dict.fromkeys(numbers))
            meter.columns(row.line, len(kept) + len(human) + 2)
            meter.row(row.line, len(kept) + len(human) + 2)
    problems.check()
    columns = [*kept, "system", "output", *human]

    def rows() -> Iterator[TableRow]:
        for row in table.rows:
            document = {c: cell for c, cell in zip(table.columns, row.cells, strict=True) if c != OUTPUTS}
            for system, text, numbers in _outputs(table.name, row, row.cells[at], Collector()):
                cells: dict[str, Cell] = {**document, "system": system, "output": text, **numbers}
                yield TableRow(row.line, tuple(map(cells.get, columns)))

    return TableReading(table.name, islice(rows(), limit), columns, sha256=table.sha256)


def _is_taken(name: str) -> bool:
    """Return whether a number column of this name would be read as something other than human scores (segment, reference, metric …)."""
    table = FileTable("", ("system", "output", name), (TableRow(1, ("A", "text", "1")),))
    return not name or guess(table).human_scores != (name,)


def _outputs(file: str, row: TableRow, cell: Cell, problems: Collector) -> Iterator[tuple[str, str, dict[str, str]]]:
    outputs: Any = json.loads(cell.json) if isinstance(cell, Nested) else None
    if not isinstance(outputs, dict):
        got = "nothing" if cell is None else shown(cell if isinstance(cell, str) else str(cell))
        problems.add(file, row.line, OUTPUTS, got, "an object: {system: text}", "Use the form of the other documents")
        return
    for system, output in outputs.items():
        body = output if isinstance(output, dict) else {"text": output}
        text, human = body.get("text"), body.get("human") or {}
        numbers = isinstance(human, dict) and all(isinstance(value, str) for value in human.values())
        if not system or not isinstance(text, str) or not numbers:
            got = f"{system or 'no name'}: {shown(json.dumps(output, ensure_ascii=False))}"
            problems.add(file, row.line, OUTPUTS, got, _ONE, "Correct the document")
            continue
        yield system, text, human
