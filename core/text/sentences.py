"""Split a text into sentences: ordered, disjoint half-open code-point ranges that cover all characters except white space.

Nothing is normalised. The meaning of a sign that ends a sentence in one script only, such as the semicolon in Greek, where it is the
question mark, is decided by the script of the letters before it in its sentence, never by the sign alone. For the choice of splitters and default see docs/decisions/007-sentences.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from core.errors import UserError
from core.signature import GIVEN, package
from core.text.abbreviations import STARTERS, ends_no_sentence
from core.text.words import is_unspaced

_LETTERS = {
    "greek": "\u0370-\u0373\u0376-\u037d\u037f\u0386\u0388-\u03ff\u1f00-\u1fff",
    "armenian": "\u0531-\u0556\u0559\u0560-\u0588\ufb13-\ufb17",
    "ethiopic": "\u1200-\u135f\u1380-\u138f\u2d80-\u2ddf\uab01-\uab2e",
    "indic": "\u0900-\u0963\u0966-\u0dff",  # Devanagari to Sinhala: a bar is typed for the danda
}
_COMMON_MARKS = {
    "greek": {";": "?"},
    "armenian": {":": "?", "::": "??"},
    "ethiopic": {"::": "??", "\u1361\u1361": "\u1362\u1362"},
    "indic": {"|": "\u0964", "||": "\u0964\u0964"},
}
"""The signs of each script, and signs of the same length that end sentences in any."""

_SIGN = re.compile("[;:|\u1361]")
_SCRIPT = re.compile(f"[{''.join(_LETTERS.values())}]")
_TOKEN = re.compile(
    "|".join(f"(?P<{name}>[{letters}]+)" for name, letters in _LETTERS.items())
    + r"|(?P<end>[\n\r\u2028\u2029!?\u2026\u0589\u0964\u0965\u1362\u1367]|\.(?=\s))|(?P<mark>::|\|\||\u1361\u1361|[;:](?!\w)|\|)|(?P<other>[^\W\d_])"
)


def with_common_marks(text: str) -> str:
    """Return the text with the signs that end sentences in the script around them replaced by common ones; offsets stay the same.

    A sign counts if more than half of the letters before it in its sentence are of its script; a bar only directly after a letter.
    """
    if not _SIGN.search(text) or not _SCRIPT.search(text):
        return text
    out, letters, last, sentence, small = list(text), Counter[str](), -1, 0, text == text.lower()
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup or ""
        if kind == "mark":
            script = next((name for name, n in letters.items() if 2 * n > letters.total()), "")
            common = _COMMON_MARKS.get(script, {}).get(token[0])
            if common is None or (token[0][0] == "|" and last != token.start()):
                continue
            out[token.start() : token.end()] = common
            letters.clear()
            sentence = token.end()
        elif kind == "end":
            if token[0] != "." or not ends_no_sentence(text, *token.span(), sentence, small):
                letters.clear()
                sentence = token.end()
        else:
            letters[kind] += len(token[0])
            last = token.end()
    return "".join(out)


Span = tuple[int, int]
Splitter = Callable[[str], list[Span]]

RULE, PROSE, POINT, PYSBD = "rule", "prose", "point", "pysbd:"
LANGUAGES = (
    "en", "hi", "mr", "zh", "es", "am", "ar", "hy", "bg", "ur", "ru", "pl", "fa", "nl", "da", "fr", "my", "el", "it",
    "ja", "de", "kk", "sk",
)  # fmt: skip
DEFAULT = PROSE
PROSE_VERSION = 3
"""Increased whenever `prose` or its lists change the split of a text. The first version is not in signatures."""
RULE_VERSION = 2
"""The same for `rule`."""

SPLITTERS = (PROSE, RULE, POINT, *(PYSBD + language for language in LANGUAGES))

POINTS = ".\u2024\ufe52\uff0e"
OPEN_ENDED = POINTS + "?!\u2026\u2025\u203c\u203d\u2047-\u2049\u2e2e\u2e3c\u2e53\u2e54"
"""Characters that also occur inside sentences (3.5, Yahoo!): they end one before white space or a script without spaces."""

FINAL = (
    "\u037e\u0589\u061d-\u061f\u06d4\u0700-\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965\u0f0d-\u0f11\u0f14\u104a\u104b\u1362\u1367\u1368"
    "\u166e\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945\u1aa8-\u1aab\u1b4e\u1b4f\u1b5a\u1b5b\u1b5e\u1b5f\u1b7d-\u1b7f"
    "\u1c3b\u1c3c\u1c7e\u1c7f\u2cf9-\u2cfb\u2e60\u2e61\u3002\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f"
    "\ua9c8\ua9c9\uaa5d-\uaa5f\uaaf0\uaaf1\uabeb\ufe12\ufe15\ufe16\ufe56\ufe57\uff01\uff1f\uff61"
    "\U00010a56\U00010a57\U00010f55-\U00010f59\U00010f86-\U00010f89\U00011047\U00011048\U000110be-\U000110c1"
    "\U00011141-\U00011143\U000111c5\U000111c6\U000111cd\U000111de\U000111df\U00011238\U00011239\U0001123b\U0001123c"
    "\U000112a9\U000113d4\U000113d5\U0001144b\U0001144c\U000115c2\U000115c3\U000115c9-\U000115d7\U00011641\U00011642"
    "\U0001173c-\U0001173e\U00011944\U00011946\U00011a42\U00011a43\U00011a9b\U00011a9c\U00011c41\U00011c42\U00011ef7"
    "\U00011ef8\U00011f43\U00011f44\U00016a6e\U00016a6f\U00016af5\U00016b37\U00016b38\U00016b44\U00016d6e\U00016d6f"
    "\U00016e98\U0001bc9f\U0001da88"
)
"""The other characters of Unicode's Sentence_Terminal, the Greek question mark and the Tibetan shads: they always end a sentence."""

