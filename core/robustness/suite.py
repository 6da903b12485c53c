"""Build an adversarial suite from a project's references (Chen and Eger 2023, §3, equation 1).

A case tests m(reference, paraphrase) > m(reference, adversarial), where the adversarial text is the perturbed reference. With a source
and its translation it also tests m(source, reference) > m(source, perturbed translation). A reference-free suite needs only the latter,
so that the reference needs neither a paraphrase nor a perturbation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from core.data import Segment, SegmentKey
from core.english.analysis import parser_name
from core.perturbations import registry
from core.perturbations.base import Perturbation
from core.signature import package
from core.signature import signature as joined
from core.text.edits import Change, Edit, Outcome, Refused


class Anchor(NamedTuple):
    """The texts of one segment for its cases. A reference-based case needs a paraphrase."""

    id: str
    reference: str
    paraphrase: str | None = None
    source: str | None = None
    translation: str | None = None


class SuiteCase(NamedTuple):
    """A reference-based case, a reference-free one, or both. `edits` make `adversarial` from the reference, `free_edits` make `free` from
    the translation; the text of a missing case is None."""

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
    """A segment without a case of this phenomenon, and the reason."""

    phenomenon: str
    id: str
    reason: str


class Count(NamedTuple):
    """Number of cases of one phenomenon and of segments without a case, with the reasons, most frequent first."""

    phenomenon: str
    cases: int
    untouched: int
    reasons: tuple[tuple[str, int], ...]


class AdversarialSuite(NamedTuple):
    """Cases by phenomenon (in the order requested), then by segment. `signature` names everything the texts depend on."""

    cases: tuple[SuiteCase, ...]
    untouched: tuple[Untouched, ...]
    names: tuple[str, ...]
    seed: int
    signature: str

    def counts(self) -> list[Count]:
        """Return one row per phenomenon."""
        made = Counter(case.phenomenon for case in self.cases)
        rows = []
        for name in self.names:
            why = Counter(u.reason for u in self.untouched if u.phenomenon == name)
            rows.append(Count(name, made[name], why.total(), tuple(why.most_common())))
        return rows

    def rows(self) -> list[tuple[str, ...]]:
        """Return one row per case in the order of `COLUMNS`; missing texts are empty cells."""
        rows = [
            (c.phenomenon, c.id, c.source, c.reference, c.translation, c.paraphrase, c.adversarial, c.free)
            for c in self.cases
        ]
        return [tuple(text or "" for text in row) for row in rows]


def anchors(segments: Iterable[Segment], paraphrases: Mapping[SegmentKey, str] | None = None) -> list[Anchor]:
    """Return one anchor per segment with a reference (its first). Blank references and paraphrases are ignored.

    The paraphrase is the one given for the segment (from a column, a translated source or a back-translated reference), or else the
    first other reference that differs.
    """
    of_segments = []
    for segment in segments:
        if not (references := written_in(segment)):
            continue
        reference, *more = references
        own_paraphrase = _text((paraphrases or {}).get(segment.key))
        paraphrase = own_paraphrase if own_paraphrase is not None else next((r for r in more if r != reference), None)
        of_segments.append(Anchor(name_of(segment.key), reference, paraphrase, segment.source))
    return of_segments


def written_in(segment: Segment) -> tuple[str, ...]:
    """Return the references of a segment that are not blank."""
    return tuple(r for r in segment.references if _text(r) is not None)


def name_of(key: SegmentKey) -> str:
    """Return `document:segment`, with the length of the document's name in front if either has a colon, so that names are unique."""
    doc, segment = key
    plain = f"{doc}:{segment}"
    return plain if plain.count(":") == 1 else f"{len(doc)}:{plain}"


def _text(text: str | None) -> str | None:
    return text if text and text.strip() else None


def build(
    texts: Sequence[Anchor], names: Sequence[str] = registry.MENLI, seed: int = 0, *, reference_free: bool = False
) -> AdversarialSuite:
    """Make a case for each phenomenon and anchor where possible, and record the reason otherwise.

    `reference_free` makes cases against the source. Either kind also includes the texts of the other, if available. Cases depend only on
    their own texts and the seed. Raises UserError for an unknown name.
    """
    cases: list[SuiteCase] = []
    untouched: list[Untouched] = []
    chosen = registry.chosen(names)
    for perturbation in chosen:
        for anchor in texts:
            made = _case(perturbation, anchor, seed, reference_free)
            if isinstance(made, Refused):
                untouched.append(Untouched(perturbation.name, anchor.id, made.reason))
            else:
                cases.append(made)
    unique = tuple(p.name for p in chosen)
    return AdversarialSuite(tuple(cases), tuple(untouched), unique, seed, signature(chosen, seed))


def _case(perturbation: Perturbation, anchor: Anchor, seed: int, reference_free: bool) -> SuiteCase | Refused:
    based, free = _based(perturbation, anchor, seed), _free(perturbation, anchor, seed)
    needed = free if reference_free else based
    if isinstance(needed, Refused):
        return needed
    texts = anchor.reference, anchor.paraphrase, None, (), anchor.source, anchor.translation
    case = SuiteCase(perturbation.name, anchor.id, *texts)
    if isinstance(based, Change):
        case = case._replace(adversarial=based.text, edits=based.edits)
    if isinstance(free, Change):
        case = case._replace(free=free.text, free_edits=free.edits)
    return case


def _based(perturbation: Perturbation, anchor: Anchor, seed: int) -> Outcome:
    """Perturb the reference, if there is a paraphrase to compare with."""
    if anchor.paraphrase is None:
        return Refused("no paraphrase: none given, and no second reference")
    if anchor.paraphrase == anchor.reference:
        return Refused("the paraphrase is the reference")
    made = perturbation.perturb(anchor.reference, seed)
    if isinstance(made, Change) and made.text == anchor.paraphrase:
        return Refused("the perturbed reference is the paraphrase")
    return made


def _free(perturbation: Perturbation, anchor: Anchor, seed: int) -> Outcome:
    """Perturb the translation (which may be the reference), if there is a source to compare with."""
    if anchor.translation is None:
        return Refused("no second text: neither an output nor a second reference")
    if _text(anchor.source) is None:
        return Refused("no source")
    made = perturbation.perturb(anchor.translation, seed)
    if isinstance(made, Change) and made.text == anchor.reference:
        return Refused("the perturbed text is the reference")
    return made


def signature(chosen: Sequence[Perturbation], seed: int) -> str:
    """Return the signature: perturbations with versions, seed, parser and dictionary."""
    names = "+".join(f"{p.name}:{p.version}" for p in chosen)
    facts = {"perturbations": names, "seed": seed, "parser": parser_name(), "lemminflect": package("lemminflect")}
    return joined("suite", facts)
