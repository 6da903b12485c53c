"""Metrics that ask a judge: a number, error spans, spans and a number, comparisons of outputs, and own templates.

After GEMBA-DA and GEMBA-ESA, GEMBA-MQM (Kocmi and Federmann 2023), and MT-Bench (Zheng et al. 2023), with prompts and rules of our own:
replies have one form, both orders of each pair are asked, and what cannot be read has no score.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from core.data import Item
from core.errors import UserError
from core.judges import prompts
from core.judges.asking import VERSION, Asking, Calls, Judged, judged_spans
from core.judges.client import TokenBudget
from core.judges.endpoints import DEFAULT, endpoints
from core.judges.replies import READABLE, NumberForm, ReplyForm, SpansForm
from core.metrics.base import AllOutputs, Metric, MetricSpec, Need, family
from core.metrics.options import Option, Values
from core.mqm.schemes import GOOGLE


def judge_names() -> tuple[str, ...]:
    """Return the names of the configured judges for forms; none if the settings are not valid."""
    try:
        return tuple(endpoints()) or (DEFAULT,)
    except UserError:
        return (DEFAULT,)


JUDGE = Option(
    "judge", "text", DEFAULT, "the judge that is asked: a name in the file of judges, or default", "Judge", "by {}",
    choices=tuple(dict.fromkeys((DEFAULT, *judge_names()))),
)  # fmt: skip
REPEATS = Option(
    "repeats",
    "whole",
    1,
    "how often each question is asked; the score is the mean, and its spread is stored",
    "Repeats",
    "{} repeats",
    low=1,
    high=20,
)
REFERENCE = Option(
    "reference", "yes_no", False, "whether the judge sees the references", "Show references", "references {}"
)
SCALE = Option(
    "scale", "choice", "0-100", "0-100: a number; expected: expected value of a digit from 1 to 5 under the token probabilities of the server", "Scale",
    "scale {}", choices=("0-100", "expected"),
)  # fmt: skip


def needs_of(values: Values) -> frozenset[Need]:
    needs: set[Need] = {"source", "judge", "reference"} if values["reference"] else {"source", "judge"}
    return frozenset(needs)


def metric_of(spec: MetricSpec, asking: Asking, among: Callable[[AllOutputs], Asking] | None = None) -> Metric:
    """Return the metric. Each job has a budget of tokens of its own, so that the metric is fitted for each.

    `among` returns how it asks about an output of these, where the value of one depends on the others.
    """

    def made(one: Asking, budget: TokenBudget) -> Metric:
        return Metric(spec, partial(one.sign, spec.name), partial(one.score, budget), judge=one)

    def fit(outputs: AllOutputs) -> Metric:
        return made(among(outputs) if among else asking, TokenBudget(_most(asking)))

    return replace(made(asking, TokenBudget(None)), fit=fit)


def _most(asking: Asking) -> int | None:
    try:
        return asking.endpoint.form.tokens_per_job
    except UserError:  # `score` raises it
        return None


def _da(values: Values) -> Metric:
    digit, reference = values["scale"] == "expected", values["reference"]
    form = None if digit else NumberForm()
    system = prompts.system_of(prompts.DIGIT if digit else prompts.NUMBER, reference=reference)

    def messages(item: Item) -> prompts.Messages:
        return prompts.messages(system, prompts.texts_of(item, reference=reference))

    async def ask(calls: Calls, item: Item, repeat: int) -> Judged:
        result, _ = await calls.ask(messages(item), form, repeat)
        return Judged(result.state, result.number, result.why)

    options = {"reference": reference, "scale": values["scale"]}
    asking = Asking(values["judge"], values["repeats"], ask, messages, (form,), digest_of(system, form), options)
    return metric_of(replace(DA_SPEC, needs=needs_of(values), range=(1.0, 5.0) if digit else (0.0, 100.0)), asking)


def digest_of(system: str, *forms: ReplyForm | None) -> str:
    return prompts.digest(system, [json.dumps(form.schema) if form is not None else "digit" for form in forms])


def _spans(spec: MetricSpec, values: Values, *, then_number: bool) -> Metric:
    reference, form, number = values["reference"], SpansForm(), NumberForm()
    system = prompts.system_of(prompts.SPANS, reference=reference)

    def messages(item: Item) -> prompts.Messages:
        return prompts.messages(system, prompts.texts_of(item, reference=reference))

    async def ask(calls: Calls, item: Item, repeat: int) -> Judged:
        first = messages(item)
        result, text = await calls.ask(first, form, repeat)
        judged = judged_spans(result, item)
        if not then_number or judged.state not in READABLE:
            return judged
        second = [*first, {"role": "assistant", "content": text}, {"role": "user", "content": prompts.AFTER_SPANS}]
        rated, _ = await calls.ask(second, number, repeat, question="score")
        state = judged.state if rated.state in READABLE else rated.state
        return judged._replace(state=state, number=rated.number, why=rated.why)

    forms: tuple[ReplyForm, ...] = (form, number) if then_number else (form,)
    prompt = digest_of(system + (prompts.AFTER_SPANS if then_number else ""), *forms)
    options = {"reference": reference} | ({} if then_number else {"weights": f"{GOOGLE.name}-{GOOGLE.version}"})
    return metric_of(
        replace(spec, needs=needs_of(values)),
        Asking(values["judge"], values["repeats"], ask, messages, forms, prompt, options),
    )


def judge_spec(
    name: str, label: str, paper: str, help_: str, bounds: tuple[float, float], *options: Option
) -> MetricSpec:
    return MetricSpec(
        name,
        label,
        paper,
        help_,
        bounds,
        frozenset({"source", "judge"}),
        VERSION,
        options=options,
        perfect_on_copy=False,
    )


DA_SPEC = judge_spec(
    "judge-da", "Judge DA", "Kocmi and Federmann 2023 (GEMBA-DA), own prompt", "A language model rates each output with a number from 0 to 100.", (0.0, 100.0),
    JUDGE, REPEATS, REFERENCE, SCALE,
)  # fmt: skip
MQM_SPEC = judge_spec(
    "judge-mqm", "Judge MQM", "Kocmi and Federmann 2023 (GEMBA-MQM), own prompt",
    "A language model marks the errors of each output; the score is minus their penalty under Google's MQM weights.", (-math.inf, 0.0),
    JUDGE, REPEATS, REFERENCE,
)  # fmt: skip
ESA_SPEC = judge_spec(
    "judge-esa", "Judge ESA", "Kocmi et al. 2024 (ESA), GEMBA-ESA, own prompt",
    "A language model marks the errors of each output, then rates it with a number from 0 to 100.", (0.0, 100.0), JUDGE, REPEATS, REFERENCE,
)  # fmt: skip
DA = family(DA_SPEC, _da)
MQM = family(MQM_SPEC, lambda values: _spans(MQM_SPEC, values, then_number=False))
ESA = family(ESA_SPEC, lambda values: _spans(ESA_SPEC, values, then_number=True))
