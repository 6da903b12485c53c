"""The raters and the submitted labels of a project, as pages use them: a click does not read what has not changed."""

from __future__ import annotations

import streamlit as st

from core.mqm.label_columns import LabelColumns
from core.mqm.rated_by_output import RatedByOutput
from core.ports.projects import Project
from core.services.labels.kept_labels import KeptLabels
from core.settings import load_settings
from pages._ui.shared import wiring
from pages._ui.shared.long_jobs import showing_progress


def raters(project: Project) -> list[str]:
    """Return the raters who have labelled errors, here or in campaigns. Those of campaigns appear within a minute."""
    labels = wiring.store().labels
    if not wiring.campaigns(project):
        return labels.raters(project.id)
    return _raters(project, labels.newest(project.id))


def submitted(project: Project) -> LabelColumns:
    """Return the submitted labels of all raters. Those of campaigns appear within a minute."""
    return _read(project)[0]


def by_output(project: Project) -> RatedByOutput:
    """Return the submitted labels of all raters by output. Those of campaigns appear within a minute."""
    return _read(project)[1]


def _read(project: Project) -> tuple[LabelColumns, RatedByOutput]:
    database, _, _ = wiring.version(project)  # refuses who may not see the project
    with showing_progress("Reading labels …") as progress:
        return _kept(database, project.id).read(wiring.store(), wiring.campaigns(project), progress)


@wiring.cached(wiring.version, 32, seconds=3600, spinner="Reading labels …")
def _raters(project: Project, newest: int) -> list[str]:
    return _kept(load_settings().database, project.id).raters(wiring.store(), wiring.campaigns(project))


@st.cache_resource(max_entries=8, ttl=4 * 3600, show_spinner=False)
def _kept(database: str, project_id: int) -> KeptLabels:
    return KeptLabels(project_id)
