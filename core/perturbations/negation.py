"""Negation: a sentence is negated at one verb of a main clause, or loses its negation (Chen and Eger 2023, §3; He et al. 2023,
Table 16). A main clause that is negative never gets a second negation."""

from __future__ import annotations

from random import Random

from core.english.analysis import ParsedText
from core.english.clauses import Clause, base, clause_of, clauses, rank, stated, subjects
from core.english.dictionary import BE, DO, DO_FORMS, NEGATIVE, NOT, STEMS, cased, forms, inflect, pos_tags
from core.english.word_lists import MASS, word_set
from core.perturbations.base import Edits, NoiseContext, sample_share
from core.text.edits import Edit

_BEFORE_DO = frozenset("nearly almost even really actually".split())
"""Adverbs before which *did not* is placed, like adverbs of manner in -ly."""
_BEFORE_NOT = word_set("adverbs-before-not")
"""Adverbs after which *not* is placed."""
_COMPARING = frozenset("than as if unless lest".split())
_FOCUSING = frozenset("only just merely simply".split())
"""Adverbs that would bear the negation alone: *not only*, *not just*."""
_CLAUSES = ("ccomp", "advcl", "conj", "parataxis", "relcl", "csubj")
_POLAR = frozenset(
    """some somebody someone something somewhere somehow somewhat either already any anyone anybody anything anywhere ever
    whatsoever""".split()
)
"""Words of which it is uncertain whether the negation holds for them."""
_FLIPPED = {
    "nobody": "somebody", "nothing": "something", "none": "some", "nowhere": "somewhere", "noone": "someone",
}  # fmt: skip
_FLIPPED_NO = {"longer": "still", "one": "someone"}
"""Replacements of *no longer* and *no one*."""
_WEAK = frozenset("never hardly barely scarcely rarely seldom".split())
_NO_DENIAL_AFTER = frozenset("only just least merely simply necessarily surprisingly so all every".split())
_NO_DENIAL_BEFORE = frozenset("or if why but".split())
_COMPARED = frozenset("more less fewer such other".split())
_POSITIVE = {
    "any": "some", "anyone": "someone", "anybody": "somebody", "anything": "something", "anywhere": "somewhere",
}  # fmt: skip
_LEANING = frozenset("anymore ever".split())
"""Words that depend on a negation."""
DENIALS = frozenset(_FLIPPED) | _WEAK | NOT | {"no", "neither", "nor"}


def denies(r: ParsedText, i: int) -> bool:
    """Return whether the word negates its clause; in *not to go* it does not."""
    low = r.low(i)
    word = r.words[i]
    hyphens = r.text[max(0, word.start - 1) : word.start] + r.text[word.end : word.end + 1]
    if low not in DENIALS or "-" in hyphens or "–" in hyphens:
        return False
    if low == "no":
        name = r.tag(i + 1) == "CD" or r.low(i + 1)[:1].isdigit()
        return not name and (r.words[i].role == "det" or r.low(i + 1) in ("longer", "one"))
    return not (low in NOT and r.tag(i + 1) == "TO")


def lifted(r: ParsedText, i: int, span: tuple[int, int]) -> list[Edit]:
    """Return the edits that remove the negation at word i; none if the result might be ungrammatical."""
    low = r.low(i)
    rest = [r.low(j) for j in range(i + 1, span[1])]
    if "nor" in rest or "neither" in rest or r.low(i - 1) in _NO_DENIAL_BEFORE:
        return []
    if low in NOT:
        edits = [] if r.low(i + 1) in _NO_DENIAL_AFTER or "but" in rest[:12] or "until" in rest else _not(r, i, span)
    elif low in _WEAK:
        edits = _adverb(r, i, span)
    elif low in _FLIPPED:
        edits = [r.replace(i, _FLIPPED[low])]
    else:
        edits = _no(r, i)
    return [*edits, *_positive(r, i, span)] if edits else []


