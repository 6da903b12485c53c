"""The routes of login and logout, also through OpenID Connect: plain HTML pages without scripts.

`st.login` does no more than open Streamlit's login route with a signed name of the provider. Here the login page does it,
so that nobody without a session needs a page of Streamlit. This is the only module of `api` that imports Streamlit.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial, wraps
from pathlib import Path
from urllib.parse import parse_qs, urlencode

from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from streamlit.auth_util import encode_provider_token, get_secrets_auth_section
from streamlit.web.server.starlette.starlette_server_config import TOKENS_COOKIE_NAME, USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import _get_signed_cookie_with_chunks

from api.endpoint import RequestRefused, identity_of, network, read, secret, unguarded
from api.task.catalogue import begun
from core.errors import UserError
from core.plots.colours import VARIABLES
from core.ports.people import Account
from core.services.people import sessions
from core.services.people.accounts import AT_ONCE, LONGEST_ACCOUNT, check_password, cleaned_name
from core.services.people.sessions import SESSION_COOKIE, LoginThrottle, csrf_token, is_csrf_token
from core.settings import load_settings

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


PASSWORD_THREADS = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password")
"""Passwords are checked here, where 64 MiB and 0.1 s each do not hold up those who save labels."""
KNOWN_COOKIE = "errorscope_known"
"""A code that shows that this browser has logged in under a name before, so that others who guess do not keep it out."""
KNOWN_SECONDS = 365 * 86_400
FORM_COOKIE = "errorscope_login"
"""A random number that ties a login form to the browser that opened it."""
LARGEST_FORM = 20_000
THROTTLE = LoginThrottle()
FAILED = "Name or password is wrong."


LoginHandler = Callable[["LoginPages", Request], Awaitable[Response]]


def routes(base: str = "") -> list[Route]:
    """Return the routes of login under the base path of the server, "" or "/errorscope"."""
    login = LoginPages(base)
    return [
        Route(f"{base}/login", login.form, methods=["GET"]),
        Route(f"{base}/login", login.submit, methods=["POST"]),
        Route(f"{base}/login/provider", login.provider, methods=["GET"]),
        Route(f"{base}/logout", login.ask_logout, methods=["GET"]),
        Route(f"{base}/logout", login.logout, methods=["POST"]),
    ]


def storage_explained(handler: LoginHandler) -> LoginHandler:
    """Say on a page that storage cannot be used now."""

    @wraps(handler)
    async def answering(self: LoginPages, request: Request) -> Response:
        try:
            return await handler(self, request)
        except UserError as error:
            return not_now(error, self.base)

    return answering


class LoginPages:
    """The pages of login under a base path."""

    def __init__(self, base: str) -> None:
        self.base = base

    @storage_explained
    async def form(self, request: Request) -> Response:
        """`GET /login`: the form, or on to the next page for who needs no login. Ends a login with the provider."""
        target = own_path(request.query_params.get("next", ""), self.base)
        if await run_in_threadpool(identity_of, request) is not None:
            return _see(target)
        if not returns(request.cookies):
            return await self._page(request, target)
        email = verified_email(request.cookies, f"{request.url.scheme}://{request.headers.get('host', '')}")
        account = await run_in_threadpool(_active_account, email) if email else None
        if account is None:
            name = f" with the name {email}" if email else ""
            response = await self._page(
                request, target, f"There is no active account{name}. Ask a manager to add it.", 403
            )
        else:
            response = await self._opened(request, account, target, "OpenID Connect")
        for cookie in cookies_of(request.cookies):
            response.delete_cookie(cookie, path=self.base or "/")
        return response

    @storage_explained
    async def submit(self, request: Request) -> Response:
        """`POST /login`: check name and password, and start a session with a new token."""
        fields = await _fields(request)
        if fields is None:
            return HTMLResponse("The form is too large.", 413)
        target = own_path(fields.get("next", ""), self.base)
        known = request.cookies.get(FORM_COOKIE, "")
        if not known or not is_csrf_token(await _secret(), f"login\x1f{known}", fields.get("token", "")):
            return await self._page(request, target, "This page was open for too long. Log in again.", 403)
        name, address = cleaned_name(fields.get("name", ""), LONGEST_ACCOUNT), network(request)
        code = request.cookies.get(KNOWN_COOKIE, "")
        browser = code if is_csrf_token(await _secret(), _known(name), code) else ""
        wait = THROTTLE.begin(name, address, browser)
        if wait > 0:
            seconds = math.ceil(wait)
            said = f"Too many failed logins. Wait {seconds} {'second' if seconds == 1 else 'seconds'} and try again."
            response = await self._page(request, target, said, 429, name)
            response.headers["Retry-After"] = str(seconds)
            return response
        checked = partial(check_password, unguarded().people, name, fields.get("password", ""))
        account = await asyncio.get_running_loop().run_in_executor(PASSWORD_THREADS, checked)
        if account is None:
            await run_in_threadpool(_record_failure, name)
            return await self._page(request, target, FAILED, 401, name)
        THROTTLE.succeeded(name, address, browser)
        response = await self._opened(request, account, target, "password")
        _set_cookie(response, request, KNOWN_COOKIE, csrf_token(await _secret(), _known(name)), KNOWN_SECONDS)
        return response

    async def provider(self, request: Request) -> Response:
        """`GET /login/provider`: on to the login page of the OpenID Connect provider."""
        name = request.query_params.get("name", "")
        if name not in providers():
            return _see(f"{self.base}/login")
        return _see(f"{self.base}{login_path(name)}")

    @storage_explained
    async def ask_logout(self, request: Request) -> Response:
        """`GET /logout`: a page with a button, so that no other site can log people out with an image or a link."""
        who = await run_in_threadpool(identity_of, request)
        if who is None or who.account is None:
            return _see(f"{self.base}/login")
        return _html("logout.html", base=self.base, name=who.account.name, pages=who.sees_pages)

    @storage_explained
    async def logout(self, request: Request) -> Response:
        """`POST /logout`: end the session. `api.access` has refused other sites."""
        if token := request.cookies.get(SESSION_COOKIE):
            await run_in_threadpool(sessions.end, unguarded(), token)
        response = _see(f"{self.base}/login")
        response.delete_cookie(SESSION_COOKIE, path="/")
        return response

    async def _page(
        self, request: Request, target: str, error: str = "", status: int = 200, name: str = ""
    ) -> Response:
        known = request.cookies.get(FORM_COOKIE, "") or secrets.token_urlsafe(16)
        response = _html(
            "login.html", status, base=self.base, error=error, name=name, target=target, providers=providers(),
            token=csrf_token(await _secret(), f"login\x1f{known}"),
        )  # fmt: skip
        _set_cookie(response, request, FORM_COOKIE, known, 3600)
        return response

    async def _opened(self, request: Request, account: Account, target: str, how: str) -> Response:
        """Start a session with a token of its own, whatever token the browser sent, and end the session before."""
        if before := request.cookies.get(SESSION_COOKIE):
            await run_in_threadpool(sessions.end, unguarded(), before)
        started = await run_in_threadpool(sessions.start, unguarded(), account, how)
        response = _see(target)
        _set_cookie(response, request, SESSION_COOKIE, started.token, int(sessions.LIFETIME.total_seconds()))
        response.delete_cookie(FORM_COOKIE, path="/")
        return response


def own_path(asked: str, base: str = "") -> str:
    """Return the path if it is one of this server, else its first page. Browsers read `\\` as `/`, and `//` as another host."""
    inside = asked.startswith(f"{base}/") and not asked.startswith("//") and asked.isprintable() and "\\" not in asked
    first = asked.removeprefix(base).lstrip("/").partition("?")[0].partition("/")[0]
    return asked if inside and first not in ("login", "logout") else f"{base}/"


def message(status: int, title: str, text: str, base: str = "", *, logout: bool = False) -> Response:
    """Return a page with one plain sentence."""
    return _html("message.html", status, base=base, title=title, text=text, logout=logout)


def not_now(error: UserError, base: str = "") -> Response:
    """Return a page that says why storage cannot be used, without its place, a path on the server."""
    return message(503, "Not possible now", f"{begun(error.what)}. Try again in a moment.", base)


def _active_account(name: str) -> Account | None:
    accounts = unguarded().people.accounts()
    return next((a for a in accounts if a.active and a.name.casefold() == name.casefold()), None)


def _record_failure(name: str) -> None:
    """Record a failed login of an account that exists. Other names are left out: people type passwords there."""
    if unguarded().people.password_hash(name) is not None:
        unguarded().audit.record(name, "login refused")


def _known(name: str) -> str:
    return f"known\x1f{name.casefold()}"


async def _secret() -> bytes:
    return await run_in_threadpool(secret, load_settings().database)


async def _fields(request: Request) -> dict[str, str] | None:
    """Return the fields of a posted form, or None if it is too large."""
    try:
        raw = await read(request, LARGEST_FORM)
    except RequestRefused:
        return None
    try:
        form_values = parse_qs(raw.decode("utf-8"), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        return {}
    return {name: values[0] for name, values in form_values.items()}


def _see(target: str) -> Response:
    return RedirectResponse(target, 303, {"Cache-Control": "no-store"})


def _set_cookie(response: Response, request: Request, name: str, value: str, seconds: int) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=seconds, path="/", httponly=True, samesite="lax", secure=secure)


@cache
def templates() -> Environment:
    """Return the templates of all pages."""
    folders = FileSystemLoader([Path(__file__).parent / name for name in ("login", "task")])
    return Environment(loader=folders, autoescape=select_autoescape(default=True), trim_blocks=True, lstrip_blocks=True)


def _html(template: str, status: int = 200, **values: object) -> Response:
    text = templates().get_template(template).render(variables=VARIABLES, **values)
    return HTMLResponse(text, status, {"Cache-Control": "no-store", "X-Robots-Tag": "noindex"})
