"""Calibration sets: draw outputs to label, count what is still missing, and estimate means over all outputs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.calibration.calibrate import ENOUGH_OUTPUTS, ENOUGH_RATERS
from core.calibration.sampling import EVENLY, STRATA, LabelCandidate, Method, choose, design
from core.calibration.sampling_variance import batch_mean
from core.data import Dataset, OutputKey, RatedOutput, SegmentKey
from core.formats.problems import counted
from core.mqm.log import SegmentLabels
from core.mqm.schemes import scheme as scheme_of
from core.mqm.scores import segment_scores
from core.ports.batches import SavedBatch
from core.ports.calibrations import SavedLambda
from core.ports.store import Store
from core.services.projects.view import Column, View
from core.signature import number, signature
from core.text.languages import SAMPLE, language

VERSION = 1
ANY_LAMBDA = (0.0, float("inf"))


@dataclass(frozen=True, slots=True)
class Plan:
    """How to draw a batch: about `n` outputs by `method`, without outputs that `enough` raters have rated.

    Empty `documents` mean all.
    """

    n: int = ENOUGH_OUTPUTS
    method: Method = "stratified"
    whole: bool = True
    n_strata: int = STRATA
    interval: tuple[float, float] = ANY_LAMBDA
    enough: int = ENOUGH_RATERS
    seed: int = 0
    documents: tuple[str, ...] = ()


class Shortfall(NamedTuple):
    """Labelled outputs against the recommendation of Appendix B: 100 outputs, each rated by 2 or 3 raters."""

    outputs: int  # rated by at least one
    twice: int  # rated by at least two
    raters: int

    @property
    def missing(self) -> int:
        """Return how many more outputs need a first rater."""
        return max(0, ENOUGH_OUTPUTS - self.outputs)

    @property
    def missing_twice(self) -> int:
        return max(0, ENOUGH_OUTPUTS - self.twice)

    def words(self) -> str:
        """Return a sentence on what is missing."""
        there = f"{counted(self.outputs, 'output')} labelled and submitted, {self.twice} of them by two or more of {counted(self.raters, 'annotator')}"
        if not self.missing_twice:
            return f"{there}: enough for all pages, Calibrate λ included ({ENOUGH_OUTPUTS} outputs, 2 or 3 annotators each)."
        return f"{there}. Still needed: {counted(self.missing_twice, 'output')} with labels by 2 annotators each."


class BatchEstimate(NamedTuple):
    """The mean MQM score of `system` ("" for all) over the `n` labelled outputs of a batch.

    `plain` is the mean of the sample. `corrected` accounts for the probabilities of being drawn and estimates the mean over
    all outputs the batch was drawn from, with its 95 % CI under sampling. Without a CI, `reason` says why.
    """

    system: str
    n: int
    plain: float
    corrected: float
    low: float | None
    high: float | None
    reason: str = ""


class BatchProgress(NamedTuple):
    """Progress of a batch: outputs assigned, labelled by at least one annotator, and by at least two."""

    assigned: int
    once: int
    twice: int


def raters_of(labels: Iterable[RatedOutput]) -> dict[OutputKey, set[str]]:
    """Return the raters of each output."""
    found: dict[OutputKey, set[str]] = {}
    for rated in labels:
        found.setdefault(rated.key, set()).add(rated.rater)
    return found


def shortfall(rated: Mapping[OutputKey, Collection[str]]) -> Shortfall:
    """Count the labelled outputs of the project."""
    twice = sum(len(of) >= ENOUGH_RATERS for of in rated.values())
    return Shortfall(len(rated), twice, len({rater for of in rated.values() for rater in of}))


def intervals(saved: Iterable[SavedLambda], refinement: str) -> dict[str, tuple[float, float]]:
    """Return the intervals of the λs saved for this refinement by name, newest first."""
    found = {
        s.name: (float(s.result["ci"][0]), float(s.result["ci"][1]))
        for s in saved
        if s.refinement == refinement and s.result.get("ci")
    }
    return dict(reversed(found.items()))


def pool(view: View, column: Column, keys: Iterable[OutputKey]) -> list[LabelCandidate]:
    """Return the outputs of `keys` that the metric has scored, in the order of the project."""
    table, wanted, found = view.tables[column.name], set(keys), []
    for key in view.texts:
        value = table.get(key)
        if key in wanted and value is not None and value.value is not None:
            distances = (value.parts.get("dist_exp", 0.0), value.parts.get("dist_imp", 0.0))
            found.append(LabelCandidate(key, value.value, *distances))
    return found


def build(view: View, column: Column, rated: Mapping[OutputKey, Collection[str]], name: str, plan: Plan) -> SavedBatch:
    """Draw a batch by `plan`. Raises `UserError` if no outputs are left."""
    inside = [k for k in view.texts if not plan.documents or k.doc_id in plan.documents]
    left = pool(view, column, (k for k in inside if len(rated.get(k, ())) < plan.enough))
    done = pool(view, column, (k for k in inside if k in rated))
    chosen = choose(
        left,
        plan.n,
        method=plan.method,
        seed=plan.seed,
        whole=plan.whole,
        n_strata=plan.n_strata,
        interval=plan.interval,
        labelled=[c for c in done if len(rated[c.key]) >= plan.enough],
    )
    options: dict[str, object] = {"metric": column.label, "whole": plan.whole, "asked": plan.n}
    method_facts: dict[str, object]
    if plan.method == "stratified":
        method_facts = {"strata": plan.n_strata}
        of, places = design(left, plan.n, whole=plan.whole, n_strata=plan.n_strata)
        stratum = dict(zip([c.key for c in left], of.tolist(), strict=True))
        options |= {"stratum": [stratum[c.key] for c in chosen], "places": places.tolist()}
    else:
        method_facts = {"interval": f"{number(plan.interval[0])}-{number(plan.interval[1])}", "evenly": EVENLY}
    facts: dict[str, object] = {
        "method": plan.method,
        **method_facts,
        "unit": "segment" if plan.whole else "output",
        "n": plan.n,
        "below": plan.enough,
        "seed": plan.seed,
        "of": len(left),
        "by": column.signature.replace("|", ";"),
        "v": VERSION,
    }
    if plan.documents:
        options["documents"] = list(plan.documents)
        digest = hashlib.sha256(json.dumps(sorted(plan.documents)).encode()).hexdigest()[:8]
        facts["documents"] = f"{len(plan.documents)}-{digest}"
    return SavedBatch(name.strip(), plan.method, plan.seed, signature("batch", facts), chosen, len(left), options)


def languages(view: View) -> dict[str, list[str]]:
    """Return the documents by language, or by languages such as “German → English”, in the order of the project."""
    sources: dict[str, str] = {}
    outputs: dict[str, str] = {}
    for segment in view.segments:
        if len(sources.get(segment.doc_id, "")) < SAMPLE:
            sources[segment.doc_id] = f"{sources.get(segment.doc_id, '')} {segment.source or ''}"
    for key, text in view.texts.items():
        if len(outputs.get(key.doc_id, "")) < SAMPLE:
            outputs[key.doc_id] = f"{outputs.get(key.doc_id, '')} {text}"
    found: dict[str, list[str]] = {}
    for doc, text in outputs.items():
        pair = (language(sources[doc]), language(text)) if sources[doc].strip() else (language(text),)
        found.setdefault(" → ".join(dict.fromkeys(pair)), []).append(doc)
    return found


def remove(store: Store, project_id: int, batch: SavedBatch, rated: Mapping[OutputKey, Collection[str]]) -> None:
    """Delete a batch. If some of its outputs are labelled, it is archived instead: their probabilities are still needed."""
    if any(c.key in rated for c in batch.outputs):
        store.batches.archive(project_id, batch.name)
    else:
        store.batches.delete(project_id, batch.name)


def within(dataset: Dataset, batch: SavedBatch) -> Dataset:
    """Return the outputs of a batch and their segments, in the order of the batch."""
    assigned = {c.key for c in batch.outputs}
    order = {segment: place for place, segment in enumerate(dict.fromkeys(c.key.segment for c in batch.outputs))}
    segments = sorted((s for s in dataset.segments if s.key in order), key=lambda s: order[s.key])
    outputs = sorted((o for o in dataset.outputs if o.key in assigned), key=lambda o: order[o.key.segment])
    return Dataset(tuple(segments), tuple(outputs))


def outputs_done(dataset: Dataset, labels: Mapping[SegmentKey, SegmentLabels]) -> int:
    """Count the outputs that one annotator has labelled and submitted."""
    return sum(
        (mine := labels.get(o.key.segment)) is not None and mine.submitted and mine.answered(o.system)
        for o in dataset.outputs
    )


def progress(batch: SavedBatch, rated: Mapping[OutputKey, Collection[str]]) -> BatchProgress:
    """Return the progress of all annotators together."""
    each = [len(rated.get(c.key, ())) for c in batch.outputs]
    return BatchProgress(len(each), sum(n > 0 for n in each), sum(n >= ENOUGH_RATERS for n in each))


def estimates(labels: Iterable[RatedOutput], batch: SavedBatch, scheme: str = "google") -> list[BatchEstimate]:
    """Estimate mean MQM scores from the labelled part of a batch, for all outputs and for each system.

    Segments come in random order, so a partly labelled batch counts as a smaller sample without strata.
    """
    scores = {s.key: s.score for s in segment_scores(labels, scheme_of(scheme))}
    at = [i for i, c in enumerate(batch.outputs) if c.key in scores]
    there = [batch.outputs[i] for i in at]
    values = np.array([scores[c.key] for c in there])
    unit_of = {c.key: c.key.segment if batch.options.get("whole") else c.key for c in batch.outputs}
    share = len({unit_of[c.key] for c in there}) / max(1, len(set(unit_of.values())))
    strata = batch.options.get("stratum") if share == 1 else None
    found = []
    for system in ("", *sorted({c.key.system for c in there})) if there else ():
        inside = np.array([system in ("", c.key.system) for c in there])
        mean = batch_mean(
            values, [c.probability * share for c in there], [unit_of[c.key] for c in there], domain=inside,
            stratum=[strata[i] for i in at] if strata else None, places=batch.options.get("places", ()),
        )  # fmt: skip
        plain = float(values[inside].mean())
        found.append(BatchEstimate(system, int(inside.sum()), plain, mean.value, mean.low, mean.high, mean.reason))
    return found
