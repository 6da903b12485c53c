"""The labels and span layers that this person may see on Compare, the switch that shows the labels of all annotators, and the choice of layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import streamlit as st

from core.data import OutputKey, RatedOutput, SegmentKey
from core.formatting import format_count
from core.ports.projects import Project
from core.ports.scores import ScoredBy
from core.refine.edits import Overlap
from core.services.compare import inspector
from core.services.compare.inspector import Marks
from core.services.compare.segment import ShownLayer, with_mqm
from core.services.projects.view import View
from core.services.spans.layers import LayerInfo, list_layers, scored_layers, segment_layers
from core.settings import load_settings
from core.spans.layers import ORIGINS
from pages._ui.annotate import identity
from pages._ui.labels_and_raters import known_labels
from pages._ui.shared import state, wiring

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


def visible(project: Project) -> tuple[View, Marks | None]:
    """Return the view with the MQM scores of the visible labels, and these labels; None if nobody has labelled anything."""
    view = wiring.view(project)
    if not (wiring.store().labels.newest(project.id) or wiring.campaigns(project)):
        return view, None
    rater, all_shown = identity.rater(), everyone(project)
    labels_seen, database = seen(project, rater, all_shown), load_settings().database
    return _newest("view", database, project.id, rater, all_shown).of(with_mqm, view, labels_seen), labels_seen


def seen(project: Project, rater: str | None, everyone: bool) -> Marks:
    """Return the labels that this person may see, without texts, which only the open segment needs."""
    submitted, index, database = known_labels.submitted(project), wiring.index(project), load_settings().database
    visible = partial(inspector.visible_marks, rater=rater, everyone=everyone)
    return _newest("marks", database, project.id, rater, everyone).of(visible, submitted, index)


def of_segment(
    project: Project, segment: SegmentKey, texts: Mapping[str, str], rater: str | None, everyone: bool
) -> dict[OutputKey, list[RatedOutput]]:
    """Return the labels of a segment that this person may see, by output. `texts` are its outputs by system."""
    return inspector.with_texts(seen(project, rater, everyone), segment, texts)


def overlap(project: Project, signature: str, rater: str | None, everyone: bool) -> tuple[Overlap, int]:
    """Return the overlap of the model's edits with the error spans this person may see (up to 30 s old), and the number
    of segments with such spans."""
    scored = next(s for s in wiring.scored(project) if s.signature == signature)
    return _overlap(*wiring.version(project), scored, rater, everyone, _seen=seen(project, rater, everyone))


@st.cache_resource(max_entries=32, ttl=30, show_spinner="Comparing error spans …")
def _overlap(
    database: str, project: Project, generation: Hashable, scored: ScoredBy, rater: str | None, everyone: bool, *,
    _seen: Marks,
) -> tuple[Overlap, int]:  # fmt: skip
    return inspector.project_overlap(wiring.store(), project.id, scored.signature, wiring.texts(project), _seen)


def switch_key(project_id: int) -> str:
    return f"compare-labels-{project_id}"


def everyone(project: Project) -> bool:
    """Return whether the labels of all annotators are shown; at first to everybody who has not annotated in this browser."""
    return bool(st.session_state.get(switch_key(project.id), _at_first()))


def _at_first() -> bool:
    return identity.rater() is None


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


USUAL = 4
"""Judges and files that are shown without a choice, beside all annotators; refinements are drawn on the cards already."""
NONE = "none"
"""Written into the address if no layer is chosen."""


def available(project: Project, marks: Marks | None) -> list[LayerInfo]:
    """Return the layers that this person may see. Without `marks`, nobody has labelled anything."""
    layers = list_layers(wiring.store(), project.id, marks, _scored(*wiring.version(project), wiring.scored(project)))
    return layers if marks else [layer for layer in layers if layer.origin != "annotator"]


@st.cache_resource(max_entries=32, ttl=1800, show_spinner=False)
def _scored(
    database: str, project: Project, generation: Hashable, scored: tuple[ScoredBy, ...]
) -> tuple[LayerInfo, ...]:
    return tuple(scored_layers(wiring.store(), project.id))


def choose_layers(project: Project, marks: Marks | None) -> list[LayerInfo]:
    """Draw the choice of the layers, which the address and the session keep; return the chosen ones in their order."""
    layers = {_parameter(layer, n): layer for layer, n in _numbered(available(project, marks))}
    if not layers:
        return []
    key = f"compare-layers-{project.id}"
    models = [name for name, layer in layers.items() if layer.origin in ("judge", "file")]
    usual = [name for name, layer in layers.items() if layer.origin == "annotator" or name in models[:USUAL]]
    if key not in st.session_state:
        asked = state.kept(state.LAYERS, project.id)
        st.session_state[key] = [name for name in asked if name in layers] if asked else usual
    else:  # a layer may be deleted, or hidden by the switch of labels
        st.session_state[key] = [name for name in st.session_state[key] if name in layers]
    n = len(st.session_state[key])
    with st.popover(f"Error spans: {format_count(n, 'layer')}", icon=":material/format_underlined:"):
        chosen = st.multiselect(
            "Error spans of", list(layers), key=key, format_func=lambda name: f"{layers[name].label} ({ORIGINS[layers[name].origin]})", placeholder="no layer",
            help="Each layer has its own line under the text of an output.",
        )  # fmt: skip
    chosen = [name for name in layers if name in chosen]
    state.keep(state.LAYERS, project.id, [] if chosen == usual else chosen or [NONE])
    return [layers[name] for name in chosen]


def _numbered(layers: Sequence[LayerInfo]) -> list[tuple[LayerInfo, int]]:
    """Return the layers, each with the number of those before it that have the same kind and label."""
    seen = Counter[tuple[str, str]]()
    numbered = []
    for layer in layers:
        numbered.append((layer, seen[layer.origin, layer.label]))
        seen[layer.origin, layer.label] += 1
    return numbered


def _parameter(layer: LayerInfo, n: int) -> str:
    """Return how a layer is named in the address, which has no place for the signature in its name."""
    return f"{layer.origin}:{layer.label}{f' #{n + 1}' if n else ''}"


def spans_of(
    project: Project, segment: SegmentKey, layers: Sequence[LayerInfo], marks: Marks | None
) -> list[ShownLayer]:
    """Return the spans of these layers in one segment; none at all if its labels are still hidden from this person."""
    if not layers or (marks and marks.hides(segment)):
        return []
    scored = _scored(*wiring.version(project), wiring.scored(project))
    spans = segment_layers(wiring.store(), project.id, segment, [layer.name for layer in layers], marks, scored)
    return [ShownLayer(layer, spans[layer.name]) for layer in layers]
