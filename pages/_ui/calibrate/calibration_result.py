"""The fit of λ: its result in words, the numbers behind it, warnings, and the saved λs of a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import count

import streamlit as st

from core.calibration.calibrate import BestAgreement, Calibration, CalibrationPoint, calibrate
from core.calibration.presets import ENOUGH_RATERS, PRESETS, enough_outputs
from core.formatting import format_count, format_fitted_lambda, format_lambda, format_number
from core.plots.calibration import MEASURE_NAMES, calibration_chart, plateau_text
from core.ports.calibration import SavedLambda
from core.ports.projects import Project
from core.services.calibrate import calibration as service
from core.services.calibrate.calibration import HumanScores, LambdaFitOptions
from core.services.projects.view import Column
from core.stats.correlation.correlation import Measure
from pages._ui.calibrate.calibration_form import GROUPS, MEASURES, scheme_words
from pages._ui.shared import drafts, errors, jobs, page, state, tables, wiring
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

    fitted = partial(calibrate, data, **choice._asdict(), presets=PRESETS, available=available, on_best=show_best)
    try:
        return run_cached(("fit", digest(data), choice, available), words, lambda progress: fitted(progress=progress))
    finally:
        place.empty()


def interval(pair: tuple[float, float] | None) -> str:
    return f" [{format_fitted_lambda(pair[0], pair)}, {format_fitted_lambda(pair[1], pair)}]" if pair else ""


def best_lambda(calibration: Calibration) -> str:
    """Return the λ with the best agreement, to the digits that its 95 % CI supports."""
    return format_fitted_lambda(calibration.lam, calibration.ci)


def best_sentence(best: BestAgreement, human_scores: HumanScores, choice: LambdaFitOptions) -> str:
    """Return what is known before the 95 % CIs, as Markdown."""
    beside = f"λ = 1: {format_number(best.at_one, missing='undefined')}"
    return (
        f"#### Best agreement: λ = {format_lambda(best.lam)}\n{MEASURES[choice.measure]} = {format_number(best.agreement)} with {human_scores.words} "
        f"on {best.n:,} outputs ({escape_markdown(beside)}). The 95 % CI and the recommendation are being computed."
    )


def sentence(calibration: Calibration, human_scores: HumanScores, choice: LambdaFitOptions) -> str:
    """Return the result in one sentence, as Markdown."""
    sign, advised = MEASURES[choice.measure], calibration.advice.lam
    head = (
        "No λ is recommended"
        if advised is None
        else f"Recommended: λ = {best_lambda(calibration) if advised == calibration.lam else format_lambda(advised)}"
    )
    beside = f"λ = 1: {format_number(calibration.at['1'])}; BARTScore without refinement: {format_number(calibration.at['vanilla'], missing='undefined')}"
    return (
        f"#### {head}\nλ = {best_lambda(calibration)}{interval(calibration.ci)} agrees best with {human_scores.words} on {calibration.n:,} outputs: "
        f"{sign} = {format_number(calibration.agreement)} ({escape_markdown(beside)})"
    )


def recommended(calibration: Calibration) -> None:
    """Draw why this λ is recommended."""
    advice = calibration.advice
    text = escape_markdown(advice.why)
    if advice.lam is not None and advice.lam != calibration.lam:
        page.info(text)
    else:
        st.markdown(text)


def to_save(calibration: Calibration) -> float:
    """Return the λ to save; draws a choice if the recommended λ is not the best one."""
    advised = calibration.advice.lam
    if advised is None or advised == calibration.lam:
        return calibration.lam
    words = {
        advised: f"λ = {format_lambda(advised)}, recommended",
        calibration.lam: f"λ = {best_lambda(calibration)}, best agreement",
    }
    picked: float = st.radio(
        "λ to save", words, format_func=words.__getitem__, horizontal=True, key=drafts.kept("lambda-to-save")
    )
    return picked


def missing(calibration: Calibration, human_scores: HumanScores, project: Project, column: Column) -> None:
    """Draw warnings, and links to get more labels; not while the outputs that have labels are still being scored."""
    raters = len(human_scores.raters) or None
    notes = list(calibration.notes)
    if raters is not None and raters < ENOUGH_RATERS and not any("fewer than" in n for n in notes):
        notes.append("Labels of one annotator only; 2 or 3 are recommended.")
    if notes:
        st.warning("  \n".join(escape_markdown(n) for n in notes), icon=":material/warning:")
    running = [job for job in jobs.active(project.id) if column.metric in job.metrics]
    if calibration.n < len(human_scores.scores) and running:
        st.caption(
            f"{column.label} is still being computed: {calibration.n:,} of {format_count(len(human_scores.scores), 'output')} with human "
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


def scanned(calibration: Calibration) -> bool:
    """Return whether λ comes from a scan instead of the exact search: acc_eq, except over system means."""
    return "acc_eq(eps=best" in calibration.signature


def chart(calibration: Calibration, human_scores: HumanScores, measure: Measure) -> None:
    """Draw the agreement by λ with its legend, and on request the published λ."""
    place = st.container()
    shown = bool(calibration.presets) and st.toggle(
        "Show the published λ (Lu et al. 2023) in the chart", key=drafts.kept("lambda-published"),
        help="Each belongs to one data set. Hover over a line for its name.",
    )  # fmt: skip
    with place:
        head = f"λ = {best_lambda(calibration)}{interval(calibration.ci)} agrees best with {human_scores.words} on {calibration.n:,} outputs"
        drawing = calibration_chart(calibration if shown else replace(calibration, presets={}), measure)
        figure(drawing, head, _legend(calibration, published=shown), "lambda")


def _legend(calibration: Calibration, *, published: bool) -> str:
    vanilla = "dashed line: BARTScore without refinement · " if calibration.at["vanilla"] is not None else ""
    return (
        f"Line: agreement at each λ ({'scan' if scanned(calibration) else 'exact'}) · orange: λ with the best agreement {plateau_text(calibration.plateau)} · "
        f"pale band: likely range of the agreement (95 % CI, bootstrap over segments) · {vanilla}grey line: λ = 1"
        + (" · green lines: λ published by Lu et al. (2023), with the data set on hover" if published else "")
    )


def details(calibration: Calibration, human_scores: HumanScores, choice: LambdaFitOptions, column: Column) -> None:
    """Draw the agreement at other λs, cross-validation, and the signature."""
    sign = MEASURES[choice.measure]
    rows = [
        {"λ": best_lambda(calibration), "what": "best agreement", sign: calibration.agreement},
        {"λ": "0", "what": "implicit errors only", sign: calibration.at["0"]},
        {"λ": "1", "what": "equal weights", sign: calibration.at["1"]},
        {"λ": "∞", "what": "explicit errors only", sign: calibration.at["inf"]},
        {"λ": "–", "what": "BARTScore without refinement", sign: calibration.at["vanilla"]},
    ]
    four = {sign: partial(format_number, digits=4)}
    left, right = st.columns([3, 2], gap="large")
    with left:
        tables.data_table(rows, four)
        with st.expander("Published λ (Lu et al. 2023) on this data"):
            presets = [
                {
                    "data set": p.label, "what it is": p.about, "λ": format_lambda(p.lam), sign: calibration.presets[p.label][1], "chosen with": p.made_with,
                    "different here": p.differs(column.facts),
                }
                for p in PRESETS if p.label in calibration.presets
            ]  # fmt: skip
            tables.data_table(presets, four)
            st.caption(
                "Each λ was chosen for one direction and prompt list (Lu et al. 2023, Table 7). The last column lists what is "
                "different in the scores used here."
            )
    with right:
        cv = calibration.cross_validated
        cross_validated = (
            f"{sign} = {format_number(cv.value)}: mean over {cv.folds} folds, each compared within itself, so it may be higher than the "
            "agreement over all outputs"
        )
        facts = {
            f"Test on {cv.over} that were not used (cross-validated)": cv.too_small(calibration.n) or cross_validated
        }
        if calibration.agreement_ci:
            low, high = map(format_number, calibration.agreement_ci)
            facts[f"{escape_markdown(sign)} at λ = {best_lambda(calibration)}, 95 % CI"] = f"[{low}, {high}]"
        segments = format_count(calibration.n_segments, "segment")
        facts["Fitted on"] = (
            f"{format_count(calibration.n, 'output')} of {format_count(calibration.n_systems, 'system')}, {segments}"
        )
        for name, text in facts.items():
            st.markdown(f"**{name}**  \n{escape_markdown(text)}")
        with st.expander("Signatures"):
            st.text(f"{calibration.signature}|{human_scores.signature}")


LONGEST_NAME = 80


def saved(project: Project, columns: Sequence[Column]) -> None:
    """Draw the saved λs: what each was fitted on, use, delete."""
    fitted = wiring.store().calibrations.list(project.id)
    if not fitted:
        return
    st.subheader("Saved λs", anchor=False)
    for item in reversed(fitted):
        with st.container(border=True):
            _saved(project, item, columns)


def _saved(project: Project, item: SavedLambda, columns: Sequence[Column]) -> None:
    at, of = service.saved_agreement(item), service.origin(item)
    mine = next((c for c in columns if c.refinement_signature == item.refinement), None)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{escape_markdown(item.name)}**  \nλ = {text_of(item)}{interval(of.interval)}, agreement {format_number(at)}",
            help=escape_markdown(item.signature), width="stretch",
        )  # fmt: skip
        if st.button("Use on Compare", key=f"use-{item.id}"):
            state.use_lambda(project.id, item.value)
            if mine is not None:
                state.use_refinement(project.id, mine.name)
            st.switch_page("pages/compare.py", query_params=address(project, item.value))
        if wiring.may_change(project.id) and st.button("Delete", key=f"delete-{item.id}", type="tertiary"):
            with errors.boundary():
                wiring.store().calibrations.delete(project.id, item.name)
                st.rerun()
    when = page.moment(item.created) if item.created else ""
    facts = (
        of.outputs, of.human_scores, of.weights and f"severity weights: {scheme_words(of.weights)}", of.measure and MEASURE_NAMES.get(of.measure, of.measure),
        next((text for g, text in GROUPS.items() if g == of.group), of.group), of.model, when,
    )  # fmt: skip
    st.caption(" · ".join(escape_markdown(f) for f in facts if f))
    if mine is None:
        st.caption(":material/warning: It was fitted on scores that this project no longer has.")


def usual_name(project: Project, human_scores: HumanScores, batch: str) -> str:
    """Return a name for a λ that says what it was fitted on and that no saved λ of the project has."""
    parts = ("MQM" if human_scores.scheme else "", human_scores.words.removeprefix("the "), batch)
    base = ", ".join(part for part in parts if part)[: LONGEST_NAME - 6]
    taken = {item.name.casefold() for item in wiring.store().calibrations.list(project.id)}
    names = (base if n == 1 else f"{base} ({n})" for n in count(1))
    return next(name for name in names if name.casefold() not in taken)


def text_of(item: SavedLambda) -> str:
    """Return a saved λ, to the digits that its 95 % CI supports."""
    return format_fitted_lambda(item.value, service.origin(item).interval)


def address(project: Project, lam: float) -> dict[str, str]:
    """Return the query parameters of Compare at this λ."""
    return {state.PROJECT: str(project.id), state.LAMBDA: state.lambda_parameter(lam)}
