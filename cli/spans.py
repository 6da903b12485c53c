"""`spans`: import error spans as layers of a project, export layers, and compare them with gold layers, also from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cli.database import UNCHANGED, WHO, ProjectName, group, opened, project_of
from cli.options import (
    LARGEST_SEED,
    Columns,
    Out,
    check_ending,
    one_of,
    percent,
    print_note,
    print_result,
    read_texts,
)
from core.data import Dataset
from core.errors import UserError, unknown
from core.formats.files import file_at, stem
from core.formats.output import check, named, write_files
from core.formats.spans.layer_formats import FORMATS, guess, layer_format
from core.ports.store import Store
from core.reports.span_evaluation import as_csv, as_json, f_text, orders, sentence
from core.services.spans import layers as service
from core.services.spans.compared_layers import SpanChoice
from core.services.spans.evaluation import EVERY_ANNOTATOR, SpanEvaluation, evaluate_layers, evaluate_project
from core.services.spans.layers import LayerInfo, list_layers
from core.spans.layers import SpanLayer
from core.spans.measures import Average, SpanMeasure

spans_command = group()
SCORE = "compare layers with gold error spans: F with 95 % CIs beside annotators and trivial layers, tests, parts of the data"
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
        kind, read = service.read_file(store, target.id, upload)
        info = service.import_file(store, target.id, name or stem(upload.name), upload, kind, read, percent("import"))
        store.audit.record(WHO, "span layer imported", target.id, name=info.label)
        if left_out is not None:
            write_files({left_out: service.left_out_csv(read)})
        print_note(*(f"left out: {line}" for line in service.counts_of(read.reasons)))
        print_note(*(f"note: {line}" for line in service.counts_of(read.notes)))
        print_result(f"{info.label} ({FORMATS[kind].label}): {service.summary(read)}")


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
        written = service.export_layer(store, source.id, layer_of(store, source.id, layer).name, format)
        paths = [file, *(file.with_stem(f"{file.stem}.{n}") for n in range(2, len(written.texts) + 1))]
        write_files(dict(zip(paths, written.texts, strict=True)))
        store.audit.record(WHO, "exported", source.id, file=f"spans {format}")
        print_note(*(f"note: {note}" for note in written.lost))
        print_result(f"{file}: {file.stat().st_size:,} bytes")


@spans_command.command("score", help=SCORE)
def score_layers(
    context: typer.Context,
    out: Out,
    layers: Annotated[
        list[str] | None,
        typer.Argument(metavar="LAYER", help="files of error spans; with --project, names of its layers (default: all but annotators)"),
    ] = None,
    gold: Annotated[
        list[str] | None,
        typer.Option(help="gold layer: file or name. Several are annotators, each gold in turn; with --project, the default is all annotators"),
    ] = None,
    project: Annotated[str | None, typer.Option(metavar="PROJECT", help="name or number of the project that has the layers")] = None,
    outputs: Annotated[list[Path] | None, typer.Option(help="file with the outputs, for files of error spans. Repeatable")] = None,
    measure: Annotated[SpanMeasure, typer.Option(help="mpp is recommended; em: exact match; mp: any overlap; wmt25: characters")] = "mpp",
    average: Annotated[Average, typer.Option(help="sums of all outputs, or the mean F of outputs")] = "micro",
    severity_penalty: Annotated[
        float, typer.Option(min=0, max=1, help="share of its credit that a matched pair of different severity loses (mpp, em, mp)")
    ] = 0.0,
    draws: Annotated[int, typer.Option(min=0, max=100_000, help="bootstrap draws of the CIs")] = 1000,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="random seed of the CIs and tests")] = 0,
    column: Columns = None,
) -> None:  # fmt: skip
    """Compare, write a CSV or JSON file, and print the result. Raises `UserError` for layers that cannot be read or compared."""
    check_ending(out, ".csv", ".json")
    choice, gold, names = SpanChoice(measure, average, severity_penalty, seed, draws), gold or [], layers or []
    if (project is None) == (not outputs):
        raise UserError(
            "name either a project or the outputs", where="--project, --outputs",
            hint="Layers of a project need --project; files of error spans need --outputs",
        )  # fmt: skip
    if project is not None:
        check([], [("--out", out)])
        with opened(context, UNCHANGED) as store:
            done = _of_project(store, project_of(store, project).id, gold, names, choice)
    else:
        paths = [Path(name) for name in (*gold, *names)]
        check([*named("--outputs", *outputs or ()), *named("LAYER", *paths)], [("--out", out)])
        if not gold or not names:
            raise UserError("there are no error spans to compare", hint="Give --gold FILE and at least one other file")
        dataset = read_texts(outputs or [], column)
        of_gold, others = ([_read(Path(name), dataset) for name in some] for some in (gold, names))
        texts = {output.key: output.text for output in dataset.outputs}
        people = of_gold if len(of_gold) > 1 else []
        done = evaluate_layers(of_gold, others, people, lambda keys: texts, choice, percent("error spans"))
    write_files({out: as_csv(done) if out.suffix == ".csv" else as_json(done)})
    print_note(*done.notes, *orders(done), *filter(None, [done.ranking]))
    print_result("\n".join([sentence(done), *(f"{row.layer}: {f_text(row)}" for row in done.rows)]))


def _of_project(
    store: Store, project_id: int, gold: Sequence[str], names: Sequence[str], choice: SpanChoice
) -> SpanEvaluation:
    infos = list_layers(store, project_id)
    people = [info.name for info in infos if info.origin == "annotator"]
    if len(gold) > 1:
        raise UserError(
            "one gold layer of a project can be named", where="--gold", hint="Leave it out for all annotators"
        )
    if not gold and not people:
        raise UserError("the project has no annotators", hint="Name the gold layer with --gold")
    of_gold = layer_of(store, project_id, gold[0]).name if gold else EVERY_ANNOTATOR if len(people) > 1 else people[0]
    chosen = [layer_of(store, project_id, name).name for name in names]
    chosen = chosen or [info.name for info in infos if info.origin != "annotator" and info.name != of_gold]
    if not chosen:
        raise unknown("other layer", of_gold, [info.name for info in infos])
    return evaluate_project(store, project_id, of_gold, chosen, choice, progress=percent("error spans"))


def _read(path: Path, dataset: Dataset) -> SpanLayer:
    upload = file_at(path)
    read = layer_format(guess(upload)).read(upload, dataset)
    return SpanLayer(f"file:{path}", stem(upload.name), "file", read.spans, left_out=read.reasons)


def layer_of(store: Store, project_id: int, asked: str) -> LayerInfo:
    """Return the layer of this name, else the only one with this label. Raises `UserError` if there is none, or several."""
    layers = list_layers(store, project_id)
    matching = [of for of in layers if of.name == asked] or [of for of in layers if of.label == asked]
    if len(matching) != 1:
        raise unknown("span layer", asked, [of.name for of in layers])
    return matching[0]
