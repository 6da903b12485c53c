"""Scores of outputs and systems derived from raters' numbers, and the agreement between the numbers.

Only the raters' numbers are stored, not the derived scores, so that later files can add raters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from core.data import Dataset, HumanScore, Judgement, OutputKey, SegmentKey, grouped
from core.errors import Problem, UserError
from core.formats.labels.judgements import DIFFERS, is_rank
from core.formats.problems import Collector, shown
from core.formatting import format_count
from core.stats.bootstrap import Interval
from core.stats.campaign.preferences import bradley_terry, wins_of_rankings
from core.stats.correlation.correlation import agreement, averaged
from core.stats.means import equal_decimal_means
from core.stats.raters.rater_agreement import (
    RaterPair,
    Ratings,
    krippendorff_alpha,
    rank_scores,
    rater_pairs,
    ratings,
    standardised,
)

OfOutput = Literal["mean", "z", "wins"]
Way = OfOutput | Literal["strengths"]
WAYS: dict[Way, str] = {
    "mean": "mean over raters",
    "z": "mean of z-scores by rater",
    "wins": "share of the others ranked below",
    "strengths": "Bradley–Terry strengths of the systems",
}
ENDINGS: dict[OfOutput, str] = {"mean": "", "z": " z", "wins": " wins"}
"""Suffix of the name of a derived score, by the way it is derived."""
OWN_Z = ("z", "z-score", "zscore")
Scored = dict[OutputKey, tuple[float, int]]
"""The score of each output, and its number of raters."""


class JudgementChanges(NamedTuple):
    """The effect of adding judgements: counts of new and unchanged ones, every conflict, and the names in conflict."""

    new: int = 0
    unchanged: int = 0
    problems: tuple[Problem, ...] = ()
    clashes: tuple[str, ...] = ()


def compare(old: Iterable[Judgement], new: Iterable[Judgement], corrected: Collection[str] = ()) -> JudgementChanges:
    """Return the effect of adding `new` to a project that has `old`; for names in `corrected`, `new` replaces `old`."""
    old_values, problems, fresh, same = {j[:3]: j.value for j in old}, Collector(), 0, 0
    clashes: dict[str, None] = {}
    for j in new:
        before = old_values.get(j[:3])
        differs = before not in (None, j.value)
        fresh += before is None or (differs and j.name in corrected)
        same += before == j.value
        if differs and j.name not in corrected:
            clashes[j.name] = None
            place = f"{shown(j.name)} by {shown(j.rater)} for {' / '.join(j.key)}"
            problems.add("", 0, place, f"{j.value:g}", f"{before:g}", DIFFERS)
    return JudgementChanges(fresh, same, problems.closed(), tuple(clashes))


def replaced(old: Iterable[Judgement], new: Iterable[Judgement], corrected: Collection[str]) -> list[Judgement]:
    """Return the judgements of `old` that `new` replaces: all by its raters under the names in `corrected`."""
    whose = {(j.rater, j.name) for j in new if j.name in corrected}
    return [j for j in old if (j.rater, j.name) in whose]


def summary(judgements: Sequence[Judgement]) -> str:
    """Return `240 judgements by 4 raters (score)`, or "" if there are none."""
    names, raters = dict.fromkeys(j.name for j in judgements), {j.rater for j in judgements}
    return (
        f"{format_count(len(judgements), 'judgement')} by {format_count(len(raters), 'rater')} ({', '.join(names)})"
        if judgements
        else ""
    )


def named(judgements: Iterable[Judgement]) -> dict[str, list[Judgement]]:
    """Group judgements by name, in the order of first appearance."""
    return grouped((j.name, j) for j in judgements)


def ways(judgements: Iterable[Judgement]) -> dict[str, tuple[Way, ...]]:
    """Return the ways to derive scores from the judgements of each name.

    Ranks give wins and strengths. Scores give means, and z-scores if there are several raters and the judgements do not
    contain z-scores already. A way is left out if the derived name is that of other judgements.
    """
    by_name = named(judgements)
    own = any(name.strip().casefold() in OWN_Z for name in by_name)
    ways_by_name: dict[str, tuple[Way, ...]] = {}
    for name, of_name in by_name.items():
        possible: tuple[Way, ...] = ("mean",)
        if is_rank(name):
            possible = ("wins", "strengths")
        elif not own and len({j.rater for j in of_name}) > 1:
            possible = ("mean", "z")
        taken = {way for way, ending in ENDINGS.items() if ending and name + ending in by_name}
        ways_by_name[name] = tuple(way for way in possible if way not in taken)
    return ways_by_name


def scores(of_name: Sequence[Judgement], way: OfOutput) -> Scored:
    """Return the score of each output from the judgements of one name.

    `mean`: mean over its raters. `z`: mean of the raters' z-scores (Graham et al. 2013), without raters whose z-score is
    undefined (a single score, or all scores equal). `wins`: share of the other systems ranked below it in the segment, ties
    counted half, mean over its raters, in [0, 1].
    """
    converted = of_name if way == "mean" else _standardised(of_name) if way == "z" else _wins(of_name)
    by_output = grouped((j.key, j.value) for j in converted)
    means = equal_decimal_means(list(by_output.values()))
    return {key: (mean, len(values)) for (key, values), mean in zip(by_output.items(), means, strict=True)}


def _standardised(judgements: Sequence[Judgement]) -> list[Judgement]:
    z = standardised([j.rater for j in judgements], [j.value for j in judgements])
    return [j._replace(value=float(v)) for j, v in zip(judgements, z, strict=True) if not np.isnan(v)]


def rankings(of_name: Iterable[Judgement]) -> dict[tuple[SegmentKey, str], dict[str, float]]:
    """Return the rank by system, for each segment and rater."""
    by_rater: dict[tuple[SegmentKey, str], dict[str, float]] = {}
    for j in of_name:
        by_rater.setdefault((j.key.segment, j.rater), {})[j.key.system] = j.value
    return by_rater


def _wins(of_name: Sequence[Judgement]) -> list[Judgement]:
    every, made = rankings(of_name), []
    for j in of_name:
        others = [rank for system, rank in every[j.key.segment, j.rater].items() if system != j.key.system]
        if others:
            won = sum(1.0 if j.value < r else 0.5 if j.value == r else 0.0 for r in others)
            made.append(j._replace(value=won / len(others)))
    return made


def strengths(of_name: Sequence[Judgement]) -> dict[str, float]:
    """Return the Bradley–Terry strength of each system from all rankings of one name: log-odds, mean 0, higher is better.

    Raises `UserError` if the likelihood has no maximum, for example if a system never lost.
    """
    systems = list(dict.fromkeys(j.key.system for j in of_name))
    fitted = bradley_terry(wins_of_rankings(rankings(of_name).values(), systems))
    if fitted.scores is None:
        raise UserError(
            "the systems have no Bradley–Terry strengths",
            got=fitted.reason,
            hint=f"Choose “{WAYS['wins']}”, which is always defined, or let more people rank",
        )
    return dict(zip(systems, fitted.scores, strict=True))


def derived(judgements: Iterable[Judgement]) -> tuple[HumanScore, ...]:
    """Return the scores of outputs by every way that gives one, named after the judgements: `score`, `score z`, `rank wins`."""
    return tuple(
        HumanScore(*key, name, value) for name, values in by_output(judgements).items() for key, value in values.items()
    )


def by_output(judgements: Iterable[Judgement]) -> dict[str, dict[OutputKey, float]]:
    """Return the scores of `derived` by name."""
    by_name = named(judgements)
    return {
        name + ENDINGS[way]: {key: value for key, (value, _) in scores(by_name[name], way).items()}
        for name, possible in ways(j for of_name in by_name.values() for j in of_name).items()
        for way in possible
        if way != "strengths"
    }


def with_scores(dataset: Dataset, judgements: Sequence[Judgement]) -> Dataset:
    """Return the dataset with the scores derived from the judgements; they replace stored scores of the same name."""
    made = derived(judgements)
    known = {h[:4] for h in made}
    return replace(dataset, human_scores=(*(h for h in dataset.human_scores if h[:4] not in known), *made))


ALPHAS = {
    "interval": "scores as given, interval level",
    "ordinal": "by order only, ordinal level",
    "z": "z-scores by rater, interval level",
}


class NumberRow(NamedTuple):
    """One rater's numbers: count, mean, standard deviation (n − 1; None for a single number), lowest and highest."""

    rater: str
    outputs: int
    mean: float
    deviation: float | None
    low: float
    high: float


