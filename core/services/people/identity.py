"""Who sends a request, and what this person may do. The server decides it; nothing the browser sends as a name counts."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from core.ports.people import Account, Link, Role

SESSION_COOKIE = "errorscope_session"
_NONE: Mapping[int, Role] = MappingProxyType({})


class Identity(NamedTuple):
    """A person with an account, the holder of a personal link, or the one local manager of a server without accounts.

    `roles` are those of the account by project id, `campaigns` the texts projects of the campaigns in which it takes part.
    """

    account: Account | None = None
    roles: Mapping[int, Role] = _NONE
    link: Link | None = None
    campaigns: Collection[int] = ()

    @property
    def local(self) -> bool:
        """Whether this is the local manager, who types a name to annotate."""
        return self.account is None and self.link is None

    @property
    def rater(self) -> str | None:
        """The name under which labels are saved; None if the person types it."""
        if self.link is not None:
            return self.link.rater
        return self.account.name if self.account is not None else None

    @property
    def who(self) -> str:
        """Return the name for the audit record."""
        if self.link is not None:
            return f"{self.link.rater} (link {self.link.id})"
        return self.account.name if self.account is not None else "local manager"

    @property
    def manager(self) -> bool:
        """Whether this person manages the server: every project, and the accounts."""
        return self.local or (self.account is not None and self.account.manager)

    def role(self, project_id: int) -> Role | None:
        """Return the role in a project; None if the project must not be visible."""
        if self.manager:
            return "manager"
        if self.link is not None:
            return "annotator" if self.link.project_id == project_id else None
        return self.roles.get(project_id)

    @property
    def sees_pages(self) -> bool:
        """Whether this person may open the pages. Annotators see only their outputs, without names of systems and scores."""
        return self.manager or any(role != "annotator" for role in self.roles.values())

    @property
    def manages(self) -> bool:
        """Whether this person manages the server or a project."""
        return self.manager or "manager" in self.roles.values()

    @property
    def labels_on_pages(self) -> bool:
        """Whether this person may label in a project that the pages show."""
        return self.manages or "adjudicator" in self.roles.values()

    def may_label(self, project_id: int) -> bool:
        return self.role(project_id) in ("manager", "adjudicator", "annotator")

    def takes_part(self, project_id: int) -> bool:
        """Return whether this person annotates in the campaign with these texts."""
        return project_id in self.campaigns if self.link is None else self.link.project_id == project_id


LOCAL = Identity()


def outbox_name(secret: bytes, who: Identity) -> str:
    """Return the name of the outbox in which browsers keep what this person has not saved yet.

    An account has one, and so have all links of one project and calibration set, so that a renewed link sends what its predecessor has
    left. The name says nothing about ids, and differs between databases that are served at one address.
    """
    if who.link is not None:
        owner = f"link\x1f{who.link.project_id}\x1f{'' if who.link.batch is None else f'set {who.link.batch}'}"
    else:
        owner = f"account\x1f{who.account.id}" if who.account is not None else "local"
    return hmac.new(secret, f"outbox\x1f{owner}".encode(), hashlib.sha256).hexdigest()[:32]
