"""Cells of a table by column name, as texts."""

from __future__ import annotations

from core.formats.cells import Cell, Row, Table
from core.formats.problems import Collector, shown


class CellReader:
    """Cells of one table by column name; a cell that is no text is a problem."""

    def __init__(self, table: Table, problems: Collector) -> None:
        self.file, self.problems = table.name, problems
        self.at = {column: i for i, column in enumerate(table.columns)}

    def cell(self, row: Row, column: str | None) -> Cell:
        return None if column is None else row.cells[self.at[column]]

    def text(self, row: Row, column: str | None) -> str | None:
        cell = self.cell(row, column)
        if cell is None or isinstance(cell, str):
            return cell
        found = "a list" if isinstance(cell, tuple) else f"{shown(cell.json)}"
        self.problems.add(
            self.file, row.line, column or "", found, "one text", "Map another column, or write a text there"
        )
        return None

    def references(self, row: Row, columns: tuple[str, ...]) -> tuple[str, ...]:
        out: list[str] = []
        for column in columns:
            cell = self.cell(row, column)
            out.extend(cell if isinstance(cell, tuple) else [self.text(row, column) or ""])
        return tuple(text for text in out if text)
