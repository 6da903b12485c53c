"""The append-only log of annotators' actions, and raters' numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Protocol

from core.data import Judgement, SegmentKey, Span, Verdict
from core.errors import UserError
from core.ports.rules import label_own, read_project, visible_raters
from core.progress import Progress, no_progress

ActionKind = Literal[
    "open", "add", "change", "delete", "reject", "verdict", "score", "prefer", "decline", "undo", "redo", "submit", "reopen", "reveal",
]  # fmt: skip
ON_OUTPUT = frozenset({"add", "change", "delete", "reject", "verdict", "score"})
ON_SEGMENT = frozenset({"prefer", "decline"})
EDITS = ON_OUTPUT | ON_SEGMENT
STEPS = frozenset({"undo", "redo"})
IMPORTED = "import-"
"""The ids of actions that an import of labels makes begin so."""
Ask = Literal["spans", "score", "preference"]
"""What a protocol asks of annotators: error spans or a verdict, a score of each output, the better of two outputs."""
ASKS: tuple[Ask, ...] = ("spans", "score", "preference")


class Action(NamedTuple):
    """One action of an annotator, as the browser sends it. The browser makes the `id`, which is applied once.

    `system` is None for actions on a whole segment (open, prefer, decline, undo, redo, submit, reopen, reveal). `payload` by kind:
    open {order: [system, …], seed: int}, in campaigns with suggestions also {arm, probability, suggestions: {system: [{id, side, start, …}]}} ·
    add / change {mark: str, side, start, end, quote, severity, category, note}, add also {suggestion: id} if it accepts one, as it is or edited ·
    delete {mark: str} · reject {suggestion: id} · verdict {value: "no_error" | "non_translation" | None} · score {value: 0 to 100 | None} ·
    prefer {winner: system | None for equally good} or {} to withdraw it · decline {reason: str, "" to withdraw it} for a segment
    that the annotator cannot judge · submit {}, or {systems: [system, …]} if a file has the labels of these outputs only, and
    {asks: [ask, …]} if the protocol asks for other things than error spans · reveal {systems: [system, …]} after their names were shown · the others
    {}. Actions of the browser also have {seen: str}, the version of the labels they were made on (`SegmentLabels.version`).
    """

    id: str
    kind: ActionKind
    system: str | None
    payload: Mapping[str, Any]
    client_time: str = ""


class Event(NamedTuple):
    """A recorded action; `number` increases in the order of recording."""

    number: int
    time: datetime
    rater: str
    segment: SegmentKey
    action: Action


@dataclass(frozen=True, slots=True)
class ErrorSpan:
    """A span with the id assigned by the browser, and the id of the suggestion that it accepts, as it is or edited; "" without one."""

    id: str
    span: Span
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class OutputLabels:
    """One rater's labels of one output: error spans or a verdict, and in some protocols a score from 0 to 100.

    Adding a span withdraws the verdict, and a verdict removes the spans. Withdrawing a verdict (None) keeps the spans.
    `decided` has the ids of the suggestions that were accepted, edited or rejected; a verdict clears it, because it decides all of them.
    """

    marks: tuple[ErrorSpan, ...] = ()
    verdict: Verdict | None = None
    score: float | None = None
    decided: tuple[str, ...] = ()

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
    both are equally good. `declined` is the reason why the rater cannot judge the segment. In campaigns with suggestions, `arm` is what was drawn
    for this rater and segment with this `probability`, and `suggestions` are those that were shown, by system.
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
    suggestions: Mapping[str, tuple[ErrorSpan, ...]] = field(default_factory=dict)
    arm: str = ""
    probability: float = 1.0

    def version(self, kind: str, system: str | None) -> str:
        """Return the version of the labels that an action of this kind replaces or confirms."""
        if kind in EDITS:
            return self.versions.get(system or "", "")
        return self.undone if kind == "redo" else self.last

    def of(self, system: str) -> OutputLabels:
        return self.outputs.get(system, OutputLabels())

    def undecided(self, system: str) -> tuple[ErrorSpan, ...]:
        """Return the suggestions that were neither accepted nor edited nor rejected. A verdict decides all of its output."""
        labels = self.of(system)
        shown = () if labels.verdict else self.suggestions.get(system, ())
        return tuple(suggestion for suggestion in shown if suggestion.id not in labels.decided)

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


NO_TIME = datetime.fromtimestamp(0, UTC)


class FoldedSegment(NamedTuple):
    """One rater's labels of a segment, with what the log says of them.

    `first` and `last` are the numbers of the first and last event, `began` and `ended` their times. `made_here` is False if all labels
    are from a file.
    """

    rater: str
    segment: SegmentKey
    labels: SegmentLabels
    first: int = 0
    made_here: bool = True
    last: int = 0
    began: datetime = NO_TIME
    ended: datetime = NO_TIME


class RecordedSegment(NamedTuple):
    """The events of one rater in a segment, and the labels that they lead to."""

    events: Sequence[Event]
    labels: SegmentLabels


class SavedActions(NamedTuple):
    """The ids of actions that are on disk, and the rater's labels of the segment after them."""

    ids: list[str]
    labels: SegmentLabels


