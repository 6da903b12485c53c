"""Content that is added or left out (Chen and Eger 2023, §3; Sai et al. 2021).

Addition: a noun is joined to an existing noun, or a fact is added that the original does not state. Omission: a phrase or clause is deleted
whose removal leaves a grammatical sentence. The published suite drops 1–20 % of the words at arbitrary positions; here only optional
parts are deleted, so that the metric is tested on lost content rather than on broken grammar.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from core.english.analysis import ParsedText
from core.english.certain_words import NounPhrase, noun_phrase
from core.english.clauses import subjects
from core.english.dictionary import (
    BE,
    HAVE,
    MODALS,
    NEGATIVE,
    POSSESSIVES,
    article,
    cased,
    inflect,
    noun_base,
    pos_tags,
)
from core.english.word_lists import IDEAS, MASS, PERSONS, SEASONS, TIMES, listed, word_set
from core.perturbations.base import Edits
from core.perturbations.mismatch import attributive, is_adjective, kinds
from core.text.edits import Edit, Refused

_STOPS = frozenset(
    '. , ; : ) ! ? " ” in on at of from for with during since by under over after before against within across among through'.split()
) | {""}
_APPOSED = frozenset("the a an which who whose whom where".split())
"""Words that start an apposition or relative clause after a comma."""
_PAIRING = frozenset("between both either".split())
FACTS = listed("facts")
"""Adjuncts that can end any statement."""


def add_noun(r: ParsedText, random: Random) -> Edits:
    phrases = [phrase for i in range(len(r.words)) if (phrase := noun_phrase(r, i)) and _loose(r, phrase)]
    random.shuffle(phrases)
    for phrase in phrases:
        if new := _companion(r, phrase, random):
            return [r.after(phrase.head, f" and {new}")]
    return []


def _loose(r: ParsedText, phrase: NounPhrase) -> bool:
    """Return whether the phrase is the object of a preposition or verb and nothing depends on its number."""
    head, governor = phrase.head, r.words[phrase.head].head
    if r.role(head) not in ("pobj", "dobj") or governor > head or r.low(head + 1) not in _STOPS:
        return False
    if r.low(head + 1) == "," and (r.tag(head + 2) in ("NNP", "NNPS") or r.low(head + 2) in _APPOSED):
        return False
    if r.low(head + 2) in ("and", "or", r.low(head)) or _PAIRING & set(r.lows(phrase.start - 6, phrase.start)):
        return False
    if r.role(head) == "dobj" and not phrase.determiner:
        return False
    return r.low(governor) != "as" and phrase.determiner in ("", "the", "a", "an", *POSSESSIVES) and not phrase.counted


def _companion(r: ParsedText, phrase: NounPhrase, random: Random) -> str:
    determiner, base = phrase.determiner, noun_base(r.low(phrase.head))
    kind = kinds().get(base)
    if kind in (TIMES, SEASONS):
        return ""
    if not phrase.plural and not determiner:
        if kind is not MASS or r.low(phrase.start - 1) in ("in", "on", "at", "by"):
            return ""
    elif kind is None or kind is MASS:
        kind = PERSONS if base == "person" else IDEAS
    taken = {word.low for word in r.words}
    words = [w for w in kind if w not in taken and inflect(w, "NNS") not in taken]
    new = inflect(random.choice(words), "NNS" if phrase.plural else "NN")
    if determiner in ("a", "an"):
        return f"{article(new)} {new}"
    return f"{determiner} {new}" if determiner and not phrase.plural else new


def add_fact(r: ParsedText, random: Random) -> Edits:
    """Add a fact before the full stop of the last sentence."""
    last = len(r.words) - 1
    start, _ = r.places[last]
    if r.low(last) != "." or last - start < 4 or r.word(start)[:1].islower():
        return Refused("no statement that ends with a full stop")
    words = set(r.lows(start, last))
    if words & {'"', "“", "”", "``", "''", "'", "‘", "’", "(", ")", ":", ";", "–", "—", "-", "..."}:
        return Refused("quotation marks, brackets or dashes make the end of the statement uncertain")
    root = next((i for i in range(start, last) if r.role(i) == "ROOT"), start)
    past = [i for i in (root, *r.children(root, "aux", "auxpass")) if r.tag(i) == "VBD"]
    if words & (MODALS | {"if"}) or not past:
        return Refused("no statement in the past tense to which a circumstance can be added")
    if not r.low(last - 1).isalpha() or r.tag(last - 1) in ("IN", "TO", "DT", "MD") or r.low(last - 1) in BE:
        return Refused("the statement ends incompletely")
    fitting = [f for f in FACTS if not set(f.split()) & words & {"time", "despite", "band", "town"}]
    return [r.after(last - 1, f", {random.choice(fitting)}")]


MOST = 0.4
"""Maximum share of the words that are deleted."""
_OPENERS = frozenset("after before since until although though because when while if".split())
"""Conjunctions of clauses that can be left out at the start of a sentence."""
_TAILS = frozenset("because although though while whereas unless after before since until when".split())
_RELATIVES = frozenset("which who whom whose where".split())
_BEFORE_TAIL = frozenset("just even only not n't and or but is was that ever long years times shortly soon".split())
_SAYINGS = listed("linking-phrases")
"""Phrases that only link a sentence to the one before; deleting them loses no information."""
_KEPT = word_set("adjectives-not-omitted")
"""Adjectives without which the phrase would change or lose its meaning."""
_ADVERBS_KEPT = frozenset(
    "only early daily family friendly likely unlikely hardly barely rarely scarcely nearly exactly july italy reply supply apply rely".split()
)


_NEEDING = NEGATIVE | frozenset("so too such only first time day know remember it".split())
"""Words before a clause of time that may depend on it (`remember when`, `the first time when`, a negation)."""
_MASSY = frozenset(
    "way time manner fashion number amount degree level sense share range extent interest understanding role part".split()
)
_QUOTES = frozenset(('"', "“", "”", "``", "''", "'", "‘", "’", "(", ")"))


class WordRange(NamedTuple):
    """Words start..end-1, which can be deleted."""

    start: int
    end: int


def omit(r: ParsedText, random: Random) -> Edits:
    words = sum(word.low[0].isalnum() for word in r.words)
    parts = [part for part in _parts(r) if 0 < sum(r.low(i)[0].isalnum() for i in range(*part)) <= MOST * words]
    if not parts:
        return Refused(f"no optional phrase of at most {MOST:.0%} of the words")
    longer = [part for part in parts if part.end - part.start > 2]
    return _dropped(r, random.choice(longer or parts))


def _parts(r: ParsedText) -> Iterator[WordRange]:
    for i in range(len(r.words)):
        start, end = r.places[i]
        low = r.low(i)
        if low == "(":
            yield from _bracket(r, i, end)
        elif i == start and r.word(i)[:1].isupper():
            yield from _fronted(r, i, end)
        elif low == "," and r.low(i + 1) in _RELATIVES:
            yield from _relative(r, i, end)
        elif low in _TAILS and r.role(i) in ("mark", "advmod"):
            yield from _tail(r, i, end)
        elif r.role(i) in ("prep", "npadvmod"):
            yield from _when(r, i, end)
        elif is_adjective(r, i) and low not in _KEPT and attributive(r, i) and r.tag(i) == "JJ":
            yield from _adjective(r, i)
        elif low.endswith("ly") and r.tag(i) == "RB" and low not in _ADVERBS_KEPT and r.word(i) == low:
            yield from _adverb(r, i)


def _bracket(r: ParsedText, i: int, end: int) -> Iterator[WordRange]:
    for j in range(i + 1, end):
        if r.low(j) == ")":
            if i > 0 and not r.starts_sentence(i) and "(" not in r.lows(i + 1, j):
                yield WordRange(i, j + 1)
            return


def _reach(r: ParsedText, i: int) -> tuple[int, int] | None:
    """Return first word and end of word i with all that depends on it; None if other words stand in between."""
    below = sorted(r.below(i))
    return (below[0], below[-1] + 1) if below[-1] + 1 - below[0] == len(below) else None


def _marked(r: ParsedText, i: int) -> int:
    """Return the verb of the clause that the conjunction i opens."""
    verb = r.words[i].head
    return r.words[verb].head if r.role(verb) in ("aux", "auxpass") else verb


def _fronted(r: ParsedText, i: int, end: int) -> Iterator[WordRange]:
    """Yield a prepositional phrase or clause before the first comma of a statement (`In recent years, …`)."""
    comma = next((j for j in range(i, end) if r.low(j) == ","), end)
    if not 2 <= comma - i <= 9 or r.tag(comma - 1) in ("PRP", "DT") or _links(r, i) or set(r.lows(i, end)) & _QUOTES:
        return
    top = i if r.role(i) == "prep" else _marked(r, i) if r.role(i) in ("mark", "advmod") else end
    if top >= comma or _reach(r, top) != (i, comma) or (top != i and r.low(i) not in _OPENERS):
        return
    main = r.words[top].head
    led = [j for j in subjects(r, main) if comma < j < main]
    if (
        main > comma
        and r.role(main) == "ROOT"
        and r.tag(main)[:2] == "VB"
        and led
        and min(r.below(led[0])) == comma + 1
    ):
        yield WordRange(i, comma + 1)


def _links(r: ParsedText, i: int) -> bool:
    """Return whether a phrase that only links the sentence to the one before starts at word i."""
    phrase = " ".join(r.lows(i, i + 4)) + " "
    dated = i + 2 < len(r.words) and r.words[i + 2].entity in ("DATE", "TIME")
    if r.low(i + 1) in ("this", "that", "these", "those") and not dated:
        return True
    return any(phrase.startswith(f"{saying} ") for saying in _SAYINGS)


def _relative(r: ParsedText, i: int, end: int) -> Iterator[WordRange]:
    """Yield `, which …` if a comma and a finite verb, or the end of the sentence, follow."""
    verb = next((j for j in range(i + 2, end) if r.role(j) == "relcl" and r.words[j].head < i), end)
    reach = _reach(r, verb) if verb < end else None
    if reach is None or reach[0] != i + 1 or set(r.lows(i, end)) & _QUOTES:
        return
    after = reach[1]
    if after == end - 1 and r.low(after) in (".", "!"):
        yield WordRange(i, after)
    elif r.low(after) == "," and (r.low(after + 1) in BE | HAVE | MODALS or r.tag(after + 1) in ("VBD", "VBZ", "VBP")):
        yield WordRange(i, after + 1)


def _tail(r: ParsedText, i: int, end: int) -> Iterator[WordRange]:
    """Yield a subordinate clause at the end of the sentence."""
    start, verb = r.places[i][0], _marked(r, i)
    main = r.words[verb].head
    if r.low(end - 1) not in (".", "!") or r.role(verb) != "advcl" or _reach(r, verb) != (i, end - 1):
        return
    if (
        main > i
        or not subjects(r, main)
        or not (subjects(r, verb) or subjects(r, r.words[i].head))
        or r.tag(main)[:2] != "VB"
    ):
        return
    if set(r.lows(start, end)) & (_QUOTES | {";", ":", "–", "—"}) or set(r.lows(i, end)) & {",", "and", "but"}:
        return
    before = i - 1 if r.low(i - 1) == "," else i
    if r.low(before - 1) in _BEFORE_TAIL or r.tag(before - 1) in ("IN", "TO", "DT", "MD", "WRB", "RB", "RBR", "CD"):
        return
    if r.low(i) in ("before", "after", "since") and r.tag(before - 1) == "NNS":
        return
    timed = r.low(i) in ("when", "since", "until", "before", "after", "while") and r.low(before) != ","
    if not timed or not _NEEDING & set(r.lows(start, i)):
        yield WordRange(before, end - 1)


def _when(r: ParsedText, i: int, end: int) -> Iterator[WordRange]:
    """Yield a time at the end of its sentence that depends on its verb: `last year`, `on Tuesday`, `in 2010`."""
    reach, verb = _reach(r, i), r.words[i].head
    if reach is None or reach[1] != end - 1 or r.low(end - 1) != "." or verb >= reach[0] or r.tag(verb)[:2] != "VB":
        return
    first = reach[0] + (r.role(i) == "prep")
    if first >= reach[1] or not all(r.words[j].entity in ("DATE", "TIME") for j in range(first, reach[1])):
        return
    if r.role(i) == "prep" and r.low(i) not in ("in", "on", "at", "during", "since", "after", "before"):
        return
    stated = r.children(verb, "aux", "auxpass") or (subjects(r, verb) and r.tag(verb) != "VBN")
    if stated and r.low(verb) not in BE and r.low(reach[0] - 1) not in _BEFORE_DATE:
        yield WordRange(*reach)


_BEFORE_DATE = BE | frozenset("and or , - but later earlier early late again only that not born".split())


def _adjective(r: ParsedText, i: int) -> Iterator[WordRange]:
    before = r.low(i - 1)
    massy = r.low(i + 2) != "to" and r.tag(i + 1) == "NN" and before in ("a", "an") and r.low(i + 1) in _MASSY
    if before not in POSSESSIVES | {"the", "a", "an"} or "VERB" in pos_tags(r.low(i)) or r.low(i + 1) == "time":
        return
    if not massy:
        yield WordRange(i, i + 1)


def _adverb(r: ParsedText, i: int) -> Iterator[WordRange]:
    """Yield an adverb right before a participle, full verb or adjective."""
    modifies = r.role(i) == "advmod" and r.words[i].head > i and r.sure(i)
    if modifies and r.tag(i + 1) in ("VBN", "VBD", "VBG", "JJ", "VB") and r.low(i - 1) in BE | HAVE | MODALS:
        yield WordRange(i, i + 1)


def _dropped(r: ParsedText, part: WordRange) -> list[Edit]:
    start, end = part
    if r.starts_sentence(start) and end < len(r.words):
        first, following = r.words[start], r.words[end]
        return [Edit(first.start, following.start + 1, cased(following.text[:1], first.text[:1]))]
    edits = [r.drop(start, end)]
    if r.low(start - 1) in ("a", "an") and article(r.low(end)) != r.low(start - 1):
        edits += r.article(start, r.low(end))
    return edits
