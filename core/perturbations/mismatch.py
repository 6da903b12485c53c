"""Words that do not fit. English.

Mismatch: an adjective, noun or verb is replaced by another of its form, by an antonym if one is known (Chen and Eger 2023, §3; Chen
et al. 2021). A new verb must share the frame of the old one: with a plain object, passive, without an object, before `to` and a verb,
or before `that`. Noises (He et al. 2023, Table 16): verbs in their dictionary form ("went" becomes "go"); verbs of the same form, or
common nouns, swapped, each with its spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache, partial
from random import Random

from core.english import word_lists
from core.english.analysis import ParsedText
from core.english.certain_words import NounPhrase, is_full_verb, is_verb, noun_phrase
from core.english.clauses import subjects
from core.english.dictionary import BE, NOT, base_form, forms, inflect, lemmas, noun_base, pos_tags
from core.english.word_lists import IDEAS, MASS, NOUN_OPPOSITES, PERSONS, SEASONS, THINGS, TIMES, listed, word_set
from core.perturbations.base import Edits, NoiseContext, T, pairs, sample_share
from core.text.edits import Edit

Candidate = tuple[bool, list[Edit]]
"""Whether a word would be replaced by its opposite, and the edits."""


def replace_one(
    candidates: Callable[[ParsedText, Random], Iterator[Candidate]], r: ParsedText, random: Random
) -> Edits:
    """Return the edits of one candidate: with an opposite, if there is one."""
    made = list(candidates(r, random))
    with_opposite = [edits for is_opposite, edits in made if is_opposite]
    if not made:
        return []
    return random.choice(with_opposite or [edits for _, edits in made])


NEVER = word_set("kept-adjectives")
"""Replaced only by their antonym, if any: they quantify, order, or belong to a fixed phrase."""
_SET = word_set("set-phrases")
_FRANK = frozenset("sure clear fair frank honest precise exact certain blunt specific".split())
"""After `to be` at the start of a sentence or between commas, these comment on the statement: to be sure."""
_FIXED = frozenset("as least best first last in at of".split())
_AFTER_PREDICATIVE = frozenset('. , ; : ! ? and but because ) " ”'.split()) | {""}


def is_adjective(r: ParsedText, i: int) -> bool:
    """Return whether word i is certainly an adjective in lower case."""
    word = r.words[i]
    listed = not pos_tags(word.low) or "ADJ" in pos_tags(word.low)
    plain = word.text == word.low and word.low.isalpha() and not r.glued(i)
    return word.tag in ("JJ", "JJR", "JJS") and plain and listed and r.sure(i) and not word.entity


def attributive(r: ParsedText, i: int) -> bool:
    """Return whether an adjective stands right before the noun or compound that it describes."""
    head = r.words[i].head
    if r.role(i) != "amod" or not i < head <= i + 2 or r.tag(head) not in ("NN", "NNS") or r.words[head].entity:
        return False
    between = all(r.adjoins(j + 1) and r.role(j) in ("compound", "amod") for j in range(i, head))
    return between and not r.glued(i + 1) and f"{r.low(i)}-{r.low(i + 1)}" not in _SET


def predicative(r: ParsedText, i: int) -> bool:
    """Return whether an adjective follows a form of `be` and ends its clause."""
    before = i - 1
    while r.low(before) in ("very", "so", "too", "quite", "not", "n't", "also", "still", "more", "less"):
        before -= 1
    ends = r.low(before) in BE and r.low(i + 1) in _AFTER_PREDICATIVE
    return ends and r.role(i) == "acomp" and {r.role(j) for j in r.children(i)} <= {"advmod"}


def adjectives(r: ParsedText, random: Random) -> Iterator[Candidate]:
    taken = {word.low for word in r.words}
    for i in range(len(r.words)):
        if not is_adjective(r, i) or (r.low(i - 2) == "to" and r.low(i - 1) == "be" and r.low(i) in _FRANK):
            continue
        low, before, after = r.low(i), attributive(r, i), predicative(r, i)
        if low in word_lists.ADJECTIVE_OPPOSITES and (before or after) and r.low(i - 1) not in _FIXED - {"of", "in"}:
            new = word_lists.ADJECTIVE_OPPOSITES[low]
            yield True, [r.replace(i, new), *r.article(i, new)]
        elif low in NEVER or r.tag(i) != "JJ" or "ADJ" not in pos_tags(low) or low.endswith("ed"):
            continue
        elif before or (after and r.low(i - 1) not in ("more", "less")):
            words = word_lists.ADJECTIVES if before else word_lists.PREDICATES
            new = random.choice([w for w in words if w not in taken and w != low])
            yield False, [r.replace(i, new), *r.article(i, new)]


_PERSONAL = ("ator", "ist", "ician", "eer", "man", "woman", "gee", "makers", "zen", "person", "leader")
_AFTER_KEPT_NOUN = frozenset("that to whether".split())


@cache
def kinds() -> dict[str, Sequence[str]]:
    """Return the word list of each listed noun."""
    return {word: kind for kind in (*word_lists.KINDS, TIMES, SEASONS, MASS) for word in kind}


def _fitting(r: ParsedText, phrase: NounPhrase, random: Random) -> str:
    """Return an inflected replacement for the head of a phrase; "" if none certainly fits."""
    base, before, after = noun_base(r.low(phrase.head)), r.low(phrase.start - 1), r.low(phrase.head + 1)
    if after in _AFTER_KEPT_NOUN or (phrase.plural and after == "'s") or r.children(phrase.head, "acl", "ccomp"):
        return ""
    tag = "NNS" if phrase.plural else "NN"
    if opposite := NOUN_OPPOSITES.get(base):
        new = inflect(opposite, tag)
        return new if not phrase.plural or new != opposite else ""
    kind = kinds().get(base)
    if not phrase.plural and not phrase.determiner and (kind is not MASS or before in ("", "in", "on", "at", "by")):
        return ""
    if kind is None:
        if base == "person" or base.endswith(_PERSONAL) or after in ("who", "whose", "whom"):
            kind = PERSONS
        elif before in ("last", "next", "this", "every") or after == "ago" or r.words[phrase.head].entity:
            return ""
        elif phrase.determiner in ("each", "every", "some", "any", "no", "all") or phrase.counted:
            kind = (*PERSONS, *THINGS) if phrase.plural else ()
        else:
            kind = IDEAS
    if not kind or (kind is MASS and phrase.determiner in ("a", "an")):
        return ""
    taken = {word.low for word in r.words}
    words = [w for w in kind if w != base and w not in taken and inflect(w, "NNS") not in taken]
    return inflect(random.choice(words), tag) if words else ""


def nouns(r: ParsedText, random: Random) -> Iterator[Candidate]:
    for i in range(len(r.words)):
        phrase = noun_phrase(r, i)
        new = _fitting(r, phrase, random) if phrase else ""
        if new and new != r.low(i):
            yield noun_base(r.low(i)) in NOUN_OPPOSITES, [r.replace(i, new), *r.article(i, new)]


_ADJUNCTS = frozenset("in on at during because when after before since until by last this twice again".split())
"""Words that can open an adjunct after any verb."""
_COMPLEMENTS = ("dobj", "dative", "xcomp", "ccomp", "oprd", "prt", "acomp", "attr", "agent")

_FRAMES: dict[str, tuple[Sequence[str], dict[str, str]]] = {
    "object": (word_lists.TRANSITIVE, word_lists.TRANSITIVE_OPPOSITES),
    "none": (word_lists.INTRANSITIVE, word_lists.INTRANSITIVE_OPPOSITES | word_lists.SCALE_OPPOSITES),
    "to": (word_lists.TO_VERBS, word_lists.TO_OPPOSITES),
    "that": (word_lists.THAT_VERBS, word_lists.THAT_OPPOSITES),
}
"""Replacements and antonyms by frame."""


def _certain_form(r: ParsedText, i: int) -> str:
    """Return the inflection tag of the full verb at i if tag and syntax agree on it, else ""."""
    tag, low = r.tag(i), r.low(i)
    if (
        r.word(i) != low
        or not r.sure(i)
        or not is_full_verb(r, i)
        or r.tag(i - 1) == "RP"
        or r.low(i - 1) in ("down", "up")
    ):
        return ""
    helped = bool(r.children(i, "aux", "auxpass"))
    if tag == "VBN":
        return tag if helped else ""
    if tag == "VBG":
        return tag if helped or r.role(i) == "pcomp" else ""
    if tag == "VB":
        return tag if helped else ""
    return tag if not helped and (subjects(r, i) or r.role(i) == "conj") else ""


def _frame(r: ParsedText, i: int) -> str:
    """Return what the verb takes; "" if it is something else, or uncertain."""
    complements = [r.role(j) for j in r.children(i, *_COMPLEMENTS)]
    leaning = [r.low(j) for j in r.children(i, "prep") if r.low(j) not in _ADJUNCTS]
    following = r.low(i + 1)
    plain = not following[:1].isalnum() or following in _ADJUNCTS or following == "and"
    if r.children(i, "auxpass"):
        return "object" if not leaning and set(complements) <= {"agent"} and plain else ""
    if complements == ["xcomp"]:
        return "to" if following == "to" and r.tag(i + 2) == "VB" else ""
    if complements == ["ccomp"]:
        clause = r.children(i, "ccomp")[0]
        return "that" if i < clause and min(r.below(clause)) == i + 1 and subjects(r, clause) else ""
    if complements == ["dobj"] and not leaning:
        noun = r.children(i, "dobj")[0]
        return "object" if noun > i and following != "that" and min(r.below(noun)) == i + 1 else ""
    return "none" if not complements and not leaning and plain else ""


def verbs(r: ParsedText, random: Random) -> Iterator[Candidate]:
    for i in range(len(r.words)):
        form = _certain_form(r, i)
        frame = _frame(r, i) if form else ""
        base = base_form(r.low(i), form) if frame else ""
        words, opposites = _FRAMES.get(frame, ((), {}))
        if not base:
            continue
        if base in opposites:
            new = inflect(opposites[base], form)
        elif base in words or (frame == "object" and base in word_lists.PLAIN_TRANSITIVE):
            new = inflect(random.choice([w for w in words if w not in word_lists.alike(base)]), form)
        else:
            continue
        if new:
            yield base in opposites, [r.replace(i, new)]


_INFLECTED = ("VBD", "VBZ", "VBN", "VBG", "VBP")


def lemmatize(r: ParsedText, strength: float, random: Random, context: NoiseContext) -> Edits:
    """Replace inflected verbs, including auxiliaries, with their dictionary form."""
    return sample_share([edit for i in range(len(r.words)) if (edit := _lemma(r, i))], strength, random)


def _lemma(r: ParsedText, i: int) -> Edit | None:
    """Return the edit for word i. Auxiliaries count as verbs, modals do not. A form of `be` stays before n't."""
    word = r.words[i]
    if word.tag not in _INFLECTED or not is_verb(r, i):
        return None
    if word.text != word.low and not word.text.isupper() and not r.starts_sentence(i):
        return None
    new = base_form(word.low, word.tag)
    if new in ("", word.low) or (new == "be" and r.low(i + 1) in NOT and r.words[i + 1].start == word.end):
        return None
    return r.replace(i, new)


