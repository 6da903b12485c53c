"""Looking into a database past the code under test."""

from sqlalchemy import Engine, text

TABLES = (
    "projects",
    "segments",
    "segment_references",
    "outputs",
    "human_scores",
    "scores",
    "external_metrics",
    "external_scores",
    "jobs",
    "job_metrics",
    "chunks",
    "claims",
    "timings",
    "raters",
    "events",
    "calibrations",
    "batches",
    "judgements",
    "cases",
    "stress_test_runs",
    "project_settings",
    "campaigns",
    "campaign_units",
    "participants",
    "assignments",
    "shared_results",
    "span_layers",
    "span_layer_outputs",
)


def counts(engine: Engine) -> dict[str, int]:
    """Rows of every table."""
    return {table: scalar(engine, f"SELECT count(*) FROM {table}") for table in TABLES}


def scalar(engine: Engine, sql: str) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(sql)).scalar() or 0)


def rows(engine: Engine, sql: str) -> list[tuple[object, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(sql))]
