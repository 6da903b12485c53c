"""Sentence alignment of an output with a reference or the source, and its SMART scores.

The matrix has the match of every target sentence (row) with every output sentence (column), in [0, 1].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.data import Segment
from core.metrics.smart import EMBEDDING, matching
from core.processes import host
from core.progress import Progress
from core.signature import signature
from core.smart.alignment import Array, Sentences, Variant, best_matches, smart, soft_lcs_path
from core.text.sentences import DEFAULT, facts, sentences, splitter

MATCHERS: dict[str, str] = {
    "chrf": "chrF", "bleu": "BLEU", "rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", EMBEDDING: "embedding",
}  # fmt: skip
GOOD: dict[str, float] = {"chrf": 0.27, "bleu": 0.07, "rouge1": 0.29, "rouge2": 0.10, "rougeL": 0.25, EMBEDDING: 0.45}
"""Default threshold of a good match: the 99th percentile of matches between sentences of news summaries and the sources of
other summaries (docs/evaluate.md)."""
VARIANTS: tuple[Variant, ...] = ("1", "2", "L", "X")
MOST_CELLS = 60_000
SOURCE = "source"


class Figures(NamedTuple):
    """Precision, recall and F of one SMART variant, in [0, 1], higher is better."""

    variant: str
    precision: float
    recall: float
    f: float


class Alignment(NamedTuple):
    """The sentences of both texts with their matches, or the `reason` why there are none.

    `of_output[j]` is the best target sentence of output sentence j, `of_target[i]` the best output sentence of target
    sentence i, and `matrix[i][j]` their score. `recall_path[i]` and `precision_path[j]` are the matches under SMART-L.
    """

    output: Sentences
    target: Sentences
    matrix: Array
    of_output: tuple[int, ...]
    of_target: tuple[int, ...]
    recall_path: tuple[int, ...]
    precision_path: tuple[int, ...]
    figures: tuple[Figures, ...]
    signature: str
    reason: str = ""


def targets(segment: Segment) -> dict[str, str]:
    """Return the texts an output can be compared with, by name: references first, then the source."""
    many = len(segment.references) > 1
    by_name = {f"reference {i}" if many else "reference": text for i, text in enumerate(segment.references, 1)}
    if segment.source is not None:
        by_name[SOURCE] = segment.source
    return by_name


def align(output: str, target: str, matcher: str, progress: Progress) -> Alignment:
    """Match the sentences of two texts, with a model where models are run (`core.processes.host`).

    There are no matches but a `reason` if a text is empty, has too many sentences, or a pair has no score. Raises `UserError`
    if the matcher is not available.
    """
    if matcher == EMBEDDING:
        return host.run(_aligned, output, target, matcher, progress=progress)
    return _aligned(output, target, matcher, progress)


def _aligned(output: str, target: str, matcher: str, progress: Progress) -> Alignment:
    cut = splitter(DEFAULT)
    ours, theirs = tuple(sentences(output, cut)), tuple(sentences(target, cut))
    chosen = matching(matcher)
    signed = signature("smart", {"v": 1, "matcher": chosen.signature(), **facts(DEFAULT)})
    none = Alignment(ours, theirs, np.zeros((0, 0)), (), (), (), (), (), signed)
    if not ours:
        return none._replace(reason="the output is empty")
    if not theirs:
        return none._replace(reason="the text to compare with is empty")
    if len(ours) * len(theirs) > MOST_CELLS:
        too_many = f"{len(theirs):,} × {len(ours):,} sentences are too many to match interactively"
        return none._replace(reason=too_many)
    (matrix,) = chosen.make(progress)([(theirs, ours)])
    if np.isnan(matrix).any():
        return none._replace(reason="the matcher returned no score for a pair of sentences")
    of_target, of_output = best_matches(matrix)
    figures = tuple(Figures(v, *(float(x) for x in smart([matrix], v)[0])) for v in VARIANTS)
    return Alignment(
        ours,
        theirs,
        matrix,
        tuple(int(i) for i in of_output.at),
        tuple(int(j) for j in of_target.at),
        tuple(soft_lcs_path(matrix)),
        tuple(soft_lcs_path(np.ascontiguousarray(matrix.T))),
        figures,
        signed,
    )


def payload(alignment: Alignment) -> dict[str, Any]:
    """Return plain values for a page; scores in hundredths, as they are shown."""
    return alignment._asdict() | {"matrix": np.rint(alignment.matrix * 100).astype(int).tolist()}