class UnitTouch(NamedTuple):
    """When a unit of a campaign is opened or labelled, and until when the units that its rater has not submitted are reserved then."""

    now: datetime
    lease_until: datetime


class LabelBatch(NamedTuple):
    """Actions of one rater on one segment, in order."""

    rater: str
    segment: SegmentKey
    actions: Sequence[Action]


ActionOf = Callable[[str, Mapping[str, str]], Action]


class LabelLog(Protocol):
    """Labels that are returned are shared with other callers: nobody changes them. `Projects.add` stores the numbers of raters."""

    @label_own.or_own_tasks
    def append(
        self, project_id: int, rater: str, segment: SegmentKey, actions: Sequence[Action],
        touch: UnitTouch | None = None,
    ) -> SavedActions:  # fmt: skip
        """Record the actions with new ids, in order, and return all ids once they are on disk.

        With `touch`, the same transaction notes that the unit of a campaign is being worked on, is submitted, or is no longer so, if it was
        ever assigned to this rater. An assignment that was reclaimed gets a free slot again; without one it counts as an extra rating once
        submitted.

        Raises `UserError` and records nothing if a span does not match its text, is an exact duplicate, does not exist, if a
        submit comes before every output has an error span or a verdict, or if the output is locked after a reveal. Raises
        `Stale` if the labels changed after the version that the action names.
        """
        ...

    @label_own.or_own_tasks
    def append_valid(
        self, project_id: int, rater: str, segment: SegmentKey, names: Sequence[str],
        action_of: ActionOf, refuse: Callable[[str, UserError], None], touch: UnitTouch | None = None,
    ) -> SavedActions:  # fmt: skip
        """Record the valid actions among those with these ids, in order, and return their ids once they are on disk.

        `touch` is that of `append`. `action_of` returns the action of an id that is not recorded yet, or raises `UserError`; its second argument are the names of the
        systems in the browser (`open`). For each action that is refused, as in `append`, `refuse` is called with its id and the reason before the next one is made. A rater has a limited number of edits in a
        segment. Raises `UserError` if the segment does not exist, and `Unavailable` with nothing recorded if storage fails.
        """
        ...

    @read_project.or_own_tasks
    def events(
        self, project_id: int, *, rater: str | None = None, segment: SegmentKey | None = None, after: int = 0
    ) -> list[Event]:
        """Return the events in the order of recording, of one rater or segment or of all, whose numbers are above `after`."""
        ...

    @read_project.or_own_tasks
    def recorded(self, project_id: int, rater: str, segment: SegmentKey) -> RecordedSegment:
        """Return what a rater has recorded in a segment, and the labels after it."""
        ...

    @read_project.or_own_tasks
    def of_rater(self, project_id: int, rater: str) -> Mapping[SegmentKey, FoldedSegment]:
        """Return a rater's labels of each segment, in the order of the first event.

        They are kept in memory: the next call reads new events, and folds the segments that have some.
        """
        ...

    @read_project
    def folded(self, project_id: int, after: int = 0, progress: Progress = no_progress) -> Iterator[FoldedSegment]:
        """Yield the labels of each rater and segment with events that became visible after number `after`; segments in the order of the project.

        Some segments are read at a time; `progress` is called before each part and at the end. Events recorded while this runs may or
        may not be included. All events up to the number that `newest` returned before the call are included.
        """
        ...

    @visible_raters.kept
    def raters(self, project_id: int | None = None) -> list[str]: ...

    @read_project.kept
    def newest(self, project_id: int) -> int: ...  # number of the newest event; 0 without events

    @read_project
    def judgements(self, project_id: int) -> list[Judgement]: ...  # the numbers of raters, in the order of import
