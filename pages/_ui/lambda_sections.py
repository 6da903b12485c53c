"""What stands behind a λ: how many more labels, each annotator alone, each weight scheme, and the K best systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.calibration.calibrate import Calibration, Point
from core.calibration.curve import omega
from core.calibration.learning import Law, Learning, learn
from core.calibration.top_systems import FEWEST_SYSTEMS, PAPER, WHOLE, SystemMean, Top, by_top, ranking
from core.data import OutputKey, RatedOutput, Value
from core.formats.problems import counted
from core.plots import lambda_studio as plots
from core.plots.calibration import lambda_text
from core.ports import Project, Store
from core.services import calibration as service
from core.services import evaluate
from core.services import lambda_sensitivity as sensitivity
from core.services.calibration import Choice, People
from core.services.view import Column, View
from pages._ui import errors, evaluate_parts, lambda_schemes, wiring
from pages._ui.lambda_parts import MEASURES, digest, interval, number, scheme_name, schemes
from pages._ui.lambda_work import worked

OF_LABELS = "This is about MQM labels; other human scores are not made of weighted errors."
DRAWS = 100
WHY = "undefined because"


def labels(data: tuple[Point, ...], found: Calibration, choice: Choice) -> None:
    """The learning curve and its forecast."""
    learned = worked(
        ("labels", digest(data), choice),
        "Fitting λ on parts of the labels …",
        lambda tell: learn(data, measure=choice.measure, group=choice.group, seed=choice.seed, draws=DRAWS, tell=tell),
    )
    if learned is None:
        return
    here = ""
    if found.ci:
        wide = omega(found.ci[1]) - omega(found.ci[0])
        here = f"Now λ's interval is {errors.plain(interval(found.ci).strip())}, {wide:.2f} wide in ω. "
    said = [
        f"{f.width:.2f} wide with {f.n} outputs ({f.times:g}×), such as **{errors.plain(interval(f.around).strip())}**"
        for f in learned.forecasts
    ]
    if said:
        st.markdown(f"{here}Forecast: {', and '.join(said)}. A forecast carries the curve on; it is no measurement.")
    else:
        st.info(f"{here}There is no forecast: {errors.plain(learned.reason)}.", icon=":material/info:")
    left, right = st.columns(2, gap="large")
    if any(s.width for s in learned.steps):
        left.markdown("**Width of λ's 95 % interval**, in ω, by labelled outputs")
        left.altair_chart(plots.width_by_labels(learned), width="stretch")
    if any(s.agreement for s in learned.steps):
        right.markdown(f"**Cross-validated {errors.plain(MEASURES[choice.measure])}** by labelled outputs")
        right.altair_chart(plots.agreement_by_labels(learned, choice.measure), width="stretch")
    law = learned.law
    fitted = (
        f" Dashed: {law_text(law)}, fitted to the widths and carried on; rings: 1.5 and 2 times the labels."
        if law
        else ""
    )
    st.caption(
        "λ fitted on parts of the labelled segments, five random draws each; points: means of the draws, bars: the lowest and the "
        f"highest.{errors.plain(fitted)} ω = λ/(1+λ) runs from 0 to 1."
    )
    with st.expander("As a table"):
        st.dataframe(_told(_steps(learned, MEASURES[choice.measure])), hide_index=True, width="stretch")
        st.caption(errors.plain(learned.signature))


def law_text(law: Law) -> str:
    return f"{law.b:.2f}/√n" if law.a < 0.005 else f"{law.a:.2f} + {law.b:.2f}/√n"


def _steps(learned: Learning, sign: str) -> list[dict[str, object]]:
    return [
        {
            "share": f"{s.share:.0%}", "segments": s.n_segments, "outputs": round(s.n), "draws": s.draws,
            f"{sign}, cross-validated": s.agreement and round(s.agreement.mean, 4),
            "width in ω": s.width and round(s.width.mean, 3), WHY: s.reason,
        }
        for s in learned.steps
    ]  # fmt: skip


def annotators(store: Store, project: Project, column: Column, people: People, choice: Choice) -> None:
    """λ fitted to each annotator alone, beside all of them."""
    if people.scheme is None:
        st.info(OF_LABELS, icon=":material/info:")
        return
    rated, table = service.labelled(store, project), wiring.view(project).tables[column.name]
    raters, scheme = people.raters, people.scheme
    found = worked(
        ("annotators", digest(column.signature, rated, raters, scheme, distances(table, rated)), choice),
        "Fitting λ to each annotator …",
        lambda tell: sensitivity.by_rater(rated, raters, scheme, table, choice, tell),
    )
    if found is None:
        return
    sign = MEASURES[choice.measure]

    def name(alone: sensitivity.Alone) -> str:
        return alone.raters[0] if len(alone.raters) == 1 else "all together"

    rows = [plots.Estimate(name(a), a.found.lam, a.found.ci, number(a.found.agreement)) for a in found if a.found]
    if rows:
        st.altair_chart(plots.estimates(rows), width="stretch")
    said = [{"annotator": name(a), "outputs": a.n, **_fitted(a.found, sign), WHY: a.reason} for a in found]
    st.dataframe(_told(said), hide_index=True, width="stretch")
    st.caption(
        f"Line: 95 % bootstrap interval over segments; the pale band is that of the first row. Annotators with fewer than "
        f"{sensitivity.FEWEST_OF_RATER} scored outputs have no λ of their own. They need not have rated the same outputs."
    )


def distances(table: Mapping[OutputKey, Value], rated: Sequence[RatedOutput]) -> list[tuple[object, ...]]:
    """What λ depends on of the scores of the rated outputs."""
    keys = {r.key for r in rated}
    return [(k, tuple(v.parts.items())) for k, v in table.items() if k in keys and v.status == "ok"]


def _told(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Without the column of reasons where everything is defined."""
    if any(row[WHY] for row in rows):
        return list(rows)
    return [{k: v for k, v in row.items() if k != WHY} for row in rows]


