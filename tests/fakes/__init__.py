"""Storage in memory behind the ports of `core.ports`, and a metric that counts. tests/db/test_contract.py runs both kinds of storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from core.data import Dataset, Item, Output, Segment, Value
from core.metrics.base import Metric, MetricSpec
from core.ports.store import Store
from core.progress import Cancelled, Progress
from tests.fakes.campaigns import FakeCampaigns
from tests.fakes.exports import FakeExports
from tests.fakes.imports import FakeImports
from tests.fakes.jobs import FakeChunks, FakeJobs
from tests.fakes.kept import FakeCalibrations, FakeCases, FakeProjectSettings, FakeStressRuns
from tests.fakes.labels import FakeBatches, FakeJudgements, FakeLabels
from tests.fakes.memory import Memory
from tests.fakes.people import FakeAudit, FakePeople
from tests.fakes.projects import FakeProjects
from tests.fakes.scores import FakeScores, FakeTimings


def memory_store() -> Store:
    """An empty store that lives as long as the test."""
    memory = Memory()
    return Store(
        FakeProjects(memory),
        FakeScores(memory),
        FakeJobs(memory),
        FakeLabels(memory),
        FakeCalibrations(memory),
        FakeBatches(memory),
        FakeJudgements(memory),
        FakeCases(memory),
        FakeStressRuns(memory),
        FakeTimings(memory),
        FakeProjectSettings(memory),
        FakePeople(memory),
        FakeAudit(memory),
        FakeCampaigns(memory),
        FakeChunks(memory),
        FakeImports(memory),
        FakeExports(memory),
    )


def counting_metric(
    name: str = "length",
    of: Callable[[Item], Value] = lambda item: Value(float(len(item.hypothesis))),
    *,
    needs: frozenset[Any] = frozenset(),
    seen: list[Item] | None = None,
) -> Metric:
    """A metric whose value is `of(item)`; every item it is asked for is appended to `seen`."""
    spec = MetricSpec(name, name, "none", "for tests", (0, float("inf")), needs)

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        values = []
        for done, item in enumerate(items):
            progress(done / len(items))
            if seen is not None:
                seen.append(item)
            values.append(of(item))
        return values

    return Metric(spec, lambda: f"{name}|v:1", score)


def stop_when(unwanted: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return a callback that raises `Cancelled` once `unwanted` of what it is called with is true."""

    def stop(at: Any) -> None:
        if unwanted(at):
            raise Cancelled

    return stop


def small_dataset(n: int = 3, systems: Sequence[str] = ("A", "B")) -> Dataset:
    """`n` segments in one document, each with a source, one reference and an output by every system; all texts differ."""
    return Dataset(
        tuple(Segment("doc", str(i), f"source {i}", (f"reference {i}",)) for i in range(n)),
        tuple(Output(system, "doc", str(i), f"{system} output {i}") for i in range(n) for system in systems),
    )
