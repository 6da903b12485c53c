"""Read and write the ratings of mt-metrics-eval: `.seg.rating` files, and standalone ratings with texts.

Read and write mt-metrics-eval's `.seg.rating` files: `SYSTEM ⇥ {"errors": […]} ⇥ RATER`, one line per segment, in blocks by system.
According to its `ratings.py`, an error has `start`, `end` (characters of the raw text, `end` exclusive), `category`, `severity`, `score`
(of the error itself, by a rater or model; None in human labels) and `is_source_error`. An unrated segment is `None`, without a rater.
Without a third column the rater is named after the file (`en-de.mqm.rater1.seg.rating` → rater1). The lines of a system are in the order
of the test set, and the texts are not in the file: reading needs the outputs.

A line has one rating. If outputs have several raters, several files are written, the n-th with the n-th rating of each output. A note is
stored in the error under the key `note`, which mt-metrics-eval ignores. References and unrated outputs are not part of the format.

Read and write mt-metrics-eval's standalone ratings: JSON Lines with the texts, one object per output and rater.
According to its `standalone_ratings.py`: `source`, `hypothesis`, `errors` (as in `.seg.rating`, `end` exclusive), `document_id`,
`segment_id` (the position in the test set, from 0), `system_id`, `rater_id`, `src_lang`, `tgt_lang`. An output without errors has an
empty list. Additional keys are ignored by mt-metrics-eval: a segment id that differs from the position is stored as `segment_name`, a
note as `note` of its error. A missing source is "".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from core.data import Dataset, OutputKey, RatedOutput, Side, Span
from core.errors import UserError
from core.formats.files import Upload, base_name
from core.formats.labels.label_file import (
    Gatherer,
    LabelFile,
    ProjectTotals,
    Severities,
    Written,
    category_or_none,
    checked,
    left_behind,
)
from core.formats.parsing.json_records import Record
from core.formats.parsing.json_records import records as read_records
from core.formats.parsing.json_text import NotJson, parsed
from core.formats.problems import refused, shown
from core.formats.streams.opened import numbered_lines
from core.formats.write import json_lines
from core.formatting import format_count

_ENDING = re.compile(r"(\.(seg|sys))?\.(rating|score)s?(\.gz)?$", re.IGNORECASE)
_NO_NAME = re.compile(r"[\t\n\r]|^\s|\s$|^$")
_IGNORED = "mt-metrics-eval ignores"


def read_ratings(upload: Upload, severities: Severities, texts: Dataset | None) -> LabelFile:
    """Read ratings of the outputs in `texts`, whose segments are in the order of the test set. Raises `ImportProblems`."""
    known = needed(upload, texts)
    gatherer = Gatherer(upload.name, severities, known)
    rater_of_file = name_in(upload.name).rpartition(".")[2]
    scores = 0
    for number, key, rest in blocks(upload, gatherer, known, lambda line: line.partition("\t")):
        said, _, rater = rest.partition("\t")
        if said == "None":
            continue
        if gatherer.output(key) is None:
            gatherer.no_output(number, key, "a rating", "rated")
            continue
        why = ""
        try:
            value = parsed(said)
        except NotJson as error:
            value, why = None, f" ({error})" if error.unstorable else ""
        if not isinstance(value, dict):
            gatherer.problem(number, "", shown(said) + why, '{"errors": […]} or None', "Export the file again")
            continue
        errors = Record(upload.name, number, value, gatherer.problems).records("errors")
        scores += sum(e.values.get("score") is not None for e in errors)
        gatherer.rating(number, key, rater or rater_of_file, [error_of(gatherer, e, key) for e in errors])
    scores_unused(gatherer, scores)
    return gatherer.done()


def needed(upload: Upload, texts: Dataset | None) -> Dataset:
    """Return the texts for a file without texts. Raises `ImportProblems` if there are none."""
    if texts is not None and texts.segments:
        return texts
    got = "labels or scores without texts"
    todo = "Import the outputs first, then this file into their project (on the command line, give them as --texts)"
    raise refused(upload.name, 0, got, "the outputs of this file", todo)


def blocks(
    upload: Upload, gatherer: Gatherer, known: Dataset, split: Callable[[str], tuple[str, str, str]]
) -> Iterator[tuple[int, OutputKey, str]]:
    """Yield the line, the output and the rest of each line of a known system; `split` cuts a line after the system.

    At the end add a problem for unknown systems, and for each system with a wrong number of lines.
    """
    keys, n, systems = [s.key for s in known.segments], len(known.segments), dict.fromkeys(known.systems)
    seen: dict[str, int] = {}
    for number, line in numbered_lines(upload):
        if line.strip():
            system, _, rest = split(line.strip())
            place = seen[system] = seen.get(system, 0) + 1
            if place <= n and system in systems:
                yield number, OutputKey(system, *keys[place - 1]), rest
    if others := [system for system in seen if system not in systems]:
        todo = "Give the systems the same names in both, or choose other outputs"
        named = f"{'a system' if len(others) == 1 else 'systems'} named {', '.join(map(shown, others))}"
        gatherer.problem(0, "", named, ", ".join(map(shown, systems)), todo)
    for system, lines in seen.items():
        if system in systems and lines != n:
            todo = "Every system needs one line per segment, None if there is no rating"
            gatherer.problem(
                0, "", f"{format_count(lines, 'line')} of {shown(system)}", format_count(n, "segment"), todo
            )


def scores_unused(gatherer: Gatherer, n: int) -> None:
    if n:
        gatherer.warn(0, "score", f"scores of {format_count(n, 'error')}", "none", "They are left out")


def error_of(gatherer: Gatherer, record: Record, key: OutputKey) -> Span | None:
    """Return an error object of mt-metrics-eval as a span in the output or its source."""
    start, end = record.whole("start"), record.whole("end")
    note = record.text("note", needed=False) or ""
    if start is None or end is None:
        return None
    side: Side = "source" if record.flag("is_source_error") else "output"
    severity, category = record.text("severity", needed=False), record.text("category", needed=False)
    return gatherer.span(record.line, key, side, start, end, severity, category, note)


def error_json(e: Span) -> dict[str, Any]:
    """Return a span in the form of mt-metrics-eval, with its note, if any, under an additional key."""
    plain = {
        "start": e.start, "end": e.end, "category": category_or_none(e.category), "severity": e.severity,
        "score": None, "is_source_error": e.side == "source",
    }  # fmt: skip
    return plain | ({"note": e.note} if e.note else {})


def name_in(file: str) -> str:
    """Return the NAME of `SRC-TGT.NAME.seg.rating` or `.seg.score`; other file names without these endings."""
    whole = _ENDING.sub("", base_name(file))
    pair, dot, name = whole.partition(".")
    return name if dot and name and re.fullmatch(r"[A-Za-z_]+-[A-Za-z_]+", pair) else whole


def write_ratings(dataset: Dataset, rated: Iterable[RatedOutput], project: ProjectTotals) -> Written:
    """Write as many files as the largest number of raters per output; systems sorted by name, as in mt-metrics-eval.

    Raises `UserError` for labels that do not match their texts, and for a system or rater name that cannot be written.
    """
    labels = checked(dataset, rated)
    of = labels.by_output()
    systems = sorted({key.system for key in of})
    for name in (*systems, *(r.rater for r in labels.rated)):
        refuse_name(name, _NO_NAME, "tabs, line breaks, or blanks at the ends")
    files = []
    for n in range(max(map(len, of.values()), default=0)):
        lines = []
        for system in systems:
            for segment in dataset.segments:
                ratings = of.get(OutputKey(system, *segment.key), [])
                lines.append(f"{system}\t{_line(ratings[n])}\n" if n < len(ratings) else f"{system}\tNone\n")
        files.append("".join(lines))
    lost = ["Texts: not in the file. It needs the outputs in the same order.", *labels.notes_kept(_IGNORED)]
    if len(files) > 1:
        lost.append(f"{len(files)} files: a line has one rating, and some outputs have {len(files)}.")
    return Written(tuple(files), (*lost, *left_behind(project, labels.rated)))


def refuse_name(name: str, pattern: re.Pattern[str], what: str) -> None:
    if pattern.search(name):
        raise UserError(
            "mt-metrics-eval files cannot store this name", got=repr(name), expected=f"a name without {what}",
            hint="Rename it, or export in another format",
        )  # fmt: skip


def _line(r: RatedOutput) -> str:
    return f"{json.dumps({'errors': [error_json(e) for e in r.errors]})}\t{r.rater}"


def read_standalone(upload: Upload, severities: Severities, texts: Dataset | None = None) -> LabelFile:
    """Read the ratings with their texts; a missing rater is named "rater", as in mt-metrics-eval. Raises `ImportProblems`."""
    gatherer = Gatherer(upload.name, severities)
    scores = 0
    for record in read_records(upload, gatherer.problems):
        gatherer.languages(record.line, *(record.text(name, needed=False) for name in ("src_lang", "tgt_lang")))
        system, text = record.text("system_id"), record.text("hypothesis")
        segment = record.text("segment_name", "segment_id")
        errors = record.records("errors")
        if system is None or text is None or segment is None:
            continue
        key = OutputKey(system, record.text("document_id", needed=False) or "", segment)
        gatherer.add_texts(record.line, key, record.text("source", needed=False), text)
        scores += sum(e.values.get("score") is not None for e in errors)
        rater = record.text("rater_id", needed=False) or "rater"
        gatherer.rating(record.line, key, rater, [error_of(gatherer, e, key) for e in errors])
    scores_unused(gatherer, scores)
    return gatherer.done()


def write_standalone(dataset: Dataset, rated: Iterable[RatedOutput], project: ProjectTotals) -> Written:
    """Write one object per rating, in the order given. Raises `UserError` for labels that do not match their texts."""
    labels = checked(dataset, rated)
    records: list[dict[str, Any]] = []
    for r in labels.rated:
        at = labels.place[r.key.segment]
        records.append({
            "source": labels.source(r.key), "hypothesis": labels.texts[r.key],
            "errors": [error_json(e) for e in r.errors], "document_id": r.key.doc_id, "segment_id": at,
            "system_id": r.key.system, "rater_id": r.rater, "src_lang": None, "tgt_lang": None,
        })  # fmt: skip
        if r.key.segment_id != str(at):
            records[-1]["segment_name"] = r.key.segment_id
    lost = labels.notes_kept(_IGNORED)
    if any("segment_name" in record for record in records):
        lost.append("Segment ids: mt-metrics-eval reads positions from 0; the original ids are kept as segment_name.")
    return Written((json_lines(records),), (*lost, *left_behind(project, labels.rated)))