def _word(r: ParsedText, i: int) -> bool:
    """Return whether word i stands alone in lower case, or with a capital that only starts its sentence."""
    word = r.words[i].text
    small = word.islower() or (r.starts_sentence(i) and word[1:].islower() and word not in r.inner_words)
    return len(word) > 1 and word.isalpha() and small and not r.glued(i)


def _verb_form(r: ParsedText, i: int) -> str:
    """Return the form of a verb: VB also for VBP, ED if past tense and participle are spelled alike (*scored*), "" if it is not
    certain (*beat* may be any of these)."""
    tag, readings = r.tag(i), {tag for _, tag in forms(r.low(i), ("VB", "VBD", "VBN"))}
    infinitive = r.low(i - 1) == "to" and r.low(i - 2) not in ("thanks", "due", "according", "owing")
    if r.low(i - 1) == "to" and not infinitive:
        return ""
    if "VB" in readings and len(readings) > 1:
        return "VB" if r.tag(i - 1) == "MD" or infinitive else ""
    if tag in ("VBD", "VBN"):
        return "ED" if {"VBD", "VBN"} <= readings else tag
    return "VB" if tag == "VBP" else tag


def _tense(r: ParsedText, i: int) -> Hashable:
    """Return past tense or participle if tag and context are certain, else a key that matches no other verb."""
    tag, helped = r.tag(i), bool(r.children(i, "aux", "auxpass"))
    past = tag == "VBD" and not helped and (r.children(i, "nsubj") or r.words[i].role == "conj")
    sure = past or (tag == "VBN" and helped)
    return tag if sure and r.sure(i) else i


