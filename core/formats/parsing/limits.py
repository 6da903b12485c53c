"""Size limits, checked while a file is read, so that a small hostile file cannot exhaust the memory."""

from __future__ import annotations

from core.errors import ImportProblems, Problem
from core.formats.problems import shown
from core.settings import Limits, load_limits

_WORDS = {
    "text_mb": "MB of text",
    "rows": "rows, lines or outputs",
    "cells": "cells",
    "columns": "columns",
    "cell_chars": "characters in one cell, line or JSON record",
}


def limits() -> Limits:
    """Return the limits of the settings. Raises `UserError` for a setting that is not a number."""
    return load_limits()


def too_much(file: str, line: int, field: str, limit: int) -> ImportProblems:
    """Return the error for a file that exceeds one of the `Limits`."""
    what = _WORDS[field]
    todo = f"Split the file, or set {Limits.variable(field)} to a higher number (docs/formats.md)"
    return ImportProblems([Problem(file, line, "", f"more than {limit:,} {what}", f"at most {limit:,}", todo)])


class Meter:
    """Count the rows and cells of one file. Raises `ImportProblems` when a limit is exceeded."""

    def __init__(self, file: str) -> None:
        self.file, self.limits = file, limits()
        self.rows = self.cells = 0

    def row(self, line: int, cells: int = 1) -> None:
        self.rows += 1
        self.cells += cells
        if self.rows > self.limits.rows:
            raise too_much(self.file, line, "rows", self.limits.rows)
        if self.cells > self.limits.cells:
            raise too_much(self.file, line, "cells", self.limits.cells)

    def columns(self, line: int, n: int) -> None:
        if n > self.limits.columns:
            raise too_much(self.file, line, "columns", self.limits.columns)

    def outputs(self, n: int) -> None:
        if n > self.limits.rows:
            raise too_much(self.file, 0, "rows", self.limits.rows)

    def systems(self, n: int, column: str = "") -> None:
        """Raise `ImportProblems` if an import has too many systems; `column` is the column with their names."""
        most = self.limits.systems
        if n > most:
            where = f" (now {shown(column)})" if column else ""
            names = f"Choose the column with the names of the systems{where}."
            todo = f"{names} If all are systems, set {Limits.variable('systems')} to a higher number (docs/formats.md)"
            found = f"more than {most:,} systems"
            raise ImportProblems([Problem(self.file, 0, column, found, f"at most {most:,}", todo)])

    def project(self, segments: int, systems: int) -> None:
        """Raise `ImportProblems` if a project would have too many cells: its segments times its systems."""
        most = self.limits.project_cells
        if segments * systems > most:
            split = "Import systems without common segments into separate projects"
            todo = f"{split}, or set {Limits.variable('project_cells')} to a higher number (docs/formats.md)"
            found = f"{segments:,} segments × {systems:,} systems = {segments * systems:,} cells of the project"
            raise ImportProblems([Problem(self.file, 0, "", found, f"at most {most:,} cells", todo)])

    def length(self, line: int, chars: int) -> None:
        if chars > self.limits.cell_chars:
            raise too_much(self.file, line, "cell_chars", self.limits.cell_chars)
