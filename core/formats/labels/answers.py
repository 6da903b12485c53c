"""Decide which answers of annotators are ratings of errors, and which scores are none.

Tools store an empty list of error spans also for annotators who were never asked for errors, or who skipped the item. It says "no
error" only if the protocol asked for errors and the annotator answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

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
