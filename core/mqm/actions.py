"""Convert rated outputs from a file to actions of the label log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from core.data import SEVERITIES, OutputKey, RatedOutput, SegmentKey, Span, distinct_errors, same_error
from core.mqm.action_form import LONGEST_CATEGORY, LONGEST_NOTE, text_fault
from core.mqm.scores import errors_of
from core.mqm.typology import is_non_translation
from core.ports.labels import IMPORTED, Action, ActionKind, SegmentLabels

Place = tuple[str, SegmentKey]
"""A rater and a segment: the unit of the label log."""


@dataclass(frozen=True, slots=True)
class LabelImport:
    """The actions to append by rater and segment, in order, and notes on what is not imported."""

    actions: Mapping[Place, tuple[Action, ...]]
    notes: tuple[str, ...] = ()


def label_actions(
    rated: Iterable[RatedOutput],
    labels: Mapping[Place, SegmentLabels] | None = None,
    known: Collection[str] = frozenset(),
) -> LabelImport:
    """Return the actions that import `rated`: error spans and verdicts, then submit, per rater and segment.

    Ids are derived from the content, so importing a file twice adds nothing. `labels` and `known` are the labels and action
    ids already in the log. An output is left unchanged if the rater has labelled it here, or if its labels were imported
    before and withdrawn. A submit names the outputs whose labels are those of the file, because raters may have seen only some systems
    and may work on others here. A segment without new labels is not submitted again. The order in which raters saw the systems is unknown and not recorded.
    """
    held = labels or {}
    by_place: dict[Place, dict[str, list[Span]]] = {}
    for r in rated:
        by_place.setdefault((r.rater, r.key.segment), {}).setdefault(r.key.system, []).extend(r.errors)
    actions: dict[Place, tuple[Action, ...]] = {}
    notes: list[str] = []
    for place, outputs in by_place.items():
        before = held.get(place, SegmentLabels())
        edits: list[Action] = []
        taken: list[str] = []
        for system, errors in outputs.items():
            where = f"{place[0] or 'no rater'}, {system}, segment {place[1].segment_id}"
            if wrong := _unfit(place[0], errors):
                notes.append(f"{where}: {wrong}; not imported")
                continue
            new_errors = _distinct(errors, where, notes)
            if not before.of(system).complete:
                new = _edits(place, system, new_errors)
                if any(a.id in known for a in new):
                    notes.append(f"{where}: imported before and withdrawn here; not imported again")
                    continue
                edits += new
            elif _plain(errors_of(before.of(system))) != _plain(new_errors):
                kept = before.submits(system)
                notes.append(
                    f"{where}: already has different labels here; these are kept{'' if kept else ' and not submitted'}"
                )
                if not kept:
                    continue
            taken.append(system)
        if edits:
            submit = _action(place, None, "submit", {"systems": taken}, *(a.id for a in edits))
            actions[place] = (*edits, submit)
    return LabelImport(actions, tuple(notes))


def _unfit(rater: str, errors: list[Span]) -> str:
    """Return why the log cannot hold these labels, or ""."""
    if not rater.strip():
        return "it has no rater name"
    for e in errors:
        if is_non_translation(e.category):
            continue
        if fault := text_fault("category", e.category, LONGEST_CATEGORY) or text_fault("note", e.note, LONGEST_NOTE):
            return fault
        if e.severity not in SEVERITIES:
            return f"unknown severity {e.severity!r}; expected {', '.join(SEVERITIES)}"
        if not e.category:
            return "an error has no category"
    return ""


def _edits(place: Place, system: str, errors: list[Span]) -> list[Action]:
    key = OutputKey(system, *place[1])
    if not errors:
        return [_action(place, system, "verdict", {"value": "no_error"})]
    if any(is_non_translation(e.category) for e in errors):
        return [_action(place, system, "verdict", {"value": "non_translation"})]
    return [_action(place, system, "add", {"mark": f"m-{_digest(place[0], key, e)}", **asdict(e)}) for e in errors]


def _distinct(errors: list[Span], where: str, notes: list[str]) -> list[Span]:
    """Return the errors without exact duplicates; a non-translation replaces all other errors."""
    if whole := [e for e in errors if is_non_translation(e.category)]:
        if len(errors) > 1:
            notes.append(f"{where}: a non-translation replaces {len(errors) - 1} other errors")
        return whole[:1]
    distinct = distinct_errors(errors)
    if len(distinct) < len(errors):
        notes.append(f"{where}: the same error was marked more than once; it counts once")
    return list(distinct)


def _plain(errors: Iterable[Span]) -> set[tuple[Any, ...]]:
    """Return errors in a comparable form, ignoring their order and the offsets of a non-translation."""
    return {("non-translation",) if is_non_translation(e.category) else (*same_error(e), e.note) for e in errors}


def _action(place: Place, system: str | None, kind: ActionKind, payload: Mapping[str, Any], *after: str) -> Action:
    """Return an action whose id is derived from its content and the ids of the preceding actions `after`."""
    return Action(f"{IMPORTED}{_digest(*place, system, kind, payload, *after)}", kind, system, payload)


def _digest(*content: Any) -> str:
    plain = json.dumps(content, default=asdict, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:24]
