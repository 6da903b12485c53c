"""Analyse the ratings of a campaign: attention checks, ranking of the systems, agreement of the annotators, and time.

Scores are those of the file (0 to 100 in ESA, higher is better). Penalties are MQM's, ≥ 0, lower is better: the weights of a rating's
error spans, summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import combinations
from statistics import median
from typing import NamedTuple

import numpy as np

from core.data import OutputKey, grouped
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating
from core.formats.campaigns.span_json import UNDECIDED
from core.mqm.schemes import ANY, GOOGLE, Scheme, WeightRule
from core.mqm.scores import rater_penalty
from core.stats.bootstrap import Interval, mean_interval, wilson
from core.stats.means import decimal_mean
from core.stats.raters.rater_agreement import RaterPair, krippendorff_alpha, rater_pairs, ratings
from core.stats.raters.span_agreement import SpanAgreement, SpanMatch, match_spans, on_one_text, span_agreement

CAMPAIGN_SCHEME = Scheme(
    "campaign", 1, (*GOOGLE.rules, WeightRule("critical", ANY, 25.0), WeightRule(UNDECIDED, ANY, 0.0))
)
"""Google's weights, with the severities that campaigns also have: critical is 25, and an error without a severity is 0."""

SAME_TEXT = "its text is that of the output it was made from"

Measure = Callable[[CampaignRating], float | None]


class CheckResult(NamedTuple):
    """One attention check of one annotator. `passed` is None, with a reason, if it cannot be judged."""

    rater: str
    key: OutputKey
    of: OutputKey | None
    passed: bool | None
    reason: str = ""


class RaterChecks(NamedTuple):
    """The attention checks of one annotator: the share passed with its 95 % interval; `unjudged` are left out of it."""

    rater: str
    passed: Interval
    unjudged: int


class CampaignRank(NamedTuple):
    """One system: mean score (higher is better) and mean penalty (lower is better) per output, each with its 95 % interval.

    `outputs` were rated, by `n_ratings` ratings in all. An output with several ratings counts with their mean. Intervals are over
    outputs (`mean_interval`); values are None without scores or without error spans.
    """

    system: str
    outputs: int
    n_ratings: int
    score: Interval
    penalty: Interval


class CampaignAgreement(NamedTuple):
    """Agreement of the annotators on outputs that several rated: `outputs` is their number.

    Krippendorff's α (interval) of scores and of penalties, Kendall's τ-b of every pair (of scores; of penalties without scores), and
    F1 over the characters of all pairs of ratings.
    """

    outputs: int
    score_alpha: Interval
    penalty_alpha: Interval
    pairs: tuple[RaterPair, ...]
    spans: SpanAgreement


class CampaignTimes(NamedTuple):
    """Times of the ratings of items in seconds; None if the file has none.

    `per_item` is the median time from the end of an annotator's previous rating to the end of this one; of a page with several ratings
    each gets an equal part. It includes reading and breaks. `per_span` is the median of this time divided by the number of spans, over
    ratings with spans. `recorded` is the median from the recorded beginning to the end, which is short where a tool starts at the first
    click. `timed` ratings have a time.
    """

    per_item: float | None
    per_span: float | None
    recorded: float | None
    timed: int


def penalty_of(rating: CampaignRating) -> float | None:
    """Return the MQM penalty of a rating; None if its errors are not all known, or one has a severity without a weight."""
    known = {s.casefold() for s in CAMPAIGN_SCHEME.severities}
    if rating.all_errors is None or any(e.severity.casefold() not in known for e in rating.all_errors):
        return None
    return rater_penalty(rating.all_errors, CAMPAIGN_SCHEME)


def check_results(file: CampaignFile) -> tuple[CheckResult, ...]:
    """Return the verdict on every attention check. A check with the text of its output, such as a repetition, is not judged.

    The file's own verdict counts if it has one: once per annotator and checked segment. Otherwise a check is passed if its score is below
    the score that the same annotator gave the output it was made from; without scores, if its penalty is higher.
    """
    texts = file.texts()
    items = {(r.rater, r.key): r for r in file.of_kind("item")}
    results: dict[Hashable, CheckResult] = {}
    for r in file.of_kind("check"):
        if r.of is not None and r.of in texts and texts[r.of][0] == r.text:
            results[r.rater, r.key] = CheckResult(r.rater, r.key, r.of, None, SAME_TEXT)
            continue
        if r.passed is not None:
            identity: Hashable = (r.rater, r.key.segment)
            before = results.get(identity)
            passed = r.passed and (before is None or before.passed is not False)
            results[identity] = CheckResult(r.rater, r.key, r.of, passed)
        else:
            is_worse, reason = _against(r, items.get((r.rater, r.of)) if r.of else None)
            results[r.rater, r.key] = CheckResult(r.rater, r.key, r.of, is_worse, reason)
    return tuple(results.values())


def _against(check: CampaignRating, item: CampaignRating | None) -> tuple[bool | None, str]:
    """Return whether the check is rated worse than the output it was made from; None, with a reason, if this is not known."""
    if check.of is None:
        return None, "the output it was made from is not known"
    if item is None:
        return None, "the annotator did not rate the output it was made from"
    if check.score is not None and item.score is not None:
        return check.score < item.score, ""
    worse, better = penalty_of(check), penalty_of(item)
    if worse is None or better is None:
        return None, "neither scores nor error spans on both"
    return worse > better, ""


