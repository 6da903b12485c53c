"""Outputs on which a metric and the human scores disagree most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from core.data import OutputKey
from core.services.evaluate.evaluation_data import EvaluationData


class MetricDisagreement(NamedTuple):
    """An output with both scores (higher is better), and the share of all outputs that are worse by each; equal ones count half."""

    key: OutputKey
    metric: float
    human: float
    worse_by_metric: float
    worse_by_human: float

    @property
    def too_high(self) -> bool:
        """Whether the metric ranks the output higher than the human scores do."""
        return self.worse_by_metric > self.worse_by_human


def disagreements(data: EvaluationData, name: str) -> list[MetricDisagreement]:
    """Return all outputs, the largest difference between the two shares first."""
    metric, human = data.scores[name], data.human
    by_metric, by_human = ((rankdata(scores) - 0.5) / max(1, len(scores)) for scores in (metric, human))
    order = np.argsort(-np.abs(by_metric - by_human), kind="stable")
    return [
        MetricDisagreement(data.keys[i], float(metric[i]), float(human[i]), float(by_metric[i]), float(by_human[i]))
        for i in order.tolist()
    ]
