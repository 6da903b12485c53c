"""The span layers of a project that this person may see, the choice of those that Compare shows, and their spans in one segment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import streamlit as st

from core.data import SegmentKey
from core.formatting import format_count
from core.ports.projects import Project
from core.ports.scores import ScoredBy
from core.services.compare.inspector import Marks
from core.services.compare.segment import ShownLayer
from core.services.spans.layers import LayerInfo, list_layers, scored_layers, segment_layers
from core.spans.layers import ORIGINS
from pages._ui.shared import state, wiring

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
