"""Read line-aligned text files: the n-th line of every file belongs to the n-th segment.

In mt-metrics-eval's layout, texts may also be JSON Lines, and a `.docs` file has the document of each segment (`DOMAIN DOCUMENT`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from core.data import OutputKey, SegmentKey
from core.errors import ImportProblems, Problem
from core.formats.build import CHARACTERS
from core.formats.files import base_name, extension, stem
from core.formats.odd_texts import OddTexts
from core.formats.parsing.cells import FilePlace, FileTable
from core.formats.parsing.json_text import NotJson, parsed
from core.formats.parsing.limits import Meter
from core.formats.parsing.numbers import means_a_number
from core.formats.plain_lines import FEW, notes_on_files, other_format
from core.formats.problems import Collector, counted, shown
from core.formats.role_names import file_roles, mtme_name, words_of
from core.formats.streams.file_rows import KeptFile
from core.formats.streams.stage import Stage, StagedSegment
from core.formats.streams.staged import AT_ONCE, KnownOutputs, StagedImport
from core.progress import Progress, no_progress

_FIELDS = {"source": "source", "reference": "target", "system": "hypothesis"}
"""The field with the text in mt-metrics-eval's JSON Lines, by the role of the file."""


class LineRoles(NamedTuple):
    """The role of each file by name; `systems` are pairs of file and system name, `unused` files are not read, and `document` names the
    document of each segment."""

    source: str | None = None
    references: tuple[str, ...] = ()
    systems: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()
    document: str | None = None


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
    given = [(file, "Each reference needs one line per output", "reference") for file in references]
    given += [(source, "Each source line needs one output line", "source")] if source else []
    given += [(file, every_output, "system") for file in systems.values()]
    given += [(documents, "The file of documents needs one line per segment", "document")] if documents else []
    tables: list[FileTable] = []
    for file, _, role in given:
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
            problems.add(file.name, 1, "", other.found, "one text per line", other.todo)
    problems.check()
    lengths = Counter(len(table.rows) for table in tables)
    usual = max(lengths, key=lambda n: lengths[n])
    witness = next(table.name for table in tables if len(table.rows) == usual)
    for (file, todo, _), table in zip(given, tables, strict=True):
        if (n := len(table.rows)) != usual:
            problems.add(file.name, 0, "", counted(n, "line"), f"{usual}, as {witness} has", todo)
    problems.check()
    Meter(", ".join(f.name for f in systems.values())).outputs(usual * len(systems))
    stage, n_refs, names, numeric = Stage(), len(references), tuple(systems), set(systems)
    odd, characters = {system: OddTexts() for system in systems}, 0
    rows = zip(*(_texts(table, role) for table, (_, _, role) in zip(tables, given, strict=True)), strict=True)
    for number, texts in enumerate(rows, start=1):
        places = [FilePlace(table.name, number) for table in tables]
        key = SegmentKey(texts[-1] if documents else "", str(number))
        found = tuple(line for line in texts[:n_refs] if line)
        whose = (texts[n_refs] or None) if source else None
        stage.segments[key] = StagedSegment(0, whose, places[0], found, places[0])
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
    notes += notes_on_files(list(of_system.values()), [file.name for file, *_ in given], numbers)
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
        problems.add(table.name, 0, "", counted(len(table.rows), "line"), expected, todo)
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
    return ImportProblems([Problem(file.name, number, "", shown(line), expected, "Correct the line")])
