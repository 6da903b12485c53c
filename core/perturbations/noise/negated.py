"""Negate sentences, each at one verb, or remove their negation."""

from __future__ import annotations

from random import Random

from core.english.grammar import ParsedText, parser_name
from core.english.parsing import pos_tags
from core.english.phrases import BE, DO, DO_FORMS, STEMS
from core.perturbations.noise.base import Noise, english, sample_share
from core.perturbations.noise.clauses import Clause, base, clause_of, clauses, rank, stated, subjects
from core.perturbations.noise.denials import denies, lifted
from core.perturbations.noise.sentences import LEVELS
from core.text.edits import Edit

_BEFORE_DO = frozenset("only just merely simply nearly almost even really ever actually".split())
"""Adverbs before which *did not* is placed, like adverbs of manner in -ly."""
_BEFORE_NOT = frozenset(
    """also still probably definitely certainly apparently reportedly allegedly perhaps maybe obviously clearly surely
    fortunately unfortunately finally eventually initially originally recently previously usually typically reportedly supposedly
    suddenly currently now then therefore however thus""".split()
)
"""Adverbs after which *not* is placed."""
_COMPARING = frozenset("than as if unless lest".split())


def negation(r: ParsedText, span: tuple[int, int]) -> list[Edit]:
    """Return the edits that negate a sentence at the verb of its main clause, or of a clause joined to it.

    A negative main clause loses its negation instead. Empty if no finite verb can be negated with certainty, or if a negation
    of the main clauses cannot be removed.
    """
    found = clauses(r, span)
    main = stated(r, span, found)
    if main is None:
        return []
    owners = {i: clause_of(r, i, found) for i in range(*span) if denies(r, i)}
    denials = [i for i, owner in owners.items() if owner is None or (owner in main and _states(r, owner, main))]
    for i in sorted(denials, key=lambda i: main.index(owner) if (owner := owners[i]) else 0):
        if edits := lifted(r, i, span):
            return edits
    if denials:
        return []
    return next((edits for clause in main if (edits := _negated(r, clause, span))), [])


def _states(r: ParsedText, clause: Clause, main: list[Clause]) -> bool:
    """Return whether the clause is the first main clause or joined to it, rather than reported by it."""
    return rank(r, clause.verb) < rank(r, main[0].verb) + 2


def _negated(r: ParsedText, clause: Clause, span: tuple[int, int]) -> list[Edit]:
    if any(r.low(j) in _COMPARING for j in r.children(clause.verb, "mark")) or _in_title(r, clause):
        return []
    if clause.carrier != clause.verb or clause.form == "MD":
        return _after_helper(r, clause)
    if r.low(clause.verb) in BE and clause.form != "IMP":
        return _after_be(r, clause, span)
    return _full_verb(r, clause)


def _in_title(r: ParsedText, clause: Clause) -> bool:
    """Return whether the verb belongs to a title: capitalised inside a sentence, or before a capitalised adjective or adverb:
    *I'm New Here*."""
    at, following = clause.carrier, clause.carrier + 1
    if r.words[at].text[0].isupper() and not r.words[at].text.isupper() and not r.opens(at):
        return True
    titled = following < len(r.words) and r.words[following].text.istitle() and not r.opens(following)
    return titled and not r.words[following].entity and bool({"ADJ", "ADV"} & pos_tags(r.low(following)))


def _joined_at_once(r: ParsedText, verb: int) -> bool:
    """Return whether two verbs are joined without an object in between: *slipped and fell*, *pursued and attacked him*."""
    first = r.words[verb].head if r.words[verb].role == "conj" else verb
    at = first + 1
    while r.tag(at) == "RP" or r.low(at).endswith("ly"):
        at += 1
    joined = [j for j in r.children(first, "conj") if r.tag(j) in ("VBD", "VBZ", "VBP", "VBN")]
    return r.low(at) in ("and", "or", "but", ",", "&") and any(not subjects(r, j) for j in joined)


