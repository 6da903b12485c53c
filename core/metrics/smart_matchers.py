"""Sentence matchers of SMART: any metric with range [0, 1] or [0, 100], or embedding cosine.

chrF, BLEU and ROUGE compute whole matrices (`core.smart.overlap`); other metrics score each distinct pair of sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from core.data import Item
from core.errors import UserError
from core.metrics.base import Metric, Need
from core.metrics.embedding.distances import encoder
from core.metrics.lexical.rouge import reading, tokenizer
from core.metrics.lexical.sacre import bleu
from core.models import configs
from core.progress import Progress
from core.signature import signature
from core.smart.alignment import Array, Matcher, Texts, matrices
from core.smart.overlap import bleu_matrices, chrf_matrices, rouge_matrices

EMBEDDING = "embedding"
LIKELY = ("chrf", "bleu", "rouge1", "rouge2", "rougeL", EMBEDDING)
DIVISORS: dict[tuple[float, float], int] = {(0, 1): 1, (0, 100): 100, (-1, 1): 1}
"""Divisor per range of a metric; results are clamped to [0, 1]."""

UNBOUNDED = ("bleurt",)
"""Unbounded regression metrics trained on values from 0 to 1; results are clamped."""


class MatcherSpec(NamedTuple):
    """A matcher before it is created: signature, required models, factory, and the signature for given target texts if their
    scripts decide how words are found."""

    signature: Callable[[], str]
    needs: frozenset[Need]
    make: Callable[[Progress], Matcher]
    signature_for: Callable[[Sequence[str]], str] | None = None


def settled(text: str) -> str:
    """Return the canonical name of a matcher. Raises UserError if it does not exist or cannot match sentences."""
    if text == EMBEDDING:
        return EMBEDDING
    return _metric(text).spec.name


def matching(name: str) -> MatcherSpec:
    """Return the matcher of a canonical name. Raises UserError as `settled`."""
    if name == EMBEDDING:
        return MatcherSpec(
            lambda: signature(EMBEDDING, {"v": 1} | configs.configured_facts("encoder")),
            frozenset({"encoder"}),
            lambda progress: partial(cosines, progress=progress),
        )
    metric = _metric(name)
    signed = metric.signature_for
    return MatcherSpec(
        metric.signature,
        metric.spec.needs - {"source", "reference"},
        lambda progress: _made(metric, progress),
        None if signed is None else lambda targets: signed([Item(None, "", (target,)) for target in targets]),
    )


def _metric(text: str) -> Metric:
    from core.metrics import registry

    if registry.split(text)[0].startswith("smart"):
        raise UserError("SMART cannot use itself as sentence matcher", got=f"“{text}”", expected=", ".join(LIKELY))
    metric = registry.load_metric(text)
    spec = metric.spec
    if _divisor(metric) is None or not spec.higher_is_better:
        raise UserError(
            f"{spec.label} cannot match sentences: its values are unbounded, or lower is better",
            got=f"“{text}”",
            expected="a metric with range 0 to 1 or 0 to 100, such as " + ", ".join(LIKELY),
        )
    others = len(spec.needs & {"source", "reference"})
    if metric.fit is not None or others != 1:
        raise UserError(
            f"{spec.label} cannot match sentences: it reads {'more than two texts' if others else 'only the output'}",
            got=f"“{text}”",
            expected="a metric that compares the output with one other text, such as " + ", ".join(LIKELY),
        )
    return metric


def _made(metric: Metric, progress: Progress) -> Matcher:
    from core.metrics import registry

    name, option_texts = registry.split(metric.spec.name)
    values = {
        o.name: o.parse(option_texts[o.name]) if o.name in option_texts else o.default for o in metric.spec.options
    }
    if name == "chrf":
        return partial(chrf_matrices, beta=values["beta"], word_order=values["word_order"])
    if name == "bleu":
        return partial(bleu_matrices, make=partial(bleu, values["tokenize"]))
    if name.startswith("rouge"):
        how = {"make": partial(tokenizer, values), "read": reading, "measure": values["measure"]}
        return partial(rouge_matrices, kind=name, **how)
    return partial(pairwise, metric=metric, progress=progress)


def _divisor(metric: Metric) -> int | None:
    if metric.spec.name.partition("|")[0] in UNBOUNDED:
        return 1
    return DIVISORS.get(metric.spec.range)


def pairwise(pairs: Sequence[Texts], metric: Metric, progress: Progress) -> list[Array]:
    """Match sentences by a registered metric, which scores each distinct pair of sentences once, in one call.

    The candidate sentence is the output; the target sentence is its reference, or its source if the metric needs one.
    """
    asked = dict.fromkeys((t, c) for targets, candidates in pairs for t in targets for c in candidates)
    read = "source" in metric.spec.needs
    values = metric.score([Item(t, c, ()) if read else Item(None, c, (t,)) for t, c in asked], progress)
    divisor = _divisor(metric) or 1
    scores = [np.nan if v.value is None else min(1.0, max(0.0, v.value / divisor)) for v in values]
    known = dict(zip(asked, scores, strict=True))
    return [np.array([[known[t, c] for c in candidates] for t in targets]) for targets, candidates in pairs]


def cosines(pairs: Sequence[Texts], progress: Progress) -> list[Array]:
    """Match sentences by the cosine of their embeddings by the configured encoder; negative values become 0."""

    def block(targets: Sequence[str], candidates: Sequence[str]) -> Array:
        progress(0)
        vectors = encoder().sentences([*targets, *candidates]).astype(np.float64)
        similarities: Array = np.clip(vectors[: len(targets)] @ vectors[len(targets) :].T, 0, 1)
        return similarities

    return matrices(block, pairs)
