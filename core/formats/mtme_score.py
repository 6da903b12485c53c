"""Read and write mt-metrics-eval's `.seg.score` files of human and metric scores: `SYSTEM SCORE`, one line per segment, in blocks by system.

`.sys.score` files have one line per system and need no outputs; they are read only (`read_systems`).

According to its README: any white space between the two, `None` for a missing score, the lines of a system in the order of the test
set, and human scores named by the file (`en-de.mqm.seg.score` → mqm). Files of metrics are named `METRIC-REF.seg.score`
(`COMET-refA.seg.score`) and have no `None` there; here it is read as a missing score. The texts are not in the file: reading needs
the outputs.
"""

from __future__ import annotations

import io
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, repeat

from core.data import Dataset, ExternalScores, OutputKey, SegmentKey, Value
from core.formats.external import file_of_people, lower_is_better, no_score, source_file
from core.formats.files import Upload
from core.formats.labels.label_file import Gatherer, LabelFile, Severities
from core.formats.labels.mtme_rating import blocks, name_in, needed, refuse_name
from core.formats.parsing.numbers import expected_number, is_absent, parse_number
from core.formats.problems import Collector, refused, shown
from core.formats.streams.opened import numbered_lines

_OF_SYSTEMS = re.compile(r"\.sys\.scores?(\.gz)?$", re.IGNORECASE)
_OTHER_LEVEL = re.compile(r"\.(sys|doc|domain)\.scores?(\.gz)?$", re.IGNORECASE)
_LEVELS = {"sys": "systems", "doc": "documents", "domain": "domains"}
_NO_NAME = re.compile(r"\s|^$")


def read_mtme_scores(upload: Upload, severities: Severities, texts: Dataset | None) -> LabelFile:
    """Read scores of the outputs in `texts` as human scores named after the file. Raises `ImportProblems`."""
    known = needed(upload, texts)
    gatherer = Gatherer(upload.name, severities, known)
    name = name_in(upload.name)
    if not file_of_people(upload.name):
        todo = "If a metric computed them, choose the format mtme-metric (.seg.score of a metric)"
        gatherer.warn(
            0,
            "",
            f"scores read as human scores, {name}",
            "SRC-TGT.NAME.seg.score, the name of a file of human scores",
            todo,
        )
    for key, value in _scores(upload, gatherer, known):
        if value is not None:
            gatherer.score(key, name, value)
    return gatherer.done()


def read_metric(upload: Upload, severities: Severities, texts: Dataset | None) -> LabelFile:
    """Read external scores of the outputs in `texts`, named after the file; higher is better unless the name is an error rate.
    Raises `ImportProblems`."""
    known = needed(upload, texts)
    gatherer = Gatherer(upload.name, severities, known)
    missing = no_score(upload.name)
    values = {k: missing if v is None else Value(v) for k, v in _scores(upload, gatherer, known)}
    if not gatherer.problems and all(v.value is None for v in values.values()):
        gatherer.problem(0, "", "no scores", "at least one", "Check that the export has finished")
    gatherer.problems.check()
    name = name_in(upload.name)
    higher = higher_is_better(name, values.values())
    return LabelFile(known, (), external=(ExternalScores(name, higher, (source_file(upload),), values),))


def higher_is_better(name: str, values: Iterable[Value]) -> bool:
    """Return the direction of a metric by its name, `METRIC-REF`: lower is better for error rates, unless they are negated (no score is
    above 0), as files for mt-metrics-eval should be."""
    return not lower_is_better(name.rpartition("-")[0] or name) or all((v.value or 0) <= 0 for v in values)


def is_of_systems(name: str) -> bool:
    """Return whether a file is named as system scores, `METRIC-REF.sys.score`."""
    return _OF_SYSTEMS.search(name) is not None