def _fitted(found: Calibration | None, sign: str) -> dict[str, str]:
    if found is None:
        return {"λ": "–", "95 % interval": "–", sign: "–"}
    held = found.cross_validated.value
    return {
        "λ": lambda_text(found.lam), "95 % interval": interval(found.ci).strip() or "none",
        sign: number(found.agreement), f"{sign}, cross-validated": number(held),
    }  # fmt: skip


def weights(store: Store, project: Project, column: Column, people: People, choice: Choice) -> None:
    """λ and the ranking of systems under each weight scheme, and an editor for one's own."""
    if people.scheme is None:
        st.info(OF_LABELS, icon=":material/info:")
        return
    rated, table = service.labelled(store, project), wiring.view(project).tables[column.name]
    others = [s for s in schemes(store, project).values() if s != people.scheme]
    order = [people.scheme, *others]
    found = worked(
        ("weights", digest(column.signature, rated, people.raters, order, distances(table, rated)), choice),
        "Fitting λ under each weight scheme …",
        lambda tell: sensitivity.by_scheme(rated, people.raters, order, table, choice, tell),
    )
    if found is None:
        return
    sign, first = MEASURES[choice.measure], scheme_name(people.scheme)
    rows = [
        plots.Estimate(scheme_name(u.scheme), u.found.lam, u.found.ci, number(u.found.agreement))
        for u in found
        if u.found
    ]
    if rows:
        st.altair_chart(plots.estimates(rows), width="stretch")
    st.markdown(errors.plain(_sensitivity(found, sign)))
    at = f"{sign} at the λ of {first}"
    said = [
        {
            "weights": scheme_name(u.scheme), "outputs": u.n, **_fitted(u.found, sign),
            at: number(u.at_first) if u.found else "–",
            f"τ-b of the ranking with {first}": number(sensitivity.same_order(found[0], u).value),
            WHY: u.reason,
        }
        for u in found
    ]  # fmt: skip
    st.dataframe(_told(said), hide_index=True, width="stretch")
    _ranks(found)
    lambda_schemes.editor(store, project)


def _sensitivity(found: Sequence[sensitivity.Under], sign: str) -> str:
    """How far λ and the ranking move from scheme to scheme."""
    there = [
        (u.found.lam, u.found.agreement - (u.at_first or 0.0)) for u in found if u.found and u.at_first is not None
    ]
    if len(there) < 2:
        return "λ is defined under fewer than two schemes, so there is nothing to compare."
    lams, first = [lam for lam, _ in there], scheme_name(found[0].scheme)
    text = f"From scheme to scheme λ lies between {lambda_text(min(lams))} and {lambda_text(max(lams))}."
    if found[0].found:
        text += f" With the λ of {first} under another scheme at most {number(max(0.0, *(d for _, d in there)))} of {sign} is lost."
    taus = [t for u in found[1:] if (t := sensitivity.same_order(found[0], u).value) is not None]
    if taus:
        text += (
            " Systems come in the same order under all." if min(taus) == 1
            else f" The order of systems moves: τ-b with that of {first} is {number(min(taus))} at the lowest."
        )  # fmt: skip
    return text


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _ranks(found: Sequence[sensitivity.Under]) -> None:
    systems = next((u.systems for u in found if u.systems), ())
    if len(systems) < 2:
        return
    st.markdown("**Systems by human score under each scheme**")

    def cell(under: sensitivity.Under, system: str) -> str:
        score, rank = under.score(system), under.rank(system)
        return "–" if score is None else f"{rank} ({_signed(score)})"

    st.dataframe(
        [{"system": s.system, **{scheme_name(u.scheme): cell(u, s.system) for u in found}} for s in systems],
        hide_index=True, width="stretch",
    )  # fmt: skip
    st.caption(
        "Rank and mean score over all labelled outputs (minus the penalties, mean over annotators). Kendall τ-b between two "
        "rankings is 1 where they are the same and −1 where one is the other upside down."
    )


