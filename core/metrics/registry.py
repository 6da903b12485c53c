"""Every metric by name, imported on use. A new metric is a file of its own and one line here (docs/new_metric.md).

A metric is asked for by an expression: its name, and the options that are not to have their defaults, as in
`bartscore++|k:5|prompt:Such as` (docs/decisions/006-metric-options.md). λ is no option: it rescores nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

from core.errors import UserError, unknown
from core.metrics import external
from core.metrics.base import Metric, MetricSpec, Need, Option

METRICS: dict[str, str] = {
    "chrf": "core.metrics.sacre:CHRF",
    "bleu": "core.metrics.sacre:BLEU",
    "ter": "core.metrics.sacre:TER",
    "rouge1": "core.metrics.rouge:ROUGE1",
    "rouge2": "core.metrics.rouge:ROUGE2",
    "rougeL": "core.metrics.rouge:ROUGE_L",
    "bartscore": "core.metrics.bartscore:F",
    "bartscore-p": "core.metrics.bartscore:PRECISION",
    "bartscore-r": "core.metrics.bartscore:RECALL",
    "bartscore-faithfulness": "core.metrics.bartscore:FAITHFULNESS",
    "bartscore++": "core.metrics.bartscore_pp:F",
    "bartscore++-p": "core.metrics.bartscore_pp:PRECISION",
    "bartscore++-r": "core.metrics.bartscore_pp:RECALL",
    "bartscore++-faithfulness": "core.metrics.bartscore_pp:FAITHFULNESS",
    "smart1": "core.metrics.smart:SMART_1",
    "smart2": "core.metrics.smart:SMART_2",
    "smartL": "core.metrics.smart:SMART_L",
    "smartX": "core.metrics.smart:SMART_X",
    "bertscore": "core.metrics.bertscore:BERTSCORE",
    "moverscore": "core.metrics.moverscore:MOVERSCORE",
    "sms": "core.metrics.sms:SMS",
    "embedding": "core.metrics.embedding:EMBEDDING",
    "entailment": "core.metrics.entailment:ENTAILMENT",
    "nli": "core.metrics.nli:NLI",
    "nli-ref-sum": "core.metrics.nli:NLI_SUMMARY",
    "nli-src": "core.metrics.nli:NLI_SOURCE",
    "menli": "core.metrics.menli:MENLI",
    "unieval": "core.metrics.unieval:UNIEVAL",
    "bleurt": "core.metrics.bleurt:BLEURT",
    "comet": "core.metrics.comet:COMET",
    "comet-qe": "core.metrics.comet:QE",
    "prism": "core.metrics.prism:REFERENCE",
    "prism-src": "core.metrics.prism:SOURCE",
    "gpt-ppl": "core.metrics.perplexity:CAUSAL",
    "mlm-ppl": "core.metrics.perplexity:MASKED",
}

STANDARD: tuple[str, ...] = (
    "chrf", "bleu", "ter", "rouge1", "rouge2", "rougeL", "bartscore", "bartscore-p", "bartscore-r", "bartscore++",
)  # fmt: skip
"""What a project is scored with unless somebody chooses otherwise; all of it compares outputs with references."""

OPTIONS = "|"
"""Stands in the name of a metric that has other options than its defaults, before each of them."""

LONGEST_NAME = 120
"""Names of stored scores are at most so long (a database may index 190 characters); phrases give way to their digest."""


def load(text: str) -> Metric:
    """The metric of an expression. Raises UserError for a name or option that is not there, and for a bad value."""
    name, given = split(text)
    plain = _plain(name)
    values = _settled(plain.spec, given)
    changed = {o.name: values[o.name] for o in plain.spec.options if values[o.name] != o.default}
    return _under(name, tuple(changed.items())) if changed else plain


@cache
def _plain(name: str) -> Metric:
    if name not in METRICS:
        raise unknown("metric", name, METRICS)
    module, _, attribute = METRICS[name].partition(":")
    metric: Metric = getattr(import_module(module), attribute)
    return metric


@cache
def _under(name: str, changed: tuple[tuple[str, Any], ...]) -> Metric:
    plain, values = _plain(name), dict(changed)
    if plain.under is None:
        raise TypeError(f"{name} declares options and cannot take them")
    metric = plain.under({o.name: values.get(o.name, o.default) for o in plain.spec.options})
    stored = _written(plain.spec, values)
    if len(stored) > LONGEST_NAME:
        stored = _written(plain.spec, values, brief=True)
    return replace(metric, spec=replace(metric.spec, name=stored, label=_label(plain.spec, split(stored)[1])))


def expression(name: str, options: Mapping[str, object]) -> str:
    """The canonical expression: options equal to their default are left out, the others in the order declared.

    Values are given as they are or as the text of an expression; `load` reads the result back on any machine.
    Raises UserError.
    """
    spec = _plain(name).spec
    return _written(spec, _settled(spec, options))


def split(text: str) -> tuple[str, dict[str, str]]:
    """Name and option texts of an expression, not checked against any metric. Raises UserError where it has no such form."""
    name, *parts = text.split(OPTIONS)
    given: dict[str, str] = {}
    for part in parts:
        option, colon, value = part.partition(":")
        option = option.strip()
        if not colon or not option or option in given:
            what = "this option stands there twice" if option in given else "this is no option"
            raise UserError(what, where=f"metric “{text}”", got=f"“{part}”", expected="name|option:value|option:value")
        given[option] = value
    return name.strip(), given


def _settled(spec: MetricSpec, given: Mapping[str, object]) -> dict[str, Any]:
    options = {o.name: o for o in spec.options}
    for name in given:
        if name not in options:
            raise _unknown(spec, name)
    values: dict[str, Any] = {}
    for name, option in options.items():
        value = given.get(name, option.default)
        values[name] = option.parse(value if isinstance(value, str) else option.write(value), spec.name)
    return {name: value if options[name].when(values) else options[name].default for name, value in values.items()}


def _unknown(spec: MetricSpec, name: str) -> UserError:
    names = [o.name for o in spec.options]
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else ""
    if name.lower() in ("lambda", "λ"):
        hint = "λ rescores nothing: move it on Compare, or weigh the two distances that `refine` writes"
    return UserError(
        f"{spec.name} has no such option", got=f"“{name}”", expected=", ".join(names) or "no option at all", hint=hint
    )


def _written(spec: MetricSpec, values: Mapping[str, Any], *, brief: bool = False) -> str:
    changed = ((o, values[o.name]) for o in spec.options if o.name in values and values[o.name] != o.default)
    return OPTIONS.join([spec.name, *(f"{o.name}:{o.brief(v) if brief else o.write(v)}" for o, v in changed)])


def _label(spec: MetricSpec, given: Mapping[str, str]) -> str:
    said = [o.say(given[o.name]) for o in spec.options if o.name in given]
    return f"{spec.label} ({', '.join(said)})" if said else spec.label


def describe(stored: str, signature: str = "") -> MetricSpec | None:
    """What is known of a metric by the name its scores are stored under, without its phrases being here; None when it is
    no metric of ours any more. Of scores from elsewhere the signature says direction and file."""
    if external.is_external(stored):
        return external.describe(stored, signature)
    try:
        name, given = split(stored)
        spec = _plain(name).spec
        if any(option not in {o.name for o in spec.options} for option in given):
            return None
        return replace(spec, name=stored, label=_label(spec, given), needs=_needs(stored, spec))
    except UserError:
        return None


def _needs(stored: str, plain: MetricSpec) -> frozenset[Need]:
    """What a metric needs under its options; where these cannot be read here, what it needs by default."""
    try:
        return load(stored).spec.needs
    except UserError:
        return plain.needs


def specs() -> dict[str, MetricSpec]:
    """What is known of every metric under its default options, without loading a model."""
    return {name: _plain(name).spec for name in METRICS}


def with_options(found: Iterable[MetricSpec]) -> list[tuple[list[str], tuple[Option, ...]]]:
    """The names of metrics that share their options, and these options; metrics without any are left out."""
    shared: dict[tuple[Option, ...], list[str]] = {}
    for spec in found:
        if spec.options:
            shared.setdefault(spec.options, []).append(spec.name)
    return [(names, options) for options, names in shared.items()]


def chosen(texts: Iterable[str]) -> list[Metric]:
    """The metrics of several expressions, each once, in the order given."""
    found = {metric.spec.name: metric for metric in map(load, texts)}
    return list(found.values())
