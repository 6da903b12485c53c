"""Connect pages with storage (the only importer of `db`): open it once per server, keep a worker running, cache reads."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import cast

import streamlit as st

from core.columns import ProjectIndex, ScoreColumn
from core.data import Dataset, Item, Judgement, Segment, SegmentKey, Value
from core.errors import UserError
from core.metrics.registry import specs
from core.ports.campaigns import CampaignVersion
from core.ports.people import Identity
from core.ports.projects import Project
from core.ports.scores import ExternalMetric, ScoredBy
from core.ports.store import Store
from core.services.labels import all_labels
from core.services.labels.judgements import by_output
from core.services.people.guard import guarded
from core.services.people.sessions import CSRF_HEADER, SESSION_COOKIE, csrf_token, outbox_name
from core.services.projects import sample
from core.services.projects.task import Task, task_of
from core.services.projects.texts import StoredTexts
from core.services.projects.time_estimates import distinct_outputs
from core.services.projects.view import View, build
from core.settings import load_settings
from db.sqlite_file import private_file, private_folder
from db.store import shared_store
from pages._ui.shared import person

ROOT = Path(__file__).resolve().parents[3]
RESTART_SECONDS = 10.0
LARGE = 20_000
"""Outputs of a project above which pages that need any texts look at a sample of the segments."""


def store(*, tasks: bool = False) -> Store:
    """Return storage as the person of this session may use it (`core.services.people.guard`).

    With `tasks`, the person may also read what the annotator's page shows them. The first call migrates the tables and creates the sample project. Raises `UserError` if the person is no longer logged
    in. Call it while the page is drawn, and not in callbacks: they run before the page is known.
    """
    kept, name = person.kept_for_run(), "store for tasks" if tasks else "store"
    if name not in kept:
        drawn_for = identity()
        # Callbacks belong to the next run, so they ask again; background threads have nobody to ask.
        kept[name] = guarded(
            _opened(_database()),
            lambda: identity() if person.is_known() else drawn_for,
            lambda: person.kept_for_run().setdefault("answers", {}),
            tasks=tasks,
        )
    return cast(Store, kept[name])


def _database() -> str:
    kept = person.kept_for_run()
    if "database" not in kept:
        kept["database"] = load_settings().database
    return str(kept["database"])


def identity() -> Identity:
    """Return who uses this session, read again in every run. Raises `UserError` if the person may not see pages (any more)."""
    return person.identity(lambda: _opened(_database()).people)


def may_change(project_id: int) -> bool:
    """Return whether the person manages the project. What changes it is drawn for managers only: storage would refuse it."""
    return identity().role(project_id) == "manager"


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
    """Return what the span editor needs to save labels: the address with the headers of its requests, and the name of its outbox."""
    cookie = st.context.cookies.get(SESSION_COOKIE, "")
    secret = _secret(load_settings().database)
    token = csrf_token(secret, cookie if isinstance(cookie, str) else "")
    server = {"url": address("api/actions"), "headers": {CSRF_HEADER: token}}
    return {"server": server, "outbox": outbox_name(secret, identity())}


@st.cache_resource
def _secret(database: str) -> bytes:
    return _opened(database).people.secret()


def keep_worker() -> bool:
    """Start the worker if it is not running (at most every ten seconds). Return False if the installation runs its own."""
    chosen = load_settings()
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
                    [sys.executable, "-m", "db.worker", str(os.getpid())],
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


def version(project: Project) -> tuple[str, Project, Hashable]:
    """Return the keys of a project in the caches, which all sessions share: whoever may see all of it sees the same."""
    if not identity().may_read(project.id):
        raise UserError(
            "there is no such project", got=str(project.id), hint="It may have been deleted; choose another"
        )
    return _database(), project, (generation(project), campaigns(project))


def index(project: Project) -> ProjectIndex:
    """Return which outputs a project has."""
    return _index(*version(project))


def texts(project: Project) -> StoredTexts:
    """Return the texts of a project, which are read when they are needed."""
    return _stored_texts(*version(project))


def human_score(project: Project, name: str) -> ScoreColumn:
    """Return a human score of all outputs: as it was imported, and derived from the numbers of single raters."""
    return _human_score(*version(project), name)


def sampled(project: Project) -> Dataset:
    """Return the texts of a project; of a large one, those of a random sample of its segments, always the same."""
    return _sampled(*version(project))


def sampled_segments(project: Project) -> tuple[Segment, ...]:
    """Return the segments of `sampled`, without reading their outputs."""
    return _sampled_segments(*version(project))


def distinct(project: Project) -> dict[str, Item]:
    """Return the outputs of `sampled`, each text once."""
    return _distinct(*version(project))


def task(project: Project) -> Task:
    """Return the task that the texts of a project look like."""
    return _task(*version(project))


def judgements(project: Project) -> list[Judgement]:
    """Return the scores and ranks of single raters; read again after an import."""
    return _judgements(*version(project))


def campaigns(project: Project) -> tuple[CampaignVersion, ...]:
    """Return what the results of campaigns depend on. While a campaign runs, new results appear within a minute."""
    return _campaign_versions(_database(), project.id) if store().campaigns.has_any(project.id) else ()


@st.cache_resource(ttl=60, show_spinner=False)
def _campaign_versions(database: str, project_id: int) -> tuple[CampaignVersion, ...]:
    return tuple(store().campaigns.versions(project_id))


def view(project: Project) -> View:
    """Return the project as Compare shows it; read again when texts or scores have changed."""
    return _view(*version(project), scored(project))


def scored(project: Project) -> tuple[ScoredBy, ...]:
    """Return the metrics with scores; they are counted again only when scores were stored."""
    known = store().scores
    return _counted(*version(project), known.newest(), tuple(known.external(project.id)))


@st.cache_resource(max_entries=64, ttl=1800, show_spinner=False)
def _counted(
    database: str, project: Project, generation: Hashable, newest: int, external: tuple[ExternalMetric, ...]
) -> tuple[ScoredBy, ...]:
    return tuple(store().scores.signatures(project.id))


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _index(database: str, project: Project, generation: Hashable) -> ProjectIndex:
    return _opened(database).projects.index(project.id)


@st.cache_resource(max_entries=12, ttl=1800, show_spinner=False)
def _stored_texts(database: str, project: Project, generation: Hashable) -> StoredTexts:
    return StoredTexts(_opened(database).projects, project.id, len(project.systems))


@st.cache_resource(max_entries=3, ttl=1800, show_spinner=False)
def _sampled(database: str, project: Project, generation: Hashable) -> Dataset:
    return _stored_texts(database, project, generation).dataset(_sampled_keys(database, project, generation))


@st.cache_resource(max_entries=3, ttl=1800, show_spinner=False)
def _sampled_segments(database: str, project: Project, generation: Hashable) -> tuple[Segment, ...]:
    keys = _sampled_keys(database, project, generation)
    return tuple(_stored_texts(database, project, generation).segments(keys).values())


def _sampled_keys(database: str, project: Project, generation: Hashable) -> list[SegmentKey]:
    keys = list(_index(database, project, generation).segments)
    return random.Random(0).sample(keys, len(keys) * LARGE // max(LARGE, project.n_outputs))


@st.cache_resource(max_entries=8, ttl=1800, show_spinner=False)
def _human_score(database: str, project: Project, generation: Hashable, name: str) -> ScoreColumn:
    imported = _opened(database).projects.human_score(project.id, name)
    numbers_by_output = by_output(_judgements(database, project, generation)).get(name, {})
    return imported.with_values({key: Value(value) for key, value in numbers_by_output.items()})


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _judgements(database: str, project: Project, generation: Hashable) -> list[Judgement]:
    return all_labels.judgements(store(), project.id)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _distinct(database: str, project: Project, generation: Hashable) -> dict[str, Item]:
    return distinct_outputs(_sampled(database, project, generation))


@st.cache_resource(max_entries=32, ttl=1800, show_spinner=False)
def _task(database: str, project: Project, generation: Hashable) -> Task:
    return task_of(_sampled(database, project, generation))


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading scores …")
def _view(database: str, project: Project, generation: Hashable, scored: tuple[ScoredBy, ...]) -> View:
    def read(entry: ScoredBy | str) -> ScoreColumn:
        if isinstance(entry, str):
            return _human_score(database, project, generation, entry)
        return _opened(database).scores.column(project.id, entry.signature)

    human = (*project.human_scores, *by_output(_judgements(database, project, generation)))
    return build(
        _index(database, project, generation),
        _stored_texts(database, project, generation),
        scored,
        tuple(dict.fromkeys(human)),
        read,
        specs(),
    )


def read_ahead(project: Project) -> None:
    """Begin to read the index, the scores and the human scores of the project, once after each change, if it is large."""
    if project.n_outputs > LARGE:
        _reading(*version(project), store())


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
