"""Read line-aligned text files (line n of every file belongs to segment n), and recognise files that are none.

In mt-metrics-eval's layout, texts may also be JSON Lines, and a `.docs` file has the document of each segment (`DOMAIN DOCUMENT`).
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from core.data import OutputKey, SegmentKey
from core.errors import ImportProblems
from core.formats.build import CHARACTERS
from core.formats.columns import roles_of
from core.formats.files import base_name, extension, stem, without_end
from core.formats.mapping import LineRoles
from core.formats.parsing.cells import FilePlace, FileTable, Meter
from core.formats.parsing.json_text import NotJson, parsed
from core.formats.parsing.numbers import means_a_number
from core.formats.problems import Collector, OddTexts, OtherFormat, refused, shown
from core.formats.role_names import file_roles, mtme_name, names_a_language, words_of
from core.formats.streams.file_rows import KeptFile
from core.formats.streams.stage import Stage, StagedSegment
from core.formats.streams.staged import AT_ONCE, KnownOutputs, StagedImport
from core.formats.table import columns_in
from core.formatting import format_count
from core.progress import Progress, no_progress

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
    for form, got, todo in _LOGS:
        if all(map(form.match, first)):
            return OtherFormat(got, todo)
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


_FIELDS = {"source": "source", "reference": "target", "system": "hypothesis"}
"""The field with the text in mt-metrics-eval's JSON Lines, by the role of the file."""


def guess_roles(names: Sequence[str]) -> LineRoles:
    """Guess roles from the file names: a source, references, documents (`.docs`), and systems, which are the rest.

    The folders of mt-metrics-eval's layout decide (`sources/en-de.txt`), else the words of the names (`role_names.file_roles`). Of several
    sources, the one without further words is the source, and the others are systems. A system is named after its file without the
    extension, or with it if two names differ only there.
    """
    placed = {n: at.kind for n in names if (at := mtme_name(n)) is not None}
    document = next((n for n in names if extension(n) == "docs"), None)
    rest = [n for n in names if n not in placed and n != document]
    said: dict[str, str] = dict(zip(rest, file_roles([base_name(n) for n in rest]), strict=True))
    said |= placed
    sources = [n for n in names if said.get(n) == "source"]
    source = min(sources, key=lambda n: (len(words_of(stem(n))), names.index(n)), default=None)
    references = tuple(n for n in names if said.get(n) == "reference")
    rest = [n for n in names if n not in (source, document, *references)]
    stems = Counter(stem(n) for n in rest)
    systems = tuple((n, stem(n) if stems[stem(n)] == 1 else base_name(n)) for n in rest)
    return LineRoles(source, references, systems, document=document)


