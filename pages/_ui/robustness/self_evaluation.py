"""Self-evaluation: does a metric favour systems that are built on its own model?"""

from __future__ import annotations

import math
from functools import partial

import pandas as pd
import streamlit as st

from core.formatting import format_change, with_interval
from core.plots import robustness
from core.ports.projects import Project
from core.robustness.self_evaluation import BiasMatrix, Evaluator, EvaluatorBias, matrix
from core.services.projects.view import Column, View
from core.signature import fields_of
from pages._ui.robustness import controls
from pages._ui.shared import drafts, page, state, wiring
from pages._ui.shared.long_jobs import digest, run_cached
from pages._ui.shared.markdown import escape_markdown

NONE, UNKNOWN = "no model", "unknown"


def draw_self_evaluation(project: Project) -> None:
    """Draw the editor, the result in a sentence, and the matrix."""
    st.caption(
        "A metric may prefer texts that were written by its own model. Enter the model of every system and metric; use one name "
        "for a model family (BART for base and large)."
    )
    view = wiring.view(project)
    columns = list({c.label: c for c in reversed(view.columns) if not c.human}.values())[::-1]
    if len(columns) < 2 or len(view.systems) < 2:
        page.info(
            "This needs 2 systems and 2 metrics, including metrics with models. Compute metrics on Compare first."
        )
        return
    left, right = st.columns(2)
    with left:
        built = _edited("System", dict.fromkeys(view.systems, ""), f"lab-systems-{project.id}")
    with right:
        based = _edited("Metric", {c.label: model_of(c) for c in columns}, f"lab-based-{project.id}")
    generators = {name: tag.strip() or UNKNOWN for name, tag in built.items()}
    if not any(built.values()):
        st.info("No system has a model yet. Enter it in the table.", icon=":material/edit:")
        return
    lam = state.current_lambda(project.id)
    evaluators = [_evaluator(view, c, based[c.label].strip() or NONE, lam) for c in columns]
    bias_matrix = run_cached(
        ("self", project.id, repr(evaluators), tuple(generators.items())), "Comparing …", lambda progress: matrix(evaluators, generators)
    )  # fmt: skip
    if bias_matrix is not None:
        _draw_matrix(bias_matrix)


def _edited(what: str, rows: dict[str, str], key: str) -> dict[str, str]:
    """Draw the editable table; return the model by name."""
    fresh = pd.DataFrame({what: list(rows), "model": list(rows.values())})
    edited = drafts.table(fresh, f"{key}-{digest(list(rows))[:8]}", disabled=[what])
    return {name: str(tag or "") for name, tag in zip(edited[what], edited["model"], strict=True)}


def model_of(column: Column) -> str:
    """Return the model in a metric's signature, without its owner; "" if there is none."""
    return fields_of(column.signature).get("model", "").rpartition("/")[2]


def _evaluator(view: View, column: Column, based: str, lam: float) -> Evaluator:
    values = view.values(column.name, lam)
    scores = {
        system: [float(v) if math.isfinite(v) else None for v in values[:, j]] for j, system in enumerate(view.systems)
    }
    return Evaluator(column.label, based, column.higher_is_better, scores)


def sentence(bias_matrix: BiasMatrix) -> str:
    """Return which metrics favour systems of their own model, or why that cannot be computed."""
    if bias_matrix.reason:
        return f"Nothing to compare: {bias_matrix.reason}."
    defined = [row for row in bias_matrix.rows if row.bias.value is not None]
    if not defined:
        return f"The bias of no metric can be computed: {next((r.bias.reason for r in bias_matrix.rows if r.based != NONE), bias_matrix.rows[0].bias.reason)}."
    biased = [row for row in defined if row.bias.low is not None and row.bias.low > 0]
    if not biased:
        return "No metric favours systems of its own model significantly."
    return (
        "; ".join(
            f"{row.name} favours {', '.join(row.own)}, based on {row.based} like the metric ({_bias(row)})"
            for row in biased
        )
        + "."
    )


def _bias(row: EvaluatorBias) -> str:
    bias = row.bias
    if bias.value is None:
        return bias.reason
    change = partial(format_change, digits=2)
    return (
        f"{with_interval(change(bias.value), bias.low, bias.high, change)} standard deviations more than other metrics"
    )


def _draw_matrix(bias_matrix: BiasMatrix) -> None:
    st.markdown(f"#### {escape_markdown(sentence(bias_matrix))}")
    if not bias_matrix.rows:
        return
    rows = [
        {
            "metric": row.name, "system": system, "mean": mean, "rank": row.ranks[system], "own": system in row.own,
            "based": row.based, "built": bias_matrix.generators[system],
        }
        for row in bias_matrix.rows
        for system, mean in row.means.items()
    ]  # fmt: skip
    left_out = f"; {bias_matrix.left_out:,} without all scores are left out" if bias_matrix.left_out else ""
    said = f"Rank and mean of each system over {bias_matrix.segments:,} segments{left_out}. ◆ and outlined: same model as the metric."
    controls.wide_chart(
        robustness.favours(pd.DataFrame(rows)), "lab-favours", sentence(bias_matrix), said, "self-evaluation"
    )
    with st.expander("Bias of every metric with 95 % CI"):
        st.text("\n".join(f"{row.name} ({row.based}): {_bias(row)}" for row in bias_matrix.rows))
