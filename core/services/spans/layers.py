"""The span layers of a project: annotators' submitted labels, judges, refinements, and imported files.

A layer is named by its origin and what identifies it there: `annotator:RATER`, `judge:SIGNATURE`, `refinement:SIGNATURE`, `file:NAME`.
Labels are those that a person may see (`Marks` of `core.services.compare.inspector`); without them, all submitted labels are read, as
commands and workers do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from core.columns import STATUSES, ProjectIndex
from core.data import OutputKey, RatedOutput, SegmentKey, Span, Value
from core.errors import UserError, unknown
from core.formats.files import Upload, base_name
from core.formats.labels.label_file import Written
from core.formats.spans.layer_file import LayerFile, OmittedSpan
from core.formats.spans.layer_formats import FORMATS, guess, layer_format
from core.formats.write import csv_text
from core.formatting import format_count
from core.metrics.base import is_judge
from core.metrics.generation.bartscore_pp import NAMES, refinement_of
from core.metrics.registry import label_of
from core.mqm.rated_by_output import RatedByOutput
from core.mqm.scores import NO_TEXT, with_text
from core.ports.scores import ScoredBy, SpanRows
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.refine.edits import MAJOR_GAIN, edit_spans
from core.refine.result import Refinement
from core.services.compare.inspector import Marks
from core.services.labels.kept_labels import KeptLabels
from core.services.projects.texts import StoredTexts
from core.signature import fields_of
from core.spans.layers import LayerSpan, Origin, SpanLayer, Spans, spans_from_json, spans_to_json
from core.spans.quotes import OUTCOMES


class LayerInfo(NamedTuple):
    """A layer without its spans; `outputs` are those that it examined, `provenance` says where it comes from."""

    name: str
    label: str
    origin: Origin
    provenance: Mapping[str, str]
    outputs: int

    @property
    def signature(self) -> str:
        """The signature of the scores that a judge or a refinement comes from."""
        return self.provenance["signature"]


def list_layers(
    store: Store, project_id: int, marks: Marks | None = None, scored: Sequence[LayerInfo] | None = None
) -> list[LayerInfo]:
    """Return the layers of a project: annotators, then judges, refinements and files, each in the order in which they came.

    `scored` is the result of `scored_layers`, if the caller has it.
    """
    seen = marks.by_output if marks else _all_labels(store, project_id)
    annotators = [_of_rater(rater, n) for rater, n in seen.n_rated().items()]
    files = [
        LayerInfo(f"file:{of.name}", of.name, "file", of.provenance, of.outputs) for of in store.spans.list(project_id)
    ]
    return [*annotators, *(scored_layers(store, project_id) if scored is None else scored), *files]


def load_layer(store: Store, project_id: int, name: str, marks: Marks | None = None) -> SpanLayer:
    """Return a layer of the whole project. Raises `UserError` if there is none of this name."""
    origin, _, own = name.partition(":")
    if origin == "file":
        stored = next((layer for layer in store.spans.list(project_id) if layer.name == own), None)
        if stored is not None:
            spans = {key: spans_from_json(rows) for key, rows in store.spans.load(project_id, own).items()}
            return SpanLayer(name, own, "file", spans, stored.provenance, stored.left_out)
    elif origin == "annotator":
        seen = marks.by_output if marks else _all_labels(store, project_id)
        if own in (counts := seen.n_rated()):
            info = _of_rater(own, counts[own])
            rated = list(seen.of_rater(own))
            texts = _texts(store, project_id, (of.key for of in rated if NO_TEXT in of.errors))
            return SpanLayer(*info[:3], {of.key: _rated_spans(of, texts) for of in rated}, info.provenance)
    elif source := next((info for info in scored_layers(store, project_id) if info.name == name), None):
        details = store.scores.details(project_id, source.signature)
        if origin == "judge":
            judged = _judged(details)
            provenance = dict(source.provenance)
            if judged.states:
                provenance["not examined"] = ", ".join(f"{n} {state}" for state, n in judged.states.items())
            return SpanLayer(*source[:3], judged.spans, provenance, judged.left_out, judged.ambiguous)
        texts = _texts(store, project_id, store.projects.index(project_id).keys())
        spans = {key: _edits(value, texts[key]) for key, value in details if key in texts}
        return SpanLayer(*source[:3], spans, source.provenance)
    raise unknown("span layer", name, [info.name for info in list_layers(store, project_id, marks)])


def segment_layers(
    store: Store, project_id: int, segment: SegmentKey, names: Collection[str], marks: Marks | None = None,
    scored: Sequence[LayerInfo] | None = None,
) -> dict[str, dict[str, Spans]]:  # fmt: skip
    """Return the spans of one segment by layer and system. A system that a layer did not examine has no entry.

    Names of layers that do not exist, or that the person may not see, have an empty entry. `scored` is the result of `scored_layers`.
    """
    layers: dict[str, dict[str, Spans]] = {name: {} for name in names}
    files = [name.removeprefix("file:") for name in names if name.startswith("file:")]
    for name, by_system in (store.spans.of_segment(project_id, segment, files) if files else {}).items():
        layers[f"file:{name}"] = {system: spans_from_json(rows) for system, rows in by_system.items()}
    if len(files) == len(layers):
        return layers
    texts = {o.system: o.text for o in store.projects.texts(project_id, [segment]).outputs}
    raters = {name.removeprefix("annotator:"): name for name in names if name.startswith("annotator:")}
    if raters:
        seen = marks.by_output if marks else _all_labels(store, project_id)
        for system, text in texts.items():
            key = OutputKey(system, *segment)
            for of in seen.get(key, ()):
                if of.rater in raters:
                    layers[raters[of.rater]][system] = _rated_spans(of, {key: text})
    if len(files) + len(raters) == len(layers):
        return layers
    for source in scored_layers(store, project_id) if scored is None else scored:
        if source.name in layers:
            details = store.scores.detail(project_id, source.signature, segment)
            with_detail = {system: value for system, value in details.items() if value.detail is not None}
            if source.origin == "judge":
                of_judge = _judged((OutputKey(system, *segment), value) for system, value in with_detail.items()).spans
                layers[source.name] = {key.system: spans for key, spans in of_judge.items()}
            else:
                layers[source.name] = {
                    system: _edits(value, texts[system]) for system, value in with_detail.items() if system in texts
                }
    return layers


def add_layer(
    store: Store, project_id: int, name: str, spans: Mapping[OutputKey, Iterable[LayerSpan]], provenance: Mapping[str, str],
    left_out: Mapping[str, int], progress: Progress = no_progress,
) -> LayerInfo:  # fmt: skip
    """Store a layer of a file. Raises `UserError` if a span does not match its text, or the name is empty or taken."""
    rows: dict[OutputKey, SpanRows] = {key: spans_to_json(of) for key, of in spans.items()}
    of_project = _stored_texts(store, project_id)
    for part in of_project.item_parts(spans):
        for key, item in part.items():
            for error, _ in spans[key]:
                error.check(item.hypothesis if error.side == "output" else item.source or "")
    stored = store.spans.add(project_id, name, rows, provenance, left_out, progress)
    return LayerInfo(f"file:{stored.name}", stored.name, "file", stored.provenance, stored.outputs)


# ── annotators ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _all_labels(store: Store, project_id: int) -> RatedByOutput:
    _, by_output = KeptLabels(project_id).read(store, store.campaigns.versions(project_id))
    return by_output


def _of_rater(rater: str, n: int) -> LayerInfo:
    return LayerInfo(f"annotator:{rater}", rater, "annotator", {"rater": rater}, n)


def _rated_spans(of: RatedOutput, texts: Mapping[OutputKey, str]) -> Spans:
    return tuple(LayerSpan(error) for error in with_text(of, texts.get(of.key, "")).errors)


# ── judges and refinements ───────────────────────────────────────────────────────────────────────────────────────────


def scored_layers(store: Store, project_id: int) -> list[LayerInfo]:
    """Return the judges that report error spans, then the refinements, for callers that keep them until scores are stored.

    A refinement does not depend on λ: of equal ones, the newest. Details are read to find the spans.
    """
    scored = store.scores.signatures(project_id)
    judges = [
        _scored_layer(store, project_id, by, "judge", by.signature, {})
        for by in scored
        if is_judge(by.metric) and _has_spans(store, project_id, by)
    ]
    refined = {refinement_of(by.signature): by for by in scored if by.metric in NAMES}
    rule = {"severity": f"Major from a gain of {MAJOR_GAIN} in BARTScore"}
    refinements = [_scored_layer(store, project_id, by, "refinement", signed, rule) for signed, by in refined.items()]
    layers = [*judges, *refinements]
    n = Counter(info.label for info in layers)
    return [info if n[info.label] == 1 else _with_model(info) for info in layers]


def _scored_layer(
    store: Store, project_id: int, by: ScoredBy, origin: Origin, identity: str, facts: Mapping[str, str]
) -> LayerInfo:
    label = label_of(by.metric, by.signature)
    label = f"{label}: edits" if origin == "refinement" else label
    examined = int(np.count_nonzero(store.scores.column(project_id, by.signature).states == STATUSES.index("ok")))
    provenance = {"metric": by.metric, "signature": by.signature, "scored": by.newest.isoformat(timespec="seconds")}
    return LayerInfo(f"{origin}:{identity}", label, origin, provenance | dict(facts), examined)


def _with_model(info: LayerInfo) -> LayerInfo:
    model = fields_of(info.signature).get("model", info.signature)
    return info._replace(label=f"{info.label} ({model})")


def _has_spans(store: Store, project_id: int, by: ScoredBy) -> bool:
    """Return whether a judge reports error spans, by one of the outputs that it has judged."""
    column = store.scores.column(project_id, by.signature)
    judged = next(column.index.keys(column.states == STATUSES.index("ok")), None)
    if judged is None:
        return False
    detail = store.scores.detail(project_id, by.signature, judged.segment)[judged.system].detail
    return detail is not None and "spans" in detail


class _Judged(NamedTuple):
    """What a judge gives: the spans of the outputs that it examined, the spans that each of its ambiguous quotes may mean, what could
    not be placed by reason, and the states of the other outputs."""

    spans: dict[OutputKey, Spans]
    ambiguous: dict[OutputKey, tuple[tuple[Span, ...], ...]]
    left_out: Counter[str]
    states: Counter[str]


def _judged(details: Iterable[tuple[OutputKey, Value]]) -> _Judged:
    judged = _Judged({}, {}, Counter(), Counter())
    for key, value in details:
        detail: Mapping[str, Any] = value.detail or {}
        if value.status != "ok":
            judged.states[str(detail.get("state", value.status))] += 1
            continue
        judged.spans[key] = spans_from_json(detail.get("spans", ()))
        judged.ambiguous[key] = _ambiguous(value)
        judged.left_out.update(OUTCOMES.get(of["outcome"], of["outcome"]) for of in detail.get("unplaced", ()))
    return judged


def _ambiguous(value: Value) -> tuple[tuple[Span, ...], ...]:
    """Return the spans that each ambiguous quote of a judge may mean; equal quotes of several repeats count once."""
    quotes = [of for of in (value.detail or {}).get("unplaced", ()) if of["outcome"] == "ambiguous"]
    return tuple(dict.fromkeys(
        tuple(Span(of["side"] or "output", start, end, of["quote"], of["severity"], of["category"]) for start, end in places)
        for of in quotes if (places := of.get("places"))
    ))  # fmt: skip


def _edits(value: Value, text: str) -> Spans:
    return edit_spans(text, Refinement.from_json(value.detail or {}))


def _stored_texts(store: Store, project_id: int) -> StoredTexts:
    index: ProjectIndex = store.projects.index(project_id)
    return StoredTexts(store.projects, project_id, len(index.systems))


def _texts(store: Store, project_id: int, keys: Iterable[OutputKey]) -> dict[OutputKey, str]:
    return _stored_texts(store, project_id).outputs(keys)


def read_file(store: Store, project_id: int, upload: Upload) -> tuple[str, LayerFile]:
    """Return the format of a file, recognised by its content, and its spans for the outputs of a project. Nothing is stored.

    Raises `UserError` and `ImportProblems`.
    """
    name = guess(upload)
    return name, layer_format(name).read(upload, store.projects.dataset(project_id))


def import_file(
    store: Store,
    project_id: int,
    name: str,
    upload: Upload,
    format: str,
    read: LayerFile,
    progress: Progress = no_progress,
) -> LayerInfo:
    """Store what was read as a layer. Raises `UserError` if the name is empty or taken; nothing is changed then."""
    provenance = {
        "file": base_name(upload.name), "sha256": upload.sha256(), "format": FORMATS[format].label,
        "imported": datetime.now(UTC).isoformat(timespec="seconds"),
    } | {what: str(n) for what, n in read.notes.items()}  # fmt: skip
    return add_layer(store, project_id, name, read.spans, provenance, read.reasons, progress)


def export_layer(store: Store, project_id: int, name: str, format: str, marks: Marks | None = None) -> Written:
    """Return a layer as a file, with what the format cannot hold. Raises `UserError` for an unknown layer or format."""
    write = layer_format(format).write
    if write is None:
        raise UserError(
            "this format is only read", got=format, expected=", ".join(n for n, f in FORMATS.items() if f.write)
        )
    return write(load_layer(store, project_id, name, marks), store.projects.dataset(project_id))


def summary(read: LayerFile) -> str:
    """Return `160 outputs examined, 210 error spans (3 outputs without)`."""
    clean = sum(not spans for spans in read.spans.values())
    spans = format_count(sum(map(len, read.spans.values())), "error span")
    return f"{format_count(len(read.spans), 'output')} examined, {spans}, {clean:,} without an error"


def counts_of(counts: Mapping[str, int]) -> list[str]:
    """Return `3 × quote not found` for each."""
    return [f"{n:,} × {what}" for what, n in counts.items()]


def left_out_csv(read: LayerFile) -> str:
    """Return a table of everything that was left out."""
    return csv_text(OmittedSpan._fields, read.left_out)