def _not(r: ParsedText, i: int, span: tuple[int, int]) -> list[Edit]:
    word, before = r.words[i], r.words[i - 1] if i > span[0] else None
    if before is None:
        return []
    verb = word.head
    if before.low in DO and before.role == "aux" and before.head == verb and verb > i:
        inverted = any(i < j < verb for j in subjects(r, verb))
        return [r.drop(i, i + 1)] if inverted else _without_do(r, i, verb)
    if word.low == "n't":
        if before.low == "ai":
            return []
        if before.low in STEMS:
            return [Edit(before.start, word.end, cased(STEMS[before.low], before.text))]
        return [r.drop(i, i + 1)]
    helper = before.tag in ("MD", "VBZ", "VBD", "VBP") or before.role in ("aux", "auxpass", "nsubj", "nsubjpass")
    infinitive = r.tag(i + 1) == "TO"
    verbal = r.words[verb].tag[:2] in ("VB", "MD") or r.words[verb].low.startswith("'")
    return [r.drop(i, i + 1)] if verbal and (helper or infinitive or before.tag == "RB") else []


def _without_do(r: ParsedText, i: int, verb: int) -> list[Edit]:
    """Turn *Did not really go* into *really went*, and *Do not go* into *Go*."""
    helper, word = r.words[i - 1], r.words[verb]
    if (word.tag != "VB" and word.low not in ("have", "do", "be")) or r.low(i + 1) in _LEANING | {"yet", "any"}:
        return []
    form = {"does": "VBZ", "did": "VBD"}.get(helper.low, "VB")
    new = word.low if form == "VB" else inflect(word.low, form)
    if not new:
        return []
    opening = helper.text[0].isupper()
    if verb == i + 1:
        return [Edit(helper.start, word.end, cased(new, helper.text) if opening else new)]
    following = r.words[i + 1]
    first = following.text[:1].upper() if opening else following.text[:1]
    return [Edit(helper.start, following.start + 1, first), Edit(word.start, word.end, new)]


def _adverb(r: ParsedText, i: int, span: tuple[int, int]) -> list[Edit]:
    """Delete a negative adverb, unless the clause is inverted after it (*never had he*)."""
    head = r.words[i].head
    finite = r.tag(head) in ("VBZ", "VBP", "VBD", "MD", "VB") or bool(r.children(head, "aux", "auxpass"))
    if not finite or r.tag(i + 1) == "CD" or r.low(i + 1) in ("before", "again", "mind"):
        return []
    opening = i == span[0]
    if opening and (i + 1 >= span[1] or r.tag(i + 1) != "VB"):
        return []
    if opening:
        following = r.words[i + 1]
        return [Edit(r.words[i].start, following.start + 1, following.text[0].upper())]
    return [r.drop(i, i + 1)]


def _no(r: ParsedText, i: int) -> list[Edit]:
    word, following = r.words[i], r.words[i + 1] if i + 1 < len(r.words) else None
    if word.low != "no" or following is None:
        return []
    if following.low in _FLIPPED_NO:
        return [Edit(word.start, following.end, cased(_FLIPPED_NO[following.low], word.text))]
    head = r.words[word.head]
    if following.low in _COMPARED or head.tag not in ("NN", "NNS") or following.tag == "CD":
        return []
    if head.tag != "NNS" and head.low not in MASS:
        return []
    return [Edit(word.start, word.end, cased("some", word.text))]