CLOSING = r"’”»›)\]}」』）】〉》〕］｝"
EITHER = "\"'“‘«‹"  # opening in some languages, closing in others

_RUN = re.compile(f"[{OPEN_ENDED}{FINAL}][{OPEN_ENDED}{FINAL}{CLOSING}{EITHER}]*")
_FINAL, _EITHER, _NOT_POINT = (re.compile(f"[{signs}]") for signs in (FINAL, EITHER, "^" + POINTS + CLOSING + EITHER))
_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_POINT = re.compile(r"(?<=[.?!]) ")


def splitter(name: str) -> Splitter:
    """Return the splitter `prose`, `rule`, `point` or `pysbd:LANGUAGE`. Raises UserError for another name, or if its package is missing."""
    if name not in SPLITTERS:
        raise UserError("unknown sentence splitter", got=f"“{name}”", expected=", ".join(SPLITTERS))
    own = {RULE: split_at_punctuation, PROSE: split_with_abbreviations, POINT: split_at_points}
    return own.get(name) or _pysbd(name.removeprefix(PYSBD))


def facts(name: str) -> dict[str, object]:
    """Return the signature fields of a splitter: its name and the version of its rules or package. Raises UserError as `splitter` does.

    `rule` is marked as given, because values from the time when it was the default are signed without the mark.
    """
    splitter(name)
    fields: dict[str, object] = {"sentences": f"{name}{GIVEN}" if name == RULE else name}
    fields |= {PROSE: PROSE_VERSION} if name == PROSE else {RULE: RULE_VERSION} if name == RULE else {}
    return fields | {"pysbd": package("pysbd")} if name.startswith(PYSBD) else fields


def sentences(text: str, split: Splitter) -> list[str]:
    """Return the sentences as texts."""
    return [text[start:end] for start, end in split(text)]


