"""λ by number of labelled outputs, for each annotator, under each weight scheme, and on the K best systems (Lu et al. 2023, Figures 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from core.calibration.calibrate import Calibration, CalibrationPoint
from core.calibration.curve import omega
from core.calibration.learning import PAPER, WHOLE, Law, Learning, SystemHumanMean, Top, by_top, learn, ranking
from core.data import OutputKey, Value
from core.formatting import format_lambda, format_number, format_percent
from core.mqm.schemes import Scheme
from core.plots.calibration import (
    AgreementAtK,
    NamedLambda,
    agreement_by_labels,
    curves_at_top,
    estimates,
    heatmap,
    metrics_at_top,
    width_by_labels,
)
from core.ports.projects import Project
from core.services.calibrate import lambda_sensitivity as sensitivity
from core.services.calibrate.calibration import HumanScores, LambdaFitOptions
from core.services.evaluate import evaluate
from core.services.projects.view import Column, View
from pages._ui.calibrate import calibration_form
from pages._ui.calibrate.calibration_form import MEASURES, scheme_name, schemes
from pages._ui.calibrate.calibration_result import best_lambda, interval
from pages._ui.labels_and_raters import known_labels
from pages._ui.meta_evaluation import evaluation_data
from pages._ui.shared import drafts, page, tables, wiring
from pages._ui.shared.files import figure
from pages._ui.shared.long_jobs import digest, run_cached
from pages._ui.shared.markdown import escape_markdown

OF_LABELS = "only with MQM labels; other human scores have no weighted errors."

WHY = "undefined because"


def annotators(project: Project, column: Column, human_scores: HumanScores, choice: LambdaFitOptions) -> None:
    """Draw λ fitted to each annotator alone and to all together."""
    if human_scores.scheme is None:
        return
    labels = known_labels.submitted(project)
    table = wiring.view(project).table(column.name).picked(known_labels.by_output(project))
    raters, scheme = human_scores.raters, human_scores.scheme
    by_annotator = run_cached(
        ("annotators", digest(column.signature, labels.digest, raters, scheme, distances(table)), choice),
        "Fitting λ to each annotator …",
        lambda progress: sensitivity.by_rater(labels, raters, scheme, table, choice, progress),
    )
    if by_annotator is None:
        return
    sign = MEASURES[choice.measure]

    def name(alone: sensitivity.RaterLambda) -> str:
        return alone.raters[0] if len(alone.raters) == 1 else "all together"

    _chart({name(a): a.calibration for a in by_annotator}, "each annotator", "lambda-by-annotator", choice)
    said = [{"annotator": name(a), "outputs": a.n, **_fitted(a.calibration, sign), WHY: a.reason} for a in by_annotator]
    tables.data_table(without_reasons(said))
    st.caption(
        f"Line: 95 % CI (bootstrap over segments); pale band: that of the first row. Annotators with fewer than "
        f"{sensitivity.FEWEST_OF_RATER} scored outputs get no λ. Annotators may have labelled different outputs."
    )


def distances(table: Mapping[OutputKey, Value]) -> list[tuple[object, ...]]:
    """Return the parts of the scores that λ depends on."""
    return [(k, tuple(v.parts.items())) for k, v in table.items() if v.status == "ok"]


def without_reasons(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return the rows without the column of reasons if everything is defined."""
    if any(row[WHY] for row in rows):
        return list(rows)
    return [{k: v for k, v in row.items() if k != WHY} for row in rows]


def _chart(fits: Mapping[str, Calibration | None], of: str, what: str, choice: LambdaFitOptions) -> None:
    """Draw the λ of each fit that succeeded, with its interval."""
    rows = [NamedLambda(name, c.lam, c.ci, format_number(c.agreement)) for name, c in fits.items() if c]
    if rows:
        said = f"Dot: λ with the best agreement ({MEASURES[choice.measure]}); bar: 95 % CI, bootstrap over segments."
        figure(estimates(rows), f"λ of BARTScore++ for {of}", said, what)


