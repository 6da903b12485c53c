"""Which answers of annotators are ratings, which scores are none, and the responses in Pearmut's log.

Decide which answers of annotators are ratings of errors, and which scores are none.
Tools store an empty list of error spans also for annotators who were never asked for errors, or who skipped the item. It says "no
error" only if the protocol asked for errors and the annotator answered.

Read one annotator's response to one output in Pearmut's log: score, sliders and error spans, and whether it was answered at all.
According to its source (`annotate.ts`), *Next* needs a score, or a value on each slider if the campaign defines sliders (an empty object
if it defines none, as in MQM). *Skip* stores the page with what is there, and `submit_skip` as its last action.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from core.formats.parsing.json_records import Record
from core.formats.problems import shown
from core.formatting import format_count

Kind = Literal["item", "check", "tutorial"]
"""What a rated text is for: rating, an attention check, or training."""


class FileAnswer(NamedTuple):
    """What is there of one annotator's answer to one output: the number of error spans (None without a list), whether there is a score,
    and whether the file says by other means that the annotator was asked for errors and answered (`said`)."""

    spans: int | None
    scored: bool
    said: bool = False


class FileProtocol(NamedTuple):
    """What the answers of a file show: whether annotators were asked for error spans, and for scores."""

    spans: bool
    scores: bool

    @classmethod
    def of(cls, answers: Iterable[FileAnswer]) -> FileProtocol:
        """Return the protocol that all answers of a file show."""
        every = list(answers)
        return cls(any(a.spans or a.said for a in every), any(a.scored for a in every))

    def rates_errors(self, a: FileAnswer) -> bool:
        """Return whether the list of error spans of an answer is a rating. Without a score where others have one, it is none."""
        if a.spans is None:
            return False
        return bool(a.spans) or a.said or (self.spans and (a.scored or not self.scores))


class ScoredRow(NamedTuple):
    """One rated output of an export: annotator, score, whether an error span has a type (MQM), and the number of error spans."""

    rater: str
    score: float | None
    typed: bool
    spans: int


def placeholders(rows: Sequence[ScoredRow]) -> list[bool]:
    """Return for each row whether its score is a placeholder: Appraise exports 0 for every item of an MQM campaign.

    This is the case if every row with typed error spans has the score 0: for these rows, for all rows of their annotators without
    other scores, and for rows with 0 and no error span.
    """
    typed = [row for row in rows if row.typed]
    if not typed or any(row.score not in (0.0, None) for row in typed):
        return [False] * len(rows)
    scored = {row.rater for row in rows if row.score not in (0.0, None)}
    of_mqm = {row.rater for row in typed} - scored
    return [row.score == 0.0 and (not scored or row.rater in of_mqm or row.typed or not row.spans) for row in rows]


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


def page_items(record: Record) -> list[tuple[Record, Record | None]]:
    """Return the items of a page with what the annotator said of each, None if nothing. Other numbers of both are a problem."""
    items, annotations = record.records("item"), record.values.get("annotation")
    if not isinstance(annotations, list) or len(annotations) != len(items):
        size = f"{len(annotations)}" if isinstance(annotations, list) else shown(str(annotations))
        got = f"{size} for {format_count(len(items), 'item')}"
        record.problem("annotation", got, "one per item", "Export the annotations again")
        return []
    return [
        (item, record.inner(f"annotation[{i}]", value) if isinstance(value, dict) else None)
        for i, (item, value) in enumerate(zip(items, annotations, strict=True))
    ]


def left_with_skip(record: Record) -> bool:
    """Return whether the annotator left the page with *Skip*, its last action."""
    actions = record.values.get("actions")
    listed = [a for a in actions if isinstance(a, dict) and a.get("action")] if isinstance(actions, list) else []
    return bool(listed) and str(listed[-1]["action"]).startswith("submit_skip")


def page_answers(
    item: Record, annotation: Record, page_skipped: bool
) -> Iterator[tuple[str, str, Record, PearmutAnswer]]:
    """Yield each output of an item of a page that has a response: its system, its text, and the response as it is and as it is read."""
    outputs = item.record("tgt")
    for system in outputs.values if outputs else ():
        text, said = outputs.text(system) if outputs else None, annotation.record(system, needed=False)
        if text is not None and said is not None and (answer := read_answer(said, page_skipped)) is not None:
            yield system, text, said, answer
