"""Score outputs with prompts: the mean over all prompts (Yuan et al. 2021; Lu et al. 2023, appendix A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.models.architectures.seq2seq import Seq2SeqScorer, TextSide
from core.progress import Progress
from core.refine.prompts import conditioned, scored
from core.refine.result import Options, Variant


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
    side: TextSide = "source" if variant == "faithfulness" else "target"
    pairs: list[tuple[str, str, TextSide]] = []
    for *outputs, condition in texts:
        for text in (*outputs, condition):
            pairs += [(condition, text, side)] * (variant != "recall")
            pairs += [(text, condition, "target")] * (variant in ("recall", "f"))
    asked = [
        (conditioned(x, prompt, options.side), scored(y, prompt, options.side), of)
        for x, y, of in pairs
        for prompt in options.prompts
    ]
    answers = scorer.means(asked, progress)
    values = np.array([f.value for f in answers]).reshape(len(texts), 3, -1).mean(axis=2)
    cut = np.array([f.truncated for f in answers]).reshape(len(texts), -1)
    return [DistanceScores(y, z, r, bool(of.any())) for (y, z, r), of in zip(values.tolist(), cut, strict=True)]
