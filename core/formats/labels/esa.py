"""Read and write error span annotation (ESA, Kocmi et al. 2024) as JSON Lines: minor and major spans, and a score from 0 to 100.

Three forms are read and recognised line by line:

- WMT24's release: `src`, `tgt`, `doc_id`, `line_id`, `system`, `annotator`, `esa_score`, `esa_spans`, `langs`, `domain`.
- Appraise's `ExportSystemScoresToJSONL`: `source_text`, `target_text`, `document_id`, `item_id`, `target_id` (the system),
  `annotator`, `score`, `mqm_annotations`; the last five by output in a list `targets` if several outputs were rated together. Of its item
  types only TGT and REF are read, not its attention checks, and no scores of whole documents.
- Pearmut's logs: `user_id`, `item_i`, and the parallel lists `item` (`item_id`, `src`, `ref`, `tgt` by model) and `annotation`
  (`score`, `sliders` and `error_spans` by model), with one element per item of the document. The last record of a page counts, and
  `__RESET__` discards those before.

A span has `start_i`, `end_i` and `severity`. `end_i` is *inclusive*; offsets count UTF-16 units, as in browsers (Pearmut does not count
line breaks), and blanks before the text do not count, because Appraise's page trims it. "missing" at both ends is an omission without a position; in Pearmut the position after the last character is one too, and the next one is its second special token.
The category is a path: a list in `error_type` (Appraise), a text in `category` (Pearmut), or null.

An empty list of error spans is a rating if errors were asked for: WMT24's form says so, the others show it by a span in some line. With
neither a score nor spans where other lines have scores, an output is not rated.

The first form is written, with blanks counted. An empty span has its `end_i` one before its `start_i`. Additional keys, which other tools ignore, are the
segment id (`segment_id`), notes (`note`), the position of an omission in the source (`source_start_i`, `source_end_i`), and for an
output without errors `errorscope`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from core.data import Dataset, OutputKey, RatedOutput, Side, Span
from core.formats.campaigns.span_json import BLANKS, HALF, Units, category_of, units_of
from core.formats.files import Upload
from core.formats.labels.annotator_answers import (
    EXACT,
    INSTRUCTIONS,
    NO_ERROR,
    OMISSION,
    RESET,
    FileAnswer,
    FileProtocol,
    ScoredRow,
    has_texts,
    kind_of,
    left_with_skip,
    page_answers,
    page_items,
    placeholders,
)
from core.formats.labels.label_file import (
    UNSPECIFIED,
    Gatherer,
    LabelFile,
    LabelsToWrite,
    ProjectTotals,
    Severities,
    Written,
    category_or_none,
    checked,
    left_behind,
)
from core.formats.parsing.json_records import Record, records
from core.formats.write import json_lines
from core.formatting import format_count

SCORE = "ESA"
MISSING = "missing"
CHANGED = "answer changed or reset later"


class _Line(NamedTuple):
    """One answer as it is in the file. `asked` is whether its form says that errors were asked for."""

    line: int
    key: OutputKey
    rater: str | None
    errors: list[Span | None] | None
    score: float | None
    answer: FileAnswer
    asked: bool = False
    sliders: tuple[tuple[str, float], ...] = ()


class _Lines:
    """The answers in their order. In Pearmut's log the last one of an annotator to an output counts."""

    def __init__(self) -> None:
        self.held: dict[tuple[Any, ...], _Line] = {}
        self._pages: dict[tuple[str | None, str | None], list[tuple[Any, ...]]] = {}

    def add(self, answer: _Line) -> None:
        self.held[(len(self.held),)] = answer

    def discard(self, rater: str | None, key: OutputKey) -> int:
        return self.held.pop((rater, key), None) is not None

    def replace(self, answer: _Line, page: str | None) -> None:
        name = (answer.rater, answer.key)
        self.held[name] = answer
        self._pages.setdefault((answer.rater, page), []).append(name)

    def reset(self, rater: str | None, page: str | None) -> int:
        """Discard the answers of a page, of all pages if it is None, and return how many there were."""
        of = [at for at in self._pages if at[0] == rater] if page is None else [(rater, page)]
        names = [name for at in of for name in self._pages.pop(at, ())]
        return sum(self.held.pop(name, None) is not None for name in names)


def read_esa(upload: Upload, severities: Severities, texts: Dataset | None = None) -> LabelFile:
    """Read the ratings, and the scores as the human score "ESA" (0 to 100, higher is better). Raises `ImportProblems`."""
    gatherer = Gatherer(upload.name, severities)
    lines = _Lines()
    left_out = Counter[str]()
    for record in records(upload, gatherer.problems):
        if "annotation" in record.values:
            _pearmut(gatherer, record, lines, left_out)
        elif record.values.get("item_type", "TGT") not in ("TGT", "REF"):
            left_out["item of attention checks"] += 1
        elif record.flag("is_complete_document"):
            left_out["score of a whole document"] += 1
        else:
            for output in _targets(record):
                if of := _one_output(gatherer, output):
                    lines.add(of)
            names = [record.text(name, needed=False) for name in ("source_language", "target_language")]
            gatherer.languages(record.line, *([pair] if (pair := record.text("langs", needed=False)) else names))
    _rate(gatherer, list(lines.held.values()), left_out)
    for what, n in (+left_out).items():
        noun, _, rest = what.partition(" ")
        gatherer.warn(0, "", f"{format_count(n, noun)} {rest}".rstrip(), "answers of annotators to outputs", "Left out")
    return gatherer.done()


