"""Recognise text files whose lines are not the texts of segments: markup, tables, JSON, logs of programs, scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from core.formats.columns import roles_of
from core.formats.files import base_name, without_end
from core.formats.parsing.json_text import NotJson, parsed
from core.formats.problems import shown
from core.formats.role_names import names_a_language, words_of
from core.formats.table import columns_in

LOOK = 100
"""Lines with text that are looked at."""
FEW = 3
"""Fewer lines than these say nothing about a file."""

_MARKUP = re.compile(
    r"\s*<(\?xml|!doctype|(html|srcset|refset|tstset|mteval|dataset|doc|seg|tmx|xliff)\b)", re.IGNORECASE
)
_LOGS = (
    (
        re.compile(r"[STHDPE]-\d+\t"),
        "the log of fairseq-generate",
        "Write one output per line, in the order of the segments: grep ^D- FILE | sort -V | cut -f3",
    ),
    (
        re.compile(r"[^\t]+\t(Segment \d+\t)?score: -?[\d.]+$"),
        "scores as comet-score prints them",
        "Choose the files with the outputs, or the JSON file that comet-score --to_json writes",
    ),
    (
        re.compile(r"(BLEU|chrF|TER)\S* = \d"),
        "scores as sacrebleu prints them",
        "Choose the files with the outputs",
    ),
    (
        re.compile(r"\d+ \|\|\| .* \|\|\| "),
        "an n-best list",
        "Write the best output of each segment on a line of its own, without the other fields",
    ),
)


class OtherFormat(NamedTuple):
    """What a file is instead of lines of text, and what to do."""

    found: str
    todo: str


def other_format(lines: Iterable[str], role: str) -> OtherFormat | None:
    """Return what a file is whose first lines are no texts of segments; None if they may be.

    The source may have a tab in each line, because it may be data that are described.
    """
    first = [without_end(line) for line in islice((line for line in lines if line.strip()), LOOK)]
    if not first:
        return None
    if _MARKUP.match(first[0]):
        todo = "Write the text of each segment on a line of its own (a test set of WMT: sacrebleu -t SET -l PAIR --echo src)"
        return OtherFormat(f"XML or SGML, {shown(first[0].strip())}", todo)
    for form, found, todo in _LOGS:
        if all(map(form.match, first)):
            return OtherFormat(found, todo)
    if len(roles_of(keys := _keys(first))) > 1:
        return OtherFormat(f"JSON objects with {', '.join(map(shown, keys[:4]))}", "Rename the file to .jsonl")
    if columns := columns_in(first):
        todo = f"Rename the file to {'.tsv' if first[0].count(chr(9)) else '.csv'}"
        return OtherFormat(f"a table with the columns {', '.join(map(shown, columns[:4]))}", todo)
    tabs = {line.count("\t") for line in first}
    if role != "source" and len(first) >= FEW and len(tabs) == 1 and tabs != {0}:
        todo = "Keep only the texts (cut -f2 for the second column), or write a first line with the names of the columns and rename the file to .tsv"
        return OtherFormat(f"{tabs.pop() + 1} columns separated by tabs in every line", todo)
    return None


def _keys(lines: Sequence[str]) -> list[str]:
    """Return the keys of the first line if every line is a JSON object."""
    first: dict[str, Any] | None = None
    for line in lines:
        if not line.lstrip().startswith("{"):
            return []
        try:
            value = parsed(line)
        except NotJson:
            return []
        first = first or value
    return list(first or ())


def notes_on_files(systems: Sequence[str], names: Sequence[str], numbers: Sequence[str]) -> list[str]:
    """Return notes on files of outputs that may be something else. `names` are all files, `numbers` those whose lines are all numbers."""
    words = {name: words_of(base_name(name)) for name in names}
    shared = set[str]().union(*words.values()).intersection(*words.values()) if len(names) > 1 else set[str]()
    return [
        *(f"{name}: every line is a number. Is it a file of scores? Then do not use it." for name in numbers),
        *(
            f"{name}: outputs of a system named after a language. Is it the source or a reference? Then change its role."
            for name in systems
            if names_a_language(words[name], shared)
        ),
    ]
