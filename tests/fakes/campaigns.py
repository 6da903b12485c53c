"""Campaigns in memory."""

from __future__ import annotations

import builtins
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from threading import Lock
from typing import Any
from uuid import uuid4

from core.data import Dataset
from core.errors import UserError
from core.ports.campaigns import (
    Assignment,
    AssignmentState,
    Campaign,
    CampaignState,
    CampaignUnit,
    CampaignVersion,
    ChooseHandOver,
    Draw,
    DrawState,
    HandOver,
    NewAssignment,
    NewUnit,
    Participant,
)
from tests.fakes.kept import FakeProjectSettings
from tests.fakes.memory import Memory, now
from tests.fakes.projects import FakeProjects


class FakeCampaigns:
    def __init__(self, memory: Memory) -> None:
        self.m = memory
        self._turn = Lock()

    def create(
        self,
        project_id: int,
        name: str,
        design: Mapping[str, Any],
        settings: Mapping[str, Any],
        texts: Dataset,
        units: Sequence[NewUnit],
        who: str,
    ) -> Campaign:
        self.m.need(project_id)
        if not (name := name.strip()) or any(c.name == name for c in self.list(project_id)):
            raise UserError("the name is empty or taken", got=repr(name))
        _check(units, {s.doc_id for s in texts.segments})
        texts_id = next(self.m.ids)
        self.m.names[texts_id], self.m.datasets[texts_id] = (f" {uuid4().hex}", now(), False), Dataset((), ())
        campaign = Campaign(
            next(self.m.ids), project_id, texts_id, name, json.loads(json.dumps(dict(design))), "draft", now(), who
        )
        try:
            for key, value in settings.items():
                FakeProjectSettings(self.m).put(texts_id, key, value)
            FakeProjects(self.m).add(texts_id, texts)
        except BaseException:
            del self.m.names[texts_id], self.m.datasets[texts_id]
            self.m.settings = {k: v for k, v in self.m.settings.items() if k[0] != texts_id}
            raise
        self.m.campaigns[campaign.id], self.m.units[campaign.id] = campaign, []
        self._add(campaign.id, units)
        return campaign

    def replace(
        self,
        campaign_id: int,
        name: str,
        design: Mapping[str, Any],
        settings: Mapping[str, Any],
        texts: Dataset,
        units: Sequence[NewUnit],
    ) -> Campaign:
        old = self.get(campaign_id)
        if old.state != "draft" or self.assignments(campaign_id):
            raise UserError("the campaign was started", got=old.name)
        del self.m.campaigns[campaign_id]
        try:
            new = self.create(old.project_id, name, design, settings, texts, units, old.created_by)
        except BaseException:
            self.m.campaigns[campaign_id] = old
            raise
        del self.m.campaigns[new.id]
        self.m.units[campaign_id] = self.m.units.pop(new.id)
        self.m.campaigns[campaign_id] = new._replace(id=campaign_id, created=old.created)
        self.m.links = {
            id: link._replace(project_id=new.texts) if link.project_id == old.texts else link
            for id, link in self.m.links.items()
        }
        FakeProjects(self.m).delete(old.texts)
        return self.get(campaign_id)

    def list(self, project_id: int) -> builtins.list[Campaign]:
        return [c for _, c in sorted(self.m.campaigns.items()) if c.project_id == project_id]

    def has_any(self, project_id: int) -> bool:
        return bool(self.list(project_id))

    def versions(self, project_id: int) -> builtins.list[CampaignVersion]:
        def version(campaign: Campaign) -> CampaignVersion:
            newest = max((e.number for project, e in self.m.events if project == campaign.texts), default=0)
            excluded = tuple(p.id for p in self.participants(campaign.id) if p.excluded)
            return CampaignVersion(campaign.id, newest, excluded)

        return [version(campaign) for campaign in self.list(project_id)]

    def get(self, campaign_id: int) -> Campaign:
        if campaign_id not in self.m.campaigns:
            raise UserError("there is no such campaign", got=str(campaign_id))
        return self.m.campaigns[campaign_id]

    def of_texts(self, project_id: int) -> Campaign | None:
        return self.m.campaign_of(project_id)

    def set_state(self, campaign_id: int, state: CampaignState) -> None:
        self.m.campaigns[campaign_id] = self.get(campaign_id)._replace(state=state)

    def delete(self, campaign_id: int) -> None:
        FakeProjects(self.m).delete(self.get(campaign_id).texts)

    def units(self, campaign_id: int) -> builtins.list[CampaignUnit]:
        self.get(campaign_id)
        return list(self.m.units[campaign_id])

    def add_units(self, campaign_id: int, texts: Dataset, units: Sequence[NewUnit]) -> None:
        campaign = self.get(campaign_id)
        there = {s.doc_id for s in (*self.m.datasets[campaign.texts].segments, *texts.segments)}
        _check(units, there)
        if {unit.name for unit in units} & {unit.name for unit in self.m.units[campaign_id]}:
            raise UserError("the campaign has a unit of this name")
        FakeProjects(self.m).add(campaign.texts, texts)
        self._add(campaign_id, units)

    def _add(self, campaign_id: int, units: Sequence[NewUnit]) -> None:
        mine = self.m.units[campaign_id]
        for new in units:
            plain: dict[str, Any] = json.loads(json.dumps(dict(new.details)))
            mine.append(
                CampaignUnit(next(self.m.ids), new.name, len(mine), new.block, new.kind, new.of, new.systems, plain)
            )

    def retire(self, campaign_id: int, unit_ids: Collection[int], retired: bool = True) -> None:
        self.m.units[campaign_id] = [
            u._replace(retired=retired) if u.id in unit_ids else u for u in self.units(campaign_id)
        ]

    def join(self, campaign_id: int, rater: str, code: str) -> Participant:
        if not rater.strip():
            raise UserError("a participant needs a name")
        known = next((p for p in self.participants(campaign_id) if p.rater == rater), None)
        if known is None:
            known = Participant(next(self.m.ids), campaign_id, rater, code, now())
            self.m.participants[known.id] = known
        return known

    def participants(self, campaign_id: int) -> builtins.list[Participant]:
        self.get(campaign_id)
        return [p for p in self.m.participants.values() if p.campaign_id == campaign_id]

    def change(self, participant: Participant) -> None:
        before = self._participant(participant.campaign_id, participant.id)
        self.m.participants[participant.id] = before._replace(
            excluded=participant.excluded, left=participant.left, passed_tutorial=participant.passed_tutorial
        )
        if participant.excluded:
            self.m.assignments = [
                a._replace(slot=None) if a.participant_id == participant.id else a for a in self.m.assignments
            ]
        elif before.excluded:
            self._take_free_slots(participant)

    def _take_free_slots(self, participant: Participant) -> None:
        overlap = self.get(participant.campaign_id).design["overlap"]
        for at, a in enumerate(self.m.assignments):
            mine = a.participant_id == participant.id and a.unit.kind == "item" and a.state != "reclaimed"
            taken = {b.slot for b in self.m.assignments if b.unit.id == a.unit.id}
            if mine and a.slot is None and (free := set(range(1, overlap + 1)) - taken):
                self.m.assignments[at] = a._replace(slot=min(free))

    def _participant(self, campaign_id: int, participant_id: int) -> Participant:
        found = next((p for p in self.participants(campaign_id) if p.id == participant_id), None)
        if found is None:
            raise UserError("there is no such participant", got=str(participant_id))
        return found

    def assignments(self, campaign_id: int, participant_id: int | None = None) -> builtins.list[Assignment]:
        units = {unit.id: unit for unit in self.units(campaign_id)}
        mine = [
            a._replace(unit=units[a.unit.id])  # retired or not, as it is now
            for a in self.m.assignments
            if a.unit.id in units and participant_id in (None, a.participant_id)
        ]
        return sorted(mine, key=lambda a: (a.participant_id, a.position))

    def assign(
        self, campaign_id: int, participant_id: int, now: datetime, lease_until: datetime | None, draw: Draw
    ) -> builtins.list[Assignment]:
        with self._turn:
            self._participant(campaign_id, participant_id)
            after = [_reclaimed(a, now) for a in self.assignments(campaign_id)]
            units = {unit.id: unit for unit in self.units(campaign_id)}
            mine = [a for a in after if a.participant_id == participant_id]
            first = max((a.position for a in mine), default=-1) + 1
            new = [
                Assignment(
                    next(self.m.ids), units[n.unit_id], participant_id, n.slot, first + i, n.order, n.probability,
                    "assigned", now, lease_until, None, None,
                )
                for i, n in enumerate(draw(DrawState(list(units.values()), after)))
            ]  # fmt: skip
            taken = [(a.unit.id, a.slot) for a in (*after, *new) if a.slot is not None]
            people = [(a.unit.id, a.participant_id) for a in (*after, *new)]
            if len(set(taken)) < len(taken) or len(set(people)) < len(people):
                raise UserError("a unit has one assignment per slot and participant")
            self.m.assignments = [a for a in self.m.assignments if a.unit.id not in units] + after + new
            return new

    def hand_over(self, campaign_id: int, participant_id: int, now: datetime, choose: ChooseHandOver) -> HandOver:
        with self._turn:
            self._participant(campaign_id, participant_id)
            before = self.assignments(campaign_id)
            units = {unit.id: unit for unit in self.units(campaign_id)}
            chosen = choose(DrawState(list(units.values()), before))
            after = {(a.participant_id, a.unit.id): a for a in before}
            last = {a.participant_id: a.position for a in before}

            def next_place(who: int) -> int:
                last[who] = last.get(who, -1) + 1
                return last[who]

            def fresh(new: NewAssignment, who: int, state: AssignmentState) -> Assignment:
                return Assignment(
                    next(self.m.ids), units[new.unit_id], who, new.slot, next_place(who), new.order, new.probability,
                    state, now, None, None, None,
                )  # fmt: skip

            for new in chosen.taken:
                old = after.get((participant_id, new.unit_id))
                if old is None:
                    after[participant_id, new.unit_id] = fresh(new, participant_id, "reclaimed")
                else:
                    state = "reclaimed" if old.state == "assigned" else old.state
                    after[participant_id, new.unit_id] = old._replace(slot=None, state=state)
            for who, given in chosen.given.items():
                self._participant(campaign_id, who)
                for new in given:
                    old = after.get((who, new.unit_id))
                    if old is not None and old.state != "reclaimed":
                        raise UserError("a unit has one assignment per slot and participant")
                    after[who, new.unit_id] = (
                        fresh(new, who, "assigned")
                        if old is None
                        else old._replace(slot=new.slot, state="assigned", position=next_place(who), lease_until=None)
                    )
            taken = [(a.unit.id, a.slot) for a in after.values() if a.slot is not None]
            if len(set(taken)) < len(taken):
                raise UserError("a unit has one assignment per slot and participant")
            self.m.assignments = [a for a in self.m.assignments if a.unit.id not in units] + list(after.values())
            return chosen

    def touch(
        self, campaign_id: int, participant_id: int, unit: str, now: datetime, lease_until: datetime, *, submitted: bool
    ) -> None:
        with self._turn:
            self._participant(campaign_id, participant_id)
            mine = self.assignments(campaign_id, participant_id)
            old = next((a for a in mine if a.unit.name == unit), None)
            if old is None:
                raise UserError("this text is not assigned to you", got=unit)
            new = old._replace(
                opened=old.opened or now,
                submitted=(old.submitted or now) if submitted else None,
                state="submitted" if submitted else "assigned",
            )
            if old.state == "reclaimed":
                taken = {a.slot for a in self.assignments(campaign_id) if a.unit.id == old.unit.id}
                free = set(range(1, self.get(campaign_id).design["overlap"] + 1)) - taken
                if free:
                    new = new._replace(slot=min(free), lease_until=lease_until)
                elif not submitted:
                    new = new._replace(state="reclaimed")
            changed = {a.id: _extended(new if a is old else a, lease_until) for a in mine}
            self.m.assignments = [changed.get(a.id, a) for a in self.m.assignments]


def _reclaimed(a: Assignment, now: datetime) -> Assignment:
    expired = a.state == "assigned" and a.lease_until is not None and a.lease_until <= now
    return a._replace(slot=None, state="reclaimed") if expired else a


def _extended(a: Assignment, lease_until: datetime) -> Assignment:
    return a._replace(lease_until=lease_until) if a.state == "assigned" and a.lease_until is not None else a


def _check(units: Sequence[NewUnit], there: Collection[str]) -> None:
    names = [unit.name for unit in units]
    if set(names) - set(there) or len(set(names)) < len(names):
        raise ValueError("a unit has no texts, or two have the same name")
