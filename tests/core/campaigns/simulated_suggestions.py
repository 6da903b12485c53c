"""Simulated campaigns with suggestions whose effects are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.campaigns.suggestion_effect import SuggestionRow


class Bias(NamedTuple):
    """What suggestions do: ratios of the numbers of spans and of times, differences of everything else."""

    spans: float = 1.0
    major: float = 0.0
    score: float = 0.0
    seconds: float = 1.0
    agreement: float = 0.0
    wrong: float = 0.0
    withheld: float = 0.0
    plants: float = 0.0


NONE = Bias()
AUTOMATION = Bias(1.4, 0.1, -4.0, 0.6, 0.25, 0.3, -0.2, -0.15)
WRONG, WITHHELD, PLANTS = 0.08, 0.55, 0.6
"""Shares that the control arm marks."""


def simulated_campaign(
    bias: Bias,
    seed: int,
    *,
    raters: int = 10,
    systems: int = 4,
    segments: int = 60,
    share: float = 0.3,
    spread: float = 1.5,
) -> list[SuggestionRow]:
    """Return the rows of a campaign in which two raters rate each output.

    Blocks are five segments of a system; a rater has 1 or 2 controls in each (share 0.3). Raters, outputs and cells have random effects,
    and raters differ in how suggestions change their scores (standard deviation `spread`).
    """
    rng = np.random.default_rng(seed)
    n_outputs = systems * segments
    output = np.repeat(np.arange(n_outputs), 2)
    block = output // 5
    order = rng.permutation(n_outputs // 5)
    rater = (2 * order[block] + np.tile([0, 1], n_outputs)) % raters
    cell_block = block * 2 + np.tile([0, 1], n_outputs)
    n = len(output)
    controls = (5 * share + rng.random(2 * (n_outputs // 5))).astype(int)
    rank = np.argsort(np.argsort(rng.random(n) + cell_block))
    first = np.full(len(controls), n)
    np.minimum.at(first, cell_block, rank)
    treated = rank - first[cell_block] >= controls[cell_block]
    quality = rng.normal(0, 12, n_outputs)[output]
    severity, speed = rng.normal(0, 6, raters)[rater], rng.normal(0, 0.3, raters)[rater]
    own_effect = rng.normal(0, spread, raters)[rater]
    score = 75 + quality + severity + treated * (bias.score + own_effect) + rng.normal(0, 10, n)
    spans = rng.poisson(
        1.5 * np.exp(-quality / 30 - 0.08) * rng.gamma(8, 1 / 8, raters)[rater] * np.where(treated, bias.spans, 1.0)
    )
    major = rng.binomial(spans, 0.3 + treated * bias.major)
    seconds = np.exp(
        4 + speed + 0.05 * spans.mean() + np.where(treated, np.log(bias.seconds), 0) + rng.normal(0, 0.5, n)
    )
    agreement = rng.beta(2, 3, n) * 0.6 + treated * bias.agreement
    wrong, withheld, plants = rng.random(n) < 0.3, rng.binomial(3, 0.2, n), rng.random(n) < 0.35
    wrong_marked = wrong & (rng.random(n) < WRONG + treated * bias.wrong)
    withheld_marked = rng.binomial(withheld, WITHHELD + treated * bias.withheld)
    plants_marked = plants & (rng.random(n) < PLANTS + treated * bias.plants)
    columns = (
        rater, output, treated, cell_block, block, spans, major, score, seconds, agreement, wrong, wrong_marked, withheld,
        withheld_marked, plants, plants_marked,
    )  # fmt: skip
    return [
        SuggestionRow(
            f"r{r}", f"u{u}", "suggested" if t else "control", f"b{cb}", f"S{b % systems}", u, 1 - share if t else share,
            s, m, sc, sec, a, int(t), int(t), 0, 0, w, wm, h, hm, p, pm,
        )
        for r, u, t, cb, b, s, m, sc, sec, a, w, wm, h, hm, p, pm in zip(*(c.tolist() for c in columns), strict=True)
    ]  # fmt: skip