class NumberAgreement(NamedTuple):
    """Agreement of the numbers of one name. `alphas` has keys of `ALPHAS`; for ranks only "ordinal".

    `outputs` have at least one number, `twice` at least two. τ-b of ranks is computed within each segment and averaged; τ-b
    of scores is computed over all outputs both raters scored.
    """

    name: str
    ranks: bool
    raters: tuple[NumberRow, ...]
    outputs: int
    twice: int
    alphas: Mapping[str, Interval]
    pairs: tuple[RaterPair, ...]
    signature: str


def number_agreement(
    judgements: Sequence[Judgement], *, seed: int = 0, draws: int = 1000
) -> tuple[NumberAgreement, ...]:
    """Return the agreement for each name, in order of first appearance; intervals are bootstrapped over segments."""
    return tuple(_of_name(name, of_name, seed, draws) for name, of_name in named(judgements).items())


def _of_name(name: str, judgements: Sequence[Judgement], seed: int, draws: int) -> NumberAgreement:
    rating_table, ranks = ratings((j.rater, j.key, j.value) for j in judgements), is_rank(name)
    keys = list(dict.fromkeys(j.key for j in judgements))
    segments = [key.segment for key in keys]
    tables = {"ordinal": rank_scores(rating_table.scores)}
    if not ranks:
        tables = {"interval": rating_table.scores, **tables, "z": _z(rating_table)}
    alphas = {
        kind: krippendorff_alpha(scores, seed=seed, segments=segments, draws=draws) for kind, scores in tables.items()
    }
    pairs = _within_segments(rating_table, segments) if ranks else rater_pairs(rating_table)
    return NumberAgreement(
        name, ranks, tuple(_row(r, row[~np.isnan(row)]) for r, row in zip(rating_table.raters, rating_table.scores, strict=True)),
        len(keys), int(((~np.isnan(rating_table.scores)).sum(0) >= 2).sum()), alphas, tuple(pairs),
        f"alpha|draws:{draws}|seed:{seed}|of:{name}",
    )  # fmt: skip


def _z(rating_table: Ratings) -> np.typing.NDArray[np.float64]:
    rows, columns = np.nonzero(~np.isnan(rating_table.scores))
    z = np.full(rating_table.scores.shape, np.nan)
    z[rows, columns] = standardised([rating_table.raters[i] for i in rows], rating_table.scores[rows, columns])
    return z


def _row(rater: str, values: np.typing.NDArray[np.float64]) -> NumberRow:
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    return NumberRow(rater, len(values), float(values.mean()), deviation, float(values.min()), float(values.max()))


def _within_segments(rating_table: Ratings, segments: Sequence[object]) -> list[RaterPair]:
    pairs = []
    for i, j in combinations(range(len(rating_table.raters)), 2):
        both = np.flatnonzero(~np.isnan(rating_table.scores[[i, j]]).any(0))
        tau = agreement(
            "kendall", rating_table.scores[i, both], rating_table.scores[j, both], group="segment", segments=[segments[int(k)] for k in both]
        ) if len(both) else averaged(np.full(1, np.nan), 0, agreement("kendall", (), ()).reason)  # fmt: skip
        pairs.append(RaterPair(rating_table.raters[i], rating_table.raters[j], tau))
    return pairs
