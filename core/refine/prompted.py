"""The three scores of the distances with prompts: each the mean over the prompts (Yuan et al. 2021; Lu et al. 2023, appendix A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.models.seq2seq import Array, Ids, Seq2SeqScorer, Side
from core.refine.options import Options
from core.refine.prompts import conditioned, scored
from core.refine.result import Variant


class Three(NamedTuple):
    """BARTS(y, r), BARTS(y*, r) and BARTS(r, r), or the texts they are scores of."""

    hypothesis: float
    refined: float
    reference: float


def prompted(
    scorer: Seq2SeqScorer,
    texts: Sequence[tuple[str, str, str]],
    variant: Variant,
    options: Options,
) -> list[Three]:
    """Prompted scores of (output, refined text, condition). ≤ 0, higher is better."""
    side: Side = "source" if variant == "faithfulness" else "target"
    jobs: list[tuple[str, str, Side]] = []
    for hypothesis, refined, condition in texts:
        for text in (hypothesis, refined, condition):
            if variant != "recall":
                jobs.append((condition, text, side))
            if variant in ("recall", "f"):
                jobs.append((text, condition, "target"))
    values = means(scorer, jobs, options).reshape(len(texts), 3, -1).mean(axis=2)
    return [Three(*(float(v) for v in row)) for row in values]


def means(scorer: Seq2SeqScorer, jobs: Sequence[tuple[str, str, Side]], options: Options) -> Array:
    """Mean log probability a token of each (condition, scored text, side of the condition), averaged over the prompts."""
    conditions: list[Ids] = []
    targets: list[Ids] = []
    for condition, text, side in jobs:
        for prompt in options.prompts:
            read = scorer.encode(conditioned(condition, prompt, options.side), side)
            conditions.append([*read.lead, *read.ids])
            targets.append(scorer.encode(scored(text, prompt, options.side)).ids)
    flat = np.array([p.mean() for p in scorer.pairs(conditions, targets)])
    out: Array = flat.reshape(len(jobs), len(options.prompts)).mean(axis=1)
    return out
