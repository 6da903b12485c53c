"""An adversarial suite out of a project's own references (Chen and Eger 2023, §3, equation 1).

A case asks a metric for m(reference, paraphrase) > m(reference, adversarial), where the adversarial is the reference
perturbed; with a source and a translation of it, also for m(source, reference) > m(source, translation perturbed). A
reference-free suite needs the latter alone: whether the reference can be perturbed, or has a paraphrase, does not matter there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from core.data import Segment, SegmentKey
from core.formats.adversarial import COLUMNS as COLUMNS
from core.signature import package
from core.signature import signature as joined
from core.stress import registry
from core.stress.base import Change, Edit, Outcome, Perturbation, Refused
from core.stress.english import tagger


class Anchor(NamedTuple):
    """The texts of one segment that cases are made from. Without a paraphrase there is no reference-based case."""

    id: str
    reference: str
    paraphrase: str | None = None
    source: str | None = None
    translation: str | None = None


class Case(NamedTuple):
    """One preference, or both. `edits` make `adversarial` from the reference; None, in a reference-free suite, where there is no
    such case. `free` is the translation perturbed, with `free_edits`; None, in a reference-based suite, where there is no such case.
    """

    phenomenon: str
    id: str
    reference: str
    paraphrase: str | None
    adversarial: str | None
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
                c.paraphrase or "",
                c.adversarial or "",
                c.free or "",
            )
            for c in self.cases
        ]


def anchors(
    segments: Iterable[Segment],
    paraphrases: Mapping[SegmentKey, str] | None = None,
    translations: Mapping[SegmentKey, str] | None = None,
) -> list[Anchor]:
    """One anchor a segment that has a reference: its first. References of white space are none, and so are paraphrases.

    The paraphrase is the one given for the segment (a column, or a translation of the source or of the reference and
    back); without one, the first other reference that differs.
    """
    found = []
    for segment in segments:
        if not (there := written_in(segment)):
            continue
        reference, *more = there
        given = _text((paraphrases or {}).get(segment.key))
        paraphrase = given if given is not None else next((r for r in more if r != reference), None)
        translation = _text((translations or {}).get(segment.key))
        found.append(Anchor(name_of(segment.key), reference, paraphrase, segment.source, translation))
    return found


def written_in(segment: Segment) -> tuple[str, ...]:
    """The references of a segment that are more than white space."""
    return tuple(r for r in segment.references if _text(r) is not None)


def name_of(key: SegmentKey) -> str:
    """`document:segment`; where one of them holds a colon, the length of the first goes before it, so that no two share a name."""
    doc, segment = key
    plain = f"{doc}:{segment}"
    return plain if plain.count(":") == 1 else f"{len(doc)}:{plain}"


def _text(text: str | None) -> str | None:
    return text if text and text.strip() else None


def build(
    texts: Sequence[Anchor], names: Sequence[str] = registry.MENLI, seed: int = 0, *, reference_free: bool = False
) -> Suite:
    """A case for each phenomenon and anchor that can have one, `reference_free` against the source; the others are kept with
    their reason. Either kind holds the other's texts as well where there are any.

    The same for the same texts and seed, whatever stands beside them. Raises UserError for a name that is not there.
    """
    cases: list[Case] = []
    untouched: list[Untouched] = []
    chosen = registry.chosen(names)
    for perturbation in chosen:
        for anchor in texts:
            made = _case(perturbation, anchor, seed, reference_free)
            if isinstance(made, Refused):
                untouched.append(Untouched(perturbation.name, anchor.id, made.reason))
            else:
                cases.append(made)
    return Suite(tuple(cases), tuple(untouched), tuple(p.name for p in chosen), seed, signature(chosen, seed))


def _case(perturbation: Perturbation, anchor: Anchor, seed: int, reference_free: bool) -> Case | Refused:
    based, free = _based(perturbation, anchor, seed), _free(perturbation, anchor, seed)
    needed = free if reference_free else based
    if isinstance(needed, Refused):
        return needed
    case = Case(
        perturbation.name, anchor.id, anchor.reference, anchor.paraphrase, None, (), anchor.source, anchor.translation
    )
    if isinstance(based, Change):
        case = case._replace(adversarial=based.text, edits=based.edits)
    if isinstance(free, Change):
        case = case._replace(free=free.text, free_edits=free.edits)
    return case


def _based(perturbation: Perturbation, anchor: Anchor, seed: int) -> Outcome:
    """The reference perturbed, where a paraphrase stands against it."""
    if anchor.paraphrase is None:
        return Refused("no paraphrase: neither one given nor a second reference")
    if anchor.paraphrase == anchor.reference:
        return Refused("the paraphrase is the reference")
    made = perturbation.perturb(anchor.reference, seed)
    if isinstance(made, Change) and made.text == anchor.paraphrase:
        return Refused("the perturbed reference is the paraphrase")
    return made


def _free(perturbation: Perturbation, anchor: Anchor, seed: int) -> Outcome:
    """The translation perturbed, where there is a source to hold it against. It may be the reference itself."""
    if anchor.translation is None:
        return Refused("no second text: neither an output nor a second reference")
    if _text(anchor.source) is None:
        return Refused("no source")
    made = perturbation.perturb(anchor.translation, seed)
    if isinstance(made, Change) and made.text == anchor.reference:
        return Refused("the perturbed text is the reference")
    return made


def signature(chosen: Sequence[Perturbation], seed: int) -> str:
    """Perturbations with their versions, seed, tagger and dictionary."""
    names = "+".join(f"{p.name}:{p.version}" for p in chosen)
    facts = {"perturbations": names, "seed": seed, "tagger": tagger(), "lemminflect": package("lemminflect")}
    return joined("suite", facts)