def switch(
    fits: Callable[[ParsedText, int], bool],
    part: str,
    r: ParsedText,
    strength: float,
    random: Random,
    context: NoiseContext,
) -> Edits:
    """Swap pairs of words of this part of speech that fit: verbs of one form, nouns of one number if possible."""
    is_form = part == "VERB"
    places = [i for i in range(len(r.words)) if _word(r, i) and fits(r, i) and not (is_form and not _verb_form(r, i))]
    likes = (partial(_verb_form, r), partial(_tense, r)) if is_form else (r.tag,)
    word_pairs = like_pairs(places, lambda i: _meaning(r.low(i), part), likes, random, only=is_form)
    chosen = sample_share(word_pairs, strength, random)
    return [r.replace(i, r.low(j)) for pair in chosen for i, j in (pair, pair[::-1])]


def like_pairs(
    places: Sequence[T],
    key: Callable[[T], Hashable],
    likes: Sequence[Callable[[T], Hashable]],
    random: Random,
    *,
    only: bool = False,
) -> list[tuple[T, T]]:
    """Return disjoint pairs with different keys: first of places alike by the first of `likes`, then of the rest by the next,
    and so on. If none are alike, pair any places, or none with `only`."""
    made: list[tuple[T, T]] = []
    left = list(range(len(places)))
    for like in likes:
        for kind in dict.fromkeys(like(places[i]) for i in left):
            alike = [i for i in left if like(places[i]) == kind]
            alike_pairs = pairs(alike, lambda i: key(places[i]), random)
            taken = {i for pair in alike_pairs for i in pair}
            left = [i for i in left if i not in taken]
            made += [(places[a], places[b]) for a, b in alike_pairs]
    return made or ([] if only else pairs(places, key, random))


def _meaning(low: str, part: str) -> str:
    """Return the dictionary form of a word, or a shared form for words that may mean the same."""
    lemma = (lemmas(low, part) or (low,))[0]
    return _SAME.get(lemma, lemma)


_SAME = {word: group.split()[0] for group in listed("nouns-alike") for word in group.split()}
"""Nouns that may mean the same, mapped to the first of their group."""
