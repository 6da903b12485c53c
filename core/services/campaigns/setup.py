"""Set up a campaign: stored choices, preview, tutorial items, estimate of time and cost, and its creation."""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from core.campaigns.attention_checks import AttentionCheck, check_to_json, planted
from core.campaigns.design import CampaignDesign, TutorialItem, design_to_json
from core.campaigns.suggestions import moved_suggestions
from core.campaigns.tutorial import tutorial_to_json
from core.campaigns.units import Outline, PlannedUnit, planned_units
from core.data import Dataset, Output, OutputKey, Segment, SegmentKey, Span
from core.errors import UserError
from core.mqm.label_columns import LabelColumns
from core.mqm.log import fold_segment
from core.mqm.rated_by_output import RatedByOutput
from core.mqm.schemes import GOOGLE
from core.mqm.scores import rater_penalty
from core.ports.campaigns import Campaign, NewUnit
from core.ports.labels import Action, Event, RecordedSegment
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.campaigns.answers import PART
from core.services.campaigns.setup_design import DEFAULTS, Choices
from core.services.campaigns.suggestions import copy_of, layer_setting, unit_detail
from core.services.labels.editor import editor_data
from core.services.labels.protocols import protocol_settings
from core.services.spans.layers import load_layer, segment_layers
from core.spans.layers import SpanLayer, Spans, spans_to_json

SETTING = "campaign_setup"
_REPEATED = "tutorial_keys/"
"""Choices with this prefix repeat the keys of `tutorial`, and are no plain values."""
_COMPUTED = ("name", "title", "names", "typology")
"""Choices whose usual value is none of `DEFAULTS`."""


def setup_settings(choices: Choices) -> dict[str, Any]:
    """Return the setting of the texts project that keeps the choices, and what was the default of the others."""
    usual = {k: v for k, v in DEFAULTS.items() if k not in _COMPUTED}
    return {SETTING: {k: v for k, v in {**usual, **choices}.items() if not k.startswith(_REPEATED)}}


class SavedDraft(NamedTuple):
    """A draft and the choices from which it was made."""

    campaign: Campaign
    choices: Choices


def of_draft(store: Store, campaign: Campaign) -> SavedDraft | None:
    """Return what continues the set-up of a draft. None if the campaign was started, or made without the set-up screen."""
    stored = store.settings.get(campaign.texts, SETTING) if campaign.state == "draft" else None
    if stored is None:
        return None
    return SavedDraft(campaign, {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()})


CLEAN, BROKEN = "clean", "changed"
"""The systems of a check in which annotators compare an output with its changed copy."""
MOST_OTHERS = 200
TIMES_SEEN = 3
"""There are enough checks that each is shown to about this many people."""
OTHER_SEGMENTS = 500
"""Segments of the project whose outputs may take the place of another one in an attention check."""
LONGEST_SHARE = 2.0
"""There are enough checks for somebody who does this many times the average work and sees none twice."""


class Estimate(NamedTuple):
    """What a campaign of this design needs. `ratings` are units times raters, `all_ratings` those with checks, repeats
    and the tutorial. Times, in hours, and cost are for all of them."""

    units: int
    outputs: int
    documents: int
    ratings: int
    all_ratings: int
    hours: float
    hours_per_person: float
    cost: float


def estimate(outline: dict[SegmentKey, tuple[str, ...]], design: CampaignDesign) -> Estimate:
    """Return the estimate of time and cost. Raises `UserError` for a design that cannot be carried out."""
    design.check()
    units = planned_units(outline, design)
    ratings = len(units) * design.overlap
    every = round(ratings * (1 + design.checks + design.repeats)) + len(design.tutorial) * design.people
    hours = every * design.seconds_per_unit / 3600
    outputs = {(u.of, system) for u in units for system in u.systems}
    documents = {u.of.doc_id for u in units}
    return Estimate(
        len(units),
        len(outputs),
        len(documents),
        ratings,
        every,
        hours,
        hours / design.people,
        hours * design.pay_per_hour,
    )


