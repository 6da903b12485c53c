"""Calibration sets: draw outputs to label, count what is still missing, and estimate means over all outputs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.calibration.presets import ENOUGH_OUTPUTS, ENOUGH_RATERS, enough_outputs
from core.calibration.sampling import EVENLY, STRATA, LabelCandidate, Method, batch_mean, choose, design
from core.columns import Mask, ProjectIndex
from core.data import SegmentKey
from core.formatting import format_count
from core.mqm.rated_by_output import RatedByOutput
from core.mqm.schemes import scheme as scheme_of
from core.ports.calibration import SavedBatch, SavedLambda
from core.ports.store import Store
from core.services.labels.labels import LabelsBySegment, Outline
from core.services.projects.view import Column, View
from core.signature import format_exact, signature
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
    """Labelled outputs against the recommendation of Appendix B: 100 outputs, or all of a smaller project, each rated by 2 or 3 raters."""

    outputs: int  # rated by at least one
    twice: int  # rated by at least two
    raters: int
    available: int | None = None  # outputs of the project

    @property
    def enough(self) -> int:
        return enough_outputs(self.available)

    @property
    def missing(self) -> int:
        """Return how many more outputs need a first rater."""
        return max(0, self.enough - self.outputs)

    @property
    def missing_twice(self) -> int:
        return max(0, self.enough - self.twice)

    def words(self) -> str:
        """Return a sentence on what is missing."""
        sentence = f"{format_count(self.outputs, 'output')} labelled and submitted"
        if self.raters >= ENOUGH_RATERS:
            sentence += f", {self.twice:,} of them by two or more of {format_count(self.raters, 'annotator')}"
        elif self.outputs:
            sentence += f" by {format_count(self.raters, 'annotator')}"
        small = self.enough < ENOUGH_OUTPUTS
        if not self.missing_twice:
            enough = f"all outputs of this project; {ENOUGH_OUTPUTS} are recommended for Calibrate λ"
            return f"{sentence}: {enough if small else f'enough for all pages, Calibrate λ included ({ENOUGH_OUTPUTS} outputs, 2 or 3 annotators each)'}."
        of = f" (this project has {self.enough}; {ENOUGH_OUTPUTS} are recommended for Calibrate λ)" if small else ""
        return f"{sentence}. Still needed: {format_count(self.missing_twice, 'output')} with labels by 2 annotators each{of}."


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


def shortfall(rated: RatedByOutput, available: int | None = None) -> Shortfall:
    """Count the labelled outputs of a project with `available` outputs."""
    return Shortfall(len(rated), int((rated.n_raters >= ENOUGH_RATERS).sum()), len(rated.raters), available)


def intervals(saved: Iterable[SavedLambda], refinement: str) -> dict[str, tuple[float, float]]:
    """Return the intervals of the λs saved for this refinement by name, newest first."""
    by_name = {
        s.name: (float(s.result["ci"][0]), float(s.result["ci"][1]))
        for s in saved
        if s.refinement == refinement and s.result.get("ci")
    }
    return dict(reversed(by_name.items()))


def pool(view: View, column: Column, keep: Mask) -> list[LabelCandidate]:
    """Return the `keep` outputs that the metric has scored, in the order of the project."""
    table, candidates = view.table(column.name), []
    zeros = np.zeros(view.index.shape)
    explicit, implicit = (np.nan_to_num(table.parts.get(name, zeros)) for name in ("dist_exp", "dist_imp"))
    for i, j in np.argwhere(keep & ~np.isnan(table.numbers)).tolist():
        distances = float(explicit[i, j]), float(implicit[i, j])
        candidates.append(LabelCandidate(view.index.key((i, j)), float(table.numbers[i, j]), *distances))
    return candidates


def build(view: View, column: Column, rated: RatedByOutput, name: str, plan: Plan) -> SavedBatch:
    """Draw a batch by `plan`. Raises `UserError` if no outputs are left."""
    documents = [not plan.documents or key.doc_id in plan.documents for key in view.index.segments]
    inside, n_raters = view.present & np.array(documents, dtype=bool)[:, None], rated.n_raters_in(view.index)
    left = pool(view, column, inside & (n_raters < plan.enough))
    chosen = choose(
        left,
        plan.n,
        method=plan.method,
        seed=plan.seed,
        whole=plan.whole,
        n_strata=plan.n_strata,
        interval=plan.interval,
        labelled=pool(view, column, inside & (n_raters > 0) & (n_raters >= plan.enough)),
    )
    options: dict[str, object] = {"metric": column.label, "whole": plan.whole, "asked": plan.n}
    method_facts: dict[str, object]
    if plan.method == "stratified":
        method_facts = {"strata": plan.n_strata}
        of, places = design(left, plan.n, whole=plan.whole, n_strata=plan.n_strata)
        stratum = dict(zip([c.key for c in left], of.tolist(), strict=True))
        options |= {"stratum": [stratum[c.key] for c in chosen], "places": places.tolist()}
    else:
        method_facts = {
            "interval": f"{format_exact(plan.interval[0])}-{format_exact(plan.interval[1])}",
            "evenly": EVENLY,
        }
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
    for segment, texts in view.texts.each(_beginnings(view.index)):
        doc = segment.doc_id
        sources[doc] = f"{sources.get(doc, '')} {segment.source or ''}"
        outputs[doc] = " ".join([outputs.get(doc, ""), *texts.values()])[: 2 * SAMPLE]
    by_language: dict[str, list[str]] = {}
    for doc, text in outputs.items():
        pair = (language(sources[doc]), language(text)) if sources[doc].strip() else (language(text),)
        by_language.setdefault(" → ".join(dict.fromkeys(pair)), []).append(doc)
    return by_language


def _beginnings(index: ProjectIndex) -> Iterator[SegmentKey]:
    """Yield the first segments of each document, until their outputs are long enough for a guess."""
    lengths = np.maximum(index.lengths, 0).sum(axis=1)
    for rows in index.documents.values():
        before = 0
        for i in rows:
            if before < SAMPLE and index.present[i].any():
                yield index.segments[i]
            before += int(lengths[i])


def remove(store: Store, project_id: int, batch: SavedBatch, rated: RatedByOutput) -> None:
    """Delete a batch. If some of its outputs are labelled, it is archived instead: their probabilities are still needed."""
    if any(c.key in rated for c in batch.outputs):
        store.batches.archive(project_id, batch.name)
    else:
        store.batches.delete(project_id, batch.name)


def outputs_done(asked: Outline, mine: LabelsBySegment) -> int:
    """Count the outputs that one annotator has labelled and submitted."""
    return sum(
        (of := mine.get(segment)) is not None and of.labels.submitted and of.labels.answered(system)
        for segment, systems in asked.items()
        for system in systems
    )


def progress(batch: SavedBatch, rated: RatedByOutput) -> BatchProgress:
    """Return the progress of all annotators together."""
    each = [rated.n_raters_of(c.key) for c in batch.outputs]
    return BatchProgress(len(each), sum(n > 0 for n in each), sum(n >= ENOUGH_RATERS for n in each))


def estimates(rated: RatedByOutput, batch: SavedBatch, scheme: str = "google") -> list[BatchEstimate]:
    """Estimate mean MQM scores from the labelled part of a batch, for all outputs and for each system.

    Segments come in random order, so a partly labelled batch counts as a smaller sample without strata.
    """
    scores = rated.scores_of([c.key for c in batch.outputs], scheme_of(scheme))
    at = [i for i, c in enumerate(batch.outputs) if c.key in scores]
    labelled = [batch.outputs[i] for i in at]
    values = np.array([scores[c.key] for c in labelled])
    unit_of = {c.key: c.key.segment if batch.options.get("whole") else c.key for c in batch.outputs}
    share = len({unit_of[c.key] for c in labelled}) / max(1, len(set(unit_of.values())))
    strata = batch.options.get("stratum") if share == 1 else None
    of_batch = []
    for system in ("", *sorted({c.key.system for c in labelled})) if labelled else ():
        inside = np.array([system in ("", c.key.system) for c in labelled])
        mean = batch_mean(
            values, [c.probability * share for c in labelled], [unit_of[c.key] for c in labelled], domain=inside,
            stratum=[strata[i] for i in at] if strata else None, places=batch.options.get("places", ()),
        )  # fmt: skip
        plain = float(values[inside].mean())
        of_batch.append(BatchEstimate(system, int(inside.sum()), plain, mean.value, mean.low, mean.high, mean.reason))
    return of_batch
