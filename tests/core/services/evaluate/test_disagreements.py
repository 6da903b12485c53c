"""The outputs on which a metric and the human scores disagree most."""

import numpy as np

from core.data import OutputKey
from core.services.evaluate.bias import disagreements


def test_the_largest_difference_of_ranks_is_first_and_equal_scores_share_a_rank() -> None:
    keys = tuple(OutputKey("A", "d", str(i)) for i in range(4))
    found = disagreements(keys, np.array([2.0, 1.0, 5.0, 0.0]), np.array([0.0, 0.0, -1.0, -9.0]))
    # ranks from below, less a half, of 4: human 3.5, 3.5, 2, 1; metric 3, 2, 4, 1
    assert [(d.key.segment_id, d.worse_by_metric, d.worse_by_human) for d in found] == [
        ("2", 0.875, 0.375), ("1", 0.375, 0.75), ("0", 0.625, 0.75), ("3", 0.125, 0.125),
    ]  # fmt: skip
    assert [d.too_high for d in found[:2]] == [True, False]
