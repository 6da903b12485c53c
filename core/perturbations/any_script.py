"""Errors that need no analysis of the text.

Scripts written with spaces: spelling errors and jumbled word order (Chen and Eger 2023, §3; Sai et al. 2021). Any script (He et al. 2023,
Table 16): dropped and repeated words, replaced punctuation, truncation, swapped words, and swapped halves of sentences; without spaces,
each character counts as a word.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from random import Random

from core.english import entity_kinds as kinds
from core.english.analysis import is_english, is_english_word
from core.english.dictionary import STOP_WORDS, pos_tags
from core.english.word_lists import word_set
from core.perturbations.base import Edits, NoiseContext, sample_share
from core.perturbations.sentences import one_line, sure_words, torn, whole_words, wholes, without
from core.text.edits import Edit, Refused
from core.text.sentences import CLOSING, EITHER, FINAL, OPEN_ENDED, SINGLE, Span, movable_sentences, plain
from core.text.words import TextUnit, is_unspaced, units, words

TRIES = 8
_CLITICS = frozenset("s re ve ll d m t".split())
_TOGETHER = re.compile(r"[^\s—]+")
_BEFORE, _AFTER = frozenset("$€£¥#@"), frozenset("%‰°€£")


def jumble(text: str, random: Random) -> Edits:
    """Shuffle the words; punctuation around them and white space stay in place. What is written together is one word:
    face-to-face, 1930’s, $20, 5%."""
    spans = [span for match in _TOGETHER.finditer(text) if (span := _bare(text, *match.span()))]
    order = [text[start:end] for start, end in spans]
    if len(set(order)) < 3:
        return Refused("fewer than three different words")
    new = list(order)
    for _ in range(TRIES):
        random.shuffle(new)
        if new != order:
            break
    return [Edit(start, end, word) for (start, end), word in zip(spans, new, strict=True)]


def _bare(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span without punctuation around it; None if it has no word, or is in a script without spaces."""
    word_spans = words(text[start:end])
    if not word_spans or any(is_unspaced(c) for c in text[start:end]):
        return None
    first, last = start + word_spans[0][0], start + word_spans[-1][1]
    if text[first - 1 : first] in ("'", "’") and text[first:last].lower() in _CLITICS:
        return None
    first -= text[first - 1 : first] in _BEFORE and first > start
    last += text[last : last + 1] in _AFTER and last < end
    return first, last


SHORTEST = 4
"""Letters and marks a word needs to get a typo; a shorter word could become another word or unreadable."""


def swap_letters(text: str, random: Random) -> Edits:
    """Swap inner letters if the word has enough; never equal letters, never a capital, never yielding another English word."""
    places: list[tuple[tuple[int, int], list[Edit]]] = []
    for start, end in words(text):
        if end - start >= SHORTEST and not any(is_unspaced(c) for c in text[start:end]):
            if swaps := _swaps(text, start, end):
                places.append(((start, end), swaps))
    while places:
        chosen = random.randrange(len(places))
        (start, end), swaps = places[chosen]
        edit = swaps.pop(random.randrange(len(swaps)))
        if not is_english_word((text[start : edit.start] + edit.new + text[edit.end : end]).lower()):
            return [edit]
        if not swaps:
            del places[chosen]
    return Refused(f"no word of {SHORTEST} or more letters with two different neighbours")


def _swaps(text: str, start: int, end: int) -> list[Edit]:
    """Return the swaps inside a word; if marks leave no two inner letters, also those with its last letter."""
    cuts = [i for i in range(start, end) if i == start or not _belongs(text[i])] + [end]
    letters = [text[a:b] for a, b in pairwise(cuts)]
    edits = [
        Edit(cuts[i], cuts[i + 2], letters[i + 1] + letters[i])
        for i in range(1, len(letters) - 1)
        if letters[i] != letters[i + 1] and _moves(letters[i]) and _moves(letters[i + 1])
    ]
    inner = [edit for edit in edits if edit.end < end]
    return inner if inner or len(letters) >= SHORTEST or len(letters) == end - start else edits


def _belongs(char: str) -> bool:
    """Return whether the character is a mark or joiner that belongs to the letter before it."""
    return unicodedata.category(char)[0] == "M" or char in "\u200c\u200d"


def _moves(letter: str) -> bool:
    return letter[0].isalpha() and letter == letter.lower()


_WESTERN, _ARABIC, _INDIC, _WIDE = ",.?!:", "،.؟!:", ",।?!:", "，。？！："
"""Comma, full stop, question mark, exclamation mark and colon of each script."""
_PLACE = {sign: i for signs in (_WESTERN, _ARABIC, _INDIC, _WIDE, "、") for i, sign in enumerate(signs)}
_COMMA, _STOP = 0, 1
_SCRIPTS = (
    (_ARABIC, ((0x0600, 0x06FF), (0x0750, 0x077F), (0x08A0, 0x08FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF))),
    (_INDIC, ((0x0900, 0x09FF),)),
)


