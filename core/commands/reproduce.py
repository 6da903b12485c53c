"""`reproduce`: recompute published tables and compare them with the figures of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from core.commands.progress import print_result
from core.commands.reproduce_smart import smart_table1
from core.commands.reproduce_summeval import summeval_strings
from core.commands.reproduce_sums import summaries

Table = Literal["smart-table1", "summeval", "realsumm", "qags", "rank19", "newsroom"]


def run(
    table: Annotated[Table, typer.Argument(help="published table to reproduce")],
    data: Annotated[
        Path, typer.Option(help="file of the data set: SummEval (docs/smart.md) or another (docs/reproduce.md)")
    ],
) -> None:
    """Print the table. Raises `UserError`."""
    own = {"smart-table1": smart_table1, "summeval": summeval_strings}
    print_result(own[table](data) if table in own else summaries(table, data))
