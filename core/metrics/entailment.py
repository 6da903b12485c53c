"""Entailment: the probability that one text follows from another, by a natural language inference model.

What SMART calls T5-ANLI and the consistency side of Q² ask of such a model, without Q²'s generated questions. Of several
references the best counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.data import Item, Value
from core.metrics.asked import Answer, Tick, answers, best, mean, source_of, written
from core.metrics.base import MetricSpec, Need, Option, Progress, Values, Work, family
from core.models import configs
from core.signature import signature

Pair = tuple[str, str]
FORWARD, BACKWARD, BOTH, SOURCE = "reference-output", "output-reference", "both", "source-output"

DIRECTION = Option(
    "direction", "choice", FORWARD, "which text is to follow from which: the output from the reference, the reference from the "
    "output, the mean of the two, or the output from the source", "Direction", "{}",
    choices=(FORWARD, BACKWARD, BOTH, SOURCE),
)  # fmt: skip

SPEC = MetricSpec(
    name="entailment",
    label="Entailment",
    version=1,
    paper="Honovich et al. 2022",
    help="Probability that the output follows from the reference (or the source), by an entailment model.",
    range=(0, 1),
    higher_is_better=True,
    needs=frozenset({"reference", "nli"}),
    options=(DIRECTION,),
    perfect_on_copy=False,
)


def _needs(values: Values) -> frozenset[Need]:
    return frozenset({"source" if values["direction"] == SOURCE else "reference", "nli"})


def _make(values: Values) -> Work:
    direction = values["direction"]

    def sign() -> str:
        model = configs.facts("nli")
        configs.labels(configs.checked("nli"))
        return signature(SPEC.name, {"v": 1, "direction": direction, "nrefs": "best"} | model)

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        groups = [pairs(item, direction) for item in items]
        found = answers(groups, _ask, progress)
        places = [[0] if direction == SOURCE else written(item.references) for item in items]
        return [best(_by_reference(group, direction), at) for group, at in zip(found, places, strict=True)]

    return Work(sign, score)


def pairs(item: Item, direction: str) -> list[Pair]:
    """Premise and hypothesis of every question an item asks; for both directions, all of the first come first."""
    if direction == SOURCE:
        return [(source_of(item), item.hypothesis)]
    there = [(reference, item.hypothesis) for reference in written(item.references).values()]
    back = [(hypothesis, reference) for reference, hypothesis in there]
    return {FORWARD: there, BACKWARD: back}.get(direction, there + back)


def _by_reference(found: Sequence[Answer], direction: str) -> list[Answer]:
    if direction != BOTH:
        return list(found)
    half = len(found) // 2
    return [mean(two) for two in zip(found[:half], found[half:], strict=True)]


def _ask(questions: list[Pair], tick: Tick) -> list[Answer]:
    from core.models import classifier

    given = classifier.nli().entailment(questions, tick)
    return [Answer(float(v), bool(cut)) for v, cut in zip(given.values[:, 0], given.truncated, strict=True)]


ENTAILMENT = family(SPEC, _make, _needs)
