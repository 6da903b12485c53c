"""Connect pages with storage (the only importer of `db`): open it once per server, keep a worker running, cache reads."""

from __future__ import annotations

import gc
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.data import Dataset, Judgement, OutputKey, Value
from core.errors import UserError
from core.metrics.registry import specs
from core.ports.projects import Project
from core.ports.scores import ExternalMetric, ScoredBy
from core.ports.store import Store
from core.refine.overlap import Characters, Overlap
from core.services.campaigns import results
from core.services.compare import inspector, labels
from core.services.labels import all_labels
from core.services.labels import judgements as numbers
from core.services.people.csrf import CSRF_HEADER, csrf_token
from core.services.people.guarded_store import guarded, may_read
from core.services.people.identity import SESSION_COOKIE, Identity
from core.services.projects import sample
from core.services.projects.task import Task, task_of
from core.services.projects.time_estimates import DistinctOutputs, distinct_outputs
from core.services.projects.view import View, build
from core.settings import load as settings
from db.private import private_file, private_folder
from db.store import shared_store
from pages._ui.shared import person

ROOT = Path(__file__).resolve().parents[3]
RESTART_SECONDS = 10.0


def store() -> Store:
    """Return storage as the person of this session may use it (`core.services.people.guarded_store`).

    The first call migrates the tables and creates the sample project. Raises `UserError` if the person is no longer logged
    in. Call it while the page is drawn, and not in callbacks: they run before the page is known.
    """
    _run_through_app()
    drawn_for = identity()
    # Callbacks belong to the next run, so they ask again; files that are made at a click have no run to ask.
    return guarded(_opened(settings().database), lambda: identity() if get_script_run_ctx() else drawn_for)


def identity() -> Identity:
    """Return who uses this session, read again in every run. Raises `UserError` if the person may not see pages (any more)."""
    return person.identity(_opened(settings().database).people)


def _run_through_app() -> None:
    """Run app.py if Streamlit did not: with a folder `pages` beside it, the first page requested runs alone."""
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        runpy.run_path(str(ROOT / "app.py"), run_name="__main__")
        st.stop()


@st.cache_resource(show_spinner="Opening …")
def _opened(database: str) -> Store:
    opened = shared_store(database)
    sample.ensure(opened)
    return opened


@dataclass
class Worker:
    """The scoring process that this server started, if it runs one."""

    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    lock: Lock = field(default_factory=Lock)


@st.cache_resource
def _worker(database: str) -> Worker:
    return Worker()


