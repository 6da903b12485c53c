"""Read line-aligned text files: the n-th line of every file belongs to the n-th segment.

In mt-metrics-eval's layout, texts may also be JSON Lines, and a `.docs` file has the document of each segment (`DOMAIN DOCUMENT`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from core.data import Dataset, OutputKey, SegmentKey
from core.errors import ImportProblems, Problem
from core.formats.build import CHARACTERS
from core.formats.files import base_name, extension, stem, without_end
from core.formats.odd_texts import OddTexts
from core.formats.parsing.cells import FilePlace
from core.formats.parsing.json_text import NotJson, parsed
from core.formats.parsing.limits import Meter
from core.formats.parsing.numbers import means_a_number
from core.formats.plain_lines import FEW, notes_on_files, other_format
from core.formats.problems import Collector, counted, shown
from core.formats.role_names import file_roles, mtme_name, words_of
from core.formats.streams.opened import AnyFile, TextFile
from core.formats.streams.stage import Stage, StagedSegment
from core.formats.streams.staged import AT_ONCE, StagedImport
from core.progress import Progress, no_progress, part

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


def aligned(source: AnyFile | None, references: Sequence[AnyFile], systems: Mapping[str, AnyFile]) -> Dataset:
    """Return the dataset of line-aligned files in memory, as `stage_lines` reads them."""
    return stage_lines(source, references, systems).dataset()


def stage_roles(files: Mapping[str, AnyFile], roles: LineRoles, progress: Progress = no_progress) -> StagedImport:
    """Read the files by their roles, as `stage_lines` does; `files` are by name."""
    return stage_lines(
        files[roles.source] if roles.source else None,
        [files[name] for name in roles.references],
        {system: files[name] for name, system in roles.systems},
        progress,
        files[roles.document] if roles.document else None,
    )


def stage_lines(
    source: AnyFile | None, references: Sequence[AnyFile], systems: Mapping[str, AnyFile], progress: Progress = no_progress,
    documents: AnyFile | None = None,
) -> StagedImport:  # fmt: skip
    """Read line-aligned files; segments are numbered "1", "2", … over all documents, which `documents` names (by default "").

    An empty output line is an empty output; an empty source or reference line means that there is none. `progress` is called with the
    share of the work. Raises `ImportProblems` for unreadable files, files that are no lines of text (`plain_lines`), no system or too many
    (`ERRORSCOPE_MAX_SYSTEMS`), and every file with a different number of lines.
    """
    Meter("").systems(len(systems))
    problems = Collector()
    if not systems:
        problems.add("", 0, "", "no system", "one text file per system", "Choose the files with the systems' outputs")
    every_output = "Each output needs one reference line" if references else "All files need the same number of lines"
    given = [(file, "Each reference needs one line per output", "reference") for file in references]
    given += [(source, "Each source line needs one output line", "source")] if source else []
    given += [(file, every_output, "system") for file in systems.values()]
    given += [(documents, "The file of documents needs one line per segment", "document")] if documents else []
    files: list[TextFile] = []
    counts: list[int] = []
    for i, (file, _, role) in enumerate(given):
        try:
            text = TextFile(file, part(progress, i, 2 * len(given)))
            files.append(text)
            counts.append(sum(1 for _ in _texts(text, role)))
        except ImportProblems as error:
            problems.extend(error.problems)
            continue
        if role != "document" and not _in_json(text) and (other := other_format(text.lines(), role)):
            problems.add(file.name, 1, "", other.found, "one text per line", other.todo)
    problems.check()
    lengths = Counter(counts)
    usual = max(lengths, key=lambda n: lengths[n])
    witness = next(file.name for file, n in zip(files, counts, strict=True) if n == usual)
    for (file, todo, _), n in zip(given, counts, strict=True):
        if n != usual:
            problems.add(file.name, 0, "", counted(n, "line"), f"{usual}, as {witness} has", todo)
    problems.check()
    Meter(", ".join(f.name for f in systems.values())).outputs(usual * len(systems))
    stage, n_refs, names, numeric = Stage(), len(references), tuple(systems), set(systems)
    for text in files:
        text.progress = no_progress
    odd, characters = {system: OddTexts() for system in systems}, 0
    rows = zip(*(_texts(text, role) for text, (_, _, role) in zip(files, given, strict=True)), strict=True)
    for number, texts in enumerate(rows, start=1):
        places = [FilePlace(text.name, number) for text in files]
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
            progress((1 + number / usual) / 2)
    stage.keep()
    of_system = {system: file.name for system, file in systems.items()}
    numbers = [name for system, name in of_system.items() if system in numeric and usual >= FEW]
    notes = [note for system, file in of_system.items() for note in odd[system].notes(file)]
    notes += notes_on_files(list(of_system.values()), [file.name for file, *_ in given], numbers)
    return StagedImport(stage, (), notes=notes)


def numbered(text: TextFile) -> Iterator[str]:
    """Yield the lines without their line ends. Raises `ImportProblems` for more lines than the row limit."""
    meter = Meter(text.name)
    for number, line in enumerate(text.lines(), start=1):
        meter.row(number)
        yield without_end(line)


def _texts(file: TextFile, role: str) -> Iterator[str]:
    """Yield the text of each line: the line itself, the document in it, or the field of JSON Lines. Raises `ImportProblems`."""
    in_json = _in_json(file)
    for number, line in enumerate(numbered(file), start=1):
        if role == "document":
            words = line.split()
            if len(words) != 2:
                raise _unread(file, number, line, "DOMAIN DOCUMENT: two names with a blank or tab between them")
            yield words[1]
        else:
            yield _field(file, number, line, _FIELDS[role]) if in_json else line


def _in_json(file: TextFile) -> bool:
    return extension(file.name) == "jsonl"


def _field(file: TextFile, number: int, line: str, name: str) -> str:
    try:
        value = parsed(line)
    except NotJson:
        value = None
    text = value.get(name) if isinstance(value, dict) else None
    if not isinstance(text, str):
        raise _unread(file, number, line, f"an object with the text under “{name}”")
    return text


def _unread(file: TextFile, number: int, line: str, expected: str) -> ImportProblems:
    return ImportProblems([Problem(file.name, number, "", shown(line), expected, "Correct the line")])