def checked_name(store: Store, project_id: int, name: str, draft: Campaign | None = None) -> str:
    """Return the name as it is stored. Raises `UserError` if it is empty, or that of a campaign other than `draft`."""
    clean_name = " ".join(name.split())
    if not clean_name:
        raise UserError("the campaign has no name", hint="Type a name")
    others = (c for c in store.campaigns.list(project_id) if draft is None or c.id != draft.id)
    if any(c.name.casefold() == clean_name.casefold() for c in others):
        raise UserError("there is a campaign of this name", got=clean_name, hint="Choose another name")
    return clean_name


def create(
    store: Store, who: str, project_id: int, name: str, design: CampaignDesign, progress: Progress = no_progress,
    *, setup: Choices | None = None, draft: Campaign | None = None,
) -> Campaign:  # fmt: skip
    """Store a campaign as a draft. Raises `UserError` if the name is empty or taken, or the design cannot be carried out.

    `setup` are the choices on the set-up screen, kept to continue there. `draft` is a campaign to be replaced; its people stay.

    Each unit gets a random name, so that nothing in the browser shows what it is. Checks are made from the outputs of the
    campaign with planted errors; their number follows from the share that annotators see. The suggestions are copied from their layer as it is now.
    """
    clean_name = checked_name(store, project_id, name, draft)
    design.check()
    outline = store.projects.index(project_id).outline
    planned = planned_units(outline, design)
    needed = dict.fromkeys([*(u.of for u in planned), *(i.key.segment for i in design.tutorial), *sampled(outline)])
    made = UnitTexts(store.projects.texts(project_id, list(needed)))
    settings = protocol_settings(design.protocol) | ({} if setup is None else setup_settings(setup))
    if design.suggestions is not None:
        settings |= made.suggest(load_layer(store, project_id, design.suggestions.layer), planned, design)
    items = [made.add(u.of, u.systems, u.block, "item", {}) for u in planned]
    rng = random.Random(design.seed)
    for at, unit in enumerate(items):
        if rng.random() < design.repeats:
            made.add(unit.of, unit.systems, -1, "repeat", {"unit": unit.name})
        progress(0.2 * at / len(items))
    shown = len(items) * design.overlap * design.checks
    wanted_checks = math.ceil(max(shown / TIMES_SEEN, LONGEST_SHARE * shown / design.people))
    pairs = design.protocol.on_screen == 2
    _add_checks(made, items, pairs, wanted_checks, rng, lambda share: progress(0.2 + 0.7 * share))
    for item in design.tutorial:
        made.add(item.key.segment, (item.key.system,), -1, "tutorial", tutorial_to_json(item))
    stored = (clean_name, design_to_json(design), settings, made.dataset(), made.units)
    if draft is not None:
        return store.campaigns.replace(draft.id, *stored)
    return store.campaigns.create(project_id, *stored, who)


def sampled(segments: Collection[SegmentKey]) -> list[SegmentKey]:
    """Return a sample of the segments of a project, always the same: other texts for planted errors come from it."""
    keys = list(segments)
    return keys if len(keys) <= OTHER_SEGMENTS else random.Random(0).sample(keys, OTHER_SEGMENTS)


