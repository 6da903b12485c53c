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

from core.data import Dataset, Judgement, OutputKey, Value
from core.metrics.bartscore import model_facts, scorer
from core.metrics.registry import specs
from core.ports import Project, ScoredBy, Store
from core.refine import inspect
from core.refine.inspect import Round
from core.refine.options import Options
from core.refine.overlap import Characters, Overlap
from core.refine.result import Step, Variant
from core.services import inspector, sample
from core.services import judgements as numbers
from core.services.view import View, build
from core.settings import load as settings
from db.private import private_file, private_folder
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
    """To be called after an import: what was cached of the project is read again."""
    _generations()[project_id] = _generations().get(project_id, 0) + 1


def generation(project: Project) -> int:
    """How often the project has changed in this process: for the key of what is computed from it."""
    return _generations().get(project.id, 0)


def dataset(project: Project) -> Dataset:
    """The texts of a project, and all its human scores; read again after an import."""
    return _dataset(settings().database, project, _generations().get(project.id, 0))


def judgements(project: Project) -> list[Judgement]:
    """The numbers single raters gave in a project; read again after an import."""
    return _judgements(settings().database, project, _generations().get(project.id, 0)) if project.judged else []


def view(project: Project) -> View:
    """The project laid out for Compare; read again when texts or scores have changed."""
    scored = tuple(store().scores.signatures(project.id))
    return _view(settings().database, project, _generations().get(project.id, 0), scored)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _dataset(database: str, project: Project, generation: int) -> Dataset:
    found = store().projects.dataset(project.id)
    return numbers.with_scores(found, _judgements(database, project, generation)) if project.judged else found


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _judgements(database: str, project: Project, generation: int) -> list[Judgement]:
    return store().judgements.list(project.id)


@st.cache_resource(max_entries=64, ttl=1800, show_spinner=False)
def _table(database: str, project: Project, generation: int, scored: ScoredBy) -> dict[OutputKey, Value]:
    return store().scores.table(project.id, scored.signature)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading scores …")
def _view(database: str, project: Project, generation: int, scored: tuple[ScoredBy, ...]) -> View:
    tables = {s.signature: _table(database, project, generation, s) for s in scored}
    return build(_dataset(database, project, generation), scored, tables, specs())


def look(text: str, condition: str, variant: Variant, k: int) -> Round:
    """A text as the present model sees it."""
    return _look(tuple(model_facts().items()), text, condition, variant, k)


def rounds(
    text: str, condition: str, variant: Variant, options: Options, known: tuple[Step, ...] | None
) -> tuple[Round, ...]:
    """A refinement round by round as the present model sees it: along `known` steps, or done anew where there are none."""
    return _rounds(tuple(model_facts().items()), text, condition, variant, options, known)


@st.cache_resource(max_entries=128, ttl=1800, show_spinner="Reading the text …")
def _look(model: tuple[tuple[str, object], ...], text: str, condition: str, variant: Variant, k: int) -> Round:
    return inspect.look(scorer(), text, condition, variant, k)


@st.cache_resource(max_entries=32, ttl=1800, show_spinner="Replaying the refinement …")
def _rounds(
    model: tuple[tuple[str, object], ...],
    text: str,
    condition: str,
    variant: Variant,
    options: Options,
    known: tuple[Step, ...] | None,
) -> tuple[Round, ...]:
    if known is None:
        return inspect.rounds(scorer(), text, condition, variant, options)
    return inspect.follow(scorer(), text, condition, variant, known, options.k)


def edits(project: Project, signature: str) -> dict[OutputKey, Characters]:
    """What the refinement under this signature took away from every output of the project."""
    return _edits(*_refinement(project, signature))


def overlap(project: Project, signature: str, rater: str | None, everyone: bool) -> tuple[Overlap, int]:
    """The model's edits and the marks this person may see, over the whole project, at most half a minute old; and the
    number of segments whose marks were seen."""
    return _overlap(*_refinement(project, signature), rater, everyone)


def _refinement(project: Project, signature: str) -> tuple[str, Project, int, ScoredBy]:
    scored = next(s for s in store().scores.signatures(project.id) if s.signature == signature)
    return settings().database, project, _generations().get(project.id, 0), scored


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading the refinements …")
def _edits(database: str, project: Project, generation: int, scored: ScoredBy) -> dict[OutputKey, Characters]:
    return inspector.edits(store(), project.id, scored.signature, _dataset(database, project, generation))


@st.cache_resource(max_entries=32, ttl=30, show_spinner="Comparing marks …")
def _overlap(
    database: str, project: Project, generation: int, scored: ScoredBy, rater: str | None, everyone: bool
) -> tuple[Overlap, int]:
    texts = _dataset(database, project, generation)
    seen = inspector.marks(store(), project.id, texts, rater, everyone=everyone)
    rated = [r for of_output in seen.by_output.values() for r in of_output]
    of_model = _edits(database, project, generation, scored)
    found = inspector.overlap(rated, {o.key: o.text for o in texts.outputs}, of_model)
    return found, len({key.segment for key in seen.by_output})
