"""Weights of rated units."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from core.campaigns.assignment import item_blocks
from core.campaigns.design import CampaignDesign
from core.data import grouped
from core.ports.campaigns import CampaignUnit


def inclusion_weights(
    units: Sequence[CampaignUnit], rated: Collection[int], design: CampaignDesign
) -> dict[int, float]:
    """Return the weight 1/π of each rated item unit, by unit id. `rated` are the ids of the units that have a rating.

    π is the probability that the block of the unit is among the n rated ones of the N blocks of its system: n/N if all documents are
    equally important, 1 if all blocks are rated, and otherwise 1 − exp(−τw) for importance w, with τ such that the N probabilities
    sum to n (Rosén 1997, for successive sampling). Use the weights for means: Σ weight × score / Σ weight.

    Blocks that are retired and not rated are left out of N, unless the whole system is retired.
    """
    rated_ids = set(rated)
    weights: dict[int, float] = {}
    blocks = item_blocks(units, design)
    for members in grouped((block.stratum, block) for block in blocks).values():
        hit = [any(unit.id in rated_ids for unit in block.units) for block in members]
        kept = [
            is_hit or not all(unit.retired for unit in block.units) for block, is_hit in zip(members, hit, strict=True)
        ]
        if all(unit.retired for block in members for unit in block.units):
            kept = [True] * len(members)
        importance = np.array([design.importance.get(b.document, 1.0) for b, k in zip(members, kept, strict=True) if k])
        probabilities = iter(inclusion_probabilities(importance, sum(hit)))
        for block, keep in zip(members, kept, strict=True):
            if keep:
                weight = 1.0 / max(float(next(probabilities)), np.finfo(float).tiny)
                weights |= {unit.id: weight for unit in block.units if unit.id in rated_ids}
    return weights


def inclusion_probabilities(weights: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the probability of each of N things to be among `n` that are drawn one by one ∝ weight, without replacement.

    1 − exp(−τ · weight), with τ such that the probabilities sum to n (Rosén 1997). The error of this approximation is of order 1/N.
    """
    if n >= len(weights):
        return np.ones(len(weights))
    if n <= 0 or weights.min() == weights.max():
        return np.full(len(weights), max(n, 0) / len(weights))
    scaled, tau = weights / weights.mean(), 0.0
    for _ in range(200):  # Newton's method from the left: the sum is concave in τ, so it never goes too far
        missed = np.exp(-tau * scaled)
        step = (n - len(weights) + float(missed.sum())) / float((scaled * missed).sum())
        tau += step
        if abs(step) <= 1e-13 * tau:
            break
    probabilities: NDArray[np.float64] = -np.expm1(-tau * scaled)
    return probabilities
