"""Public pages of results: who has the link reads the page, without an account, until it is revoked."""

from __future__ import annotations

from typing import NamedTuple

from core.errors import UserError
from core.ports.shared_results import SharedResult
from core.ports.store import Store
from core.services.people.names import cleaned
from core.services.people.tokens import new_token, token_hash

LONGEST_TITLE = 190


class NewSharedResult(NamedTuple):
    """The token is part of the address, shown once and stored nowhere."""

    shared: SharedResult
    token: str

    @property
    def path(self) -> str:
        """Return the address on this server, without its base path."""
        return f"r/{self.token}"


def titled(title: str) -> str:
    """Return the title as it is stored. Raises `UserError` if it is empty."""
    title = cleaned(title, LONGEST_TITLE)
    if not title:
        raise UserError("the page has no title", hint="Type a title")
    return title


def share(
    store: Store, who: str, project_id: int, campaign_id: int | None, title: str, blind: bool, page: str
) -> NewSharedResult:
    """Store a page as it is now, and make its link."""
    token = new_token()
    made = store.shared.add(project_id, campaign_id, title, blind, page, token_hash(token) or "", who)
    return NewSharedResult(made, token)


def of_result(store: Store, project_id: int, campaign_id: int | None) -> list[SharedResult]:
    """Return the pages of a campaign, or of the meta-evaluations of a project, newest first."""
    return [s for s in reversed(store.shared.list(project_id)) if s.campaign == campaign_id]
