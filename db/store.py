"""All of storage behind one call."""

from __future__ import annotations

from sqlalchemy import Engine

from core.ports import Store
from db.batches import SqlBatches
from db.calibrations import SqlCalibrations
from db.cases import SqlCases
from db.engine import connect, migrate
from db.jobs import SqlJobs
from db.judgements import SqlJudgements
from db.labels import SqlLabels
from db.projects import SqlProjects
from db.scores import SqlScores
from db.stress import SqlStressRuns


def open_store(url: str) -> Store:
    """The store at an SQLAlchemy URL, its tables made or brought up to date. Safe to share between threads.

    Raises `UserError` when the address cannot be used, or the database was made by a newer version.
    """
    engine = connect(url)
    migrate(engine)
    return store_over(engine)


def store_over(engine: Engine) -> Store:
    """The store over an engine whose tables are up to date."""
    return Store(
        SqlProjects(engine),
        SqlScores(engine),
        SqlJobs(engine),
        SqlLabels(engine),
        SqlCalibrations(engine),
        SqlBatches(engine),
        SqlJudgements(engine),
        SqlCases(engine),
        SqlStressRuns(engine),
    )
