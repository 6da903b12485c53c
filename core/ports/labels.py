"""The append-only log of annotators' actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from core.data import SegmentKey
from core.errors import UserError
from core.ports.rules import label_own, read_project, visible_raters
from core.progress import Progress, no_progress

T = TypeVar("T")
ActionKind = Literal[
    "open",
    "add",
    "change",
    "delete",
    "verdict",
    "score",
    "prefer",
    "decline",
    "undo",
    "redo",
    "submit",
    "reopen",
    "reveal",
]
Ask = Literal["spans", "score", "preference"]
"""What a protocol asks of annotators: error spans or a verdict, a score of each output, the better of two outputs."""
ASKS: tuple[Ask, ...] = ("spans", "score", "preference")


class Action(NamedTuple):
    """One action of an annotator, as the browser sends it. The browser makes the `id`, which is applied once.

    `system` is None for actions on a whole segment (open, prefer, decline, undo, redo, submit, reopen, reveal). `payload` by kind:
    open {order: [system, …], seed: int} · add / change {mark: str, side, start, end, quote, severity, category, note} ·
    delete {mark: str} · verdict {value: "no_error" | "non_translation" | None} · score {value: 0 to 100 | None} ·
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


class LabelBatch(NamedTuple):
    """Actions of one rater on one segment, in order."""

    rater: str
    segment: SegmentKey
    actions: Sequence[Action]


ActionOf = Callable[[str, Mapping[str, str]], Action]


class LabelLog(Protocol):
    @label_own.or_own_tasks
    def append(self, project_id: int, rater: str, segment: SegmentKey, actions: Sequence[Action]) -> list[str]:
        """Record the actions with new ids, in order, and return all ids once they are on disk.

        Raises `UserError` and records nothing if a span does not match its text, is an exact duplicate, does not exist, if a
        submit comes before every output has an error span or a verdict, or if the output is locked after a reveal. Raises
        `Stale` if the labels changed after the version that the action names.
        """
        ...

    @label_own.or_own_tasks
    def append_valid(
        self, project_id: int, rater: str, segment: SegmentKey, names: Sequence[str],
        action_of: ActionOf, refuse: Callable[[str, UserError], None],
    ) -> list[str]:  # fmt: skip
        """Record the valid actions among those with these ids, in order, and return their ids once they are on disk.

        `action_of` returns the action of an id that is not recorded yet, or raises `UserError`; its second argument are the names of the
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
    def folded(self, project_id: int, rater: str, fold: Callable[[Iterable[Event]], T]) -> Mapping[SegmentKey, T]:
        """Return what `fold` makes of a rater's events of each segment, in the order of the first event.

        The results are kept in memory: the next call reads the events of segments that have new ones, and no others. `fold` is a
        function of a module, and its results are small and are not changed.
        """
        ...

    @read_project
    def by_segment(self, project_id: int, progress: Progress = no_progress) -> Iterator[list[Event]]:
        """Yield the events of each rater on each segment, in the order of recording; segments in the order of the project.

        Some segments are read at a time; `progress` is called before each part and at the end. Events recorded while this runs may or
        may not be included. All events up to the number that `newest` returned before the call are included.
        """
        ...

    @visible_raters.kept
    def raters(self, project_id: int | None = None) -> list[str]: ...

    @read_project.kept
    def newest(self, project_id: int) -> int: ...  # number of the newest event; 0 without events
