"""Open the whole storage with one call."""

from __future__ import annotations

from functools import cache

from sqlalchemy import Engine

from core.ports.store import Store
from db.audit import SqlAudit
from db.batches import SqlBatches
from db.calibrations import SqlCalibrations
from db.campaigns.repository import SqlCampaigns
from db.cases import SqlCases
from db.chunks import SqlChunks
from db.engine import connect, migrate
from db.exports import SqlExports
from db.jobs import SqlJobs
from db.judgements import SqlJudgements
from db.labels import SqlLabels
from db.people import SqlPeople
from db.project_settings import SqlProjectSettings
from db.projects import SqlProjects
from db.scores import SqlScores
from db.shared_results import SqlSharedResults
from db.slices import remove_interrupted
from db.staged_imports import SqlImports
from db.stress_test_runs import SqlStressTestRuns
from db.timings import SqlTimings


def open_store(url: str) -> Store:
    """Return the store of an SQLAlchemy URL and create or migrate its tables. Safe to share between threads.

    Projects whose import or deletion was interrupted are deleted.

    Raises `UserError` for an invalid URL, or a database of a newer version.
    """
    engine = connect(url)
    migrate(engine)
    remove_interrupted(engine)
    return store_over(engine)


@cache
def shared_store(url: str) -> Store:
    """Return the one store of this process for a URL, so that writes of the pages and the routes are committed together."""
    return open_store(url)


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
        SqlPeople(engine),
        SqlAudit(engine),
        SqlCampaigns(engine),
        SqlChunks(engine),
        SqlImports(engine),
        SqlExports(engine),
        SqlSharedResults(engine),
    )
