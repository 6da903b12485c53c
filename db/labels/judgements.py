"""Raters' numbers: one per rater, output and name."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete

from core.data import Judgement, OutputKey
from core.errors import ImportProblems, Problem
from core.formats.labels.judgements import DIFFERS
from db import lookup
from db.imports.slices import OneTransaction, SlicedWriter
from db.lookup import select_outputs
from db.tables import judgements, raters


class JudgementPlan(NamedTuple):
    """New numbers by output, rater and name; `stale` are stored ones that a correction removes."""

    new: Mapping[tuple[OutputKey, str, str], float]
    stale: Sequence[tuple[OutputKey, str, str]]
    unchanged: int


def planned(
    new_judgements: Sequence[Judgement],
    corrected: Collection[str],
    outputs: Container[OutputKey],
    before: Sequence[Judgement],
) -> JudgementPlan:
    """Compare `new_judgements` with the numbers `before`.

    For names in `corrected`, `new_judgements` replaces all earlier numbers of its raters. Raises `ImportProblems` with every problem
    if a number differs from the rater's earlier one, is not finite, or its output does not exist.
    """
    stored_numbers = {j[:3]: j.value for j in before}
    corrections = {j[:3]: j.value for j in new_judgements if j.name in corrected}
    whose = {(rater, name) for _, rater, name in corrections}
    stale = [of for of, value in stored_numbers.items() if of[1:] in whose and corrections.get(of) != value]
    for of in stale:
        del stored_numbers[of]
    new: dict[tuple[OutputKey, str, str], float] = {}
    problems: list[Problem] = []
    for j in new_judgements:
        known = stored_numbers.get(j[:3], new.get(j[:3]))
        place = f"“{j.name}” by {j.rater} for {' / '.join(j.key)}"
        if j.key not in outputs:
            problems.append(Problem("", 0, place, "a number", "an output it belongs to", "Add the output first"))
        elif not j.rater.strip():
            problems.append(Problem("", 0, place, "no rater", "the name of the rater", "Name the rater"))
        elif not math.isfinite(j.value):
            problems.append(Problem("", 0, place, str(j.value), "a number", "Leave the cell empty where there is none"))
        elif known is None:
            new[j[:3]] = j.value
        elif known != j.value:
            problems.append(Problem("", 0, place, f"{j.value:g}", f"{known:g}", DIFFERS))
    if problems:
        raise ImportProblems(problems)
    return JudgementPlan(new, stale, len(new_judgements) - len(new))


def write(writer: OneTransaction | SlicedWriter, plan: JudgementPlan, ids: Mapping[OutputKey, int]) -> None:
    """Write planned judgements; `ids` are those of the outputs."""
    if not (plan.new or plan.stale):
        return
    who = writer.raters(dict.fromkeys(rater for _, rater, _ in (*plan.stale, *plan.new)))
    if plan.stale:
        columns = (judgements.c.output, judgements.c.rater, judgements.c.name)
        these = delete(judgements).where(*(column == bindparam(f"of_{column.name}") for column in columns))
        with writer.writing() as connection:
            connection.execute(
                these, [{"of_output": ids[key], "of_rater": who[r], "of_name": name} for key, r, name in plan.stale]
            )
    rows = (
        {"output": ids[key], "rater": who[r], "name": n, "value": v, "added_by": writer.added_by}
        for (key, r, n), v in plan.new.items()
    )
    writer.insert(judgements, rows)


def stored(connection: Connection, project_id: int) -> list[Judgement]:
    """Return the judgements of a project in the order in which they were stored."""
    of = lookup.judgements.c
    query = select_outputs(project_id, raters.c.name, of.name, of.value)
    query = query.join(lookup.judgements).join(raters, raters.c.id == of.rater).order_by(of.id)
    return [
        Judgement(OutputKey(system, doc, segment), rater, name, value)
        for system, doc, segment, rater, name, value in connection.execute(query)
    ]