def change_punctuation(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    """Swap commas and full stops; replace each other sign with any other.

    Signs inside numbers, ellipses and times (3.5, ..., 12:30) do not count. The script is that of the letters before the sign.
    """
    edits, letter = [], ""
    for start, end, is_word in units(text):
        if is_word:
            letter = text[start]
        elif end == start + 1 and text[start] in _PLACE and not _inside(text, start):
            edits.append(Edit(start, end, _other(text[start], _signs(text[start], letter), random)))
    return sample_share(edits, strength, random)


def _other(sign: str, signs: str, random: Random) -> str:
    place = _PLACE[sign]
    if place in (_COMMA, _STOP):
        return signs[_STOP if place == _COMMA else _COMMA]
    return random.choice([s for i, s in enumerate(signs) if i != place])


def _signs(sign: str, letter: str) -> str:
    if sign in _WIDE or sign == "、":
        return _WIDE
    code = ord(letter) if letter else 0
    return next((signs for signs, ranges in _SCRIPTS if any(a <= code <= b for a, b in ranges)), _WESTERN)


def _inside(text: str, i: int) -> bool:
    before, after = text[i - 1 : i], text[i + 1 : i + 2]
    if text[i] in (before, after):
        return True
    return before.isalnum() and after.isalnum() and not is_unspaced(after) and text[i] not in _WIDE + "、"


def drop_words(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    """Drop words, but always keep one."""
    word_spans = sure_words(text)
    if len(word_spans) < 2:
        return Refused("only one word; nothing would be left" if word_spans else "no word in the text")
    return without(text, sample_share(word_spans, min(strength, 1 - 1 / len(word_spans)), random))


def repeat_words(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    edits = []
    for start, end in sample_share(sure_words(text), strength, random):
        space = "" if is_unspaced(text[start]) else " "
        edits.append(Edit(end, end, space + text[start:end]))
    return edits


_ENDING = re.compile(f"[{OPEN_ENDED}{FINAL}{CLOSING}{EITHER}]")


def truncate(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    """Delete tokens (words and punctuation) at the end. The first word and the final punctuation stay, as in Table 16;
    punctuation that would end up before the final punctuation is deleted."""
    text_units = list(wholes(text))
    while text_units and not text_units[-1].is_word and _ENDING.match(text, text_units[-1].start):
        text_units.pop()
    words = [i for i, u in enumerate(text_units) if u.is_word]
    if len(words) < 2:
        return Refused("only one word; nothing would be left" if words else "no word in the text")
    kept = len(text_units) - max(1, round(strength * len(text_units)))
    last = words[max(0, bisect_left(words, kept) - 1)]
    return [Edit(text_units[last].end, text_units[-1].end, "")]


_SINKING = STOP_WORDS - {"i", "may", "will"}
"""Words that are capitalised only at the start of a sentence."""
_COMMON_NAMES = frozenset("Rose Art Gene Guy Per Sandy Randy Jean Ruby Amber May Carol".split())
_DOUBTFUL_NAMES = kinds.ALSO_FIRST | kinds.DOUBLE_FIRST | _COMMON_NAMES
_SURE_NAMES = (kinds.FIRST_NAMES - _DOUBTFUL_NAMES) | (
    (kinds.PLACES | kinds.TEAMS | kinds.FAMOUS) - set("Reading Turkey Spurs Heat Nets Jets Bath Chad Phoenix".split())
)
_PLAIN = word_set("plain-first-words")
"""More words that are not names."""
_QUOTE = re.compile("""['"“”‘’`()\\[\\]]""")


def swap_neighbours(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    """Draw pairs of neighbours until no two unmoved words are neighbours; swap a share of these pairs."""
    text_units = wholes(text)
    pairs = [(i, edit) for i, (a, b) in enumerate(pairwise(text_units)) if (edit := _swapped(text, a, b))]
    random.shuffle(pairs)
    moved: set[int] = set()
    apart = []
    for i, edit in pairs:
        if moved.isdisjoint((i, i + 1)):
            moved |= {i, i + 1}
            apart.append(edit)
    return sample_share(apart, strength, random)


def _swapped(text: str, a: TextUnit, b: TextUnit) -> Edit | None:
    """Return None if punctuation or a line break stands between, or the two are equal."""
    gap = text[a.end : b.start]
    whole = all(unit.is_word and not torn(text, unit.start, unit.end) for unit in (a, b))
    if not whole or not one_line(gap):
        return None
    new = text[b.start : b.end] + gap + text[a.start : a.end]
    return Edit(a.start, b.end, new) if new != text[a.start : b.end] else None


def swap_halves(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    english = is_english([text[start:end].lower() for start, end in words(text)])
    word_spans = whole_words(text)
    starts = [start for start, _ in word_spans]
    edits = []
    for first, last in movable_sentences(text):
        inside = word_spans[bisect_left(starts, first) : bisect_left(starts, last)]
        if edit := _turned(text, (first, last), inside, english):
            edits.append(edit)
    return sample_share(edits, strength, random)


def _turned(text: str, span: Span, word_spans: Sequence[Span], english: bool) -> Edit | None:
    """Cut at the white space nearest to the middle, counted in words; punctuation at the ends and at the cut stays. A sentence
    with a quotation or brackets is cut outside of them, in its middle half, or not at all.

    The new first word is capitalised, and the old one loses its capital unless it is a name. Return None if that is uncertain
    or there is no cut.
    """
    cuts = [i for i in range(1, len(word_spans)) if _parts(text, word_spans[i - 1][1], word_spans[i][0])]
    if not cuts:
        return None
    middle = len(word_spans) // 2
    first, last = word_spans[0][0], word_spans[-1][1]
    last += len(_closing(text[first:last], text[last : last + 1]))
    start, end = span
    if not all(_quoted(text[start:at]) for _, at in word_spans):
        if _quoted(text[start:end]):
            return None
        quiet = [i for i in cuts if not _QUOTE.search(text, word_spans[i - 1][1], word_spans[i][0])]
        outside = [i for i in quiet if not _quoted(text[start : word_spans[i - 1][1]])]
        central = [i for i in outside if len(word_spans) <= 4 * i <= 3 * len(word_spans)]
        cuts = central if central or len(outside) < len(cuts) else outside
    if not cuts:
        return None
    cut = min(cuts, key=lambda i: abs(i - middle))
    left, right = text[first : word_spans[cut - 1][1]], text[word_spans[cut][0] : last]
    if left[:1].isupper():
        opening = text[slice(*word_spans[0])]
        gives_up = _gives_up(text, word_spans, english)
        if gives_up is None:
            return None
        left = opening.lower() + left[len(opening) :] if gives_up else left
        right = right[:1].upper() + right[1:]
    new = right + text[word_spans[cut - 1][1] : word_spans[cut][0]] + left
    return Edit(first, last, new) if new != text[first:last] else None


def _closing(text: str, char: str) -> str:
    """Return the character after the text if it closes a bracket or quotation of the text."""
    return char if char in tuple(')]"”') and not _balanced(text) and _balanced(text + char) else ""


def _balanced(text: str) -> bool:
    """Return whether every bracket and quotation of the text is closed."""
    return text.count('"') % 2 == 0 and all(text.count(a) == text.count(b) for a, b in ("()", "[]", "“”"))


def _quoted(text: str) -> bool:
    """Return whether a bracket or quotation is open at the end of the text."""
    return not _balanced(plain(text)) or len(SINGLE.findall(plain(text))) % 2 == 1


def _parts(text: str, end: int, start: int) -> bool:
    return any(c.isspace() for c in text[end:start]) or (is_unspaced(text[end - 1]) and is_unspaced(text[start]))


def _gives_up(text: str, word_spans: Sequence[Span], english: bool) -> bool | None:
    """Return whether the first word is capitalised only because it starts the sentence; None if uncertain."""
    word = text[slice(*word_spans[0])]
    low = word.lower().replace("’", "'")
    bare = re.split(" ?'| n't|-", low)[0]
    if word[1:] != word[1:].lower() or text[word_spans[0][1] : word_spans[1][0]].strip() == "&":
        return False
    follows = text[word_spans[1][0]].isupper() and not text[word_spans[0][1] : word_spans[1][0]].strip()
    if bare in _SINKING:
        return None if bare == "the" and follows and english and _seen(text, "The") else True
    name = bare.capitalize()
    if not english or bare in kinds.TIMES | kinds.NO_NAMES or name in _SURE_NAMES:
        return False
    following = text[slice(*word_spans[1])]
    if bare in kinds.PLACE_FIRST and (follows or _unknown(following)):
        return None if following in kinds.TEAMS or following.lower() in kinds.PEOPLES else False
    if bare in _PLAIN:
        return None if follows and bare not in kinds.ROLES and _seen(text, name) else True
    parts = pos_tags(bare)
    if not parts and bare.endswith(("tion", "ment", "ness")):
        return None
    if not parts or _seen(text, name) or (parts == {"ADJ"} and following in STOP_WORDS):
        return False
    if _unknown(following) and bare not in kinds.ROLES:
        return None
    if name in kinds.KNOWN | _DOUBTFUL_NAMES or bare in kinds.TITLES or (follows and bare not in kinds.ROLES):
        return None
    if "NOUN" in parts and bare[-1] != "s" and bare not in kinds.ROLES:
        return True if re.search(rf"\b(?:the|an?|his|her|its|their) {re.escape(bare)}\b", text) else None
    return True


def _unknown(word: str) -> bool:
    """Return whether the word is in no dictionary."""
    return word.isalpha() and word.islower() and word not in STOP_WORDS | _PLAIN and not pos_tags(word)


def _seen(text: str, word: str) -> bool:
    """Return whether the word occurs in this spelling inside a sentence."""
    return bool(re.search(rf"(?<=[\w,] ){re.escape(word)}(?!\w)", text))