def address(path: str) -> str:
    """Return the address of a route of this server, under its base path."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"{f'/{base}' if base else ''}/{path}"


def labels_route() -> dict[str, object]:
    """Return the address to which the span editor posts labels, and the headers of its requests."""
    cookie = st.context.cookies.get(SESSION_COOKIE, "")
    token = csrf_token(_secret(settings().database), cookie if isinstance(cookie, str) else "")
    return {"url": address("api/actions"), "headers": {CSRF_HEADER: token}}


@st.cache_resource
def _secret(database: str) -> bytes:
    return _opened(database).people.secret()


def keep_worker() -> bool:
    """Start the worker if it is not running (at most every ten seconds). Return False if the installation runs its own."""
    chosen = settings()
    if chosen.worker == "off":
        return False
    mine = _worker(chosen.database)
    with mine.lock:
        alive = mine.process is not None and mine.process.poll() is None
        if not alive and time.monotonic() - mine.started > RESTART_SECONDS:
            private_folder(chosen.home)
            with open(chosen.home / "worker.log", "ab") as log:
                private_file(chosen.home / "worker.log")
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
    """Discard what is cached of the project. Call it after every import."""
    _generations()[project_id] = _generations().get(project_id, 0) + 1


def generation(project: Project) -> int:
    """Return how often the project has changed in this process, as part of cache keys."""
    return _generations().get(project.id, 0)


def _version(project: Project) -> tuple[str, Project, Hashable]:
    """Return the keys of a project in the caches, which all sessions share: whoever may see all of it sees the same."""
    if not may_read(identity(), project.id):
        raise UserError(
            "there is no such project", got=str(project.id), hint="It may have been deleted; choose another"
        )
    return settings().database, project, (generation(project), _campaigns(project))


def dataset(project: Project) -> Dataset:
    """Return the texts and human scores of a project; read again after an import."""
    return _dataset(*_version(project))


def distinct(project: Project) -> DistinctOutputs:
    """Return the outputs of a project, each text once; read again after an import."""
    return _distinct(*_version(project))


def task(project: Project) -> Task:
    """Return the task that the texts of a project look like."""
    return _task(*_version(project))


def judgements(project: Project) -> list[Judgement]:
    """Return the scores and ranks of single raters; read again after an import."""
    return _judgements(*_version(project))


def raters(project: Project) -> list[str]:
    """Return the raters who have labelled errors, here or in campaigns."""
    return all_labels.raters(store(), project.id)


def _campaigns(project: Project) -> Hashable:
    """Return what the results of campaigns depend on. While a campaign runs, new results appear within a minute."""
    return _campaign_version(settings().database, project.id) if store().campaigns.list(project.id) else ()


@st.cache_data(ttl=60, show_spinner=False)
def _campaign_version(database: str, project_id: int) -> Hashable:
    return results.version(store(), project_id)


def view(project: Project) -> View:
    """Return the project as Compare shows it; read again when texts or scores have changed."""
    return _view(*_version(project), _scored(project))


def _scored(project: Project) -> tuple[ScoredBy, ...]:
    """Return the metrics with scores; they are counted again only when scores were stored (0.4 s for 48,000 outputs)."""
    known = store().scores
    return _counted(*_version(project), known.newest(), tuple(known.external(project.id)))


@st.cache_resource(max_entries=64, ttl=1800, show_spinner=False)
def _counted(
    database: str, project: Project, generation: Hashable, newest: int, external: tuple[ExternalMetric, ...]
) -> tuple[ScoredBy, ...]:
    return tuple(store().scores.signatures(project.id))


def labelled(project: Project, rater: str | None, everyone: bool) -> tuple[View, inspector.Marks | None]:
    """Return the view with the MQM scores of the labels that this person may see, and these labels; None if there are none."""
    read = *_version(project), _scored(project)
    newest = store().labels.newest(project.id)
    return _labelled(*read, newest, rater, everyone) if newest or _campaigns(project) else (_view(*read), None)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading error spans …")
def _labelled(
    database: str,
    project: Project,
    generation: Hashable,
    scored: tuple[ScoredBy, ...],
    newest: int,
    rater: str | None,
    everyone: bool,
) -> tuple[View, inspector.Marks]:
    seen = inspector.marks(store(), project.id, _dataset(database, project, generation), rater, everyone=everyone)
    return labels.with_mqm(_view(database, project, generation, scored), seen), seen


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _dataset(database: str, project: Project, generation: Hashable) -> Dataset:
    found, given = _texts(database, project, generation), _judgements(database, project, generation)
    return numbers.with_scores(found, given) if given else found


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _texts(database: str, project: Project, generation: Hashable) -> Dataset:
    return store().projects.dataset(project.id)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _judgements(database: str, project: Project, generation: Hashable) -> list[Judgement]:
    return all_labels.judgements(store(), project.id)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _distinct(database: str, project: Project, generation: Hashable) -> DistinctOutputs:
    return distinct_outputs(_dataset(database, project, generation))


@st.cache_resource(max_entries=32, ttl=1800, show_spinner=False)
def _task(database: str, project: Project, generation: Hashable) -> Task:
    return task_of(_dataset(database, project, generation))


@st.cache_resource(max_entries=64, ttl=1800, show_spinner=False)
def _table(database: str, project: Project, generation: Hashable, scored: ScoredBy) -> dict[OutputKey, Value]:
    return store().scores.table(project.id, scored.signature)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading scores …")
def _view(database: str, project: Project, generation: Hashable, scored: tuple[ScoredBy, ...]) -> View:
    tables = {s.signature: _table(database, project, generation, s) for s in scored}
    built = build(_dataset(database, project, generation), scored, tables, specs())
    gc.collect()
    gc.freeze()  # Streamlit collects garbage after every run: 0.2 s more for 48,000 outputs that stay anyway
    return built


def edits(project: Project, signature: str) -> dict[OutputKey, Characters]:
    """Return the characters that the refinement with this signature removed from each output."""
    return _edits(*_refinement(project, signature))


def overlap(project: Project, signature: str, rater: str | None, everyone: bool) -> tuple[Overlap, int]:
    """Return the overlap of the model's edits with the error spans this person may see (up to 30 s old), and the number
    of segments with such spans."""
    return _overlap(*_refinement(project, signature), rater, everyone)


def _refinement(project: Project, signature: str) -> tuple[str, Project, Hashable, ScoredBy]:
    scored = next(s for s in _scored(project) if s.signature == signature)
    return *_version(project), scored


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading the refinements …")
def _edits(database: str, project: Project, generation: Hashable, scored: ScoredBy) -> dict[OutputKey, Characters]:
    return inspector.edits(store(), project.id, scored.signature, _dataset(database, project, generation))


@st.cache_resource(max_entries=32, ttl=30, show_spinner="Comparing error spans …")
def _overlap(
    database: str, project: Project, generation: Hashable, scored: ScoredBy, rater: str | None, everyone: bool
) -> tuple[Overlap, int]:
    texts = _dataset(database, project, generation)
    seen = inspector.marks(store(), project.id, texts, rater, everyone=everyone)
    rated = [r for of_output in seen.by_output.values() for r in of_output]
    of_model = _edits(database, project, generation, scored)
    found = inspector.overlap(rated, {o.key: o.text for o in texts.outputs}, of_model)
    return found, len({key.segment for key in seen.by_output})
