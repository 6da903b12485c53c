"""Krippendorff's α for ordinal data, by way of mid-ranks."""

from __future__ import annotations

import numpy as np

from core.stats.pairs import Floats, weighted_ranks


def mid_ranks(scores: Floats) -> Floats:
    """Scores (n_raters, n_outputs), NaN where there is none, as mid-ranks among all that take part: outputs scored twice or more.

    `krippendorff_alpha` of these is the ordinal α of the scores: its difference (Σ_{g=c}^{k} n_g − (n_c + n_k)/2)²
    (Krippendorff 2011, section E) is the square of the difference of the mid-ranks of c and k. Resamples of its interval
    keep the ranks of the whole sample. Scores of outputs that one rater scored become NaN.
    """
    part = ~np.isnan(scores) & ((~np.isnan(scores)).sum(0) >= 2)
    found = np.full(scores.shape, np.nan)
    if part.any():
        found[part] = weighted_ranks(scores[part])
    return found