def _fitted(calibration: Calibration | None, sign: str) -> dict[str, str]:
    if calibration is None:
        return {"λ": "–", "95 % CI": "–", sign: "–"}
    cv = calibration.cross_validated
    cross_validated = None if cv.too_small(calibration.n) else cv.value
    return {
        "λ": best_lambda(calibration), "95 % CI": interval(calibration.ci).strip() or "none",
        sign: format_number(calibration.agreement), f"{sign}, cross-validated": format_number(cross_validated),
    }  # fmt: skip


def weights(project: Project, column: Column, human_scores: HumanScores, choice: LambdaFitOptions) -> None:
    """Draw λ and the ranking of systems under each weight scheme, and an editor for new schemes."""
    if human_scores.scheme is None:
        return
    labels = known_labels.submitted(project)
    table = wiring.view(project).table(column.name).picked(known_labels.by_output(project))
    others = [s for s in schemes(project).values() if s != human_scores.scheme]
    order = [human_scores.scheme, *others]
    by_scheme = run_cached(
        ("weights", digest(column.signature, labels.digest, human_scores.raters, order, distances(table)), choice),
        "Fitting λ under each weight scheme …",
        lambda progress: sensitivity.by_scheme(labels, human_scores.raters, order, table, choice, progress),
    )
    if by_scheme is None:
        return
    sign, first = MEASURES[choice.measure], _weights(human_scores.scheme)
    _chart({_weights(u.scheme): u.calibration for u in by_scheme}, "each weight scheme", "lambda-by-weights", choice)
    st.markdown(escape_markdown(_sensitivity(by_scheme, sign)))
    at = f"{sign} with the λ fitted under {first}"
    said = [
        {
            "weights": _weights(u.scheme), "outputs": u.n, **_fitted(u.calibration, sign),
            at: format_number(u.at_first) if u.calibration else "–",
            f"same ranking of systems as under {first} (τ-b)": format_number(sensitivity.same_order(by_scheme[0], u).value),
            WHY: u.reason,
        }
        for u in by_scheme
    ]  # fmt: skip
    tables.data_table(without_reasons(said))
    _ranks(by_scheme)
    calibration_form.editor(project)


def _sensitivity(by_scheme: Sequence[sensitivity.SchemeLambda], sign: str) -> str:
    """Return how much λ and the ranking vary between schemes."""
    losses = [
        (u.calibration.lam, u.calibration.agreement - u.at_first)
        for u in by_scheme
        if u.calibration and u.at_first is not None
    ]
    if len(losses) < 2:
        return "λ is defined under fewer than two schemes: nothing to compare."
    lams, first = [lam for lam, _ in losses], _weights(by_scheme[0].scheme)
    text = f"Over all schemes λ is between {format_lambda(min(lams))} and {format_lambda(max(lams))}."
    if by_scheme[0].calibration:
        text += f" The λ fitted under {first}, used under other weights, loses at most {format_number(max(0.0, *(d for _, d in losses)))} of {sign}."
    taus = [t for u in by_scheme[1:] if (t := sensitivity.same_order(by_scheme[0], u).value) is not None]
    if taus:
        text += (
            " The ranking of systems is the same under all schemes." if min(taus) == 1
            else f" The ranking of systems changes: its lowest τ-b with that under {first} is {format_number(min(taus))}."
        )  # fmt: skip
    return text


def _weights(scheme: Scheme) -> str:
    """Return the name of a scheme for tables and sentences; `scheme_words` adds its weights."""
    return {"google": "Google MQM weights", "marot": "Marot weights", "flat": "severity-only weights"}.get(
        scheme.name, scheme_name(scheme)
    )