def read_systems(upload: Upload) -> dict[str, float | None]:
    """Return the score of each system in a `.sys.score` file, one line per system; None if missing. Raises `ImportProblems`."""
    scores: dict[str, float | None] = {}
    problems = Collector()
    for at, line in numbered_lines(upload):
        if not line.strip():
            continue
        system, blank, said = _split(line.rstrip())
        value = parse_number(said)
        if not blank or not system or (value is None and not is_absent(said)):
            problems.add(
                upload.name,
                at,
                "",
                shown(line),
                "SYSTEM SCORE, or SYSTEM None",
                "Fix the line or export the file again",
            )
        elif system in scores:
            todo = "A .sys.score file has one line per system. A .seg.score file has one per segment: give it that name"
            problems.add(upload.name, at, "", f"{shown(system)} again", "each system once", todo)
        else:
            scores[system] = value
    if not scores and not problems:
        problems.add(upload.name, 0, "", "no scores", "one line per system", "Check that the export has finished")
    problems.check()
    return scores


def _scores(upload: Upload, gatherer: Gatherer, known: Dataset) -> Iterator[tuple[OutputKey, float | None]]:
    """Yield each output with its score (None if missing), then check that the file has all lines.

    Raises `ImportProblems` for a file named as scores of systems, documents or domains, and for lines with more than system and score.
    """
    if level := _OTHER_LEVEL.search(upload.name):
        todo = "Choose the .seg.score file of the same scores"
        todo += (
            ". evaluate --level system reads scores of systems (--external, --human-systems)"
            if level[1].lower() == "sys"
            else ""
        )
        name = f"scores of {_LEVELS[level[1].lower()]} ({level[0]})"
        raise refused(upload.name, 0, name, "scores of segments, .seg.score", todo)
    systems = frozenset(known.systems)

    def split(line: str) -> tuple[str, str, str]:
        system, blank, score = _split(line)
        first, *rest = line.split()
        if system not in systems and len(rest) > 1 and first in systems and parse_number(rest[0]) is not None:
            todo = "Keep the system and its score (score_mqm of mt-metrics-eval without --raters and --docs)"
            raise refused(upload.name, 0, f"lines such as {shown(line)}", "SYSTEM SCORE", todo)
        return system, blank, score

    for at, key, said in blocks(upload, gatherer, known, split):
        value = parse_number(said)
        if is_absent(said):
            if gatherer.output(key) is not None:
                yield key, None
        elif value is None:
            gatherer.problem(
                at, "", shown(said), f"{expected_number(said)}, or None", "Write None where there is no score"
            )
        elif gatherer.output(key) is None:
            gatherer.no_output(at, key, "a score", "scored")
        else:
            yield key, value


def _split(line: str) -> tuple[str, str, str]:
    system, blank, score = line.replace("\t", " ").rpartition(" ")
    return system.strip(), blank, score


def write_mtme_scores(dataset: Dataset, scores: Mapping[OutputKey, float | None]) -> str:
    """Return one line per segment for every system with any score. Raises `UserError` for a system name with a blank."""
    columns = ScoreColumns({segment.key: i for i, segment in enumerate(dataset.segments)})
    columns.take(scores.items())
    return columns.text()


class ScoreColumns:
    """The scores of each system by segment, in a few bytes each, collected from parts of any size.

    `places` has the segments of the project, each with its line in the block of a system, from 0.
    """

    def __init__(self, places: Mapping[SegmentKey, int]) -> None:
        self._places = places
        self._columns: dict[str, array[float]] = {}

    def take(self, scores: Iterable[tuple[OutputKey, float | None]]) -> None:
        """Add scores of outputs; a later score of an output replaces an earlier one. Segments without a place are left out."""
        for key, value in scores:
            if value is not None and (place := self._places.get(key.segment)) is not None:
                column = self._columns.setdefault(key.system, array("d"))
                column.extend([math.nan] * (place + 1 - len(column)))
                column[place] = value

    def text(self) -> str:
        """Return one line per segment for every system with any score. Raises `UserError` for a system name with a blank."""
        held = io.StringIO()
        for system in sorted(self._columns):
            refuse_name(system, _NO_NAME, "blanks")
            column = self._columns[system]
            for value in chain(column, repeat(math.nan, len(self._places) - len(column))):
                held.write(f"{system}\t{'None' if math.isnan(value) else repr(value)}\n")
        return held.getvalue()
