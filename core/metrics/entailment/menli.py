"""MENLI, and the entailment of a text by another.

MENLI: an NLI metric combined with any other metric (Chen and Eger 2023, section 5.1.3).
C = w·N + (1 − w)·M (equation 2), both scaled to 0 … 1 by stored ranges (`core.metrics.ranges`), which the signature names. Metrics
with lower values for better outputs are reversed first. The authors' code uses the minimum and maximum of the current batch
instead, so its scores depend on the other outputs.

Entailment: the probability that one text follows from another, by a natural language inference (NLI) model.
SMART calls this T5-ANLI; Q² uses it for consistency, with generated questions. With several references, the best one counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf, isfinite
from typing import NamedTuple

from core.data import Item, SegmentKey, Value
from core.errors import UserError
from core.metrics import ranges, registry
from core.metrics.base import AllOutputs, Metric, MetricSpec, Need, Option, Values, family
from core.metrics.learned.question_metrics import ModelAnswer, best_answers
from core.metrics.ranges import DECLARED, FITTED, Range
from core.models import configs
from core.models.configs import facts_of
from core.progress import Progress, part
from core.signature import GIVEN

NLI_METRICS = ("nli", "nli-ref-sum", "nli-src")
NAME = "menli"
WEIGHT = 0.2
"""Best weight on standard benchmarks for translation (section 5.1.3); the paper uses 0.8 for summaries (section 5.2)."""


def _nli(text: str) -> str:
    name = registry.split(text)[0]
    if name not in NLI_METRICS:
        raise UserError(
            "this is not an NLI metric", where=f"option nli of {NAME}", got=f"“{text}”", expected=_or(NLI_METRICS)
        )
    return registry.load_metric(text).spec.name


def _other(text: str) -> str:
    if registry.split(text)[0] == NAME:
        raise UserError("MENLI cannot be combined with itself", where=f"option with of {NAME}", got=f"“{text}”")
    metric = registry.load_metric(text)
    if metric.judge is not None:  # its texts would be sent by the model process, and no screen would say where
        raise UserError("MENLI cannot be combined with a judge", where=f"option with of {NAME}", got=f"“{text}”")
    return metric.spec.name


def _range(text: str) -> str:
    return text if text in (FITTED, DECLARED) else ranges.parse(text).words


def _or(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" or {names[-1]}, with its options"


OPTIONS = (
    Option(
        "with", "text", "bertscore", "the other metric M, with its options (write %7C for | and %3A for :)",
        "Combined with", "with {}", choices=("bertscore", "bartscore", "moverscore", "chrf", "bleurt", "comet"), settle=_other,
    ),
    Option(
        "w", "decimal", WEIGHT, "weight of the NLI metric; 0: only the other metric, 1: only the NLI metric", "Weight of NLI", "w = {}",
        low=0, high=1,
    ),
    Option(
        "nli", "text", "nli", "the NLI metric N, with its options", "NLI metric", "{}", choices=NLI_METRICS, settle=_nli,
    ),
    Option(
        "range", "text", FITTED, "the range M is scaled by: fitted on stored scores (or declared, if none is "
        "stored), declared by the metric, or LOW..HIGH", "Range of the other metric", "range {}",
        choices=(FITTED, DECLARED), settle=_range,
    ),
)  # fmt: skip

MENLI_SPEC = MetricSpec(
    name=NAME,
    label="MENLI",
    paper="Chen and Eger 2023",
    help="Weighted mean of an NLI metric and another metric, both scaled to 0 … 1. More robust to adversarial errors than the other metric by itself. Values outside the stored range are not clamped.",
    range=(-inf, inf),
    needs=frozenset({"reference", "nli", "encoder"}),
    options=OPTIONS,
)


class _Side(NamedTuple):
    """One of the two metrics, and the option for its range."""

    metric: Metric
    range_option: str

    def range(self) -> Range:
        return ranges.range_of(self.metric, self.range_option)


def combined(n: float, m: float, w: float) -> float:
    """Return w·N + (1 − w)·M of two scaled values (equation 2)."""
    return w * n + (1.0 - w) * m


def _make_menli(values: Values) -> Metric:
    n, m = (
        _Side(registry.load_metric(values["nli"]), DECLARED),
        _Side(registry.load_metric(values["with"]), values["range"]),
    )
    return _work((n, m), values["w"])


def _work(sides: tuple[_Side, _Side], w: float) -> Metric:
    n, m = sides
    bounded = m.range_option == DECLARED and all(map(isfinite, m.metric.spec.range))
    spec = replace(
        MENLI_SPEC, needs=n.metric.spec.needs | m.metric.spec.needs, range=(0, 1) if bounded else (-inf, inf)
    )

    def sign() -> str:
        signed = [side.metric.signature() for side in sides]
        side_ranges = [side.range() for side in sides]
        models = [field[4:] for s in signed for field in s.split("|") if field.startswith("rev:")]
        facts: dict[str, object] = {"w": w, "rev": "+".join(dict.fromkeys(models))}
        facts |= {f"range_{k}": f"{r.words} ({r.origin})" for k, r in zip("nm", side_ranges, strict=True)}
        if m.range_option == DECLARED:  # differs from the fallback of `fitted`
            facts["range_m"] = f"{facts['range_m']}{GIVEN}"
        return spec.signed(facts | dict(zip("nm", signed, strict=True)))

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        scales = [side.range() for side in sides]
        first = n.metric.score(items, part(progress, 0, 2))
        second = m.metric.score(items, part(progress, 1, 2))
        return [_value(two, sides, scales, w) for two in zip(first, second, strict=True)]

    def fit(all_outputs: AllOutputs) -> Metric:
        first, second = (side._replace(metric=side.metric.for_outputs(all_outputs)) for side in sides)
        return _work((first, second), w)

    def signed(items: Sequence[Item]) -> str:
        return fit([(SegmentKey("", str(i)), item) for i, item in enumerate(items)]).signature()

    return Metric(spec, sign, score, fit if m.metric.fit else None, signed if m.metric.signature_for else None)


def _value(two: Sequence[Value], sides: Sequence[_Side], scales: Sequence[Range], w: float) -> Value:
    scaled, reasons = [], []
    for value, side, scale in zip(two, sides, scales, strict=True):
        label = side.metric.spec.label
        if value.status != "ok" or value.value is None or not isfinite(value.value):
            return Value(
                None,
                value.status if value.status != "ok" else "undefined",
                f"{label}: {value.reason or 'no finite value'}",
            )
        scaled.append(scale.scaled(value.value, higher_is_better=side.metric.spec.higher_is_better))
        reasons += [f"{label}: {value.reason}"] if value.reason else []
    parts = {"n": two[0].value or 0.0, "m": two[1].value or 0.0, "n_scaled": scaled[0], "m_scaled": scaled[1]}
    return Value(combined(scaled[0], scaled[1], w), reason="; ".join(reasons), parts=parts)


MENLI = family(MENLI_SPEC, _make_menli)


Pair = tuple[str, str]
FORWARD, BACKWARD, BOTH, SOURCE = "reference-output", "output-reference", "both", "source-output"

DIRECTION = Option(
    "direction", "choice", FORWARD, "which text must follow from which: the output from the reference, the reference from the "
    "output, both (mean), or the output from the source", "Direction", "{}",
    choices=(FORWARD, BACKWARD, BOTH, SOURCE),
)  # fmt: skip

ENTAILMENT_SPEC = MetricSpec(
    name="entailment",
    label="Entailment",
    paper="Honovich et al. 2022",
    help="Probability that the output follows from the reference (or the source), by an NLI model. A low value points to claims that are not supported.",
    range=(0, 1),
    needs=frozenset({"reference", "nli"}),
    options=(DIRECTION,),
)


def _make_entailment(values: Values) -> Metric:
    direction = values["direction"]

    def sign() -> str:
        model = configs.checked("nli")
        configs.labels(model)
        return ENTAILMENT_SPEC.signed({"direction": direction, "nrefs": "best"} | facts_of(model))

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        return best_answers(items, partial(_pairs, direction), _ask, progress, source=direction == SOURCE)

    needs: frozenset[Need] = frozenset({"source" if direction == SOURCE else "reference", "nli"})
    return Metric(replace(ENTAILMENT_SPEC, needs=needs), sign, score)


def _pairs(direction: str, item: Item, text: str) -> list[Pair]:
    """Return the pairs (premise, hypothesis) of an output and its reference or source."""
    forward, backward = (text, item.hypothesis), (item.hypothesis, text)
    return {BACKWARD: [backward], BOTH: [forward, backward]}.get(direction, [forward])


def _ask(questions: list[Pair], progress: Progress) -> list[ModelAnswer]:
    from core.models.architectures import nli

    answers = nli.nli().entailment(questions, progress)
    return [ModelAnswer(float(v), bool(cut)) for v, cut in zip(answers.values[:, 0], answers.truncated, strict=True)]


ENTAILMENT = family(ENTAILMENT_SPEC, _make_entailment)
