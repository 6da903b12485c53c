"""A call of a method of storage by one person, and what rules ask of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from core.errors import UserError
from core.ports.campaigns import Campaign
from core.ports.people import Role
from core.ports.store import Store
from core.services.people.identity import Identity

READERS: Collection[Role | None] = ("manager", "adjudicator", "viewer")


def may_read(who: Identity, project_id: int) -> bool:
    """Return whether the person may see all of a project. Annotators see their outputs through the task page only."""
    return who.role(project_id) in READERS


class GuardedCall(NamedTuple):
    """A call of a method of storage: who calls, the store without a guard, and the arguments by name."""

    who: Identity
    store: Store
    method: Callable[..., Any]
    arguments: Mapping[str, Any]

    @property
    def project(self) -> int:
        return int(self.arguments["project_id"])

    def run(self) -> Any:
        return self.method(**self.arguments)

    def role(self, project_id: int) -> Role | None:
        """Return the role in a project. The texts of a campaign have the roles of its project, also of one created after the person was looked up."""
        if (role := self.who.role(project_id)) is None and (campaign := self.store.campaigns.of_texts(project_id)):
            role = self.who.role(campaign.project_id)
        return role

    def need_reader(self, project_id: int) -> None:
        """Raise the error for a project that does not exist, unless the person may see all of it."""
        if self.role(project_id) not in READERS:
            raise UserError(
                "there is no such project", got=str(project_id), hint="It may have been deleted; choose another"
            )

    def need_manager(self, project_id: int) -> None:
        self.need_reader(project_id)
        if self.role(project_id) != "manager":
            raise UserError("you may not change this project", hint="Ask a manager for another role")

    def campaign(self) -> Campaign:
        """Return the campaign of the arguments. Raises the error for one that does not exist, unless the person may see its project."""
        wanted = int(self.arguments["campaign_id"])
        campaign = self.store.campaigns.get(wanted)
        if not may_read(self.who, campaign.project_id):
            hint = "It may have been deleted; choose another"
            raise UserError("there is no such campaign", got=str(wanted), hint=hint)
        return campaign

    def record(self, act: str, project_id: int | None, **details: Any) -> None:
        self.store.audit.record(self.who.who, act, project_id, **details)


CallRule = Callable[[GuardedCall], Any]
