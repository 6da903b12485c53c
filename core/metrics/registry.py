"""All metrics by name, imported on use. To add a metric, add a file and one line here (docs/new_metric.md).

Expressions select a metric and its non-default options, as in `bartscore++|k:5|prompt:Such as`
(docs/decisions/006-metric-options.md). λ is not an option, because another λ needs no rescoring.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

from core.data import Item, Value
from core.errors import UserError, unknown
from core.metrics import base
from core.metrics.base import AllOutputs, Metric, MetricSpec, Need, Option
from core.processes import host
from core.processes.pool import PreparedArgument
from core.progress import Progress

METRICS: dict[str, str] = {
    "chrf": "core.metrics.lexical.sacre:CHRF",
    "bleu": "core.metrics.lexical.sacre:BLEU",
    "ter": "core.metrics.lexical.sacre:TER",
    "rouge1": "core.metrics.lexical.rouge:ROUGE1",
    "rouge2": "core.metrics.lexical.rouge:ROUGE2",
    "rougeL": "core.metrics.lexical.rouge:ROUGE_L",
    "bartscore": "core.metrics.generation.bartscore:F",
    "bartscore-p": "core.metrics.generation.bartscore:PRECISION",
    "bartscore-r": "core.metrics.generation.bartscore:RECALL",
    "bartscore-faithfulness": "core.metrics.generation.bartscore:FAITHFULNESS",
    "bartscore++": "core.metrics.generation.bartscore_pp:F",
    "bartscore++-p": "core.metrics.generation.bartscore_pp:PRECISION",
    "bartscore++-r": "core.metrics.generation.bartscore_pp:RECALL",
    "bartscore++-faithfulness": "core.metrics.generation.bartscore_pp:FAITHFULNESS",
    "smart1": "core.metrics.smart:SMART_1",
    "smart2": "core.metrics.smart:SMART_2",
    "smartL": "core.metrics.smart:SMART_L",
    "smartX": "core.metrics.smart:SMART_X",
    "bertscore": "core.metrics.embedding.bertscore:BERTSCORE",
    "moverscore": "core.metrics.embedding.movers:MOVERSCORE",
    "sms": "core.metrics.embedding.movers:SMS",
    "embedding": "core.metrics.embedding.cosine:EMBEDDING",
    "entailment": "core.metrics.entailment.menli:ENTAILMENT",
    "nli": "core.metrics.entailment.nli:NLI",
    "nli-ref-sum": "core.metrics.entailment.nli:NLI_SUMMARY",
    "nli-src": "core.metrics.entailment.nli:NLI_SOURCE",
    "menli": "core.metrics.entailment.menli:MENLI",
    "unieval": "core.metrics.learned.unieval:UNIEVAL",
    "bleurt": "core.metrics.learned.regression:BLEURT",
    "comet": "core.metrics.learned.regression:COMET",
    "comet-qe": "core.metrics.learned.regression:QE",
    "prism": "core.metrics.generation.bartscore:PRISM",
    "prism-src": "core.metrics.generation.bartscore:PRISM_SOURCE",
    "gpt-ppl": "core.metrics.generation.perplexity:CAUSAL",
    "mlm-ppl": "core.metrics.generation.perplexity:MASKED",
    "judge-da": "core.judges.metrics:DA",
    "judge-esa": "core.judges.metrics:ESA",
    "judge-mqm": "core.judges.metrics:MQM",
    "judge-pairwise": "core.judges.metrics:PAIRWISE",
}

STANDARD: tuple[str, ...] = (
    "chrf", "bleu", "ter", "rouge1", "rouge2", "rougeL", "bartscore", "bartscore-p", "bartscore-r", "bartscore++",
)  # fmt: skip
"""Default metrics of a new project; all of them compare outputs with references."""

OWN_JUDGES = "judge:"
"""Begins the names of metrics that ask a judge with an own template, from the file of judges (`core.judges.metrics`)."""

OPTIONS = "|"
"""Precedes each option in the name of a metric with non-default options."""

Changed = tuple[tuple[str, Any], ...]
"""Options of a metric that differ from their defaults."""

LONGEST_NAME = 120
"""Longest name of stored scores, since databases may index 190 characters only; longer phrases are stored as a digest."""


def load_metric(text: str) -> Metric:
    """Return the metric of an expression. Raises UserError for an unknown name or option, and for an invalid value."""
    name, option_texts = split(text)
    plain = _plain(name)
    values = _settled(plain.spec, option_texts)
    changed = {o.name: values[o.name] for o in plain.spec.options if values[o.name] != o.default}
    return under_options(name, tuple(changed.items()))


def under_options(name: str, options: Changed) -> Metric:
    """Return the metric of a name with the options that differ from their defaults."""
    return _under(name, options) if options else _plain(name)


def names() -> list[str]:
    """Return the names of all metrics, own ones last."""
    own: list[str] = import_module("core.judges.metrics").own_names()
    return [*METRICS, *own]


@cache
def _plain(name: str) -> Metric:
    if name.startswith(OWN_JUDGES):
        own: Metric = import_module("core.judges.metrics").own_metric(name)
        return own
    if name not in METRICS:
        raise unknown("metric", name, names())
    module, _, attribute = METRICS[name].partition(":")
    metric: Metric = getattr(import_module(module), attribute)
    return _hosted(metric, name)


@cache
def _under(name: str, changed: Changed) -> Metric:
    plain, values = _plain(name), dict(changed)
    if plain.with_options is None:
        raise TypeError(f"{name} declares options and cannot take them")
    metric = plain.with_options({o.name: values.get(o.name, o.default) for o in plain.spec.options})
    stored = _written(plain.spec, values)
    if len(stored) > LONGEST_NAME:
        stored = _written(plain.spec, values, brief=True)
    spec = replace(metric.spec, name=stored, label=_label(plain.spec, split(stored)[1]))
    return _hosted(replace(metric, spec=spec), name, changed)


def _hosted(metric: Metric, name: str, changed: Changed = ()) -> Metric:
    """Return the metric; if it runs a model, it scores in the model process of a program that has one (`core.processes.host`).

    Values and signatures are the same.
    """
    if not metric.spec.needs_model:
        return metric

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        if not host.has_model_process():
            return metric.score(items, progress)
        return host.run(_scored, name, changed, items, progress=progress)

    def fit(outputs: AllOutputs) -> Metric:
        fitted = metric.for_outputs(outputs)
        prepared = PreparedArgument((name, changed, fitted.signature()), (name, changed, outputs), _fitted)

        def score_fitted(items: Sequence[Item], progress: Progress) -> list[Value]:
            if not host.has_model_process():
                return fitted.score(items, progress)
            return host.run(_scored_by, items, progress=progress, on=prepared)

        return replace(fitted, score=score_fitted)

    return replace(metric, score=score, fit=fit if metric.fit else None)


def _scored(name: str, changed: Changed, items: Sequence[Item], progress: Progress) -> list[Value]:
    return under_options(name, changed).score(items, progress)


def _fitted(parts: tuple[str, Changed, AllOutputs]) -> Metric:
    name, changed, outputs = parts
    return under_options(name, changed).for_outputs(outputs)


def _scored_by(metric: Metric, items: Sequence[Item], progress: Progress) -> list[Value]:
    return metric.score(items, progress)


def expression(name: str, options: Mapping[str, object]) -> str:
    """Return the canonical expression: non-default options only, in the order of their declaration.

    Values may be given as texts. `load_metric` reads the result on any machine. Raises UserError.
    """
    spec = _plain(name).spec
    return _written(spec, _settled(spec, options))


def split(text: str) -> tuple[str, dict[str, str]]:
    """Return name and option texts of an expression, without checking that they exist. Raises UserError if it is malformed."""
    name, *parts = text.split(OPTIONS)
    option_texts: dict[str, str] = {}
    for part in parts:
        option, colon, value = part.partition(":")
        option = option.strip()
        if not colon or not option or option in option_texts:
            what = "this option is given twice" if option in option_texts else "this is not an option"
            raise UserError(what, where=f"metric “{text}”", got=f"“{part}”", expected="name|option:value|option:value")
        option_texts[option] = value
    return name.strip(), option_texts


def _settled(spec: MetricSpec, option_values: Mapping[str, object]) -> dict[str, Any]:
    options = {o.name: o for o in spec.options}
    for name in option_values:
        if name not in options:
            raise _unknown(spec, name)
    values: dict[str, Any] = {}
    for name, option in options.items():
        value = option_values.get(name, option.default)
        values[name] = option.parse(value if isinstance(value, str) else option.write(value), spec.name)
    return {name: value if options[name].when(values) else options[name].default for name, value in values.items()}


def _unknown(spec: MetricSpec, name: str) -> UserError:
    names = [o.name for o in spec.options]
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else ""
    if name.lower() in ("lambda", "λ"):
        hint = (
            "Another λ needs no rescoring: set it on the Compare page, or weight the two distances that `refine` writes"
        )
    return UserError(
        f"{spec.name} has no such option", got=f"“{name}”", expected=", ".join(names) or "no options", hint=hint
    )


def _written(spec: MetricSpec, values: Mapping[str, Any], *, brief: bool = False) -> str:
    changed = ((o, values[o.name]) for o in spec.options if o.name in values and values[o.name] != o.default)
    return OPTIONS.join([spec.name, *(f"{o.name}:{o.brief(v) if brief else o.write(v)}" for o, v in changed)])


def _label(spec: MetricSpec, option_texts: Mapping[str, str]) -> str:
    said = [o.say(option_texts[o.name]) for o in spec.options if o.name in option_texts]
    return f"{spec.label} ({', '.join(said)})" if said else spec.label


def describe(stored: str, signature: str = "") -> MetricSpec | None:
    """Return the spec of stored scores by their name, or None if the metric no longer exists.

    Lists of phrases need not be on this machine. For external scores, the signature gives direction and file.
    """
    if base.is_external(stored):
        return base.describe(stored, signature)
    try:
        name, option_texts = split(stored)
        spec = _plain(name).spec
        if any(option not in {o.name for o in spec.options} for option in option_texts):
            return None
        return replace(spec, name=stored, label=_label(spec, option_texts), needs=_needs(stored, spec))
    except UserError:
        return None


def label_of(stored: str, signature: str = "") -> str:
    """Return the label of stored scores by their name; the name itself if the metric no longer exists."""
    spec = describe(stored, signature)
    return spec.label if spec else stored


def _needs(stored: str, plain: MetricSpec) -> frozenset[Need]:
    """Return what a metric needs with its options, or with its defaults if the options cannot be read here."""
    try:
        return load_metric(stored).spec.needs
    except UserError:
        return plain.needs


def specs() -> dict[str, MetricSpec]:
    """Return the spec of every metric with default options, without loading a model."""
    return {name: _plain(name).spec for name in names() if name in METRICS or _is_valid(name)}


def _is_valid(own: str) -> bool:
    """Return whether an own metric can be described; `load_metric` says what is wrong with it."""
    try:
        return bool(_plain(own))
    except UserError:
        return False


def with_options(metrics: Iterable[MetricSpec]) -> list[tuple[list[str], tuple[Option, ...]]]:
    """Return groups of metrics that share their options, as (names, options); metrics without options are left out."""
    shared: dict[tuple[Option, ...], list[str]] = {}
    for spec in metrics:
        if spec.options:
            shared.setdefault(spec.options, []).append(spec.name)
    return [(names, options) for options, names in shared.items()]


def chosen(texts: Iterable[str]) -> list[Metric]:
    """Return the metrics of several expressions, each once, in the order given."""
    by_name = {metric.spec.name: metric for metric in map(load_metric, texts)}
    return list(by_name.values())
