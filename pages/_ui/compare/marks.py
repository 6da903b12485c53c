"""The error spans that this person may see on Compare, and their overlap with the edits of a refinement."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from core.data import OutputKey, SegmentKey
from core.ports.projects import Project
from core.ports.scores import ScoredBy
from core.refine.overlap import Characters, Overlap
from core.services.compare import inspector, labels
from core.services.projects.view import View
from pages._ui.shared import wiring


def labelled(project: Project, rater: str | None, everyone: bool) -> tuple[View, inspector.Marks | None]:
    """Return the view with the MQM scores of the labels that this person may see, and these labels; None if there are none."""
    found, newest = wiring.view(project), wiring.store().labels.newest(project.id)
    if not (newest or wiring.campaigns(project)):
        return found, None
    seen = _marks(*wiring.version(project), newest, rater, everyone)
    return labels.with_mqm(found, seen), seen


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading error spans …")
def _marks(
    database: str, project: Project, generation: Hashable, newest: int, rater: str | None, everyone: bool
) -> inspector.Marks:
    return inspector.marks(wiring.store(), project.id, rater, everyone=everyone)


def edits(project: Project, signature: str, segment: SegmentKey) -> dict[OutputKey, Characters]:
    """Return the characters that the refinement with this signature removed from each output of a segment."""
    return inspector.edits(wiring.store(), project.id, signature, wiring.texts(project), [segment])


def overlap(project: Project, signature: str, rater: str | None, everyone: bool) -> tuple[Overlap, int]:
    """Return the overlap of the model's edits with the error spans this person may see (up to 30 s old), and the number
    of segments with such spans."""
    scored = next(s for s in wiring.scored(project) if s.signature == signature)
    return _overlap(*wiring.version(project), scored, rater, everyone)


@st.cache_resource(max_entries=32, ttl=30, show_spinner="Comparing error spans …")
def _overlap(
    database: str, project: Project, generation: Hashable, scored: ScoredBy, rater: str | None, everyone: bool
) -> tuple[Overlap, int]:
    seen, of = inspector.marks(wiring.store(), project.id, rater, everyone=everyone), wiring.texts(project)
    segments = dict.fromkeys(key.segment for key in seen.by_output)
    rated = [r for of_output in seen.by_output.values() for r in of_output]
    model = inspector.edits(wiring.store(), project.id, scored.signature, of, segments)
    return inspector.overlap(rated, of.outputs(seen.by_output.keys()), model), len(segments)
