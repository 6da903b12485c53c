"""Compute the current labels from the append-only log of events.

Undo and redo work per rater and segment, over all outputs of the segment. An action that changes labels clears the redo
list. Changing labels after a submit withdraws the submission; the segment must be submitted again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from core.data import Segment, SegmentKey, Span, Verdict, same_error
from core.errors import Stale, UserError
from core.mqm.action_form import malformed
from core.ports.labels import Action, Ask, Event

ON_OUTPUT = frozenset({"add", "change", "delete", "verdict", "score"})
ON_SEGMENT = frozenset({"prefer", "decline"})
EDITS = ON_OUTPUT | ON_SEGMENT
STEPS = frozenset({"undo", "redo"})


@dataclass(frozen=True, slots=True)
class ErrorSpan:
    """A span with the id assigned by the browser."""

    id: str
    span: Span


@dataclass(frozen=True, slots=True)
class OutputLabels:
    """One rater's labels of one output: error spans or a verdict, and in some protocols a score from 0 to 100.

    Adding a span withdraws the verdict, and a verdict removes the spans. Withdrawing a verdict (None) keeps the spans.
    """

    marks: tuple[ErrorSpan, ...] = ()
    verdict: Verdict | None = None
    score: float | None = None

    @property
    def complete(self) -> bool:
        return bool(self.marks) or self.verdict is not None


@dataclass(frozen=True, slots=True)
class SegmentLabels:
    """One rater's labels of one segment. `outputs` has an entry for each system with at least one action.

    `order` has the systems in the order in which the rater sees them, and `ids` their names in the browser (`open` actions).
    `versions` has the id of the last edit in effect by system, `last` that of all outputs, `undone` the one that a redo
    restores. Together they identify a state of the labels. The names of the systems in `revealed` were shown to the rater.
    `asks` is what the protocol of the submission asked for. The labels of the outputs in `drafts` were changed after the last submission that
    names them: a file may hold labels of one output only while the rater works on another. `preference` is () or has the better one of two systems, None if
    both are equally good. `declined` is the reason why the rater cannot judge the segment.
    """

    outputs: Mapping[str, OutputLabels] = field(default_factory=dict)
    submitted: bool = False
    order: tuple[str, ...] = ()
    seed: int | None = None
    ids: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    last: str = ""
    undone: str = ""
    revealed: frozenset[str] = frozenset()
    seconds: float = 0.0
    asks: tuple[Ask, ...] = ("spans",)
    preference: tuple[str | None, ...] = ()
    declined: str = ""
    drafts: frozenset[str] = frozenset()

    @property
    def can_undo(self) -> bool:
        return bool(self.last)

    @property
    def can_redo(self) -> bool:
        return bool(self.undone)

    def version(self, kind: str, system: str | None) -> str:
        """Return the version of the labels that an action of this kind replaces or confirms."""
        if kind in EDITS:
            return self.versions.get(system or "", "")
        return self.undone if kind == "redo" else self.last

    def of(self, system: str) -> OutputLabels:
        return self.outputs.get(system, OutputLabels())

    def submits(self, system: str) -> bool:
        """Return whether the labels of this output are submitted."""
        return self.submitted and system not in self.drafts

    def answered(self, system: str) -> bool:
        """Return whether the submission has what its protocol asks for this output."""
        if self.answered_without_outputs:
            return True
        if system in self.drafts:
            return False
        if "score" in self.asks:
            return self.of(system).score is not None
        return self.of(system).complete

    @property
    def answered_without_outputs(self) -> bool:
        """Return whether the protocol asks for nothing about single outputs, or the rater could not judge them."""
        return bool(self.declined) or ("score" not in self.asks and "spans" not in self.asks)


IDLE_SECONDS = 120.0
"""A longer pause between two events counts as this much working time."""


def fold(events: Iterable[Event]) -> dict[tuple[str, SegmentKey], SegmentLabels]:
    """Return the labels by (rater, segment), from events in the order of their numbers."""
    groups: dict[tuple[str, SegmentKey], list[Event]] = {}
    for event in events:
        groups.setdefault((event.rater, event.segment), []).append(event)
    return {key: fold_segment(group) for key, group in groups.items()}


def fold_segment(events: Iterable[Event]) -> SegmentLabels:
    """Return the labels of one rater for one segment."""
    done: list[Action] = []
    undone: list[Action] = []
    submitted, seed, seconds, last = False, None, 0.0, None
    asks: tuple[Ask, ...] = ("spans",)
    order: tuple[str, ...] = ()
    ids: dict[str, str] = {}
    revealed: frozenset[str] = frozenset()
    drafts: set[str] = set()
    for event in events:
        action = event.action
        if last is not None and action.kind != "open":
            seconds += min(IDLE_SECONDS, max(0.0, (event.time - last).total_seconds()))
        last = event.time
        match action.kind:
            case "open":
                opened = tuple(action.payload.get("order", ()))
                order += tuple(system for system in opened if system not in order)
                ids = dict(zip(opened, action.payload.get("ids", ()), strict=False)) | ids
                seed = action.payload.get("seed") if seed is None else seed
            case "submit":
                submitted = True
                drafts.difference_update(action.payload.get("systems", tuple(drafts)))
                asks = tuple(action.payload.get("asks", ("spans",)))
            case "reveal":
                revealed |= set(action.payload.get("systems", ()))
            case "reopen":
                drafts.update(a.system for a in done if a.system is not None)
                submitted = False
            case "undo" if done:
                undone.append(done.pop())
                drafts.add(undone[-1].system or "")
                submitted = False
            case "redo" if undone:
                done.append(undone.pop())
                drafts.add(done[-1].system or "")
                submitted = False
            case kind if kind in EDITS:
                done.append(action)
                drafts.add(action.system or "")
                undone.clear()
                submitted = False
    outputs: dict[str, OutputLabels] = {}
    whole = {action.kind: action.payload for action in done if action.kind in ON_SEGMENT}
    preference = (whole["prefer"]["winner"],) if "winner" in whole.get("prefer", {}) else ()
    for action in (a for a in done if a.kind in ON_OUTPUT):
        system = action.system or ""
        outputs[system] = apply_action(outputs.get(system, OutputLabels()), action)
    versions = {action.system or "": action.id for action in done}
    latest, restored = (stack[-1].id if stack else "" for stack in (done, undone))
    return SegmentLabels(
        outputs, submitted, order, seed, ids, versions, latest, restored, revealed, seconds, asks, preference,
        whole.get("decline", {}).get("reason", ""), frozenset(drafts - {""}),
    )  # fmt: skip


def span_of(action: Action) -> Span:
    p = action.payload
    return Span(p["side"], p["start"], p["end"], p["quote"], p["severity"], p["category"], p.get("note", ""))


def apply_action(labels: OutputLabels, action: Action) -> OutputLabels:
    """Return the labels of an output after one edit."""
    p = action.payload
    match action.kind:
        case "add":
            return OutputLabels((*labels.marks, ErrorSpan(p["mark"], span_of(action))), None, labels.score)
        case "change":
            return replace(
                labels, marks=tuple(ErrorSpan(m.id, span_of(action)) if m.id == p["mark"] else m for m in labels.marks)
            )
        case "delete":
            return replace(labels, marks=tuple(m for m in labels.marks if m.id != p["mark"]))
        case "verdict":
            return OutputLabels((), p["value"], labels.score) if p.get("value") else replace(labels, verdict=None)
        case "score":
            return replace(labels, score=None if p["value"] is None else float(p["value"]))
    return labels


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
        and _stranger(action, outputs)
    ):
        raise UserError("there is no such output", hint="Reload the page")  # annotators must not see names of systems
    if (
        action.kind in STEPS | ON_SEGMENT
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
    if action.kind in ("add", "change"):
        span = span_of(action)
        text = outputs[action.system or ""] if span.side == "output" else segment.source
        if text is None:
            raise UserError("there is no source to mark", where=segment.segment_id, hint="Mark the error in the output")
        span.check(text)
        if any(m.id != action.payload["mark"] and same_error(m.span) == same_error(span) for m in current.marks):
            raise UserError(
                "this error is already marked",
                got=repr(span.quote),
                hint="Change the existing error span, or choose another category",
            )
    if action.kind == "submit" and not labels.declined:
        _check_complete(labels, action.payload.get("systems", outputs), action.payload.get("asks", ("spans",)))


def _stranger(action: Action, outputs: Mapping[str, str]) -> bool:
    return action.payload.get("winner") is not None and action.payload["winner"] not in outputs


def _check_complete(labels: SegmentLabels, systems: Collection[str], asks: Collection[Ask]) -> None:
    """Raise `UserError` if something that the protocol asks for is missing. With a score, an output without spans has no error."""
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
