"""How the command-line programs over a database end."""

from collections.abc import Callable

import pytest

from core.errors import ImportProblems, Problem, UserError
from db.command import UNCHANGED, Percent, exit_status


def raising(error: BaseException) -> Callable[[Percent], str]:
    def run(progress: Percent) -> str:
        progress(0.5)
        raise error

    return run


def test_what_a_command_says_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_status(lambda _: "3 projects") == 0
    assert capsys.readouterr() == ("3 projects\n", "")


def test_errors_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for error, line in [
        (UserError("no such project", hint="List them"), "error: no such project. List them"),
        (FileNotFoundError(2, "No such file", "a\nb"), "error: [Errno 2] No such file: 'a\\nb'"),
        (KeyboardInterrupt(), f"error: {UNCHANGED}"),
    ]:
        assert exit_status(raising(error), cancelled=UNCHANGED) == 2
        out, err = capsys.readouterr()
        assert (out, err.splitlines()) == ("", [line])


def test_each_problem_of_an_import_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Problem(file, 2, "system", "nothing", "a name", "Write one") for file in ("a.csv", "b.csv")]
    assert exit_status(raising(ImportProblems(problems))) == 2
    assert [line.startswith("error: ") for line in capsys.readouterr().err.splitlines()] == [True, True]


def test_other_errors_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_status(raising(ZeroDivisionError()))
