"""Read line-aligned text files: the n-th line of every file belongs to the n-th segment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from core.data import Dataset, OutputKey, SegmentKey
from core.errors import ImportProblems
from core.formats.build import CHARACTERS
from core.formats.files import base_name, stem, without_end
from core.formats.parsing.cells import FilePlace
from core.formats.parsing.limits import Meter
from core.formats.problems import Collector, counted
from core.formats.role_names import file_roles, words_of
from core.formats.streams.opened import AnyFile, TextFile
from core.formats.streams.stage import Stage, StagedSegment
from core.formats.streams.staged import AT_ONCE, StagedImport
from core.progress import Progress, no_progress, part


class LineRoles(NamedTuple):
    """The role of each file by name; `systems` are pairs of file and system name, `unused` files are not read."""

    source: str | None = None
    references: tuple[str, ...] = ()
    systems: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()


def guess_roles(names: Sequence[str]) -> LineRoles:
    """Guess roles from the file names (`core.formats.role_names.file_roles`): a source, references, and systems, which are the rest.

    Of several sources, the one without further words is the source, and the others are systems. A system is named after its file without
    the extension, or with it if two names differ only there.
    """
    said = dict(zip(names, file_roles([base_name(name) for name in names]), strict=True))
    sources = [n for n in names if said[n] == "source"]
    source = min(sources, key=lambda n: (len(words_of(stem(n))), names.index(n)), default=None)
    references = tuple(n for n in names if said[n] == "reference")
    rest = [n for n in names if n != source and n not in references]
    stems = Counter(stem(n) for n in rest)
    return LineRoles(source, references, tuple((n, stem(n) if stems[stem(n)] == 1 else base_name(n)) for n in rest))


def aligned(source: AnyFile | None, references: Sequence[AnyFile], systems: Mapping[str, AnyFile]) -> Dataset:
    """Return the dataset of line-aligned files in memory, as `stage_lines` reads them."""
    return stage_lines(source, references, systems).dataset()


def stage_lines(
    source: AnyFile | None, references: Sequence[AnyFile], systems: Mapping[str, AnyFile], progress: Progress = no_progress
) -> StagedImport:  # fmt: skip
    """Read line-aligned files; segments are numbered "1", "2", … in the document "".

    An empty output line is an empty output; an empty source or reference line means that there is none. `progress` is called with the
    share of the work. Raises `ImportProblems` for unreadable files, no system or too many (`ERRORSCOPE_MAX_SYSTEMS`), and every file
    with a different number of lines.
    """
    Meter("").systems(len(systems))
    problems = Collector()
    if not systems:
        problems.add("", 0, "", "no system", "one text file per system", "Choose the files with the systems' outputs")
    every_output = "Each output needs one reference line" if references else "All files need the same number of lines"
    given = [(file, "Each reference needs one line per output") for file in references]
    given += [(source, "Each source line needs one output line")] if source else []
    given += [(file, every_output) for file in systems.values()]
    files: list[TextFile] = []
    counts: list[int] = []
    for i, (file, _) in enumerate(given):
        try:
            text = TextFile(file, part(progress, i, 2 * len(given)))
            files.append(text)
            counts.append(sum(1 for _ in numbered(text)))
        except ImportProblems as error:
            problems.extend(error.problems)
    problems.check()
    lengths = Counter(counts)
    usual = max(lengths, key=lambda n: lengths[n])
    witness = next(file.name for file, n in zip(files, counts, strict=True) if n == usual)
    for (file, todo), n in zip(given, counts, strict=True):
        if n != usual:
            problems.add(file.name, 0, "", counted(n, "line"), f"{usual}, as {witness} has", todo)
    problems.check()
    Meter(", ".join(f.name for f in systems.values())).outputs(usual * len(systems))
    stage, n_refs, names = Stage(), len(references), tuple(systems)
    for text in files:
        text.progress = no_progress
    characters = 0
    for number, texts in enumerate(zip(*(numbered(text) for text in files), strict=True), start=1):
        places = [FilePlace(text.name, number) for text in files]
        key = SegmentKey("", str(number))
        found = tuple(line for line in texts[:n_refs] if line)
        whose = (texts[n_refs] or None) if source else None
        stage.segments[key] = StagedSegment(0, whose, places[0], found, places[0])
        first = n_refs + bool(source)
        for system, line, place in zip(names, texts[first:], places[first:], strict=True):
            stage.outputs[OutputKey(system, *key)] = line, place
        characters += sum(map(len, texts))
        if len(stage.outputs) >= AT_ONCE or characters >= CHARACTERS:
            stage.keep()
            characters = 0
            progress((1 + number / usual) / 2)
    stage.keep()
    return StagedImport(stage, ())


def numbered(text: TextFile) -> Iterator[str]:
    """Yield the lines without their line ends. Raises `ImportProblems` for more lines than the row limit."""
    meter = Meter(text.name)
    for number, line in enumerate(text.lines(), start=1):
        meter.row(number)
        yield without_end(line)
