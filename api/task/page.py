"""The page of one annotator, opened with a personal link or an account. It works without Streamlit.

A GET changes nothing, because scanners of mail and previews of links send it too: it answers with the page around the editor, whose script
asks for the first segment (`api.actions.unit`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from babel.dates import format_date
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from api.actions import campaign_of
from api.auth import templates
from api.endpoint import (
    Handler,
    RateLimit,
    RequestRefused,
    endpoint,
    failed,
    identify,
    identity_of,
    identity_of_token,
    network,
    secret,
    store,
)
from api.task import catalogue
from core.browser_scripts import imports_of, script_address, scripts
from core.campaigns.design import design_from_json
from core.errors import Unavailable, UserError
from core.plots.colours import VARIABLES
from core.ports.campaigns import Campaign
from core.ports.people import Identity
from core.services.campaigns import people as taking_part
from core.services.labels.editor import LARGEST_NUMBER
from core.services.people.sessions import CSRF_HEADER, SESSION_COOKIE, csrf_token
from core.settings import load_settings

_ALLOWED = re.compile(r"(https?://|mailto:)", re.IGNORECASE)


class _Parser(MarkdownIt):
    """A parser for which other addresses, also those of other programs such as ms-word:, are no links."""

    def validateLink(self, url: str) -> bool:  # noqa: N802  (the name in the library)
        return _ALLOWED.match(url) is not None


_PARSER = _Parser("commonmark", {"html": False}).enable(["table"]).disable(["image"])


def markdown_html(text: str) -> Markup:
    return Markup(_PARSER.render(text))


HERE = Path(__file__).parent
EDITOR = HERE.parents[1] / "pages" / "_ui" / "components" / "span_annotator"


class Asset(NamedTuple):
    """A file with a hash in its name, so that browsers can keep it."""

    name: str
    text: str
    mime: str


def _asset(stem: str, ending: str, mime: str, text: str) -> Asset:
    return Asset(f"{stem}.{hashlib.sha256(text.encode()).hexdigest()[:16]}.{ending}", text, mime)


def _read(*files: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


SCRIPTS = {path: Asset(script_address(path), text, "text/javascript") for path, text in scripts().items()}
TASK = "api/task/task.js"
STYLE = _asset("task", "css", "text/css", f"{VARIABLES}\n{_read(EDITOR / 'editor.css', HERE / 'task.css')}")
DOCUMENTATION = _asset("documentation", "css", "text/css", f"{VARIABLES}\n{_read(HERE / 'documentation.css')}")
_BY_NAME = {asset.name: asset for asset in (STYLE, DOCUMENTATION, *SCRIPTS.values())}


async def asset(request: Request) -> Response:
    file = _BY_NAME.get(request.path_params["name"])
    if file is None:
        return failed(404, "There is no such file. Reload the page")
    keep = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(file.text, headers=keep, media_type=file.mime)


REFUSED = "This link cannot be opened"
CLOSED = "This page cannot be opened now"
KEPT = "Your labels are safe: those that are not saved yet are kept in this browser. Try again in a few minutes"
GUESSES = RateLimit(per_second=1.0, at_once=60)
"""Refused links per network: nobody can try tokens quickly, while many annotators may share an address."""


def annotators_page(handler: Handler) -> Handler:
    """Say on a page, not as JSON, that storage cannot be used now: a link is valid all the same."""

    @wraps(handler)
    async def answering(request: Request) -> Response:
        said = catalogue.of_request(request)
        try:
            return await handler(request)
        except Unavailable as error:
            sentence = catalogue.begun(f"{said(error.what)}. {said(KEPT)}")
            return _html(request, "refused.html", 503, title=said(CLOSED), sentence=sentence)

    return endpoint(answering)


@annotators_page
async def of_link(request: Request) -> Response:
    """`GET /t/<token>`."""

    def opened() -> Identity:
        try:
            return identity_of_token(request.path_params["token"])
        except Unavailable:  # no guess: the link may be valid
            raise
        except UserError:
            GUESSES.take(network(request))
            raise

    headers = {"Authorization": f"Bearer {request.path_params['token']}"}
    return await _page(request, opened, 0, headers)


@annotators_page
async def of_account(request: Request) -> Response:
    """`GET /tasks/<project>`: the same page for an annotator with an account."""
    if await run_in_threadpool(identity_of, request) is None:
        return _login(request)
    project = min(request.path_params["project"], LARGEST_NUMBER)
    token = csrf_token(
        await run_in_threadpool(secret, load_settings().database), request.cookies.get(SESSION_COOKIE, "")
    )
    return await _page(request, lambda: identify(request), project, {CSRF_HEADER: token}, back=True)


@annotators_page
async def tasks(request: Request) -> Response:
    """`GET /tasks`: the projects and campaigns in which an account annotates; the page of the only project."""
    who = await run_in_threadpool(identity_of, request)
    if who is None:
        return _login(request)
    mine = await run_in_threadpool(_projects, who)
    campaigns = await run_in_threadpool(taking_part.campaigns, store(who, tasks=True), who)
    if len(mine) == 1 and not campaigns:
        asked = request.query_params.get("lang")
        query = f"?lang={asked}" if asked in catalogue.LANGUAGES else ""
        return RedirectResponse(f"./tasks/{mine[0][0]}{query}", 303, {"Cache-Control": "no-store"})
    day = partial(format_date, format="medium", locale=catalogue.language_of(request))
    return _html(request, "tasks.html", projects=mine, campaigns=campaigns, pages=who.sees_pages, day=day)


def _projects(who: Identity) -> list[tuple[int, str]]:
    """Return number and name of the projects in which the account only annotates."""
    names = {p.id: p.name for p in store(who, tasks=True).projects.list()}
    return [
        (project, names[project]) for project, role in who.roles.items() if role == "annotator" and project in names
    ]


def _way_back(who: Identity) -> str:
    """Return the page that the annotator's page of an account leads back to: the list of its tasks, or the logout if there is one task."""
    return "tasks" if who.campaigns or who.sees_pages or len(_projects(who)) > 1 else "logout"


