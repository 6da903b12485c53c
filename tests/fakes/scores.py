"""Scores and measured times in memory."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace

from core.columns import ScoreColumn
from core.data import (
    OutputKey,
    SegmentKey,
    Value,
)
from core.errors import UserError
from core.ports.scores import ExternalMetric, ScoredBy
from core.ports.timings import Timing
from core.signature import content_key
from tests.fakes.columns import index_of
from tests.fakes.memory import Memory, now


class FakeScores:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        stored = self.m.values.get(signature, {})
        return {key for key in keys if key in stored and stored[key].status != "error"}

    def values(self, signature: str, keys: Collection[str]) -> dict[str, Value]:
        stored = self.m.values.get(signature, {})
        return {key: replace(stored[key], detail=None) for key in keys if key in stored}

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        known = self.known(signature, values.keys())
        self.m.values.setdefault(signature, {}).update({k: v for k, v in values.items() if k not in known})
        self.m.metrics[signature] = (metric, now())

    def _rows(self, project_id: int, signature: str) -> dict[OutputKey, Value]:
        named = next((m.name for m in self.external(project_id) if m.signature == signature), None)
        if named is not None:
            values = self.m.external[project_id, named][0].values
            return {o.key: values[o.key] for o in self.m.datasets[project_id].outputs if o.key in values}
        stored = self.m.values.get(signature, {})
        items = self.m.datasets[project_id].items()
        return {key: stored[content_key(*item)] for key, item in items if content_key(*item) in stored}

    def newest(self) -> int:
        return max((int(stored.timestamp() * 1e6) for _, stored in self.m.metrics.values()), default=0)

    def signatures(self, project_id: int) -> list[ScoredBy]:
        found = [
            (metric, s, sum(v.status != "error" for v in self._rows(project_id, s).values()), newest)
            for s, (metric, newest) in self.m.metrics.items()
        ]
        ours = [ScoredBy(*row) for row in found if row[2]]
        return sorted([*ours, *(m.scored_by for m in self.external(project_id))], key=lambda by: by.newest)

    def external(self, project_id: int) -> list[ExternalMetric]:
        mine = sorted((name, *held) for (project, name), held in self.m.external.items() if project == project_id)
        return [ExternalMetric(n, s.higher_is_better, s.files, len(s.values), created) for n, s, created in mine]

    def remove_external(self, project_id: int, name: str) -> None:
        if self.m.external.pop((project_id, name), None) is None:
            raise UserError(f"there is no external metric “{name}”")

    def column(self, project_id: int, signature: str) -> ScoreColumn:
        self.m.need(project_id)
        return ScoreColumn.of(index_of(self.m.datasets[project_id]), self._rows(project_id, signature))

    def table(self, project_id: int, signature: str) -> dict[OutputKey, Value]:
        return {key: replace(value, detail=None) for key, value in self._rows(project_id, signature).items()}

    def detail(self, project_id: int, signature: str, segment: SegmentKey) -> dict[str, Value]:
        rows = {key.system: value for key, value in self._rows(project_id, signature).items() if key.segment == segment}
        return {
            s: v if v.detail is None else replace(v, detail=json.loads(json.dumps(v.detail))) for s, v in rows.items()
        }


class FakeTimings:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def of(self, metric: str, model: str) -> list[Timing]:
        return self.m.timings.get((metric, model), [])[:8]

    def add(self, metric: str, model: str, timing: Timing) -> None:
        self.m.timings.setdefault((metric, model), []).insert(0, timing)
