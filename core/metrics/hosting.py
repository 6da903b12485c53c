"""Score with metrics in the model process, if the program has one (`core.models.process`). Values and signatures are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from core.data import Item, Value
from core.metrics.base import AllOutputs, Metric
from core.models import process
from core.progress import Progress

Changed = tuple[tuple[str, Any], ...]
"""Options of a metric that differ from their defaults."""


def hosted(metric: Metric, name: str, changed: Changed = ()) -> Metric:
    """Return the registry's metric of this name and options; if it runs a model, then where `process.run` calls functions."""
    if not metric.spec.needs_model:
        return metric

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        if not process.is_elsewhere():
            return metric.score(items, progress)
        return process.run(_scored, name, changed, items, progress=progress)

    return replace(metric, score=score, fit=metric.fit and _fitting(metric, name, changed))


def _fitting(metric: Metric, name: str, changed: Changed) -> Callable[[AllOutputs], Metric]:
    def fit(outputs: AllOutputs) -> Metric:
        fitted = metric.for_outputs(outputs)
        key = (name, changed, fitted.signature())

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            if not process.is_elsewhere():
                return fitted.score(items, progress)
            return process.run_on(key, (name, changed, outputs), _fitted, _scored_by, items, progress=progress)

        return replace(fitted, score=score)

    return fit


def _scored(name: str, changed: Changed, items: Sequence[Item], progress: Progress) -> list[Value]:
    from core.metrics import registry

    return registry.under_options(name, changed).score(items, progress)


def _fitted(how: tuple[str, Changed, AllOutputs]) -> Metric:
    from core.metrics import registry

    name, changed, outputs = how
    return registry.under_options(name, changed).for_outputs(outputs)


def _scored_by(metric: Metric, items: Sequence[Item], progress: Progress) -> list[Value]:
    return metric.score(items, progress)
