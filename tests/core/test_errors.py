"""Sentences of errors."""

import pytest

from core.errors import ImportProblems, Problem


@pytest.mark.parametrize(
    ("file", "row", "column", "start"),
    [
        ("a.csv", 3, "score", "a.csv, line 3, score: found x"),
        ("", 3, "", "line 3: found x"),
        ("", 0, "score", "score: found x"),
        ("", 0, "", "Found x"),
    ],
)
def test_a_problem_names_its_place_if_it_has_one(file: str, row: int, column: str, start: str) -> None:
    problem = Problem(file, row, column, "x", "a number", "Fix it")
    assert problem.sentence() == f"{start}; expected a number. Fix it"
    assert str(ImportProblems([problem])) == f"nothing was imported. {problem.sentence()}"
