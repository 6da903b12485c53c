"""Brill's tagger with the lexicon and rules bundled with TextBlob (pattern.en: Brown corpus and Penn Treebank).

TextBlob's own functions skip the rules for unknown words and for context after a lexicon look-up; here both are applied, as
they were trained. Only TextBlob's data files are read, because importing the package would import NLTK, which takes seconds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from core.errors import UserError

_EDGE = "STAART"
_NUMBER = re.compile(r"^[0-9\-\,\.\:\/\%\$]+$")


class _Rule(NamedTuple):
    place: int
    to: str
    command: str
    x: str
    y: str


class Brill:
    """Penn Treebank tagger."""

    def __init__(self, folder: Path) -> None:
        self.lexicon: dict[str, str] = {}
        for line in _lines(folder / "en-lexicon.txt"):
            word, _, tag = line.partition(" ")
            self.lexicon[word] = sys.intern(tag.split(" ")[0].partition("|")[0])
        self._shape = [line.split() for line in _lines(folder / "en-morphology.txt")]
        self._context: dict[str, list[_Rule]] = {}
        for place, line in enumerate(_lines(folder / "en-context.txt")):
            old, new, command, x, *rest = line.split()
            rule = _Rule(place, new, command.lower(), x, rest[0] if rest else "")
            self._context.setdefault(old, []).append(rule)
        anywhere = self._context.pop("*", [])
        for rules in self._context.values():
            rules.extend(anywhere)
            rules.sort()

    def tag(self, words: Sequence[str]) -> list[str]:
        """Return one tag per word of a sentence."""
        tags = [self._known(word, i) for i, word in enumerate(words)]
        for i, tag in enumerate(tags):
            if not tag:
                tags[i] = self._unknown(words, i)
        return self._by_context(words, tags)

    def _known(self, word: str, place: int) -> str:
        found = self.lexicon.get(word, "")
        if place == 0 and (not found or found.startswith("NNP")):
            found = self.lexicon.get(word.lower(), found)
        return found

    def _unknown(self, words: Sequence[str], i: int) -> str:
        word = words[i]
        if word.istitle():
            return "NNP"
        if _NUMBER.match(word):
            return "CD"
        tag = "NN"
        before = words[i - 1] if i else ""
        after = words[i + 1] if i + 1 < len(words) else ""
        for rule in self._shape:
            if rule[1] in _SHAPES:
                x, command = rule[0], rule[1]
            else:
                x, command = rule[1], rule[2][1:]
                if rule[0] != tag:
                    continue
            if self._shaped(command, x, word, before, after):
                tag = rule[-2]
        return tag

    def _shaped(self, command: str, x: str, word: str, before: str, after: str) -> bool:
        match command:
            case "hassuf":
                return word.endswith(x)
            case "haspref":
                return word.startswith(x)
            case "char":
                return x in word
            case "addsuf":
                return word + x in self.lexicon
            case "addpref":
                return x + word in self.lexicon
            case "deletesuf":
                return word.endswith(x) and word[: -len(x)] in self.lexicon
            case "deletepref":
                return word.startswith(x) and word[len(x) :] in self.lexicon
            case "goodleft":
                return after == x
            case _:
                return before == x

    def _by_context(self, words: Sequence[str], tags: Sequence[str]) -> list[str]:
        w = ["", "", "", *words, "", "", ""]
        t = [_EDGE, _EDGE, _EDGE, *tags, _EDGE, _EDGE, _EDGE]
        for i in range(3, len(words) + 3):
            done, rules = -1, self._context.get(t[i])
            while rules:
                for rule in rules:
                    if rule[0] > done and _holds(rule, w, t, i):
                        break
                else:
                    break
                done, t[i] = rule.place, rule.to
                rules = self._context.get(rule.to)
        return t[3:-3]


_SHAPES = {
    "char", "haspref", "hassuf", "addpref", "addsuf", "deletepref", "deletesuf", "goodleft", "goodright",
}  # fmt: skip


_NEAR_TAG = {
    "prevtag": (-1,), "nexttag": (1,), "prev2tag": (-2,), "next2tag": (2,), "prev1or2tag": (-1, -2), "next1or2tag": (1, 2),
    "prev1or2or3tag": (-1, -2, -3), "next1or2or3tag": (1, 2, 3),
}  # fmt: skip
"""Conditions that hold if x is the tag at one of these distances."""
_NEAR_WORD = {"curwd": (0,), "prevwd": (-1,), "nextwd": (1,), "prev1or2wd": (-1, -2)}
"""Conditions that hold if x is the word at one of these distances."""
_TAG, _WORD = True, False
_BOTH = {
    "surroundtag": (_TAG, -1, _TAG, 1), "prevbigram": (_TAG, -2, _TAG, -1), "nextbigram": (_TAG, 1, _TAG, 2),
    "lbigram": (_WORD, -1, _WORD, 0), "rbigram": (_WORD, 0, _WORD, 1), "wdand2aft": (_WORD, 0, _WORD, 2),
    "wdnexttag": (_WORD, 0, _TAG, 1), "wdand2tagaft": (_WORD, 0, _TAG, 2),
    "wdprevtag": (_TAG, -1, _WORD, 0), "wdand2tagbfr": (_TAG, -2, _WORD, 0),
}  # fmt: skip
"""Conditions that hold if x and y are the tag or word at these distances."""


def _holds(rule: _Rule, w: list[str], t: list[str], i: int) -> bool:
    _, _, command, x, y = rule
    if command in _NEAR_TAG:
        return x in [t[i + distance] for distance in _NEAR_TAG[command]]
    if command in _NEAR_WORD:
        return x in [w[i + distance] for distance in _NEAR_WORD[command]]
    if command not in _BOTH:
        return False
    first_is_tag, first, second_is_tag, second = _BOTH[command]
    return (t if first_is_tag else w)[i + first] == x and (t if second_is_tag else w)[i + second] == y


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines() if line.strip() and not line.startswith(";;;")]


@cache
def brill() -> Brill:
    """Return the tagger, loaded once. Raises UserError if TextBlob is not installed."""
    spec = find_spec("textblob")
    if spec is None or spec.origin is None:
        raise UserError("the package textblob is not installed", hint="pip install textblob==0.20.1")
    return Brill(Path(spec.origin).parent / "en")
