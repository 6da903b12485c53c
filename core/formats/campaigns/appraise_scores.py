"""Add the ratings of an export that comes from Appraise, without the scores that are placeholders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from core.formats.campaigns.campaign_file import CampaignRating, CampaignReading
from core.formats.labels.answers import ScoredRow, placeholders
from core.formats.problems import counted


class ListedRating(NamedTuple):
    """A rating with its line and the objects of its error spans, None without a list; for `said` see `CampaignReading.rate`."""

    line: int
    rating: CampaignRating
    spans: Sequence[Any] | None
    said: bool


def add_ratings(found: CampaignReading, ratings: Sequence[ListedRating]) -> None:
    """Add all ratings of a file. Those with a placeholder for the score are ratings of MQM, which Appraise exports only when submitted."""
    no_score = placeholders(
        [ScoredRow(r.rating.rater, r.rating.score, _typed(r.spans), len(r.spans or ())) for r in ratings]
    )
    if n := sum(no_score):
        found.warn(0, "score", f"0 in {counted(n, 'rating')} of MQM (error spans with a type, or none)", "scores, or MQM",
                   "Read as MQM, without scores")  # fmt: skip
    for (line, rating, spans, said), without in zip(ratings, no_score, strict=True):
        found.rate(line, replace(rating, score=None) if without else rating, spans, said=said or without)


def _typed(spans: Sequence[Any] | None) -> bool:
    return any(isinstance(s, dict) and s.get("error_type") for s in spans or ())
