"""People and their access: accounts, roles, sessions, personal links, public pages, and the audit record."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from core.ports.rules import (
    READERS,
    by_manager,
    by_server_manager,
    by_some_manager,
    change_project,
    everyone,
    read_entries,
    record_own,
    revoke_link,
    server_only,
)

Role = Literal["manager", "adjudicator", "annotator", "viewer"]
_NO_ROLES: Mapping[int, Role] = MappingProxyType({})


class Account(NamedTuple):
    """A person who logs in. A `manager` manages every project and all accounts. Their labels have `name` as rater."""

    id: int
    name: str
    manager: bool
    active: bool
    created: datetime


class Link(NamedTuple):
    """A personal link of an annotator, who needs no account.

    It opens the outputs of a calibration set (`batch`), or all of the project, for the rater of this name. Only the hash of its
    token is stored.
    """

    id: int
    project_id: int
    rater: str
    batch: str | None
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    created_by: str


class Identity(NamedTuple):
    """A person with an account, the holder of a personal link, or the one local manager of a server without accounts.

    `roles` are those of the account by project id, `campaigns` the texts projects of the campaigns in which it takes part.
    """

    account: Account | None = None
    roles: Mapping[int, Role] = _NO_ROLES
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

    def may_read(self, project_id: int) -> bool:
        """Return whether this person may see all of a project. Annotators see their outputs through the task page only."""
        return self.role(project_id) in READERS

    def may_label(self, project_id: int) -> bool:
        return self.role(project_id) in ("manager", "adjudicator", "annotator")

    def takes_part(self, project_id: int) -> bool:
        """Return whether this person annotates in the campaign with these texts."""
        return project_id in self.campaigns if self.link is None else self.link.project_id == project_id

    def annotates(self, project_id: int) -> bool:
        """Return whether this person labels in a project or in the campaign with these texts. Not each of their segments, perhaps."""
        return self.may_label(project_id) or self.takes_part(project_id)


LOCAL = Identity()


class People(Protocol):
    """Tokens are given as the SHA-256 of what the browser has, in hexadecimal."""

    @by_some_manager
    def accounts(self) -> list[Account]: ...

    @by_server_manager
    def add_account(self, name: str, password_hash: str | None, *, manager: bool) -> Account:
        """Add an account; without a password hash it can be used with OpenID Connect only. Raises `UserError` if the name is taken."""
        ...

    @server_only
    def password_hash(self, name: str) -> tuple[Account, str | None] | None: ...

    @by_server_manager
    def set_password(self, account_id: int, password_hash: str) -> None:
        """Set the password and end all sessions of the account."""
        ...

    @by_server_manager
    def set_active(self, account_id: int, active: bool) -> None:
        """Allow or refuse login. Refusing ends all sessions. Raises `UserError` for the last active manager."""
        ...

    @by_server_manager
    def roles(self, account_id: int) -> Mapping[int, Role]:
        """Return the roles by project id. Those of a project hold for the texts of its campaigns; without one there, the own one does."""
        ...

    @by_manager
    def set_role(self, project_id: int, account_id: int, role: Role | None) -> None:
        """Set the role in a project. In the texts of a campaign the only role is annotator: the account takes part in the campaign."""
        ...

    @by_manager
    def members(self, project_id: int) -> list[tuple[Account, Role]]: ...

    @server_only
    def campaigns(self, account_id: int) -> list[int]:
        """Return the texts projects of the campaigns in which an account takes part, the oldest first."""
        ...

    @by_manager
    def taking_part(self, project_id: int) -> list[Account]:
        """Return the accounts that take part in the campaign with these texts, by name."""
        ...

    @server_only
    def start_session(self, token_hash: str, account_id: int, expires: datetime) -> None: ...

    @server_only
    def session(self, token_hash: str) -> Account | None:
        """Return the active account of a session that has not expired."""
        ...

    @server_only
    def end_session(self, token_hash: str) -> None: ...

    @by_manager
    def add_link(
        self, project_id: int, rater: str, batch: str | None, token_hash: str, expires: datetime | None, created_by: str
    ) -> Link: ...

    @server_only
    def link(self, token_hash: str) -> Link | None:
        """Return a link, also if it was revoked or has expired."""
        ...

    @by_manager
    def links(self, project_id: int) -> list[Link]: ...

    @by_server_manager
    def has_link(self, rater: str) -> bool:
        """Return whether a link of any project, also a revoked one, is for this name, whatever the case of its letters."""
        ...

    @revoke_link
    def revoke(self, link_id: int) -> None: ...

    @everyone
    def secret(self) -> bytes:
        """Return 32 random bytes that all servers of this database share; made at the first call."""
        ...


class AuditEntry(NamedTuple):
    """One recorded act. `project_id` is None for acts on the server; `details` are plain JSON values without texts or secrets."""

    number: int
    time: datetime
    who: str
    act: str
    project_id: int | None
    details: Mapping[str, Any]


class Audit(Protocol):
    @record_own
    def record(self, who: str, act: str, project_id: int | None = None, **details: Any) -> None: ...

    @read_entries
    def entries(
        self, project_id: int | None = None, *, before: int | None = None, limit: int = 200
    ) -> list[AuditEntry]:
        """Return entries of one project or of all, the newest first; `before` continues a list at this number."""
        ...


class SharedResult(NamedTuple):
    """A public page, without its content. `campaign` is the id of its campaign, or None for a meta-evaluation.

    With `blind`, letters replace the names of systems. Only the hash of the token of its link is stored.
    """

    id: int
    campaign: int | None
    title: str
    blind: bool
    created: datetime
    created_by: str
    revoked: datetime | None


class SharedResults(Protocol):
    """Tokens are given as the SHA-256 of what the link has, in hexadecimal."""

    @change_project("result shared", "title", "blind")
    def add(
        self,
        project_id: int,
        campaign_id: int | None,
        title: str,
        blind: bool,
        page: str,
        token_hash: str,
        created_by: str,
    ) -> SharedResult:
        """Store a page (HTML) as it is. Raises `UserError` if the title is empty, or the campaign is not one of the project."""
        ...

    @by_manager
    def list(self, project_id: int) -> list[SharedResult]: ...  # oldest first, also those that were revoked

    @server_only
    def page(self, token_hash: str) -> str | None: ...  # None if there is none, or it was revoked

    @change_project("shared result revoked", "shared_id")
    def revoke(self, project_id: int, shared_id: int) -> None:
        """Delete the content of a page, for good; who shared it, and when, stays. Raises `UserError` when there is none."""
        ...
