"""Metrics that ask a judge: a number, error spans, spans and a number, comparisons of outputs, and own templates.

After GEMBA-DA and GEMBA-ESA, GEMBA-MQM (Kocmi and Federmann 2023), and MT-Bench (Zheng et al. 2023), with prompts and rules of our own:
replies have one form, both orders of each pair are asked, and what cannot be read has no score.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial

from core.data import Item, SegmentKey, grouped
from core.errors import UserError, unknown
from core.judges import questions
from core.judges.asking import VERSION, Ask, Asking, Calls, Judged, judged_spans
from core.judges.client import TokenBudget
from core.judges.endpoints import DEFAULT, FILE, OwnMetricForm, endpoints, own_metrics, read_text, template_path
from core.judges.questions import READABLE, NumberForm, ReplyForm, SpansForm, WordForm
from core.metrics.base import AllOutputs, Metric, MetricSpec, Need, Option, Values, family
from core.metrics.registry import OWN_JUDGES
from core.mqm.schemes import GOOGLE
from core.signature import content_key


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


WEIGHTS = f"{GOOGLE.name}-{GOOGLE.version}"
"""The weights of errors, as signatures name them."""


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


def _asks(
    messages: Callable[[Item], questions.Messages], form: ReplyForm | None, choices: Mapping[str, float], *, then_number: bool = False
) -> Ask:  # fmt: skip
    """Return how a judge is asked a question about an output; with `then_number`, for a number after its errors."""

    async def ask(calls: Calls, item: Item, repeat: int) -> Judged:
        first = messages(item)
        result, text = await calls.ask(first, form, repeat)
        if not isinstance(form, SpansForm):
            return Judged(result.state, choices[result.word] if result.word else result.number, result.why)
        judged = judged_spans(result, item)
        if not then_number or judged.state not in READABLE:
            return judged
        second = [*first, {"role": "assistant", "content": text}, {"role": "user", "content": questions.AFTER_SPANS}]
        rated, _ = await calls.ask(second, NumberForm(), repeat, question="score")
        state = judged.state if rated.state in READABLE else rated.state
        return judged._replace(state=state, number=rated.number, why=rated.why)

    return ask


def _metric(
    spec: MetricSpec, values: Values, template: str, form: ReplyForm | None, *, then_number: bool = False, **facts: str
) -> Metric:
    """Return a metric that asks with a template of `core.judges.questions`; `facts` are further fields of its signature."""
    reference = values["reference"]
    system = questions.system_of(template, reference=reference)

    def messages(item: Item) -> questions.Messages:
        return questions.messages(system, questions.texts_of(item, reference=reference))

    forms = (form, NumberForm()) if then_number else (form,)
    prompt = questions.digest(system + (questions.AFTER_SPANS if then_number else ""), *forms)
    ask, options = _asks(messages, form, {}, then_number=then_number), {"reference": reference, **facts}
    asking = Asking(values["judge"], values["repeats"], ask, messages, forms, prompt, options)
    return metric_of(replace(spec, needs=needs_of(values)), asking)


def _da(values: Values) -> Metric:
    if values["scale"] == "expected":
        return _metric(replace(DA_SPEC, range=(1.0, 5.0)), values, questions.DIGIT, None, scale=values["scale"])
    return _metric(DA_SPEC, values, questions.NUMBER, NumberForm(), scale=values["scale"])


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
MQM = family(MQM_SPEC, lambda values: _metric(MQM_SPEC, values, questions.SPANS, SpansForm(), weights=WEIGHTS))
ESA = family(ESA_SPEC, lambda values: _metric(ESA_SPEC, values, questions.SPANS, SpansForm(), then_number=True))


BETTER = WordForm(("A", "B", "tie"), "better")
PAIRWISE_SPEC = judge_spec(
    "judge-pairwise", "Judge pairwise", "Zheng et al. 2023 (MT-Bench), own prompt",
    "A language model compares each output with the others of its segment, in both orders; the score is the share of comparisons that it wins.",
    (0.0, 1.0), JUDGE, REFERENCE,
)  # fmt: skip
LONGEST_TEMPLATE = 50_000
BEFORE = 2
"""Source texts before a segment, in its document, that are its context."""


def _digest_of_all(outputs: AllOutputs) -> str:
    """Return a digest of all texts and of which belong to one segment, whatever their order."""
    keys = sorted(f"{segment.doc_id} {segment.segment_id} {content_key(*item)}" for segment, item in outputs)
    return hashlib.sha256("\n".join(keys).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _pairwise(values: Values) -> Metric:
    reference = values["reference"]
    system = questions.system_of(questions.BETTER, reference=reference)

    def compared(item: Item, first: str, second: str) -> questions.Messages:
        return questions.messages(system, questions.texts_of(item, reference=reference, A=first, B=second))

    def asking(others: Callable[[Item], list[str]], among: str) -> Asking:
        async def ask(calls: Calls, item: Item, repeat: int) -> Judged:
            return await _compared(calls, item, others(item), compared)

        def messages(item: Item) -> questions.Messages:
            return compared(item, item.hypothesis, item.hypothesis)

        def lacks(item: Item) -> str:
            return "" if others(item) else "this segment has no other output to compare with"

        options = {"reference": reference, "opponents": "all"}
        return Asking(
            values["judge"], 1, ask, messages, (BETTER,), questions.digest(system, BETTER), options, among, lacks
        )

    def fitted(outputs: AllOutputs) -> Asking:
        @cache
        def texts() -> Mapping[tuple[str | None, tuple[str, ...]], list[str]]:
            return grouped(((item.source, item.references), item.hypothesis) for _, item in outputs)

        def others(item: Item) -> list[str]:
            of_segment = texts().get((item.source, item.references), [])
            return [text for text in dict.fromkeys(of_segment) if text != item.hypothesis]

        return asking(others, _digest_of_all(outputs))

    return metric_of(replace(PAIRWISE_SPEC, needs=needs_of(values)), asking(lambda item: [], "none"), fitted)


async def _compared(
    calls: Calls, item: Item, others: list[str], messages: Callable[[Item, str, str], questions.Messages]
) -> Judged:
    """Compare an output with others. It wins or loses if both orders say so; orders that disagree are inconsistent, which is no tie."""
    counts = dict.fromkeys(("wins", "ties", "losses", "inconsistent", "unreadable"), 0.0)
    bad = Judged("unparsed", None, "no comparison has the same result in both orders")
    for other in others:
        digest = hashlib.sha256(other.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        first, _ = await calls.ask(messages(item, item.hypothesis, other), BETTER, 0, other=digest, order="first")
        second, _ = await calls.ask(messages(item, other, item.hypothesis), BETTER, 0, other=digest, order="second")
        unreadable = next((one for one in (first, second) if one.state not in READABLE), None)
        if unreadable is not None:
            counts["unreadable"] += 1
            bad = Judged(unreadable.state, None, unreadable.why)
            if unreadable.state == "failed":
                return bad
            continue
        results = {("A", "B"): "wins", ("B", "A"): "losses", ("tie", "tie"): "ties"}
        counts[results.get((first.word, second.word), "inconsistent")] += 1
    decided = counts["wins"] + counts["ties"] + counts["losses"]
    if not decided or 2 * counts["unreadable"] >= len(others):
        return bad._replace(parts=counts)
    return Judged("ok", (counts["wins"] + counts["ties"] / 2) / decided, parts=counts)


def own_names() -> list[str]:
    """Return the names of own metrics; none if the settings are not valid."""
    try:
        return [f"{OWN_JUDGES}{name}" for name in own_metrics()]
    except UserError:
        return []


def own_metric(name: str) -> Metric:
    """Return an own metric, with the template as it is now. Raises `UserError` if there is none, or its settings are not valid."""
    metrics = own_metrics()
    short = name.removeprefix(OWN_JUDGES)
    if short not in metrics:
        raise unknown("own metric", short, metrics, hint=f"Describe it in the file {FILE} names")
    form, where = metrics[short], f"{FILE}, metric {short}"
    template, reply = _template(form, where), _form(form, where)
    fields = set(questions.FIELD.findall(template))
    if "output" not in fields:
        raise UserError(
            "this template has no field for the output",
            where=where,
            expected="{output}, and maybe {source}, {reference}, {context}",
        )
    texts: tuple[Need, ...] = ("source", "reference")
    needs = frozenset[Need]({"judge", *(name for name in texts if name in fields)})
    bounds = _bounds(form)
    help_ = form.help or "Asks a language model with your own template."
    spec = replace(
        judge_spec(name, form.label or f"Judge {short}", "own template", help_ if help_.endswith(".") else f"{help_}.", bounds, JUDGE, REPEATS),
        needs=needs, higher_is_better=form.higher_is_better or form.reply == "spans",
    )  # fmt: skip
    return family(spec, lambda values: _own(spec, form, template, reply, values, context="context" in fields))


def _own(
    spec: MetricSpec, form: OwnMetricForm, template: str, reply: ReplyForm, values: Values, *, context: bool
) -> Metric:
    system = questions.form_in_words(reply)

    def asking(before: Callable[[Item], str], among: str) -> Asking:
        def messages(item: Item) -> questions.Messages:
            return [{"role": "user", "content": f"{questions.filled(template, item, before(item))}\n\n{system}"}]

        choices = ",".join(f"{word}={value:g}" for word, value in form.choices.items())
        options = ({"choices": choices} if choices else {}) | ({"weights": WEIGHTS} if form.reply == "spans" else {})
        prompt, ask = questions.digest(template + system, reply), _asks(messages, reply, form.choices)
        return Asking(values["judge"], values["repeats"], ask, messages, (reply,), prompt, options, among)

    def fitted(outputs: AllOutputs) -> Asking:
        contexts = cache(lambda: _contexts(outputs))
        return asking(lambda item: contexts().get((item.source, item.references), ""), _digest_of_all(outputs))

    return metric_of(spec, asking(lambda item: "", "none" if context else ""), fitted if context else None)


def _contexts(outputs: AllOutputs) -> dict[tuple[str | None, tuple[str, ...]], str]:
    """Return the sources before each segment in its document. A segment that occurs in several places has the context of the first."""
    before, contexts = dict[str, list[tuple[SegmentKey, str]]](), dict[tuple[str | None, tuple[str, ...]], str]()
    for segment, item in outputs:
        of_document = before.setdefault(segment.doc_id, [])
        if of_document and of_document[-1][0] == segment:
            continue
        contexts.setdefault((item.source, item.references), "\n".join(text for _, text in of_document[-BEFORE:]))
        of_document.append((segment, item.source or ""))
    return contexts


def _template(form: OwnMetricForm, where: str) -> str:
    text = read_text(template_path(form), "the template cannot be read", where)
    if (size := len(text.encode())) > LONGEST_TEMPLATE:
        raise UserError(
            "this template is too long", where=where, got=f"{size:,} bytes", expected=f"at most {LONGEST_TEMPLATE:,}"
        )
    return text


def _form(form: OwnMetricForm, where: str) -> ReplyForm:
    if form.reply == "choice":
        if len(form.choices) < 2:
            raise UserError(
                "a choice needs at least two answers with a value each",
                where=where,
                expected="choices = {good = 1, bad = 0}",
            )
        return WordForm(tuple(form.choices))
    if form.choices or (form.reply == "number" and form.low >= form.high):
        raise UserError(
            "this reply form is not valid",
            where=where,
            expected="number with low < high, choice with choices, or spans",
        )
    return NumberForm(form.low, form.high) if form.reply == "number" else SpansForm()


def _bounds(form: OwnMetricForm) -> tuple[float, float]:
    if form.reply == "spans":
        return float("-inf"), 0.0
    return (form.low, form.high) if form.reply == "number" else (min(form.choices.values()), max(form.choices.values()))


PAIRWISE = family(PAIRWISE_SPEC, _pairwise)
