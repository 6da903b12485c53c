"""The error spans that this person may see on Compare, and their overlap with the edits of a refinement."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import streamlit as st

from core.data import OutputKey, SegmentKey
from core.mqm.scores import with_text
from core.ports.projects import Project
from core.ports.scores import ScoredBy
from core.refine.overlap import Characters, Overlap
from core.services.compare import inspector, labels
from core.services.projects.view import View
from pages._ui.labels_and_raters import known_labels
from pages._ui.shared import wiring


def labelled(project: Project, rater: str | None, everyone: bool) -> tuple[View, inspector.Marks | None]:
    """Return the view with the MQM scores of the labels that this person may see, and these labels; None if there are none."""
    newest = wiring.store().labels.newest(project.id)
    if not (newest or wiring.campaigns(project)):
        return wiring.view(project), None
    return _labelled(*wiring.version(project), wiring.scored(project), newest, rater, everyone)


@st.cache_resource(max_entries=6, ttl=1800, show_spinner=False)
def _labelled(
    database: str, project: Project, generation: Hashable, scored: tuple[ScoredBy, ...], newest: int, rater: str | None,
    everyone: bool,
) -> tuple[View, inspector.Marks]:  # fmt: skip
    seen = _marks(database, project, generation, newest, rater, everyone)
    return labels.with_mqm(wiring.view(project), seen), seen


@st.cache_resource(max_entries=6, ttl=1800, show_spinner="Reading error spans …")
def _marks(
    database: str, project: Project, generation: Hashable, newest: int, rater: str | None, everyone: bool
) -> inspector.Marks:
    """Return the labels without texts, which only the open segment needs."""
    outline = wiring.index(project).outline
    return inspector.visible_marks(known_labels.by_place(project), outline, rater, everyone=everyone)


def of_segment(
    project: Project, segment: SegmentKey, texts: Mapping[str, str], rater: str | None, everyone: bool
) -> inspector.Marks:
    """Return the labels of a segment that this person may see. `texts` are its outputs by system."""
    seen = _marks(*wiring.version(project), wiring.store().labels.newest(project.id), rater, everyone)
    return inspector.with_texts(seen, segment, texts)


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
    newest, of = wiring.store().labels.newest(project.id), wiring.texts(project)
    seen = _marks(database, project, generation, newest, rater, everyone)
    segments = dict.fromkeys(key.segment for key in seen.by_output)
    texts = of.outputs(seen.by_output)
    rated = [with_text(r, texts[key]) for key, of_output in seen.by_output.items() if key in texts for r in of_output]
    model = inspector.edits(wiring.store(), project.id, scored.signature, of, segments)
    return inspector.overlap(rated, texts, model), len(segments)
