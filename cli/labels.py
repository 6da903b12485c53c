"""`mqm` and `convert`: compute MQM scores from labels, and convert labels between formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cli.options import Columns, MqmScheme, Out, print_notes, read_texts
from core.data import OutputKey
from core.errors import PROGRAM, ImportProblems, Problem, UserError
from core.formats import mtme_score, output
from core.formats.campaigns.campaign_formats import BATCHES, recognised
from core.formats.files import file_at
from core.formats.labels import google_mqm
from core.formats.labels.label_file import Severities, Written
from core.formats.labels.label_formats import guess, label_format
from core.formats.labels.record_texts import described
from core.formats.write import csv_text
from core.mqm.schemes import Scheme
from core.mqm.schemes import scheme as named
from core.mqm.scores import SegmentScore, SystemScore, segment_scores, system_scores
from core.services.export.export import write_labels
from core.services.projects.label_import import LabelFiles, read_label_files


def mqm_command(
    file: Annotated[Path, typer.Argument(help="MQM labels in Google's TSV format, also .gz")],
    out: Out,
    scheme: MqmScheme = "google",
    by: Annotated[
        Literal["segment", "system"], typer.Option(help="write scores per segment, or means per system")
    ] = "segment",
) -> None:
    """Write the segment scores (system, doc_id, segment_id, score, n_raters), or system means (system, score, n_segments, n_raters), best first.

    Exact duplicates of an error count once. Prints warnings about the file. Scores are ≤ 0; higher is better. Raises `UserError` for a file that cannot be read, and for an unknown scheme or severity.
    """
    weights = named(scheme)
    output.check([("the labels", file)], [("--out", out)])
    upload = file_at(file)
    labels = google_mqm.read_google_mqm(upload.data, upload.name)
    try:
        scores = segment_scores(labels.rated, weights)
    except UserError as error:
        raise ImportProblems(_unweighed(labels, weights, file.name)) from error
    if by == "system":
        text = csv_text(SystemScore._fields, system_scores(labels.rated, weights))
    else:
        text = csv_text(SegmentScore._fields, scores)
    output.write_files({out: text})
    print_notes([w.sentence() for w in labels.warnings])


def _unweighed(labels: google_mqm.GoogleMqm, weights: Scheme, file: str) -> list[Problem]:
    """Return every error whose severity has no weight in the scheme, with its line."""
    todo = f"Fix the line, or rename the severity: {PROGRAM} convert --severity NAME=OURS"
    problems = []
    for (_, _, error), line in labels.lines.items():
        try:
            weights.weight(error.severity, error.category)
        except UserError:
            expected = ", ".join(weights.severities)
            problems.append(Problem(file, line, "severity", repr(error.severity), expected, todo))
    return problems


def convert_command(
    labels: Annotated[list[Path], typer.Argument(help="label files in a format of docs/formats.md (also .gz)")],
    to: Annotated[
        str, typer.Option(help="output format: google, marot, mtme, mtme-jsonl, esa, label-studio or mtme-score")
    ],
    out: Out,
    source: Annotated[
        str | None, typer.Option("--from", help="input format; detected from the content by default")
    ] = None,
    texts: Annotated[
        list[Path] | None, typer.Option(help="file with the outputs, for label formats without texts; repeatable")
    ] = None,
    severity: Annotated[
        list[str] | None, typer.Option(help="rename a severity, such as critical=Major; repeatable")
    ] = None,
    score: Annotated[str | None, typer.Option(help="human score to write as .seg.score instead of the labels")] = None,
    column: Columns = None,
) -> None:
    """Write the labels and print warnings about the files and what the format cannot hold.

    If the format holds one rating per output and some outputs have more, several numbered files are written. Raises `UserError`
    and `ImportProblems`; nothing is written then.
    """
    label_format(to)
    inputs = [*output.named("the labels", *labels), *output.named("--texts", *texts or ())]
    output.check(inputs, [("--out", out)])
    uploads = [file_at(path) for path in labels]
    formats = {u.name: label_format(source).name if source else guess(u) or "" for u in uploads}
    if unknown := next((u for u in uploads if not formats[u.name]), None):
        if kind := recognised(unknown):
            kind = "appraise" if kind == BATCHES else kind
            hint = f"{PROGRAM} campaign analyse and import read it, with --format {kind}"
            raise UserError("this file belongs to a campaign of another tool", where=unknown.name, hint=hint)
        form = described(unknown)
        hint = f"{form.todo}. --from names a format that cannot be detected"
        raise UserError("the format cannot be detected", where=unknown.name, got=form.got, hint=hint)
    label_files = read_label_files(
        uploads, formats, read_texts(texts, column) if texts else None, Severities(dict(map(_renamed, severity or ())))
    )
    if label_files.problems:
        raise ImportProblems(label_files.problems)
    written = _of_score(label_files, to, score) if score else _of_labels(label_files, to)
    names = [out] if len(written.texts) < 2 else [_numbered(out, n) for n in range(1, len(written.texts) + 1)]
    output.check(inputs, output.named("--out", *names))
    output.write_files(dict(zip(names, written.texts, strict=True)))
    also = [f"written: {', '.join(map(str, names))}"] if len(names) > 1 else []
    print_notes([*also, *written.lost, *(w.sentence() for w in label_files.warnings)])


def _renamed(pair: str) -> tuple[str, str]:
    theirs, equals, ours = pair.partition("=")
    if not equals:
        raise UserError(
            "cannot rename this severity",
            where="--severity",
            got=repr(pair),
            expected="NAME=OURS, such as critical=Major",
        )
    return theirs, ours


def _of_labels(label_files: LabelFiles, to: str) -> Written:
    if not label_files.rated:
        names = ", ".join(dict.fromkeys(h.name for h in label_files.scored.human_scores))
        raise UserError("the files have scores but no labels", got=names, hint="Add --score NAME and --to mtme-score")
    return write_labels(label_files.dataset, label_files.rated, to)


def _of_score(label_files: LabelFiles, to: str, score: str) -> Written:
    values = {OutputKey(*h[:3]): h.value for h in label_files.scored.human_scores if h.name == score}
    if not values:
        names = ", ".join(dict.fromkeys(h.name for h in label_files.scored.human_scores)) or "none"
        raise UserError("the files have no human score of this name", where="--score", got=repr(score), expected=names)
    if label_format(to).name != "mtme-score":
        raise UserError("scores can only be written as .seg.score", where="--to", got=to, expected="mtme-score")
    return Written((mtme_score.write_mtme_scores(label_files.dataset, values),))


def _numbered(out: Path, n: int) -> Path:
    """Return the path with a number: `labels.seg.rating` → `labels.1.seg.rating`."""
    stem, dot, ending = out.name.partition(".")
    return out.with_name(f"{stem}.{n}{dot}{ending}")
