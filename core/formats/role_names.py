"""What names of text files, columns and systems say about sources, references and human texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

_CAPITALS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SOURCE = re.compile(r"(src|source|input)s?")
_REFERENCE = re.compile(r"(ref|reference)s?[a-z]?|gold|golden|target|tgt")
_HUMAN = re.compile(r"(ref|reference)s?[a-z]?|human[a-z]?|gold|golden|truth|highlights|ht|post|postedit")
_PLAIN = frozenset(
    "id nr doc docs document documents article articles story text texts segment segments seg sent sentence sentences line lines "
    "item example sample output outputs summary summaries summ translation translations translator response answer caption written edit "
    "edited standard orig original raw clean plain tok tokenized detok detokenized lower txt gz out data file set test dev valid train "
    "newstest generaltest wmttest wmt ted flores ground".split()
)
_LANGUAGES = frozenset(
    "en de fr zh cs ja ru uk is ha es it pt nl pl ro tr ar hi ko fi et lt lv gu kk ta ps km iu he hr bn xh zu mr ne si sw vi th fa el hu "
    "sv da nb nn bg sr sk sl ca ga eng deu fra zho ces jpn rus ukr isl hau spa hin kor ara english german french chinese".split()
)


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: `SystemSummary`, `system_summary2` → system, summary."""
    return tuple(re.findall(r"[^\W\d_]+", _CAPITALS.sub(" ", name).casefold()))


def is_human_name(name: str) -> bool:
    """Return whether a system or column has the name of a human text or reference, such as `refA`, `human-B`, `gold_summary`.

    A further word that is no usual one beside them is part of another name: `synthetic_ref`, `HumanEval-7B`, `reference-free-mt`.
    """
    return _is_named(words_of(name), _HUMAN)


def file_roles(names: Sequence[str]) -> list[Literal["source", "reference", ""]]:
    """Return the role that each file name says, "" if none: `newstest-src.de`, `ref.A.en`, `cnndm.ref` beside `cnndm.src`.

    As in `is_human_name`, no further word may occur, but one that all files share, or a source and a reference, names the data.
    """
    words = [words_of(name) for name in names]
    shared = set[str]()
    if len(words) > 1:
        shared = set(words[0]).intersection(*words[1:])
        named = [[set(w) for w in words if any(map(kind.fullmatch, w))] for kind in (_SOURCE, _REFERENCE)]
        shared |= {
            word for source in named[0] for reference in named[1] if source != reference for word in source & reference
        }
    return [
        "source" if _is_named(w, _SOURCE, shared) else "reference" if _is_named(w, _REFERENCE, shared) else ""
        for w in words
    ]


def _is_named(words: Sequence[str], kind: re.Pattern[str], shared: set[str] | frozenset[str] = frozenset()) -> bool:
    others = [word for word in words if not kind.fullmatch(word)]
    return len(others) < len(words) and all(
        len(word) == 1 or word in _PLAIN or word in shared or _is_language(word) for word in others
    )


def _is_language(word: str) -> bool:
    return word in _LANGUAGES or (len(word) == 4 and word[:2] in _LANGUAGES and word[2:] in _LANGUAGES)
