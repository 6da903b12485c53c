"""Read what most pages show of a large project in the background, so that the next page does not wait for it."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from threading import Thread

import streamlit as st

from core.errors import UserError
from core.ports.projects import Project
from core.ports.store import Store
from pages._ui.shared import wiring


def read_ahead(project: Project) -> None:
    """Begin to read the index, the scores and the human scores of the project, once after each change, if it is large."""
    if project.n_outputs > wiring.LARGE:
        _reading(*wiring.version(project), wiring.store())


@st.cache_resource(max_entries=32, ttl=1800, show_spinner=False)
def _reading(database: str, project: Project, generation: Hashable, _store: Store) -> Thread:
    def read() -> None:
        with suppress(UserError):  # deleted meanwhile: a page that needs it says so
            for by in _store.scores.signatures(project.id):
                _store.scores.column(project.id, by.signature)
            for name in project.human_scores:
                _store.projects.human_score(project.id, name)

    thread = Thread(target=read, name="read ahead", daemon=True)
    thread.start()
    return thread