def _positive(r: ParsedText, i: int, span: tuple[int, int]) -> list[Edit]:
    """Return edits for words that depend on the negation at word i: *any* becomes *some*, *at all* is deleted."""
    out: list[Edit] = []
    for j in range(i + 1, span[1]):
        low = r.low(j)
        if low in ("but", ";", "if", "than"):
            break
        if low == "any" and r.low(j + 1) in ("longer", "more") and r.words[j + 1].role != "amod":
            out.append(r.drop(j, j + 2))
        elif low in _POSITIVE:
            out.append(r.replace(j, _POSITIVE[low]))
        elif low in _LEANING or (low == "yet" and (j == i + 1 or r.low(j + 1) in (".", ","))):
            out.append(r.drop(j, j + 1))
        elif low == "at" and r.low(j + 1) == "all" and r.tag(j + 2)[:2] not in ("NN", "DT"):
            out.append(r.drop(j, j + 2))
        elif low == "either" and r.low(j + 1) in (".", ","):
            out.append(r.replace(j, "too"))
    return out


def negation(r: ParsedText, span: tuple[int, int]) -> list[Edit]:
    """Return the edits that negate a sentence at the verb of its main clause, or of a clause joined to it.

    A negative main clause loses its negation instead. Empty if no finite verb can be negated with certainty, or if a negation
    of the main clauses cannot be removed.
    """
    sentence_clauses = clauses(r, span)
    main = stated(r, span, sentence_clauses)
    if main is None:
        return []
    owners = {i: clause_of(r, i, sentence_clauses) for i in range(*span) if denies(r, i)}
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
    if r.low(span[1] - 1) == "?" and r.tag(span[0])[:1] == "W":
        return []
    if {r.low(clause.carrier - 1), r.low(clause.carrier + 1)} & _FOCUSING:
        return []
    own = [j for j in r.children(clause.verb) if r.role(j) not in _CLAUSES]
    if any(r.low(k) in _POLAR for j in own for k in r.below(j)):
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
    if r.words[at].text[0].isupper() and not r.words[at].text.isupper() and not r.starts_sentence(at):
        return True
    titled = following < len(r.words) and r.words[following].text.istitle() and not r.starts_sentence(following)
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
    nouns = [j for j in r.children(verb, "attr", "nsubj") if j > verb and r.tag(j) in ("NN", "NNS")]
    if not nouns:
        return False
    noun = nouns[0]
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
    if clause.form == "VBP" and any(r.tag(j) in ("NN", "NNP") and not r.children(j, "conj") for j in subjects(r, verb)):
        return []
    past = clause.form == "VBD" and not forms(r.low(verb), ("VBN",))
    led = past or subjects(r, verb) or clause.form == "IMP" or r.role(verb) == "conj"
    if not plain or inverted or not led or r.low(verb) in ("thank", "please") or _joined_at_once(r, verb):
        return []
    helper = f"{DO_FORMS.get(clause.form, 'do')} not"
    before = r.low(verb - 1)
    manner = before.endswith("ly") and r.tag(verb - 1) == "RB" and before not in _BEFORE_NOT
    if (before in _BEFORE_DO or manner) and r.words[verb - 1].head == verb and clause.form != "IMP":
        adverb = r.words[verb - 1]
        return [Edit(adverb.start, adverb.start, f"{helper} "), r.replace(verb, plain)] if adverb.text.islower() else []
    return [r.replace(verb, f"{helper} {plain}")]


def negate_one(r: ParsedText, random: Random) -> Edits:
    ways = [edits for span in r.sentences if (edits := negation(r, span)) and _only_negation(r, span, edits)]
    return random.choice(ways) if ways else []


def _only_negation(r: ParsedText, span: tuple[int, int], edits: list[Edit]) -> bool:
    """Return whether the sentence is no question, and has no negation besides one that the edits remove."""
    if r.low(span[1] - 1) == "?":
        return False
    words = [r.words[i] for i in range(*span) if r.low(i) in NEGATIVE]
    return not words or any(edit.start < word.end and word.start < edit.end for word in words for edit in edits)


def negate_share(r: ParsedText, strength: float, random: Random, context: NoiseContext) -> Edits:
    ways = [edits for span in r.sentences if (edits := negation(r, span))]
    share = min(1.0, strength * len(r.sentences) / len(ways)) if ways else strength
    return [edit for way in sample_share(ways, share, random) for edit in way]
