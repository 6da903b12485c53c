"""Remove existing negations from a sentence: *did not go* becomes *went*, *nobody* becomes *somebody*."""

from __future__ import annotations

from core.english import word_groups
from core.english.grammar import ParsedText
from core.english.parsing import article, cased, inflect
from core.english.phrases import DO, NOT, STEMS
from core.perturbations.noise.clauses import subjects
from core.text.edits import Edit

_FLIPPED = {
    "nobody": "somebody", "nothing": "something", "none": "some", "nowhere": "somewhere", "noone": "someone",
}  # fmt: skip
_FLIPPED_NO = {"longer": "still", "one": "someone"}
"""Replacements of *no longer* and *no one*."""
_WEAK = frozenset("never hardly barely scarcely rarely seldom".split())
_NO_DENIAL_AFTER = frozenset("only just least merely simply necessarily surprisingly so all every".split())
_NO_DENIAL_BEFORE = frozenset("or if why but".split())
_NO_NOUN = frozenset("matter wonder one more less fewer such other later sooner use good".split())
_POSITIVE = {
    "any": "some", "anyone": "someone", "anybody": "somebody", "anything": "something", "anywhere": "somewhere",
}  # fmt: skip
_LEANING = frozenset("anymore ever".split())
"""Words that depend on a negation."""
_UNCOUNTED = ("ness", "ence", "ance", "ity", "ism", "ing", "tion", "sion", "ment", "ship", "age", "ice", "dom")
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


def _gone(r: ParsedText, i: int, end: int) -> Edit:
    """Delete words i..end-1 with the space before them."""
    left = r.words[i - 1].end if i else r.words[i].start
    return Edit(left, r.words[end - 1].end, "")


def _not(r: ParsedText, i: int, span: tuple[int, int]) -> list[Edit]:
    word, before = r.words[i], r.words[i - 1] if i > span[0] else None
    if before is None:
        return []
    verb = word.head
    if before.low in DO and before.role == "aux" and before.head == verb and verb > i:
        inverted = any(i < j < verb for j in subjects(r, verb))
        return [_gone(r, i, i + 1)] if inverted else _without_do(r, i, verb)
    if word.low == "n't":
        if before.low == "ai":
            return []
        if before.low in STEMS:
            return [Edit(before.start, word.end, cased(STEMS[before.low], before.text))]
        return [_gone(r, i, i + 1)]
    helper = before.tag in ("MD", "VBZ", "VBD", "VBP") or before.role in ("aux", "auxpass", "nsubj", "nsubjpass")
    infinitive = r.tag(i + 1) == "TO"
    verbal = r.words[verb].tag[:2] in ("VB", "MD") or r.words[verb].low.startswith("'")
    return [_gone(r, i, i + 1)] if verbal and (helper or infinitive or before.tag == "RB") else []


def _without_do(r: ParsedText, i: int, verb: int) -> list[Edit]:
    """Turn *Did not really go* into *really went*, and *Do not go* into *Go*."""
    helper, word = r.words[i - 1], r.words[verb]
    if word.tag != "VB" and word.low not in ("have", "do", "be"):
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
    return [_gone(r, i, i + 1)]


def _no(r: ParsedText, i: int) -> list[Edit]:
    word, following = r.words[i], r.words[i + 1] if i + 1 < len(r.words) else None
    if word.low != "no" or following is None:
        return []
    if following.low in _FLIPPED_NO:
        return [Edit(word.start, following.end, cased(_FLIPPED_NO[following.low], word.text))]
    head = r.words[word.head]
    if following.low in _NO_NOUN or head.low in _NO_NOUN or head.tag not in ("NN", "NNS") or following.tag == "CD":
        return []
    if head.low == "doubt" and head.role not in ("attr", "dobj", "nsubj"):
        return []
    uncounted = head.low in word_groups.MASS or head.low.endswith(_UNCOUNTED) or head.low in _MASS
    if not uncounted and head.tag == "NN" and head.low not in _COUNTED:
        return []
    new = "some" if head.tag == "NNS" or uncounted else article(following.low)
    return [Edit(word.start, word.end, cased(new, word.text))]


_MASS = frozenset(
    """time money room space food water work help hope need fun love fear harm faith trust proof news sleep luck power
    support access contact damage blame pain sex harmony comment word people staff interest sense doubt""".split()
)

_COUNTED = frozenset(word for kind in word_groups.KINDS for word in kind) | frozenset(
    """reason sign way chance plan idea choice question answer link limit word name winner loser goal game match win rule law case
    place need limit car home job deal record role team club body victim suspect animal dog cat cure treatment statement""".split()
)


def _positive(r: ParsedText, i: int, span: tuple[int, int]) -> list[Edit]:
    """Return edits for words that depend on the negation at word i: *any* becomes *some*, *at all* is deleted."""
    out: list[Edit] = []
    for j in range(i + 1, span[1]):
        low = r.low(j)
        if low in ("but", ";", "if", "than"):
            break
        if low == "any" and r.low(j + 1) in ("longer", "more") and r.words[j + 1].role != "amod":
            out.append(_gone(r, j, j + 2))
        elif low in _POSITIVE:
            out.append(r.replace(j, _POSITIVE[low]))
        elif low in _LEANING or (low == "yet" and (j == i + 1 or r.low(j + 1) in (".", ","))):
            out.append(_gone(r, j, j + 1))
        elif low == "at" and r.low(j + 1) == "all" and r.tag(j + 2)[:2] not in ("NN", "DT"):
            out.append(_gone(r, j, j + 2))
        elif low == "either" and r.low(j + 1) in (".", ","):
            out.append(r.replace(j, "too"))
    return out
