"""The error spans that this person may see on Compare, and the switch that shows those of all annotators."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any, TypeVar, cast

import streamlit as st

from core.data import OutputKey, RatedOutput, SegmentKey
from core.ports.projects import Project
from core.ports.scores import ScoredBy
from core.refine.edits import Characters, Overlap
from core.services.compare import inspector
from core.services.compare.inspector import Marks
from core.services.compare.segment import with_mqm
from core.services.projects.view import View
from core.settings import load_settings
from pages._ui.annotate import identity
from pages._ui.labels_and_raters import known_labels
from pages._ui.shared import wiring

T = TypeVar("T")


class _Newest:
    """A value, and the objects that it was made of. There is one for each person and project, so that older labels are not kept."""

    made_of: tuple[object, ...] = ()
    value: Any = None

    def of(self, make: Callable[..., T], *made_of: Any) -> T:
        """Return the value made of these objects, which is made anew if one of them is another object than before."""
        if len(self.made_of) != len(made_of) or any(a is not b for a, b in zip(self.made_of, made_of, strict=True)):
            value = make(*made_of)
            self.value, self.made_of = value, made_of
            return value
        return cast(T, self.value)


@st.cache_resource(max_entries=16, ttl=1800, show_spinner=False)
def _newest(what: str, database: str, project_id: int, rater: str | None, everyone: bool) -> _Newest:
    return _Newest()


def labelled(project: Project, rater: str | None, everyone: bool) -> tuple[View, inspector.Marks | None]:
    """Return the view with the MQM scores of the labels that this person may see, and these labels; None if there are none."""
    view = wiring.view(project)
    if not (wiring.store().labels.newest(project.id) or wiring.campaigns(project)):
        return view, None
    labels_seen, database = seen(project, rater, everyone), load_settings().database
    return _newest("view", database, project.id, rater, everyone).of(with_mqm, view, labels_seen), labels_seen


def seen(project: Project, rater: str | None, everyone: bool) -> inspector.Marks:
    """Return the labels that this person may see, without texts, which only the open segment needs."""
    submitted, index, database = known_labels.submitted(project), wiring.index(project), load_settings().database
    visible = partial(inspector.visible_marks, rater=rater, everyone=everyone)
    return _newest("marks", database, project.id, rater, everyone).of(visible, submitted, index)


def of_segment(
    project: Project, segment: SegmentKey, texts: Mapping[str, str], rater: str | None, everyone: bool
) -> dict[OutputKey, list[RatedOutput]]:
    """Return the labels of a segment that this person may see, by output. `texts` are its outputs by system."""
    return inspector.with_texts(seen(project, rater, everyone), segment, texts)


def edits(project: Project, signature: str, segment: SegmentKey) -> dict[OutputKey, Characters]:
    """Return the characters that the refinement with this signature removed from each output of a segment."""
    return inspector.edits(wiring.store(), project.id, signature, wiring.texts(project), [segment])


def overlap(project: Project, signature: str, rater: str | None, everyone: bool) -> tuple[Overlap, int]:
    """Return the overlap of the model's edits with the error spans this person may see (up to 30 s old), and the number
    of segments with such spans."""
    scored = next(s for s in wiring.scored(project) if s.signature == signature)
    return _overlap(*wiring.version(project), scored, rater, everyone, _seen=seen(project, rater, everyone))


@st.cache_resource(max_entries=32, ttl=30, show_spinner="Comparing error spans …")
def _overlap(
    database: str, project: Project, generation: Hashable, scored: ScoredBy, rater: str | None, everyone: bool, *,
    _seen: inspector.Marks,
) -> tuple[Overlap, int]:  # fmt: skip
    return inspector.project_overlap(wiring.store(), project.id, scored.signature, wiring.texts(project), _seen)


def switch_key(project_id: int) -> str:
    return f"compare-labels-{project_id}"


def everyone(project: Project) -> bool:
    """Return whether the labels of all annotators are shown; at first to everybody who has not annotated in this browser."""
    return bool(st.session_state.get(switch_key(project.id), _at_first()))


def _at_first() -> bool:
    return identity.rater() is None


def visible(project: Project) -> tuple[View, Marks | None]:
    """Return the view with the MQM scores of the visible labels, and these labels; None if nobody has labelled anything."""
    return labelled(project, identity.rater(), everyone(project))


def switch(project: Project) -> None:
    """Draw the switch."""
    st.toggle(
        "Labels of all annotators", value=_at_first(), key=switch_key(project.id),
        help="If off, you see error spans and MQM scores only of segments that you have submitted.",
    )  # fmt: skip


def warning(project: Project) -> None:
    """Warn those who still have to annotate, while the labels of all annotators are shown."""
    if everyone(project):
        st.caption(
            ":material/visibility: Labels of all annotators are shown. Do not look if you still have to annotate in this "
            "project: it would bias your labels."
        )
