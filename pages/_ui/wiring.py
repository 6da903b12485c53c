"""Where pages meet storage: the only importer of `db`. Opens it once a server, keeps a worker alive, caches what is read."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from core.data import Dataset, OutputKey, Value
from core.metrics.registry import specs
from core.ports import Project, ScoredBy, Store
from core.services import sample
from core.services.view import View, build
from core.settings import load as settings
from db.store import open_store

ROOT = Path(__file__).resolve().parents[2]
RESTART_SECONDS = 10.0


def store() -> Store:
    """Storage of this server. On the first call the tables are brought up to date and the sample project is made."""
    _enter_by_the_app()
    return _opened(settings().database)


def _enter_by_the_app() -> None:
    """Where a folder `pages` stands beside app.py, Streamlit runs the very first page asked for without app.py. Run that."""
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        runpy.run_path(str(ROOT / "app.py"), run_name="__main__")
        st.stop()


@st.cache_resource(show_spinner="Opening …")
def _opened(database: str) -> Store:
    opened = open_store(database)
    sample.ensure(opened)
    return opened


@dataclass
class Worker:
    """The scoring process this server started, if it should have one."""

    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    lock: Lock = field(default_factory=Lock)


@st.cache_resource
def _worker(database: str) -> Worker:
    return Worker()


def keep_worker() -> bool:
    """Start the worker if it is not running (at most once in ten seconds). False: this installation runs its own."""
    chosen = settings()
    if chosen.worker == "off":
        return False
    mine = _worker(chosen.database)
    with mine.lock:
        alive = mine.process is not None and mine.process.poll() is None
        if not alive and time.monotonic() - mine.started > RESTART_SECONDS:
            chosen.home.mkdir(parents=True, exist_ok=True)
            with open(chosen.home / "worker.log", "ab") as log:
                mine.process = subprocess.Popen(
                    [sys.executable, "-m", "db.worker", "--parent", str(os.getpid())],
                    cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
            mine.started = time.monotonic()
    return True


@st.cache_resource
def _generations() -> dict[int, int]:
    return {}


def changed(project_id: int) -> None:
    """To be called after an import: what was cached of the project is read again."""
    _generations()[project_id] = _generations().get(project_id, 0) + 1


def dataset(project: Project) -> Dataset:
    """The texts of a project; read again after an import."""
    return _dataset(settings().database, project, _generations().get(project.id, 0))


def view(project: Project) -> View:
    """The project laid out for Compare; read again when texts or scores have changed."""
    scored = tuple(store().scores.signatures(project.id))
    return _view(settings().database, project, _generations().get(project.id, 0), scored)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _dataset(database: str, project: Project, generation: int) -> Dataset:
    return store().projects.dataset(project.id)


@st.cache_resource(max_entries=64, ttl=1800, show_spinner=False)
def _table(database: str, project: Project, generation: int, scored: ScoredBy) -> dict[OutputKey, Value]:
    return store().scores.table(project.id, scored.signature)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading scores …")
def _view(database: str, project: Project, generation: int, scored: tuple[ScoredBy, ...]) -> View:
    tables = {s.signature: _table(database, project, generation, s) for s in scored}
    return build(_dataset(database, project, generation), scored, tables, specs())
