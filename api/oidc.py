"""Login with OpenID Connect through Streamlit, whose routes talk to the provider and leave a signed cookie.

`st.login` does no more than open Streamlit's login route with a signed name of the provider. Here the login page does it,
so that nobody without a session needs a page of Streamlit. This is the only module of `api` that imports Streamlit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import urlencode

from streamlit.auth_util import encode_provider_token, get_secrets_auth_section
from streamlit.web.server.starlette.starlette_server_config import TOKENS_COOKIE_NAME, USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import _get_signed_cookie_with_chunks

DEFAULT = "default"
PATHS = ("/auth/login", "/auth/logout", "/oauth2callback")
"""Streamlit's routes of the login; they are open if a provider is configured."""


def providers() -> tuple[str, ...]:
    """Return the names of the configured providers; the unnamed one is "default"."""
    section = get_secrets_auth_section()
    if not section:
        return ()
    named = tuple(name for name, value in section.to_dict().items() if isinstance(value, dict) and "client_id" in value)
    return (DEFAULT, *named) if "client_id" in section else named


def login_path(provider: str) -> str:
    """Return the address at which Streamlit starts the login with this provider."""
    return f"/auth/login?{urlencode({'provider': encode_provider_token(provider)})}"


def returns(cookies: Mapping[str, str]) -> bool:
    """Return whether the browser comes back from the provider."""
    return USER_COOKIE_NAME in cookies and bool(providers())


def cookies_of(cookies: Mapping[str, str]) -> list[str]:
    """Return the names of Streamlit's login cookies. They last for 30 days; a session of ours replaces them at once."""
    return [name for name in cookies if name.startswith((USER_COOKIE_NAME, TOKENS_COOKIE_NAME))]


def verified_email(cookies: Mapping[str, str], origin: str) -> str | None:
    """Return the e-mail address that the provider has verified; None if the cookie is not genuine, or of another origin."""
    signed = _get_signed_cookie_with_chunks(dict(cookies), USER_COOKIE_NAME)
    try:
        user = json.loads(signed) if signed else {}
    except ValueError:
        return None
    email = user.get("email")
    genuine = user.get("is_logged_in") is True and user.get("origin") == origin
    return email if genuine and user.get("email_verified") is True and isinstance(email, str) else None
