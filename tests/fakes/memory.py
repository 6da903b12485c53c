"""What a store in memory holds, shared by its fakes."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from core.data import (
    Dataset,
    ExternalScores,
    Judgement,
    OutputKey,
    Value,
)
from core.errors import UserError
from core.ports.audit import AuditEntry
from core.ports.batches import SavedBatch
from core.ports.calibrations import SavedLambda
from core.ports.campaigns import Assignment, Campaign, CampaignUnit, Participant
from core.ports.cases import KeptCase
from core.ports.jobs import Job
from core.ports.labels import Event
from core.ports.people import Account, Link, Role
from core.ports.stress_test_runs import StressTestRun
from core.ports.timings import Timing


def now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Memory:
    """Everything a store holds."""

    names: dict[int, tuple[str, datetime, bool]] = field(default_factory=dict)
    imports: Counter[int] = field(default_factory=Counter)
    datasets: dict[int, Dataset] = field(default_factory=dict)
    values: dict[str, dict[str, Value]] = field(default_factory=dict)
    metrics: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    chunks: dict[int, list[Any]] = field(default_factory=dict)  # of unfinished jobs (tests.fakes.jobs.FakeChunk)
    plans: dict[int, Any] = field(default_factory=dict)  # of unfinished jobs (tests.fakes.jobs.FakePlan)
    served: dict[int, datetime] = field(default_factory=dict)  # by job
    claims: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    events: list[tuple[int, Event]] = field(default_factory=list)
    lambdas: dict[tuple[int, str], SavedLambda] = field(default_factory=dict)
    batches: dict[tuple[int, str], SavedBatch] = field(default_factory=dict)
    cases: dict[int, list[KeptCase]] = field(default_factory=dict)
    stress: dict[int, list[tuple[StressTestRun, str]]] = field(default_factory=dict)
    judged: dict[int, dict[tuple[OutputKey, str, str], Judgement]] = field(default_factory=dict)
    external: dict[tuple[int, str], tuple[ExternalScores, datetime]] = field(default_factory=dict)
    timings: dict[tuple[str, str], list[Timing]] = field(default_factory=dict)
    settings: dict[tuple[int, str], str] = field(default_factory=dict)  # as JSON
    accounts: dict[int, tuple[Account, str | None]] = field(default_factory=dict)
    roles: dict[tuple[int, int], Role] = field(default_factory=dict)  # by project and account
    sessions: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    audit: list[AuditEntry] = field(default_factory=list)
    campaigns: dict[int, Campaign] = field(default_factory=dict)
    units: dict[int, list[CampaignUnit]] = field(default_factory=dict)  # by campaign
    participants: dict[int, Participant] = field(default_factory=dict)
    assignments: list[Assignment] = field(default_factory=list)
    secret: bytes = b""
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def need(self, project_id: int) -> None:
        if project_id not in self.names:
            raise UserError("there is no such project", got=str(project_id))

    def campaign_of(self, texts: int) -> Campaign | None:
        return next((campaign for campaign in self.campaigns.values() if campaign.texts == texts), None)
