"""Sensitivity of metrics to errors: score good, perturbed and empty texts; compute z and accuracy by error type and metric.

Scoring and statistics are separate: changing λ or the seed rescores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.data import Item, Value
from core.errors import UserError
from core.formats.error_cases import PerturbedPair
from core.metrics.base import Metric, MetricSpec
from core.refine.result import weighted
from core.scoring.items import score_items
from core.scoring.values import OnScoring
from core.services.compare.compare import with_lambda
from core.signature import format_exact, signature
from core.stats.bootstrap import METHODS
from core.stats.sensitivity import NEAR_ZERO, Sensitivity, sensitivities

VERSION = 1
DRAWS = 1000


class PairValues(NamedTuple):
    """One metric's values for all pairs, in order; `empty` are the values of the empty output, whose text is `empty_text`."""

    spec: MetricSpec
    signature: str
    good: tuple[Value, ...]
    perturbed: tuple[Value, ...]
    empty: tuple[Value, ...]
    empty_text: str


class SensitivityRow(NamedTuple):
    """One metric on one type of error; the columns of the file that the command `sensitivity` writes.

    `n` pairs have a z, `compared` pairs have both scores, `undefined` = `pairs` − `n` pairs have no z, with the `reason`. z is
    an unbounded mean, accuracy is in [0, 1]. Each has its 95 % CI, or None.
    """

    type: str
    metric: str
    signature: str
    pairs: int
    n: int
    z: float | None
    z_low: float | None
    z_high: float | None
    compared: int
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    undefined: int
    empty_better: int
    reason: str


def score_pairs(
    pairs: Sequence[PerturbedPair],
    metrics: Sequence[Metric],
    on_scoring: OnScoring | None = None,
    *,
    empty: str = "",
    workers: int = 1,
) -> list[PairValues]:
    """Score the three texts of every pair with every metric; equal texts of a reference are scored once.

    `empty` is the text of the empty output; `workers` is that of `score_dataset`. Raises `Cancelled` when `on_scoring` does.
    """
    n, outputs = len(pairs), [p.good for p in pairs] + [p.perturbed for p in pairs] + [empty] * len(pairs)
    items = [Item(p.source, output, p.references) for p, output in zip([*pairs] * 3, outputs, strict=True)]
    return [
        PairValues(spec, signed, tuple(values[:n]), tuple(values[n : 2 * n]), tuple(values[2 * n :]), empty)
        for spec, signed, values in score_items(items, metrics, on_scoring, workers=workers)
    ]


def sensitivity_table(
    pairs: Sequence[PerturbedPair], scored: Sequence[PairValues], *, lam: float = 1.0, seed: int = 0, draws: int = DRAWS
) -> list[SensitivityRow]:
    """Return z and accuracy by metric and error type, types in order of first appearance; BARTScore++ at λ = `lam`.

    Raises `UserError` if λ is negative or not a number.
    """
    if not lam >= 0:
        raise UserError("not a valid λ", where="λ", got=format_exact(lam), expected="a number ≥ 0, or inf")
    types = [p.type for p in pairs]
    rows = []
    for values in scored:
        of_metric = sensitivities(
            types,
            *(
                np.array([_at(v, lam) for v in side], dtype=np.float64)
                for side in (values.good, values.perturbed, values.empty)
            ),
            higher_is_better=values.spec.higher_is_better,
            missing=[_missing(*three) for three in zip(values.good, values.perturbed, values.empty, strict=True)],
            seed=seed,
            draws=draws,
        )
        signed = _signature(values, lam, seed, draws)
        rows += [_row(values.spec.name, signed, s) for s in of_metric]
    return rows


def _signature(values: PairValues, lam: float, seed: int, draws: int) -> str:
    facts = {"near0": NEAR_ZERO, "empty": repr(values.empty_text), "draws": draws, "seed": seed}
    return f"{with_lambda(values.signature, lam)}|{signature(f'z:{VERSION}', facts)}"


def _at(value: Value, lam: float) -> float | None:
    if value.value is not None and "dist_exp" in value.parts and "dist_imp" in value.parts:
        return weighted(value.parts["dist_exp"], value.parts["dist_imp"], lam)
    return value.value


def _missing(good: Value, perturbed: Value, empty: Value) -> str:
    for name, value in (("good", good), ("perturbed", perturbed), ("empty", empty)):
        if value.status != "ok":
            return f"{name} text: {value.reason or value.status}"
    return ""


def _row(metric: str, signed: str, s: Sensitivity) -> SensitivityRow:
    why = [f"{n} × {reason}" for reason, n in s.undefined]
    why += [f"{name}: {i.reason}" for name, i in (("z", s.z), ("accuracy", s.accuracy)) if i.reason]
    z, accuracy = s.z, s.accuracy
    normal = [name for name, i in (("z", z), ("accuracy", accuracy)) if i.method == "normal"]
    why += [f"95 % CI of {' and '.join(normal)}: {METHODS['normal']}"] if normal else []
    return SensitivityRow(
        s.type, metric, signed, s.pairs,
        z.n, z.value, z.low, z.high,
        accuracy.n, accuracy.value, accuracy.low, accuracy.high,
        s.pairs - z.n, s.empty_better, "; ".join(why),
    )  # fmt: skip
