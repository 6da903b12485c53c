"""Campaigns over a database."""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from core.data import Dataset
from core.errors import UserError
from core.ports.campaigns import (
    Assignment,
    Campaign,
    CampaignState,
    CampaignUnit,
    CampaignVersion,
    ChooseHandOver,
    Draw,
    HandOver,
    NewUnit,
    Participant,
    RemainingWork,
)
from core.ports.files import DatasetImport
from db.campaigns import assigning
from db.campaigns.rows import (
    PARTICIPANT,
    assignments_of,
    require_campaign,
    require_draft,
    unit_rows,
    units_of,
    visible_campaigns,
)
from db.columns import now as current_time
from db.engine import Repository, inserted, reading, writing
from db.failures import require_name, retried, unique
from db.imports import adding, slices
from db.lookup import events, hidden_project, parts, require_project, segments
from db.tables import assignments, campaign_units, campaigns, links, participants, project_settings, projects


class SqlCampaigns(Repository):
    """`core.ports.campaigns.Campaigns` over a database."""

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
        """Store a campaign in slices, in which its texts project is hidden. An interrupted one is deleted as an import is."""
        require_name("a campaign", name)
        name = name.strip()
        _require_segments(units, {segment.doc_id for segment in texts.segments})
        slices.remove_interrupted(self._engine)
        with _unique_name(name), writing(self._engine) as connection:
            require_project(connection, project_id)
            _refuse_hidden(connection, project_id, name)
            hidden = self._begin_texts(connection, settings)
            row = {
                "project_id": project_id, "texts": hidden.id, "name": name, "design": dict(design), "state": "draft",
                "created": current_time(), "created_by": who,
            }  # fmt: skip
            campaign_id = inserted(connection, insert(campaigns).values(**row))
        with _removed_if_it_fails(hidden):
            adding.fill(hidden, texts)
            hidden.insert(campaign_units, unit_rows(campaign_id, units, 0))
            hidden.show(campaign_of=project_id)
        return self.get(campaign_id)

    def _begin_texts(self, connection: Connection, settings: Mapping[str, Any]) -> slices.SlicedWriter:
        hidden = slices.begin(connection, self._engine, uuid4().hex)
        for key, value in settings.items():
            connection.execute(insert(project_settings).values(project_id=hidden.id, name=key, value=value))
        return hidden

    def replace(
        self,
        campaign_id: int,
        name: str,
        design: Mapping[str, Any],
        settings: Mapping[str, Any],
        texts: Dataset,
        units: Sequence[NewUnit],
    ) -> Campaign:
        """Write the new texts in slices into a hidden project, which takes the place of the old one in one transaction."""
        require_name("a campaign", name)
        _require_segments(units, {segment.doc_id for segment in texts.segments})
        slices.remove_interrupted(self._engine)
        with writing(self._engine) as connection:
            require_draft(connection, campaign_id)
            hidden = self._begin_texts(connection, settings)
        values = {"name": name.strip(), "design": dict(design), "texts": hidden.id}
        with _removed_if_it_fails(hidden):
            adding.fill(hidden, texts)
            with _unique_name(name.strip()), hidden.writing() as connection:
                old = require_draft(connection, campaign_id)
                connection.execute(delete(campaign_units).where(campaign_units.c.campaign == campaign_id))
                if units:
                    connection.execute(insert(campaign_units), unit_rows(campaign_id, units, 0))
                connection.execute(update(campaigns).where(campaigns.c.id == campaign_id).values(**values))
                connection.execute(update(links).where(links.c.project_id == old.texts).values(project_id=hidden.id))
                connection.execute(update(projects).where(projects.c.id == hidden.id).values(importing=None))
                replaced = slices.hide(connection, self._engine, old.texts)
        with suppress(UserError):
            replaced.remove()
        return self.get(campaign_id)

    def list(self, project_id: int) -> builtins.list[Campaign]:
        mine = visible_campaigns().where(campaigns.c.project_id == project_id).order_by(campaigns.c.id)
        return [Campaign._make(row) for row in self._rows(mine)]

    def has_any(self, project_id: int) -> bool:
        of_project = visible_campaigns(campaigns.c.id).where(campaigns.c.project_id == project_id)
        return self._first(of_project.limit(1)) is not None

    def versions(self, project_id: int) -> builtins.list[CampaignVersion]:
        of_project, of = campaigns.c.project_id == project_id, participants.c
        last = select(func.max(events.c.number)).where(events.c.project_id == campaigns.c.texts).scalar_subquery()
        mine = visible_campaigns(campaigns.c.id, func.coalesce(last, 0)).where(of_project).order_by(campaigns.c.id)
        without = select(of.campaign, of.id).join_from(participants, campaigns).where(of_project, of.excluded != "")
        with reading(self._engine) as connection:
            excluded = defaultdict[int, builtins.list[int]](list)
            for campaign_id, participant_id in connection.execute(without.order_by(of.id)):
                excluded[campaign_id].append(participant_id)
            rows = connection.execute(mine)
            return [CampaignVersion(id, newest, tuple(excluded.get(id, ()))) for id, newest in rows]

    def get(self, campaign_id: int) -> Campaign:
        with reading(self._engine) as connection:
            return require_campaign(connection, campaign_id)

    def of_texts(self, project_id: int) -> Campaign | None:
        row = self._first(visible_campaigns().where(campaigns.c.texts == project_id))
        return None if row is None else Campaign._make(row)

    def set_state(self, campaign_id: int, state: CampaignState) -> None:
        with writing(self._engine) as connection:
            require_campaign(connection, campaign_id)
            connection.execute(update(campaigns).where(campaigns.c.id == campaign_id).values(state=state))

    def delete(self, campaign_id: int) -> None:
        with writing(self._engine) as connection:
            hidden = slices.hide(connection, self._engine, require_campaign(connection, campaign_id).texts)
        hidden.remove()

    def units(self, campaign_id: int) -> builtins.list[CampaignUnit]:
        with reading(self._engine) as connection:
            require_campaign(connection, campaign_id)
            return units_of(connection, campaign_units.c.campaign == campaign_id)

    def add_units(self, campaign_id: int, texts: Dataset, units: Sequence[NewUnit]) -> None:
        """Add texts and units in one transaction, because participants are working."""

        def add(connection: Connection) -> None:
            require_campaign(connection, campaign_id, lock=True)
            documents = select(segments.c.doc_id).where(segments.c.project_id == campaign.texts)
            _require_segments(units, set(connection.execute(documents).scalars()))
            last = select(func.max(campaign_units.c.position)).where(campaign_units.c.campaign == campaign_id)
            first = connection.execute(select(func.coalesce(last.scalar_subquery(), -1) + 1)).scalar_one()
            if units:
                connection.execute(insert(campaign_units), unit_rows(campaign_id, units, first))

        campaign = self.get(campaign_id)
        adding.add(self._engine, campaign.texts, adding.Addition(DatasetImport(texts), also=add))

    def retire(self, campaign_id: int, unit_ids: Collection[int], retired: bool = True) -> None:
        mine = campaign_units.c.campaign == campaign_id
        with writing(self._engine) as connection:
            require_campaign(connection, campaign_id, lock=True)
            for part in parts(list(unit_ids)):
                these = update(campaign_units).where(mine, campaign_units.c.id.in_(part))
                connection.execute(these.values(retired=retired))

    @retried
    def join(self, campaign_id: int, rater: str, code: str) -> Participant:
        require_name("a participant", rater)
        of = participants.c
        query = select(*PARTICIPANT).where(of.campaign == campaign_id, of.rater == rater)
        row = {
            "campaign": campaign_id, "rater": rater, "code": code, "joined": current_time(), "excluded": "",
            "has_left": False,
        }  # fmt: skip
        with reading(
            self._engine
        ) as connection:  # at every save and every page: the turn of a writer is for those who are new
            if mine := connection.execute(query).first():
                return Participant._make(mine)
        with writing(self._engine) as connection:
            require_campaign(connection, campaign_id)
            if connection.execute(query).first() is None:
                connection.execute(insert(participants).values(**row))
            return Participant._make(connection.execute(query).one())

    def participants(self, campaign_id: int) -> builtins.list[Participant]:
        mine = select(*PARTICIPANT).where(participants.c.campaign == campaign_id).order_by(participants.c.id)
        with reading(self._engine) as connection:
            require_campaign(connection, campaign_id)
            return [Participant._make(row) for row in connection.execute(mine)]

    def change(self, participant: Participant) -> None:
        of = participants.c
        this = update(participants).where(of.id == participant.id, of.campaign == participant.campaign_id)
        values = {
            "excluded": participant.excluded,
            "has_left": participant.left,
            "passed_tutorial": participant.passed_tutorial,
        }
        with writing(self._engine) as connection:
            require_campaign(connection, participant.campaign_id, lock=True)
            before = connection.execute(select(of.excluded).where(of.id == participant.id)).scalar()
            if not connection.execute(this.values(values)).rowcount:
                raise UserError("there is no such participant", got=participant.rater, hint="Reload the page")
            if participant.excluded:
                theirs = assignments.c.participant == participant.id
                connection.execute(update(assignments).where(theirs).values(slot=None))
            elif before:
                assigning.take_free_slots(connection, participant.campaign_id, participant.id)

    def assignments(self, campaign_id: int, participant_id: int | None = None) -> builtins.list[Assignment]:
        mine = [participants.c.campaign == campaign_id]
        of_campaign = [campaign_units.c.campaign == campaign_id]
        if participant_id is not None:
            mine.append(participants.c.id == participant_id)
            theirs = select(assignments.c.unit).where(assignments.c.participant == participant_id)
            of_campaign.append(campaign_units.c.id.in_(theirs))
        with reading(self._engine) as connection:
            require_campaign(connection, campaign_id)
            units = {unit.id: unit for unit in units_of(connection, *of_campaign)}
            return assignments_of(connection, units, *mine)

    def remaining_work(self, campaign_id: int) -> RemainingWork:
        unit, who = campaign_units.c, participants.c
        items = (unit.campaign == campaign_id, unit.kind == "item", unit.retired.is_(False))
        rated = (*items, assignments.c.state == "submitted", assignments.c.slot.is_not(None))
        mine = who.campaign == campaign_id
        gone = or_(who.excluded != "", who.has_left, who.passed_tutorial.is_(False))
        counted = select(
            select(func.count()).select_from(campaign_units).where(*items).scalar_subquery(),
            select(func.count()).select_from(assignments).join(campaign_units).where(*rated).scalar_subquery(),
            select(func.count()).select_from(participants).where(mine).scalar_subquery(),
            select(func.count()).select_from(participants).where(mine, gone).scalar_subquery(),
        )  # fmt: skip
        return RemainingWork._make(self._first(counted))

    def assign(
        self, campaign_id: int, participant_id: int, now: datetime, lease_until: datetime | None, draw: Draw
    ) -> builtins.list[Assignment]:
        with writing(self._engine) as connection:
            return assigning.assign(connection, campaign_id, participant_id, now, lease_until, draw)

    def hand_over(self, campaign_id: int, participant_id: int, now: datetime, choose: ChooseHandOver) -> HandOver:
        with writing(self._engine) as connection:
            return assigning.hand_over(connection, campaign_id, participant_id, now, choose)


@contextmanager
def _removed_if_it_fails(hidden: slices.SlicedWriter) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(UserError):  # what cannot be deleted now stays hidden and is deleted later
            hidden.remove()
        raise


def _unique_name(name: str) -> Any:
    return unique(f"campaign “{name}” in this project", "Choose another name, or open that campaign")


def _refuse_hidden(connection: Connection, project_id: int, name: str) -> None:
    """Raise `UserError` if a campaign of this name is just being created or deleted."""
    of = campaigns.c
    query = select(projects.c.name).join_from(campaigns, projects, projects.c.id == of.texts)
    hidden = query.where(of.project_id == project_id, of.name == name, projects.c.importing.is_not(None))
    if taken := connection.execute(hidden).scalar():
        raise hidden_project(taken)


def _require_segments(units: Sequence[NewUnit], documents: Collection[str]) -> None:
    """Raise ValueError for units without texts, or with the same name."""
    names = [unit.name for unit in units]
    if missing := [name for name in names if name not in documents]:
        raise ValueError(f"there are no texts of the unit {missing[0]!r}")
    if len(set(names)) < len(names):
        raise ValueError("two units have the same name")
