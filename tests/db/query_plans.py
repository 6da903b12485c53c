"""The plans by which SQLite carries out the statements of a call. They depend on the indexes, not on the number of rows,
because the application never collects statistics (ANALYZE)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


@contextmanager
def plans_of(engine: Engine) -> Iterator[list[str]]:
    """Yield a list that has, after the body, each step of the plans of its statements, such as "SCAN events"."""
    statements: list[tuple[str, Any]] = []

    def seen(connection: object, cursor: object, statement: str, parameters: Any, context: object, many: bool) -> None:
        if statement.startswith(("SELECT", "UPDATE", "DELETE")):
            statements.append((statement, parameters[0] if many else parameters))

    steps: list[str] = []
    event.listen(engine, "before_cursor_execute", seen)
    try:
        yield steps
    finally:
        event.remove(engine, "before_cursor_execute", seen)
    with engine.connect() as connection:
        for statement, parameters in statements:
            found = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            steps += [row.detail for row in found]


def of_table(steps: list[str], table: str) -> list[str]:
    """Return how a table is read: "events USING INDEX …", or "SCAN events" if every row is."""
    found = (step.removeprefix("SEARCH ") for step in steps)
    return [step for step in found if table in step.split()[:2]]
