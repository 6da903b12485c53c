"""All of storage as one value."""

from __future__ import annotations

from typing import NamedTuple

from core.ports.calibration import Batches, Calibrations
from core.ports.campaigns import Campaigns
from core.ports.files import Exports
from core.ports.jobs import Chunks, Jobs
from core.ports.labels import LabelLog
from core.ports.people import Audit, People, SharedResults
from core.ports.projects import Projects, ProjectSettings
from core.ports.robustness import KeptCases, StressTestRuns
from core.ports.scores import Scores, SpanLayers, Timings


class Store(NamedTuple):
    """All of storage, as services and pages receive it."""

    projects: Projects
    scores: Scores
    jobs: Jobs
    labels: LabelLog
    calibrations: Calibrations
    batches: Batches
    cases: KeptCases
    stress: StressTestRuns
    timings: Timings
    settings: ProjectSettings
    people: People
    audit: Audit
    campaigns: Campaigns
    chunks: Chunks
    exports: Exports
    shared: SharedResults
    spans: SpanLayers
