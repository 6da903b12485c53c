"""What names of text files, columns and systems say about sources, references and human texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

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
_PAIR = r"(?P<pair>[A-Za-z_]{2,}-[A-Za-z_]{2,})"
_NAME, _TEXT, _SCORE = r"(?P<name>[^/]+)", r"\.(?:txt|jsonl)", r"\.(?P<level>seg|sys|doc|domain)\.score"
_NAMED_BY_PAIR = (
    ("document", "documents", r"\.docs"),
    ("rating", "human-scores", rf"\.{_NAME}\.(?P<level>seg)\.rating"),
    ("human", "human-scores", rf"\.{_NAME}{_SCORE}"),
    ("source", "sources", _TEXT),
    ("reference", "references", rf"\.{_NAME}{_TEXT}"),
)
_IN_FOLDER_OF_PAIR = (("system", "system-outputs", _TEXT), ("metric", "metric-scores", _SCORE))
MTME_FOLDERS = frozenset(folder for _, folder, _ in (*_NAMED_BY_PAIR, *_IN_FOLDER_OF_PAIR)) | {"metadata"}
_PLACED = [
    *((kind, re.compile(rf"(?:.*/)?{folder}/{_PAIR}{rest}(?:\.gz)?")) for kind, folder, rest in _NAMED_BY_PAIR),
    *(
        (kind, re.compile(rf"(?:.*/)?{folder}/{_PAIR}/{_NAME}{rest}(?:\.gz)?"))
        for kind, folder, rest in _IN_FOLDER_OF_PAIR
    ),
]
_UNPLACED = [
    *((kind, re.compile(rf"{_PAIR}{rest}(?:\.gz)?")) for kind, _, rest in _NAMED_BY_PAIR),
    *((kind, re.compile(rf"{_NAME}{rest}(?:\.gz)?")) for kind, _, rest in _IN_FOLDER_OF_PAIR),
]
MtmeKind = Literal["source", "reference", "system", "document", "human", "rating", "metric"]


class MtmeName(NamedTuple):
    """What a file is in mt-metrics-eval's layout: its kind, language pair ("" if its name does not say it), the name of its reference,
    system, score or metric ("" if it has none), and the level of its scores (`seg`, `sys`, `doc` or `domain`)."""

    kind: MtmeKind
    pair: str
    name: str
    level: str


def mtme_name(path: str) -> MtmeName | None:
    """Return what the folder of a file says in mt-metrics-eval's layout, None if it is not of this layout: `sources/en-de.txt`,
    `references/en-de.refA.txt`, `system-outputs/en-de/A.txt`, `documents/en-de.docs`, `human-scores/en-de.mqm.seg.score`,
    `metric-scores/en-de/COMET-refA.seg.score`."""
    return _mtme(_PLACED, path.replace("\\", "/"), "")


def mtme_name_without_folder(name: str, pair: str = "") -> MtmeName | None:
    """Return what the name of a file says in mt-metrics-eval's layout where its folder is not known. With `pair`, only names of this
    pair and names without a pair (systems and metrics) are recognised."""
    return _mtme(_UNPLACED, name, pair)


def _mtme(patterns: Sequence[tuple[str, re.Pattern[str]]], name: str, pair: str) -> MtmeName | None:
    for kind, pattern in patterns:
        match = pattern.fullmatch(name)
        if match is None:
            continue
        said = {"pair": "", "name": "", "level": ""} | match.groupdict()
        if not (pair and said["pair"]) or said["pair"] == pair:
            return MtmeName(cast(MtmeKind, kind), **said)
    return None


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


def names_a_language(words: Sequence[str], shared: set[str]) -> bool:
    """Return whether the words of a file name are those that all files share, usual ones, and a language: `corpus.de` beside `corpus.en`."""
    own = [word for word in words if word not in shared and word not in _PLAIN]
    return bool(own) and all(map(_is_language, own))


def _is_named(words: Sequence[str], kind: re.Pattern[str], shared: set[str] | frozenset[str] = frozenset()) -> bool:
    others = [word for word in words if not kind.fullmatch(word)]
    return len(others) < len(words) and all(
        len(word) == 1 or word in _PLAIN or word in shared or _is_language(word) for word in others
    )


def _is_language(word: str) -> bool:
    return word in _LANGUAGES or (len(word) == 4 and word[:2] in _LANGUAGES and word[2:] in _LANGUAGES)
