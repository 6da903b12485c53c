"""Who sends a request, checked for each one: identity and CSRF token."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from api.auth import identity_of
from api.refusals import RequestRefused, network
from api.storage import secret
from core.ports.people import Identity
from core.services.people.sessions import CSRF_HEADER, SESSION_COOKIE, is_csrf_token
from core.settings import load_settings

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
    if not is_csrf_token(secret(load_settings().database), session, request.headers.get(CSRF_HEADER, "")):
        raise RequestRefused(403, "This page is out of date. Reload it; your changes are kept in this browser")
