"""Read the annotations of Pearmut campaigns, as released by WMT26: JSON `{campaign: [records]}`, a list of records, or its log (JSONL).

A record is one page of one annotator: `user_id`, `item_i`, and the parallel lists `item` (`item_id`, `src`, `ref`, `tgt` by model) and
`annotation` (`score`, `sliders` and `error_spans` by model), with `actions` (their times), `validations` and `comment`. The log grows: the last
annotation of a text counts, and a record whose annotation is `__RESET__` discards what the annotator did before on this page, or on all
pages if it names none. Items that were skipped are not rated.

Pages `welcome_0`, `goodbye_0` and tutorials are kind "tutorial", `random_0` and `attention_check_0` are kind "check". `start_i` and
`end_i` are the first and last UTF-16 unit; line breaks do not count. The units after the text are [missing] and [instructions fault].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, cast, get_args

from core.data import OutputKey, SegmentKey
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating, CampaignReading, Identity, moment
from core.formats.campaigns.span_json import PEARMUT
from core.formats.files import Upload, raw_lines
from core.formats.labels.annotator_answers import (
    EXACT,
    RESET,
    Kind,
    has_texts,
    kind_of,
    left_with_skip,
    page_answers,
    page_items,
)
from core.formats.parsing.json_records import Record, records
from core.formats.parsing.json_text import NotJson, is_list, parsed
from core.formats.parsing.numbers import json_number
from core.formats.problems import refused, shown
from core.formats.streams.opened import text_bytes
from core.formatting import format_count

JOINTS = ("_###_", "_#_")


def campaign_names(upload: Upload) -> tuple[str, ...]:
    """Return the names of the campaigns in a file; none for a log or a list of one campaign."""
    whole = _whole(upload)
    return tuple(whole) if whole else ()


def read_pearmut(upload: Upload, campaign: str | None = None) -> CampaignFile:
    """Read one campaign, running or finished; `campaign` is its name if the file has several.

    Raises `ImportProblems` with every record that cannot be read.
    """
    reading = CampaignReading(upload.name, PEARMUT)
    pages: dict[tuple[str, str], list[Identity]] = {}
    without = passed_over = forms = 0
    sliders = Counter[str]()
    for record in _records(upload, campaign, reading):
        rater, page = record.text("user_id"), record.text("item_i", needed=False)
        if rater is None:
            continue
        if record.values.get("annotation") == RESET:
            for (of, at), identities in pages.items():
                if of == rater and page in (None, at):
                    reading.discard(identities)
                    identities.clear()
            continue
        if _is_form(record):
            forms += 1
            continue
        if not has_texts(record):
            continue
        rated, empty, skipped = _page(reading, record, rater, page or "", sliders)
        pages.setdefault((rater, page or ""), []).extend(rated)
        without += empty
        passed_over += skipped
    for n, one, many in (
        (without, "item without an annotation", "items without an annotation"),
        (passed_over, "output that the annotator skipped", "outputs that the annotators skipped"),
        (forms, "form", "forms"),
    ):
        if n:
            reading.warn(0, "annotation", format_count(n, one, many), "an annotation per item", "Not rated")
    if sliders:
        reading.warn(0, "sliders", f"{format_count(sliders.total(), 'slider value')} ({', '.join(map(shown, sliders))})",
                   "one score per output", "Read as scores under the names of the sliders")  # fmt: skip
    return reading.done()


def _whole(upload: Upload) -> dict[str, Any] | None:
    """Return the campaigns of a file `{campaign: [records]}`; None for a list or a log."""
    data = text_bytes(upload, by_line=False)
    if is_list(data):
        return None
    first = next((line for line in raw_lines(data) if line.strip()), "")
    with suppress(NotJson):
        value = parsed(first)
        if not isinstance(value, dict) or "user_id" in value or "annotation" in value:
            return None
    try:
        value = parsed(data.decode("utf-8-sig"))
    except NotJson as error:
        what, expected = f"broken JSON ({error})", "{campaign: [records]}, a list of records, or one record per line"
        todo = "Export the annotations again; the file may be truncated"
        raise refused(upload.name, 0, what, expected, todo) from error
    if isinstance(value, dict) and all(isinstance(of, list) for of in value.values()):
        return value
    return None


def _records(upload: Upload, campaign: str | None, reading: CampaignReading) -> Iterator[Record]:
    whole = _whole(upload)
    if whole is None:
        yield from records(upload, reading.problems)
        return
    names = ", ".join(map(shown, whole))
    if campaign is None and len(whole) > 1:
        todo = "Choose one campaign (on the command line: --campaign NAME), because IDs repeat between campaigns"
        raise refused(upload.name, 0, f"{len(whole)} campaigns ({names})", "one", todo)
    if campaign is not None and campaign not in whole:
        raise refused(upload.name, 0, f"no campaign {shown(campaign)}", names, "Choose one of these")
    for n, value in enumerate(whole[campaign] if campaign is not None else next(iter(whole.values()), []), start=1):
        if isinstance(value, dict):
            yield Record(upload.name, n, value, reading.problems)
        else:
            reading.problem(n, "", shown(str(value)), "an object", "Export the annotations again")


def _is_form(record: Record) -> bool:
    items = record.values.get("item")
    return isinstance(items, list) and bool(items) and isinstance(items[0], dict) and "form" in items[0]


def _page(
    reading: CampaignReading, record: Record, rater: str, page: str, sliders: Counter[str]
) -> tuple[list[Identity], int, int]:
    """Add the ratings of one page, and the number of values of each slider to `sliders`. Return which, how many items have no annotation, and how many outputs were skipped."""
    began, ended = _times(record.values.get("actions"))
    comment = record.text("comment", needed=False) or ""
    identities: list[Identity] = []
    empty, skipped, page_skipped = 0, 0, left_with_skip(record)
    for i, (item, annotation) in enumerate(page_items(record)):
        if annotation is None:
            empty += 1
            continue
        kind, segment = _kind(item, page), _segment(item, page, i)
        source, reference = item.text("src", needed=False) or None, item.text("ref", needed=False)
        for system, text, of_system, response in page_answers(item, annotation, page_skipped):
            key, own = OutputKey(system, *segment), kind != "item"
            if not own:
                reading.add_texts(record.line, key, source, text, [reference] if reference else [])
            for what in response.unread:
                reading.unread(record.line, what, rating=not response.skipped)
            if response.skipped:
                skipped += not response.unread
                reading.discard([(rater, kind, key)])
                continue
            sliders.update(name for name, _ in response.sliders)
            note = of_system.text("comment", needed=False) or comment
            rating = CampaignRating(
                rater, key, kind, None, response.score, began, ended, text if own else None,
                source if own else None, _made_from(item, system), note,
                _passed(record.values.get("validations"), i, system) if kind == "check" else None, response.sliders,
            )  # fmt: skip
            reading.rate(record.line, rating, response.spans, said=response.said)
            identities.append(rating.identity)
    return identities, empty, skipped


def _kind(item: Record, page: str) -> Kind:
    kept = item.values.get(EXACT)
    if isinstance(kept, dict) and kept.get("kind") in get_args(Kind):
        return cast(Kind, kept["kind"])
    return kind_of(item.text("item_id", needed=False), page)


def _segment(item: Record, page: str, i: int) -> SegmentKey:
    kept = item.values.get(EXACT)
    if isinstance(kept, dict) and isinstance(kept.get("doc_id"), str) and isinstance(kept.get("segment_id"), str):
        return SegmentKey(kept["doc_id"], kept["segment_id"])
    name = item.text("item_id", needed=False)
    return SegmentKey(page, str(i)) if name is None else split_id(name)


def split_id(name: str) -> SegmentKey:
    """Return document and segment of an item id: `news_###_a_###_3` is segment 3 of `news_###_a`."""
    for joint in JOINTS:
        document, _, segment = name.rpartition(joint)
        if document and segment.isdecimal():
            return SegmentKey(document, segment)
    return SegmentKey("", name)


def _made_from(item: Record, system: str) -> OutputKey | None:
    kept = item.values.get(EXACT)
    of = kept.get("of") if isinstance(kept, dict) else None
    key = of.get(system) if isinstance(of, dict) else None
    return OutputKey(*map(str, key)) if isinstance(key, list) and len(key) == len(OutputKey._fields) else None


def _times(actions: Any) -> tuple[datetime | None, datetime | None]:
    """Return the time of the first action of a page and, once it was submitted, of the last."""
    listed = [a for a in actions if isinstance(a, dict)] if isinstance(actions, list) else []
    listed = [a for a in listed if json_number(a.get("time")) is not None]
    if not listed:
        return None, None
    submitted = str(listed[-1].get("action", "")).startswith("submit")
    if len(listed) == 1:
        return (None, moment(listed[0]["time"])) if submitted else (moment(listed[0]["time"]), None)
    return moment(listed[0]["time"]), moment(listed[-1]["time"])


def _passed(validations: Any, i: int, system: str) -> bool | None:
    """Return whether an output passed the checks of its item: one verdict, several, or one per model; None without a verdict."""
    if isinstance(validations, list) and i < len(validations):
        validations = validations[i]
    elif isinstance(validations, list):
        return None
    if isinstance(validations, dict):
        validations = validations.get(system)
    verdicts = list(_flags(validations))
    return all(verdicts) if verdicts else None


def _flags(value: Any) -> Iterable[bool]:
    if isinstance(value, bool):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _flags(part)
