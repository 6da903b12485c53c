"""Regression models trained on human ratings: BLEURT (Sellam et al. 2020), COMET and COMET-QE (Rei et al. 2020, 2022).

BLEURT reads reference and output, in that order. The configuration of a COMET checkpoint decides which of the two can run. Its estimator is
in `core.models.architectures.comet`, the conversion of a checkpoint in `core.models.conversion`.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec, Need
from core.metrics.learned.question_metrics import ModelAnswer, best_answers
from core.models import configs
from core.models.architectures.shapes import comet_shape
from core.models.checkpoint import Checkpoint
from core.models.configs import MODEL_KINDS, configured_model, setting_of
from core.progress import Progress

SPEC = MetricSpec(
    name="bleurt",
    label="BLEURT",
    paper="Sellam et al. 2020",
    help="Predicts how people would rate the output given the reference, with a BERT model trained on human ratings. Values are mostly 0 to 1, but unbounded. With several references, the best one counts.",
    range=(float("-inf"), float("inf")),
    needs=frozenset({"reference", "bleurt"}),
)


def _sign() -> str:
    return SPEC.signed({"nrefs": "best"} | configs.checked_facts("bleurt"))


def _score(items: Sequence[Item], progress: Progress) -> list[Value]:
    return best_answers(items, lambda item, reference: [(reference, item.hypothesis)], _ask, progress)


def _ask(questions: list[tuple[str, str]], progress: Progress) -> list[ModelAnswer]:
    from core.models.architectures import nli

    logits = nli.regressor("bleurt").logits(questions, progress)
    return [ModelAnswer(float(v), bool(cut)) for v, cut in zip(logits.values[:, 0], logits.truncated, strict=True)]


BLEURT = Metric(SPEC, _sign, _score)


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
    )

    def checkpoint() -> Checkpoint:
        kinds = ("a checkpoint without references", "a checkpoint with references")
        is_set = bool(setting_of("comet"))
        configured = configured_model("comet") if is_set or references else None
        if configured is None or comet_shape(configured).references != references:
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
        return spec.signed(({"nrefs": "best"} if references else {}) | configs.configured_facts("comet"))

    def asked(item: Item, reference: str) -> list[Triple]:
        return [(item.source or "", item.hypothesis, reference if references else "")]

    def ask(questions: list[Triple], progress: Progress) -> list[tuple[float, bool]]:
        from core.models.architectures import comet

        return comet.load_comet(checkpoint()).scores(questions, progress)

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        checkpoint()
        return best_answers(items, asked, ask, progress, source=not references)

    return Metric(spec, sign, score)


COMET = _metric("comet", "COMET", references=True)
QE = _metric("comet-qe", "COMET-QE", references=False)
