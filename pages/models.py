"""Models: which metrics can run, which model each kind of metric uses, and the settings of this installation."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.errors import PROGRAM
from core.metrics import readiness
from core.metrics.readiness import ConfiguredModel, Readiness
from core.settings import load_settings
from pages._ui.help import help_parts
from pages._ui.models import metric_table, model_cards
from pages._ui.shared import tables, wiring
from pages._ui.shared.page import heading

ACROSS = 2


def main() -> None:
    wiring.store()
    heading("Models", "See which metrics can run here, and which models they use.")
    readiness_by_name, models = readiness.of_all() | readiness.of_sets(), readiness.configured_models()
    first, second, third = st.tabs(
        [":material/straighten: Metrics", ":material/memory: Models", ":material/dns: Installation"]
    )
    with first:
        metrics(readiness_by_name)
    with second:
        cards(readiness_by_name, models)
    with third:
        help_parts.draw_installation(load_settings())


def metrics(readiness_by_name: Mapping[str, Readiness]) -> None:
    """Draw every metric: whether it can run, what it needs, how to read it."""
    counted = {state: n for state, n in readiness.counts(readiness_by_name).items() if n}
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    state = left.segmented_control(
        "Show", counted, key="models-state", label_visibility="collapsed",
        format_func=lambda one: f"{readiness.WORDS[one]} {counted[one]}",
    )  # fmt: skip
    words = right.text_input(
        "Search",
        key="models-words",
        placeholder="Search metrics",
        label_visibility="collapsed",
        icon=":material/search:",
    )
    rows = metric_table.metric_rows(readiness_by_name, state, words)
    if rows:
        st.html(metric_table.table(rows, readiness_by_name))
    else:
        st.info("No metric matches all of these words.", icon=":material/search_off:")
    st.caption(
        "↑ higher is better, ↓ lower is better. A missing value is never counted as 0. Dashed frame: a kind of model that the "
        "metric needs: seq2seq (encoder–decoder), encoder (text encoder), nli (entailment model), lm and mlm (language models), judge (language "
        "model on a server). The tab "
        "*Models* shows which model is configured, or how to set one up."
    )
    with st.expander("Metric options", icon=":material/tune:"):
        st.caption(
            "Set options in the scoring panel, or on the command line as name|option:value, in quotes. A metric with changed "
            "options is stored as a separate metric."
        )
        st.code(
            f'{PROGRAM} score outputs.csv --metrics "chrf,bartscore++|k:5|rounds:8" --out scores.csv',
            language=None,
        )
        tables.text_table(metric_table.options(), tall=len(metric_table.options()))
    with st.expander("Signatures", icon=":material/fingerprint:"):
        signed = [{"metric": n, "signature": one.signature} for n, one in readiness_by_name.items() if one.signature]
        tables.text_table(signed, tall=len(signed))


def cards(readiness_by_name: Mapping[str, Readiness], models: list[ConfiguredModel]) -> None:
    """Draw one card per kind of model, configured ones first; then what else is missing."""
    st.caption(
        "Metrics that need the same kind of model share the one configured here. Errorscope downloads nothing while it runs. "
        "Where a model is missing, its card shows how to fetch, check and test one."
    )
    ordered = sorted(models, key=lambda player: player.checkpoint is None)
    for first in range(0, len(ordered), ACROSS):
        for column, player in zip(st.columns(ACROSS), ordered[first : first + ACROSS], strict=False):
            with column.container(border=True, height="stretch", key=f"role-{player.kind.name}"):
                model_cards.card(player)
                model_cards.draw_presets(player.kind.name)
    model_cards.draw_judges()
    model_cards.other_lacks(model_cards.lacks(readiness_by_name, models))


main()