def attention(file: CampaignFile) -> tuple[RaterChecks, ...]:
    """Return the share of attention checks passed per annotator, with Wilson's interval, in the order of the file."""
    return tuple(
        RaterChecks(rater, wilson(sum(c.passed is True for c in of), sum(c.passed is not None for c in of)),
                    sum(c.passed is None for c in of))
        for rater, of in grouped((c.rater, c) for c in check_results(file)).items()
    )  # fmt: skip


def ranking(file: CampaignFile, *, seed: int = 0, draws: int = 1000) -> tuple[CampaignRank, ...]:
    """Return the systems, best first: by mean score, or by mean penalty if no item has a score."""
    by_system = grouped((r.key.system, r) for r in file.of_kind("item"))

    def mean(of: Sequence[CampaignRating], measure: Measure) -> Interval:
        values = [(r.key, value) for r in of if (value := measure(r)) is not None and math.isfinite(value)]
        per_output = [decimal_mean(v) for v in grouped(values).values()]
        return (
            mean_interval(per_output, seed, draws=draws) if per_output else Interval(None, None, None, 0, "no values")
        )

    rows = [
        CampaignRank(system, len({r.key for r in of}), len(of), mean(of, lambda r: r.score), mean(of, penalty_of))
        for system, of in by_system.items()
    ]  # fmt: skip
    scored = any(r.score.value is not None for r in rows)

    def place(row: CampaignRank) -> tuple[float, str]:
        value = row.score.value if scored else row.penalty.value
        return math.inf if value is None else -value if scored else value, row.system

    return tuple(sorted(rows, key=place))


def slider_means(file: CampaignFile) -> dict[tuple[str, str], float]:
    """Return the mean of each slider and system, over the outputs; an output with several values counts with their mean."""
    values = grouped(((name, r.key), value) for r in file.of_kind("item") for name, value in r.sliders)
    means = grouped(((name, key.system), decimal_mean(of)) for (name, key), of in values.items())
    return {key: decimal_mean(of) for key, of in sorted(means.items())}


def campaign_agreement(file: CampaignFile, *, seed: int = 0, draws: int = 1000) -> CampaignAgreement:
    """Return the agreement on items; undefined with a reason if fewer than two outputs have several ratings."""
    items = file.of_kind("item")
    several = {key: of for key, of in grouped((r.key, r) for r in items).items() if len(of) > 1}
    score_alpha, pairs = _scores(items, lambda r: r.score, seed, draws)
    penalty_alpha, penalty_pairs = _scores(items, penalty_of, seed, draws)
    texts = file.texts()
    lengths = {key: (len(text), len(source or "")) for key, (text, source) in texts.items()}
    matches: list[SpanMatch] = []
    for key, of in several.items():
        for a, b in combinations(
            [on_one_text(r.errors or (), lengths[key][0]) for r in of if r.all_errors is not None], 2
        ):
            matches.append(match_spans(a, b, sum(lengths[key])))
    return CampaignAgreement(
        len(several), score_alpha, penalty_alpha, tuple(pairs or penalty_pairs), span_agreement(matches)
    )


def _scores(
    items: Iterable[CampaignRating], measure: Measure, seed: int, draws: int
) -> tuple[Interval, list[RaterPair]]:
    rows = [(r.rater, r.key, value) for r in items if (value := measure(r)) is not None and math.isfinite(value)]
    if not rows:
        return Interval(None, None, None, 0, "no values"), []
    table = ratings(rows)
    segments = [key.segment for key in dict.fromkeys(key for _, key, _ in rows)]
    alpha = krippendorff_alpha(table.scores, seed=seed, segments=segments, draws=draws)
    shared = ~np.isnan(table.scores)
    return alpha, [
        p for p in rater_pairs(table)
        if (shared[table.raters.index(p.first)] & shared[table.raters.index(p.second)]).any()
    ]  # fmt: skip


def rating_seconds(file: CampaignFile) -> list[tuple[CampaignRating, float]]:
    """Return the time of each item from the end of the annotator's previous rating, see `CampaignTimes.per_item`, by annotator."""
    seconds: list[tuple[CampaignRating, float]] = []
    for of in grouped((r.rater, r) for r in file.ratings if r.ended is not None).values():
        pages = grouped((r.ended.timestamp() if r.ended else 0.0, r) for r in of)
        previous: float | None = None
        for ended in sorted(pages):
            began = min((r.began.timestamp() for r in pages[ended] if r.began is not None), default=None)
            since = began if previous is None else previous
            if since is not None:
                seconds += [(r, max(0.0, ended - since) / len(pages[ended])) for r in pages[ended] if r.kind == "item"]
            previous = ended
    return seconds


def times(file: CampaignFile) -> CampaignTimes:
    """Return the median times per item and per error span, over the items of all annotators."""
    seconds = rating_seconds(file)
    per_span = [s / len(r.errors) for r, s in seconds if r.errors]
    recorded = [
        (r.ended - r.began).total_seconds() for r in file.of_kind("item") if r.began is not None and r.ended is not None
    ]
    return CampaignTimes(
        median([s for _, s in seconds]) if seconds else None,
        median(per_span) if per_span else None,
        median(recorded) if recorded else None,
        len(seconds),
    )
