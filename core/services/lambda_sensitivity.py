"""What λ depends on: who labelled, what an error costs, and how good the systems are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from core.calibration.calibrate import Calibration
from core.calibration.drawn import Tell, part, quiet
from core.calibration.lambda_search import search
from core.data import OutputKey, RatedOutput, Value
from core.errors import UserError
from core.mqm.schemes import Scheme
from core.mqm.scores import SystemScore, system_scores
from core.services.calibration import Choice, fit, from_rated, points
from core.services.evaluate import Joined
from core.stats.correlation import Group, Measure, Statistic, kendall
from core.stats.perm_both import agreement_with_ties

FEWEST_OF_RATER = 20
"""λ is fitted to a rater alone from this many outputs on."""


class Alone(NamedTuple):
    """λ fitted to the labels of these raters only, on `n` outputs; without `found` the reason."""

    raters: tuple[str, ...]
    n: int
    found: Calibration | None
    reason: str = ""


class Under(NamedTuple):
    """λ and the ranking of systems under a weight scheme, on `n` outputs; without `found` the reason.

    `at_first` is the agreement that the λ of the first scheme reaches under this one; `systems` are best first.
    """

    scheme: Scheme
    n: int
    found: Calibration | None
    at_first: float | None
    systems: tuple[SystemScore, ...]
    reason: str = ""

    def rank(self, system: str) -> int | None:
        """1 + the number of systems with a higher score."""
        score = self.score(system)
        return None if score is None else 1 + sum(s.score > score for s in self.systems)

    def score(self, system: str) -> float | None:
        return next((s.score for s in self.systems if s.system == system), None)


class AtTop(NamedTuple):
    """Agreement of a metric with people on the K best systems, over `n` outputs."""

    name: str
    label: str
    sentinel: bool
    k: int
    n: int
    found: Statistic


def by_rater(
    rated: Sequence[RatedOutput],
    raters: Sequence[str],
    scheme: Scheme,
    table: Mapping[OutputKey, Value],
    choice: Choice,
    tell: Tell = quiet,
) -> list[Alone]:
    """All of the raters together first, then each alone. With fewer than 20 outputs a rater has no λ of their own."""
    groups = [tuple(raters), *((r,) for r in raters if len(raters) > 1)]
    found = []
    for k, group in enumerate(groups):
        data = points(table, from_rated(rated, group, scheme))
        if len(data) < FEWEST_OF_RATER:
            outputs = f"{len(data)} scored output{'s' if len(data) != 1 else ''}"
            found.append(Alone(group, len(data), None, f"{outputs}; at least {FEWEST_OF_RATER} are needed"))
            continue
        try:
            found.append(Alone(group, len(data), fit(data, choice, tell=part(tell, k, len(groups)))))
        except UserError as error:
            found.append(Alone(group, len(data), None, error.got or error.what))
    return found


def by_scheme(
    rated: Sequence[RatedOutput],
    raters: Sequence[str],
    schemes: Sequence[Scheme],
    table: Mapping[OutputKey, Value],
    choice: Choice,
    tell: Tell = quiet,
) -> list[Under]:
    """λ, its agreement and the ranking of systems by people, under each scheme. Systems are ranked by all that was labelled."""
    mine = [r for r in rated if r.rater in raters]
    found: list[Under] = []
    for k, scheme in enumerate(schemes):
        try:
            people = from_rated(mine, raters, scheme)
        except UserError as error:
            found.append(Under(scheme, 0, None, None, (), f"{error.what}: {error.got}"))
            continue
        data, systems = points(table, people), tuple(system_scores(mine, scheme))
        try:
            if len(data) < 2:
                raise UserError("too few", got=f"{len(data)} scored outputs; at least two are needed")
            fitted = fit(data, choice, tell=part(tell, k, len(schemes)))
        except UserError as error:
            found.append(Under(scheme, len(data), None, None, systems, error.got or error.what))
            continue
        first = next((u.found for u in found if u.found is not None), fitted)
        curve, _ = search(
            [p.dist_exp for p in data], [p.dist_imp for p in data], [p.human for p in data],
            measure=choice.measure, group=choice.group,
            segments=[p.key.segment for p in data], systems=[p.key.system for p in data],
        )  # fmt: skip
        found.append(Under(scheme, len(data), fitted, curve.value(first.lam), systems))
    return found


def same_order(a: Under, b: Under) -> Statistic:
    """Kendall τ-b between the systems' mean scores under two schemes, over the systems that both have: 1 is the same order."""
    there = {s.system: s.score for s in b.systems}
    pairs = [(s.score, there[s.system]) for s in a.systems if s.system in there]
    return kendall([x for x, _ in pairs], [y for _, y in pairs])


def metrics_at_top(
    joined: Joined, order: Sequence[str], measure: Measure, group: Group, fewest: int = 3, tell: Tell = quiet
) -> list[AtTop]:
    """Every metric and sentinel on the K best systems of `order`, for K from `fewest` to all (Lu et al. 2023, Figure 3).

    A metric that is undefined on some outputs is undefined at every K, with its reason.
    """
    here = [s for s in order if s in joined.systems]
    found = []
    for k in range(fewest, len(here) + 1):
        tell((k - fewest) / (len(here) + 1 - fewest))
        best = set(here[:k])
        part = joined.only(np.array([key.system in best for key in joined.keys], dtype=bool))
        for c in joined.contestants:
            value = (
                Statistic(None, c.undefined)
                if c.undefined
                else agreement_with_ties(
                    measure,
                    part.scores[c.name],
                    part.human,
                    group=group,
                    segments=part.of_segment,
                    systems=part.of_system,
                )  # fmt: skip
            )
            found.append(AtTop(c.name, c.label, c.sentinel, k, len(part.keys), value))
    return found