class UnitTexts:
    """Units and their texts, as they are added."""

    def __init__(self, dataset: Dataset) -> None:
        self._segments = dataset.segment_of()
        self.texts = {o.key: o.text for o in dataset.outputs}
        self.units: list[NewUnit] = []
        self._new: list[Segment] = []
        self._outputs: list[Output] = []
        self._layer: Mapping[OutputKey, Spans] = {}

    def suggest(self, layer: SpanLayer, planned: Sequence[PlannedUnit], design: CampaignDesign) -> dict[str, Any]:
        """Give the units that are added from now on suggestions of a layer; return the setting that describes it."""
        shown = dict.fromkeys(OutputKey(system, *unit.of) for unit in planned for system in unit.systems)
        texts = {key: (self.texts[key], self.source(key.segment)) for key in shown}
        copied = copy_of(layer, design.protocol, texts)
        self._layer = copied.spans
        return layer_setting(layer, copied, design.seed)

    def _suggested(self, of: SegmentKey, shown: Mapping[str, str]) -> dict[str, Any]:
        """Return the detail of a unit with suggestions for its texts by system; they move with a changed text."""
        spans = {}
        for system, text in shown.items():
            key = OutputKey(system, *of)
            if key in self._layer:
                layer, before = self._layer[key], self.texts[key]
                spans[system] = layer if text == before else moved_suggestions(layer, before, text)[0]
        return unit_detail(spans)

    def source(self, of: SegmentKey) -> str | None:
        return self._segments[of].source

    def add(
        self, of: SegmentKey, systems: Sequence[str], block: int, kind: Any, details: dict[str, Any],
        texts: dict[str, str] | None = None,
    ) -> NewUnit:  # fmt: skip
        """Add a unit; `texts` are those of its systems, by default the outputs of the segment."""
        if of not in self._segments:
            raise UserError("there is no such segment", got=f"{of.doc_id} / {of.segment_id}", hint="Reload the page")
        name = secrets.token_hex(8)
        segment = self._segments[of]
        self._new.append(Segment(name, PART, segment.source, segment.references))
        shown = {s: (texts or {}).get(s, self.texts.get(OutputKey(s, *of), "")) for s in systems}
        self._outputs += [Output(system, name, PART, text) for system, text in shown.items()]
        suggested = {} if kind == "tutorial" else self._suggested(of, shown)
        unit = NewUnit(name, block, kind, of, tuple(systems), details | suggested)
        self.units.append(unit)
        return unit

    def others(self, doc_id: str, system: str) -> list[str]:
        """Return a sample of the system's outputs of other documents."""
        texts = [text for key, text in self.texts.items() if key.system == system and key.doc_id != doc_id]
        return random.Random(len(texts)).sample(texts, min(MOST_OTHERS, len(texts)))

    def dataset(self) -> Dataset:
        return Dataset(tuple(self._new), tuple(self._outputs))


def _add_checks(
    made: UnitTexts, items: Sequence[NewUnit], pairs: bool, n: int, rng: random.Random, progress: Progress
) -> None:
    """Add `n` checks, or as many as can be made, from units in random order. In `pairs`, a clean text is beside its changed copy."""
    done = 0
    for unit in rng.sample(list(items), len(items)) if n else []:
        system = rng.choice(unit.systems)
        text = made.texts[OutputKey(system, *unit.of)]
        error = planted(text, made.source(unit.of), rng, made.others(unit.of.doc_id, system))
        if error is None:
            continue
        if pairs:
            details = check_to_json(AttentionCheck(error, BROKEN, CLEAN))
            made.add(unit.of, (CLEAN, BROKEN), -1, "check", details, {CLEAN: text, BROKEN: error.text})
        else:
            details = check_to_json(AttentionCheck(error, system, unit=unit.name))
            made.add(unit.of, unit.systems, -1, "check", details, {system: error.text})
        done += 1
        progress(done / n)
        if done == n:
            return


PREVIEWER = "preview"
MOST_UNITS = 20


class PreviewUnit(NamedTuple):
    """A unit to preview: its segment, and its systems in the order on the screen."""

    of: SegmentKey
    systems: tuple[str, ...]


def preview_units(outline: Outline, design: CampaignDesign) -> Sequence[PreviewUnit]:
    """Return some units, at random but always the same ones."""
    units = planned_units(dict(outline), design)
    rng = random.Random(design.seed)
    chosen = rng.sample(units, min(MOST_UNITS, len(units)))
    return [PreviewUnit(u.of, tuple(rng.sample(u.systems, len(u.systems)))) for u in chosen]


