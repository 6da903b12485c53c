"""Formats of error spans: read a file as a layer, and write a layer.

Replies of GEMBA-MQM, GEMBA-ESA and AutoMQM in the form of GEMBA's first version are read strictly: a reply has the headings `Critical:`
(optional), `Major:` and `Minor:`, each followed by `no-error` or by lines `category/subcategory - "quote"`. Anything else makes the whole
reply unreadable: it is never "no error", and no text becomes an error that is none (the parser published with GEMBA counts an empty
reply, a refusal and `**Major:**` as perfect).

JSON records name their output by `system`, `doc_id` and `segment_id`, or by its texts `mt` and `src` (other common names are read too).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from core.data import Dataset, Side
from core.errors import UserError, unknown
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating
from core.formats.campaigns.wmt25 import read_wmt25_spans, write_wmt25_spans
from core.formats.files import Upload, beginning_text, raw_lines, stem
from core.formats.labels.label_file import UNSPECIFIED, Written, sentences_left_out
from core.formats.parsing.json_records import HEAD_BYTES, Record, read_record, records
from core.formats.parsing.json_text import NotJson, holds_members, members, parsed
from core.formats.problems import Collector, shown
from core.formats.spans.layer_file import (
    DIFFERENT_TEXT,
    NO_OUTPUT,
    LayerFile,
    LayerReading,
    OutputNames,
)
from core.formats.streams.opened import text_bytes
from core.formats.write import json_lines, json_text
from core.spans.layers import LayerSpan, SpanLayer, Spans, spans_to_json
from core.spans.quotes import Quote, place_quotes

TEXT = ("mt", "output", "hypothesis", "translation", "target", "tgt")
SOURCE = ("src", "source")
REPLY = ("reply", "answer", "response", "gemba_mqm")
_QUOTE = ("span", "error_span", "quote", "text")
_CONTEXT = ("span_with_context", "context")


NON_TRANSLATION = "Non-translation!"
_HEADING = re.compile(r"[*#_\s]*(critical|major|minor)(?:\s+errors?)?[*_\s]*:[*_\s]*(.*)", re.IGNORECASE)
_NO_ERROR = re.compile(r"no[- ]errors?\.?", re.IGNORECASE)
_ERROR = re.compile(r"(?P<category>[^\"“”„«»]+?)\s+[-–—]\s+(?P<quote>[\"“„«].*[\"”“»])\s*\.?")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_NEEDED = {"major", "minor"}


class Unreadable(ValueError):  # noqa: N818  (what the reply is)
    """Why a reply cannot be read."""


def read_reply(reply: str) -> list[Quote]:
    """Return the quoted errors of a reply, empty if it says "no error" throughout. Raises `Unreadable`."""
    listed: dict[str, list[Quote]] = {}
    clean: set[str] = set()
    heading = ""
    for line in filter(str.strip, reply.splitlines()):
        of_heading = _HEADING.fullmatch(line)
        if of_heading:
            heading = of_heading[1].casefold()
            if heading in listed:
                raise Unreadable(f"“{heading}” occurs twice")
            listed[heading] = []
        elif not heading:
            raise Unreadable(f"text before the first heading: {shown(line.strip())}")
        said = of_heading[2].strip() if of_heading else _BULLET.sub("", line, count=1).strip()
        if not said:
            continue
        if _NO_ERROR.fullmatch(said):
            clean.add(heading)
        else:
            listed[heading].append(_error(said, heading))
    if missing := sorted(_NEEDED - listed.keys()):
        raise Unreadable(
            f"no heading “{missing[0].capitalize()}:”; the reply may be cut" if reply.strip() else "the reply is empty"
        )
    for name, errors in listed.items():
        if (name in clean) == bool(errors):
            raise Unreadable(
                f"“{name}” has errors and no-error" if errors else f"nothing is under “{name}”; the reply may be cut"
            )
    return [quote for errors in listed.values() for quote in errors]


def _error(line: str, severity: str) -> Quote:
    error = _ERROR.fullmatch(line)
    if error is None:
        raise Unreadable(f"this line is not an error: {shown(line)}")
    return Quote(error["quote"][1:-1], severity, category_path(error["category"]))


def category_path(name: str) -> str:
    """Return a category with capitals as in our tree: accuracy/mistranslation → Accuracy/Mistranslation."""
    parts = [part.strip() for part in name.split("/")]
    if parts[0].casefold().startswith("non-translation"):
        return NON_TRANSLATION
    return "/".join(part[:1].upper() + part[1:] for part in parts if part) or "Unspecified"


def _names(record: Record, system: str | None = None) -> OutputNames:
    return OutputNames(
        record.text("system", "system_id", needed=False) or system, record.text("doc_id", "document_id", needed=False),
        record.text("segment_id", "seg_id", needed=False), record.text(*TEXT, needed=False), record.text(*SOURCE, needed=False),
    )  # fmt: skip


def _each_record(upload: Upload, reading: LayerReading) -> Iterator[tuple[Record, OutputNames]]:
    """Yield the records with the names of their outputs: one per line, one list, or an object with a list per system (COMET)."""
    every: Iterator[tuple[Record, str | None]] = ((record, None) for record in records(upload, reading.problems))
    if holds_members(beginning_text(upload, HEAD_BYTES)):
        of_systems = members(upload.name, raw_lines(text_bytes(upload, by_line=False)))
        every = (
            (record, stem(system))
            for system, line, text in of_systems
            if (record := read_record(upload.name, line, text, reading.problems)) is not None
        )
    for record, system in every:
        names = _names(record, system)
        if names.text is None and (names.system is None or names.segment_id is None):
            record.problem("", "no output", "system and segment_id, or mt", "Add the name of the output, or its text")
        else:
            yield record, names


class _ReadError(NamedTuple):
    """An error as a record has it; `place` are its offsets in the text of the record, None if it is only quoted."""

    quote: Quote
    place: tuple[int, int] | None = None


def _read_error(error: Record) -> _ReadError | None:
    """Return an error; None, and a problem, if its form is wrong."""
    place = None
    if "start" in error.values or "end" in error.values:
        start, end = error.whole("start"), error.whole("end")
        if start is None or end is None:
            return None
        place = (start, end)
    side: Side | None = error.values.get("side")
    of_source = error.values.get("is_source_error")
    if side not in (None, "output", "source"):
        error.problem("side", shown(str(side)), "output or source")
        return None
    if isinstance(of_source, bool):
        side = "source" if of_source else "output"
    confidence = error.values.get("confidence")
    is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if confidence is not None and not (is_number and 0 <= confidence <= 1):
        error.problem("confidence", shown(str(confidence)), "a number from 0 to 1")
        return None
    text = error.text(*_QUOTE, needed=place is None) or ""
    category = error.text("category", needed=False) or UNSPECIFIED
    quote = Quote(
        text, str(error.values.get("severity")), category if place else category_path(category), side,
        error.text(*_CONTEXT, needed=False) or "", confidence, error.text("note", needed=False) or "",
    )  # fmt: skip
    return _ReadError(quote, place)


def _of_record(record: Record) -> list[_ReadError] | None:
    errors = record.records("spans", "errors", "error_spans")
    if not any(isinstance(record.values.get(name), list) for name in ("spans", "errors", "error_spans")):
        return None
    return [read for error in errors if (read := _read_error(error)) is not None]


def _of_reply(reply: str) -> list[_ReadError]:
    """Return the errors of a reply, a JSON list or in GEMBA's form. Raises `Unreadable`."""
    if not reply.lstrip().startswith("["):
        return [_ReadError(quote) for quote in read_reply(reply)]
    problems = Collector()
    try:
        errors = _of_record(Record("", 0, {"errors": parsed(reply)}, problems)) or []
    except NotJson as error:
        raise Unreadable(f"not JSON ({error})") from error
    if problems:
        raise Unreadable(f"{problems.kept[0].column}: {problems.kept[0].got}, expected {problems.kept[0].expected}")
    return errors


