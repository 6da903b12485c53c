"""Open the whole storage with one call."""

from __future__ import annotations

from functools import cache

from sqlalchemy import Engine

from core.ports.store import Store
from db.campaigns.repository import SqlCampaigns
from db.engine import connect, migrate
from db.imports.slices import remove_interrupted
from db.jobs.chunks import SqlChunks
from db.jobs.repository import SqlJobs, SqlTimings
from db.labels.repository import SqlLabels
from db.people import SqlAudit, SqlPeople
from db.project_values import (
    SqlBatches,
    SqlCalibrations,
    SqlCases,
    SqlProjectSettings,
    SqlSharedResults,
    SqlStressTestRuns,
)
from db.projects.exports import SqlExports
from db.projects.repository import SqlProjects
from db.scores.repository import SqlScores
from db.spans import SqlSpanLayers


def open_store(url: str) -> Store:
    """Return the store of an SQLAlchemy URL, without a guard, and create or migrate its tables. Safe to share between threads.

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
        SqlCases(engine),
        SqlStressTestRuns(engine),
        SqlTimings(engine),
        SqlProjectSettings(engine),
        SqlPeople(engine),
        SqlAudit(engine),
        SqlCampaigns(engine),
        SqlChunks(engine),
        SqlExports(engine),
        SqlSharedResults(engine),
        SqlSpanLayers(engine),
    )
