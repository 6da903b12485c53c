"""Every metric by name, imported on use. A new metric is a file of its own and one line here (docs/new_metric.md)."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from core.errors import UserError
from core.metrics.base import Metric, MetricSpec

METRICS: dict[str, str] = {
    "chrf": "core.metrics.sacre:CHRF",
    "bleu": "core.metrics.sacre:BLEU",
    "ter": "core.metrics.sacre:TER",
    "rouge1": "core.metrics.rouge:ROUGE1",
    "rouge2": "core.metrics.rouge:ROUGE2",
    "rougeL": "core.metrics.rouge:ROUGE_L",
    "bartscore": "core.metrics.bartscore:F",
    "bartscore-p": "core.metrics.bartscore:PRECISION",
    "bartscore-r": "core.metrics.bartscore:RECALL",
    "bartscore-faithfulness": "core.metrics.bartscore:FAITHFULNESS",
    "bartscore++": "core.metrics.bartscore_pp:F",
    "bartscore++-p": "core.metrics.bartscore_pp:PRECISION",
    "bartscore++-r": "core.metrics.bartscore_pp:RECALL",
    "bartscore++-faithfulness": "core.metrics.bartscore_pp:FAITHFULNESS",
}

STANDARD: tuple[str, ...] = (
    "chrf", "bleu", "ter", "rouge1", "rouge2", "rougeL", "bartscore", "bartscore-p", "bartscore-r", "bartscore++",
)  # fmt: skip
"""What a project is scored with unless somebody chooses otherwise; all of it compares outputs with references."""


@cache
def load(name: str) -> Metric:
    """The metric of that name. Raises UserError, with the nearest names, when there is none."""
    place = METRICS.get(name)
    if place is None:
        near = get_close_matches(name, METRICS, n=2)
        raise UserError(
            f"there is no metric “{name}”",
            expected="one of " + ", ".join(METRICS),
            hint=f"Did you mean {' or '.join(near)}?" if near else "",
        )
    module, _, attribute = place.partition(":")
    metric: Metric = getattr(import_module(module), attribute)
    return metric


def specs() -> dict[str, MetricSpec]:
    """What is known of every metric, without loading a model."""
    return {name: load(name).spec for name in METRICS}


def chosen(names: Iterable[str]) -> list[Metric]:
    """The metrics of several names, each once, in the order given."""
    return [load(name) for name in dict.fromkeys(names)]
