"""Data of one segment for the Compare page: texts, differences, traces, scores, and error spans by layer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from core.columns import Cell, ScoreColumn
from core.data import Segment, Value
from core.metrics.base import is_judge
from core.mqm.schemes import GOOGLE
from core.refine.result import Refinement, token_labels
from core.services.compare.compare import NOT_SCORED, blind_names
from core.services.compare.inspector import Marks
from core.services.projects.view import LABELS, Column, View
from core.services.spans.layers import LayerInfo
from core.spans.layers import ORIGINS, Spans, spans_to_json
from core.text.edits import DiffPiece, diff

MQM = "labels:mqm"
"""Name of the column of MQM scores; no metric or human score has a colon after this word."""


def with_mqm(view: View, marks: Marks) -> View:
    """Return the view with the labels and a first column of MQM scores (Google's weights, mean over annotators).

    Without labels it stays as it is.
    """
    values = ScoreColumn.of_numbers(view.index, marks.by_output.scores_in(view.index, GOOGLE))
    if not values.n:
        return view
    scores = values.numbers[values.has_result]
    signature = f"{GOOGLE.signature()}|raters:{len(marks.by_output.raters)}"
    digits = 1 if np.allclose(scores, scores.round(1)) else 2
    note = (
        "MQM score: minus the penalty of the errors marked, mean over annotators; 0 is best. Severity weights: always Google MQM "
        "(major 5, minor 1, minor punctuation 0.1, non-translation 25). Weights chosen on other pages do not change it."
    )
    column = Column(MQM, "mqm", f"MQM ({LABELS})", signature, True, help=note, digits=digits, labelled=True)
    return replace(
        view,
        columns=(column, *view.columns),
        read=lambda name: values if name == MQM else view.read(name),
        rated=marks.by_output,
    )


class ShownLayer(NamedTuple):
    """A span layer, and its error spans in the outputs of one segment; systems that it did not examine are missing."""

    info: LayerInfo
    by_system: Mapping[str, Spans]


def layers_json(layers: Sequence[ShownLayer]) -> list[dict[str, Any]]:
    """Return what the lanes say of each layer: its name, its kind, and where it comes from."""
    return [
        {"label": info.label, "origin": ORIGINS[info.origin], "provenance": dict(info.provenance)} for info, _ in layers
    ]


def lanes_json(layers: Sequence[ShownLayer], system: str) -> list[list[dict[str, Any]] | None]:
    """Return the error spans of one output by layer, in the order of the text, those in the source last; None where it was not examined."""

    def in_order(spans: Spans) -> list[dict[str, Any]]:
        return spans_to_json(sorted(spans, key=lambda s: (s.error.side == "source", s.error.start, s.error.end)))

    return [in_order(by_system[system]) if system in by_system else None for _, by_system in layers]


class SegmentQuery(NamedTuple):
    """The requested view of a segment. `reference` is an index, or −1 for the refinement's choice; `blind` a seed or None."""

    row: int
    systems: tuple[str, ...] = ()
    reference: int = -1
    refinement: str = ""
    blind: int | None = None


def payload(
    view: View, shown: SegmentQuery, details: Mapping[str, Value], marks: Marks | None = None, layers: Sequence[ShownLayer] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return the segment's texts, its metrics and one card per output. `details` are the refinement's values by system.

    Error spans of no layer are sent if `marks` hide the labels of this segment: any of them would bias who has yet to annotate it.
    """
    hidden = marks is not None and marks.hides(view.segments[shown.row])
    layers = () if hidden else layers
    segment, texts = view.texts.segment(view.segments[shown.row])
    names = names_of(view, shown)
    metrics = [
        {
            "name": c.name,
            "label": c.label,
            "higher": None if c.human else c.higher_is_better,
            "refinement": c.refinement,
            "main": c.name == shown.refinement,
            "digits": c.digits,
            "origin": c.origin,
            "replies": is_judge(c.metric),
            "hint": "\n".join(p for p in (c.direction, c.help, c.signature) if p),
        }
        for c in view.columns
    ]
    cards = [
        _card(view, shown, segment, system, texts[system], details.get(system))
        | {"id": name, "name": name, "layers": lanes_json(layers, system)}
        for system, name in names.items()
    ]
    cards.sort(key=lambda card: str(card["name"]))
    return {
        "doc": segment.doc_id,
        "segment": segment.segment_id,
        "source": segment.source,
        "references": list(segment.references),
        "reference": shown.reference,
        "metrics": metrics,
        "layers": layers_json(layers),
        "cards": cards,
        "blind": shown.blind is not None,
        "hidden": hidden,
    }


def names_of(view: View, shown: SegmentQuery) -> dict[str, str]:
    """Return the displayed name of each system that has a card."""
    has_output = view.present[shown.row]
    systems = [view.systems[j] for j in view.at(shown.systems) if has_output[j]]
    if shown.blind is None:
        return {s: s for s in systems}
    everyone = [s for s, present in zip(view.systems, has_output, strict=True) if present]
    names = blind_names(everyone, view.segments[shown.row], shown.blind)
    return {s: names[s] for s in systems}


def reference_of(shown: SegmentQuery, segment: Segment, detail: Mapping[str, Any] | None) -> int | None:
    """Return the index of the reference to compare with: the requested one, else the refinement's, else the first."""
    if not segment.references:
        return None
    if 0 <= shown.reference < len(segment.references):
        return shown.reference
    used = int(detail["condition"]) if detail else 0
    return used if 0 <= used < len(segment.references) else 0


def _card(
    view: View, shown: SegmentQuery, segment: Segment, system: str, text: str, value: Value | None
) -> dict[str, Any]:
    detail = value.detail if value else None
    reference = reference_of(shown, segment, detail)
    card: dict[str, Any] = {
        "text": text,
        "reference": reference,
        "diff": _pieces(diff(segment.references[reference], text)) if reference is not None else [["same", text]],
        "scores": {c.name: _score(view, c.name, (shown.row, view.index.column[system])) for c in view.columns},
    }
    status, why = status_of(value, scored=bool(shown.refinement), reference=reference is not None)
    card |= {"status": status, "why": why}
    if detail is None:
        return card
    analysis = Refinement.from_json(detail)
    return card | {
        "refined": _pieces(diff(text, analysis.refined)),
        "condition": analysis.condition,
        "truncated": analysis.truncated,
        "retokenized": bool(analysis.refined_ids),
        "exp": analysis.dist_exp,
        "imp": analysis.dist_imp,
        "hyp": analysis.score_hyp,
        "ref": analysis.score_ref,
        "tokens": [
            [t.text, t.logp, label]
            for t, label in zip(analysis.tokens, token_labels([t[:3] for t in analysis.tokens]), strict=True)
        ],
        "steps": [
            [s.edit, s.old, s.new, s.before, s.after, [[t, p] for t, p in s.alternatives[:5]], s.position]
            for s in analysis.steps
        ],
    }


def status_of(value: Value | None, *, scored: bool, reference: bool) -> tuple[str, str]:
    """Return (status, why) of an output's refinement. Statuses: refined, no_edit, non_translation, missing."""
    if value is None:
        if not reference:
            return "missing", "needs a reference: this segment has none"
        return "missing", "not scored yet" if scored else "compute BARTScore++ first"
    if value.status != "ok" or value.value is None:
        return "missing", value.reason or {
            "needs": "a required input or model is missing",
            "undefined": "undefined for this output",
        }.get(value.status, "it could not be scored")
    if value.detail is None:
        return "missing", "scored, but its refinement was not kept"
    if value.detail["non_translation"]:
        return "non_translation", str(value.detail["why_non_translation"])
    return ("refined", value.reason) if value.detail["steps"] else ("no_edit", value.reason)


def _score(view: View, name: str, at: Cell) -> dict[str, Any]:
    value = view.table(name).at(*at)
    if value is None:
        return {"v": None, "why": NOT_SCORED}
    cell: dict[str, Any] = {"v": value.value if value.status == "ok" else None, "why": value.reason}
    if cell["v"] is not None and not math.isfinite(cell["v"]):
        cell = {"v": None, "why": "not a finite number"}
    if "dist_exp" in value.parts:
        cell |= {"exp": value.parts["dist_exp"], "imp": value.parts["dist_imp"]}
    return cell


def _pieces(pieces: Sequence[DiffPiece]) -> list[list[str]]:
    return [[p.kind, p.text] for p in pieces]
