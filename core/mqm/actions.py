"""Rated outputs from a file as actions for the label log, so that an import is recorded like any other work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from core.data import SEVERITIES, OutputKey, RatedOutput, SegmentKey, Span
from core.mqm.action_form import LONGEST_CATEGORY, LONGEST_NOTE, text_fault
from core.mqm.log import SegmentLabels
from core.mqm.scores import errors_of
from core.mqm.typology import is_non_translation
from core.ports import Action, ActionKind

Place = tuple[str, SegmentKey]
"""A rater and a segment: what the label log keeps together."""


@dataclass(frozen=True, slots=True)
class LabelImport:
    """What to append, by rater and segment and in order; and in plain words what of the file is not taken over."""

    actions: Mapping[Place, tuple[Action, ...]]
    notes: tuple[str, ...] = ()


def label_actions(
    rated: Iterable[RatedOutput],
    labels: Mapping[Place, SegmentLabels] | None = None,
    known: Collection[str] = frozenset(),
) -> LabelImport:
    """The actions that bring `rated` into the log: marks and verdicts, then submit, per rater and segment.

    Ids are made from the content, so that importing a file twice adds nothing. `labels` and `known` are the labels and
    the ids of the actions that the log holds already: an output that a rater has labelled there is left as it is, and
    so is one whose labels came from a file before and were withdrawn since. A submit names the outputs the file rates,
    since raters in such files often saw some systems only; a segment that gets no new labels is not submitted again.
    No order of the systems is recorded: files do not say in which one the raters saw them.
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
            where = f"{place[0] or 'nobody'}, {system}, segment {place[1].segment_id}"
            if wrong := _unfit(place[0], errors):
                notes.append(f"{where}: {wrong}; not taken over")
                continue
            wanted = _distinct(errors, where, notes)
            if not before.of(system).complete:
                new = _edits(place, system, wanted)
                if any(a.id in known for a in new):
                    notes.append(f"{where}: imported before and withdrawn here since; left as it is here")
                    continue
                edits += new
            elif _plain(errors_of(before.of(system))) != _plain(wanted):
                notes.append(f"{where}: labelled here otherwise; kept as it is here")
            taken.append(system)
        if edits:
            submit = _action(place, None, "submit", {"systems": taken}, *(a.id for a in edits))
            actions[place] = (*edits, submit)
    return LabelImport(actions, tuple(notes))


def _unfit(rater: str, errors: list[Span]) -> str:
    """Why the log cannot hold these labels, or ""."""
    if not rater.strip():
        return "no rater is named"
    for e in errors:
        if is_non_translation(e.category):
            continue
        if fault := text_fault("category", e.category, LONGEST_CATEGORY) or text_fault("note", e.note, LONGEST_NOTE):
            return fault
        if e.severity not in SEVERITIES:
            return f"the severity {e.severity!r} is none of {', '.join(SEVERITIES)}"
        if not e.category:
            return "an error has no category"
    return ""


def _edits(place: Place, system: str, errors: list[Span]) -> list[Action]:
    key = OutputKey(system, *place[1])
    if not errors:
        return [_action(place, system, "verdict", {"value": "no_error"})]
    if any(is_non_translation(e.category) for e in errors):
        return [_action(place, system, "verdict", {"value": "non_translation"})]
    return [_action(place, system, "add", {"mark": f"m-{_digest(place[0], key, e)}", **_payload(e)}) for e in errors]


def _distinct(errors: list[Span], where: str, notes: list[str]) -> list[Span]:
    """The errors as the log can hold them: exact duplicates once, and nothing beside a non-translation."""
    if whole := [e for e in errors if is_non_translation(e.category)]:
        if len(errors) > 1:
            notes.append(f"{where}: a non-translation replaces {len(errors) - 1} other errors")
        return whole[:1]
    by_place = {(e.side, e.start, e.end, e.severity, e.category): e for e in reversed(errors)}
    if len(by_place) < len(errors):
        notes.append(f"{where}: the same error was marked more than once; it counts once")
    return list(reversed(by_place.values()))


def _plain(errors: Iterable[Span]) -> set[tuple[Any, ...]]:
    """Errors as they are compared: the place of a non-translation does not matter, nor the order."""
    return {
        ("non-translation",)
        if is_non_translation(e.category)
        else (e.side, e.start, e.end, e.severity, e.category, e.note)
        for e in errors
    }


def _payload(e: Span) -> dict[str, Any]:
    return {
        "side": e.side,
        "start": e.start,
        "end": e.end,
        "quote": e.quote,
        "severity": e.severity,
        "category": e.category,
        "note": e.note,
    }


def _action(place: Place, system: str | None, kind: ActionKind, payload: Mapping[str, Any], *after: str) -> Action:
    """An action whose id is made of its content and of the ids `after` which it comes."""
    return Action(f"import-{_digest(*place, system, kind, payload, *after)}", kind, system, payload)


def _digest(*content: Any) -> str:
    plain = json.dumps(content, default=lambda s: _payload(s), ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:24]
