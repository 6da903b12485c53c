"""Read the ratings and batches of an Appraise campaign.

The twelve columns are the account, the system (`targetID`), the item, its type (TGT, or BAD for an attention check), the source and
target language, the score, the document, whether the score is of a whole document, the error spans as JSON, and the first and the last
moment of the rating in seconds since 1970. `ExportSystemScoresToCSV --batch-info` adds two, the number of the batch and a database id.
Exports of campaigns without
error spans (WMT20 to WMT22) lack their column. An output of several systems (`targetID` A+B) has one row per system. WMT25 has the id of the source in the third column, and the texts in its release.

`start_i` and `end_i` are the first and last UTF-16 unit of the target without the blanks at its ends, where `<br>` counts as one. A row is added whenever the annotator
comes back to an item; exports begin with the newest. The latest one counts.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from core.data import Dataset, OutputKey
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating, CampaignReading, moment
from core.formats.campaigns.span_json import APPRAISE
from core.formats.files import Upload, raw_lines
from core.formats.labels.annotator_answers import EXACT, Kind, ScoredRow, placeholders
from core.formats.parsing.json_records import Record, records
from core.formats.parsing.json_text import NotJson, parsed
from core.formats.parsing.numbers import expected_number, parse_number
from core.formats.problems import refused, shown
from core.formats.streams.opened import text_bytes
from core.formats.table import quoted_records
from core.formatting import format_count


class ListedRating(NamedTuple):
    """A rating with its line and the objects of its error spans, None without a list; for `said` see `CampaignReading.rate`."""

    line: int
    rating: CampaignRating
    spans: Sequence[Any] | None
    said: bool


def add_ratings(reading: CampaignReading, ratings: Sequence[ListedRating]) -> None:
    """Add all ratings of a file. Those with a placeholder for the score are ratings of MQM, which Appraise exports only when submitted."""
    no_score = placeholders(
        [ScoredRow(r.rating.rater, r.rating.score, _typed(r.spans), len(r.spans or ())) for r in ratings]
    )
    if n := sum(no_score):
        reading.warn(0, "score", f"0 in {format_count(n, 'rating')} of MQM (error spans with a type, or none)", "scores, or MQM",
                   "Read as MQM, without scores")  # fmt: skip
    for (line, rating, spans, said), without in zip(ratings, no_score, strict=True):
        reading.rate(line, replace(rating, score=None) if without else rating, spans, said=said or without)


def _typed(spans: Sequence[Any] | None) -> bool:
    return any(isinstance(s, dict) and s.get("error_type") for s in spans or ())


_MARKS = re.compile(r"(?:#(?:bad|duplicate)\d*)+$", re.IGNORECASE)
_ITEM = re.compile(r"(.+) \| (.+) \| (.+)", re.DOTALL)

_NOT_JOINED = re.compile(r"(?<=Transformer)\+(?=R2L)|(?<=R2L)\+(?=Back)")
"""A + that Appraise takes for a part of the name of a system; it writes _ instead."""

RowName = tuple[str, str, str, str]
"""What names an item in the CSV: itemID, documentID, itemType and targetID."""


class BatchItem(NamedTuple):
    """One item of one batch. `document_score` is True for the score of a whole document, `clean` if the batches of this program say that
    its annotator found no error."""

    batch: int
    name: RowName
    kind: Kind
    key: OutputKey
    of: OutputKey | None
    source: str | None
    text: str | None
    document_score: bool
    place: int | None
    clean: bool = False


def read_batches(
    upload: Upload, reading: CampaignReading, systems: Collection[str] = ()
) -> dict[RowName, list[BatchItem]]:
    """Return the items by their names in the CSV, and add the texts of the project to `reading`. `systems` are those of the CSV, in which
    an output of the systems A+B has a row for each."""
    by_name: dict[RowName, list[BatchItem]] = {}
    ordered: list[tuple[int, BatchItem]] = []
    for place, record in enumerate(records(upload, reading.problems), start=1):
        seen: Counter[str] = Counter()
        task = record.record("task", needed=False)
        batch = (task.whole("batchNo", needed=False) if task else None) or place
        for item in _items(record):
            for one in _of_systems(item, batch, seen, systems):
                by_name.setdefault(one.name, []).append(one)
                if one.kind == "item" and not one.document_score:
                    ordered.append((place, one))
    if all(one.place is not None for _, one in ordered):
        ordered.sort(key=lambda at: at[1].place or 0)
    for place, one in ordered:
        reading.add_texts(place, one.key, one.source, one.text or "")
    if not by_name and not reading.problems:
        reading.problem(
            0, "items", "no items", "batches with items", f"Choose the batches of the campaign as {shown(upload.name)}"
        )
    return by_name


def _items(record: Record) -> Iterator[Record]:
    if "items" in record.values:
        yield from record.records("items")
    else:
        yield record


def _of_systems(item: Record, batch: int, seen: Counter[str], systems: Collection[str]) -> list[BatchItem]:
    """Return an item once per system whose output it is."""
    document, target = item.text("documentID"), item.text("targetID")
    number, text = item.text("itemID"), item.text("targetText")
    if document is None or target is None or number is None or text is None:
        return []
    seen[document] += 1
    parts = _NOT_JOINED.sub("_", target).split("+")
    names = parts if target not in systems and any(part in systems for part in parts) else [target]
    return [_item(item, batch, seen[document], document, number, text, target, name) for name in names]


def _item(
    item: Record, batch: int, ordinal: int, document: str, number: str, text: str, target: str, system: str
) -> BatchItem:
    name = (number, document, item.text("itemType", needed=False) or "TGT", system)
    whole = item.flag("isCompleteDocument")
    source = item.text("sourceText", needed=False) or None
    kind, key, of = _identity(item, name, target, ordinal)
    kept = item.values.get(EXACT)
    kept = kept if isinstance(kept, dict) else {}
    place = kept.get("place")
    return BatchItem(
        batch, name, kind, key, of, source, None if kept.get("text") is False else text, whole,
        place if isinstance(place, int) else None, kept.get("no_error") is True,
    )  # fmt: skip


def _identity(item: Record, name: RowName, target: str, ordinal: int) -> tuple[Kind, OutputKey, OutputKey | None]:
    number, document, of_type, name_of_system = name
    match item.values.get(EXACT):
        case {"kind": "item" | "check" | "tutorial" as kind, "key": [str(), str(), str()] as key, **rest}:
            made_from = rest.get("of")
            match made_from:
                case [str(), str(), str()]:
                    return kind, OutputKey(*key), OutputKey(*made_from)
            return kind, OutputKey(*key), None
    task = item.values.get("mqm")
    if (isinstance(task, dict) and "tutorial" in task) or "tutorial" in document.casefold():
        return "tutorial", OutputKey(name_of_system, document, number), None
    marks = match[0] if (match := _MARKS.search(document)) else ""
    plain = document.removesuffix(marks)
    prefix = f"{item.text('sourceID', needed=False) or ''}."
    whole, system = target.removeprefix(prefix), name_of_system.removeprefix(prefix)
    if named := _ITEM.fullmatch(item.text("_item", needed=False) or ""):
        of = OutputKey(named[1] if whole == system else system, named[3], named[2])
    else:
        parts = [part.removeprefix(prefix) for part in target.split("+")] if whole != system else []
        ends = (whole, "+".join(parts) or whole, *parts)
        doc_id = next((plain.removesuffix(f"#{end}") for end in ends if plain.endswith(f"#{end}")), plain)
        of = OutputKey(system, doc_id, str(ordinal))
    if marks or of_type.upper() not in ("TGT", "REF"):
        return "check", OutputKey(of.system, of.doc_id + (marks or f"#{of_type}"), of.segment_id), of
    return "item", of, None


COLUMNS = 12
WITH_BATCH = COLUMNS + 2
SPANS_AT = 9
"""The place of the error spans, a column that exports of campaigns without them (until WMT22) do not have."""


def with_spans(cells: Sequence[str]) -> list[str]:
    """Return the cells of a row with an empty one for the error spans if the export has no column for them."""
    without = len(cells) in (COLUMNS - 1, WITH_BATCH - 1) and cells[SPANS_AT - 1].strip() in ("True", "False")
    without = without and parse_number(cells[SPANS_AT]) is not None  # the time when the rating began
    return [*cells[:SPANS_AT], *([""] if without else []), *cells[SPANS_AT:]]


class AppraiseRow(NamedTuple):
    """One row with its line. `spans` is None if the cell is empty; `batch` is the number of the batch, if the export has it; `whole` is
    whether the score is of a whole document."""

    line: int
    rater: str
    name: RowName
    score: float | None
    spans: list[Any] | None
    began: datetime | None
    ended: datetime | None
    batch: int | None = None
    whole: bool = False


def read_appraise(upload: Upload, texts: Upload | Dataset | None) -> CampaignFile:
    """Read the ratings of a CSV, running or finished.

    `texts` are the batches of the campaign, or (for WMT25, whose rows name the source) the outputs that were rated. Raises
    `ImportProblems` with every row that cannot be read or joined with its text.
    """
    reading = CampaignReading(upload.name, APPRAISE)
    if texts is None:
        todo = "Give the JSON file of batches that the campaign was created from, too"
        raise refused(upload.name, 0, "ratings without texts", "the texts that were rated", todo)
    rows = _rows(upload, reading)
    if isinstance(texts, Dataset):
        reading.add_dataset(texts)
        joined: Iterable[tuple[AppraiseRow, BatchItem | None]] = [(row, _from_release(row, reading)) for row in rows]
    else:
        in_batches = CampaignReading(texts.name, APPRAISE)
        items = read_batches(texts, in_batches, {row.name[3] for row in rows})
        in_batches.problems.check()
        reading.take_texts(in_batches)
        joined = _joined(rows, items, reading)
    latest: dict[tuple[str, int, RowName], tuple[AppraiseRow, BatchItem]] = {}
    whole = 0
    for row, item in joined:
        if item is None:
            continue
        if item.document_score:
            whole += 1
            continue
        before = latest.get((row.rater, item.batch, row.name))
        reading.replaced += before is not None
        if before is None or _when(row) > _when(before[0]):
            latest[row.rater, item.batch, row.name] = row, item
    if whole:
        reading.warn(0, "", format_count(whole, "score of a whole document", "scores of whole documents"),
                   "scores of items", "They are left out")  # fmt: skip
    chosen = sorted(latest.values(), key=lambda pair: pair[0].line)
    listed = []
    for row, item in chosen:
        own = item.kind != "item"
        rating = CampaignRating(
            row.rater, item.key, item.kind, None, row.score, row.began, row.ended,
            item.text if own else None, item.source if own else None, item.of,
        )  # fmt: skip
        listed.append(ListedRating(row.line, rating, row.spans, item.clean))
    add_ratings(reading, listed)
    return reading.done()


def _when(row: AppraiseRow) -> tuple[float, float]:
    """Return when a row was saved; rows without a time are the oldest."""
    return tuple(at.timestamp() if at else -1.0 for at in (row.ended, row.began))  # type: ignore[return-value]


def _rows(upload: Upload, reading: CampaignReading) -> list[AppraiseRow]:
    data = text_bytes(upload)
    rows: list[AppraiseRow] = []
    for line, written in quoted_records(upload.name, raw_lines(data), ",", reading.problems):
        if not any(written):
            continue
        cells = with_spans(written)
        if len(cells) not in (COLUMNS, WITH_BATCH):
            todo = "Export the scores with Appraise’s ExportSystemScoresToCSV, of a campaign that rates one output at a time in its document"
            reading.problem(
                line, "", format_count(len(cells), "column"), f"{COLUMNS}, or {WITH_BATCH} with --batch-info", todo
            )
        elif rows or not _is_header(cells):
            rows += [row] if (row := _row(line, cells, reading)) else []
    return rows


def _is_header(cells: Sequence[str]) -> bool:
    return parse_number(cells[6]) is None and cells[6].strip().casefold() == "score"


def _row(line: int, cells: Sequence[str], reading: CampaignReading) -> AppraiseRow | None:
    account, system, item, of_type, _, _, score, document, whole, spans, began, ended, *batch = cells
    value = parse_number(score)
    if value is None and score.strip():
        reading.problem(line, "score", shown(score), expected_number(score), "Correct the row, or export it again")
        return None
    errors: Any = None
    if spans.strip():
        try:
            errors = parsed(spans)
        except NotJson as error:
            reading.problem(line, "error spans", f"{shown(spans)} ({error})", "a JSON list", "Export the file again")
            return None
        errors = errors.get("payload") if isinstance(errors, dict) else errors
        if not isinstance(errors, list):
            reading.problem(line, "error spans", shown(spans), "a JSON list", "Export the file again")
            return None
    times = []
    for name, text in (("start time", began), ("end time", ended)):
        times.append(moment(text))
        if times[-1] is None and text.strip():
            reading.problem(line, name, shown(text), "seconds since 1970", "Leave the cell empty if there is no time")
    if batch and not batch[0].strip().isdecimal():
        reading.problem(
            line, "batch number", shown(batch[0]), "a whole number", "Export the scores again with --batch-info"
        )
        return None
    names = (item, document, of_type.strip() or "TGT", system)
    return AppraiseRow(line, account, names, value, errors, times[0], times[1], int(batch[0]) if batch else None,
                      whole.strip() == "True")  # fmt: skip


def _joined(
    rows: Sequence[AppraiseRow], items: dict[RowName, list[BatchItem]], reading: CampaignReading
) -> Iterable[tuple[AppraiseRow, BatchItem | None]]:
    """Yield each row with its item. Item numbers repeat between batches: the number of the batch decides, or else the batch with most of
    the account's rows."""
    shares: dict[str, Counter[int]] = {}
    for row in rows:
        shares.setdefault(row.rater, Counter()).update({item.batch for item in items.get(row.name, ())})
    for row in rows:
        candidates = [item for item in items.get(row.name, []) if row.batch in (None, item.batch)]
        candidates = [item for item in candidates if item.document_score == row.whole] or candidates
        if not candidates:
            number, document, of_type, system = row.name
            what = f"item {shown(number)} ({of_type}) of {shown(system)}, document {shown(document)}"
            what += "" if row.batch is None else f", batch {row.batch}"
            reading.problem(row.line, "", what, "an item of the batches", "Give the batches of this campaign")
            continue
        best = max(candidates, key=lambda item: (shares[row.rater][item.batch], -item.batch))
        rivals = [item for item in candidates if shares[row.rater][item.batch] == shares[row.rater][best.batch]]
        if len({(item.key, item.text, item.source) for item in rivals}) > 1:
            what = (
                f"{format_count(len(rivals), 'item')} of this name in batches {', '.join(str(r.batch) for r in rivals)}"
            )
            reading.problem(row.line, "", what, "one", f"Give only the batches that {shown(row.rater)} worked on")
            continue
        yield row, best


def _from_release(row: AppraiseRow, reading: CampaignReading) -> BatchItem | None:
    """Return the item of a row that names its source, as in WMT25: `langs_#_domain_#_document_#_segment`."""
    source_id, document, of_type, system = row.name
    doc_id, _, segment = source_id.rpartition("_#_")
    key = OutputKey(system, doc_id, segment)
    kind: Kind = "item"
    if "tutorial" in source_id.casefold() or "tutorial" in document.casefold():
        kind = "tutorial"
    elif of_type.upper() not in ("TGT", "REF"):
        kind = "check"
    text = reading.output(key) if kind == "item" else None
    if kind == "item" and text is None:
        what = f"a rating of {shown(system)}, {shown(source_id)}"
        todo = "Give the batches of the campaign, or the outputs that were rated"
        reading.problem(row.line, "", what, "an output among the texts", todo)
        return None
    of = key if kind == "check" else None
    return BatchItem(0, row.name, kind, key if kind == "item" else OutputKey(system, document, source_id), of, None, text,
                     False, None)  # fmt: skip


def spans_cell(spans: list[dict[str, Any]]) -> str:
    """Return error spans in the compact JSON of the export."""
    return json.dumps(spans, ensure_ascii=False, separators=(",", ":"))
