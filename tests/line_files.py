"""Line-aligned text files as an import, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.formats.files import Upload
from core.formats.lines import stage_roles
from core.formats.mapping import LineRoles
from core.formats.streams.file_rows import FileRows
from core.formats.streams.staged import StagedImport


def stage_lines(source: Upload | None, references: Sequence[Upload], systems: Mapping[str, Upload]) -> StagedImport:
    """Return the import of a source, references, and the outputs of each system."""
    files, rows = [*([source] if source else []), *references, *systems.values()], FileRows()
    roles = LineRoles(
        source.name if source else None,
        tuple(file.name for file in references),
        tuple((file.name, system) for system, file in systems.items()),
    )
    return stage_roles({file.name: rows.add_lines(file) for file in files}, roles)
