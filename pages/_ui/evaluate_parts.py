"""The parts of the Evaluate page: what is compared, the table, and the files that leave it."""

from __future__ import annotations

import hashlib
from typing import Any, Literal, NamedTuple

import pandas as pd
import streamlit as st

from core.ports import Project
from core.services import evaluate as service
from core.services import evaluate_report as report
from core.services import evaluate_tests as tests
from core.services.calibration import People
from core.services.evaluate import (
    LABELS,
    STATISTICS,
    Choice,
    Contestant,
    Evaluation,
    Joined,
    Level,
    Name,
    Row,
    Unit,
)
from core.services.view import View
from pages._ui import errors, exports, state, theme, wiring

LEVELS: dict[Level, str] = {"segment": "single outputs", "system": "system means"}
GROUPS: dict[Literal["pooled", "segment"], str] = {
    "pooled": "all outputs pooled",
    "segment": "within each segment, averaged",
}
UNITS: dict[Unit, str] = {"segment": "segments", "document": "documents"}
STATISTIC, METRIC, TABLE = "evaluate-statistic", "evaluate-metric", "evaluate-table"
_KEPT, KEPT = "evaluate_kept", 24


class Asked(NamedTuple):
    """What the page was asked for."""

    choice: Choice
    statistic: Name
    names: tuple[str, ...]
    excluded: tuple[str, ...]
    lam: float


def asked(project: Project, view: View, *, of_systems: bool = False) -> Asked:
    """Level, pairs, statistic; and, behind *More*, metrics, systems, bootstrap. With `of_systems` systems only can be compared."""
    first, second, third, fourth = st.columns([1, 1, 1, 0.5], vertical_alignment="bottom")
    levels: list[Level] = ["system"] if of_systems else list(LEVELS)
    level = first.selectbox("Compared", levels, format_func=LEVELS.__getitem__, key="evaluate-level")
    key = f"{STATISTIC}-{level}"
    statistic: Name = second.selectbox("Statistic", STATISTICS[level], format_func=LABELS.__getitem__, key=key)
    group = third.selectbox(
        "Pairs of outputs", list(GROUPS), format_func=GROUPS.__getitem__, key="evaluate-group", disabled=level == "system",
        help="Pooled pairs mix easy with hard segments; pairs within a segment compare what systems made of the same text.",
    )  # fmt: skip
    with fourth.popover("More", icon=":material/tune:", width="stretch"):
        columns = {c.name: c.label for c in view.columns if not c.human}
        newest = [c.name for c in view.columns if not c.human and c.name == c.metric]
        names = st.multiselect(
            "Metrics", list(columns), newest, format_func=columns.__getitem__, key=f"evaluate-names-{project.id}",
            help="Only outputs that all of these have scored are compared.",
        )  # fmt: skip
        people = [s for s in view.systems if service.looks_human(s)]
        excluded = st.multiselect(
            "Systems left out", view.systems, people, key=f"evaluate-out-{project.id}", placeholder="none",
            help="Human references among the systems belong here.",
        )  # fmt: skip
        unit = st.selectbox("Bootstrap over", list(UNITS), format_func=UNITS.__getitem__, key="evaluate-unit")
        draws = st.select_slider("Bootstrap draws", [100, 300, 1000], 300, key="evaluate-draws")
        seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="evaluate-seed")
    choice = Choice(level, group, unit, int(seed), int(draws))
    return Asked(choice, statistic, tuple(names), tuple(excluded), state.current_lambda(project.id))


def joined(project: Project, view: View, people: People, wanted: Asked) -> Joined:
    """The outputs compared, kept for as long as nothing of it changes."""
    scored = tuple(wiring.store().scores.signatures(project.id))
    said = hashlib.sha256(repr((people.signature, people.raters, people.scores)).encode()).hexdigest()
    return _joined(
        project, scored, said, wanted.names, wanted.excluded, wanted.lam, wanted.choice.seed, _view=view, _people=people
    )


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading scores …")
def _joined(
    project: Project,
    scored: tuple[object, ...],
    said: str,
    names: tuple[str, ...],
    excluded: tuple[str, ...],
    lam: float,
    seed: int,
    *,
    _view: View,
    _people: People,
) -> Joined:
    return service.from_view(_view, _people, names=names, lam=lam, excluded=excluded, seed=seed)


def evaluated(data: Joined, choice: Choice) -> Evaluation:
    """Every metric and sentinel under every statistic, with the slow intervals where they have been asked for."""
    key = data.digest, choice
    if key not in _kept():
        whole = data.whole() if choice.level == "system" else data
        bar = st.progress(0.0, "Computing agreement and its intervals …")
        rows: list[Row] = []
        for k, contestant in enumerate(data.contestants):
            rows += _rows(data.digest, choice, contestant, _data=whole)
            bar.progress((k + 1) / len(data.contestants), f"Computed {errors.plain(contestant.label)}")
        bar.empty()
        _kept()[key] = Evaluation(tuple(rows), data, choice)
    kept: Evaluation = _kept().get((*key, "soft"), _kept()[key])
    return kept


@st.cache_data(max_entries=200, ttl=1800, show_spinner=False)
def _rows(digest: str, choice: Choice, contestant: Contestant, *, _data: Joined) -> tuple[Row, ...]:
    return service.rows_of(_data, contestant, choice)


def _kept() -> dict[tuple[object, ...], Any]:
    """What this browser session had computed and tested, the newest."""
    kept: dict[tuple[object, ...], Any] = st.session_state.setdefault(_KEPT, {})
    while len(kept) > KEPT:
        kept.pop(next(iter(kept)))
    return kept