def split_at_punctuation(text: str) -> list[Span]:
    """Split after sentence terminators of any script, including closing quotes and brackets, and at line breaks.

    `.` `?` `!` `…` end a sentence before white space or a script without spaces; terminators of other scripts always do. `;` ends one in
    Greek, `:` in Armenian, `::` in Ethiopic and `|` in Indic scripts (`core.text.sentences`). A piece of only
    punctuation joins the sentence before it (the first one joins the next).
    """
    return _joined(text, _pieces(text, sorted([*_breaks(text), *(end for _, end in _terminators(text))])))


def split_with_abbreviations(text: str) -> list[Span]:
    """Split as `rule`, but not after the point of an abbreviation, initial or ordinal (`core.text.abbreviations`)."""
    breaks, at, sentence, small = _breaks(text), 0, 0, text == text.lower()
    cuts: list[int] = []
    for start, end in _terminators(text):
        while at < len(breaks) and breaks[at] <= start:
            sentence = max(sentence, breaks[at])
            at += 1
        line_ends = at < len(breaks) and not text[end : breaks[at]].strip()
        if text[start:end] in POINTS and not line_ends and ends_no_sentence(text, start, end, sentence, small):
            continue
        cuts.append(end)
        sentence = end
    return _joined(text, _pieces(text, sorted([*breaks, *cuts])))


def _breaks(text: str) -> list[int]:
    return [match.end() for match in _BREAK.finditer(text)]


def _terminators(text: str) -> Iterator[Span]:
    """Yield the sentence terminators, including closing quotes and brackets."""
    text = with_common_marks(text)
    for run in _RUN.finditer(text):
        end = run.end()
        if end < len(text) and not text[end].isspace() and (opening := _EITHER.search(text, run.start(), end)):
            end = opening.start()
        if _ends(text, run.start(), end):
            yield run.start(), end


def _ends(text: str, start: int, end: int) -> bool:
    if end == len(text) or text[end].isspace() or _FINAL.search(text, start, end):
        return True
    if not is_unspaced(text[end]):
        return False
    return bool(_NOT_POINT.search(text, start, end)) or (start > 0 and is_unspaced(text[start - 1]))


def split_at_points(text: str) -> list[Span]:
    """Split after `.` `?` `!` before a space only, to reproduce the published SMART figures."""
    return _pieces(text, [match.start() for match in _POINT.finditer(text)])


def _pieces(text: str, cuts: Iterable[int]) -> list[Span]:
    """Return the ranges between the cuts (in order), without white space at their ends."""
    out, start = [], 0
    for cut in (*cuts, len(text)):
        piece = text[start:cut]
        bare = piece.strip()
        if bare:
            first = start + len(piece) - len(piece.lstrip())
            out.append((first, first + len(bare)))
        start = cut
    return out


def _joined(text: str, pieces: list[Span]) -> list[Span]:
    out: list[Span] = []
    for start, end in pieces:
        if out and (_only_signs(text, start, end) or (len(out) == 1 and _only_signs(text, *out[0]))):
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


def _only_signs(text: str, start: int, end: int) -> bool:
    return all(c.isspace() or unicodedata.category(c)[0] == "P" for c in text[start:end])


@lru_cache(maxsize=len(LANGUAGES))
def _pysbd(language: str) -> Splitter:
    try:
        from pysbd import Segmenter
    except ModuleNotFoundError as error:
        raise UserError("the package pysbd is not installed", hint="pip install pysbd==0.3.4") from error
    segmenter: Any = Segmenter(language=language, clean=False)

    def split(text: str) -> list[Span]:
        """Split with pySBD. It may change characters; a sentence that is not found in the text is not a cut."""
        cuts, at = [], 0
        for piece in segmenter.segment(text):
            sentence = piece.strip()
            place = text.find(sentence, at) if sentence else -1
            if place >= 0:
                at = place + len(sentence)
                cuts.append(at)
        return _pieces(text, cuts)

    return split


