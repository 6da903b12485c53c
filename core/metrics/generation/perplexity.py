"""Perplexity of the output: exp of the mean −log p of its tokens. Measures fluency, not meaning; lower is better.

- `gpt-ppl`, causal (Jelinek et al. 1977): each token given the tokens before it. Longer texts are read in windows that overlap
  by half, so from the second window on each token has at least half a window of context.
- `mlm-ppl`, masked (Salazar et al. 2020, pseudo-log-likelihood): each token, masked, given all others. Longer texts are read
  in a window around each token.

Values of models with different tokenizers cannot be compared. Outputs without tokens are undefined. Parts: `log_likelihood`
(sum, in nats) and `tokens`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec
from core.models import configs
from core.progress import Progress

if TYPE_CHECKING:
    from core.models.architectures.language_models import Surprise

EMPTY = "the output has no tokens"


def _metric(name: str, label: str, paper: str, kind: Literal["lm", "mlm"], help_: str) -> Metric:
    spec = MetricSpec(
        name=name,
        label=label,
        paper=paper,
        help=f"{help_}. Measures how fluent the output is, not whether its content is right; reads neither source nor reference.",
        range=(1, float("inf")),
        higher_is_better=False,
        needs=frozenset({kind}),
    )

    def sign() -> str:
        return spec.signed(configs.checked_facts(kind))

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        from core.models.architectures import language_models

        progress(0)
        reader = language_models.load_causal() if kind == "lm" else language_models.load_masked()
        return [_value(surprise) for surprise in reader.surprise([item.hypothesis for item in items], progress)]

    return Metric(spec, sign, score)


def _value(surprise: Surprise) -> Value:
    if not surprise.tokens:
        return Value(None, "undefined", EMPTY)
    parts = {"log_likelihood": -surprise.nats, "tokens": float(surprise.tokens)}
    return Value(math.exp(surprise.nats / surprise.tokens), parts=parts)


CAUSAL = _metric(
    "gpt-ppl", "Perplexity", "Jelinek et al. 1977", "lm", "Perplexity of the output under a causal language model"
)
MASKED = _metric(
    "mlm-ppl",
    "Pseudo-perplexity",
    "Salazar et al. 2020",
    "mlm",
    "Pseudo-perplexity of the output under a masked language model",
)
