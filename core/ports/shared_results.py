"""Public pages of results, which anybody with the link reads without an account."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from core.ports.rules import by_manager, change_project, server_only


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
