"""Numbers and counts as text."""

import math
import re

import pytest

from core.formatting import (
    format_change,
    format_clock,
    format_count,
    format_duration,
    format_fitted_lambda,
    format_lambda,
    format_number,
    format_percent,
)
from tests.paths import ROOT


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.4341, ".434"),
        (-0.021, "−.021"),
        (10.5, "10.500"),
        (-11.54, "−11.540"),
        (1.0, "1.000"),
        (-0.0001, ".000"),
        (None, "–"),
    ],
)
def test_statistics_have_no_leading_zero(value: float | None, text: str) -> None:
    assert format_number(value) == text


def test_scores_of_metrics_keep_the_leading_zero() -> None:
    assert format_number(-0.5, 2, leading_zero=True) == "−0.50"
    assert format_number(None, missing="undefined") == "undefined"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.6789, "1.68"),
        (math.inf, "∞"),
        (0.0, "0"),
        (12.0, "12"),
        (999.6, "1,000"),
        (1234.5, "1,230"),
        (131_700, "132,000"),
    ],
)
def test_lambda_has_three_significant_digits(value: float, text: str) -> None:
    assert format_lambda(value) == text


def test_nouns_agree_with_their_count() -> None:
    assert format_count(1, "output") == "1 output"
    assert format_count(1200, "output") == "1,200 outputs"
    assert format_count(0, "query", "queries") == "0 queries"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 s"), (2.04, "2 s"), (59, "59 s"), (59.5, "1 min"), (95, "2 min"), (3570, "1 h"), (4200, "1 h 10 min"),
        (7170, "2 h"), (36000 + 1200, "10 h"), (8 * 86400, "192 h"),
    ],
)  # fmt: skip
def test_durations_are_rounded(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
    assert format_duration(114 * 60, exact=True) == "1 h 54 min"
    assert [format_clock(s) for s in (0, 59.6, 4050, 3_600_000)] == ["0:00:00", "0:01:00", "1:07:30", "1,000:00:00"]


def test_changes_and_percentages_have_one_minus_sign() -> None:
    assert [format_change(x) for x in (0.02149, -0.3, 0.0, -0.0001)] == ["+.021", "−.300", "±0", "±0"]
    assert format_change(-12.34, 1, leading_zero=True) == "−12.3"
    assert [format_percent(x) for x in (0.414, -0.003, None)] == ["41 %", "0 %", "–"]
    assert format_percent(-0.0031, 1) == "−0.3 %"


def test_the_minus_sign_is_made_in_one_place() -> None:
    made = re.compile(r"""replace\(\s*["']-["'],\s*["']−["']""")
    sources = [path for folder in ("core", "pages") for path in (ROOT / folder).rglob("*.py")]
    found = [str(path.relative_to(ROOT)) for path in sources if made.search(path.read_text("utf-8"))]
    assert found == ["core/formatting.py"]


def test_a_fitted_lambda_has_the_digits_its_interval_supports() -> None:
    for value, ci, text in (
        (2.3147, (1.3412, 2.7688), "2.3"),
        (1.3412, (1.3412, 2.7688), "1.3"),
        (1.684, (1.42, 1.92), "1.68"),
        (1.684, (1.68, 1.69), "1.68"),  # never more than three digits
        (1.04, (0.6, 1.7), "1.0"),
        (0.0, (0.0, 1.7), "0"),
        (34.21, (5.2, 61.0), "34"),
        (2.3147, (1.3412, math.inf), "2.3"),
        (math.inf, (1.3412, math.inf), "∞"),
        (2.3147, (2.3147, 2.3147), "2.31"),
        (2.3147, None, "2.31"),
    ):
        assert format_fitted_lambda(value, ci) == text, (value, ci)
