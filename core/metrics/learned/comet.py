"""COMET (Rei et al. 2020, 2022) and COMET-QE. The configuration of the checkpoint decides which of the two can run.

The estimator is in `core.models.architectures.comet`, the conversion of a checkpoint in `core.models.conversion`.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec, Need
from core.metrics.learned.question_metrics import ModelAnswer, best_answers
from core.models import configs
from core.models.architectures.comet_config import shape
from core.models.checkpoint import Checkpoint
from core.models.configs import MODEL_KINDS, configured_model, setting_of
from core.progress import Progress
from core.signature import signature

Triple = tuple[str, str, str]
SUGGESTED = {True: MODEL_KINDS["comet"].model, False: "Unbabel/wmt20-comet-qe-da"}


def _metric(name: str, label: str, *, references: bool) -> Metric:
    texts: frozenset[Need] = frozenset({"source", "reference"}) if references else frozenset({"source"})
    reads = "source and reference" if references else "the source, without references"
    spec = MetricSpec(
        name=name,
        label=label,
        paper="Rei et al. 2020",
        help=f"Predicts how people would rate a translation given {reads}, with a model trained on human ratings. Unbounded.",
        range=(float("-inf"), float("inf")),
        needs=texts | {"comet"},
        perfect_on_copy=False,
    )

    def checkpoint() -> Checkpoint:
        kinds = ("a checkpoint without references", "a checkpoint with references")
        is_set = bool(setting_of("comet"))
        configured = configured_model("comet") if is_set or references else None
        if configured is None or shape(configured).references != references:
            raise configs.WrongModel(
                f"{label} needs {kinds[references]}",
                "comet",
                got=f"{configured.name}, {kinds[not references]}" if configured else "none is configured",
                expected=f"a checkpoint such as {SUGGESTED[references]} (2.3 GB, Apache-2.0)",
                command=MODEL_KINDS["comet"]._replace(model=SUGGESTED[references]).command,
                note=MODEL_KINDS["comet"].note,
            )
        return configured

    def sign() -> str:
        checkpoint()
        return signature(
            name, {"v": 1, **({"nrefs": "best"} if references else {}), **configs.configured_facts("comet")}
        )

    def question(item: Item, reference: str) -> Triple:
        return item.source or "", item.hypothesis, reference if references else ""

    def ask(questions: list[Triple], progress: Progress) -> list[ModelAnswer]:
        from core.models.architectures import comet

        return [ModelAnswer(*answer) for answer in comet.load_comet(checkpoint()).scores(questions, progress)]

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        checkpoint()
        return best_answers(items, [question], ask, progress, source=not references)

    return Metric(spec, sign, score)


COMET = _metric("comet", "COMET", references=True)
QE = _metric("comet-qe", "COMET-QE", references=False)
