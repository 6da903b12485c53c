"""Import files of error spans as layers of a project, and export layers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from core.errors import UserError
from core.formats.files import Upload, base_name
from core.formats.labels.label_file import Written
from core.formats.spans.layer_file import LayerFile, OmittedSpan
from core.formats.spans.layer_formats import FORMATS, guess, layer_format
from core.formats.write import csv_text
from core.formatting import format_count
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.compare.inspector import Marks
from core.services.spans.layers import LayerInfo, add_layer, load_layer


def read_file(store: Store, project_id: int, upload: Upload) -> tuple[str, LayerFile]:
    """Return the format of a file, recognised by its content, and its spans for the outputs of a project. Nothing is stored.

    Raises `UserError` and `ImportProblems`.
    """
    name = guess(upload)
    return name, layer_format(name).read(upload, store.projects.dataset(project_id))


def import_file(
    store: Store,
    project_id: int,
    name: str,
    upload: Upload,
    format: str,
    read: LayerFile,
    progress: Progress = no_progress,
) -> LayerInfo:
    """Store what was read as a layer. Raises `UserError` if the name is empty or taken; nothing is changed then."""
    provenance = {
        "file": base_name(upload.name), "sha256": upload.sha256(), "format": FORMATS[format].label,
        "imported": datetime.now(UTC).isoformat(timespec="seconds"),
    } | {what: str(n) for what, n in read.notes.items()}  # fmt: skip
    return add_layer(store, project_id, name, read.spans, provenance, read.reasons, progress)


def export_layer(store: Store, project_id: int, name: str, format: str, marks: Marks | None = None) -> Written:
    """Return a layer as a file, with what the format cannot hold. Raises `UserError` for an unknown layer or format."""
    write = layer_format(format).write
    if write is None:
        raise UserError(
            "this format is only read", got=format, expected=", ".join(n for n, f in FORMATS.items() if f.write)
        )
    return write(load_layer(store, project_id, name, marks), store.projects.dataset(project_id))


def summary(read: LayerFile) -> str:
    """Return `160 outputs examined, 210 error spans (3 outputs without)`."""
    clean = sum(not spans for spans in read.spans.values())
    spans = format_count(sum(map(len, read.spans.values())), "error span")
    return f"{format_count(len(read.spans), 'output')} examined, {spans}, {clean:,} without an error"


def counts_of(counts: Mapping[str, int]) -> list[str]:
    """Return `3 × quote not found` for each."""
    return [f"{n:,} × {what}" for what, n in counts.items()]


def left_out_csv(read: LayerFile) -> str:
    """Return a table of everything that was left out."""
    return csv_text(OmittedSpan._fields, read.left_out)
