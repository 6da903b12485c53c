"""What a stress test found: plain values that page, command, HTML and JSON share. The JSON form is the whole of it, both ways."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from core.errors import UserError
from core.stress.noise.base import Aspect

FORMAT = "errorscope stress report"
VERSION = 1
Verdict = Literal["pass", "fail", "unclear", "untold"]


class Point(NamedTuple):
    """A metric on the gold texts noised at one level, over those the test can touch at its strongest level.

    `mean` and `sd` in the metric's unit: the mean over seeds of the mean over texts, and how far the seeds differ (0 where the
    test draws nothing). `drop` is how much worse than gold by the metric's own direction, above 0 where it is right, with its 95 %
    bootstrap interval over texts; `p` one-sided, of a drop that is not above 0; `step_p` one-sided, of a curve that does not rise
    from the level before (small where it does), None at the first level or where the levels are no grades. `ratio` is the noise ratio. None: undefined.
    """

    label: str
    strength: float
    ratio: float
    mean: float | None
    sd: float | None
    drop: float | None
    low: float | None
    high: float | None
    p: float | None
    step_p: float | None = None
    parts: dict[str, float] = {}
    """Means of precision, recall … where the metric gives them; a value, never changed."""


class Offender(NamedTuple):
    """A noised text that scored higher than gold by the metric's own direction: by `rise` > 0, in its unit."""

    id: str
    level: str
    seed: int
    source: str | None
    reference: str | None
    gold: str
    noised: str
    gold_score: float
    noised_score: float
    rise: float


class Cell(NamedTuple):
    """One metric under one test.

    `texts` are compared, `undefined` of the touched ones have no score somewhere; `gold` is their mean without noise, `gold_parts` as
    `Point.parts`. `published`: the paper's bare rule (every level below gold and, in grades, each below the one before), None where
    undefined. `verdict` and the sentence `why` are of `core.services.lab.verdict`.
    """

    test: str
    metric: str
    texts: int
    undefined: int
    gold: float | None
    gold_parts: dict[str, float]
    points: tuple[Point, ...]
    verdict: Verdict
    why: str
    published: bool | None
    worst: tuple[Offender, ...] = ()


class StressTestInfo(NamedTuple):
    """A test as it was run. `touched` of the gold texts could be noised at its strongest level; `reasons` say why the others could not,
    the commonest first. `signature` names all that its texts depend on."""

    name: str
    label: str
    aspect: Aspect
    graded: bool
    levels: tuple[str, ...]
    seeds: int
    touched: int
    untouched: int
    reasons: tuple[tuple[str, int], ...]
    signature: str


class MetricFacts(NamedTuple):
    """A metric as it was run; `small` where its number depends on the small bundled models."""

    name: str
    label: str
    signature: str
    higher_is_better: bool
    small: bool
    seconds: float


class Report(NamedTuple):
    """A whole run. `gold` says which texts were the good ones; `data` names the files or the project, with counts; `made` is UTC."""

    name: str
    made: str
    gold: str
    data: str
    texts: int
    seed: int
    seeds: int
    draws: int
    tests: tuple[StressTestInfo, ...]
    metrics: tuple[MetricFacts, ...]
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    def cell(self, test: str, metric: str) -> Cell:
        """Raises KeyError where it was not run."""
        for cell in self.cells:
            if (cell.test, cell.metric) == (test, metric):
                return cell
        raise KeyError((test, metric))

    def failing(self, tests: Iterable[str] = ()) -> list[Cell]:
        """The cells that fail, of some tests or of all."""
        wanted = set(tests)
        return [c for c in self.cells if c.verdict == "fail" and (not wanted or c.test in wanted)]


LARGEST = 1 << 28
"""Characters of JSON that are read at most."""
_MOST = 1 << 63
_CELLS = "one cell a test and metric"


def as_json(report: Report) -> str:
    """The whole report as JSON; `from_json` gives the same report back."""
    whole = {"format": FORMAT, "version": VERSION, "report": _plain(report)}
    return json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> Report:
    """The report of `as_json`, equal to it in every field. Raises UserError for anything else: another format or version, a value
    of another kind, half a surrogate pair, not one cell for every test and metric, more than `LARGEST` characters."""
    if len(text) > LARGEST:
        raise _refused(f"{len(text):,} characters", f"at most {LARGEST:,}")
    try:
        whole = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise _refused(f"no JSON: {error}", f"a {FORMAT}") from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise _refused("something else", f"a {FORMAT}, as `stress --json` writes it")
    if whole.get("version") != VERSION or isinstance(whole.get("version"), bool):
        raise _refused(f"version {whole.get('version')}", f"version {VERSION}")
    report: Report = _read(whole.get("report"), Report, "report")
    _check(report)
    return report


def _check(report: Report) -> None:
    tests, metrics = {t.name: t for t in report.tests}, {m.name for m in report.metrics}
    if len(tests) < len(report.tests) or len(metrics) < len(report.metrics):
        raise _refused("a test or metric twice", "each of them once")
    places = [(c.test, c.metric) for c in report.cells]
    if len(set(places)) < len(places) or any(test not in tests or metric not in metrics for test, metric in places):
        raise _refused("a cell of a test or metric that is not there, or twice", _CELLS)
    if not places or len(places) < len(tests) * len(metrics):
        raise _refused(f"{len(places)} cells for {len(tests)} tests and {len(metrics)} metrics", _CELLS)
    if any(tuple(p.label for p in c.points) != tests[c.test].levels for c in report.cells):
        raise _refused("a cell with other levels than its test", "a point a level")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        return {f: _plain(v) for f, v in zip(fields, value, strict=True)} if fields else [_plain(v) for v in value]
    return value


def _read(value: Any, kind: Any, where: str) -> Any:
    """The value as a field of that type holds it; the types of this file are all there are."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else _read(value, next(a for a in args if a is not NoneType), where)
    if origin is Literal and isinstance(value, str) and value in args:
        return value
    if origin is dict and isinstance(value, dict) and all(map(_whole, value)):
        return {key: _read(v, args[1], f"{where}.{key}") for key, v in value.items()}
    if origin is tuple and isinstance(value, list):
        kinds = [args[0]] * len(value) if args[-1] is Ellipsis else args
        if len(kinds) == len(value):
            return tuple(_read(v, k, f"{where}[{i}]") for i, (v, k) in enumerate(zip(value, kinds, strict=True)))
    if hasattr(kind, "_fields") and isinstance(value, dict) and set(value) == set(kind._fields):
        return kind(**{f: _read(value[f], k, f"{where}.{f}") for f, k in get_type_hints(kind).items()})
    if kind is float and type(value) in (int, float) and (-_MOST < value < _MOST or isinstance(value, float)):
        if math.isfinite(value):
            return float(value)
    elif kind is int and type(value) is int and -_MOST < value < _MOST:
        return value
    elif (kind is bool and isinstance(value, bool)) or (kind is str and isinstance(value, str) and _whole(value)):
        return value
    raise _refused(f"{where}: {_told(value)}", "what `stress --json` writes there")


def _told(value: Any) -> str:
    """The beginning of a value, for a message."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):  # a whole number of thousands of digits; nesting too deep
        text = type(value).__name__
    return text.encode("utf-8", "backslashreplace").decode()[:60]


def _whole(text: str) -> bool:
    """Whether no half of a surrogate pair stands in it, which no file or database can store."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _no_number(constant: str) -> Any:
    raise ValueError(f"{constant} is no number")


def _refused(got: str, expected: str) -> UserError:
    return UserError("this is no stress report that can be read", got=got, expected=expected, hint="Run the test again")
