"""Read and write the ratings of an Appraise campaign: a CSV without a header, and the texts in a JSON file of batches.

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
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from core.data import Dataset, OutputKey
from core.errors import ImportProblems, Problem
from core.formats.campaigns.appraise_batches import BatchItem, RowName, read_batches
from core.formats.campaigns.appraise_scores import ListedRating, add_ratings
from core.formats.campaigns.campaign_file import (
    CampaignFile,
    CampaignRating,
    CampaignReading,
    Kind,
    moment,
)
from core.formats.campaigns.span_json import APPRAISE
from core.formats.files import Upload, raw_lines
from core.formats.labels.label_file import Severities
from core.formats.parsing.json_text import NotJson, parsed
from core.formats.parsing.numbers import expected_number, number
from core.formats.problems import counted, shown
from core.formats.streams.opened import text_bytes
from core.formats.table import quoted_records

COLUMNS = 12
WITH_BATCH = COLUMNS + 2
SPANS_AT = 9
"""The place of the error spans, a column that exports of campaigns without them (until WMT22) do not have."""


def with_spans(cells: Sequence[str]) -> list[str]:
    """Return the cells of a row with an empty one for the error spans if the export has no column for them."""
    without = len(cells) in (COLUMNS - 1, WITH_BATCH - 1) and cells[SPANS_AT - 1].strip() in ("True", "False")
    without = without and number(cells[SPANS_AT]) is not None  # the time when the rating began
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


def read(upload: Upload, texts: Upload | Dataset | None, severities: Severities | None = None) -> CampaignFile:
    """Read the ratings of a CSV, running or finished.

    `texts` are the batches of the campaign, or (for WMT25, whose rows name the source) the outputs that were rated. Raises
    `ImportProblems` with every row that cannot be read or joined with its text.
    """
    found = CampaignReading(upload.name, severities or Severities(), APPRAISE)
    if texts is None:
        todo = "Give the JSON file of batches that the campaign was created from, too"
        raise ImportProblems([Problem(upload.name, 0, "", "ratings without texts", "the texts that were rated", todo)])
    rows = _rows(upload, found)
    if isinstance(texts, Dataset):
        found.add_dataset(texts)
        joined: Iterable[tuple[AppraiseRow, BatchItem | None]] = [(row, _from_release(row, found)) for row in rows]
    else:
        in_batches = CampaignReading(texts.name, found.severities, APPRAISE)
        items = read_batches(texts, in_batches, {row.name[3] for row in rows})
        in_batches.problems.check()
        found.take_texts(in_batches)
        joined = _joined(rows, items, found)
    latest: dict[tuple[str, int, RowName], tuple[AppraiseRow, BatchItem]] = {}
    whole = 0
    for row, item in joined:
        if item is None:
            continue
        if item.document_score:
            whole += 1
            continue
        before = latest.get((row.rater, item.batch, row.name))
        found.replaced += before is not None
        if before is None or _when(row) > _when(before[0]):
            latest[row.rater, item.batch, row.name] = row, item
    if whole:
        found.warn(0, "", counted(whole, "score of a whole document", "scores of whole documents"),
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
    add_ratings(found, listed)
    return found.done()


def _when(row: AppraiseRow) -> tuple[float, float]:
    """Return when a row was saved; rows without a time are the oldest."""
    return tuple(at.timestamp() if at else -1.0 for at in (row.ended, row.began))  # type: ignore[return-value]


def _rows(upload: Upload, found: CampaignReading) -> list[AppraiseRow]:
    data = text_bytes(upload)
    rows: list[AppraiseRow] = []
    for line, written in quoted_records(upload.name, raw_lines(data), ",", found.problems):
        if not any(written):
            continue
        cells = with_spans(written)
        if len(cells) not in (COLUMNS, WITH_BATCH):
            todo = "Export the scores with Appraise’s ExportSystemScoresToCSV, of a campaign that rates one output at a time in its document"
            found.problem(
                line, "", counted(len(cells), "column"), f"{COLUMNS}, or {WITH_BATCH} with --batch-info", todo
            )
        elif rows or not _is_header(cells):
            rows += [row] if (row := _row(line, cells, found)) else []
    return rows


def _is_header(cells: Sequence[str]) -> bool:
    return number(cells[6]) is None and cells[6].strip().casefold() == "score"


def _row(line: int, cells: Sequence[str], found: CampaignReading) -> AppraiseRow | None:
    account, system, item, of_type, _, _, score, document, whole, spans, began, ended, *batch = cells
    value = number(score)
    if value is None and score.strip():
        found.problem(line, "score", shown(score), expected_number(score), "Correct the row, or export it again")
        return None
    errors: Any = None
    if spans.strip():
        try:
            errors = parsed(spans)
        except NotJson as error:
            found.problem(line, "error spans", f"{shown(spans)} ({error})", "a JSON list", "Export the file again")
            return None
        errors = errors.get("payload") if isinstance(errors, dict) else errors
        if not isinstance(errors, list):
            found.problem(line, "error spans", shown(spans), "a JSON list", "Export the file again")
            return None
    times = []
    for name, text in (("start time", began), ("end time", ended)):
        times.append(moment(text))
        if times[-1] is None and text.strip():
            found.problem(line, name, shown(text), "seconds since 1970", "Leave the cell empty if there is no time")
    if batch and not batch[0].strip().isdecimal():
        found.problem(
            line, "batch number", shown(batch[0]), "a whole number", "Export the scores again with --batch-info"
        )
        return None
    names = (item, document, of_type.strip() or "TGT", system)
    return AppraiseRow(line, account, names, value, errors, times[0], times[1], int(batch[0]) if batch else None,
                      whole.strip() == "True")  # fmt: skip


def _joined(
    rows: Sequence[AppraiseRow], items: dict[RowName, list[BatchItem]], found: CampaignReading
) -> Iterable[tuple[AppraiseRow, BatchItem | None]]:
    """Yield each row with its item. Item numbers repeat between batches: the number of the batch decides, or else the batch with most of
    the account's rows."""
    shares: dict[str, Counter[int]] = {}
    for row in rows:
        shares.setdefault(row.rater, Counter()).update({item.batch for item in items.get(row.name, ())})
    for row in rows:
        there = [item for item in items.get(row.name, []) if row.batch in (None, item.batch)]
        there = [item for item in there if item.document_score == row.whole] or there
        if not there:
            number, document, of_type, system = row.name
            what = f"item {shown(number)} ({of_type}) of {shown(system)}, document {shown(document)}"
            what += "" if row.batch is None else f", batch {row.batch}"
            found.problem(row.line, "", what, "an item of the batches", "Give the batches of this campaign")
            continue
        best = max(there, key=lambda item: (shares[row.rater][item.batch], -item.batch))
        rivals = [item for item in there if shares[row.rater][item.batch] == shares[row.rater][best.batch]]
        if len({(item.key, item.text, item.source) for item in rivals}) > 1:
            what = f"{counted(len(rivals), 'item')} of this name in batches {', '.join(str(r.batch) for r in rivals)}"
            found.problem(row.line, "", what, "one", f"Give only the batches that {shown(row.rater)} worked on")
            continue
        yield row, best


def _from_release(row: AppraiseRow, found: CampaignReading) -> BatchItem | None:
    """Return the item of a row that names its source, as in WMT25: `langs_#_domain_#_document_#_segment`."""
    source_id, document, of_type, system = row.name
    doc_id, _, segment = source_id.rpartition("_#_")
    key = OutputKey(system, doc_id, segment)
    kind: Kind = "item"
    if "tutorial" in source_id.casefold() or "tutorial" in document.casefold():
        kind = "tutorial"
    elif of_type.upper() not in ("TGT", "REF"):
        kind = "check"
    text = found.output(key) if kind == "item" else None
    if kind == "item" and text is None:
        what = f"a rating of {shown(system)}, {shown(source_id)}"
        todo = "Give the batches of the campaign, or the outputs that were rated"
        found.problem(row.line, "", what, "an output among the texts", todo)
        return None
    of = key if kind == "check" else None
    return BatchItem(0, row.name, kind, key if kind == "item" else OutputKey(system, document, source_id), of, None, text,
                     False, None)  # fmt: skip


def spans_cell(spans: list[dict[str, Any]]) -> str:
    """Return error spans in the compact JSON of the export."""
    return json.dumps(spans, ensure_ascii=False, separators=(",", ":"))
