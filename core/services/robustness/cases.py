"""Adversarial suites made from a project's references, and collections of saved cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from core.data import Dataset, Item, Segment, SegmentKey
from core.formats.error_cases import COLUMNS, TYPES, AdversarialCase, phenomenon
from core.formats.write import csv_text
from core.perturbations import registry
from core.ports.robustness import KeptCase, SavedScore
from core.progress import Progress, no_progress
from core.robustness.suite import AdversarialSuite, Count, anchors, build, signature, written_in
from core.services.robustness.break_metric import BY_HAND, TextPair, changes

WITH_SCORES = (
    "collection", "phenomenon", "source", "reference", "good", "changed", "what", "metric", "signature", "score_good",
    "score_changed", "fooled", "reason", "created",
)  # fmt: skip
_CODES = {name: code for code, name in TYPES.items()}


class BuiltSuite(NamedTuple):
    """A suite made from a project: cases to score, counts by phenomenon, MENLI's CSV, and the signature of its texts."""

    cases: tuple[AdversarialCase, ...]
    counts: tuple[Count, ...]
    csv: str
    signature: str


def outputs_of(dataset: Dataset, system: str) -> dict[SegmentKey, str]:
    """Return the non-empty outputs of one system, by segment."""
    return {o.key.segment: o.text for o in dataset.outputs if o.system == system and o.text.strip()}


def drawn(segments: Sequence[Segment], most: int, seed: int) -> list[Segment]:
    """Draw at most `most` of the segments with a reference, in their order."""
    candidates = [segment for segment in segments if written_in(segment)]
    if len(candidates) <= most:
        return candidates
    kept = np.random.default_rng(seed).choice(len(candidates), most, replace=False)
    return [candidates[i] for i in sorted(kept.tolist())]


def make(
    segments: Sequence[Segment],
    names: Sequence[str],
    seed: int = 0,
    written: Mapping[SegmentKey, str] | None = None,
    *,
    reference_free: bool = False,
    progress: Progress = no_progress,
) -> BuiltSuite:
    """Make a suite of these segments. The paraphrases are `written` (outputs of a system), or else second references.

    Reference-based: the paraphrase is good, the perturbed reference is bad, both compared with the reference.
    Reference-free: the reference is good, the perturbed paraphrase is bad, both compared with the source; the paraphrase may
    be the reference itself. Raises `UserError` for an unknown name.
    """
    if written is not None:
        segments = [replace(s, references=written_in(s)[:1]) for s in segments]
    texts = anchors(segments, written)
    if reference_free:
        texts = [a._replace(translation=a.paraphrase) for a in texts]
    chosen = registry.chosen(names)
    suites = []
    for k, perturbation in enumerate(chosen):
        progress(k / len(chosen))
        suites.append(build(texts, [perturbation.name], seed, reference_free=reference_free))
    whole = AdversarialSuite(
        tuple(case for part in suites for case in part.cases),
        tuple(lost for part in suites for lost in part.untouched),
        tuple(p.name for p in chosen), seed, signature(chosen, seed),
    )  # fmt: skip
    counts = tuple(c._replace(phenomenon=phenomenon(c.phenomenon)) for c in whole.counts())
    rows = [(_code(phenomenon(name)), *texts) for name, *texts in whole.rows()]
    return BuiltSuite(_cases(whole, free=reference_free), counts, csv_text(COLUMNS, rows), whole.signature)


def _cases(whole: AdversarialSuite, *, free: bool) -> tuple[AdversarialCase, ...]:
    cases = []
    for c in whole.cases:
        good, bad, references = (c.reference, c.free, ()) if free else (c.paraphrase, c.adversarial, (c.reference,))
        items = [Item(c.source, text or "", references) for text in (good, bad)]
        cases.append(AdversarialCase(phenomenon(c.phenomenon), c.id, *items))
    return tuple(cases)


def _code(name: str) -> str:
    """Return the name of a phenomenon in MENLI's files, or the name itself if they do not have it."""
    return _CODES.get(name, name)


def texts_of(case: AdversarialCase) -> TextPair:
    """Return the texts of a case, with its first reference."""
    return TextPair(case.good.source, next(iter(case.good.references), None), case.good.hypothesis, case.bad.hypothesis)


def to_keep(
    collection: str, texts: TextPair, scores: Sequence[SavedScore], *, kind: str = BY_HAND, error_in: str | None = None
) -> KeptCase:
    """Return a case for a collection. `error_in` is the text that was changed, if it is not the good output."""
    what = changes(texts.good if error_in is None else error_in, texts.changed)
    return KeptCase(
        collection.strip(), kind, texts.source, texts.reference, texts.good, texts.changed, what, tuple(scores)
    )


def as_menli(cases: Sequence[KeptCase]) -> tuple[str, int]:
    """Return the cases as MENLI's CSV, which every command reads, and the number of cases it cannot hold.

    The format needs a reference and two non-empty texts.
    """
    fit = [c for c in cases if c.reference and c.good and c.changed]
    rows = [
        (_code(c.phenomenon), f"{c.collection}:{c.id}", c.source or "", c.reference, "", c.good, c.changed, "")
        for c in fit
    ]
    return csv_text(COLUMNS, rows), len(cases) - len(fit)


def as_csv(cases: Sequence[KeptCase]) -> str:
    """Return one row per case and metric with the columns `WITH_SCORES`; a case without scores has one row."""
    rows: list[tuple[str | float | None, ...]] = []
    for c in cases:
        head = (c.collection, c.phenomenon, c.source, c.reference, c.good, c.changed, c.what)
        when = c.created.isoformat(timespec="seconds") if c.created else ""
        for s in c.scores:
            fooled = None if s.misses_error is None else "yes" if s.misses_error else "no"
            rows.append((*head, s.metric, s.signature, s.good, s.changed, fooled, s.reason, when))
        if not c.scores:
            rows.append((*head, None, None, None, None, None, "", when))
    return csv_text(WITH_SCORES, rows)
