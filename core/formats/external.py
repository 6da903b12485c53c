"""External scores: collect them from columns of tables, merge them over files, and check the names of their metrics."""

from __future__ import annotations

import re
from typing import Protocol

from core.data import ExternalScores, OutputKey, SegmentKey, SourceFile, Value
from core.errors import ImportProblems, Problem
from core.formats.files import Upload, base_name
from core.formats.mapping import MetricColumn
from core.formats.parsing.cells import FilePlace
from core.formats.parsing.numbers import expected_number, is_absent, parse_number
from core.formats.problems import Collector, shown, shown_segment
from core.formats.role_names import words_of
from core.formats.streams.stage import Stage
from core.formatting import format_count
from core.ports.files import StagedMetric

LONGEST = 120
_FAMILY = re.compile(
    r"(x?comet|cometkiwi|bleurt|metricx|bertscore|bartscore|moverscore|yisi|gemba|gpt|sacrebleu|sentbleu|chrf|rouge|hlepor|"
    r"questeval|unieval|summac|factcc)[a-z]*\d*[a-z]?|(llm|prism|meteor|unite|bleu|ter|wer|cer|perplexity|ppl|geval)\d*"
)
_LOWER = frozenset({"ter", "wer", "cer", "tercom", "perplexity", "ppl"})
_SEG_SCORE = re.compile(r"\.seg\.score(\.gz)?$", re.IGNORECASE)
_REFERENCE = re.compile(r"src|source|(\w*ref|reference)s?[a-z]?")
_OF_PEOPLE = re.compile(r"[A-Za-z_]{2,}-[A-Za-z_]{2,}\..")


def merge(old: ExternalScores | None, new: ExternalScores) -> ExternalScores:
    """Return the scores of a metric in several files together: more outputs, equal values, and values where `old` has none.

    Raises `ImportProblems` (one problem) if a value or the direction differs.
    """
    if old is None:
        return new
    differ = [key for key, value in new.values.items() if _differs(old.values.get(key), value)]
    if old.higher_is_better != new.higher_is_better or differ:
        first = differ[0] if differ else None
        pair = (first, new.values[first].value, old.values[first].value) if first else None
        raise ImportProblems([contradiction(old, new, len(differ), pair)])
    changed = {
        key: value
        for key, value in new.values.items()
        if key not in old.values or (value.value is not None and old.values[key].value is None)
    }
    files = all_files(old.files, new.files) if changed else old.files
    return ExternalScores(old.name, old.higher_is_better, files, {**old.values, **changed})


def all_files(old: tuple[SourceFile, ...], new: tuple[SourceFile, ...]) -> tuple[SourceFile, ...]:
    """Return the files of a metric after more are added: one with the same content under another name is not."""
    known = {file[1:] for file in old}
    return (*old, *(file for file in new if file[1:] not in known))


def _differs(old: Value | None, new: Value) -> bool:
    return old is not None and old.value is not None and new.value is not None and old.value != new.value


class MetricOrigin(Protocol):
    """The name, direction and files of a metric."""

    @property
    def name(self) -> str: ...
    @property
    def higher_is_better(self) -> bool: ...
    @property
    def files(self) -> tuple[SourceFile, ...]: ...


def contradiction(
    old: MetricOrigin, new: MetricOrigin, n_differ: int, first: tuple[OutputKey, float | None, float | None] | None
) -> Problem:
    """Return the problem of a metric whose direction or values differ; `first` is the first output that differs, with the new and the old
    value."""
    where, files = " + ".join(f.name for f in old.files), ", ".join(f.name for f in new.files)
    todo = "Choose another name, or replace the project's scores of this metric"
    place = f"metric {shown(new.name)}"
    if old.higher_is_better != new.higher_is_better:
        return Problem(files, 0, place, _direction(new), f"{_direction(old)}, as in {where}", todo)
    if first is None:
        raise ValueError("the metrics do not differ")
    key, value, was = first
    scores = f"{format_count(n_differ, 'score')} that differ{'s' if n_differ == 1 else ''}"
    others = f"{scores}: {value:g} for {shown(key.system)}, {shown_segment(key.segment)}"
    return Problem(files, 0, place, others, f"{was:g} there, as in {where}", todo)


def _direction(scores: MetricOrigin) -> str:
    return f"{'higher' if scores.higher_is_better else 'lower'} is better"


def source_file(upload: Upload, column: str = "") -> SourceFile:
    """Return the file with the digest of its bytes, and for a table its column, for a signature."""
    return SourceFile(base_name(upload.name), upload.sha256(), column)


def no_score(file: str) -> Value:
    return Value(None, "undefined", f"{base_name(file)} gives no score here")


