"""Errorscope: compare, annotate and calibrate the evaluation of generated text. Start it with `make run`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit.starlette import App

from core.errors import UserError
from core.ports import Store
from core.settings import offline, share_cores
from pages._ui import errors, jobs, state, theme, wiring
from pages._ui.headers import SecurityHeaders
from pages._ui.opening import opens_browser

PAGES = (
    ("projects", "Projects", ":material/folder_open:"),
    ("compare", "Compare", ":material/view_column:"),
    ("annotate", "Annotate", ":material/edit_note:"),
    ("lambda_studio", "λ Studio", ":material/tune:"),
    ("evaluate", "Evaluate", ":material/leaderboard:"),
    ("robustness", "Robustness", ":material/shield:"),
    ("models", "Models", ":material/memory:"),
    ("people", "People", ":material/group:"),
)
HERE = Path(__file__).parent


def switcher(store: Store) -> None:
    """Choose the project all pages speak of; say so when the address names one that is not there."""
    choice = state.projects(store)
    names = {p.id: p.name for p in choice.all}
    if choice.unknown:
        errors.show(
            UserError(
                "there is no such project",
                got=choice.unknown,
                hint="It may have been deleted. Choose another at the left",
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

    with st.sidebar:
        st.selectbox(
            "Project",
            list(names),
            format_func=names.__getitem__,
            key="switcher",
            on_change=switch,
            placeholder="choose one",
        )


def main() -> None:
    """Draw the page that is asked for."""
    offline()
    share_cores()
    st.set_page_config(page_title="Errorscope", page_icon=str(HERE / "pages/_ui/icon.png"), layout="wide")
    page = st.navigation(
        [st.Page(f"pages/{name}.py", title=title, icon=icon, url_path=name) for name, title, icon in PAGES]
    )
    theme.apply()
    with errors.boundary():
        opened = wiring.store()
        switcher(opened)
        page.run()
        jobs.foot(opened)


if __name__ == "__main__":  # Streamlit runs this file for every page …
    main()
else:  # … and `streamlit run` imports it once, for the server that serves it
    app = App(__file__, lifespan=opens_browser, middleware=[Middleware(SecurityHeaders)])
