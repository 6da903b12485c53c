"""Suggestions in a campaign: the copy of their layer, what an annotator is shown, and what became of it.

The spans of the layer are copied with the texts when a campaign is created: those of an output into the details of its units. An output that
the layer does not have was not examined: it gets no suggestions and is in no row of the effect report.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, Literal, NamedTuple

from core.campaigns.attention_checks import check_from_json
from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.protocol import Protocol
from core.campaigns.submitted import UnitJudgement, WrongSuggestion, spans_of
from core.campaigns.suggestion_effect import SuggestionRow, layer_agreement, marked_among
from core.campaigns.suggestions import (
    ArmDraw,
    DrawnSuggestions,
    Suggestions,
    assign_arm,
    draw_suggestions,
)
from core.data import OutputKey, Span, grouped, same_error
from core.mqm.typology import Typology, plain
from core.ports.campaigns import Campaign, CampaignUnit
from core.ports.labels import ErrorSpan, OutputLabels
from core.ports.store import Store
from core.services.campaigns.answers import CampaignLabels, values_of
from core.spans.layers import LayerSpan, SpanLayer, Spans, spans_from_json, spans_to_json

SETTING = "suggestions"
"""The setting of the texts project with the facts of the layer, and spans of which wrong suggestions get severity and category."""
DETAIL = "suggestions"
"""The detail of a unit with the spans of the layer, by system."""
MODELS = 200
Decision = Literal["accepted", "edited", "rejected", "none"]


class LayerCopy(NamedTuple):
    """The spans of a layer as the campaign can show them. `changed` counts what was left out or replaced, by reason."""

    spans: Mapping[OutputKey, Spans]
    changed: Mapping[str, int]


def copy_of(layer: SpanLayer, protocol: Protocol, texts: Mapping[OutputKey, tuple[str, str | None]]) -> LayerCopy:
    """Return the spans of the layer in these outputs; `texts` has each output and its source.

    Left out are spans that do not fit the text, spans of a severity that the protocol does not offer, and repeated ones. A category that
    the protocol does not have is replaced: by its omission in the source, by "Other" or else its first category in the output.
    """
    copied: dict[OutputKey, Spans] = {}
    changed: Counter[str] = Counter()
    for key, (output, source) in texts.items():
        if key not in layer.spans:
            changed["output was not examined by the layer"] += 1
            continue
        fitting: dict[tuple[str, int, int, str, str], LayerSpan] = {}
        for span in layer.spans[key]:
            error = _in_typology(span.error, protocol.typology)
            text = output if error.side == "output" else source
            if text is None or text[error.start : error.end] != error.quote:
                changed["span does not fit the text"] += 1
            elif error.severity not in protocol.severities:
                changed[f"severity {error.severity} is not offered"] += 1
            elif same_error(error) in fitting:
                changed["span is repeated"] += 1
            else:
                changed["category is replaced"] += error.category != span.error.category
                fitting[same_error(error)] = LayerSpan(error, span.confidence)
        copied[key] = tuple(fitting.values())
    return LayerCopy(copied, +changed)


def _in_typology(error: Span, typology: Typology) -> Span:
    allowed = [c.path for c in typology.categories if c.where in ("either", error.side)] or [
        typology.categories[0].path
    ]
    known = next((path for path in allowed if plain(path) == plain(error.category)), None)
    other = typology.omission if error.side == "source" and typology.omission else "Other"
    category = known or (other if other in allowed else allowed[0])
    return Span(error.side, error.start, error.end, error.quote, error.severity, category)


def layer_setting(layer: SpanLayer, copied: LayerCopy, seed: int) -> dict[str, Any]:
    """Return the setting of the texts project: where the suggestions come from, and spans that wrong ones are modelled on."""
    rows = [[*key, spans_to_json(of)] for key, of in sorted(copied.spans.items())]
    every = [span for spans in copied.spans.values() for span in spans]
    models = Random(seed).sample(every, min(MODELS, len(every)))
    return {
        SETTING: {
            "name": layer.name, "label": layer.label, "origin": layer.origin, "provenance": dict(layer.provenance),
            "sha256": hashlib.sha256(json.dumps(rows).encode()).hexdigest(), "copied": datetime.now(UTC).isoformat(timespec="seconds"),
            "outputs": len(copied.spans), "spans": len(every), "changed": dict(copied.changed), "models": spans_to_json(models),
        }
    }  # fmt: skip


def unit_detail(spans: Mapping[str, Spans]) -> dict[str, Any]:
    """Return the detail of a unit with the spans of the layer by system; nothing if none of its outputs was examined."""
    return {DETAIL: {system: spans_to_json(of) for system, of in spans.items()}} if spans else {}


class UnitDraw(NamedTuple):
    """What is drawn for one rater and unit: the arm, and the suggestions by system, which only one arm is shown."""

    arm: ArmDraw
    layer: Mapping[str, Spans]
    drawn: Mapping[str, DrawnSuggestions]


class SuggestionDraws:
    """What is drawn for the raters and units of a campaign with suggestions."""

    def __init__(self, store: Store, campaign: Campaign, design: Suggestions) -> None:
        self._design = design
        units = store.campaigns.units(campaign.id)
        self._members = grouped(((u.block, u.of.doc_id), u.name) for u in units if u.kind == "item")
        self._like = spans_from_json((store.settings.get(campaign.texts, SETTING) or {}).get("models", ()))

    def of(self, rater: str, unit: CampaignUnit, texts: Mapping[str, str]) -> UnitDraw | None:
        """Return what is drawn for a rater and unit with these texts by system; None for units without suggestions."""
        layer = {system: spans_from_json(rows) for system, rows in unit.details.get(DETAIL, {}).items()}
        if not layer:
            return None
        members = self._members[unit.block, unit.of.doc_id] if unit.kind == "item" else [unit.name]
        arm = assign_arm(self._design, rater, unit.name, members, unit.systems)
        drawn = {
            system: draw_suggestions(self._design, rater, unit.name, system, texts[system], spans, self._like)
            for system, spans in layer.items()
        }
        return UnitDraw(arm, layer, drawn)


def opening(store: Store, campaign: Campaign, rater: str, unit: CampaignUnit) -> dict[str, Any]:
    """Return what the first opening of a unit records: the arm, its probability and, in the suggested arm, the suggestions.

    Their ids are random, and they come without note and confidence: nothing shows which of them is wrong.
    """
    design = design_from_json(campaign.design).suggestions
    if design is None:
        return {}
    texts = {o.system: o.text for o in store.projects.document(campaign.texts, unit.name).outputs}
    draw = SuggestionDraws(store, campaign, design).of(rater, unit, texts)
    if draw is None:
        return {}
    recorded: dict[str, Any] = {"arm": draw.arm.arm, "probability": draw.arm.probability}
    if draw.arm.arm == "suggested":
        recorded["suggestions"] = {
            system: [
                {"id": f"s{secrets.token_hex(8)}"} | row
                for row in spans_to_json(LayerSpan(s.error) for s in drawn.shown)
            ]
            for system, drawn in draw.drawn.items()
        }
    return recorded


def decision_on(suggestion: ErrorSpan, labels: OutputLabels) -> Decision:
    """Return the last decision of a rater on a suggestion. What was accepted and then deleted is rejected, as is all before a verdict."""
    for mark in labels.marks:
        if mark.suggestion == suggestion.id:
            return "accepted" if same_error(mark.span) == same_error(suggestion.span) else "edited"
    return "rejected" if labels.verdict or suggestion.id in labels.decided else "none"


def wrong_suggestions(store: Store, campaign: Campaign, units: Sequence[UnitJudgement]) -> list[UnitJudgement]:
    """Return the units with the planted wrong suggestions that their raters were shown."""
    drawn = {(unit.rater, unit.unit.id): draw for unit, draw in _draws(store, campaign, units)}
    places = [(unit, drawn.get((unit.rater, unit.unit.id))) for unit in units]
    return [unit if draw is None else unit._replace(wrong=tuple(_wrong(unit, draw))) for unit, draw in places]


def _wrong(unit: UnitJudgement, draw: UnitDraw) -> Iterator[WrongSuggestion]:
    for system, drawn in draw.drawn.items():
        if (shown := _planted(unit, system, drawn)) is not None:
            accepted = decision_on(shown, unit.labels.of(system)) in ("accepted", "edited")
            yield WrongSuggestion(system, shown.span, accepted)


def _planted(unit: UnitJudgement, system: str, drawn: DrawnSuggestions) -> ErrorSpan | None:
    """Return the wrong suggestion that the rater was shown."""
    shown = unit.labels.suggestions.get(system, ())
    if drawn.wrong is None:
        return None
    return next((s for s in shown if same_error(s.span) == same_error(drawn.wrong.error)), None)


def _draws(
    store: Store, campaign: Campaign, units: Iterable[UnitJudgement]
) -> Iterator[tuple[UnitJudgement, UnitDraw]]:
    design = design_from_json(campaign.design).suggestions
    drawn_units = [unit for unit in units if unit.labels.arm]
    if design is None or not drawn_units:
        return
    draws = SuggestionDraws(store, campaign, design)
    texts: dict[str, dict[str, str]] = {}
    for output in store.projects.dataset(campaign.texts).outputs:
        texts.setdefault(output.doc_id, {})[output.system] = output.text
    for unit in drawn_units:
        if (draw := draws.of(unit.rater, unit.unit, texts[unit.unit.name])) is not None:
            yield unit, draw


def suggestion_rows(store: Store, campaign: Campaign, labels: CampaignLabels) -> list[SuggestionRow]:
    """Return a row for each examined output that a rater has submitted in one of the arms; excluded raters have none.

    Attention checks say only what was found of wrong suggestions and planted errors: their text is not that of the system. Repeats are left
    out: their rater may have seen the unit in the other arm.
    """
    design = design_from_json(campaign.design)
    position: Counter[str] = Counter()
    rows = []
    places = {}
    for answer in labels.answers:
        places[answer.rater, answer.unit.name] = position[answer.rater]
        position[answer.rater] += 1
    counted = [
        a for a in labels.answers
        if a.unit.kind in ("item", "check") and a.labels.submitted and not a.labels.declined and not a.excluded
    ]  # fmt: skip
    for answer, draw in _draws(store, campaign, counted):
        for system in draw.layer:
            rows.append(_row(design, answer, draw, system, places[answer.rater, answer.unit.name]))
    return rows


def _row(design: CampaignDesign, answer: UnitJudgement, draw: UnitDraw, system: str, position: int) -> SuggestionRow:
    labels, drawn = answer.labels, draw.drawn[system]
    own, marked = labels.of(system), spans_of(labels, system)
    shown = labels.suggestions.get(system, ())
    wrong = _planted(answer, system, drawn)
    right = [s for s in shown if wrong is None or s.id != wrong.id]
    decisions = Counter(decision_on(s, own) for s in right)
    wrong_marked = marked_among([drawn.wrong.error], marked) if drawn.wrong else 0
    if wrong is not None and decision_on(wrong, own) in ("accepted", "edited"):
        wrong_marked = 1
    check = check_from_json(answer.unit.details) if answer.unit.kind == "check" else None
    planted = check.planted if check is not None and check.broken == system else None
    withheld = [s.error for s in drawn.withheld]
    row = SuggestionRow(
        answer.rater, answer.unit.name, draw.arm.arm, draw.arm.block, system, position, draw.arm.probability,
        shown=len(right), accepted=decisions["accepted"], edited=decisions["edited"], rejected=decisions["rejected"],
        wrong=int(drawn.wrong is not None), wrong_marked=wrong_marked,
        withheld=len(withheld), withheld_marked=marked_among(withheld, marked),
        plants=int(planted is not None), plants_marked=int(planted is not None and planted.found_by(marked)),
    )  # fmt: skip
    if check is not None:
        return row
    return row._replace(
        spans=len(marked), major=sum(s.severity == "Major" for s in marked),
        score=values_of(design, answer.unit, labels).get(system), seconds=labels.seconds / len(answer.unit.systems),
        agreement=layer_agreement(marked, [s.error for s in draw.layer[system]]),
    )  # fmt: skip
