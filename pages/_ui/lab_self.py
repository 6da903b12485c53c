"""Self-evaluation: systems and metrics are tagged with the model they are built on, and metrics are asked whom they favour."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from core.plots import stress as plots
from core.ports import Project, Store
from core.services.lab.self_evaluation import Evaluator, Judged, Matrix, matrix
from core.services.view import Column, View
from pages._ui import robustness_parts as parts
from pages._ui import state, wiring
from pages._ui.errors import plain
from pages._ui.lambda_work import worked

NONE, UNTOLD = "no model", "not told"


def draw(store: Store, project: Project) -> None:
    """Editor, sentence, matrix."""
    st.caption(
        "A metric built on the model that wrote the texts may like them for being its own. Say what every system and metric is built "
        "on; write one name for a family (BART for its base and its large form)."
    )
    view = wiring.view(project)
    columns = list({c.label: c for c in reversed(view.columns) if not c.human}.values())[::-1]
    if len(columns) < 2 or len(view.systems) < 2:
        st.info(
            "This takes two systems and two metrics, and metrics with models among them. Score the project on Compare first.",
            icon=":material/info:",
        )
        return
    left, right = st.columns(2)
    with left:
        built = _edited("System", dict.fromkeys(view.systems, ""), f"lab-systems-{project.id}")
    with right:
        based = _edited("Metric", {c.label: model_of(c) for c in columns}, f"lab-based-{project.id}")
    generators = {name: tag.strip() or UNTOLD for name, tag in built.items()}
    if not any(built.values()):
        st.info("No system is tagged yet: type what it is built on.", icon=":material/edit:")
        return
    lam = state.current_lambda(project.id)
    evaluators = [_evaluator(view, c, based[c.label].strip() or NONE, lam) for c in columns]
    found = worked(
        ("self", project.id, repr(evaluators), tuple(generators.items())), "Comparing …", lambda tell: matrix(evaluators, generators)
    )  # fmt: skip
    if found is not None:
        _told(found)


def _edited(what: str, rows: dict[str, str], key: str) -> dict[str, str]:
    """The names with what they are built on, as edited; what was typed outlasts this look."""
    start, last = f"{key}-start", f"{key}-last"
    fresh = pd.DataFrame({what: list(rows), "built on": list(rows.values())})
    before = st.session_state.get(last, fresh)
    if key not in st.session_state or list(before[what]) != list(rows):
        st.session_state[start] = before if list(before[what]) == list(rows) else fresh
    edited = st.data_editor(st.session_state[start], hide_index=True, disabled=[what], key=key, width="stretch")
    st.session_state[last] = edited
    return {name: str(tag or "") for name, tag in zip(edited[what], edited["built on"], strict=True)}


def model_of(column: Column) -> str:
    """The model a metric's signature names, without its owner; "" where it asks none."""
    facts = dict(part.split(":", 1) for part in column.signature.split("|") if ":" in part)
    return facts.get("model", "").rpartition("/")[2]


def _evaluator(view: View, column: Column, based: str, lam: float) -> Evaluator:
    values = view.values(column.name, lam)
    scores = {
        system: [float(v) if math.isfinite(v) else None for v in values[:, j]] for j, system in enumerate(view.systems)
    }
    return Evaluator(column.label, based, column.higher_is_better, scores)


def sentence(found: Matrix) -> str:
    """What the matrix says: who is shown to favour its own, or why nothing can be said."""
    if found.reason:
        return f"Nothing to compare: {found.reason}."
    told = [row for row in found.rows if row.bias.value is not None]
    if not told:
        return f"No metric can be judged: {next((r.bias.reason for r in found.rows if r.based != NONE), found.rows[0].bias.reason)}."
    biased = [row for row in told if row.bias.low is not None and row.bias.low > 0]
    if not biased:
        return "No metric is shown to favour systems built on its own model."
    return (
        "; ".join(
            f"{row.name} favours {', '.join(row.own)}, built on {row.based} like itself ({_bias(row)})"
            for row in biased
        )
        + "."
    )


def _bias(row: Judged) -> str:
    bias = row.bias
    if bias.value is None:
        return bias.reason
    between = "" if bias.low is None or bias.high is None else f" [{bias.low:+.2f}, {bias.high:+.2f}]"
    return f"{bias.value:+.2f}{between} standard deviations more than other metrics".replace("-", "−")


def _told(found: Matrix) -> None:
    st.markdown(f"#### {plain(sentence(found))}")
    if not found.rows:
        return
    rows = [
        {
            "metric": row.name, "system": system, "mean": mean, "rank": row.ranks[system], "own": system in row.own,
            "based": row.based, "built": found.generators[system],
        }
        for row in found.rows
        for system, mean in row.means.items()
    ]  # fmt: skip
    parts.wide(plots.favours(pd.DataFrame(rows)), "lab-favours")
    left_out = f"; {found.left_out:,} without some score are left out" if found.left_out else ""
    st.caption(
        plain(
            f"Rank and mean of each system over {found.segments:,} segments{left_out}. ◆ and outlined: the metric’s own kind."
        )
    )
    with st.expander("Every metric’s bias, with 95 % intervals"):
        st.text("\n".join(f"{row.name} ({row.based}): {_bias(row)}" for row in found.rows))
