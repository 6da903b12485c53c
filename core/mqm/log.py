"""Compute the current labels from the append-only log of events.

Undo and redo work per rater and segment, over all outputs of the segment. An action that changes labels clears the redo
list. Changing labels after a submit withdraws the submission; the segment must be submitted again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from core.data import Segment, SegmentKey, Span, grouped, same_error
from core.errors import Stale, UserError
from core.mqm.action_form import malformed
from core.ports.labels import (
    EDITS,
    IMPORTED,
    ON_OUTPUT,
    ON_SEGMENT,
    STEPS,
    Action,
    Ask,
    ErrorSpan,
    Event,
    FoldedSegment,
    OutputLabels,
    SegmentLabels,
)

T = TypeVar("T")


IDLE_SECONDS = 120.0
"""A longer pause between two events counts as this much working time."""


def fold(events: Iterable[Event]) -> dict[tuple[str, SegmentKey], SegmentLabels]:
    """Return the labels by (rater, segment), from events in the order of their numbers."""
    groups = grouped(((event.rater, event.segment), event) for event in events)
    return {key: fold_segment(group) for key, group in groups.items()}


def fold_segment(events: Iterable[Event]) -> SegmentLabels:
    """Return the labels of one rater for one segment."""
    return SegmentFold(events).labels


def folded(events: Sequence[Event]) -> FoldedSegment:
    """Return the labels of one rater for one segment, with what the log says of them. There is at least one event."""
    fold, first, last = SegmentFold(events), events[0], events[-1]
    return FoldedSegment(
        first.rater, first.segment, fold.labels, first.number, fold.made_here, last.number, first.time, last.time
    )


class _Done(NamedTuple):
    """An edit in effect, and what an undo of it restores: the labels of its output and their version."""

    action: Action
    labels: OutputLabels | None
    version: str | None
    whole: Mapping[str, Any] | None


class SegmentFold:
    """The labels of one rater for one segment after each of their events. An event takes the same time however many came before it.

    `length` is the number of events, `last_id` the id of the last action. `made_here` is False if all labels are from a file.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._done: list[_Done] = []
        self._undone: list[Action] = []
        self._outputs: dict[str, OutputLabels] = {}
        self._versions: dict[str, str] = {}
        self._whole: dict[str, Mapping[str, Any]] = {}
        self._submitted, self._seconds = False, 0.0
        self._last: datetime | None = None
        self._seed: int | None = None
        self._asks: tuple[Ask, ...] = ("spans",)
        self._order: tuple[str, ...] = ()
        self._ids: dict[str, str] = {}
        self._revealed: frozenset[str] = frozenset()
        self._drafts: set[str] = set()
        self._suggestions: dict[str, tuple[ErrorSpan, ...]] = {}
        self._arm, self._probability = "", 1.0
        self.length, self.last_id, self.made_here = 0, "", False
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Apply the next event."""
        action = event.action
        if self._last is not None and action.kind != "open":
            self._seconds += min(IDLE_SECONDS, max(0.0, (event.time - self._last).total_seconds()))
        self._last = event.time
        self.length, self.last_id = self.length + 1, action.id
        self.made_here = self.made_here or (action.kind != "open" and not action.id.startswith(IMPORTED))
        match action.kind:
            case "open":
                opened = tuple(action.payload.get("order", ()))
                self._order += tuple(system for system in opened if system not in self._order)
                self._ids = dict(zip(opened, action.payload.get("ids", ()), strict=False)) | self._ids
                self._seed = action.payload.get("seed") if self._seed is None else self._seed
                if not self._arm and "arm" in action.payload:
                    self._arm, self._probability = action.payload["arm"], action.payload["probability"]
                    self._suggestions = {
                        system: tuple(ErrorSpan(row["id"], _span(row)) for row in rows)
                        for system, rows in action.payload.get("suggestions", {}).items()
                    }
            case "submit":
                self._submitted = True
                self._drafts.difference_update(action.payload.get("systems", tuple(self._drafts)))
                self._asks = tuple(action.payload.get("asks", ("spans",)))
            case "reveal":
                self._revealed |= set(action.payload.get("systems", ()))
            case "reopen":
                self._drafts.update(self._versions)
                self._submitted = False
            case "undo" if self._done:
                self._undone.append(self._undo())
            case "redo" if self._undone:
                self._do(self._undone.pop())
            case kind if kind in EDITS:
                self._undone.clear()
                self._do(action)

    def _do(self, action: Action) -> None:
        system, kind = action.system or "", action.kind
        before = self._outputs.get(system)
        self._done.append(_Done(action, before, self._versions.get(system), self._whole.get(kind)))
        if kind in ON_OUTPUT:
            self._outputs[system] = apply_action(before or OutputLabels(), action)
        else:
            self._whole[kind] = action.payload
        self._versions[system] = action.id
        self._drafts.add(system)
        self._submitted = False

    def _undo(self) -> Action:
        action, labels, version, whole = self._done.pop()
        system = action.system or ""
        if action.kind in ON_OUTPUT:
            _restore(self._outputs, system, labels)
        else:
            _restore(self._whole, action.kind, whole)
        _restore(self._versions, system, version)
        self._drafts.add(system)
        self._submitted = False
        return action

    @property
    def labels(self) -> SegmentLabels:
        """The labels after the events so far."""
        preferred = self._whole.get("prefer", {})
        return SegmentLabels(
            dict(self._outputs), self._submitted, self._order, self._seed, dict(self._ids), dict(self._versions),
            self._done[-1].action.id if self._done else "", self._undone[-1].id if self._undone else "",
            self._revealed, self._seconds, self._asks,
            (preferred["winner"],) if "winner" in preferred else (), self._whole.get("decline", {}).get("reason", ""),
            frozenset(self._drafts - {""}), dict(self._suggestions), self._arm, self._probability,
        )  # fmt: skip


def _restore(values: dict[str, T], key: str, before: T | None) -> None:
    if before is None:
        del values[key]
    else:
        values[key] = before


def span_of(action: Action) -> Span:
    return _span(action.payload)


def _span(p: Mapping[str, Any]) -> Span:
    return Span(p["side"], p["start"], p["end"], p["quote"], p["severity"], p["category"], p.get("note", ""))


def apply_action(labels: OutputLabels, action: Action) -> OutputLabels:
    """Return the labels of an output after one edit."""
    p = action.payload
    match action.kind:
        case "add":
            mark = ErrorSpan(p["mark"], span_of(action), p.get("suggestion", ""))
            return OutputLabels((*labels.marks, mark), None, labels.score, _decided(labels, mark.suggestion))
        case "change":
            return replace(
                labels, marks=tuple(replace(m, span=span_of(action)) if m.id == p["mark"] else m for m in labels.marks)
            )
        case "delete":
            return replace(labels, marks=tuple(m for m in labels.marks if m.id != p["mark"]))
        case "reject":
            return replace(labels, decided=_decided(labels, p["suggestion"]))
        case "verdict":
            return OutputLabels((), p["value"], labels.score) if p.get("value") else replace(labels, verdict=None)
        case "score":
            return replace(labels, score=None if p["value"] is None else float(p["value"]))
    return labels


def _decided(labels: OutputLabels, suggestion: str) -> tuple[str, ...]:
    return labels.decided if suggestion in ("", *labels.decided) else (*labels.decided, suggestion)


def check(action: Action, labels: SegmentLabels, segment: Segment, outputs: Mapping[str, str]) -> None:
    """Raise `UserError` if `action` is malformed or cannot follow `labels`. `outputs` maps systems to texts of the segment.

    An action may name the version of the labels that it was made on (`seen`); `Stale` is raised if they have changed since.
    """
    if wrong := malformed(action):
        raise UserError(
            "this action cannot be read", where=str(action.kind), got=wrong, hint="Reload the page; nothing was changed"
        )
    if (
        action.kind in ON_OUTPUT
        and action.system not in outputs
        or action.kind == "prefer"
        and _unknown_winner(action, outputs)
    ):
        raise UserError("there is no such output", hint="Reload the page")  # annotators must not see names of systems
    if (
        action.kind in STEPS | ON_SEGMENT | {"reopen"}
        and labels.revealed
        or action.kind in ON_OUTPUT
        and action.system in labels.revealed
    ):
        raise UserError(
            "this segment is locked, because its system names were shown",
            hint="Labels made before that are kept and count",
        )
    if action.payload.get("seen", now := labels.version(action.kind, action.system)) != now:
        raise Stale("the labels were changed in another tab or window", hint="Compare both versions")
    current = labels.of(action.system or "")
    if action.kind in ("add", "change", "delete"):
        mark = action.payload["mark"]
        exists = any(m.id == mark for m in current.marks)
        if exists == (action.kind == "add"):
            raise UserError(
                "this error span already exists" if exists else "this error span does not exist",
                hint="Reload the page",
            )
    if action.kind in ("add", "reject") and (name := action.payload.get("suggestion")):
        decided = current.decided if action.kind == "reject" else [m.suggestion for m in current.marks]
        if name in decided or all(s.id != name for s in labels.suggestions.get(action.system or "", ())):
            raise UserError(
                "this suggestion is decided already" if name in decided else "this suggestion does not exist",
                hint="Reload the page",
            )
    if action.kind in ("add", "change"):
        span = span_of(action)
        text = outputs[action.system or ""] if span.side == "output" else segment.source
        if text is None:
            raise UserError("there is no source to mark", where=segment.segment_id, hint="Mark the error in the output")
        span.check(text)
        identity = same_error(span)
        if any(m.id != action.payload["mark"] and same_error(m.span) == identity for m in current.marks):
            raise UserError(
                "this error is already marked",
                got=repr(span.quote),
                hint="Change the existing error span, or choose another category",
            )
    if action.kind == "submit" and not labels.declined:
        _check_complete(labels, action.payload.get("systems", outputs), action.payload.get("asks", ("spans",)))


def _unknown_winner(action: Action, outputs: Mapping[str, str]) -> bool:
    return action.payload.get("winner") is not None and action.payload["winner"] not in outputs


def _check_complete(labels: SegmentLabels, systems: Collection[str], asks: Collection[Ask]) -> None:
    """Raise `UserError` if something that the protocol asks for is missing. With a score, an output without spans has no error.

    Every suggestion must be decided (our decision): one that is ignored would say neither that it is right nor that it is wrong.
    """
    if undecided := sum(len(labels.undecided(system)) for system in systems):
        shown = sum(len(labels.suggestions.get(system, ())) for system in systems)
        raise UserError(f"{undecided} of {shown} suggestions are not decided", hint="Accept, edit or reject each")
    if "score" in asks:
        if missing := [s for s in systems if labels.of(s).score is None]:
            raise UserError(f"{len(missing)} of {len(systems)} outputs have no score", hint="Set the score of each")
    elif "spans" in asks and (missing := [s for s in systems if not labels.of(s).complete]):
        raise UserError(
            f"{len(missing)} of {len(systems)} outputs have neither an error span nor a verdict",
            hint="Mark an error or choose “no error” or “non-translation” for each",
        )
    if "preference" in asks and not labels.preference:
        raise UserError("no output is chosen as the better one", hint="Choose one, or say that both are equally good")
