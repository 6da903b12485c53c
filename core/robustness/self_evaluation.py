"""Test whether metrics favour systems built on their own model (He et al. 2023, section 5.4, Tables 5 and 6).

Systems (generators) and metrics (evaluators) are tagged with the model they are based on. An unbiased metric may prefer some systems, but
should not score systems on its own model higher than other metrics do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from core.errors import UserError
from core.stats.bootstrap import Interval, draws_of, percentiles
from core.stats.correlation.pairs import Floats
from core.stats.means import row_means
from core.stats.system_ranking import ranks

DRAWS = 1000


class Evaluator(NamedTuple):
    """A metric: the model it is `based` on, and its segment scores by system in the same order of segments, None if missing."""

    name: str
    based: str
    higher_is_better: bool
    scores: Mapping[str, Sequence[float | None]]


class EvaluatorBias(NamedTuple):
    """The results of one metric.

    `means` by system are in the metric's unit; `ranks` start with 1 for the best, ties share the mean rank. `own` are the systems based
    on the metric's model. `bias` is the mean z-score it gives them minus the mean z-score that metrics on other models give them, with a
    95 % CI over segments; above 0 it favours its own. Without a value it has a reason; `n` counts segments.
    """

    name: str
    based: str
    means: dict[str, float]
    ranks: dict[str, float]
    own: tuple[str, ...]
    bias: Interval


class BiasMatrix(NamedTuple):
    """Evaluators by generators, on the `segments` with every score; `left_out` counts the others. `reason` says why there are no rows."""

    generators: dict[str, str]
    rows: tuple[EvaluatorBias, ...]
    segments: int
    left_out: int
    reason: str = ""


def matrix(
    evaluators: Sequence[Evaluator], generators: Mapping[str, str], *, seed: int = 0, draws: int = DRAWS
) -> BiasMatrix:
    """Return mean scores, ranks and bias of every metric; `generators` maps each system to the model it is based on.

    z-scores are over systems (population standard deviation), higher is better, so that metrics on different scales compare. Tags are
    compared literally: with one tag for a family (BART for base and large) the bias is that of the family. Undefined with a reason for
    fewer than two systems or metrics. A metric's bias is also undefined if none or all of the systems are based on its model, if all
    metrics are, or if a metric gives all systems the same mean. Raises UserError for lists of different lengths and for missing scores of
    a system.
    """
    table = _table(evaluators, list(generators))
    complete = np.isfinite(table).all(axis=(0, 1))
    n, out = int(complete.sum()), int((~complete).sum())
    reason = ""
    if len(generators) < 2:
        reason = "a comparison needs at least two systems"
    elif len(evaluators) < 2:
        reason = "a comparison needs at least two metrics"
    elif not n:
        reason = "no segment has a score of every metric for every system"
    if reason:
        return BiasMatrix(dict(generators), (), n, out, reason)
    table = table[:, :, complete]
    signs = np.array([1 if e.higher_is_better else -1 for e in evaluators])[:, None]
    weights = np.stack(list(draws_of(n, seed, draws))) if n > 1 else np.empty((0, n))
    drawn = signs * np.einsum("egn,dn->deg", table, weights) / n
    means = np.stack([row_means(of_metric) for of_metric in table])
    rows = []
    for i, evaluator in enumerate(evaluators):
        own = tuple(g for g, based in generators.items() if based == evaluator.based)
        others = [j for j, e in enumerate(evaluators) if e.based != evaluator.based]
        bias = _bias(signs * means, drawn, i, others, [list(generators).index(g) for g in own], n)
        ranked = ranks(signs[i] * means[i])
        own_means, own_ranks = (dict(zip(generators, row.tolist(), strict=True)) for row in (means[i], ranked))
        rows.append(EvaluatorBias(evaluator.name, evaluator.based, own_means, own_ranks, own, bias))
    return BiasMatrix(dict(generators), tuple(rows), n, out)


def _table(evaluators: Sequence[Evaluator], generators: Sequence[str]) -> Floats:
    """Return scores of shape (evaluators, generators, segments), NaN if missing."""
    lengths: dict[int, str] = {}
    for e in evaluators:
        for g in generators:
            if g not in e.scores:
                raise UserError("this metric has no scores for this system", where=f"{e.name}, {g}")
            lengths.setdefault(len(e.scores[g]), f"{e.name}, {g}")
    if len(lengths) > 1:
        (one, first), (two, second) = list(lengths.items())[:2]
        raise UserError("different numbers of segments", where=second, got=str(two), expected=f"{one}, as for {first}")
    rows = [[[np.nan if s is None else s for s in e.scores[g]] for g in generators] for e in evaluators]
    shape = (len(evaluators), len(generators), next(iter(lengths), 0))
    return np.array(rows, dtype=np.float64).reshape(shape)


def _bias(means: Floats, drawn: Floats, i: int, others: Sequence[int], own: Sequence[int], n: int) -> Interval:
    """Return the bias of evaluator i; `means` (evaluators, generators) and `drawn` (draws, evaluators, generators), higher is better."""
    reason = ""
    if not own:
        reason = "no system is based on its model"
    elif len(own) == means.shape[1]:
        reason = "all systems are based on its model"
    elif not others:
        reason = "no metric is based on another model"
    elif _flat(means[[i, *others]]).any():
        reason = "a metric gives all systems the same mean"
    if reason:
        return Interval(None, None, None, n, reason)
    value = float(_apart(means[None], i, others, own)[0])
    if not len(drawn):
        return Interval(value, None, None, n, "a CI needs at least two segments")
    usable = drawn[~_flat(drawn[:, [i, *others]]).any(axis=1)]
    if not len(usable):
        return Interval(value, None, None, n, "in every resample a metric gives all systems the same mean")
    return Interval(value, *percentiles(_apart(usable, i, others, own)), n)


def _flat(means: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which rows are constant along the last axis."""
    largest = np.abs(means).max(axis=-1)
    flat: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = np.ptp(means, axis=-1) <= 1e-12 * largest
    return flat


def _apart(means: Floats, i: int, others: Sequence[int], own: Sequence[int]) -> Floats:
    """Return the mean z of the own generators by evaluator i minus that by the others; `means` (any, evaluators, generators)."""
    z = (means - means.mean(axis=2, keepdims=True)) / np.maximum(means.std(axis=2, keepdims=True), 1e-300)
    own_means = z[:, :, own].mean(axis=2)
    apart: Floats = own_means[:, i] - own_means[:, others].mean(axis=1)
    return apart