def read_json(upload: Upload, texts: Dataset) -> LayerFile:
    """Read records with the errors of an output (`spans`, `errors` or `error_spans`), or with the reply of a model.

    An error with `start` and `end` has offsets (our JSON Lines, xCOMET); any other one is a quote that gets a place (GemSpanEval). A reply
    that cannot be read is left out: its output is not examined.
    """
    reading = LayerReading(upload, texts)
    for record, names in _each_record(upload, reading):
        reply = record.text(*REPLY, needed=False)
        try:
            errors = _of_record(record) if reply is None else _of_reply(reply)
        except Unreadable as error:
            reading.leave_out(record.line, names, str(error), "unreadable reply")
            continue
        for key in reading.outputs(record.line, names) if errors is not None else ():
            placed = [reading.span(record.line, key, of.quote, of.place, names.text) for of in errors or () if of.place]
            quoted = reading.quotes(record.line, key, [of.quote for of in errors or () if not of.place])
            reading.add(record.line, key, [*placed, *quoted])
    return reading.done()


def read_wmt25(upload: Upload, texts: Dataset) -> LayerFile:
    """Read the TSV of WMT25's second metrics task (`core.formats.campaigns.wmt25`). Omissions have no place: they lie at the beginning."""
    reading, file = LayerReading(upload, texts), read_wmt25_spans(upload)
    own = {o.key: o.text for o in texts.outputs}
    written = {o.key: o.text for o in file.dataset.outputs}
    for key, text in written.items():
        if key not in own or own[key] != text:
            reading.leave_out(0, " / ".join(key), "output", DIFFERENT_TEXT if key in own else NO_OUTPUT)
    for odd in file.odd:
        if odd.raw is not None:
            reading.leave_out(0, " / ".join(odd.key), f"{odd.start} to {odd.end}", odd.why)
    for rating in file.ratings:
        if rating.errors is not None and own.get(rating.key) == written[rating.key]:
            errors = ((Quote("", e.severity, e.category, e.side), (e.start, e.end)) for e in rating.errors)
            reading.add(0, rating.key, [reading.span(0, rating.key, *error) for error in errors])
    return reading.done()


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_lines(layer: SpanLayer, texts: Dataset) -> Written:
    return Written(
        (json_lines({**key._asdict(), "spans": spans_to_json(spans)} for key, spans in layer.spans.items()),)
    )


