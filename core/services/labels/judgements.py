"""Scores of outputs and systems, derived from raters' numbers (direct assessments, Likert scales, ranks).

Only the raters' numbers are stored, not the derived scores, so that later files can add raters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from core.data import Dataset, HumanScore, Judgement, OutputKey, SegmentKey, grouped
from core.errors import Problem, UserError
from core.formats.labels.judgements import DIFFERS, is_rank
from core.formats.problems import Collector, counted, shown
from core.stats.means import equal_decimal_means
from core.stats.raters.bradley_terry import bradley_terry, wins_of_rankings
from core.stats.raters.rater_scale import standardised

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
    there, problems, fresh, same = {j[:3]: j.value for j in old}, Collector(), 0, 0
    clashes: dict[str, None] = {}
    for j in new:
        before = there.get(j[:3])
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


def summary(given: Sequence[Judgement]) -> str:
    """Return `240 judgements by 4 raters (score)`, or "" if there are none."""
    names, raters = dict.fromkeys(j.name for j in given), {j.rater for j in given}
    return (
        f"{counted(len(given), 'judgement')} by {counted(len(raters), 'rater')} ({', '.join(names)})" if given else ""
    )


def named(given: Iterable[Judgement]) -> dict[str, list[Judgement]]:
    """Group judgements by name, in the order of first appearance."""
    return grouped((j.name, j) for j in given)


def ways(given: Iterable[Judgement]) -> dict[str, tuple[Way, ...]]:
    """Return the ways to derive scores from the judgements of each name.

    Ranks give wins and strengths. Scores give means, and z-scores if there are several raters and the judgements do not
    contain z-scores already. A way is left out if the derived name is that of other judgements.
    """
    by_name = named(given)
    own = any(name.strip().casefold() in OWN_Z for name in by_name)
    found: dict[str, tuple[Way, ...]] = {}
    for name, of_name in by_name.items():
        possible: tuple[Way, ...] = ("mean",)
        if is_rank(name):
            possible = ("wins", "strengths")
        elif not own and len({j.rater for j in of_name}) > 1:
            possible = ("mean", "z")
        taken = {way for way, ending in ENDINGS.items() if ending and name + ending in by_name}
        found[name] = tuple(way for way in possible if way not in taken)
    return found


def scores(of_name: Sequence[Judgement], way: OfOutput) -> Scored:
    """Return the score of each output from the judgements of one name.

    `mean`: mean over its raters. `z`: mean of the raters' z-scores (Graham et al. 2013), without raters whose z-score is
    undefined (a single score, or all scores equal). `wins`: share of the other systems ranked below it in the segment, ties
    counted half, mean over its raters, in [0, 1].
    """
    given = of_name if way == "mean" else _standardised(of_name) if way == "z" else _wins(of_name)
    by_output = grouped((j.key, j.value) for j in given)
    means = equal_decimal_means(list(by_output.values()))
    return {key: (mean, len(values)) for (key, values), mean in zip(by_output.items(), means, strict=True)}


def _standardised(given: Sequence[Judgement]) -> list[Judgement]:
    z = standardised([j.rater for j in given], [j.value for j in given])
    return [j._replace(value=float(v)) for j, v in zip(given, z, strict=True) if not np.isnan(v)]


def rankings(of_name: Iterable[Judgement]) -> dict[tuple[SegmentKey, str], dict[str, float]]:
    """Return the rank by system, for each segment and rater."""
    found: dict[tuple[SegmentKey, str], dict[str, float]] = {}
    for j in of_name:
        found.setdefault((j.key.segment, j.rater), {})[j.key.system] = j.value
    return found


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
    found = bradley_terry(wins_of_rankings(rankings(of_name).values(), systems))
    if found.scores is None:
        raise UserError(
            "the systems have no Bradley–Terry strengths",
            got=found.reason,
            hint=f"Choose “{WAYS['wins']}”, which is always defined, or let more people rank",
        )
    return dict(zip(systems, found.scores, strict=True))


def derived(given: Iterable[Judgement]) -> tuple[HumanScore, ...]:
    """Return the scores of outputs by every way that gives one, named after the judgements: `score`, `score z`, `rank wins`."""
    return tuple(
        HumanScore(*key, name, value) for name, values in by_output(given).items() for key, value in values.items()
    )


def by_output(given: Iterable[Judgement]) -> dict[str, dict[OutputKey, float]]:
    """Return the scores of `derived` by name."""
    by_name = named(given)
    return {
        name + ENDINGS[way]: {key: value for key, (value, _) in scores(by_name[name], way).items()}
        for name, possible in ways(j for of_name in by_name.values() for j in of_name).items()
        for way in possible
        if way != "strengths"
    }


def with_scores(dataset: Dataset, given: Sequence[Judgement]) -> Dataset:
    """Return the dataset with the scores derived from the judgements; they replace stored scores of the same name."""
    made = derived(given)
    known = {h[:4] for h in made}
    return replace(dataset, human_scores=(*(h for h in dataset.human_scores if h[:4] not in known), *made))
