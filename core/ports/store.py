"""All of storage as one value."""

from __future__ import annotations

from typing import NamedTuple

from core.ports.audit import Audit
from core.ports.batches import Batches
from core.ports.calibrations import Calibrations
from core.ports.campaigns import Campaigns
from core.ports.cases import KeptCases
from core.ports.chunks import Chunks
from core.ports.exports import Exports
from core.ports.imports import Imports
from core.ports.jobs import Jobs
from core.ports.judgements import Judgements
from core.ports.labels import LabelLog
from core.ports.people import People
from core.ports.project_settings import ProjectSettings
from core.ports.projects import Projects
from core.ports.scores import Scores
from core.ports.shared_results import SharedResults
from core.ports.stress_test_runs import StressTestRuns
from core.ports.timings import Timings


class Store(NamedTuple):
    """All of storage, as services and pages receive it."""

    projects: Projects
    scores: Scores
    jobs: Jobs
    labels: LabelLog
    calibrations: Calibrations
    batches: Batches
    judgements: Judgements
    cases: KeptCases
    stress: StressTestRuns
    timings: Timings
    settings: ProjectSettings
    people: People
    audit: Audit
    campaigns: Campaigns
    chunks: Chunks
    imports: Imports
    exports: Exports
    shared: SharedResults