def write_xcomet(layer: SpanLayer, texts: Dataset) -> Written:
    """Return an object with a list of records per system, as COMET writes it. Category and note are further members of an error."""
    by_system: dict[str, list[dict[str, Any]]] = {}
    lost = 0
    for record, spans in _with_texts(layer, texts):
        errors = []
        for error, confidence in spans:
            if error.side == "source":
                lost += 1
                continue
            member = {"text": error.quote, "confidence": confidence, "severity": error.severity.lower(), "start": error.start, "end": error.end, "category": error.category, "note": error.note}  # fmt: skip
            errors.append({name: value for name, value in member.items() if value not in (None, "") or name == "text"})
        by_system.setdefault(record["system"], []).append(record | {"errors": errors})
    return Written((json_text(by_system),), tuple(sentences_left_out((lost, "span of a source", "spans of sources"))))


def write_quotes(layer: SpanLayer, texts: Dataset) -> Written:
    """Return records with quotes, each with the shortest context that gives it its place."""
    lines, lost = [], 0
    for record, spans in _with_texts(layer, texts):
        errors = []
        for span in spans:
            quote = _placed_quote(span, record["mt"], record["src"])
            lost += quote is None
            if quote is not None:
                member = {"span": quote.text, "span_with_context": quote.context, "severity": quote.severity.lower(), "category": quote.category, "is_source_error": quote.side == "source", "confidence": quote.confidence, "note": quote.note}  # fmt: skip
                errors.append({name: value for name, value in member.items() if value not in (None, "")})
        lines.append(record | {"errors": errors})
    without_place = sentences_left_out((lost, "span whose place no quote gives", "spans whose places no quote gives"))
    return Written((json_lines(lines),), tuple(without_place))