def _ranks(by_scheme: Sequence[sensitivity.SchemeLambda]) -> None:
    systems = next((u.systems for u in by_scheme if u.systems), ())
    if len(systems) < 2:
        return
    st.markdown("**Systems by human score under each scheme**")

    def cell(under: sensitivity.SchemeLambda, system: str) -> str:
        score, rank = under.score(system), under.rank(system)
        return "–" if score is None else f"{rank} ({format_number(score, 2, leading_zero=True)})"

    tables.data_table(
        [{"system": s.system, **{_weights(u.scheme): cell(u, s.system) for u in by_scheme}} for s in systems]
    )
    st.caption(
        "Rank and mean score over all labelled outputs (penalties as negative numbers, mean over annotators). Kendall τ-b of two "
        "rankings is 1 if they are equal and −1 if one is the reverse of the other."
    )


DRAWS = 100
PARTS = "λ fitted on parts of the labelled segments, five random draws each. Points: means of the draws; bars: lowest and highest."


def labels(data: tuple[CalibrationPoint, ...], calibration: Calibration, choice: LambdaFitOptions) -> None:
    """Draw the learning curve and its forecast."""
    learned = run_cached(
        ("labels", digest(data), choice),
        "Fitting λ on parts of the labels …",
        lambda progress: learn(
            data, measure=choice.measure, group=choice.group, seed=choice.seed, draws=DRAWS, progress=progress
        ),
    )
    if learned is None:
        return
    current_interval = ""
    if calibration.ci:
        wide = omega(calibration.ci[1]) - omega(calibration.ci[0])
        current_interval = f"The 95 % CI of λ is now {escape_markdown(interval(calibration.ci).strip())}, {wide:.2f} wide on the scale ω = λ/(1+λ), which runs from 0 to 1. "
    said = [
        f"{f.width:.2f} wide with {f.n} outputs ({f.times:g}×), for example **{escape_markdown(interval(f.around).strip())}**"
        for f in learned.forecasts
    ]
    if said:
        st.markdown(
            f"{current_interval}Forecast: {', and '.join(said)}. A forecast extrapolates the curve; it is not a measurement."
        )
    else:
        page.info(f"{current_interval}No forecast: {escape_markdown(learned.reason)}.")
    left, right = st.columns(2, gap="large")
    law = learned.law
    fitted = (
        f" Dashed: {law_text(law)}, fitted to the widths and extrapolated; rings: 1.5 and 2 times the labels."
        if law
        else ""
    )
    about = (
        f"{PARTS}{fitted} ω = λ/(1+λ) runs from 0 to 1. The widths come from {DRAWS} resamples, so the last one may differ from the "
        "95 % CI above, which has more."
    )
    if any(s.width for s in learned.steps):
        left.markdown("**Width of the 95 % CI of λ** (in ω) by number of labelled outputs")
        head = "Width of the 95 % CI of λ by number of labelled outputs"
        figure(width_by_labels(learned), head, about, "lambda-width", place=left)
    if any(s.agreement for s in learned.steps):
        right.markdown(f"**Cross-validated {escape_markdown(MEASURES[choice.measure])}** by number of labelled outputs")
        head = f"Cross-validated {MEASURES[choice.measure]} by number of labelled outputs"
        figure(agreement_by_labels(learned, choice.measure), head, PARTS, "lambda-agreement", place=right)
    with st.expander("Table"):
        sign = f"{MEASURES[choice.measure]}, cross-validated"
        tables.data_table(
            without_reasons(_steps(learned, sign)),
            {sign: partial(format_number, digits=4), "width in ω": format_number},
        )
        page.caption(f"Signature: {learned.signature}")


def law_text(law: Law) -> str:
    """Return the fitted law as text."""
    return f"{law.b:.2f}/√n" if law.a < 0.005 else f"{law.a:.2f} + {law.b:.2f}/√n"


def _steps(learned: Learning, sign: str) -> list[dict[str, object]]:
    return [
        {
            "share": format_percent(s.share), "segments": s.n_segments, "outputs": round(s.n), "draws": s.draws,
            sign: s.agreement and s.agreement.mean,
            "width in ω": s.width and s.width.mean, WHY: s.reason,
        }
        for s in learned.steps
    ]  # fmt: skip


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
    asked = evaluation_data.EvaluationOptions(
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
