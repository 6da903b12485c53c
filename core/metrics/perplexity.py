"""Perplexity of the output by itself: exp of the mean −log p of its tokens. Fluency, and nothing of meaning; lower is better.

- `gpt-ppl`, causal (Jelinek et al. 1977): each token given those before it. A text longer than the model's window is read in
  windows that overlap by half, so that from the second on a token has at least half a window before it.
- `mlm-ppl`, masked (Salazar et al. 2020, pseudo-log-likelihood): each token, masked once, given all the others. A longer text
  is read in the window around each token.

Tokens are the model's own: values of two models do not compare. An output without tokens has no value. `log_likelihood` (the
sum, in nats) and `tokens` are kept beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from core.data import Item, Value
from core.metrics.asked import ticking
from core.metrics.base import Metric, MetricSpec, Progress
from core.models import configs
from core.signature import signature

if TYPE_CHECKING:
    from core.models.causal import CausalReader, Surprise
    from core.models.masked import MaskedReader

EMPTY = "the output has no token that can be scored"


def reader(role: Literal["lm", "mlm"]) -> CausalReader | MaskedReader:
    """The model of the role; torch is loaded here and not before."""
    from core.models import causal, masked

    return causal.load() if role == "lm" else masked.load()


def _metric(name: str, label: str, paper: str, role: Literal["lm", "mlm"], help_: str) -> Metric:
    spec = MetricSpec(
        name=name,
        label=label,
        version=1,
        paper=paper,
        help=f"{help_} of the output alone: how fluent it is, not what it says.",
        range=(1, float("inf")),
        higher_is_better=False,
        needs=frozenset({role}),
        perfect_on_copy=False,
    )

    def sign() -> str:
        return signature(name, {"v": 1} | configs.facts(role))

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        tick = ticking(progress, len(items))
        tick(0, 1)
        return [_value(found) for found in reader(role).surprise([item.hypothesis for item in items], tick)]

    return Metric(spec, sign, score)


def _value(found: Surprise) -> Value:
    if not found.tokens:
        return Value(None, "undefined", EMPTY)
    parts = {"log_likelihood": -found.nats, "tokens": float(found.tokens)}
    return Value(math.exp(found.nats / found.tokens), parts=parts)


CAUSAL = _metric("gpt-ppl", "Perplexity", "Jelinek et al. 1977", "lm", "Perplexity, by a causal language model,")
MASKED = _metric(
    "mlm-ppl", "Pseudo-perplexity", "Salazar et al. 2020", "mlm", "Pseudo-perplexity, by a masked language model,"
)