def _login(request: Request) -> Response:
    path = request.url.path
    base = path[: path.rindex("/tasks")]
    return RedirectResponse(f"{base}/login?{urlencode({'next': path})}", 303, {"Cache-Control": "no-store"})


async def _page(
    request: Request, who: Callable[[], Identity], project: int, headers: dict[str, str], *, back: bool = False
) -> Response:
    """Answer with the page of a link, or of a project for an account; with `back`, it leads back to the tasks of the account."""
    to = ""

    def read() -> tuple[int, Campaign | None]:
        nonlocal to
        reader = who()
        request.state.who = reader
        to = _way_back(reader) if back else ""
        project_id = reader.link.project_id if reader.link else project
        return project_id, campaign_of(store(reader, tasks=True), reader, project_id)

    said = catalogue.of_request(request)
    try:
        project_id, campaign = await run_in_threadpool(read)
    except RequestRefused as refused:
        sentence = said(refused.sentence)
        return _html(request, "refused.html", refused.status, title=said(REFUSED), sentence=sentence, back=to)
    except Unavailable:
        raise
    except UserError as error:
        sentence = catalogue.begun(f"{said(error.what)}. {said(error.hint)}")
        return _html(request, "refused.html", 404, title=said(REFUSED), sentence=sentence, back=to)
    design = design_from_json(campaign.design) if campaign else None
    texts = catalogue.page_texts(catalogue.language_of(request))
    start = json.dumps({"project": project_id, "campaign": campaign is not None, "headers": headers, "texts": texts})
    return _html(
        request, "task.html", start=start.replace("<", "\\u003c"), campaign=campaign is not None,
        title=said(design.shown_title if design else "Mark the errors"), refused=said(REFUSED), back=to,
        instructions=markdown_html(said(design.protocol.instructions)) if design else "",
    )  # fmt: skip


def _html(request: Request, template: str, status: int = 200, **values: object) -> HTMLResponse:
    text = templates().get_template(template).render(
        script=script_address(TASK), imported=[script_address(path) for path in imports_of(TASK)], style=STYLE.name, language=catalogue.language_of(request),
        languages=catalogue.LANGUAGES, _=catalogue.of_request(request), **values,
    )  # fmt: skip
    return HTMLResponse(text, status, {"Cache-Control": "no-store", "X-Robots-Tag": "noindex"})
