"""Split a text into sentences: ordered, disjoint half-open code-point ranges that cover all characters except white space.

Nothing is normalised. For the choice of splitters and default see docs/decisions/007-sentences.md.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from core.errors import UserError
from core.signature import GIVEN, package
from core.text.abbreviations import ends_no_sentence
from core.text.script_marks import with_common_marks
from core.text.words import is_unspaced

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
    own = {RULE: rule, PROSE: prose, POINT: point}
    return own.get(name) or _pysbd(name.removeprefix(PYSBD))


def facts(name: str) -> dict[str, object]:
    """Return the signature fields of a splitter: its name and the version of its rules or package. Raises UserError as `splitter` does.

    `rule` is marked as given, because values from the time when it was the default are signed without the mark.
    """
    splitter(name)
    found: dict[str, object] = {"sentences": f"{name}{GIVEN}" if name == RULE else name}
    found |= {PROSE: PROSE_VERSION} if name == PROSE else {RULE: RULE_VERSION} if name == RULE else {}
    return found | {"pysbd": package("pysbd")} if name.startswith(PYSBD) else found


def sentences(text: str, split: Splitter) -> list[str]:
    """Return the sentences as texts."""
    return [text[start:end] for start, end in split(text)]


def rule(text: str) -> list[Span]:
    """Split after sentence terminators of any script, including closing quotes and brackets, and at line breaks.

    `.` `?` `!` `…` end a sentence before white space or a script without spaces; terminators of other scripts always do. `;` ends one in
    Greek, `:` in Armenian, `::` in Ethiopic and `|` in Indic scripts (`core.text.script_marks`). A piece of only
    punctuation joins the sentence before it (the first one joins the next).
    """
    return _joined(text, _pieces(text, sorted([*_breaks(text), *(end for _, end in _terminators(text))])))


def prose(text: str) -> list[Span]:
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


def point(text: str) -> list[Span]:
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
        for found in segmenter.segment(text):
            sentence = found.strip()
            place = text.find(sentence, at) if sentence else -1
            if place >= 0:
                at = place + len(sentence)
                cuts.append(at)
        return _pieces(text, cuts)

    return split
