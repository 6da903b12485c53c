"""Widgets for the options that metrics declare; the result is a metric expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import streamlit as st

from core.errors import UserError
from core.metrics.base import MetricSpec, Option, encoded
from core.metrics.registry import expression, load_metric
from core.refine.prompts import known_lists
from pages._ui.shared import drafts, errors
from pages._ui.shared.markdown import escape_markdown

ACROSS = 3
PHRASES_TALL = 120


def chosen(
    specs: Sequence[MetricSpec], key: str, begin: Mapping[str, Mapping[str, str]] = MappingProxyType({})
) -> list[str] | None:
    """Draw the options of these metrics and return their expressions; None, with a message, while one is invalid.

    `begin` has initial choices by metric, instead of the defaults. Nothing is drawn for metrics without options."""
    expressions_by_metric: dict[str, str | None] = {spec.name: spec.name for spec in specs}
    having = [spec for spec in specs if spec.options]
    if having:
        with st.expander("Metric options", icon=":material/tune:", key=f"options-{key}"):
            for spec, tab in zip(having, st.tabs([escape_markdown(s.label) for s in having]), strict=True):
                with tab:
                    expressions_by_metric[spec.name] = _of(spec, f"option-{key}-{spec.name}", begin.get(spec.name, {}))
    changed = [e for e in expressions_by_metric.values() if e is not None and "|" in e]
    if changed:
        labels = ", ".join(load_metric(e).spec.label for e in changed)
        st.caption(f"With options: {escape_markdown(labels)}. On the command line:")
        st.code(
            f'--metrics "{",".join(_short(e) for e in expressions_by_metric.values() if e)}"',
            language=None,
            wrap_lines=True,
        )
    expressions = [e for e in expressions_by_metric.values() if e is not None]
    return expressions if len(expressions) == len(specs) else None


def _short(text: str) -> str:
    """Return the stored name if it can be read back here (a known list of phrases by its digest), else `text`."""
    try:
        return load_metric(load_metric(text).spec.name).spec.name
    except UserError:
        return text


def _of(spec: MetricSpec, key: str, begin: Mapping[str, str]) -> str | None:
    values: dict[str, Any] = {o.name: o.default for o in spec.options}
    small = [o for o in spec.options if o.kind != "phrases" and not _after_phrases(spec, o)]
    for first in range(0, len(small), ACROSS):
        cells = zip(st.columns(ACROSS, vertical_alignment="top"), small[first : first + ACROSS], strict=False)
        for cell, option in cells:
            if option.when(values):
                with cell:
                    values[option.name] = _small(option, f"{key}-{option.name}", begin.get(option.name))
    for option in spec.options:
        if option not in small and option.when(values):
            name = f"{key}-{option.name}"
            with st.container() if option.kind == "phrases" else st.columns(ACROSS)[0]:
                values[option.name] = _phrases(option, name) if option.kind == "phrases" else _small(option, name)
    try:
        return expression(spec.name, values)
    except UserError as error:
        errors.show(error)
        return None


def _after_phrases(spec: MetricSpec, option: Option) -> bool:
    kinds = [o.kind for o in spec.options]
    return "phrases" in kinds and spec.options.index(option) > kinds.index("phrases")


def _small(option: Option, key: str, begin: str | None = None) -> Any:
    label = option.label or option.name
    common: dict[str, Any] = {"key": drafts.kept(key), "help": option.help}
    if option.kind == "whole":
        low, high, none = int(option.low), int(option.high), option.none or None
        return st.number_input(label, low, high, option.default, 1, placeholder=none, **common)
    if option.kind == "decimal":
        least, most, default = float(option.low), float(option.high), float(option.default)
        return st.number_input(label, least, most, default, 0.05, "%.3g", **common)
    if option.kind == "choice":
        return st.selectbox(label, option.choices, option.choices.index(begin or option.default), **common)
    if option.kind == "text":
        at = option.choices.index(option.default)
        choice = st.selectbox(label, option.choices, at, accept_new_options=True, **common)
        return encoded(choice or option.default)
    if option.kind == "several":
        return st.pills(label, option.choices, selection_mode="multi", default=list(option.default), **common)
    return st.toggle(label, value=option.default, **common)


def _phrases(option: Option, key: str) -> tuple[str, ...]:
    """Draw a text area with one phrase per line; a known list fills it in."""
    text, fill = f"{key}-text", f"{key}-list"

    @errors.guarded
    def insert(name: str) -> None:
        drafts.replace(text, "\n".join(known_lists()[name]))

    left, right = st.columns([2, 1], vertical_alignment="top")
    with left:
        typed = st.text_area(
            f"{option.label or option.name}, one per line",
            key=drafts.replaceable(text),
            height=PHRASES_TALL,
            help=option.help,
            placeholder="none",
        )
    with right:
        try:
            lists = known_lists()
            name = st.selectbox(
                "List of phrases", lists, key=drafts.kept(fill), format_func=lambda name: f"{name} ({len(lists[name])})",
                help="Lists are read from the JSON file set in ERRORSCOPE_PROMPTS; mt (“Such as”) is built in",
            )  # fmt: skip
            st.button(
                "Insert list", key=f"{fill}-insert", on_click=insert, args=(name,), icon=":material/playlist_add:"
            )
        except UserError as error:
            errors.show(error)
    return tuple(line.removesuffix("\r") for line in (typed or "").split("\n") if line.strip())
