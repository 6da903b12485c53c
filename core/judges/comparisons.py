"""`judge-pairwise`: a judge compares an output with each other output of its segment, in both orders; and own templates, `judge:NAME`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from core.data import Item, SegmentKey, grouped
from core.errors import UserError, unknown
from core.judges import prompts
from core.judges.asking import Asking, Calls, Judged, judged_spans
from core.judges.endpoints import FILE, OwnMetricForm, own_metrics, template_path
from core.judges.metrics import JUDGE, REFERENCE, REPEATS, digest_of, judge_spec, metric_of, needs_of
from core.judges.replies import READABLE, NumberForm, ReplyForm, SpansForm, WordForm
from core.metrics.base import AllOutputs, Metric, MetricSpec, Need, family
from core.metrics.options import Values
from core.signature import content_key

BETTER = WordForm(("A", "B", "tie"), "better")
PAIRWISE_SPEC = judge_spec(
    "judge-pairwise", "Judge pairwise", "Zheng et al. 2023 (MT-Bench), own prompt",
    "A language model compares each output with the others of its segment, in both orders; the score is the share of comparisons that it wins.",
    (0.0, 1.0), JUDGE, REFERENCE,
)  # fmt: skip
OWN = "judge:"
"""Begins the names of own metrics."""
LONGEST_TEMPLATE = 50_000
BEFORE = 2
"""Source texts before a segment, in its document, that are its context."""


def _digest_of_all(outputs: AllOutputs) -> str:
    """Return a digest of all texts and of which belong to one segment, whatever their order."""
    keys = sorted(f"{segment.doc_id} {segment.segment_id} {content_key(*item)}" for segment, item in outputs)
    return hashlib.sha256("\n".join(keys).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _pairwise(values: Values) -> Metric:
    reference = values["reference"]
    system = prompts.system_of(prompts.BETTER, reference=reference)

    def compared(item: Item, first: str, second: str) -> prompts.Messages:
        return prompts.messages(system, prompts.texts_of(item, reference=reference, A=first, B=second))

    def asking(others: Callable[[Item], list[str]], among: str) -> Asking:
        async def ask(calls: Calls, item: Item, repeat: int) -> Judged:
            return await _compared(calls, item, others(item), compared)

        def messages(item: Item) -> prompts.Messages:
            return compared(item, item.hypothesis, item.hypothesis)

        def lacks(item: Item) -> str:
            return "" if others(item) else "this segment has no other output to compare with"

        options = {"reference": reference, "opponents": "all"}
        return Asking(values["judge"], 1, ask, messages, (BETTER,), digest_of(system, BETTER), options, among, lacks)

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
    calls: Calls, item: Item, others: list[str], messages: Callable[[Item, str, str], prompts.Messages]
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
        return [f"{OWN}{name}" for name in own_metrics()]
    except UserError:
        return []


def own_metric(name: str) -> Metric:
    """Return an own metric, with the template as it is now. Raises `UserError` if there is none, or its settings are not valid."""
    metrics = own_metrics()
    short = name.removeprefix(OWN)
    if short not in metrics:
        raise unknown("own metric", short, metrics, hint=f"Describe it in the file {FILE} names")
    form, where = metrics[short], f"{FILE}, metric {short}"
    template, reply = _template(form, where), _form(form, where)
    fields = set(prompts.FIELD.findall(template))
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
    system = prompts.form_in_words(reply)

    def asking(before: Callable[[Item], str], among: str) -> Asking:
        def messages(item: Item) -> prompts.Messages:
            return [{"role": "user", "content": f"{prompts.filled(template, item, before(item))}\n\n{system}"}]

        async def ask(calls: Calls, item: Item, repeat: int) -> Judged:
            result, _ = await calls.ask(messages(item), reply, repeat)
            if isinstance(reply, SpansForm):
                return judged_spans(result, item)
            return Judged(result.state, form.choices[result.word] if result.word else result.number, result.why)

        values_of_choices = (
            {"choices": ",".join(f"{word}={value:g}" for word, value in form.choices.items())} if form.choices else {}
        )
        options = values_of_choices | ({"weights": "google-2"} if isinstance(reply, SpansForm) else {})
        return Asking(
            values["judge"],
            values["repeats"],
            ask,
            messages,
            (reply,),
            digest_of(template + system, reply),
            options,
            among,
        )

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
    path = template_path(form)
    try:
        data = path.read_bytes()
        if len(data) > LONGEST_TEMPLATE:
            raise UserError(
                "this template is too long",
                where=where,
                got=f"{len(data):,} bytes",
                expected=f"at most {LONGEST_TEMPLATE:,}",
            )
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror or "" if isinstance(error, OSError) else "not UTF-8"
        raise UserError("the template cannot be read", where=f"{where}, {path}", got=why) from error


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
