"""What people keep: λs, cases and stress runs, in memory."""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from core.errors import UserError
from core.ports.calibrations import SavedLambda
from core.ports.cases import KeptCase
from core.ports.stress_test_runs import StressTestRun
from tests.fakes.memory import Memory, now


class FakeCalibrations:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def save(self, project_id: int, fitted: SavedLambda) -> SavedLambda:
        self.m.need(project_id)
        if not fitted.name.strip() or (project_id, fitted.name) in self.m.lambdas:
            raise UserError("the name is empty or taken", got=repr(fitted.name))
        saved = replace(fitted, id=next(self.m.ids), created=fitted.created or now())
        self.m.lambdas[project_id, fitted.name] = saved
        return saved

    def delete(self, project_id: int, name: str) -> None:
        if self.m.lambdas.pop((project_id, name), None) is None:
            raise UserError(f"there is no saved λ “{name}”")

    def list(self, project_id: int) -> builtins.list[SavedLambda]:
        return [saved for (project, _), saved in self.m.lambdas.items() if project == project_id]


class FakeCases:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def keep(self, project_id: int, case: KeptCase) -> KeptCase:
        self.m.need(project_id)
        mine = self.m.cases.setdefault(project_id, [])
        if not case.collection.strip() or any((c.collection, c.texts) == (case.collection, case.texts) for c in mine):
            raise UserError("the collection has no name, or has the case already", got=repr(case.collection))
        mine.append(replace(case, id=next(self.m.ids), created=case.created or now()))
        return mine[-1]

    def list(self, project_id: int) -> builtins.list[KeptCase]:
        return list(self.m.cases.get(project_id, []))

    def remove(self, project_id: int, case_id: int) -> None:
        mine = self.m.cases.get(project_id, [])
        left = [case for case in mine if case.id != case_id]
        if len(left) == len(mine):
            raise UserError("there is no such case", got=str(case_id))
        self.m.cases[project_id] = left


class FakeStressRuns:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def save(
        self, project_id: int, name: str, report: str, settings: Mapping[str, Any], created: datetime | None = None
    ) -> StressTestRun:
        self.m.need(project_id)
        run = StressTestRun(
            self._named(name), json.loads(json.dumps(dict(settings))), created or now(), next(self.m.ids)
        )
        self.m.stress.setdefault(project_id, []).append((run, report))
        return run

    def list(self, project_id: int) -> list[StressTestRun]:
        return [run for run, _ in self.m.stress.get(project_id, [])]

    def report(self, project_id: int, run_id: int) -> str:
        at = self._at(project_id, run_id)
        return self.m.stress[project_id][at][1]

    def rename(self, project_id: int, run_id: int, name: str) -> None:
        at = self._at(project_id, run_id)
        run, report = self.m.stress[project_id][at]
        self.m.stress[project_id][at] = (run._replace(name=self._named(name)), report)

    def delete(self, project_id: int, run_id: int) -> None:
        at = self._at(project_id, run_id)
        del self.m.stress[project_id][at]

    def _named(self, name: str) -> str:
        if not name.strip():
            raise UserError("the run has no name", got=repr(name))
        return name.strip()

    def _at(self, project_id: int, run_id: int) -> int:
        for at, (run, _) in enumerate(self.m.stress.get(project_id, [])):
            if run.id == run_id:
                return at
        raise UserError("there is no such run", got=str(run_id))


class FakeProjectSettings:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def get(self, project_id: int, name: str) -> Any:
        return json.loads(self.m.settings.get((project_id, name), "null"))

    def put(self, project_id: int, name: str, value: Any) -> None:
        self.m.need(project_id)
        self.m.settings[project_id, name] = json.dumps(value)
