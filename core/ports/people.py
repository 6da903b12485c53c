"""People and their access: accounts, roles by project, sessions, and personal links."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

Role = Literal["manager", "adjudicator", "annotator", "viewer"]


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


class People(Protocol):
    """Tokens are given as the SHA-256 of what the browser has, in hexadecimal."""

    def accounts(self) -> list[Account]: ...
    def add_account(self, name: str, password_hash: str | None, *, manager: bool) -> Account:
        """Add an account; without a password hash it can be used with OpenID Connect only. Raises `UserError` if the name is taken."""
        ...

    def password_hash(self, name: str) -> tuple[Account, str | None] | None: ...
    def set_password(self, account_id: int, password_hash: str) -> None:
        """Set the password and end all sessions of the account."""
        ...

    def set_active(self, account_id: int, active: bool) -> None:
        """Allow or refuse login. Refusing ends all sessions. Raises `UserError` for the last active manager."""
        ...

    def roles(self, account_id: int) -> Mapping[int, Role]:
        """Return the roles by project id. Those of a project hold for the texts of its campaigns; without one there, the own one does."""
        ...

    def set_role(self, project_id: int, account_id: int, role: Role | None) -> None:
        """Set the role in a project. In the texts of a campaign the only role is annotator: the account takes part in the campaign."""
        ...

    def members(self, project_id: int) -> list[tuple[Account, Role]]: ...
    def campaigns(self, account_id: int) -> list[int]:
        """Return the texts projects of the campaigns in which an account takes part, the oldest first."""
        ...

    def taking_part(self, project_id: int) -> list[Account]:
        """Return the accounts that take part in the campaign with these texts, by name."""
        ...

    def start_session(self, token_hash: str, account_id: int, expires: datetime) -> None: ...
    def session(self, token_hash: str) -> Account | None:
        """Return the active account of a session that has not expired."""
        ...

    def end_session(self, token_hash: str) -> None: ...

    def add_link(
        self, project_id: int, rater: str, batch: str | None, token_hash: str, expires: datetime | None, created_by: str
    ) -> Link: ...
    def link(self, token_hash: str) -> Link | None:
        """Return a link, also if it was revoked or has expired."""
        ...

    def links(self, project_id: int) -> list[Link]: ...
    def has_link(self, rater: str) -> bool:
        """Return whether a link of any project, also a revoked one, is for this name, whatever the case of its letters."""
        ...

    def revoke(self, link_id: int) -> None: ...
    def secret(self) -> bytes:
        """Return 32 random bytes that all servers of this database share; made at the first call."""
        ...
