"""BLEURT (Sellam et al. 2020): a regressor over reference and output, in that order; of several references the best counts."""

from __future__ import annotations

from collections.abc import Sequence

from core.data import Item, Value
from core.errors import UserError
from core.metrics.asked import Answer, Tick, answers, best, written
from core.metrics.base import Metric, MetricSpec, Progress
from core.models import configs
from core.models.roles import ROLES
from core.signature import signature

SPEC = MetricSpec(
    name="bleurt",
    label="BLEURT",
    version=1,
    paper="Sellam et al. 2020",
    help="Rating of the output beside the reference by a model trained on ratings by people; about 0 to 1, not bounded.",
    range=(float("-inf"), float("inf")),
    higher_is_better=True,
    needs=frozenset({"reference", "bleurt"}),
    perfect_on_copy=False,
)


def _sign() -> str:
    checkpoint = configs.checked("bleurt")
    if configs.read(checkpoint).get("model_type") == "bleurt":
        raise UserError(
            "BLEURT-20 in this form needs code of its own, which is never run",
            where=ROLES["bleurt"].variable,
            got=checkpoint.name,
            expected=f"BLEURT as BERT with one output, such as {ROLES['bleurt'].model}",
        )
    configs.regressor("bleurt")
    return signature(SPEC.name, {"v": 1, "nrefs": "best"} | configs.facts("bleurt"))


def _score(items: Sequence[Item], progress: Progress) -> list[Value]:
    references = [written(item.references) for item in items]
    groups = [
        [(text, item.hypothesis) for text in there.values()] for item, there in zip(items, references, strict=True)
    ]
    return [best(found, there) for found, there in zip(answers(groups, _ask, progress), references, strict=True)]


def _ask(questions: list[tuple[str, str]], tick: Tick) -> list[Answer]:
    from core.models import classifier

    given = classifier.regressor("bleurt").logits(questions, tick)
    return [Answer(float(v), bool(cut)) for v, cut in zip(given.values[:, 0], given.truncated, strict=True)]


BLEURT = Metric(SPEC, _sign, _score)