def name_problem(name: str, file: str = "", column: str = "") -> Problem | None:
    """Return what is wrong with the name of an external metric, or None. It may equal that of a built-in metric: they are stored and
    shown separately."""
    todo = "Type another name"
    if not name.strip():
        return Problem(file, 0, column, "no name for the metric", "a name", todo)
    if len(name) > LONGEST or "|" in name or not name.isprintable():
        expected = f"at most {LONGEST} characters on one line, and no |"
        return Problem(file, 0, column, f"the name {shown(name)}", expected, todo)
    return None


def looks_like_a_metric(name: str) -> bool:
    """Return whether a column has the name of an automatic metric (COMET, BLEURT, chrF, GPT-4 …) rather than of a human score."""
    words = re.split(r"[\W_]+", name.casefold())
    return any(_FAMILY.fullmatch(word) for word in words) and "human" not in words


def lower_is_better(name: str) -> bool:
    """Return whether a column has the name of an error rate or perplexity, for which lower is better."""
    return "".join(c for c in name.casefold() if c.isalnum()) in _LOWER


def file_of_a_metric(name: str) -> bool:
    """Return whether a `.seg.score` file is named `METRIC-REF`, as mt-metrics-eval names the scores of metrics, or after a known metric.

    REF is `src` or the name of a reference: `refA`, `synthetic_ref`.
    """
    if not _SEG_SCORE.search(base_name(name)):
        return False
    whole = _SEG_SCORE.sub("", base_name(name))
    metric, _, reference = whole.rpartition("-")
    return bool(metric and any(map(_REFERENCE.fullmatch, words_of(reference)))) or looks_like_a_metric(whole)


def file_of_people(name: str) -> bool:
    """Return whether a `.seg.score` file is named `SRC-TGT.NAME`, as mt-metrics-eval names human scores."""
    return _OF_PEOPLE.match(_SEG_SCORE.sub("", base_name(name))) is not None


class MetricScores:
    """Collect the score cells of one or several tables in a stage. Problems are added to `problems`, not raised."""

    def __init__(self, problems: Collector, stage: Stage) -> None:
        self.problems, self.stage = problems, stage
        self._columns: dict[str, tuple[MetricColumn, str]] = {}
        self._files: dict[str, dict[SourceFile, None]] = {}

    def column(self, file: str, metric: MetricColumn, digest: str) -> None:
        """Add a column: a metric has one column per table, and the same direction in all tables."""
        first, where = self._columns.setdefault(metric.name, (metric, file))
        self._files.setdefault(metric.name, {})[SourceFile(base_name(file), digest, metric.column)] = None
        if where == file and first.column != metric.column:
            got = f"a second metric named {shown(metric.name)}"
            expected = f"one metric of this name; {first.column} has it"
            self.problems.add(file, 1, metric.column, got, expected, "Give the two metrics different names")
        elif first.higher_is_better != metric.higher_is_better:
            got = f"another direction of {shown(metric.name)} than in {where}"
            self.problems.add(file, 1, metric.column, got, "one direction per metric", "Choose the same for both")

    def number(self, metric: MetricColumn) -> int:
        """Return the number of a metric in the stage."""
        return list(self._columns).index(metric.name)

    def score(self, place: FilePlace, key: OutputKey, metric: MetricColumn, number: int, text: str | None) -> None:
        """Add a cell; an empty cell becomes a missing score with a reason."""
        scores = self.stage.scores
        if text is None or is_absent(text):
            scores.setdefault((key, number), (None, place))
            return
        value = number_in(text, place, metric.column, self.problems)
        if value is None:
            return
        old, at = scores.get((key, number), (None, place))
        if old is None:
            scores[key, number] = value, place
        elif old != value:
            other_score(key, metric.column, value, place, old, at, self.problems)

    def metrics(self) -> tuple[StagedMetric, ...]:
        return tuple(
            StagedMetric(name, metric.higher_is_better, tuple(self._files[name]))
            for name, (metric, _) in self._columns.items()
        )


def number_in(text: str, place: FilePlace, column: str, problems: Collector) -> float | None:
    """Return the number in a cell; None, and a problem, if it is not a number."""
    value = parse_number(text)
    if value is None:
        todo = "Leave the cell empty where there is no score, or give the column another role"
        problems.add(place.file, place.line, column, shown(text), expected_number(text), todo)
    return value


def other_score(
    key: OutputKey, column: str, value: float, place: FilePlace, old: float, at: FilePlace, problems: Collector
) -> None:
    earlier_place = at.seen_from(place.file)
    what = f"another {column} of {key.system} for segment {named(key.segment)} than in {earlier_place}: {value:g}"
    todo = "Remove one of the two, or rename the column"
    problems.add(place.file, place.line, column, what, f"{old:g}", todo)


def named(key: SegmentKey) -> str:
    return f"{key.segment_id} of {key.doc_id}" if key.doc_id else key.segment_id
