"""What a page says of a report: the sentence over it, and the strongest level of a cell."""

import pytest

from core.ports.robustness import LONGEST_NAME, short_name
from core.services.robustness.stress_test_runs import evidence, headline, share_of
from tests.reports import report


def test_the_headline_names_the_worst_metrics_first() -> None:
    # chrF is untold of both tests and counts neither as failing nor as passing
    assert headline(report()) == (
        "BARTScore F fails 2 of 2 tests; BLEU fails 1 of 2 tests; every metric that could be judged fails repetition"
    )
    told = tuple(c for c in report().cells if c.metric != "chrf")
    assert headline(report()._replace(cells=told)).endswith("; every metric fails repetition")


def test_the_headline_without_failures_or_verdicts() -> None:
    passing = report()._replace(cells=report().cells[:1])
    assert headline(passing) == "No metric fails any of the 2 tests"
    some = report()._replace(cells=(report().cells[0], report().cells[2]))
    assert headline(some) == "No metric fails any test it could be judged in"
    untold = report()._replace(cells=report().cells[2:3])
    assert headline(untold) == "No metric could be judged in any test"


def test_evidence_is_the_largest_rise_or_drop() -> None:
    passed, failed, untold = (evidence(report().cell("truncation", name)) for name in ("bleu", "bartscore", "chrf"))
    assert passed is not None
    assert (passed.point.label, passed.share) == ("20 %", pytest.approx(10 / 50))
    assert failed is not None
    assert (failed.point.label, failed.share) == ("20 %", pytest.approx(-0.5 / 2))  # of |gold|: the score is negative
    assert untold is None


def test_no_share_is_told_where_gold_is_about_0_beside_the_drops() -> None:
    cell = report().cell("truncation", "bleu")  # drops of 5 and 10
    assert share_of(cell._replace(gold=1.0), 5.0) == 5.0  # ten times the largest drop is as far as it goes
    for gold in (0.99, -0.99, 1e-300, 0.0, None):
        assert share_of(cell._replace(gold=gold), 5.0) is None
    still = cell._replace(points=tuple(p._replace(drop=0.0) for p in cell.points))
    assert share_of(still._replace(gold=1e-10), 0.0) is None
    assert share_of(still._replace(gold=1e-8), 0.0) == 0.0
    found = evidence(cell._replace(gold=0.0))
    assert found is not None
    assert (found.point.drop, found.share) == (10.0, None)


def test_a_long_name_is_cut_to_what_storage_holds() -> None:
    longest = "é" * LONGEST_NAME
    assert short_name(f" {longest}\n") == longest
    assert short_name(longest + "x") == "é" * (LONGEST_NAME - 1) + "…"
    assert short_name("a" * 180 + " " * 9 + "bc") == "a" * 180 + "…"
