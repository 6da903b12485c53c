"""Adversarial suites out of a project's own references, and collections of cases worth keeping, as files too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from core.calibration.drawn import Tell, quiet
from core.data import Dataset, Item, Segment, SegmentKey
from core.formats.adversarial import TYPES, Case, phenomenon
from core.formats.write import csv_text
from core.ports import KeptCase, KeptScore
from core.services.adversarial import Answered, Failure
from core.services.robustness import BY_HAND, Texts, changes
from core.stress import registry
from core.stress.suite import COLUMNS, Suite, anchors, build, signature, written_in

WITH_SCORES = (
    "collection", "phenomenon", "source", "reference", "good", "changed", "what", "metric", "signature", "score_good",
    "score_changed", "fooled", "reason", "created",
)  # fmt: skip
_CODES = {name: code for code, name in TYPES.items()}


class Counted(NamedTuple):
    """Of one phenomenon: cases made, segments without one, and why, the commonest reason first."""

    phenomenon: str
    cases: int
    untouched: int
    reasons: tuple[tuple[str, int], ...]


class Made(NamedTuple):
    """The cases to score, how many there are of each phenomenon, the suite as MENLI's CSV, and what its texts depend on."""

    cases: tuple[Case, ...]
    counts: tuple[Counted, ...]
    csv: str
    signature: str


def outputs_of(dataset: Dataset, system: str) -> dict[SegmentKey, str]:
    """What one system wrote, by segment; empty outputs are left out."""
    return {o.key.segment: o.text for o in dataset.outputs if o.system == system and o.text.strip()}


def drawn(segments: Sequence[Segment], most: int, seed: int) -> list[Segment]:
    """At most so many of the segments that have a reference, drawn with the seed, in their order."""
    there = [segment for segment in segments if written_in(segment)]
    if len(there) <= most:
        return there
    kept = np.random.default_rng(seed).choice(len(there), most, replace=False)
    return [there[i] for i in sorted(kept.tolist())]


def make(
    segments: Sequence[Segment],
    names: Sequence[str],
    seed: int = 0,
    written: Mapping[SegmentKey, str] | None = None,
    *,
    reference_free: bool = False,
    tell: Tell = quiet,
) -> Made:
    """A suite of these segments. `written` are the paraphrases (what a system wrote); without it, second references are.

    Reference-based, the paraphrase is right and the perturbed reference wrong, against the reference; reference-free, the
    reference is right and the perturbed paraphrase wrong, against the source; there the paraphrase may be the reference itself.
    Raises UserError for an unknown name.
    """
    if written is not None:
        segments = [replace(s, references=written_in(s)[:1]) for s in segments]
    texts = anchors(segments, written)
    if reference_free:
        texts = [a._replace(translation=a.paraphrase) for a in texts]
    chosen = registry.chosen(names)
    suites = []
    for k, perturbation in enumerate(chosen):
        tell(k / len(chosen))
        suites.append(build(texts, [perturbation.name], seed, reference_free=reference_free))
    whole = Suite(
        tuple(case for part in suites for case in part.cases),
        tuple(lost for part in suites for lost in part.untouched),
        tuple(p.name for p in chosen), seed, signature(chosen, seed),
    )  # fmt: skip
    return Made(_cases(whole, free=reference_free), _counts(whole), csv_text(COLUMNS, _named(whole)), whole.signature)


def _cases(whole: Suite, *, free: bool) -> tuple[Case, ...]:
    found = []
    for c in whole.cases:
        good, bad, references = (c.reference, c.free, ()) if free else (c.paraphrase, c.adversarial, (c.reference,))
        found.append(
            Case(
                phenomenon(c.phenomenon),
                c.id,
                Item(c.source, good or "", references),
                Item(c.source, bad or "", references),
            )
        )
    return tuple(found)


def _counts(whole: Suite) -> tuple[Counted, ...]:
    return tuple(Counted(phenomenon(c.phenomenon), *c[1:]) for c in whole.counts())


def _named(whole: Suite) -> Iterable[tuple[str, ...]]:
    return ((_code(phenomenon(row[0])), *row[1:]) for row in whole.rows())


def _code(name: str) -> str:
    """The name of a phenomenon in MENLI's files; one that they do not have stays as it is."""
    return _CODES.get(name, name)


def case_of(failure: Failure, cases: Sequence[Case]) -> Case:
    """The case a metric failed. Raises ValueError for a failure of other cases."""
    wanted = (failure.phenomenon, failure.id, failure.anchor, failure.good, failure.bad)
    found = next(
        (c for c in cases if (c.phenomenon, c.id, _anchor(c), c.good.hypothesis, c.bad.hypothesis) == wanted), None
    )
    if found is None:
        raise ValueError(f"no case {failure.id} of {failure.phenomenon}")
    return found


def _anchor(case: Case) -> str:
    """What a failure calls the anchor: the first reference, or the source."""
    return case.good.references[0] if case.good.references else case.good.source or ""


def texts_of(case: Case) -> Texts:
    """The texts of a case, the first reference among them."""
    return Texts(case.good.source, next(iter(case.good.references), None), case.good.hypothesis, case.bad.hypothesis)


def scores_of(case: Case, cases: Sequence[Case], answered: Sequence[Answered]) -> tuple[KeptScore, ...]:
    """What each metric gave the two texts of one of the cases that were answered."""
    i = cases.index(case)
    found = []
    for a in answered:
        good, bad = a.good[i], a.bad[i]
        lost = next((v.reason or v.status for v in (good, bad) if v.value is None), "")
        found.append(KeptScore(a.spec.name, a.signature, a.spec.higher_is_better, good.value, bad.value, lost))
    return tuple(found)


def to_keep(
    collection: str, texts: Texts, scores: Sequence[KeptScore], *, kind: str = BY_HAND, error_in: str | None = None
) -> KeptCase:
    """A case for a collection. `error_in` is the text that was changed, where that is not the good output."""
    what = changes(texts.good if error_in is None else error_in, texts.changed)
    return KeptCase(
        collection.strip(), kind, texts.source, texts.reference, texts.good, texts.changed, what, tuple(scores)
    )


def as_menli(cases: Sequence[KeptCase]) -> tuple[str, int]:
    """The cases as MENLI's CSV, which every command and the Suite read, and how many it cannot hold: it wants a reference and
    two texts that are not empty."""
    fit = [c for c in cases if c.reference and c.good and c.changed]
    rows = [
        (_code(c.phenomenon), f"{c.collection}:{c.id}", c.source or "", c.reference, "", c.good, c.changed, "")
        for c in fit
    ]
    return csv_text(COLUMNS, rows), len(cases) - len(fit)


def as_csv(cases: Sequence[KeptCase]) -> str:
    """A row a case and metric, in the columns `WITH_SCORES`; a case without scores has one row."""
    rows: list[tuple[str | float | None, ...]] = []
    for c in cases:
        head = (c.collection, c.phenomenon, c.source, c.reference, c.good, c.changed, c.what)
        when = c.created.isoformat(timespec="seconds") if c.created else ""
        for s in c.scores:
            fooled = None if s.fooled is None else "yes" if s.fooled else "no"
            rows.append((*head, s.metric, s.signature, s.good, s.changed, fooled, s.reason, when))
        if not c.scores:
            rows.append((*head, None, None, None, None, None, "", when))
    return csv_text(WITH_SCORES, rows)
