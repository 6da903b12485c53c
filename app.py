"""Errorscope: compare, annotate and calibrate the evaluation of generated text. Start it with `make run`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from streamlit import config
from streamlit.navigation.page import Page
from streamlit.runtime.pages_manager import PagesManager
from streamlit.starlette import App

from api.access import AccessControl, is_local_address
from api.documentation import routes as api_routes
from api.endpoint import unguarded
from core.errors import UserError
from core.memory import collect_garbage_rarely, return_freed_memory
from core.services.people.accounts import require_manager
from core.settings import load_access, load_limits, offline, share_cores
from pages._ui.shared import drafts, errors, jobs, person, state, wiring
from pages._ui.shared import page as page_parts
from pages._ui.shared.page import apply_theme, draw_account
from pages._ui.shared.server import SecurityHeaders, prepared

PAGES = {
    "Data": {"projects": "Projects", "compare": "Compare"},
    "Human evaluation": {"annotate": "Annotate", "labels_and_raters": "Labels and raters", "campaigns": "Campaigns"},
    "Metrics": {"meta_evaluation": "Meta-evaluation", "calibrate": "Calibrate λ", "robustness": "Robustness"},
    "Setup": {"access": "Access", "models": "Models", "help": "Help"},
}
# Addresses of earlier versions, which links may still hold, and the pages that replace them. (No string: Streamlit shows it.)
MOVED = {"people": "labels_and_raters", "evaluate": "meta_evaluation", "lambda_studio": "calibrate"}
HERE = Path(__file__).parent


def switcher() -> None:
    """Draw the select box of the open project; show an error if the address names an unknown project."""
    choice = state.projects()
    names = {p.id: p.name for p in choice.all}
    if choice.unknown:
        errors.show(
            UserError(
                "this project does not exist",
                where="the address of this page",
                got=choice.unknown,
                hint="It may have been deleted. Choose another project in the sidebar",
            )
        )
    if not names:
        return
    shown = choice.project.id if choice.project else None
    if st.session_state.get("switcher") != shown:
        st.session_state["switcher"] = shown

    @errors.guarded
    def switch() -> None:
        if st.session_state["switcher"] is not None:
            state.open_project(st.session_state["switcher"])

    st.sidebar.selectbox(
        "Project", names, format_func=names.__getitem__, key="switcher", on_change=switch,
        placeholder="Choose a project",
    )  # fmt: skip


def redirect(old: str) -> Page:
    """Return a hidden page at an old address that opens the page in its place, with the query parameters kept."""

    def follow() -> None:
        parameters = {name: st.query_params.get_all(name) for name in st.query_params}
        st.switch_page(f"pages/{MOVED[old]}.py", query_params=parameters)

    return st.Page(follow, title="Moved", url_path=old, visibility="hidden")


def at_root(request: Request) -> RedirectResponse:
    """Redirect to the root, with the query parameters kept: Streamlit serves its default page only there."""
    return RedirectResponse(f"./?{request.url.query}" if request.url.query else "./")


def limit_uploads() -> None:
    """Let the upload boxes accept, and name, the size of an upload or what the importers read of a file, whichever is less. An invalid
    limit is shown by the pages."""
    with suppress(UserError):
        config.set_option("server.maxUploadSize", min(load_limits().text_mb, drafts.LARGEST >> 20))


def routes() -> list[Route]:
    """Return the addresses beside those of Streamlit."""
    return [Route(f"{wiring.base_path()}/projects", at_root), *api_routes(wiring.base_path())]


def refuse_open_server() -> None:
    """Require accounts if other machines reach the server. Exit with one message if then nobody could manage it."""
    try:
        if not is_local_address(st.get_option("server.address")):
            os.environ["ERRORSCOPE_TEAM"] = "1"  # for the pages too, which run in threads of this process
        if load_access().for_others:
            require_manager(unguarded().people)
    except UserError as error:
        sys.exit(f"error: {error}")


def main() -> None:
    """Draw the page that the address names."""
    offline()
    share_cores()
    st.set_page_config(page_title="Errorscope", page_icon=str(HERE / "pages/_ui/shared/icon.png"), layout="wide")
    hidden = page_parts.hidden()
    sections = {
        section: [
            st.Page(
                f"pages/{name}.py", title=title, icon=page_parts.icon(name), url_path=name,
                visibility="hidden" if name in hidden else "visible",
            )
            for name, title in pages.items()
        ]
        for section, pages in PAGES.items()
    }  # fmt: skip
    sections["Setup"] += [redirect(old) for old in MOVED]
    page = st.navigation(sections, expanded=True)
    if page.url_path in MOVED:
        page.run()
    apply_theme()
    with errors.boundary():
        person.forget_others(wiring.identity())
        drafts.gather()
        switcher()
        draw_account()
        jobs.note()
        page.run()
        jobs.foot()


if __name__ == "__main__":  # Streamlit runs this file on every rerun
    main()
else:  # `streamlit run` imports it once to find the server application
    # Otherwise Streamlit takes the folder `pages` for the list of pages: it runs the first page without app.py and lists the files.
    PagesManager.uses_pages_directory = False
    return_freed_memory()
    collect_garbage_rarely()
    limit_uploads()
    refuse_open_server()
    guards = [Middleware(SecurityHeaders), Middleware(AccessControl, base=wiring.base_path())]
    app = App(__file__, routes=routes(), lifespan=prepared, middleware=guards)