def _placed_quote(span: LayerSpan, output: str, source: str | None) -> Quote | None:
    error = span.error
    text = output if error.side == "output" else source or ""
    category = category_path(error.category)
    reaches = [(0, 0), *((a * n, b * n) for n in (10, 30, 80, len(text)) for a, b in ((1, 1), (1, 0), (0, 1)))]
    for before, after in reaches:
        context = text[max(0, error.start - before) : error.end + after] if before or after else ""
        quote = Quote(error.quote, error.severity, category, error.side, context, span.confidence, error.note)
        if category == error.category and place_quotes([quote], output, source)[0].span == span:
            return quote
    return None


def write_wmt25(layer: SpanLayer, texts: Dataset) -> Written:
    ratings = []
    for key, spans in layer.spans.items():
        ratings.append(CampaignRating(layer.label, key, "item", tuple(error for error, _ in spans), None))
    written = write_wmt25_spans(CampaignFile(texts, tuple(ratings)), method=layer.label)
    n = sum(confidence is not None for spans in layer.spans.values() for _, confidence in spans)
    return written._replace(lost=(*written.lost, *sentences_left_out((n, "confidence"))))


def _with_texts(layer: SpanLayer, texts: Dataset) -> Iterator[tuple[dict[str, Any], Spans]]:
    outputs, sources = {o.key: o.text for o in texts.outputs}, {s.key: s.source for s in texts.segments}
    for key, spans in layer.spans.items():
        yield {**key._asdict(), "src": sources[key.segment], "mt": outputs[key]}, spans


class LayerFormat(NamedTuple):
    """A format of error spans; `holds` says what a file contains. `write` is None for formats that are only read."""

    label: str
    ending: str
    holds: str
    read: Callable[[Upload, Dataset], LayerFile]
    write: Callable[[SpanLayer, Dataset], Written] | None = None


FORMATS: Mapping[str, LayerFormat] = {
    "jsonl": LayerFormat("JSON Lines", "jsonl", "One line per examined output with its spans: offsets, quote, severity, category, confidence.", read_json, write_lines),
    "xcomet": LayerFormat("xCOMET JSON", "json", "Per system the texts of each output with `errors`: offsets, text, severity, confidence.", read_json, write_xcomet),
    "gemspaneval": LayerFormat("GemSpanEval JSON Lines", "jsonl", "Texts of each output with `errors`: quote, context, severity, category.", read_json, write_quotes),
    "gemba": LayerFormat("GEMBA-MQM replies, JSON Lines", "jsonl", "Per output the reply of a language model in GEMBA’s form.", read_json),
    "wmt25": LayerFormat("WMT25 error spans, TSV", "tsv", "One row per output with its texts, and lists of offsets and severities.", read_wmt25, write_wmt25),
}  # fmt: skip


def guess(upload: Upload) -> str:
    """Return the format of a file by its content. Raises `UserError` if none fits."""
    head = beginning_text(upload)
    if not head.lstrip(" \t\r\n").startswith(("{", "[")):
        if "start_indices" in head.partition("\n")[0]:
            return "wmt25"
    elif '"start"' in head:
        return "jsonl" if '"spans"' in head else "xcomet"
    elif any(f'"{name}"' in head for name in REPLY):
        return "gemspaneval" if any(f'\\"{name}\\"' in head for name in _QUOTE) else "gemba"
    elif any(f'"{name}"' in head for name in ("errors", "error_spans", "spans")):
        return "gemspaneval" if '"span"' in head or '"quote"' in head else "jsonl" if '"spans"' in head else "xcomet"
    raise UserError(
        "the format of the error spans is not recognised", where=upload.name, expected=", ".join(f.label for f in FORMATS.values()),
        hint="See docs/spans.md#formats for what each format has",
    )  # fmt: skip


def layer_format(name: str) -> LayerFormat:
    """Return the format of a name. Raises `UserError` for an unknown one."""
    if name not in FORMATS:
        raise unknown("format of error spans", name, FORMATS)
    return FORMATS[name]
