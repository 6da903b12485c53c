"""Connect pages with storage (the only importer of `db`): open it once per server, keep a worker running, cache reads."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

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
from core.services.campaigns import answers
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

P = ParamSpec("P")
T = TypeVar("T")
Of = TypeVar("Of")
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


def base_path() -> str:
    """Return the path under which the server answers, such as /errorscope, or ""."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""


def address(path: str) -> str:
    """Return the address of a route of this server, under its base path."""
    return f"{base_path()}/{path}"


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


def cached(
    key: Callable[[Of], tuple[Hashable, ...]], entries: int, *, seconds: float = 1800, spinner: bool | str = False
) -> Callable[[Callable[Concatenate[Of, P], T]], Callable[Concatenate[Of, P], T]]:
    """Let all sessions share what a function returns of its first argument, while `key` of it stays equal, and for some time at most.

    Further arguments are part of the key, except those given by a name that begins with _.
    """

    def decorate(read: Callable[Concatenate[Of, P], T]) -> Callable[Concatenate[Of, P], T]:
        def by_key(key: tuple[Hashable, ...], *more: Any, _of: Of, **named: Any) -> T:
            return read(_of, *more, **named)

        by_key.__module__, by_key.__qualname__ = (
            read.__module__,
            read.__qualname__,
        )  # Streamlit names the cache after them
        stored = st.cache_resource(max_entries=entries, ttl=seconds, show_spinner=spinner)(by_key)

        @wraps(read)
        def of_subject(of: Of, /, *more: P.args, **named: P.kwargs) -> T:
            return stored(key(of), *more, _of=of, **named)

        return of_subject

    return decorate


@cached(version, 6)
def index(project: Project) -> ProjectIndex:
    """Return which outputs a project has."""
    return _opened(_database()).projects.index(project.id)


@cached(version, 12)
def texts(project: Project) -> StoredTexts:
    """Return the texts of a project, which are read when they are needed."""
    return StoredTexts(_opened(_database()).projects, project.id, len(project.systems))


@cached(version, 8)
def human_score(project: Project, name: str) -> ScoreColumn:
    """Return a human score of all outputs: as it was imported, and derived from the numbers of single raters."""
    imported = _opened(_database()).projects.human_score(project.id, name)
    numbers_by_output = by_output(judgements(project)).get(name, {})
    return imported.with_values({key: Value(value) for key, value in numbers_by_output.items()})


@cached(version, 3)
def sampled(project: Project) -> Dataset:
    """Return the texts of a project; of a large one, those of a random sample of its segments, always the same."""
    return texts(project).dataset(_sampled_keys(project))


@cached(version, 3)
def sampled_segments(project: Project) -> tuple[Segment, ...]:
    """Return the segments of `sampled`, without reading their outputs."""
    return tuple(texts(project).segments(_sampled_keys(project)).values())


def _sampled_keys(project: Project) -> list[SegmentKey]:
    keys = list(index(project).segments)
    return random.Random(0).sample(keys, len(keys) * LARGE // max(LARGE, project.n_outputs))


@cached(version, 6)
def distinct(project: Project) -> dict[str, Item]:
    """Return the outputs of `sampled`, each text once."""
    return distinct_outputs(sampled(project))


@cached(version, 32)
def task(project: Project) -> Task:
    """Return the task that the texts of a project look like."""
    return task_of(sampled(project))


@cached(version, 6)
def judgements(project: Project) -> list[Judgement]:
    """Return the scores and ranks of single raters; read again after an import."""
    return answers.judgements(store(), project.id)


def campaigns(project: Project) -> tuple[CampaignVersion, ...]:
    """Return what the results of campaigns depend on. While a campaign runs, new results appear within a minute."""
    return _campaign_versions(_database(), project.id) if store().campaigns.has_any(project.id) else ()


@st.cache_resource(ttl=60, show_spinner=False)
def _campaign_versions(database: str, project_id: int) -> tuple[CampaignVersion, ...]:
    return tuple(store().campaigns.versions(project_id))


def scored(project: Project) -> tuple[ScoredBy, ...]:
    """Return the metrics with scores; they are counted again only when scores were stored."""
    return _counted(project, store().scores.newest(), tuple(store().scores.external(project.id)))


@cached(version, 64)
def _counted(project: Project, newest: int, external: tuple[ExternalMetric, ...]) -> tuple[ScoredBy, ...]:
    return tuple(store().scores.signatures(project.id))


def view(project: Project) -> View:
    """Return the project as Compare shows it; read again when texts or scores have changed."""
    return _view(project, scored(project))


@cached(version, 6, spinner="Reading scores …")
def _view(project: Project, scored: tuple[ScoredBy, ...]) -> View:
    scores = _opened(_database()).scores

    def read(entry: ScoredBy | str) -> ScoreColumn:
        return human_score(project, entry) if isinstance(entry, str) else scores.column(project.id, entry.signature)

    human = tuple(dict.fromkeys((*project.human_scores, *by_output(judgements(project)))))
    return build(index(project), texts(project), scored, human, read, specs())


def read_ahead(project: Project) -> None:
    """Begin to read the index, the scores and the human scores of the project, once after each change, if it is large."""
    if project.n_outputs > LARGE:
        _reading(project, _store=store())


@cached(version, 32)
def _reading(project: Project, *, _store: Store) -> Thread:
    def read() -> None:
        with suppress(UserError):  # deleted meanwhile: a page that needs it says so
            for by in _store.scores.signatures(project.id):
                _store.scores.column(project.id, by.signature)
            for name in project.human_scores:
                _store.projects.human_score(project.id, name)

    thread = Thread(target=read, name="read ahead", daemon=True)
    thread.start()
    return thread
