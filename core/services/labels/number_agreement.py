"""Agreement between raters' numbers: Krippendorff's α of raw scores, ranks and z-scores; Kendall τ of every pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from core.data import Judgement
from core.formats.labels.judgements import is_rank
from core.services.labels.judgements import named
from core.stats.bootstrap import Interval
from core.stats.correlation.correlation import agreement, averaged
from core.stats.raters.rater_agreement import RaterPair, Ratings, krippendorff_alpha, rank_scores, rater_pairs, ratings
from core.stats.raters.rater_scale import standardised

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


def number_agreement(given: Sequence[Judgement], *, seed: int = 0, draws: int = 1000) -> tuple[NumberAgreement, ...]:
    """Return the agreement for each name, in order of first appearance; intervals are bootstrapped over segments."""
    return tuple(_of_name(name, of_name, seed, draws) for name, of_name in named(given).items())


def _of_name(name: str, given: Sequence[Judgement], seed: int, draws: int) -> NumberAgreement:
    found, ranks = ratings((j.rater, j.key, j.value) for j in given), is_rank(name)
    keys = list(dict.fromkeys(j.key for j in given))
    segments = [key.segment for key in keys]
    tables = {"ordinal": rank_scores(found.scores)}
    if not ranks:
        tables = {"interval": found.scores, **tables, "z": _z(found)}
    alphas = {
        kind: krippendorff_alpha(scores, seed=seed, segments=segments, draws=draws) for kind, scores in tables.items()
    }
    pairs = _within_segments(found, segments) if ranks else rater_pairs(found)
    return NumberAgreement(
        name, ranks, tuple(_row(r, row[~np.isnan(row)]) for r, row in zip(found.raters, found.scores, strict=True)),
        len(keys), int(((~np.isnan(found.scores)).sum(0) >= 2).sum()), alphas, tuple(pairs),
        f"alpha|draws:{draws}|seed:{seed}|of:{name}",
    )  # fmt: skip


def _z(found: Ratings) -> np.typing.NDArray[np.float64]:
    rows, columns = np.nonzero(~np.isnan(found.scores))
    z = np.full(found.scores.shape, np.nan)
    z[rows, columns] = standardised([found.raters[i] for i in rows], found.scores[rows, columns])
    return z


def _row(rater: str, values: np.typing.NDArray[np.float64]) -> NumberRow:
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    return NumberRow(rater, len(values), float(values.mean()), deviation, float(values.min()), float(values.max()))


def _within_segments(found: Ratings, segments: Sequence[object]) -> list[RaterPair]:
    pairs = []
    for i, j in combinations(range(len(found.raters)), 2):
        both = np.flatnonzero(~np.isnan(found.scores[[i, j]]).any(0))
        tau = agreement(
            "kendall", found.scores[i, both], found.scores[j, both], group="segment", segments=[segments[int(k)] for k in both]
        ) if len(both) else averaged(np.full(1, np.nan), 0, agreement("kendall", (), ()).reason)  # fmt: skip
        pairs.append(RaterPair(found.raters[i], found.raters[j], tau))
    return pairs
