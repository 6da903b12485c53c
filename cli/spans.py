"""`spans`: import error spans as layers of a project, export layers, and compare them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.database import UNCHANGED, WHO, ProjectName, group, opened, project_of
from cli.options import one_of, percent, print_note, print_result
from cli.span_scores import SCORE, layer_of, score_layers
from core.errors import UserError
from core.formats.files import file_at, stem
from core.formats.output import check, named, write_files
from core.formats.spans.layer_formats import FORMATS
from core.services.spans import files
from core.services.spans.layers import list_layers

spans_command = group()
spans_command.command("score", help=SCORE)(score_layers)

WRITABLE = [name for name, of in FORMATS.items() if of.write]
Layer = Annotated[
    str | None, typer.Argument(metavar="LAYER", help="name of a layer, as the command without it lists them")
]


@spans_command.command("import", help="add the error spans of a file to a project, as a layer: all or nothing")
def import_file(
    context: typer.Context,
    project: ProjectName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="error spans in a format of docs/spans.md (also .gz)")],
    name: Annotated[str | None, typer.Option(help="name of the layer; default: that of the file")] = None,
    left_out: Annotated[
        Path | None, typer.Option("--left-out", metavar="FILE", help="write what is left out, one row each with its reason, as CSV")
    ] = None,
) -> None:  # fmt: skip
    check(named("FILE", file), named("--left-out", left_out))
    with opened(context, UNCHANGED) as store:
        target, upload = project_of(store, project), file_at(file)
        kind, read = files.read_file(store, target.id, upload)
        info = files.import_file(store, target.id, name or stem(upload.name), upload, kind, read, percent("import"))
        store.audit.record(WHO, "span layer imported", target.id, name=info.label)
        if left_out is not None:
            write_files({left_out: files.left_out_csv(read)})
        print_note(*(f"left out: {line}" for line in files.counts_of(read.reasons)))
        print_note(*(f"note: {line}" for line in files.counts_of(read.notes)))
        print_result(f"{info.label} ({FORMATS[kind].label}): {files.summary(read)}")


@spans_command.command("export", help="write a layer as a file; without LAYER, list the layers of the project")
def export_file(
    context: typer.Context,
    project: ProjectName,
    layer: Layer = None,
    format: Annotated[
        str | None, typer.Argument(parser=one_of(WRITABLE), metavar="FORMAT", help=f"one of {', '.join(WRITABLE)}")
    ] = None,
    file: Annotated[Path | None, typer.Argument(metavar="FILE")] = None,
) -> None:
    with opened(context, UNCHANGED) as store:
        source = project_of(store, project)
        if layer is None:
            print_result(
                "\n".join(f"{of.name}: {of.label}, {of.outputs:,} outputs" for of in list_layers(store, source.id))
            )
            return
        if format is None or file is None:
            raise UserError("name the format and the file to write", hint="spans export PROJECT LAYER FORMAT FILE")
        check([], named("FILE", file))
        written = files.export_layer(store, source.id, layer_of(store, source.id, layer).name, format)
        paths = [file, *(file.with_stem(f"{file.stem}.{n}") for n in range(2, len(written.texts) + 1))]
        write_files(dict(zip(paths, written.texts, strict=True)))
        store.audit.record(WHO, "exported", source.id, file=f"spans {format}")
        print_note(*(f"note: {note}" for note in written.lost))
        print_result(f"{file}: {file.stat().st_size:,} bytes")
