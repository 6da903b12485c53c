"""Who sends a request, checked for each one: identity, CSRF token, and the segments that a person may label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from api import assigned
from api.auth import identity_of
from api.refusals import RequestRefused, network
from api.storage import secret, store
from core.data import SegmentKey
from core.ports.people import Identity
from core.services.labels import units
from core.services.labels.labels import Outline
from core.services.people.tokens import CSRF_HEADER, SESSION_COOKIE, is_csrf_token
from core.settings import load as settings

LINK_ENDED = "Your link is no longer valid. Ask the person who sent it for a new one"
LOGIN_ENDED = "You are no longer logged in. Reload the page and log in"


def identify(request: Request) -> Identity:
    """Return the identity of the sender. Raises `RequestRefused` (401) if there is none."""
    who = identity_of(request)
    if who is None:
        raise RequestRefused(401, LINK_ENDED if "authorization" in request.headers else LOGIN_ENDED)
    request.state.who = who
    return who


def key_of(who: Identity, request: Request) -> Any:
    """Return what limits of requests are counted for: the person, or without accounts the address."""
    if who.link is not None:
        return ("link", who.link.id)
    if who.account is not None:
        return ("account", who.account.id)
    return ("address", network(request))


def check_csrf(who: Identity, request: Request) -> None:
    """Raise `RequestRefused` (403) unless the page that sends this is ours. A link's token in the header shows it already."""
    if who.link is not None:
        return
    session = request.cookies.get(SESSION_COOKIE, "")
    if not is_csrf_token(secret(settings().database), session, request.headers.get(CSRF_HEADER, "")):
        raise RequestRefused(403, "This page is out of date. Reload it; your changes are kept in this browser")


def allowed(who: Identity) -> Callable[[int, SegmentKey], bool]:
    """Return a function that says whether this person may label a segment."""

    def may_label(project_id: int, segment: SegmentKey) -> bool:
        if not (who.may_label(project_id) or who.takes_part(project_id)):
            return False
        if who.role(project_id) in ("manager", "adjudicator") and assigned.may_decide(who, project_id, segment):
            return True
        if who.rater is not None and (given := assigned.may_label(project_id, who.rater, segment)) is not None:
            return given and who.takes_part(project_id)
        if who.link is None or who.link.batch is None:
            return True
        return assigned.in_calibration_set(project_id, who.link.batch, segment)

    return may_label


def outline(who: Identity, project_id: int) -> Outline:
    """Return the segments that a person labels. Raises `UserError` if the calibration set of a link was deleted."""
    return units.outline(store(), project_id, who.link.batch if who.link else None)
