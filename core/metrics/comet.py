"""COMET (Rei et al. 2020, 2022) and COMET-QE: which of the two a checkpoint is stands in its configuration, and only that one
runs with it. The estimator is computed by `core.models.comet`; how a checkpoint gets here: docs/models.md."""

from __future__ import annotations

from collections.abc import Sequence

from core.data import Item, Value
from core.metrics.asked import Answer, Tick, answers, best, source_of, written
from core.metrics.base import Metric, MetricSpec, Need, Progress
from core.models import configs, roles
from core.models.checkpoint import Checkpoint
from core.models.comet_config import shape
from core.models.roles import ROLES, player
from core.settings import load as settings
from core.signature import signature

Triple = tuple[str, str, str]
SUGGESTED = {True: ROLES["comet"].model, False: "Unbabel/wmt20-comet-qe-da"}


def _metric(name: str, label: str, *, references: bool) -> Metric:
    texts: frozenset[Need] = frozenset({"source", "reference"}) if references else frozenset({"source"})
    reads = "source and reference" if references else "the source alone"
    spec = MetricSpec(
        name=name,
        label=label,
        version=1,
        paper="Rei et al. 2020",
        help=f"Rating of the output beside {reads} by a model trained on ratings by people; not bounded.",
        range=(float("-inf"), float("inf")),
        higher_is_better=True,
        needs=texts | {"comet"},
        perfect_on_copy=False,
    )

    def checkpoint() -> Checkpoint:
        kinds = ("a checkpoint that reads no reference", "a checkpoint that reads a reference")
        there = bool(settings().comet)
        found = player("comet") if there or references else None
        if found is None or shape(found).references != references:
            raise configs.Unfit(
                f"{label} needs {kinds[references]}",
                "comet",
                got=f"{found.name} is {kinds[not references]}" if found else "none is set",
                expected=f"one such as {SUGGESTED[references]} (2.3 GB, Apache-2.0)",
                command=ROLES["comet"]._replace(model=SUGGESTED[references]).command,
                note=ROLES["comet"].note,
            )
        return found

    def sign() -> str:
        checkpoint()
        return signature(name, {"v": 1, **({"nrefs": "best"} if references else {}), **roles.facts("comet")})

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        read = [written(i.references) if references else {0: ""} for i in items]
        groups: list[list[Triple]] = [
            [(source_of(i), i.hypothesis, r) for r in there.values()] for i, there in zip(items, read, strict=True)
        ]
        found = checkpoint()

        def ask(questions: list[Triple], tick: Tick) -> list[Answer]:
            from core.models import comet

            return [Answer(*answer) for answer in comet.load(found).scores(questions, tick)]

        return [best(given, there) for given, there in zip(answers(groups, ask, progress), read, strict=True)]

    return Metric(spec, sign, score)


COMET = _metric("comet", "COMET", references=True)
QE = _metric("comet-qe", "COMET-QE", references=False)
