"""BARTScore (Yuan et al. 2021): mean log probability a token, in the four directions of Table 6 of Lu et al. 2023."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from core.data import Item, Value
from core.metrics.base import Cancelled, Metric, MetricSpec, Need, Progress
from core.models.checkpoint import resolve
from core.refine.result import Variant
from core.settings import load as settings
from core.signature import package, signature

if TYPE_CHECKING:
    from core.models.seq2seq import Ids, Seq2SeqScorer

DIRECTIONS: dict[Variant, str] = {
    "precision": "reference → output",
    "recall": "output → reference",
    "f": "mean of reference → output and output → reference",
    "faithfulness": "source → output",
}


def model_facts() -> dict[str, object]:
    """What a signature says of the model: name, revision, number format, library versions."""
    checkpoint = resolve(settings().seq2seq)
    return {
        "model": checkpoint.name,
        "rev": checkpoint.revision,
        "dtype": "fp32",
        "torch": package("torch").split("+")[0],
        "transformers": package("transformers"),
    }


def needs_of(variant: Variant) -> frozenset[Need]:
    return frozenset({"seq2seq", "source" if variant == "faithfulness" else "reference"})


def scorer() -> Seq2SeqScorer:
    """The model of the `seq2seq` role; torch is loaded here and not before."""
    from core.models.seq2seq import load

    chosen = settings()
    return load(chosen.seq2seq, chosen.device)


def _metric(variant: Variant, name: str, label: str) -> Metric:
    spec = MetricSpec(
        name=name,
        label=label,
        version=1,
        paper="Yuan et al. 2021",
        help=f"Mean log probability a token, {DIRECTIONS[variant]}. Nearer 0 is better. Several references: the best one.",
        range=(float("-inf"), 0),
        higher_is_better=True,
        needs=needs_of(variant),
        perfect_on_copy=False,
    )

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        model = scorer()
        conditions = [[i.source or ""] if variant == "faithfulness" else list(i.references) for i in items]
        pairs = [(c, item.hypothesis) for item, given in zip(items, conditions, strict=True) for c in given]
        forward = variant in ("precision", "f", "faithfulness")
        backward = variant in ("recall", "f")
        passes = forward + backward

        def tick(offset: int, done: int) -> None:
            if not progress((offset + done) * len(items) // max(1, passes * len(pairs))):
                raise Cancelled

        ids = {text: model.encode(text) for pair in pairs for text in pair}
        there = _means(model, [(ids[c].ids, ids[h].ids) for c, h in pairs], lambda n: tick(0, n)) if forward else []
        back = (
            _means(model, [(ids[h].ids, ids[c].ids) for c, h in pairs], lambda n: tick(forward * len(pairs), n))
            if backward
            else []
        )
        values = [(p + r) / 2 for p, r in zip(there, back, strict=True)] if variant == "f" else there or back
        out, first = [], 0
        for given, item in zip(conditions, items, strict=True):
            here = range(first, first + len(given))
            best = max(here, key=lambda i: values[i])
            first += len(given)
            cut = ids[item.hypothesis].truncated or any(ids[c].truncated for c in given)
            parts = {"condition": float(best - here.start)}
            if variant == "f":
                parts |= {"precision": there[best], "recall": back[best]}
            out.append(Value(values[best], reason=TRUNCATED if cut else "", parts=parts))
        return out

    def sign() -> str:
        return signature(name, {"v": 1, "variant": variant, "nrefs": "best", "prompt": "none", **model_facts()})

    return Metric(spec, sign, score)


TRUNCATED = "the text is longer than the model reads; its end was left out"


def _means(model: Seq2SeqScorer, pairs: list[tuple[Ids, Ids]], tick: Callable[[int], None]) -> list[float]:
    logps = model.pairs([c for c, _ in pairs], [t for _, t in pairs], tick)
    return [float(p.mean()) for p in logps]


PRECISION = _metric("precision", "bartscore-p", "BARTScore P")
RECALL = _metric("recall", "bartscore-r", "BARTScore R")
F = _metric("f", "bartscore", "BARTScore F")
FAITHFULNESS = _metric("faithfulness", "bartscore-faithfulness", "BARTScore faithfulness")