def _rate(gatherer: Gatherer, lines: Sequence[_Line], left_out: Counter[str]) -> None:
    """Add the ratings and scores. What is no rating is counted in `left_out`."""
    no_score = placeholders([ScoredRow(x.rater or "", x.score, _typed(x), x.answer.spans or 0) for x in lines])
    if n := sum(no_score):
        gatherer.warn(0, "score", f"0 in {format_count(n, 'line')} of MQM (error spans with a type, or none)", "scores, or MQM",
                   "Read as MQM, without scores")  # fmt: skip
    answers = [
        x.answer._replace(scored=False, said=True) if not_one else x.answer
        for x, not_one in zip(lines, no_score, strict=True)
    ]
    protocol = FileProtocol.of(answers)
    for x, answer, without in zip(lines, answers, no_score, strict=True):
        asked = protocol._replace(spans=protocol.spans or (x.asked and protocol.scores))
        if x.errors is not None and asked.rates_errors(answer):
            gatherer.rating(x.line, x.key, x.rater, x.errors)
        elif answer.scored and x.errors is not None:
            left_out["list of error spans (all are empty)"] += 1
        elif not answer.scored:
            left_out["output without an answer"] += 1
        if x.score is not None and not without:
            gatherer.score(x.key, SCORE, x.score)
        for name, number in x.sliders:
            gatherer.score(x.key, name, number)


def _typed(x: _Line) -> bool:
    return any(e is not None and e.category not in (UNSPECIFIED, OMISSION) for e in x.errors or ())


def _targets(record: Record) -> list[Record]:
    """Return a record of Appraise once per output; those rated together are listed in `targets`."""
    if "targets" not in record.values:
        return [record]
    inner = record.records("targets")
    for target in inner:
        target.values = {**record.values, **target.values}
        target.values["item_id"] = target.values.pop("segment_id", target.values.get("item_id"))
        target.values.setdefault("mqm_annotations", [])
    return inner


def _one_output(gatherer: Gatherer, record: Record) -> _Line | None:
    system, text = record.text("system", "target_id"), record.text("tgt", "target_text")
    segment = record.text("segment_id", "line_id", "item_id")
    spans = record.records("esa_spans", "mqm_annotations")
    if system is None or text is None or segment is None:
        return None
    key = OutputKey(system, record.text("doc_id", "document_id", needed=False) or "", segment)
    gatherer.add_texts(record.line, key, record.text("src", "source_text", needed=False), text)
    rater, score = record.text("annotator"), record.number("esa_score", "score")
    answer = FileAnswer(len(spans), score is not None, record.values.get(EXACT) == NO_ERROR)
    trimmed = 0 if record.values.get("segment_id") is not None else len(text) - len(text.lstrip(BLANKS))
    errors = [_span(gatherer, s, key, units_of(text), before=trimmed) for s in spans]
    return _Line(record.line, key, rater, errors, score, answer, "esa_spans" in record.values)


def _pearmut(gatherer: Gatherer, record: Record, lines: _Lines, left_out: Counter[str]) -> None:
    """Add the answers in one document of one user; tutorials, checks and skipped outputs are left out."""
    page, rater = record.text("item_i", needed=False), record.text("user_id")
    if record.values.get("annotation") == RESET:
        left_out[CHANGED] += lines.reset(rater, page)
        return
    if not has_texts(record):
        return
    page_skipped = left_with_skip(record)
    for i, (item, annotation) in enumerate(page_items(record)):
        name = item.text("item_id", needed=False)
        if "form" in item.values or kind_of(name, page or "") != "item":
            left_out["item of tutorials, checks and forms"] += 1
            continue
        if annotation is None:
            left_out["item without an annotation"] += 1
            continue
        source, reference = item.text("src", needed=False), item.text("ref", needed=False)
        for system, text, said, response in page_answers(item, annotation, page_skipped):
            key, units = OutputKey(system, "", name or f"{page or ''}-{i}"), units_of(text, breaks=False)
            gatherer.add_texts(record.line, key, source, text, [reference] if reference else [])
            for what in response.unread:
                gatherer.unread(record.line, what, rating=not response.skipped)
            left_out[CHANGED] += lines.discard(rater, key)
            if response.skipped:
                left_out["output that was skipped"] += not response.unread
                continue
            spans = None if response.spans is None else said.records("error_spans")
            errors = None if spans is None else [_span(gatherer, s, key, units, tokens=True) for s in spans]
            answer = _Line(record.line, key, rater, errors, response.score, response.answer, False, response.sliders)
            lines.replace(answer, page)


