"""Guess which column holds what from the usual names; any column can also be mapped by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from core.formats.external import looks_like_a_metric, lower_is_better
from core.formats.files import stem
from core.formats.mapping import ColumnMapping, MetricColumn
from core.formats.parsing.cells import FileTable
from core.formats.parsing.numbers import is_absent, looks_like_a_number

_NAMES: dict[str, list[str]] = {
    "document": "docid documentid doc document docname documentname".split(),
    "segment": (
        "segmentid segid segment seg sentenceid sentid itemid item lineid linenumber line id index idx".split()
    ),
    "source": "source src input sourcetext srctext inputtext article original".split(),
    "system": "system sys systemid systemname sysid sysname model modelid modelname".split(),
    "output": (
        "output hypothesis hyp mt translation summary candidate prediction pred generated "
        "generation response systemoutput outputtext decoded outputs"
    ).split(),
}
_REFERENCE = re.compile(r"(ref|refs|reference|references|goldreference|humanreference|gold)(\d+|[a-z])?")
_NEVER_A_SYSTEM = frozenset(
    "lang language langpair lp srclang tgtlang sourcelang targetlang domain comment comments note notes rater annotator date time "
    "timestamp task dataset split url error errors category severity metadata topic genre seed prompt reason status signature "
    "metric label labels side start end quote verdict submitted".split()
)
_LONG_TEXT = 100
MQM_COLUMNS = frozenset({"system", "doc", "source", "target", "category", "severity", "rater"})


def plain(name: str) -> str:
    """Return a column name for comparison: lower case, letters and digits only."""
    return "".join(filter(str.isalnum, name.casefold()))


def is_google_mqm(columns: Iterable[str]) -> bool:
    """Return whether this is the header of Google's MQM TSV (system doc doc_id seg_id rater source target category severity)."""
    names = {plain(c) for c in columns}
    return names >= MQM_COLUMNS and bool(names & {"segid", "docsegid", "globalsegid"})


def roles_of(columns: Iterable[str], names: Mapping[str, Iterable[str]] = _NAMES) -> dict[str, str]:
    """Return the columns whose role is known from their names; `names` are the names of each role, the best first."""
    by_name = _by_name(columns)
    known = {role: next((by_name[n] for n in usual if n in by_name), None) for role, usual in names.items()}
    return {role: column for role, column in known.items() if column is not None}


def _by_name(columns: Iterable[str]) -> dict[str, str]:
    return {plain(column): column for column in reversed(tuple(columns))}  # the first of equal names


def guess(table: FileTable) -> ColumnMapping:
    """Return the most likely mapping by column names.

    Other number columns are human scores, or external scores if they have the name of a metric (COMET, BLEURT, …). Other text columns
    are systems. With an output column (or a system column and `target`) the layout is long, else wide. Otherwise `target` is a
    reference. Without a source column, `document` or `doc` with long texts is the source (summarization). Without a system column all
    rows belong to one system, named after the file.
    """
    by_name = _by_name(table.columns)
    roles = roles_of(table.columns)
    target = by_name.get("target") or by_name.get("tgt")
    if target and "output" not in roles and "system" in roles:
        roles["output"] = target
    if "source" not in roles and (long := _long_document(table, by_name)):
        roles["source"] = long
        roles.pop("document")
        if rest := next((by_name[n] for n in _NAMES["document"] if n in by_name and by_name[n] != long), None):
            roles["document"] = rest
    taken = set(roles.values())
    references = [c for c in table.columns if c not in taken and _REFERENCE.fullmatch(plain(c))]
    if target and target not in taken and not references:
        references = [target]
    known = {"target", "tgt"}.union(_NEVER_A_SYSTEM, *_NAMES.values())
    left = [c for c in table.columns if c not in taken and c not in references and plain(c) not in known]
    kinds = {c: _kind(table, c) for c in left}
    common = ColumnMapping(
        document=roles.get("document"),
        segment=roles.get("segment"),
        source=roles.get("source"),
        references=tuple(references),
        system=roles.get("system"),
        system_name=stem(table.name),
    )
    numbers = [c for c in left if kinds[c] == "number"]
    scores = tuple(c for c in numbers if not looks_like_a_metric(c))
    metrics = tuple(MetricColumn(c, c, not lower_is_better(c)) for c in numbers if looks_like_a_metric(c))
    texts = tuple(c for c in left if kinds[c] == "text")
    if "output" in roles:
        return common.with_(layout="long", output=roles["output"], human_scores=scores, metrics=metrics)
    if "system" in roles and numbers:
        return common.with_(layout="long", human_scores=scores, metrics=metrics)
    return common.with_(layout="wide", system=None, systems=texts)


def _long_document(table: FileTable, by_name: dict[str, str]) -> str | None:
    for name in ("document", "doc"):
        if name in by_name:
            i = table.columns.index(by_name[name])
            texts = [cell for row in table.rows[:100] if isinstance(cell := row.cells[i], str) and cell]
            if texts and sum(map(len, texts)) / len(texts) > _LONG_TEXT:
                return by_name[name]
    return None


def _kind(table: FileTable, column: str) -> Literal["number", "text", "empty", "other"]:
    i = table.columns.index(column)
    seen = False
    kind: Literal["number", "text"] = "number"
    for row in table.rows:
        cell = row.cells[i]
        if cell is None or (isinstance(cell, str) and is_absent(cell)):
            continue
        if not isinstance(cell, str):
            return "other"
        seen = True
        if not looks_like_a_number(cell):
            kind = "text"
            break
    return kind if seen else "empty"
