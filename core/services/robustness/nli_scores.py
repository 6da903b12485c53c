"""Convert stored values to the input of `core.services.robustness.nli_weights`: scaled scores and probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from core.data import OutputKey, Value
from core.formats.adversarial import AdversarialCase
from core.metrics.base import MetricSpec
from core.metrics.entailment.nli import BACKWARD, FORWARD
from core.metrics.ranges import Range
from core.services.robustness.adversarial import Answered
from core.services.robustness.nli_weights import Attacked, JudgedOutputs
from core.stats.correlation.pairs import Floats


def scaled(values: Sequence[Value], spec: MetricSpec, scale: Range) -> Floats:
    """Return values scaled to [0, 1] by a frozen range, shape (n,); higher is better, NaN if undefined."""
    return np.array(
        [
            scale.scaled(v.value, higher_is_better=spec.higher_is_better)
            if v.status == "ok" and v.value is not None
            else np.nan
            for v in values
        ],
        dtype=np.float64,
    )


def attacked(cases: Sequence[AdversarialCase], nli: Answered, other: Answered, scales: tuple[Range, Range]) -> Attacked:
    """Return adversarial cases with the scaled scores of an NLI metric and another one; `scales` are their ranges."""
    sides = [
        scaled(values, metric.spec, scale)
        for metric, scale in zip((nli, other), scales, strict=True)
        for values in (metric.good, metric.bad)
    ]
    return Attacked(tuple(case.phenomenon for case in cases), *sides)


def joined(parts: Sequence[Attacked]) -> Attacked:
    """Concatenate the cases of one or more suites."""
    names = tuple(name for part in parts for name in part.phenomena)
    return Attacked(names, *(np.concatenate(column) for column in zip(*(part[1:] for part in parts), strict=True)))


def judged(
    nli: Mapping[OutputKey, Value],
    other: Mapping[OutputKey, Value],
    human: Mapping[OutputKey, float],
    specs: tuple[MetricSpec, MetricSpec],
    scales: tuple[Range, Range],
) -> JudgedOutputs:
    """Return the outputs with a value of both metrics and a human score; higher is better."""
    keys = [key for key in human if key in nli and key in other]
    n, m = (
        scaled([table[key] for key in keys], spec, scale)
        for table, spec, scale in zip((nli, other), specs, scales, strict=True)
    )
    there = np.isfinite(n) & np.isfinite(m)
    kept = [key for key, known in zip(keys, there.tolist(), strict=True) if known]
    return JudgedOutputs(tuple(kept), n[there], m[there], np.array([human[key] for key in kept], dtype=np.float64))


def shares(values: Sequence[Value]) -> Floats:
    """Return probabilities, shape (n, 2, 3), from values of an NLI metric in both directions; NaN if undefined.

    With several references, they are those of the best reference under the formula of the values.
    """
    names = [f"{k}_{way}" for way in (FORWARD, BACKWARD) for k in "enc"]
    found = [[v.parts.get(name, np.nan) if v.status == "ok" else np.nan for name in names] for v in values]
    return np.array(found, dtype=np.float64).reshape(len(values), 2, 3)
