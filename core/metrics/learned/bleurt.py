"""BLEURT (Sellam et al. 2020): a regression model over reference and output, in that order; the best reference counts."""

from __future__ import annotations

from collections.abc import Sequence

from core.data import Item, Value
from core.errors import UserError
from core.metrics.base import Metric, MetricSpec
from core.metrics.learned.question_metrics import ModelAnswer, best_answers
from core.models import configs
from core.models.kinds import MODEL_KINDS
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
    checkpoint = configs.checked("bleurt")
    if configs.read(checkpoint).get("model_type") == "bleurt":
        raise UserError(
            "this checkpoint needs its own model code, which Errorscope never runs",
            where=MODEL_KINDS["bleurt"].variable,
            got=checkpoint.name,
            expected=f"a BLEURT checkpoint in BERT format with a single output, such as {MODEL_KINDS['bleurt'].model}",
        )
    configs.regressor("bleurt")
    return signature(SPEC.name, {"v": 1, "nrefs": "best"} | configs.facts("bleurt"))


def _score(items: Sequence[Item], progress: Progress) -> list[Value]:
    return best_answers(items, [lambda item, reference: (reference, item.hypothesis)], _ask, progress)


def _ask(questions: list[tuple[str, str]], progress: Progress) -> list[ModelAnswer]:
    from core.models.architectures import classifier

    given = classifier.regressor("bleurt").logits(questions, progress)
    return [ModelAnswer(float(v), bool(cut)) for v, cut in zip(given.values[:, 0], given.truncated, strict=True)]


BLEURT = Metric(SPEC, _sign, _score)
