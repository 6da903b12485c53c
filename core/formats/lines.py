"""Read line-aligned text files: the n-th line of every file belongs to the n-th segment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.data import Dataset, Output, Segment
from core.errors import ImportProblems
from core.formats.files import Upload, base_name, numbered_lines, stem
from core.formats.parsing.limits import Meter
from core.formats.problems import Collector, counted

_SOURCE = re.compile(r"(src|source|sources|input|inputs)")
_REFERENCE = re.compile(r"(ref|refs|reference|references|gold|target|tgt)(\d+|[a-z])?")


class LineRoles(NamedTuple):
    """The role of each file by name; `systems` are pairs of file and system name."""

    source: str | None = None
    references: tuple[str, ...] = ()
    systems: tuple[tuple[str, str], ...] = ()


def guess_roles(names: Sequence[str]) -> LineRoles:
    """Guess roles from words in the file names: src, source, input; ref, reference, gold, target (refA, ref1); the rest are systems.

    A system is named after its file without the extension, or with it if two names differ only there.
    """
    words = {name: re.split(r"[\W_]+", base_name(name).casefold()) for name in names}
    sources = [n for n in names if any(_SOURCE.fullmatch(w) for w in words[n])]
    source = min(sources, key=lambda n: (not _SOURCE.fullmatch(stem(n).casefold()), names.index(n)), default=None)
    references = tuple(n for n in names if n != source and any(_REFERENCE.fullmatch(w) for w in words[n]))
    rest = [n for n in names if n != source and n not in references]
    stems = Counter(stem(n) for n in rest)
    return LineRoles(source, references, tuple((n, stem(n) if stems[stem(n)] == 1 else base_name(n)) for n in rest))


def read_lines(upload: Upload) -> tuple[str, ...]:
    """Return the lines of a text file, which end in `\\n` or `\\r\\n` and may be empty; a final line break adds no line.

    Raises `ImportProblems` as `text_bytes`, and for CR-only line ends.
    """
    return tuple(line for _, line in numbered_lines(upload))


def aligned(source: Upload | None, references: Sequence[Upload], systems: Mapping[str, Upload]) -> Dataset:
    """Return the dataset of line-aligned files; segments are numbered "1", "2", … in the document "".

    An empty output line is an empty output; an empty source or reference line means that there is none. Raises `ImportProblems` for
    unreadable files, no system, and every file with a different number of lines.
    """
    problems = Collector()
    if not systems:
        problems.add("", 0, "", "no system", "one text file per system", "Choose the files with the systems' outputs")
    every_output = "Each output needs one reference line" if references else "All files need the same number of lines"
    files = [(upload, "Each reference needs one line per output") for upload in references]
    files += [(source, "Each source line needs one output line")] if source else []
    files += [(upload, every_output) for upload in systems.values()]
    read: list[tuple[str, ...]] = []
    for upload, _ in files:
        try:
            read.append(read_lines(upload))
        except ImportProblems as error:
            problems.extend(error.problems)
    problems.check()
    lengths = Counter(map(len, read))
    usual = max(lengths, key=lambda n: lengths[n])
    witness = next(upload.name for (upload, _), lines in zip(files, read, strict=True) if len(lines) == usual)
    for (upload, todo), lines in zip(files, read, strict=True):
        if len(lines) != usual:
            problems.add(upload.name, 0, "", counted(len(lines), "line"), f"{usual}, as {witness} has", todo)
    problems.check()
    Meter(", ".join(u.name for u in systems.values())).outputs(usual * len(systems))
    n_refs = len(references)
    sources: Sequence[str | None] = read[n_refs] if source else [None] * usual
    ids = [str(i) for i in range(1, usual + 1)]
    segments = tuple(
        Segment("", ids[i], sources[i] or None, tuple(lines[i] for lines in read[:n_refs] if lines[i]))
        for i in range(usual)
    )
    texts = dict(zip(systems, read[n_refs + bool(source) :], strict=True))
    return Dataset(
        segments, tuple(Output(system, "", ids[i], texts[system][i]) for i in range(usual) for system in texts)
    )
