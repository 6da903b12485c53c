"""Krippendorff's α for ordinal data, computed from mid-ranks."""

from __future__ import annotations

import numpy as np

from core.stats.correlation import kernel
from core.stats.correlation.pairs import Floats


def mid_ranks(scores: Floats) -> Floats:
    """Return scores (n_raters, n_outputs), NaN where missing, as mid-ranks among outputs with at least two scores.

    `krippendorff_alpha` of these is the ordinal α of the scores: its difference (Σ_{g=c}^{k} n_g − (n_c + n_k)/2)²
    (Krippendorff 2011, section E) is the squared difference of the mid-ranks of c and k. Resamples of its interval
    keep the ranks of the whole sample. Outputs with a single score become NaN.
    """
    part = ~np.isnan(scores) & ((~np.isnan(scores)).sum(0) >= 2)
    found = np.full(scores.shape, np.nan)
    if part.any():
        found[part] = kernel.mid_ranks(scores[part])
    return found
