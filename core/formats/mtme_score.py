"""mt-metrics-eval's `.seg.score` files: `SYSTEM SCORE`, one line a segment, block by block a system.

As its README has it: any white space between the two, `None` for a score that is missing, the lines of a system in the order
of the test set, and human scores named by the file (`en-de.mqm.seg.score` → mqm). The texts are not in the file: reading
needs the outputs. In files of metric scores it allows no `None`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from core.data import Dataset, OutputKey
from core.formats.files import Upload, raw_lines, text_bytes
from core.formats.label_file import Gatherer, LabelFile, Severities
from core.formats.mtme_rating import check_blocks, name_in, needed, refuse_name
from core.formats.numbers import is_absent, number
from core.formats.problems import shown

_NO_NAME = re.compile(r"\s|^$")


def read(upload: Upload, severities: Severities, texts: Dataset | None) -> LabelFile:
    """The scores of the outputs of `texts` as human scores of the file's name. Raises `ImportProblems`."""
    known = needed(upload, texts)
    found = Gatherer(upload.name, severities, known)
    keys = [s.key for s in known.segments]
    name = name_in(upload.name)
    seen: dict[str, int] = {}
    for at, line in enumerate(raw_lines(text_bytes(upload)), start=1):
        if not line.strip():
            continue
        system, _, said = line.strip().replace("\t", " ").rpartition(" ")
        system = system.strip()
        place = seen[system] = seen.get(system, 0) + 1
        if is_absent(said) or place > len(keys) or system not in known.systems:
            continue
        key = OutputKey(system, *keys[place - 1])
        value = number(said)
        if value is None:
            found.problem(at, "", shown(said), "a number, or None", "Write None where there is no score")
        elif found.output(key) is None:
            found.problem(at, "", f"a score of {shown(system)}, segment {shown(key.segment_id)}",
                          "None: there is no such output", "Choose the outputs that were scored")  # fmt: skip
        else:
            found.score(key, name, value)
    check_blocks(found, seen, len(keys), known)
    return found.done()


def write(dataset: Dataset, scores: Mapping[OutputKey, float | None]) -> str:
    """A line for each segment of every system that has any score. Raises `UserError` for a name with a blank in it."""
    lines = []
    for system in sorted({key.system for key, value in scores.items() if value is not None}):
        refuse_name(system, _NO_NAME, "blanks")
        for segment in dataset.segments:
            value = scores.get(OutputKey(system, *segment.key))
            lines.append(f"{system}\t{'None' if value is None else repr(float(value))}\n")
    return "".join(lines)
