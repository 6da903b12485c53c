"""Score outputs with prompts: the mean over all prompts (Yuan et al. 2021; Lu et al. 2023, appendix A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.models.architectures.seq2seq import Ids, Seq2SeqScorer, Side
from core.progress import Progress
from core.refine.options import Options
from core.refine.prompts import conditioned, scored
from core.refine.result import Variant


class DistanceScores(NamedTuple):
    """BARTS(y, r), BARTS(y*, r) and BARTS(r, r); `truncated` if a text with its prompt was cut."""

    hypothesis: float
    refined: float
    reference: float
    truncated: bool = False


def prompted_scores(
    scorer: Seq2SeqScorer,
    texts: Sequence[tuple[str, str, str]],
    variant: Variant,
    options: Options,
    progress: Progress,
) -> list[DistanceScores]:
    """Return the scores with prompts of each (output, refined text, condition). ≤ 0, higher is better."""
    side: Side = "source" if variant == "faithfulness" else "target"
    conditions: list[Ids] = []
    targets: list[Ids] = []
    cut = [False] * len(texts)
    for n, (hypothesis, refined, condition) in enumerate(texts):
        for text in (hypothesis, refined, condition):
            directions = [(condition, text, side)] * (variant != "recall")
            directions += [(text, condition, "target")] * (variant in ("recall", "f"))
            for given, wanted, given_side in directions:
                for prompt in options.prompts:
                    read = scorer.encode(conditioned(given, prompt, options.side), given_side)
                    target = scorer.encode(scored(wanted, prompt, options.side))
                    conditions.append([*read.lead, *read.ids])
                    targets.append(target.ids)
                    cut[n] |= read.truncated or target.truncated
    flat = np.array([p.mean() for p in scorer.pairs(conditions, targets, progress)])
    values = flat.reshape(len(texts), 3, -1).mean(axis=2)
    return [DistanceScores(float(y), float(z), float(r), short) for (y, z, r), short in zip(values, cut, strict=True)]
