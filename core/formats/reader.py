"""Read cells of a table as texts, by column name."""

from __future__ import annotations

from core.formats.parsing.cells import Cell, FilePlace, FileTable, TableRow
from core.formats.problems import Collector, shown


class CellReader:
    """Read the cells of one table by column name; a cell that is not a text is a problem."""

    def __init__(self, table: FileTable, problems: Collector) -> None:
        self.table, self.file, self.problems = table, table.name, problems
        self.at = {column: i for i, column in enumerate(table.columns)}

    def place(self, row: TableRow) -> FilePlace:
        return FilePlace(self.file, row.line)

    def problem(self, row: TableRow, column: str, found: str, expected: str, todo: str) -> None:
        self.problems.add(self.file, row.line, column, found, expected, todo)

    def cell(self, row: TableRow, column: str | None) -> Cell:
        return None if column is None else row.cells[self.at[column]]

    def text(self, row: TableRow, column: str | None) -> str | None:
        if column is None:
            return None
        cell = row.cells[self.at[column]]
        if cell is None or isinstance(cell, str):
            return cell
        found = "a list" if isinstance(cell, tuple) else shown(cell.json)
        todo = "Map another column, or write the texts in it as columns of their own"
        self.problem(row, column or "", found, "one text", todo)
        return None

    def needed(self, row: TableRow, column: str, expected: str = "a text", *, may_be_empty: bool = False) -> str:
        """Return the text; "", and a problem, if there is none."""
        text = self.text(row, column)
        if self.cell(row, column) is None or (text == "" and not may_be_empty):
            self.problem(row, column, "nothing", expected, "Fill it in, or remove the row")
        return text or ""

    def references(self, row: TableRow, columns: tuple[str, ...]) -> tuple[str, ...]:
        out: list[str] = []
        for column in columns:
            cell = self.cell(row, column)
            out.extend(cell if isinstance(cell, tuple) else [self.text(row, column) or ""])
        return tuple(text for text in out if text)
