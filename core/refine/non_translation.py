"""Detect non-translations before refinement (Lu et al. 2023, section 3.2; METHODS section 1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from core.refine.options import Options
from core.signature import number

LONG = 10
"""Minimum number of tokens for the overlap test; shorter outputs use the probability test."""


def why_not_a_translation(
    hypothesis: Sequence[int],
    reference: Sequence[int],
    logps: np.ndarray,
    score_hyp: float,
    score_ref: float,
    options: Options = Options(),  # noqa: B008  (frozen)
) -> str:
    """Return why the hypothesis is not a translation, or "" if it passes the test.

    `hypothesis` and `reference` are token ids without special tokens, `logps` the log probabilities of the hypothesis
    tokens given the reference; the scores are BARTS(y|r) and BARTS(r|r). `options` set the test and its threshold. An empty
    hypothesis fails unless the tests are off.
    """
    if options.non_translation == "off":
        return ""
    if not hypothesis:
        return "the output is empty"
    if options.non_translation == "overlap" and len(hypothesis) >= LONG:
        share = overlap(hypothesis, reference)
        small = share <= options.overlap
        return f"token overlap with the reference is {share:.2f} (limit {number(options.overlap)})" if small else ""
    threshold = (score_hyp + score_ref) / 2
    low = float(np.mean(logps < threshold))
    return (
        f"{low:.0%} of its tokens have a log probability below {threshold:.2f} (limit {options.share:.0%})"
        if low >= options.share
        else ""
    )


def overlap(first: Collection[int], second: Collection[int]) -> float:
    """Return |A ∩ B| / |A ∪ B| of two sets of token ids, in [0, 1]; 1 if both are empty."""
    a, b = set(first), set(second)
    return len(a & b) / len(a | b) if a | b else 1.0
