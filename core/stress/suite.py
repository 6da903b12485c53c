"""An adversarial suite out of a project's own references (Chen and Eger 2023, §3, equation 1).

A case asks a metric for m(reference, paraphrase) > m(reference, adversarial), where the adversarial is the reference
perturbed; with a source and a translation of it, also for m(source, reference) > m(source, translation perturbed).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from core.data import Segment, SegmentKey
from core.signature import package
from core.signature import signature as joined
from core.stress import registry
from core.stress.base import Edit, Perturbation, Refused
from core.stress.english import tagger

COLUMNS = ("error", "id", "source", "ref", "r", "hyp_para", "hyp_adv_based", "hyp_adv_free")
"""The columns of the published suites; `core.formats.pairs` reads them."""


class Anchor(NamedTuple):
    """The texts of one segment that cases are made from. Without a paraphrase there is no reference-based case."""

    id: str
    reference: str
    paraphrase: str | None = None
    source: str | None = None
    translation: str | None = None


class Case(NamedTuple):
    """One preference. `edits` make `adversarial` from the reference. `free` is the translation perturbed, with `free_edits`;
    None where there is no translation, or nothing in it to perturb."""

    phenomenon: str
    id: str
    reference: str
    paraphrase: str
    adversarial: str
    edits: tuple[Edit, ...]
    source: str | None = None
    translation: str | None = None
    free: str | None = None
    free_edits: tuple[Edit, ...] = ()


class Untouched(NamedTuple):
    """A segment without a case of this phenomenon, and why."""

    phenomenon: str
    id: str
    reason: str


class Count(NamedTuple):
    """Of one phenomenon: cases, segments without one, and their reasons, the commonest first."""

    phenomenon: str
    cases: int
    untouched: int
    reasons: tuple[tuple[str, int], ...]


class Suite(NamedTuple):
    """Cases by phenomenon in the order asked for, then by segment. `signature` names all that the texts depend on."""

    cases: tuple[Case, ...]
    untouched: tuple[Untouched, ...]
    names: tuple[str, ...]
    seed: int
    signature: str

    def counts(self) -> list[Count]:
        """One row a phenomenon."""
        made = Counter(case.phenomenon for case in self.cases)
        rows = []
        for name in self.names:
            why = Counter(u.reason for u in self.untouched if u.phenomenon == name)
            rows.append(Count(name, made[name], why.total(), tuple(why.most_common())))
        return rows

    def rows(self) -> list[tuple[str, ...]]:
        """The cases under `COLUMNS`; what a case does not have is an empty cell."""
        return [
            (
                c.phenomenon,
                c.id,
                c.source or "",
                c.reference,
                c.translation or "",
                c.paraphrase,
                c.adversarial,
                c.free or "",
            )
            for c in self.cases
        ]


def anchors(
    segments: Iterable[Segment],
    paraphrases: Mapping[SegmentKey, str] | None = None,
    translations: Mapping[SegmentKey, str] | None = None,
) -> list[Anchor]:
    """One anchor a segment that has a reference: its first.

    The paraphrase is the one given for the segment (a column, or a translation of the source or of the reference and
    back); without one, the first other reference that differs.
    """
    found = []
    for segment in segments:
        if not segment.references:
            continue
        reference, *more = segment.references
        given = (paraphrases or {}).get(segment.key)
        paraphrase = given if given is not None else next((r for r in more if r != reference), None)
        name = f"{segment.doc_id}:{segment.segment_id}"
        found.append(Anchor(name, reference, paraphrase, segment.source, (translations or {}).get(segment.key)))
    return found


def build(texts: Sequence[Anchor], names: Sequence[str] = registry.MENLI, seed: int = 0) -> Suite:
    """A case for each phenomenon and anchor that can have one; the others are kept with their reason.

    The same for the same texts and seed, whatever stands beside them. Raises UserError for a name that is not there.
    """
    cases: list[Case] = []
    untouched: list[Untouched] = []
    chosen = registry.chosen(names)
    for perturbation in chosen:
        for anchor in texts:
            made = _case(perturbation, anchor, seed)
            if isinstance(made, Refused):
                untouched.append(Untouched(perturbation.name, anchor.id, made.reason))
            else:
                cases.append(made)
    return Suite(tuple(cases), tuple(untouched), tuple(p.name for p in chosen), seed, signature(chosen, seed))


def _case(perturbation: Perturbation, anchor: Anchor, seed: int) -> Case | Refused:
    if anchor.paraphrase is None:
        return Refused("no paraphrase: neither one given nor a second reference")
    if anchor.paraphrase == anchor.reference:
        return Refused("the paraphrase is the reference")
    made = perturbation.perturb(anchor.reference, seed)
    if isinstance(made, Refused):
        return made
    if made.text == anchor.paraphrase:
        return Refused("the perturbed reference is the paraphrase")
    case = Case(
        perturbation.name, anchor.id, anchor.reference, anchor.paraphrase, made.text, made.edits, anchor.source,
        anchor.translation,
    )  # fmt: skip
    if anchor.translation is None or anchor.source is None:
        return case
    free = perturbation.perturb(anchor.translation, seed)
    if isinstance(free, Refused) or free.text == anchor.reference:
        return case
    return case._replace(free=free.text, free_edits=free.edits)


def signature(chosen: Sequence[Perturbation], seed: int) -> str:
    """Perturbations with their versions, seed, tagger and dictionary."""
    names = "+".join(f"{p.name}:{p.version}" for p in chosen)
    facts = {"perturbations": names, "seed": seed, "tagger": tagger(), "lemminflect": package("lemminflect")}
    return joined("suite", facts)