def stage_roles(
    files: Mapping[str, KeptFile], roles: LineRoles, progress: Progress = no_progress, known: KnownOutputs | None = None
) -> StagedImport:
    """Return the content of line-aligned files by their roles; segments are numbered "1", "2", … over all documents, which the file of
    documents names (by default "").

    An empty output line is an empty output; an empty source or reference line means that there is none. `progress` is called with the
    share of the work. Raises `ImportProblems` for unreadable files, files that are no lines of text (`plain_lines`), no system or too many
    (`ERRORSCOPE_MAX_SYSTEMS`), and every file with a different number of lines.
    """
    references = [files[name] for name in roles.references]
    systems = {system: files[name] for name, system in roles.systems}
    source = files[roles.source] if roles.source else None
    documents = files[roles.document] if roles.document else None
    Meter("").systems(len(systems))
    problems = Collector()
    if not systems and not (known and references):
        problems.add("", 0, "", "no system", "one text file per system", "Choose the files with the systems' outputs")
    every_output = "Each output needs one reference line" if references else "All files need the same number of lines"
    inputs = [(file, "Each reference needs one line per output", "reference") for file in references]
    inputs += [(source, "Each source line needs one output line", "source")] if source else []
    inputs += [(file, every_output, "system") for file in systems.values()]
    inputs += [(documents, "The file of documents needs one line per segment", "document")] if documents else []
    tables: list[FileTable] = []
    for file, _, role in inputs:
        problems.extend(file.problems)
        if (table := file.rows) is None:
            continue
        tables.append(table)
        if role == "document" or _in_json(table):
            try:
                deque(_texts(table, role), maxlen=0)
            except ImportProblems as error:
                problems.extend(error.problems)
        elif other := other_format(_lines(table), role):
            problems.add(file.name, 1, "", other.got, "one text per line", other.todo)
    problems.check()
    lengths = Counter(len(table.rows) for table in tables)
    usual = max(lengths, key=lambda n: lengths[n])
    witness = next(table.name for table in tables if len(table.rows) == usual)
    for (file, todo, _), table in zip(inputs, tables, strict=True):
        if (n := len(table.rows)) != usual:
            problems.add(file.name, 0, "", format_count(n, "line"), f"{usual}, as {witness} has", todo)
    problems.check()
    Meter(", ".join(f.name for f in systems.values())).outputs(usual * len(systems))
    stage, n_refs, names, numeric = Stage(), len(references), tuple(systems), set(systems)
    odd, characters = {system: OddTexts() for system in systems}, 0
    rows = zip(*(_texts(table, role) for table, (_, _, role) in zip(tables, inputs, strict=True)), strict=True)
    for number, texts in enumerate(rows, start=1):
        places = [FilePlace(table.name, number) for table in tables]
        key = SegmentKey(texts[-1] if documents else "", str(number))
        reference_texts = tuple(line for line in texts[:n_refs] if line)
        whose = (texts[n_refs] or None) if source else None
        stage.segments[key] = StagedSegment(0, whose, places[0], reference_texts, places[0])
        first = n_refs + bool(source)
        last = first + len(names)
        for system, line, place in zip(names, texts[first:last], places[first:last], strict=True):
            stage.outputs[OutputKey(system, *key)] = line, place
            odd[system].take("outputs", line)
            if system in numeric and not means_a_number(line):
                numeric.remove(system)
        characters += sum(map(len, texts))
        if len(stage.outputs) >= AT_ONCE or characters >= CHARACTERS:
            stage.keep()
            characters = 0
            progress(number / usual)
    stage.keep()
    of_system = {system: file.name for system, file in systems.items()}
    numbers = [name for system, name in of_system.items() if system in numeric and usual >= FEW]
    notes = [note for system, file in of_system.items() for note in odd[system].notes(file)]
    notes += notes_on_files(list(of_system.values()), [file.name for file, *_ in inputs], numbers)
    staged = StagedImport(stage, (), known, notes)
    if known is not None and not systems:
        _check_lines(staged, tables, known)
    return staged


def _check_lines(staged: StagedImport, tables: Sequence[FileTable], known: KnownOutputs) -> None:
    """Raise `ImportProblems` unless the lines are the segments of a project, or of those of its documents that the files name."""
    problems, documents = Collector(), staged.documents()
    n = sum(key.doc_id in documents for key in known.segments())
    for table in tables if n != staged.stage.n_segments else ():
        expected = f"{n:,}, as the project has segments" if n else "a project with numbered segments"
        todo = "Write one line for each segment of the project, or a table with the IDs of the segments"
        problems.add(table.name, 0, "", format_count(len(table.rows), "line"), expected, todo)
    problems.check()
    staged.check_segments(problems)
    problems.check()


def _texts(table: FileTable, role: str) -> Iterator[str]:
    """Yield the text of each line: the line itself, the document in it, or the field of JSON Lines. Raises `ImportProblems`."""
    in_json = _in_json(table)
    for number, line in enumerate(_lines(table), start=1):
        if role == "document":
            words = line.split()
            if len(words) != 2:
                raise _unread(table, number, line, "DOMAIN DOCUMENT: two names with a blank or tab between them")
            yield words[1]
        else:
            yield _field(table, number, line, _FIELDS[role]) if in_json else line


def _lines(table: FileTable) -> Iterator[str]:
    return (cast(str, row.cells[0]) for row in table.rows)


def _in_json(table: FileTable) -> bool:
    return extension(table.name) == "jsonl"


def _field(file: FileTable, number: int, line: str, name: str) -> str:
    try:
        value = parsed(line)
    except NotJson:
        value = None
    text = value.get(name) if isinstance(value, dict) else None
    if not isinstance(text, str):
        raise _unread(file, number, line, f"an object with the text under “{name}”")
    return text


def _unread(file: FileTable, number: int, line: str, expected: str) -> ImportProblems:
    return refused(file.name, number, shown(line), expected, "Correct the line")
