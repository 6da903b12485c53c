"""The data and results of a meta-evaluation, computed once and kept in the session."""

from __future__ import annotations

import hashlib
from typing import Any

import streamlit as st

from core.ports.projects import Project
from core.services.calibrate.calibration import HumanScores
from core.services.evaluate import evaluate as service
from core.services.evaluate import significance as tests
from core.services.evaluate.evaluate import AgreementOptions, AgreementRow, Evaluation, StatisticName
from core.services.evaluate.evaluation_data import EvaluationData, ScoredMetric, from_view
from core.services.projects.view import View
from pages._ui.meta_evaluation.evaluation_form import EvaluationOptions
from pages._ui.shared import wiring
from pages._ui.shared.markdown import escape_markdown

_KEPT, KEPT = "evaluate_kept", 24


def joined(project: Project, view: View, people: HumanScores, wanted: EvaluationOptions) -> EvaluationData:
    """Return the compared outputs, kept until their data change."""
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
    _people: HumanScores,
) -> EvaluationData:
    return from_view(_view, _people, names=names, lam=lam, excluded=excluded, seed=seed)


def evaluated(data: EvaluationData, choice: AgreementOptions) -> Evaluation:
    """Return every metric and baseline under every statistic, with the slow intervals if they were requested."""
    key = data.digest, choice
    if key not in _kept():
        whole = data.whole() if choice.level == "system" else data
        bar = st.progress(0.0, "Computing agreement and 95 % CIs …")
        rows: list[AgreementRow] = []
        for k, contestant in enumerate(data.scored_metrics):
            rows += _rows(data.digest, choice, contestant, _data=whole)
            bar.progress((k + 1) / len(data.scored_metrics), f"Computed {escape_markdown(contestant.label)}")
        bar.empty()
        _kept()[key] = Evaluation(tuple(rows), data, choice)
    kept: Evaluation = _kept().get((*key, "soft"), _kept()[key])
    return kept


@st.cache_data(max_entries=200, ttl=1800, show_spinner=False)
def _rows(
    digest: str, choice: AgreementOptions, contestant: ScoredMetric, *, _data: EvaluationData
) -> tuple[AgreementRow, ...]:
    return service.rows_of(_data, contestant, choice)


def _kept() -> dict[tuple[object, ...], Any]:
    """Return the newest results of this browser session."""
    kept: dict[tuple[object, ...], Any] = st.session_state.setdefault(_KEPT, {})
    while len(kept) > KEPT:
        kept.pop(next(iter(kept)))
    return kept


def matrix(found: Evaluation, statistic: StatisticName) -> tests.SignificanceMatrix | None:
    """Return the tests between metrics, if they have been run."""
    done: tests.SignificanceMatrix | None = _kept().get((found.joined.digest, found.choice, statistic))
    return done


def keep_matrix(found: Evaluation, statistic: StatisticName, done: tests.SignificanceMatrix) -> None:
    _kept()[found.joined.digest, found.choice, statistic] = done


def keep_soft(found: Evaluation, done: Evaluation) -> None:
    _kept()[found.joined.digest, found.choice, "soft"] = done