def _span(
    gatherer: Gatherer, record: Record, key: OutputKey, units: Units, *, tokens: bool = False, before: int = 0
) -> Span | None:
    """Return the span in code points from its first and last UTF-16 unit, which must not split a character; `before` units of the
    output are not counted. With `tokens` the units after the text are special tokens."""
    side: Side = "output"
    line, severity, category = record.line, record.text("severity", needed=False), category_of(record.values)
    note = record.text("note", needed=False) or ""
    starts, ends = record.values.get("start_i"), record.values.get("end_i")
    if tokens and starts == ends == units.count + 1:
        if not category:
            gatherer.second_token(line)
        return gatherer.span(line, key, "output", 0, 0, severity, category or INSTRUCTIONS, note)
    if MISSING in (starts, ends) or (tokens and starts == ends == units.count):
        first, last = record.whole("source_start_i", needed=False), record.whole("source_end_i", needed=False)
        if first is None or last is None:
            return gatherer.span(line, key, "output", 0, 0, severity, category or OMISSION, note)
        side, units = "source", units_of(gatherer.source(key.segment) or "")
    else:
        first, last = record.whole("start_i"), record.whole("end_i")
        if first is None or last is None:
            return None
        first, last = (first + before, last + before) if first >= 0 else (first, last)
    place = units.place(first, last)
    if place == HALF:
        gatherer.problem(line, f"{side} {first} to {last}", "half a character", "whole characters", "Annotate it again")
        return None
    start, end = (first, last + 1) if isinstance(place, str) else place
    return gatherer.span(line, key, side, start, end, severity, category, note)


def write_esa(dataset: Dataset, rated: Iterable[RatedOutput], project: ProjectTotals) -> Written:
    """Write one object per rating, in the order given.

    The score is that of the rater, else the human score "ESA" of the output, if there is one.

    Raises `UserError` for labels that do not match their texts.
    """
    labels = checked(dataset, rated)
    scores = {OutputKey(*h[:3]): h.value for h in dataset.human_scores if h.name == SCORE}
    records = []
    for r in labels.rated:
        source, text = labels.source(r.key), labels.texts[r.key]
        records.append({
            "line_id": labels.place[r.key.segment], "src": source, "tgt": text, "doc_id": r.key.doc_id, "domain": None,
            "esa_spans": [_json(e, source if e.side == "source" else text) for e in r.errors],
            "esa_score": project.rater_scores.get((r.key, r.rater), scores.get(r.key)), "system": r.key.system, "annotator": r.rater,
            "segment_id": r.key.segment_id,
        } | ({} if r.errors else {EXACT: NO_ERROR}))  # fmt: skip
    rest = project._replace(human_scores=tuple(name for name in project.human_scores if name != SCORE))
    lost = (*_lost(labels, scores, project.rater_scores), *left_behind(rest, labels.rated))
    return Written((json_lines(records),), lost)


def _json(e: Span, text: str) -> dict[str, Any]:
    first, last = units_of(text).back(e.start, e.end)
    place: dict[str, Any] = {"start_i": first, "end_i": last}
    if e.side == "source":
        place = {"start_i": MISSING, "end_i": MISSING, "source_start_i": first, "source_end_i": last}
    path = category_or_none(e.category)
    said = {"severity": e.severity.lower(), "error_type": path.split("/") if path else None}
    return place | said | ({"note": e.note} if e.note else {})


def _lost(
    labels: LabelsToWrite, scores: Mapping[OutputKey, float], rater_scores: Mapping[tuple[OutputKey, str], float]
) -> list[str]:
    said = []
    if n := sum(e.side == "source" for e in labels.errors):
        said.append(f"{format_count(n, 'error span')} in the source: other tools read “missing”, without the position.")
    if n := sum(e.side == "output" and e.start == e.end for e in labels.errors):
        said.append(f"{format_count(n, 'empty error span')}: other tools may not show them.")
    said += labels.notes_kept("other tools ignore")
    means = [r.key for r in labels.rated if (r.key, r.rater) not in rater_scores]
    if n := sum(key not in scores for key in means):
        said.append(f"{format_count(n, 'rating')} without a score from 0 to 100: esa_score is null.")
    elif len(set(means)) < len(means):
        said.append("Scores: the mean over raters is written for every rater of an output.")
    return said


def recognised(record: Record) -> bool:
    """Return whether an object is a line of one of the three forms."""
    keys = record.values.keys()
    forms = (
        {"esa_spans", "tgt"},
        {"mqm_annotations", "target_text"},
        {"targets", "source_text"},
        {"annotation", "item"},
        {"annotation", "item_i"},
    )
    return any(form <= keys for form in forms)