def preview_suggestions(
    store: Store, project_id: int, design: CampaignDesign, dataset: Dataset, of: SegmentKey
) -> dict[str, Any]:
    """Return what an opening of a unit in the suggested arm records, without withheld and wrong suggestions."""
    if design.suggestions is None:
        return {}
    name, sources = design.suggestions.layer, dataset.segment_of()
    by_system = segment_layers(store, project_id, of, [name])[name]
    layer = SpanLayer(name, name, "file", {OutputKey(system, *of): spans for system, spans in by_system.items()})
    texts = {o.key: (o.text, sources[o.key.segment].source) for o in dataset.outputs if o.key in layer.spans}
    shown = {
        key.system: [{"id": f"preview-s{n}"} | row for n, row in enumerate(spans_to_json(spans))]
        for key, spans in copy_of(layer, design.protocol, texts).spans.items()
    }
    return {"arm": "suggested", "probability": 1.0, "suggestions": shown}


def preview_data(
    dataset: Dataset, project_id: int, design: CampaignDesign, unit: PreviewUnit, suggested: Mapping[str, Any] = {}
) -> dict[str, Any]:
    """Return the data of the editor for a unit. Without `server`, the editor saves nothing."""
    ids = [f"preview-{n}" for n, _ in enumerate(unit.systems)]
    opened = Action(
        "preview-open", "open", None, {"order": list(unit.systems), "ids": ids, "seed": 0} | dict(suggested)
    )
    event = Event(0, datetime.now(UTC), PREVIEWER, unit.of, opened)
    return editor_data(
        dataset, project_id, PREVIEWER, unit.of, unit.systems, RecordedSegment([event], fold_segment([event])),
        more=True, protocol=design.protocol, declines=True,
    )  # fmt: skip


MOST_ITEMS = 10
CHOICES = 300
"""Outputs of a rater to choose from."""
MARGIN = 15.0
"""Suggested scores reach this far to both sides."""
POINTS = 4.0
"""Points of the score that one unit of the MQM penalty costs in a suggested score."""


def labelled_by(
    labels: LabelColumns, rated: RatedByOutput, chosen: Collection[OutputKey] = ()
) -> dict[str, dict[OutputKey, tuple[Span, ...]]]:
    """Return the error spans of submitted outputs by rater; raters with the most outputs first.

    Of each rater there are the `chosen` outputs, and the `CHOICES` in the segments that the rater opened last. `rated` are the same labels by output.
    """
    by_rater: dict[str, dict[OutputKey, tuple[Span, ...]]] = {}
    for rater, _ in sorted(labels.n_rated().items(), key=lambda item: (-item[1], item[0])):
        kept = (label for key in chosen for label in rated.get(key, ()) if label.rater == rater)
        last = list(labels.each(labels.rows_by([rater])[-CHOICES:]))
        by_rater[rater] = {label.key: label.errors for label in (*kept, *last[::-1])}
    return by_rater


def suggested_range(errors: Sequence[Span]) -> tuple[float, float]:
    """Return a score range to begin with: 100 less 4 points per unit of the MQM penalty (Major 5, Minor 1), ± 15."""
    middle = max(0.0, 100.0 - POINTS * rater_penalty(errors, GOOGLE))
    return max(0.0, middle - MARGIN), min(100.0, middle + MARGIN)


def item_row(
    key: OutputKey, errors: Sequence[Span], score: tuple[float, float] | None, feedback: str
) -> dict[str, Any]:
    """Return a tutorial item as plain values, as `setup_design.tutorial_of` reads it."""
    row = tutorial_to_json(TutorialItem(key, tuple(errors), score, feedback.strip()))
    return row | {"doc_id": key.doc_id, "segment_id": key.segment_id}


def row_key(row: Mapping[str, Any]) -> OutputKey:
    """Return the output of such plain values."""
    return OutputKey(row["system"], row["doc_id"], row["segment_id"])
