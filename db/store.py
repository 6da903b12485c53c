"""Open the whole storage with one call."""

from __future__ import annotations

from sqlalchemy import Engine

from core.ports.store import Store
from db.batches import SqlBatches
from db.calibrations import SqlCalibrations
from db.cases import SqlCases
from db.engine import connect, migrate
from db.jobs import SqlJobs
from db.judgements import SqlJudgements
from db.labels import SqlLabels
from db.project_settings import SqlProjectSettings
from db.projects import SqlProjects
from db.scores import SqlScores
from db.stress_test_runs import SqlStressTestRuns
from db.timings import SqlTimings


def open_store(url: str) -> Store:
    """Return the store of an SQLAlchemy URL and create or migrate its tables. Safe to share between threads.

    Raises `UserError` for an invalid URL, or a database of a newer version.
    """
    engine = connect(url)
    migrate(engine)
    return store_over(engine)


def store_over(engine: Engine) -> Store:
    return Store(
        SqlProjects(engine),
        SqlScores(engine),
        SqlJobs(engine),
        SqlLabels(engine),
        SqlCalibrations(engine),
        SqlBatches(engine),
        SqlJudgements(engine),
        SqlCases(engine),
        SqlStressTestRuns(engine),
        SqlTimings(engine),
        SqlProjectSettings(engine),
    )
