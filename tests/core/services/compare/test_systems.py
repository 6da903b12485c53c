"""The table systems × scores, and its files."""

import numpy as np

from core.reports.score_tables import systems_csv, systems_latex
from core.services.compare.compare import Query, ordered
from core.services.compare.systems import SystemScores, system_scores
from tests.core.services.compare.test_compare import make_view


def found(search: str = "") -> SystemScores:
    view = make_view()
    return system_scores(view, 1.0, ordered(view, Query(search), 1.0))


def column(scores: SystemScores, label: str) -> int:
    return [c.label for c in scores.columns].index(label)


def test_means_are_over_the_outputs_with_a_score_of_the_filter() -> None:
    scores = found()
    at = column(scores, "TER")
    np.testing.assert_allclose(scores.means[:, at], [15.0, 35.0])  # (10 + 20) / 2, (30 + 40) / 2
    assert scores.counts[:, at].tolist() == [2, 2]
    assert (scores.columns[at], 4) in scores.partial  # of 5 outputs
    assert scores.columns[0].label == "adequacy (human score)", "the last columns may be out of sight"
    assert make_view().compared_with(scores.columns[at].name) == scores.columns[0].name
    some = found("segment:1 doc:d1")
    np.testing.assert_allclose(some.means[:, column(some, "CHRF")], [60.0, 50.0])


def test_the_best_mean_follows_the_direction_and_needs_a_difference() -> None:
    scores = found()
    assert scores.best[:, column(scores, "TER")].tolist() == [True, False]  # lower is better
    assert not scores.best[:, column(scores, "CHRF")].any()  # (60 + 80) / 2 = (50 + 90) / 2
    assert not scores.best[:, column(scores, "adequacy (human score)")].any()  # no direction


def test_a_system_without_scores_is_empty_in_files() -> None:
    scores = found("doc:d2")
    assert np.isnan(scores.means).all()
    assert not scores.best.any()
    assert "b,TER,ter|v:1,,0" in systems_csv(scores, 1.0).splitlines()
    assert "b & --" in systems_latex(scores)


def test_latex_has_directions_and_bold_best_means_and_escaped_names() -> None:
    lines = systems_latex(found()._replace(systems=("A_1 & 50%", "b"))).splitlines()
    assert any(r"TER $\downarrow$" in line for line in lines)
    (row,) = (line for line in lines if line.startswith(r"A\_1 \& 50\% & "))
    assert r"\textbf{15.0}" in row or r"\textbf{15.00}" in row
