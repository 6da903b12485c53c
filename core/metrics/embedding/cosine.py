"""Cosine of sentence embeddings of whole texts (Reimers and Gurevych 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec, Option, Values, family, texts_compared
from core.metrics.embedding.distances import NO_OUTPUT, encoder, in_blocks
from core.metrics.learned.question_metrics import NO_REFERENCE, TRUNCATED
from core.models import configs
from core.progress import Progress

NO_SOURCE = "the source is empty"

AGAINST = Option(
    "against", "choice", "reference", "what the output is compared with: the most similar reference, the source, or both (mean of "
    "the two cosines)", "Against", "against {}", choices=("reference", "source", "both"),
)  # fmt: skip

SPEC = MetricSpec(
    name="embedding",
    label="Embedding cosine",
    paper="Reimers and Gurevych 2019",
    help="Cosine similarity of sentence embeddings, by the encoder model: is the output about the same thing? To compare with a source in another language, configure a multilingual encoder. With several references, the best one counts.",
    range=(-1, 1),
    needs=frozenset({"reference", "encoder"}),
    options=(AGAINST,),
)


class TextVector(NamedTuple):
    """The unit-length vector (d,) of a text, and whether the text was cut."""

    vector: npt.NDArray[np.float32]
    truncated: bool


def _make(values: Values) -> Metric:
    against = values["against"]

    def sign() -> str:
        return SPEC.signed({"against": against, "nrefs": "best", **configs.configured_facts("encoder")})

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        def texts(item: Item) -> list[str]:
            return [item.hypothesis, *(t for texts in _others(item, against).values() for t in texts)]

        return in_blocks(items, texts, _placed, lambda item, known: _value(item, known, against), progress)

    return Metric(replace(SPEC, needs=texts_compared(against) | {"encoder"}), sign, score)


def _others(item: Item, against: str) -> dict[str, list[str]]:
    """Return the non-empty texts of each kind that the output is compared with."""
    texts_by_kind = {"source": (item.source or "",), "reference": item.references}
    return {kind: [t for t in texts if t.strip()] for kind, texts in texts_by_kind.items() if against in (kind, "both")}


def _placed(texts: Sequence[str], progress: Progress) -> list[TextVector]:
    vectors, truncated = encoder().embed(texts, progress)
    return [TextVector(vector, bool(cut)) for vector, cut in zip(vectors, truncated, strict=True)]


def _value(item: Item, known: Mapping[str, TextVector], against: str) -> Value:
    if not item.hypothesis.strip():
        return Value(None, "undefined", NO_OUTPUT)
    output, parts = known[item.hypothesis], {}
    cut = output.truncated
    for kind, texts in _others(item, against).items():
        if not texts:
            return Value(None, "undefined", NO_SOURCE if kind == "source" else NO_REFERENCE)
        cosines = {t: float(np.clip(output.vector.astype(np.float64) @ known[t].vector, -1, 1)) for t in texts}
        best = max(cosines, key=lambda t: cosines[t])
        parts[kind] = cosines[best]
        cut = cut or known[best].truncated
    return Value(sum(parts.values()) / len(parts), reason=TRUNCATED if cut else "", parts=parts)


EMBEDDING = family(SPEC, _make)
