"""Connect pages with storage (the only importer of `db`): open it once per server, keep a worker running, cache reads."""

from __future__ import annotations

import gc
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from core.data import Dataset, Judgement, OutputKey, Value
from core.metrics.generation.bartscore import scorer
from core.metrics.registry import specs
from core.ports.projects import Project
from core.ports.scores import ExternalMetric, ScoredBy
from core.ports.store import Store
from core.refine import inspect
from core.refine.inspect import Round
from core.refine.options import Options
from core.refine.overlap import Characters, Overlap
from core.refine.result import EditStep, Variant
from core.services.compare import inspector, labels
from core.services.labels import judgements as numbers
from core.services.projects import sample
from core.services.projects.task import Task, task_of
from core.services.projects.time_estimates import DistinctOutputs, distinct_outputs
from core.services.projects.view import View, build
from core.settings import load as settings
from db.private import private_file, private_folder
from db.store import open_store

ROOT = Path(__file__).resolve().parents[3]
RESTART_SECONDS = 10.0


def store() -> Store:
    """Return the storage of this server. The first call migrates the tables and creates the sample project.

    Call it while the page is drawn, and not in callbacks: they run before the page is known.
    """
    _run_through_app()
    return _opened(settings().database)


def _run_through_app() -> None:
    """Run app.py if Streamlit did not: with a folder `pages` beside it, the first page requested runs alone."""
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
    """The scoring process that this server started, if it runs one."""

    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    lock: Lock = field(default_factory=Lock)


@st.cache_resource
def _worker(database: str) -> Worker:
    return Worker()


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


def _version(project: Project) -> tuple[str, Project, int]:
    return settings().database, project, generation(project)


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
    return _judgements(*_version(project)) if project.judged else []


def view(project: Project) -> View:
    """Return the project as Compare shows it; read again when texts or scores have changed."""
    return _view(*_version(project), _scored(project))


def _scored(project: Project) -> tuple[ScoredBy, ...]:
    """Return the metrics with scores; they are counted again only when scores were stored (0.4 s for 48,000 outputs)."""
    known = store().scores
    return _counted(*_version(project), known.newest(), tuple(known.external(project.id)))


@st.cache_resource(max_entries=64, ttl=1800, show_spinner=False)
def _counted(
    database: str, project: Project, generation: int, newest: int, external: tuple[ExternalMetric, ...]
) -> tuple[ScoredBy, ...]:
    return tuple(store().scores.signatures(project.id))


def labelled(project: Project, rater: str | None, everyone: bool) -> tuple[View, inspector.Marks | None]:
    """Return the view with the MQM scores of the labels that this person may see, and these labels; None if there are none."""
    read = *_version(project), _scored(project)
    newest = store().labels.newest(project.id)
    return _labelled(*read, newest, rater, everyone) if newest else (_view(*read), None)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading error spans …")
def _labelled(
    database: str,
    project: Project,
    generation: int,
    scored: tuple[ScoredBy, ...],
    newest: int,
    rater: str | None,
    everyone: bool,
) -> tuple[View, inspector.Marks]:
    seen = inspector.marks(store(), project.id, _dataset(database, project, generation), rater, everyone=everyone)
    return labels.with_mqm(_view(database, project, generation, scored), seen), seen


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _dataset(database: str, project: Project, generation: int) -> Dataset:
    found = store().projects.dataset(project.id)
    return numbers.with_scores(found, _judgements(database, project, generation)) if project.judged else found


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _judgements(database: str, project: Project, generation: int) -> list[Judgement]:
    return store().judgements.list(project.id)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _distinct(database: str, project: Project, generation: int) -> DistinctOutputs:
    return distinct_outputs(_dataset(database, project, generation))


@st.cache_resource(max_entries=32, ttl=1800, show_spinner=False)
def _task(database: str, project: Project, generation: int) -> Task:
    return task_of(_dataset(database, project, generation))


@st.cache_resource(max_entries=64, ttl=1800, show_spinner=False)
def _table(database: str, project: Project, generation: int, scored: ScoredBy) -> dict[OutputKey, Value]:
    return store().scores.table(project.id, scored.signature)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading scores …")
def _view(database: str, project: Project, generation: int, scored: tuple[ScoredBy, ...]) -> View:
    tables = {s.signature: _table(database, project, generation, s) for s in scored}
    built = build(_dataset(database, project, generation), scored, tables, specs())
    gc.collect()
    gc.freeze()  # Streamlit collects garbage after every run: 0.2 s more for 48,000 outputs that stay anyway
    return built


Facts = Mapping[str, object]
"""The facts of the configured model, as part of cache keys."""


@st.cache_resource(max_entries=128, ttl=1800, show_spinner="Reading the text …")
def look(model: Facts, text: str, condition: str, variant: Variant, k: int) -> Round:
    """Return one round: the token probabilities of a text under the configured model."""
    return inspect.inspect_text(scorer(), text, condition, variant, k)


@st.cache_resource(max_entries=32, ttl=1800, show_spinner="Replaying the refinement …")
def rounds(
    model: Facts, text: str, condition: str, variant: Variant, options: Options, known: tuple[EditStep, ...] | None
) -> tuple[Round, ...]:
    """Return a refinement round by round under the configured model: along `known` steps, or computed if there are none."""
    if known is None:
        return inspect.rounds(scorer(), text, condition, variant, options)
    return inspect.replay(scorer(), text, condition, variant, known, options.k)


def edits(project: Project, signature: str) -> dict[OutputKey, Characters]:
    """Return the characters that the refinement with this signature removed from each output."""
    return _edits(*_refinement(project, signature))


def overlap(project: Project, signature: str, rater: str | None, everyone: bool) -> tuple[Overlap, int]:
    """Return the overlap of the model's edits with the error spans this person may see (up to 30 s old), and the number
    of segments with such spans."""
    return _overlap(*_refinement(project, signature), rater, everyone)


def _refinement(project: Project, signature: str) -> tuple[str, Project, int, ScoredBy]:
    scored = next(s for s in _scored(project) if s.signature == signature)
    return *_version(project), scored


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading the refinements …")
def _edits(database: str, project: Project, generation: int, scored: ScoredBy) -> dict[OutputKey, Characters]:
    return inspector.edits(store(), project.id, scored.signature, _dataset(database, project, generation))


@st.cache_resource(max_entries=32, ttl=30, show_spinner="Comparing error spans …")
def _overlap(
    database: str, project: Project, generation: int, scored: ScoredBy, rater: str | None, everyone: bool
) -> tuple[Overlap, int]:
    texts = _dataset(database, project, generation)
    seen = inspector.marks(store(), project.id, texts, rater, everyone=everyone)
    rated = [r for of_output in seen.by_output.values() for r in of_output]
    of_model = _edits(database, project, generation, scored)
    found = inspector.overlap(rated, {o.key: o.text for o in texts.outputs}, of_model)
    return found, len({key.segment for key in seen.by_output})
