"""The options of a meta-evaluation: level, statistic, metrics, systems and bootstrap."""

from __future__ import annotations

from typing import Literal, NamedTuple

import streamlit as st

from core.formatting import format_count
from core.ports.projects import Project
from core.services.calibrate.calibration import HumanScores
from core.services.evaluate.evaluate import LABELS, STATISTICS, AgreementOptions, StatisticName, usual_group
from core.services.evaluate.evaluation_data import EvaluationData, Level, Unit
from core.services.projects.view import View
from pages._ui.shared import drafts, page, state
from pages._ui.shared.page import definition

LEVELS: dict[Level, str] = {"segment": "single outputs", "system": "system means"}

GROUPS: dict[Literal["pooled", "segment"], str] = {
    "pooled": "all outputs pooled",
    "segment": "within each segment, averaged",
}

UNITS: dict[Unit, str] = {"segment": "segments", "document": "documents"}

STATISTIC, METRIC, TABLE = "evaluate-statistic", "evaluate-metric", "evaluate-table"


class EvaluationOptions(NamedTuple):
    """The options chosen on the page."""

    choice: AgreementOptions
    statistic: StatisticName
    names: tuple[str, ...]
    excluded: tuple[str, ...]
    lam: float
    partly: bool = False


def asked(project: Project, view: View, human_scores: HumanScores) -> EvaluationOptions:
    """Draw the options and return them. If only systems have human scores, only system means can be compared."""
    first, second, third, fourth = st.columns([1, 1, 1, 0.75], vertical_alignment="bottom")
    levels: list[Level] = ["system"] if human_scores.of_systems else list(LEVELS)
    level = first.selectbox("Level", levels, format_func=LEVELS.__getitem__, key=drafts.kept("evaluate-level"))
    key = drafts.kept(f"{STATISTIC}-{level}")
    statistic: StatisticName = second.selectbox(
        "Statistic", STATISTICS[level], format_func=LABELS.__getitem__, key=key,
        help=" ".join(f"**{LABELS[n]}**: {definition(LABELS[n])}" for n in STATISTICS[level]),
    )  # fmt: skip
    usual = usual_group(human_scores.scores)
    group = third.selectbox(
        "Pairs of outputs", GROUPS, list(GROUPS).index(usual), format_func=GROUPS.__getitem__, disabled=level == "system",
        key=drafts.kept(f"evaluate-group-{project.id}", usual),
        help="Pooled pairs mix easy and hard segments. Pairs within a segment compare outputs for the same source.",
    )  # fmt: skip
    if usual == "segment" and level == "segment":
        n = len(human_scores.scores)
        st.caption(
            f"{n:,} outputs have {n * (n - 1) / 2e6:,.0f} million pooled pairs. Pairs within segments are the default for so many, as in the "
            "WMT metrics task. Pooled statistics are exact but slow; their tests and intervals use a random sample of the pairs."
        )
    with fourth.popover("More options", icon=":material/tune:", width="stretch"):
        columns = {c.name: c.label for c in view.columns if not c.human}
        newest = [c.name for c in view.columns if not c.human and c.name == c.metric]
        key = drafts.kept(f"evaluate-names-{project.id}", newest)
        names = st.multiselect(
            "Metrics", columns, newest, format_func=columns.__getitem__, key=key,
            help="Only outputs with scores of all these metrics are compared.",
        )  # fmt: skip
        partly = st.toggle(
            "Include partly scored metrics", key=drafts.kept(f"evaluate-partly-{project.id}"),
            help="Compares all metrics on the outputs that every metric has scored, which may be few. Otherwise metrics whose "
            "scoring is not finished are excluded.",
        )  # fmt: skip
        human = list(view.reference_systems)
        excluded = st.multiselect(
            "Excluded systems", view.systems, human, key=drafts.kept(f"evaluate-out-{project.id}", human), placeholder="none",
            help="References that are systems too are excluded unless you remove them here.",
        )  # fmt: skip
        unit = st.selectbox(
            "Bootstrap over",
            UNITS,
            format_func=UNITS.__getitem__,
            key=drafts.kept("evaluate-unit"),
            help=definition("Confidence interval"),
        )
        draws = st.select_slider(
            "Bootstrap draws", [100, 300, 1000], 300, key=drafts.kept("evaluate-draws"),
            help="Number of random resamples of the data behind each 95 % CI. More take longer and are more exact.",
        )  # fmt: skip
        seed = st.number_input(
            "Seed",
            0,
            2**31 - 1,
            0,
            key=drafts.kept("evaluate-seed"),
            help="The same number gives the same random resamples",
        )
    _include_more(project, names, newest, key)
    choice = AgreementOptions(level, group, unit, int(seed), int(draws))
    lam = state.current_lambda(project.id)
    return EvaluationOptions(choice, statistic, tuple(names), tuple(excluded), lam, partly)


def _include_more(project: Project, names: list[str], newest: list[str], key: str) -> None:
    """Draw how many metrics have scores since the person changed the choice of metrics, and the button that includes them."""
    known, seen = f"evaluate-known-{project.id}", f"evaluate-seen-{project.id}"
    before = st.session_state.get(seen, newest)
    st.session_state[seen] = newest
    if set(names) == set(newest):
        drafts.forget(known)
        return
    if drafts.kept(known) not in st.session_state:
        st.session_state[known] = before
        drafts.kept(known)
    more = [name for name in newest if name not in names and name not in st.session_state[known]]
    if not more:
        return

    def include() -> None:
        st.session_state[key] = [*names, *more]

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"{format_count(len(more), 'more metric')} {'is' if len(more) == 1 else 'are'} scored.", width="content"
        )
        st.button("Include" + (" it" if len(more) == 1 else " them"), icon=":material/add:", on_click=include)


def too_few(project: Project, data: EvaluationData, human_scores: HumanScores, excluded: tuple[str, ...]) -> None:
    """Say that there are too few outputs to compare, with links to get more."""
    rated = sum(k.system not in excluded for k in human_scores.scores)
    if not rated:
        text = "No segment has been submitted yet"
    else:
        scored = 0 if all(m.undefined for m in data.metrics) else len(data.keys)
        text = f"{scored} of {rated} labelled outputs {'has' if scored == 1 else 'have'} scores of all chosen metrics"
    page.info(f"{text}. At least 2 are needed.")
    page.link("annotate", "Annotate outputs")
    page.link_to_scoring(project)
