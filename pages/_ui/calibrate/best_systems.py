"""λ and the agreement of all metrics on the K best systems (Lu et al. 2023, Figures 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.calibration.calibrate import Calibration, CalibrationPoint
from core.calibration.learning import PAPER, WHOLE, SystemHumanMean, Top, by_top, ranking
from core.formatting import format_lambda, format_number
from core.plots.calibration import AgreementAtK, curves_at_top, heatmap, metrics_at_top
from core.ports.projects import Project
from core.services.calibrate import lambda_sensitivity as sensitivity
from core.services.calibrate.calibration import HumanScores, LambdaFitOptions
from core.services.evaluate import evaluate
from core.services.projects.view import View
from pages._ui.calibrate.learning_curve import DRAWS
from pages._ui.meta_evaluation import evaluation_data, evaluation_form
from pages._ui.shared import drafts, page
from pages._ui.shared.files import figure
from pages._ui.shared.long_jobs import digest, run_cached
from pages._ui.shared.markdown import escape_markdown


def best_systems(
    project: Project,
    view: View,
    data: tuple[CalibrationPoint, ...],
    calibration: Calibration,
    human_scores: HumanScores,
    choice: LambdaFitOptions,
) -> None:
    """Draw Figures 2 and 3 of the paper for this project."""
    order = ranking(data)
    tops = run_cached(
        ("tops", digest(data), choice),
        "Fitting λ on the K best systems …",
        lambda progress: by_top(
            data, measure=choice.measure, group=choice.group, seed=choice.seed, draws=DRAWS, progress=progress
        ),
    )
    if tops is None:
        return
    st.markdown(f"**λ on the K best systems** (Lu et al. 2023, Figure 2)  \n{escape_markdown(_fluctuation(tops))}")
    if any(t.lam is not None for t in tops):
        figure(
            curves_at_top(tops, choice.measure),
            _fluctuation(tops),
            "Agreement by λ on the K best systems (as Lu et al. 2023, Figure 2).",
            "best-systems",
        )
        left, right = st.columns(2)
        grid = left.segmented_control(
            "λ", ["0 to ∞", "0.5 to 1.7, as in Lu et al. (2023)"], default="0 to ∞", required=True, key=drafts.kept("lambda-top-grid"),
        )  # fmt: skip
        shown = right.segmented_control(
            "Colour", ["agreement", "loss against the best λ"], default="agreement", required=True, key=drafts.kept("lambda-top-colour"),
        )  # fmt: skip
        cells = WHOLE if grid == "0 to ∞" else PAPER
        said = f"Colour: {shown}. Dot: best λ for this K; line: its 95 % CI (bootstrap over segments). Values beyond the axis are not drawn."
        figure(
            heatmap(tops, cells, choice.measure, loss=shown != "agreement"),
            _fluctuation(tops),
            said,
            "best-systems-map",
        )
    for t in tops:
        if t.reason:
            page.caption(f"K = {t.k}: undefined, {t.reason}.")
    _of_metrics(project, view, calibration, human_scores, choice, order)


def _fluctuation(tops: Sequence[Top]) -> str:
    """Return how much the best λ varies with K, compared with its intervals."""
    defined = [t for t in tops if t.lam is not None]
    if not defined:
        return "Undefined at every K."
    lams = [t.lam for t in defined if t.lam is not None]
    text = f"The best λ is between {format_lambda(min(lams))} and {format_lambda(max(lams))} for K = {defined[0].k} to {defined[-1].k}."
    if len(defined) == 1:
        return f"For K = {defined[0].k} (all systems) λ = {format_lambda(lams[0])}."
    ends = [t.ci for t in defined if t.ci]
    if len(ends) == len(defined):
        low, high = max(e[0] for e in ends), min(e[1] for e in ends)
        same = (
            f"Every λ in [{format_lambda(low)}, {format_lambda(high)}] is in the 95 % CI of every K"
            if low <= high
            else "No λ is in the 95 % CI of every K"
        )
        text += f" {same}."
    return text


def _of_metrics(
    project: Project,
    view: View,
    calibration: Calibration,
    human_scores: HumanScores,
    choice: LambdaFitOptions,
    order: Sequence[SystemHumanMean],
) -> None:
    names = [s.system for s in order]
    asked = evaluation_form.EvaluationOptions(
        evaluate.AgreementOptions(seed=choice.seed), "kendall", (), (), calibration.lam
    )
    joined = evaluation_data.joined(project, view, human_scores, asked)
    rows = run_cached(
        ("metrics", digest(joined.digest, names), choice),
        "Comparing metrics on the K best systems …",
        lambda progress: sensitivity.metrics_at_top(joined, names, choice.measure, choice.group, progress=progress),
    )
    if rows is None:
        return
    st.markdown("**Metrics on the K best systems** (Lu et al. 2023, Figure 3)")
    points = [AgreementAtK(r.label, r.k, r.agreement.value, r.sentinel) for r in rows if r.agreement.value is not None]
    if not points:
        page.info("The agreement of every metric is undefined on these outputs at every K.")
        return
    said = (
        "Systems are ranked by their mean human score over all rated outputs: "
        + ", ".join(f"{s.system} {format_number(s.mean, 2, leading_zero=True)}" for s in order)
        + f". Only outputs that every metric has scored; λ = {format_lambda(calibration.lam)} was fitted on the same outputs. Grey, dotted: "
        "baselines. For intervals see Meta-evaluation."
    )
    figure(
        metrics_at_top(points, choice.measure),
        "Metrics on the K best systems (as Lu et al. 2023, Figure 3)",
        said,
        "metrics-on-best-systems",
    )