def best_systems(
    project: Project, view: View, data: tuple[Point, ...], found: Calibration, people: People, choice: Choice
) -> None:
    """Figures 2 and 3 of the paper for this project."""
    order = ranking(data)
    if len(order) < FEWEST_SYSTEMS:
        st.info(
            f"This needs outputs of at least {FEWEST_SYSTEMS} systems; {counted(len(order), 'system')} have both scores.",
            icon=":material/info:",
        )
        return
    tops = worked(
        ("tops", digest(data), choice),
        "Fitting λ on the K best systems …",
        lambda tell: by_top(data, measure=choice.measure, group=choice.group, seed=choice.seed, draws=DRAWS, tell=tell),
    )
    if tops is None:
        return
    st.markdown(f"**λ on the K best systems** (Figure 2 of the paper)  \n{errors.plain(_fluctuation(tops))}")
    if any(t.lam is not None for t in tops):
        st.altair_chart(plots.curves_at_top(tops, choice.measure), width="stretch")
        left, right = st.columns(2)
        grid = left.segmented_control(
            "λ", ["0 to ∞", "0.5 to 1.7, as in the paper"], default="0 to ∞", required=True, key="lambda-top-grid",
        )  # fmt: skip
        shown = right.segmented_control(
            "Colour", ["agreement", "loss against the best λ"], default="agreement", required=True, key="lambda-top-colour",
        )  # fmt: skip
        cells = WHOLE if grid == "0 to ∞" else PAPER
        st.altair_chart(plots.heatmap(tops, cells, choice.measure, loss=shown != "agreement"), width="stretch")
        st.caption(
            "Dot: the best λ for this K; line: its 95 % bootstrap interval over segments, as far as it lies on the axis (a best λ beyond the axis has no dot)."
        )
    for t in tops:
        if t.reason:
            st.caption(errors.plain(f"K = {t.k}: undefined, {t.reason}."))
    _of_metrics(project, view, found, people, choice, order)


def _fluctuation(tops: Sequence[Top]) -> str:
    """How far the best λ moves with K, against how sure it is."""
    there = [t for t in tops if t.lam is not None]
    if not there:
        return "Undefined at every K."
    lams = [t.lam for t in there if t.lam is not None]
    text = f"The best λ lies between {lambda_text(min(lams))} and {lambda_text(max(lams))} for K = {there[0].k} to {there[-1].k}."
    if len(there) == 1:
        return f"For K = {there[0].k}, which is all systems there are, λ = {lambda_text(lams[0])}."
    ends = [t.ci for t in there if t.ci]
    if len(ends) == len(there):
        low, high = max(e[0] for e in ends), min(e[1] for e in ends)
        same = (
            f"Every λ in [{lambda_text(low)}, {lambda_text(high)}] lies in the interval of every K"
            if low <= high
            else "No single λ lies in the intervals of all K"
        )
        text += f" {same}."
    return text


def _of_metrics(
    project: Project, view: View, found: Calibration, people: People, choice: Choice, order: Sequence[SystemMean]
) -> None:
    names = [s.system for s in order]
    asked = evaluate_parts.Asked(evaluate.Choice(seed=choice.seed), "kendall", (), (), found.lam)
    joined = evaluate_parts.joined(project, view, people, asked)
    rows = worked(
        ("metrics", digest(joined.digest, names), choice),
        "Comparing metrics on the K best systems …",
        lambda tell: sensitivity.metrics_at_top(joined, names, choice.measure, choice.group, tell=tell),
    )
    if rows is None:
        return
    st.markdown("**Metrics on the K best systems** (Figure 3 of the paper)")
    there = [plots.AtK(r.label, r.k, r.found.value, r.sentinel) for r in rows if r.found.value is not None]
    if not there:
        st.info(
            "No metric agrees or disagrees with people on these outputs: undefined at every K.", icon=":material/info:"
        )
        return
    st.altair_chart(plots.metrics_at_top(there, choice.measure), width="stretch")
    st.caption(
        "Systems are ranked by their mean human score over all rated outputs: "
        + errors.plain(", ".join(f"{s.system} {_signed(s.mean)}" for s in order))
        + f". On the outputs that every metric has scored; λ = {lambda_text(found.lam)} was fitted on these same outputs. Grey, dotted: "
        "sentinels, which know nothing of quality. Intervals stand on Evaluate."
    )
