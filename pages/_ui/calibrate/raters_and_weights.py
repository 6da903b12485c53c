"""λ for each annotator, and under each weight scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.calibration.calibrate import Calibration
from core.data import OutputKey, Value
from core.formatting import format_lambda, format_number
from core.mqm.schemes import Scheme
from core.plots.calibration import NamedLambda, estimates
from core.ports.projects import Project
from core.services.calibrate import lambda_sensitivity as sensitivity
from core.services.calibrate.calibration import HumanScores, LambdaFitOptions
from core.services.projects.view import Column
from pages._ui.calibrate import calibration_form
from pages._ui.calibrate.calibration_form import MEASURES, scheme_name, schemes
from pages._ui.calibrate.calibration_result import best_lambda, interval
from pages._ui.labels_and_raters import known_labels
from pages._ui.shared import tables, wiring
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