_LEFT = re.compile(r"""(?:''|["'’”»)\]])(?=\s)""")
"""A closing mark separated by white space from the sentence before."""
SINGLE = re.compile(
    r"""(?<!\w)[`'‘](?=\w)(?!(?:s|m|ll|re|ve|d|em|til|\d0s)\b)|(?<=[^\ws\s])'(?!\w)|(?<=\s)`(?=\s)|(?<!s )(?<=\s)'(?=\s)|(?:(?<=says )|(?<=adds )|(?<=\bwas )|(?<=\bis )|(?<=\bas )|(?<=this ))'(?=\s)"""
)
"""Single quotation marks, excluding apostrophes between letters, before 's, and after an s."""
_BRACKETS = (("(", ")"), ("[", "]"), ("“", "”"), ('"', '"'))
_ORDINAL = re.compile(r"\b(?:the|his|her|its|their|my|our|your) \d{1,2} ?\.$", re.IGNORECASE)
"""The end of *won his 22. Olympic gold*, if split after the ordinal."""
_APART = re.compile(r"(?<![\s.?!])\s[.?!]$")


@lru_cache(maxsize=8192)
def movable_sentences(text: str) -> tuple[Span, ...]:
    """Return the spans of sentences that can be moved.

    They are the sentences of `core.text.sentences.split_with_abbreviations`, merged where it splits after an abbreviation with a separate
    full stop, before a lower-case letter (unless the whole text is lower case), or inside a quotation or brackets that
    close on the same line. A separate mark (`. ' Then`) stays with what it closes or opens.
    """
    out: list[Span] = []
    small = text == text.lower()
    for first, end in split_with_abbreviations(text):
        start = first
        if out and (mark := _LEFT.match(text, first)) and _closes(text, out, mark.group()):
            out[-1] = (out[-1][0], mark.end())
            start = mark.end() + len(text[mark.end() : end]) - len(text[mark.end() : end].lstrip())
        if out and _runs_on(text, out[-1], start, small):
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return tuple(out)


def _closes(text: str, before: list[Span], mark: str) -> bool:
    """Return whether the mark closes something: a closing mark always does, an ambiguous one if the last sentence with
    such a mark leaves it open."""
    if mark in ('"', "''"):
        return _open(plain(text[slice(*before[-1])]), '"', '"')
    if mark != "'":
        return True
    closing_marks = next((marks for span in reversed(before[-4:]) if (marks := SINGLE.findall(text, *span))), [])
    return len(closing_marks) % 2 == 1


def plain(text: str) -> str:
    """Return the text with all double quotation marks in one form."""
    return text.replace("``", '"').replace("''", '"')


def _runs_on(text: str, before: Span, start: int, small: bool) -> bool:
    """Return whether the sentence before continues at `start`."""
    if "\n" in text[before[1] : start]:
        return False
    done = plain(text[before[0] : before[1]])
    apart = bool(_APART.search(done))
    first = re.match(r"\w+", text[start:])
    if _ORDINAL.search(done) and first and first[0].casefold() not in STARTERS:
        return True
    if apart and abbreviated(done, text[start : start + 48], small):
        return True
    if text[start].islower() and not small and not apart:
        return True
    line = plain(text[start:].partition("\n")[0])
    return any(_open(done, *mark) and _open_before_closing(line, *mark) for mark in _BRACKETS)


def abbreviated(done: str, following: str, small: bool) -> bool:
    """Return whether the final full stop of `done`, separated or not, belongs to an abbreviation or initial."""
    joined = done[:-1].rstrip() + ". "
    return ends_no_sentence(joined + following, len(joined) - 2, len(joined) - 1, 0, small)


def _open(done: str, opening: str, closing: str) -> bool:
    if opening == closing:
        return done.count(opening) % 2 == 1 and not done.endswith(f".{closing}")
    return done.rfind(opening) > done.rfind(closing)


def _open_before_closing(line: str, opening: str, closing: str) -> bool:
    """Return whether the mark closes on this line before it opens again."""
    end = line.find(closing)
    return end >= 0 and (opening == closing or opening not in line[:end])