def matrix(found: Evaluation, statistic: Name) -> tests.Matrix | None:
    """The tests between metrics, if they have been run."""
    done: tests.Matrix | None = _kept().get((found.joined.digest, found.choice, statistic))
    return done


def keep_matrix(found: Evaluation, statistic: Name, done: tests.Matrix) -> None:
    _kept()[found.joined.digest, found.choice, statistic] = done


def keep_soft(found: Evaluation, done: Evaluation) -> None:
    _kept()[found.joined.digest, found.choice, "soft"] = done


def too_few(data: Joined, people: People, excluded: tuple[str, ...]) -> None:
    """There is nothing to compare, and what to do about it."""
    rated = sum(k.system not in excluded for k in people.scores)
    if not rated:
        text = "No output has been labelled and submitted"
    else:
        scored = 0 if all(m.undefined for m in data.metrics) else len(data.keys)
        text = f"Of {rated} rated outputs {scored} have a score of every metric chosen"
    st.info(f"{text}; at least two are needed.", icon=":material/info:")
    st.page_link("pages/annotate.py", label="Label outputs on Annotate", icon=":material/edit_note:")
    st.page_link("pages/compare.py", label="Score metrics on Compare", icon=":material/view_column:")


def notes(found: Evaluation) -> None:
    """What went into it, and who computed the scores."""
    data, choice = found.joined, found.choice
    whole = data.whole() if choice.level == "system" else data
    said = [f"{len(whole.keys)} outputs of {len(whole.systems)} systems for {whole.n_segments} segments"]
    if data.excluded:
        said.append(f"without {', '.join(data.excluded)}")
    if lost := data.n_segments - whole.n_segments:
        said.append(f"{lost} segments lack a system and are left out")
    said.append(f"95 % bootstrap intervals over {UNITS[choice.unit]}, {choice.draws} draws")
    st.caption(errors.plain(" · ".join(said)) + ". Click a cell to see what stands behind it.")
    if data.notes:
        st.warning("  \n".join(errors.plain(n) for n in data.notes), icon=":material/warning:")
    who = dict.fromkeys(w for c in data.metrics if (w := theme.speaker(c.signature)))
    for line in who:
        names = [c.label for c in data.metrics if theme.speaker(c.signature) == line]
        shown = "BARTScore" if all(n.startswith("BARTScore") for n in names) else ", ".join(names)
        st.caption(f"{errors.plain(shown)}: {line}.")


def table(found: Evaluation, statistic: Name) -> None:
    """Metric × statistic with intervals, best first, sentinels grey at the foot; a click opens what is behind a cell."""
    names, order = STATISTICS[found.choice.level], found.order(statistic)
    done = {n: m for n in names if (m := matrix(found, n)) is not None}
    rows = []
    for name in order:
        row = {"metric": found.joined.contestant(name).label}
        for n in names:
            mark = " •" if n in done and name in done[n].tied else ""
            row[LABELS[n]] = report.cell(found.of(name, n)) + mark
        rows.append(row)
    frame = pd.DataFrame(rows)
    grey = [found.joined.contestant(name).sentinel for name in order]
    colour = pd.DataFrame("", frame.index, frame.columns)
    colour.loc[grey, [LABELS[n] for n in names]] = "color: #959ba5"
    styled = frame.style.apply(lambda _: colour, axis=None)

    @errors.guarded
    def chosen() -> None:
        for at, column in st.session_state[TABLE]["selection"]["cells"][:1]:
            st.session_state[METRIC] = order[at]
            picked = next((n for n in names if LABELS[n] == column), None)
            if picked is not None:
                st.session_state[f"{STATISTIC}-{found.choice.level}"] = picked

    st.dataframe(
        styled, hide_index=True, width="stretch", height="content", key=TABLE, on_select=chosen,
        selection_mode="single-cell",
        column_config={"metric": st.column_config.TextColumn(pinned=True, width="medium")},
    )  # fmt: skip
    undefined = [
        f"{c.label}, {LABELS[n]}: {of.reason}"
        for c in found.joined.contestants
        for n in names
        if (of := found.of(c.name, n)).status != "ok"
    ]
    if said := report.counted(found).strip():
        st.caption(errors.plain(said))
    if done:
        which = "; ".join(f"{LABELS[n]}: {m.test}" for n, m in done.items())
        st.caption(errors.plain(f"•  the best, and what is not significantly worse than it (Holm, p > .05; {which})."))
    if undefined:
        with st.expander(f"{len(undefined)} undefined"):
            st.text("\n".join(undefined))


def files(project: Project, found: Evaluation, statistic: Name, systems: tests.Systems | None) -> None:
    """CSV, LaTeX, one HTML page, and the methods in words."""
    done = matrix(found, statistic)
    st.subheader("For the paper", anchor=False)
    said = report.methods(found, done, systems)
    st.markdown(errors.plain(said))
    with st.expander("Signatures: what every number was computed with"):
        st.text("\n".join(report.signatures(found)))
    name = f"{exports.file_name(project.name)}.evaluation"
    with st.container(horizontal=True):
        for label, ending, mime, text in (
            ("CSV", "csv", "text/csv", report.as_csv(found)),
            ("LaTeX table", "tex", "text/x-tex", report.as_latex(found, statistic, done)),
            ("HTML page", "html", "text/html", report.as_html(found, statistic, done, systems, project.name)),
            ("Methods", "txt", "text/plain", "\n".join([said, "", *report.signatures(found)]) + "\n"),
        ):
            st.download_button(
                label, text.encode("utf-8"), f"{name}.{ending}", mime, icon=":material/download:", on_click="ignore",
                key=f"evaluate-{ending}",
            )  # fmt: skip
    with st.expander("Copy the LaTeX table"):
        st.code(report.as_latex(found, statistic, done), language="latex")
