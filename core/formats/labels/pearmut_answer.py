"""Read one annotator's response to one output in Pearmut's log: score, sliders and error spans, and whether it was answered at all.

According to its source (`annotate.ts`), *Next* needs a score, or a value on each slider if the campaign defines sliders (an empty object
if it defines none, as in MQM). *Skip* stores the page with what is there, and `submit_skip` as its last action.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from core.formats.labels.answers import FileAnswer, Kind
from core.formats.parsing.json_records import Record
from core.formats.problems import shown

EXACT = "errorscope"
"""The key under which this program keeps what other tools ignore."""
NO_ERROR = "no-error"
OMISSION = "Accuracy/Omission"
INSTRUCTIONS = "Instructions fault"
"""The category of an output that ignores the instructions of the task."""
RESET = "__RESET__"
"""The annotation of a record that discards what the annotator did before on its page, or on all pages if it names none."""
WELCOME, RANDOM = "welcome_", "random_"

_TUTORIALS = (WELCOME, "goodbye_")
_KNOWN = frozenset(("score", "error_spans", "sliders", "comment", EXACT))


class PearmutAnswer(NamedTuple):
    """`spans` are the objects of the error spans, None without a list; `unread` names further answers; `skipped` is True without
    any other answer."""

    score: float | None
    sliders: tuple[tuple[str, float], ...]
    spans: list[Any] | None
    said: bool
    skipped: bool
    unread: tuple[str, ...]

    @property
    def answer(self) -> FileAnswer:
        return FileAnswer(
            None if self.spans is None else len(self.spans), self.score is not None or bool(self.sliders), self.said
        )


def read_answer(record: Record, page_skipped: bool) -> PearmutAnswer | None:
    """Return the response; None, and a problem, if it is malformed."""
    spans, kept = record.values.get("error_spans"), record.values.get(EXACT)
    if spans is not None and not isinstance(spans, list):
        record.problem("error_spans", shown(str(spans)), "a list of error spans")
        return None
    defined = record.record("sliders", needed=False)
    values = {name: defined.number(name) for name in defined.values} if defined else {}
    sliders = tuple((name, value) for name, value in values.items() if value is not None)
    score = record.number("score")
    unread = tuple(
        f"answer {shown(name)}"
        for name, value in record.values.items()
        if name not in _KNOWN and value not in (None, "", [], {})
    )
    complete = score is not None or (defined is not None and len(sliders) == len(values))
    said = kept == NO_ERROR or (defined is not None and not values and not unread)
    skipped = (page_skipped and not complete) or bool(unread and not spans and score is None and not sliders)
    return PearmutAnswer(score, sliders, spans, said, skipped, unread)


def kind_of(name: str | None, page: str) -> Kind:
    """Return the kind of an item from its id and its page."""
    name = name or ""
    if page.startswith(_TUTORIALS) or "_tutorial_" in name or name.startswith("tutorial"):
        return "tutorial"
    if page.startswith(RANDOM) or name.startswith("attention_check") or (not name and page and not page.isdecimal()):
        return "check"
    return "item"


def has_texts(record: Record) -> bool:
    """Return whether a record has its texts; if not, add a problem."""
    if record.values.get("item") is None:
        todo = "Choose a log whose records have “item”, or import its scores as a table by annotator"
        record.problem("item", "nothing: ratings without their texts", "the texts of the page", todo)
    return record.values.get("item") is not None


def skipped(actions: Any) -> bool:
    """Return whether the annotator left a page with *Skip*."""
    listed = [a for a in actions if isinstance(a, dict) and a.get("action")] if isinstance(actions, list) else []
    return bool(listed) and str(listed[-1]["action"]).startswith("submit_skip")
