"""Options that several commands share, and how their values are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from cli.progress import print_note
from core.data import Dataset
from core.errors import UserError
from core.formats.given_roles import ROLES, GivenRoles
from core.formats.parsing.numbers import number, parse_lambda
from core.metrics import registry
from core.metrics.base import Metric
from core.services.projects.importing import load

LARGEST_SEED = 2**32 - 1
MANY = 1_000_000

Files = Annotated[list[Path], typer.Argument(help="CSV, TSV or JSONL files (also .gz), or line-aligned text files")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help=f"role of a column or a text file, where the guess is wrong; {', '.join(ROLES)}. Repeatable",
    ),
]
HUMAN = (
    "file with human scores: a CSV with system, doc_id, segment_id and score; outputs with scores; or labels or scores that can be "
    "imported on Projects (docs/formats.md), repeatable"
)
Human = Annotated[list[Path], typer.Option(help=HUMAN)]
HumanScore = Annotated[
    str | None,
    typer.Option("--human-score", help="name of the human score to use if the file has several; mqm for labels"),
]
SchemeName = Literal["google", "marot", "flat"]
MqmScheme = Annotated[
    SchemeName,
    typer.Option("--scheme", case_sensitive=False, help="weights of severities and categories"),
]
HumanScheme = Annotated[
    SchemeName | None,
    typer.Option(
        "--scheme", case_sensitive=False,
        help="weights of severities and categories for the MQM scores of labels (default: google)",
    ),
]  # fmt: skip
Out = Annotated[Path, typer.Option(help="file to write")]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1024,
        help="number of processes for work without models (default: ERRORSCOPE_WORKERS, or one per available processor)",
    ),
]
Metrics = Annotated[str, typer.Option(help="metric names, separated by commas")]


def read_texts(files: Sequence[Path], column: Sequence[str] | GivenRoles | None) -> Dataset:
    """Read the outputs in files, with the roles given by `--column`, and print how they were read. Raises `UserError`.

    Roles that also belong to other files are given as `GivenRoles`, whose names are checked when all files are read.
    """
    given = column if isinstance(column, GivenRoles) else GivenRoles(column or ())
    loaded = load(files, given)
    if given is not column:
        given.check()
    print_note(*loaded.as_read)
    return loaded.dataset


def split(names: str) -> list[str]:
    """Return the names in a list separated by commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


def chosen(metrics: str) -> list[Metric]:
    """Return the metrics in a list separated by commas. Raises `UserError` for an unknown one, and if there is none."""
    names = split(metrics)
    if not names:
        raise UserError("no metric given", where="--metrics", expected="one or more of " + ", ".join(registry.METRICS))
    return registry.chosen(names)


def one_of(names: Iterable[str]) -> Callable[[str], str]:
    """Return how the value of an option is read that is one of these names."""
    known = list(names)

    def parsed(text: str) -> str:
        if text not in known:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(known)}")
        return text

    return parsed


def check_ending(out: Path, *endings: str) -> None:
    """Raise `UserError` unless the file has one of the endings."""
    if out.suffix not in endings:
        raise UserError("cannot write this type of file", where=str(out), expected=" or ".join(endings))


def parsed_lambda(text: str | float) -> float:
    """Return the λ of an option: a number from 0, or `inf`."""
    value = parse_lambda(str(text))
    if value is None:
        raise typer.BadParameter(f"{str(text)[:40]!r} is not a number from 0 to 10¹⁵, or inf")
    return value


def decimal(text: str | float) -> float:
    """Return the number of an option."""
    value = number(str(text))
    if value is None:
        raise typer.BadParameter(f"{str(text)[:40]!r} is not a number")
    return value
