"""BLEURT (Sellam et al. 2020): a regression model over reference and output, in that order; the best reference counts."""

from __future__ import annotations

from collections.abc import Sequence

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec
from core.metrics.learned.question_metrics import ModelAnswer, best_answers
from core.models import configs
from core.progress import Progress
from core.signature import signature

SPEC = MetricSpec(
    name="bleurt",
    label="BLEURT",
    paper="Sellam et al. 2020",
    help="Predicts how people would rate the output given the reference, with a BERT model trained on human ratings. Values are mostly 0 to 1, but unbounded. With several references, the best one counts.",
    range=(float("-inf"), float("inf")),
    needs=frozenset({"reference", "bleurt"}),
    perfect_on_copy=False,
)


def _sign() -> str:
    return signature(SPEC.name, {"v": 1, "nrefs": "best"} | configs.checked_facts("bleurt"))


def _score(items: Sequence[Item], progress: Progress) -> list[Value]:
    return best_answers(items, [lambda item, reference: (reference, item.hypothesis)], _ask, progress)


def _ask(questions: list[tuple[str, str]], progress: Progress) -> list[ModelAnswer]:
    from core.models.architectures import nli

    logits = nli.regressor("bleurt").logits(questions, progress)
    return [ModelAnswer(float(v), bool(cut)) for v, cut in zip(logits.values[:, 0], logits.truncated, strict=True)]


BLEURT = Metric(SPEC, _sign, _score)
