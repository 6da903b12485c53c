"""Personal links of annotators, and public pages of results."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, NamedTuple

from core.errors import UserError
from core.ports.people import Identity, Link, People, SharedResult
from core.ports.store import Store
from core.services.people.accounts import cleaned_name
from core.services.people.sessions import new_token, token_hash

LinkState = Literal["active", "expired", "revoked"]
_ASK = "Ask the person who sent you the link for a new one"


class NewLink(NamedTuple):
    """The token is part of the address, shown once and stored nowhere."""

    link: Link
    token: str

    @property
    def path(self) -> str:
        """Return the address on this server, without its base path."""
        return f"t/{self.token}"


def create(
    store: Store, who: str, project_id: int, rater: str, batch: str | None = None, expires: datetime | None = None
) -> NewLink:
    """Create a link to a calibration set, or to all outputs of the project, and record it.

    Raises `UserError` if the name is empty or that of an account, if there is no such calibration set, or if `expires` is past.
    """
    name = cleaned_name(rater)
    if not name:
        raise UserError("the link has no name", hint="Type the name of the annotator")
    if any(account.name.casefold() == name.casefold() for account in store.people.accounts()):
        raise UserError(
            "there is an account with this name", got=name,
            hint="Give the account a role in the project, or choose another name for the link",
        )  # fmt: skip
    if batch is not None and all(b.name != batch or b.archived for b in store.batches.list(project_id)):
        raise UserError("there is no such calibration set", got=batch, hint="Reload the page")
    if expires is not None and expires <= datetime.now(UTC):
        raise UserError("the link would have expired already", got=f"{expires:%Y-%m-%d}", hint="Choose a later day")
    token = new_token()
    link = store.people.add_link(project_id, name, batch, token_hash(token) or "", expires, who)
    store.audit.record(who, "link created", project_id, link=link.id, name=name, calibration_set=batch)
    return NewLink(link, token)


def revoke(store: Store, who: str, link: Link) -> None:
    """Revoke a link, effective at its next use, and record it. Labels stay."""
    store.people.revoke(link.id)
    store.audit.record(who, "link revoked", link.project_id, link=link.id, name=link.rater)


def state_of_link(link: Link, now: datetime) -> LinkState:
    """Return whether the link can be used at this time."""
    if link.revoked is not None:
        return "revoked"
    return "expired" if link.expires is not None and link.expires <= now else "active"


def resolve(people: People, token: str, now: datetime | None = None) -> Identity:
    """Return the holder of the link with this token.

    Raises `UserError` if it is unknown, revoked or expired. The message names neither the project nor the person.
    """
    hashed = token_hash(token)
    link = people.link(hashed) if hashed else None
    if link is None:
        raise UserError("this link is not valid", hint=f"Check that you copied all of it. {_ASK}")
    link_state = state_of_link(link, now or datetime.now(UTC))
    if link_state == "revoked":
        raise UserError("this link was revoked", hint=_ASK)
    if link_state == "expired":
        raise UserError("this link has expired", hint=_ASK)
    return Identity(link=link)


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
    title = cleaned_name(title, LONGEST_TITLE)
    if not title:
        raise UserError("the page has no title", hint="Type a title")
    return title


def share_result(
    store: Store, who: str, project_id: int, campaign_id: int | None, title: str, blind: bool, page: str
) -> NewSharedResult:
    """Store a page as it is now, and make its link."""
    token = new_token()
    made = store.shared.add(project_id, campaign_id, title, blind, page, token_hash(token) or "", who)
    return NewSharedResult(made, token)


def shared_results_of(store: Store, project_id: int, campaign_id: int | None) -> list[SharedResult]:
    """Return the pages of a campaign, or of the meta-evaluations of a project, newest first."""
    return [s for s in reversed(store.shared.list(project_id)) if s.campaign == campaign_id]
