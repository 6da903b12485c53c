"""The raters and the submitted labels of a project, as pages use them: a click does not read what has not changed."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from core.data import RatedOutput
from core.mqm.scores import rated_outputs
from core.ports.projects import Project
from core.services.labels.kept_labels import KeptLabels, LabelsByPlace
from pages._ui.shared import wiring

HOURS = 3600


def raters(project: Project) -> list[str]:
    """Return the raters who have labelled errors, here or in campaigns. Those of campaigns appear within a minute."""
    labels = wiring.store().labels
    if not wiring.campaigns(project):
        return labels.raters(project.id)
    return _raters(*wiring.version(project), labels.newest(project.id))


def submitted(project: Project) -> list[RatedOutput]:
    """Return the submitted labels of all raters. Those of campaigns appear within a minute."""
    return _submitted(*wiring.version(project), wiring.store().labels.newest(project.id))


def by_place(project: Project) -> LabelsByPlace:
    """Return the submitted labels by rater and segment (see `KeptLabels`). Those of campaigns appear within a minute."""
    database, _, _ = wiring.version(project)  # refuses who may not see the project
    return _kept(database, project.id).read(wiring.store(), wiring.campaigns(project))


@st.cache_resource(max_entries=32, ttl=HOURS, show_spinner="Reading labels …")
def _raters(database: str, project: Project, generation: Hashable, newest: int) -> list[str]:
    return _kept(database, project.id).raters(wiring.store(), wiring.campaigns(project))


@st.cache_resource(max_entries=3, ttl=HOURS, show_spinner="Reading labels …")
def _submitted(database: str, project: Project, generation: Hashable, newest: int) -> list[RatedOutput]:
    return rated_outputs(by_place(project))


@st.cache_resource(max_entries=3, ttl=4 * HOURS, show_spinner=False)
def _kept(database: str, project_id: int) -> KeptLabels:
    return KeptLabels(project_id)
