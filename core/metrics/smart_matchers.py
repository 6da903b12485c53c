"""What SMART may match sentences with: any metric of the registry that scores in [0, 1] or [0, 100], or an embedding.

chrF, BLEU and ROUGE give whole matrices at once (`core.smart.strings`); other metrics score every distinct pair of sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from core.data import Item
from core.errors import UserError
from core.metrics.base import Cancelled, Metric, Need, Progress
from core.metrics.encoding import encoder, model_facts
from core.metrics.rouge import reading, tokenizer
from core.metrics.sacre import bleu
from core.signature import signature
from core.smart.alignment import Array
from core.smart.matching import Matcher, Texts, matrices
from core.smart.strings import Bleu, Chrf, Rouge

EMBEDDING = "embedding"
LIKELY = ("chrf", "bleu", "rouge1", "rouge2", "rougeL", EMBEDDING)
DIVISORS = {(0, 1): 1, (0, 100): 100, (-1, 1): 1}
"""What scores of a range are divided by to be at most 1; below 0 they are cut, as a cosine is."""

UNBOUNDED = ("bleurt",)
"""Regressions without bounds that were trained to speak from 0 to 1: what lies outside is cut."""


class Matching(NamedTuple):
    """A matcher before it is asked: its signature, what it needs beside the texts, how it is made, and its signature for
    target texts, where their scripts decide how words are found."""

    signature: Callable[[], str]
    needs: frozenset[Need]
    make: Callable[[Progress], Matcher]
    signed: Callable[[Sequence[str]], str] | None = None


def settled(text: str) -> str:
    """The one form of a matcher's name. Raises UserError for a metric that cannot match sentences, or is not there."""
    if text == EMBEDDING:
        return EMBEDDING
    return _metric(text).spec.name


def matching(name: str) -> Matching:
    """The matcher of a settled name. Raises UserError as `settled` does."""
    if name == EMBEDDING:
        return Matching(
            lambda: signature(EMBEDDING, {"v": 1} | model_facts()),
            frozenset({"encoder"}),
            Cosine,
        )
    metric = _metric(name)
    signed = metric.signed
    return Matching(
        metric.signature,
        metric.spec.needs - {"source", "reference"},
        lambda go_on: _made(metric, go_on),
        None if signed is None else lambda targets: signed([Item(None, "", (target,)) for target in targets]),
    )


def _metric(text: str) -> Metric:
    from core.metrics import registry

    if registry.split(text)[0].startswith("smart"):
        raise UserError("SMART cannot match sentences by SMART", got=f"“{text}”", expected=", ".join(LIKELY))
    metric = registry.load(text)
    spec = metric.spec
    if _divisor(metric) is None or not spec.higher_is_better:
        raise UserError(
            f"{spec.label} cannot match sentences: its values have no best and worst, or the best is the lowest",
            got=f"“{text}”",
            expected="a metric from 0 to 1 or 0 to 100, such as " + ", ".join(LIKELY),
        )
    others = len(spec.needs & {"source", "reference"})
    if metric.on is not None or others != 1:
        raise UserError(
            f"{spec.label} cannot match sentences: it looks at {'more than two texts' if others else 'the output alone'}",
            got=f"“{text}”",
            expected="a metric of an output and one other text, such as " + ", ".join(LIKELY),
        )
    return metric


def _made(metric: Metric, go_on: Progress) -> Matcher:
    from core.metrics import registry

    name, given = registry.split(metric.spec.name)
    values = {o.name: o.parse(given[o.name]) if o.name in given else o.default for o in metric.spec.options}
    string = _STRINGS.get(name)
    return string(values) if string else Pairwise(metric, go_on)


_STRINGS: Mapping[str, Callable[[Mapping[str, Any]], Matcher]] = {
    "chrf": lambda v: Chrf(v["beta"], v["word_order"]),
    "bleu": lambda v: Bleu(partial(bleu, v["tokenize"])),
    "rouge1": lambda v: Rouge("rouge1", partial(tokenizer, v), reading, v["measure"]),
    "rouge2": lambda v: Rouge("rouge2", partial(tokenizer, v), reading, v["measure"]),
    "rougeL": lambda v: Rouge("rougeL", partial(tokenizer, v), reading, v["measure"]),
}


def _divisor(metric: Metric) -> int | None:
    if metric.spec.name.partition("|")[0] in UNBOUNDED:
        return 1
    return next((divisor for scale, divisor in DIVISORS.items() if scale == metric.spec.range), None)


class Pairwise:
    """A metric of the registry as a matcher: every distinct pair of sentences is scored once, in one call.

    The candidate sentence is the output; the target sentence is its reference, or its source where the metric reads that.
    """

    def __init__(self, metric: Metric, go_on: Progress) -> None:
        self.metric, self.go_on = metric, go_on

    def matrices(self, pairs: Sequence[Texts]) -> list[Array]:
        asked = dict.fromkeys((t, c) for targets, candidates in pairs for t in targets for c in candidates)
        read = "source" in self.metric.spec.needs
        items = [Item(t, c, ()) if read else Item(None, c, (t,)) for t, c in asked]
        values = self.metric.score(items, self.go_on)
        divisor = _divisor(self.metric) or 1
        scores = [np.nan if v.value is None else min(1.0, max(0.0, v.value / divisor)) for v in values]
        known = dict(zip(asked, scores, strict=True))
        return [np.array([[known[t, c] for c in candidates] for t in targets]) for targets, candidates in pairs]


class Cosine:
    """The cosine of sentence embeddings by the model in the `encoder` role, below 0 cut to 0."""

    def __init__(self, go_on: Progress) -> None:
        self.go_on = go_on

    def matrices(self, pairs: Sequence[Texts]) -> list[Array]:
        return matrices(self._block, pairs)

    def _block(self, targets: Sequence[str], candidates: Sequence[str]) -> Array:
        if not self.go_on(0):
            raise Cancelled
        vectors = encoder().sentences([*targets, *candidates]).astype(np.float64)
        cosines: Array = np.clip(vectors[: len(targets)] @ vectors[len(targets) :].T, 0, 1)
        return cosines
