"""Building a calibration set: which outputs to label next, what is still missing to a set worth calibrating on, and what the
labels of a batch say of all outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.calibration.calibrate import ENOUGH_OUTPUTS, ENOUGH_RATERS
from core.calibration.sampling import EVENLY, STRATA, Candidate, Method, choose, design
from core.calibration.sampling_variance import batch_mean
from core.data import Dataset, OutputKey, RatedOutput, SegmentKey
from core.formats.problems import counted
from core.mqm.log import SegmentLabels, fold
from core.mqm.schemes import scheme as scheme_of
from core.mqm.scores import rated_outputs, segment_scores
from core.ports import SavedBatch, SavedLambda, Store
from core.services.view import Column, View
from core.signature import number, signature

VERSION = 1
ANY_LAMBDA = (0.0, float("inf"))


@dataclass(frozen=True, slots=True)
class Plan:
    """What a batch is to be: about `n` outputs drawn by `method`. Outputs that `enough` people have rated are left out."""

    n: int = ENOUGH_OUTPUTS
    method: Method = "stratified"
    whole: bool = True
    n_strata: int = STRATA
    interval: tuple[float, float] = ANY_LAMBDA
    enough: int = ENOUGH_RATERS
    seed: int = 0


class Shortfall(NamedTuple):
    """What Appendix B asks for (100 outputs, each rated by 2 or 3 people) and what there is of it."""

    outputs: int  # rated by at least one
    twice: int  # rated by at least two
    raters: int

    @property
    def missing(self) -> int:
        """Outputs that nobody has rated yet and that are needed."""
        return max(0, ENOUGH_OUTPUTS - self.outputs)

    @property
    def missing_twice(self) -> int:
        return max(0, ENOUGH_OUTPUTS - self.twice)

    def words(self) -> str:
        """What is missing, in a sentence, or that nothing is."""
        there = f"{counted(self.outputs, 'output')} labelled by {counted(self.raters, 'annotator')}, {self.twice} of them by two or more"
        if not self.missing_twice:
            return f"{there}: enough to calibrate on ({ENOUGH_OUTPUTS} outputs, 2 or 3 annotators each)."
        new = f"{self.missing} to the {ENOUGH_OUTPUTS} outputs that are advised, and " if self.missing else ""
        return f"{there}. Missing: {new}a second annotator on {self.missing_twice}."


class Estimate(NamedTuple):
    """The mean MQM score of `system` ("" for all) over the `n` labelled outputs of a batch: as it is, and `corrected` for the
    probabilities, which estimates the mean over all outputs the batch was drawn from, with its 95 % interval under the chance
    of sampling; without one the `reason`."""

    system: str
    n: int
    plain: float
    corrected: float
    low: float | None
    high: float | None
    reason: str = ""


class Labelled(NamedTuple):
    """How far a batch is: outputs assigned, labelled by at least one person, and by at least two."""

    assigned: int
    once: int
    twice: int


def labels_of(store: Store, project_id: int) -> list[RatedOutput]:
    """All labels of submitted segments."""
    return rated_outputs(fold(store.labels.events(project_id)))


def raters_of(labels: Iterable[RatedOutput]) -> dict[OutputKey, set[str]]:
    """Who has labelled each output."""
    found: dict[OutputKey, set[str]] = {}
    for rated in labels:
        found.setdefault(rated.key, set()).add(rated.rater)
    return found


def shortfall(rated: Mapping[OutputKey, Collection[str]]) -> Shortfall:
    """What there is, over all labelled outputs of the project."""
    twice = sum(len(of) >= ENOUGH_RATERS for of in rated.values())
    return Shortfall(len(rated), twice, len({rater for of in rated.values() for rater in of}))


def intervals(saved: Iterable[SavedLambda], refinement: str) -> dict[str, tuple[float, float]]:
    """The intervals of the λs that were fitted on this refinement, newest first, by the name they were saved under."""
    found = {
        s.name: (float(s.result["ci"][0]), float(s.result["ci"][1]))
        for s in saved
        if s.refinement == refinement and s.result.get("ci")
    }
    return dict(reversed(found.items()))


def pool(view: View, column: Column, keys: Iterable[OutputKey]) -> list[Candidate]:
    """Those of `keys` that the metric has scored, in the order of the project."""
    table, wanted, found = view.tables[column.name], set(keys), []
    for key in view.texts:
        value = table.get(key)
        if key in wanted and value is not None and value.status == "ok" and value.value is not None:
            distances = (value.parts.get("dist_exp", 0.0), value.parts.get("dist_imp", 0.0))
            found.append(Candidate(key, value.value, *distances))
    return found


def build(view: View, column: Column, rated: Mapping[OutputKey, Collection[str]], name: str, plan: Plan) -> SavedBatch:
    """A batch by `plan`, to be saved. Raises `UserError` where nothing is left to choose from."""
    left = pool(view, column, (k for k in view.texts if len(rated.get(k, ())) < plan.enough))
    done = pool(view, column, rated)
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
    facts_of_design: dict[str, object] = (
        {"strata": plan.n_strata}
        if plan.method == "stratified"
        else {"interval": f"{number(plan.interval[0])}-{number(plan.interval[1])}", "evenly": EVENLY}
    )
    facts: dict[str, object] = {
        "method": plan.method,
        **facts_of_design,
        "unit": "segment" if plan.whole else "output",
        "n": plan.n,
        "below": plan.enough,
        "seed": plan.seed,
        "of": len(left),
        "by": column.signature.replace("|", ";"),
        "v": VERSION,
    }
    options: dict[str, object] = {"metric": column.label, "whole": plan.whole, "asked": plan.n}
    if plan.method == "stratified":
        of, places = design(left, plan.n, whole=plan.whole, n_strata=plan.n_strata)
        stratum = dict(zip([c.key for c in left], of.tolist(), strict=True))
        options["stratum"], options["places"] = [stratum[c.key] for c in chosen], places.tolist()
    return SavedBatch(name.strip(), plan.method, plan.seed, signature("batch", facts), chosen, len(left), options)


def within(dataset: Dataset, batch: SavedBatch) -> Dataset:
    """What of a project has to be labelled in a batch: its outputs only, and their segments in the order of the batch."""
    assigned = {c.key for c in batch.outputs}
    order = {segment: place for place, segment in enumerate(dict.fromkeys(c.key.segment for c in batch.outputs))}
    segments = sorted((s for s in dataset.segments if s.key in order), key=lambda s: order[s.key])
    outputs = sorted((o for o in dataset.outputs if o.key in assigned), key=lambda o: order[o.key.segment])
    return Dataset(tuple(segments), tuple(outputs))


def outputs_done(dataset: Dataset, labels: Mapping[SegmentKey, SegmentLabels]) -> int:
    """How many of these outputs one annotator has labelled and submitted."""
    return sum(
        (mine := labels.get(o.key.segment)) is not None and mine.submitted and mine.of(o.system).complete
        for o in dataset.outputs
    )


def progress(batch: SavedBatch, rated: Mapping[OutputKey, Collection[str]]) -> Labelled:
    """How far all annotators together are."""
    each = [len(rated.get(c.key, ())) for c in batch.outputs]
    return Labelled(len(each), sum(n > 0 for n in each), sum(n >= ENOUGH_RATERS for n in each))


def estimates(labels: Iterable[RatedOutput], batch: SavedBatch, scheme: str = "google") -> list[Estimate]:
    """Mean MQM scores over the labelled part of a batch, of all outputs and of each system.

    While a batch is half labelled, its labelled part counts as a smaller sample without strata: segments come in a random order.
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
        found.append(Estimate(system, int(inside.sum()), plain, mean.value, mean.low, mean.high, mean.reason))
    return found
