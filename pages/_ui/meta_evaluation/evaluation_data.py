"""The options of a meta-evaluation, its data and results, kept in the session, and first values while the rest is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import streamlit as st

from core.formatting import format_count
from core.models.checkpoint import reads_only_english
from core.ports.projects import Project
from core.reports import evaluation as report
from core.services.calibrate.calibration import HumanScores
from core.services.evaluate import evaluate as service
from core.services.evaluate import significance as tests
from core.services.evaluate.evaluate import (
    LABELS,
    STATISTICS,
    AgreementOptions,
    AgreementRow,
    Evaluation,
    StatisticName,
    usual_group,
)
from core.services.evaluate.evaluation_data import EvaluationData, Level, ScoredMetric, Unit, from_view
from core.services.projects.task import language_warning, output_languages
from core.services.projects.view import View
from pages._ui.shared import drafts, jobs, page, state, tables, wiring
from pages._ui.shared.long_jobs import digest, digest_of_many
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.page import definition

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
    levels: list[Level] = ["system"] if human_scores.of_systems else list(report.LEVELS)
    level = first.selectbox("Level", levels, format_func=report.LEVELS.__getitem__, key=drafts.kept("evaluate-level"))
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


BASELINES = "Baselines (do not measure quality)"
"""The row above the baselines in tables of metrics."""


def with_heading(metrics: Sequence[ScoredMetric]) -> list[ScoredMetric | None]:
    """Return metrics that end with the baselines, with None for the row above the baselines."""
    first = next((k for k, m in enumerate(metrics) if m.sentinel), len(metrics))
    return [*metrics[:first], *([None] if first < len(metrics) else []), *metrics[first:]]


def values(evaluation: Evaluation, statistic: StatisticName) -> None:
    """Draw the result in one sentence, and the values of all metrics, best first."""
    st.markdown(f"#### {escape_markdown(report.sentence(evaluation, statistic))}")
    tables.text_table([
        {"metric": m.label if m else BASELINES, f"{LABELS[statistic]} ↑": report.cell(evaluation.of(m.name, statistic)) if m else ""}
        for m in with_heading([evaluation.joined.scored_metric(name) for name in evaluation.order(statistic)])
    ])  # fmt: skip


_KEPT, KEPT = "evaluate_kept", 24
FEW = 50_000
"""Outputs whose data are kept for up to 12 comparisons; of larger data, which take 250 MB with 1,000,000 outputs, only three."""
MANY = 1000
"""Outputs for which 95 % CIs take so long that the values are shown before them."""
SECOND_PART = "meta-evaluation"
"""The 95 % CIs and charts of many outputs, which the browser asks for when it shows the values."""


def joined(
    project: Project, view: View, human_scores: HumanScores, request: EvaluationOptions, *, once: bool = False
) -> EvaluationData:
    """Return the compared outputs, kept until their data change. With `once`, those of more than `FEW` outputs are not kept."""
    options: dict[str, Any] = {"names": request.names, "lam": request.lam, "excluded": request.excluded}
    options |= {"seed": request.choice.seed, "partly": request.partly}
    large = len(human_scores.scores) > FEW
    if large and once:
        return from_view(view, human_scores, **options)
    scores = digest_of_many(human_scores.scores.items())
    key = digest(wiring.version(project), view.scored_by, human_scores.signature, human_scores.raters, scores, options)
    return (_large if large else _joined)(key, options, _view=view, _human_scores=human_scores)


@st.cache_resource(max_entries=12, ttl=1800, show_spinner="Reading scores …")
def _joined(key: str, options: dict[str, Any], *, _view: View, _human_scores: HumanScores) -> EvaluationData:
    return from_view(_view, _human_scores, **options)


@st.cache_resource(max_entries=3, ttl=1800, show_spinner="Reading scores …")
def _large(key: str, options: dict[str, Any], *, _view: View, _human_scores: HumanScores) -> EvaluationData:
    return from_view(_view, _human_scores, **options)


def unfinished(project: Project, view: View, data: EvaluationData) -> None:
    """Draw which metrics have not scored all rated outputs, and the button that finishes them."""
    if not data.partly:
        return
    by_column = {p.name.partition(" @ ")[0]: p for p in data.partly}
    columns = [c for c in view.columns if c.name in by_column]
    aside = [c for c in columns if by_column[c.name].aside]
    texts = []
    for group, said in (
        (aside, "Excluded (partly scored)"),
        ([c for c in columns if c not in aside], "Partly scored"),
    ):
        named = ", ".join(str(by_column[c.name]._replace(label=c.label)) for c in group)
        texts += [f"{said}: {named}."] if named else []
    jobs.draw_partly_scored(project, " ".join(texts), columns, "evaluation")


def unread(project: Project, evaluation: Evaluation) -> None:
    """Warn of compared metrics whose model does not read the language of the outputs."""
    english = [m.label for m in evaluation.joined.metrics if reads_only_english(m.signature)]
    if said := language_warning(output_languages(wiring.sampled(project)), english):
        st.warning(escape_markdown(said), icon=":material/translate:")


def evaluated(data: EvaluationData, choice: AgreementOptions, statistic: StatisticName) -> Evaluation | None:
    """Return every metric and baseline under every statistic, with the slow intervals if they were requested.

    Until the 95 % CIs of many outputs are computed, the values under `statistic` are shown. Return None if only they were drawn;
    the next run computes the rest.
    """
    key = data.digest, choice
    if key not in _kept():
        complete = data.whole() if choice.level == "system" else data
        place = st.empty()
        with place.container():
            if len(data.keys) >= MANY and choice.level == "segment":
                values(service.evaluate(data, choice._replace(draws=0), (statistic,)), statistic)
                if page.comes_later(SECOND_PART, "Computing 95 % CIs …"):
                    return None
            bar = st.progress(0.0, "Computing agreement and 95 % CIs …")
        rows: list[AgreementRow] = []
        for k, metric in enumerate(data.scored_metrics):
            rows += _rows(data.digest, choice, metric, _data=complete)
            bar.progress((k + 1) / len(data.scored_metrics), f"95 % CI of {escape_markdown(metric.label)} computed")
        place.empty()
        _kept()[key] = Evaluation(tuple(rows), data.without_outputs(), choice)
    kept: Evaluation = _kept().get((*key, "soft"), _kept()[key])
    return kept._replace(joined=data)  # results are kept without outputs


@st.cache_data(max_entries=200, ttl=1800, show_spinner=False)
def _rows(
    key: str, choice: AgreementOptions, metric: ScoredMetric, *, _data: EvaluationData
) -> tuple[AgreementRow, ...]:
    return service.rows_of(_data, metric, choice)


def _kept() -> dict[tuple[object, ...], Any]:
    """Return the newest results of this browser session."""
    kept: dict[tuple[object, ...], Any] = st.session_state.setdefault(_KEPT, {})
    while len(kept) > KEPT:
        kept.pop(next(iter(kept)))
    return kept


def matrix(evaluation: Evaluation, statistic: StatisticName) -> tests.SignificanceMatrix | None:
    """Return the tests between metrics, if they have been run."""
    done: tests.SignificanceMatrix | None = _kept().get((evaluation.joined.digest, evaluation.choice, statistic))
    return done


def keep(
    evaluation: Evaluation, what: StatisticName | Literal["soft"], done: tests.SignificanceMatrix | Evaluation
) -> None:
    """Keep the tests under a statistic, or the evaluation with the slow (soft) intervals."""
    if isinstance(done, Evaluation):
        done = done._replace(joined=done.joined.without_outputs())
    _kept()[evaluation.joined.digest, evaluation.choice, what] = done
