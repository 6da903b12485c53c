"""The fit of λ: its result in words, the numbers behind it, and warnings."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from core.calibration.advice import ENOUGH_RATERS, enough_outputs
from core.calibration.calibrate import BestAgreement, Calibration, CalibrationPoint
from core.calibration.presets import PRESETS
from core.formatting import format_count, format_fitted_lambda, format_lambda, format_number
from core.plots.calibration import calibration_chart, plateau_text
from core.ports.projects import Project
from core.services.calibrate import calibration as service
from core.services.calibrate.calibration import HumanScores, LambdaFitOptions
from core.services.projects.view import Column
from core.stats.correlation.correlation import Measure
from pages._ui.calibrate.calibration_form import MEASURES
from pages._ui.shared import drafts, jobs, page, tables, wiring
from pages._ui.shared.files import figure
from pages._ui.shared.long_jobs import digest, run_cached
from pages._ui.shared.markdown import escape_markdown


def fit(
    data: tuple[CalibrationPoint, ...], human_scores: HumanScores, choice: LambdaFitOptions, available: int
) -> Calibration | None:
    """Return the fit, or None if it was cancelled. Fits are kept until the data change. The best λ is shown while its 95 % CI is computed."""
    words = f"Fitting λ on {format_count(len(data), 'output')} and {choice.draws} resamples …"
    place = st.empty()

    def show_best(best: BestAgreement) -> None:
        place.markdown(best_sentence(best, human_scores, choice))

    try:
        return run_cached(
            ("fit", digest(data), choice, available),
            words,
            lambda progress: service.fit(data, choice, PRESETS, progress, show_best, available),
        )
    finally:
        place.empty()


def interval(pair: tuple[float, float] | None) -> str:
    return f" [{format_fitted_lambda(pair[0], pair)}, {format_fitted_lambda(pair[1], pair)}]" if pair else ""


def best_lambda(found: Calibration) -> str:
    """Return the λ with the best agreement, to the digits that its 95 % CI supports."""
    return format_fitted_lambda(found.lam, found.ci)


def best_sentence(best: BestAgreement, human_scores: HumanScores, choice: LambdaFitOptions) -> str:
    """Return what is known before the 95 % CIs, as Markdown."""
    beside = f"λ = 1: {format_number(best.at_one, missing='undefined')}"
    return (
        f"#### Best agreement: λ = {format_lambda(best.lam)}\n{MEASURES[choice.measure]} = {format_number(best.agreement)} with {human_scores.words} "
        f"on {best.n:,} outputs ({escape_markdown(beside)}). The 95 % CI and the recommendation are being computed."
    )


def sentence(found: Calibration, human_scores: HumanScores, choice: LambdaFitOptions) -> str:
    """Return the result in one sentence, as Markdown."""
    sign, advised = MEASURES[choice.measure], found.advice.lam
    head = (
        "No λ is recommended"
        if advised is None
        else f"Recommended: λ = {best_lambda(found) if advised == found.lam else format_lambda(advised)}"
    )
    beside = f"λ = 1: {format_number(found.at['1'])}; BARTScore without refinement: {format_number(found.at['vanilla'], missing='undefined')}"
    return (
        f"#### {head}\nλ = {best_lambda(found)}{interval(found.ci)} agrees best with {human_scores.words} on {found.n:,} outputs: "
        f"{sign} = {format_number(found.agreement)} ({escape_markdown(beside)})"
    )


def recommended(found: Calibration) -> None:
    """Draw why this λ is recommended."""
    advice = found.advice
    text = escape_markdown(advice.why)
    if advice.lam is not None and advice.lam != found.lam:
        page.info(text)
    else:
        st.markdown(text)


def to_save(found: Calibration) -> float:
    """Return the λ to save; draws a choice if the recommended λ is not the best one."""
    advised = found.advice.lam
    if advised is None or advised == found.lam:
        return found.lam
    words = {
        advised: f"λ = {format_lambda(advised)}, recommended",
        found.lam: f"λ = {best_lambda(found)}, best agreement",
    }
    picked: float = st.radio(
        "λ to save", words, format_func=words.__getitem__, horizontal=True, key=drafts.kept("lambda-to-save")
    )
    return picked


def missing(found: Calibration, human_scores: HumanScores, project: Project, column: Column) -> None:
    """Draw warnings, and links to get more labels; not while the outputs that have labels are still being scored."""
    raters = len(human_scores.raters) or None
    notes = list(found.notes)
    if raters is not None and raters < ENOUGH_RATERS and not any("fewer than" in n for n in notes):
        notes.append("Labels of one annotator only; 2 or 3 are recommended.")
    if notes:
        st.warning("  \n".join(escape_markdown(n) for n in notes), icon=":material/warning:")
    running = [job for job in jobs.active(project.id) if column.metric in job.metrics]
    if found.n < len(human_scores.scores) and running:
        st.caption(
            f"{column.label} is still being computed: {found.n:,} of {format_count(len(human_scores.scores), 'output')} with human "
            "scores have a score so far. The fit uses more of them as they are scored."
        )
        return
    few = len(human_scores.scores) < enough_outputs(project.n_outputs)
    if few or (raters or ENOUGH_RATERS) < ENOUGH_RATERS:
        _more_labels("Annotate more outputs")


def too_few(both: int, rated: int) -> None:
    """Say that there are too few outputs to fit."""
    have = f"{both} of {format_count(rated, 'labelled output')} {'has' if both == 1 else 'have'} BARTScore++ scores"
    said = have if rated else "No segment has been submitted yet"
    page.info(f"{said}. A fit needs at least 2 outputs with both; 100 are recommended.")
    _more_labels("Annotate outputs")


def _more_labels(how: str) -> None:
    """Draw links to Annotate and to the drawing of a calibration set."""
    with st.container(horizontal=True):
        page.link("annotate", how)
        if wiring.identity().manages:
            page.link("labels_and_raters", "Select a calibration set")


def scanned(found: Calibration) -> bool:
    """Return whether λ comes from a scan instead of the exact search: acc_eq, except over system means."""
    return "acc_eq(eps=best" in found.signature


def chart(found: Calibration, human_scores: HumanScores, measure: Measure) -> None:
    """Draw the agreement by λ with its legend, and on request the published λ."""
    place = st.container()
    shown = bool(found.presets) and st.toggle(
        "Show the published λ (Lu et al. 2023) in the chart", key=drafts.kept("lambda-published"),
        help="Each belongs to one data set. Hover over a line for its name.",
    )  # fmt: skip
    with place:
        head = (
            f"λ = {best_lambda(found)}{interval(found.ci)} agrees best with {human_scores.words} on {found.n:,} outputs"
        )
        drawing = calibration_chart(found if shown else replace(found, presets={}), measure)
        figure(drawing, head, _legend(found, published=shown), "lambda")


def _legend(found: Calibration, *, published: bool) -> str:
    vanilla = "dashed line: BARTScore without refinement · " if found.at["vanilla"] is not None else ""
    return (
        f"Line: agreement at each λ ({'scan' if scanned(found) else 'exact'}) · orange: λ with the best agreement {plateau_text(found.plateau)} · "
        f"pale band: likely range of the agreement (95 % CI, bootstrap over segments) · {vanilla}grey line: λ = 1"
        + (" · green lines: λ published by Lu et al. (2023), with the data set on hover" if published else "")
    )


def details(found: Calibration, human_scores: HumanScores, choice: LambdaFitOptions, column: Column) -> None:
    """Draw the agreement at other λs, cross-validation, and the signature."""
    sign = MEASURES[choice.measure]
    rows = [
        {"λ": best_lambda(found), "what": "best agreement", sign: found.agreement},
        {"λ": "0", "what": "implicit errors only", sign: found.at["0"]},
        {"λ": "1", "what": "equal weights", sign: found.at["1"]},
        {"λ": "∞", "what": "explicit errors only", sign: found.at["inf"]},
        {"λ": "–", "what": "BARTScore without refinement", sign: found.at["vanilla"]},
    ]
    four = {sign: partial(format_number, digits=4)}
    left, right = st.columns([3, 2], gap="large")
    with left:
        tables.data_table(rows, four)
        with st.expander("Published λ (Lu et al. 2023) on this data"):
            presets = [
                {
                    "data set": p.label, "what it is": p.about, "λ": format_lambda(p.lam), sign: found.presets[p.label][1], "chosen with": p.made_with,
                    "different here": p.differs(column.facts),
                }
                for p in PRESETS if p.label in found.presets
            ]  # fmt: skip
            tables.data_table(presets, four)
            st.caption(
                "Each λ was chosen for one direction and prompt list (Lu et al. 2023, Table 7). The last column lists what is "
                "different in the scores used here."
            )
    with right:
        cv = found.cross_validated
        held = (
            f"{sign} = {format_number(cv.value)}: mean over {cv.folds} folds, each compared within itself, so it may be higher than the "
            "agreement over all outputs"
        )
        facts = {f"Test on {cv.over} that were not used (cross-validated)": cv.too_small(found.n) or held}
        if found.agreement_ci:
            low, high = map(format_number, found.agreement_ci)
            facts[f"{escape_markdown(sign)} at λ = {best_lambda(found)}, 95 % CI"] = f"[{low}, {high}]"
        segments = format_count(found.n_segments, "segment")
        facts["Fitted on"] = (
            f"{format_count(found.n, 'output')} of {format_count(found.n_systems, 'system')}, {segments}"
        )
        for name, text in facts.items():
            st.markdown(f"**{name}**  \n{escape_markdown(text)}")
        with st.expander("Signatures"):
            st.text(f"{found.signature}|{human_scores.signature}")
