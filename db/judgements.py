"""Raters' numbers: one per rater, output and name."""

from __future__ import annotations

import builtins
import math
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, Engine, bindparam, delete, insert

from core.data import Judgement, OutputKey
from core.errors import ImportProblems, Problem
from core.formats.labels.judgements import DIFFERS
from db.engine import reading
from db.labels import rater_id
from db.lookup import output_ids, select_outputs
from db.tables import judgements, raters


class SqlJudgements:
    """`core.ports.judgements.Judgements` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(self, project_id: int) -> builtins.list[Judgement]:
        with reading(self._engine) as connection:
            return _stored(connection, project_id)


def record(
    connection: Connection, project_id: int, given: Sequence[Judgement], corrected: Collection[str] = ()
) -> tuple[int, int]:
    """Record new judgements within the caller's transaction; return the counts of new and unchanged ones.

    For names in `corrected`, `given` replaces all earlier numbers of its raters. Raises `ImportProblems` with every problem,
    and writes nothing, if a number differs from the rater's earlier one, is not finite, or its output does not exist.
    """
    there = {j[:3]: j.value for j in _stored(connection, project_id)}
    wanted = {j[:3]: j.value for j in given if j.name in corrected}
    whose = {(rater, name) for _, rater, name in wanted}
    stale = [of for of, value in there.items() if of[1:] in whose and wanted.get(of) != value]
    for of in stale:
        del there[of]
    ids = output_ids(connection, project_id)
    new: dict[tuple[OutputKey, str, str], float] = {}
    problems: builtins.list[Problem] = []
    for j in given:
        before = there.get(j[:3], new.get(j[:3]))
        place = f"“{j.name}” by {j.rater} for {' / '.join(j.key)}"
        if j.key not in ids:
            problems.append(Problem("", 0, place, "a number", "an output it belongs to", "Add the output first"))
        elif not j.rater.strip():
            problems.append(Problem("", 0, place, "no rater", "the name of the rater", "Name the rater"))
        elif not math.isfinite(j.value):
            problems.append(Problem("", 0, place, str(j.value), "a number", "Leave the cell empty where there is none"))
        elif before is None:
            new[j[:3]] = j.value
        elif before != j.value:
            problems.append(Problem("", 0, place, f"{j.value:g}", f"{before:g}", DIFFERS))
    if problems:
        raise ImportProblems(problems)
    if stale:
        _forget(connection, [(ids[key], rater, name) for key, rater, name in stale])
    if new:
        who = {name: rater_id(connection, name) for name in dict.fromkeys(rater for _, rater, _ in new)}
        rows = [{"output": ids[key], "rater": who[r], "name": name, "value": v} for (key, r, name), v in new.items()]
        connection.execute(insert(judgements), rows)
    return len(new), len(given) - len(new)


def _forget(connection: Connection, stale: Sequence[tuple[int, str, str]]) -> None:
    who = {name: rater_id(connection, name) for name in dict.fromkeys(rater for _, rater, _ in stale)}
    columns = (judgements.c.output, judgements.c.rater, judgements.c.name)
    these = delete(judgements).where(*(column == bindparam(f"of_{column.name}") for column in columns))
    connection.execute(these, [{"of_output": i, "of_rater": who[r], "of_name": name} for i, r, name in stale])


def _stored(connection: Connection, project_id: int) -> builtins.list[Judgement]:
    stored = select_outputs(project_id, raters.c.name, judgements.c.name, judgements.c.value)
    stored = stored.join(judgements).join(raters, raters.c.id == judgements.c.rater).order_by(judgements.c.id)
    return [
        Judgement(OutputKey(system, doc, segment), rater, name, value)
        for system, doc, segment, rater, name, value in connection.execute(stored)
    ]
