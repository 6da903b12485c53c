"""How far scoring is, as a value and as a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from core.formatting import format_count, format_duration


class ScoringProgress(NamedTuple):
    """Progress of scoring. `done` and `total` count distinct items over all metrics, known ones included.

    `seconds_left` is an estimate for the whole job, None while it is unknown; without `whole`, for the current metric only. With
    `waiting`, all workers compute other jobs, and `seconds_left` counts from when the first returns to this one.
    """

    done: int
    total: int
    metric: str
    metric_done: int
    metric_total: int
    seconds_left: float | None
    whole: bool = True
    waiting: bool = False

    def sentence(self) -> str:
        """Return for example "BARTScore · 12 of 160 distinct outputs · about 2 min left"."""
        text = f"{self.metric} · {self.metric_done:,} of {format_count(self.metric_total, 'distinct output')}"
        if self.waiting:
            text += " · waiting for another job"
        if (
            self.seconds_left is None
            or self.done == self.total
            or (not self.whole and self.metric_done == self.metric_total)
        ):
            return text
        time = f"about {format_duration(self.seconds_left)}"
        scope = "" if self.whole else " for this metric"
        return f"{text}, then {time}{scope}" if self.waiting else f"{text} · {time} left{scope}"


OnScoring = Callable[[ScoringProgress], None]
"""Called with the progress of scoring; may raise `Cancelled` to stop it."""