def _after_helper(r: ParsedText, clause: Clause) -> list[Edit]:
    """Put *not* after the first auxiliary, or after the subject that follows it: *did he not go*."""
    at = clause.carrier
    if r.low(at) in {*STEMS, "ai"}:
        return []
    turned = [j for j in subjects(r, clause.verb) if at < j < clause.verb]
    if turned:
        at = max(j for j in r.below(turned[0]) if j < clause.verb)
        return [r.after(at, " not")]
    if r.low(at) in DO and not any(j < at for j in subjects(r, clause.verb)) and clause.verb > at + 1:
        return [r.after(clause.verb - 1, " not")]
    at = _skipped(r, at)
    return [r.after(at, "not" if r.low(at) == "can" and at == clause.carrier else " not")]


def _skipped(r: ParsedText, at: int) -> int:
    while r.low(at + 1) in _BEFORE_NOT:
        at += 1
    return at


def _after_be(r: ParsedText, clause: Clause, span: tuple[int, int]) -> list[Edit]:
    verb = clause.verb
    after = [j for j in subjects(r, verb) if j > verb and r.words[j].role != "expl"]
    if r.low(span[1] - 1) == "?" and after:
        end = max(r.below(after[0]))
        return [r.after(end if r.low(end + 1) != "?" else verb, " not")]
    if r.children(verb, "expl") and _bare(r, verb):
        return [r.after(verb, " no")]
    return [r.after(_skipped(r, verb), " not")]


def _bare(r: ParsedText, verb: int) -> bool:
    """Return whether a noun without determiner or number follows: *there was evidence*."""
    found = [j for j in r.children(verb, "attr", "nsubj") if j > verb and r.tag(j) in ("NN", "NNS")]
    if not found:
        return False
    noun = found[0]
    before = [j for j in r.below(noun) if j < noun]
    plain = all(r.words[j].role in ("amod", "compound") and r.tag(j) in ("JJ", "NN", "NNP") for j in before)
    return plain and min([noun, *before]) == verb + 1 and not {r.low(verb + 1), r.low(noun)} & _AMOUNTS


_AMOUNTS = frozenset(
    "many much few fewer more less several plenty lots enough other such none nothing something".split()
)


def _full_verb(r: ParsedText, clause: Clause) -> list[Edit]:
    """Turn *went* into *did not go*; no edits if the subject follows the verb (*said the man*)."""
    verb, plain = clause.verb, base(r, clause)
    inverted = any(j > verb for j in subjects(r, verb))
    if not plain or inverted or r.low(verb) in ("thank", "please") or _joined_at_once(r, verb):
        return []
    helper = f"{DO_FORMS.get(clause.form, 'do')} not"
    before = r.low(verb - 1)
    manner = before.endswith("ly") and r.tag(verb - 1) == "RB" and before not in _BEFORE_NOT
    if (before in _BEFORE_DO or manner) and r.words[verb - 1].head == verb and clause.form != "IMP":
        adverb = r.words[verb - 1]
        return [Edit(adverb.start, adverb.start, f"{helper} "), r.replace(verb, plain)] if adverb.text.islower() else []
    return [r.replace(verb, f"{helper} {plain}")]


def _negate(r: ParsedText, strength: float, random: Random) -> list[Edit]:
    ways = [edits for span in r.sentences if (edits := negation(r, span))]
    share = min(1.0, strength * len(r.sentences) / len(ways)) if ways else strength
    return [edit for way in sample_share(ways, share, random) for edit in way]


NEGATION = Noise(
    name="negated-sentences",
    label="Negation",
    aspect="consistency",
    help="Negates random sentences, each at one verb of a main clause; a negative sentence loses its negation instead. "
    "Strength: the share of all sentences, including those that cannot be negated",
    make=english(_negate, "no finite verb can be negated"),
    levels=LEVELS,
    version=4,
    models=parser_name,
)
