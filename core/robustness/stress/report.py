"""The results of a stress test run, shared by page, command, HTML and JSON. The JSON form is lossless."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from core.errors import UserError
from core.perturbations.noise.base import NoiseAspect

FORMAT = "errorscope stress report"
VERSION = 1
Verdict = Literal["pass", "fail", "unclear", "untold"]
"""Verdicts as files and databases store them; texts show `VERDICT_NAMES`."""
VERDICT_NAMES: dict[Verdict, str] = {"pass": "pass", "fail": "fail", "unclear": "inconclusive", "untold": "no result"}


PARTS = ("precision", "recall", "f", "coherence", "consistency", "fluency", "relevance", "overall")
"""The parts of a value that are followed over noise levels, in display order; other parts (chosen reference, terms of a
formula) are not."""


class LevelResult(NamedTuple):
    """One metric at one noise level, over the gold texts that the test can change at its strongest level. None means undefined.

    `ratio` is the noise ratio. `mean` (over seeds and texts) and `sd` (between seeds; 0 without random draws) are in the metric's unit.
    `drop` is gold minus noised, above 0 if the metric reacts correctly; `low` and `high` are its 95 % bootstrap CI over texts, `p` its
    one-sided p-value (H0: drop ≤ 0). `step_p` is the one-sided p-value of a rise from the level before; None at the first level and if
    the test is not graded.
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
    """Means of precision, recall …, if the metric has them. Never changed in place."""


class Offender(NamedTuple):
    """A noised text that scores better than its gold text, by `rise` > 0 in the metric's unit."""

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


class StressTestResult(NamedTuple):
    """One metric under one test.

    `texts` counts the compared texts, `undefined` those left out because a score is missing. `gold` is their mean score without noise,
    `gold_parts` are as `LevelResult.parts`. `published` is the paper's rule (every level below gold and, if graded, below the level
    before), None if undefined. `verdict` and its explanation `why` come from `core.robustness.stress.verdict`.
    """

    test: str
    metric: str
    texts: int
    undefined: int
    gold: float | None
    gold_parts: dict[str, float]
    points: tuple[LevelResult, ...]
    verdict: Verdict
    why: str
    published: bool | None
    worst: tuple[Offender, ...] = ()


class StressTestInfo(NamedTuple):
    """A test as it was run. `touched` gold texts could be noised at the strongest level; `reasons` say why the others could not,
    most frequent first. `signature` names everything the noised texts depend on."""

    name: str
    label: str
    aspect: NoiseAspect
    graded: bool
    levels: tuple[str, ...]
    seeds: int
    touched: int
    untouched: int
    reasons: tuple[tuple[str, int], ...]
    signature: str


class MetricFacts(NamedTuple):
    """A metric as it was run; `small` if its scores depend on the small bundled models."""

    name: str
    label: str
    signature: str
    higher_is_better: bool
    small: bool
    seconds: float


class Report(NamedTuple):
    """A whole run. `gold` names the gold texts, `data` the files or the project with counts; `made` is the time in UTC."""

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
    cells: tuple[StressTestResult, ...]
    notes: tuple[str, ...] = ()

    def cell(self, test: str, metric: str) -> StressTestResult:
        """Return the result of a test and metric. Raises KeyError if it was not run."""
        for cell in self.cells:
            if (cell.test, cell.metric) == (test, metric):
                return cell
        raise KeyError((test, metric))

    def failing(self, tests: Iterable[str] = ()) -> list[StressTestResult]:
        """Return the failing results of these tests (all if none are given)."""
        wanted = set(tests)
        return [c for c in self.cells if c.verdict == "fail" and (not wanted or c.test in wanted)]


LARGEST = 1 << 28
"""The largest JSON text that is read, in characters."""
_MOST = 1 << 63
_CELLS = "one cell per test and metric"


def as_json(report: Report) -> str:
    """Return the whole report as JSON, which `from_json` reads back unchanged."""
    whole = {"format": FORMAT, "version": VERSION, "report": _plain(report)}
    return json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> Report:
    """Return the report that `as_json` wrote. Raises UserError for anything else: another format or version, a value of the wrong type,
    half a surrogate pair, a missing or repeated test, metric or cell, more than `LARGEST` characters."""
    if len(text) > LARGEST:
        raise _refused(f"{len(text):,} characters", f"at most {LARGEST:,}")
    try:
        whole = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise _refused(f"invalid JSON: {error}", f"a {FORMAT}") from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise _refused("another file format", f"a {FORMAT}, written by `stress --json`")
    if whole.get("version") != VERSION or isinstance(whole.get("version"), bool):
        raise _refused(f"version {whole.get('version')}", f"version {VERSION}")
    report: Report = _read(whole.get("report"), Report, "report")
    _check(report)
    return report


def _check(report: Report) -> None:
    tests, metrics = {t.name: t for t in report.tests}, {m.name for m in report.metrics}
    if len(tests) < len(report.tests) or len(metrics) < len(report.metrics):
        raise _refused("a repeated test or metric", "each of them once")
    places = [(c.test, c.metric) for c in report.cells]
    if len(set(places)) < len(places) or any(test not in tests or metric not in metrics for test, metric in places):
        raise _refused("a repeated cell, or a cell of an unknown test or metric", _CELLS)
    if not places or len(places) < len(tests) * len(metrics):
        raise _refused(f"{len(places)} cells for {len(tests)} tests and {len(metrics)} metrics", _CELLS)
    if any(tuple(p.label for p in c.points) != tests[c.test].levels for c in report.cells):
        raise _refused("a cell with other levels than its test", "one point per level")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        return {f: _plain(v) for f, v in zip(fields, value, strict=True)} if fields else [_plain(v) for v in value]
    return value


def _read(value: Any, kind: Any, where: str) -> Any:
    """Convert a JSON value to a field type; only the types in this file are supported."""
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
    raise _refused(f"{where}: {_excerpt(value)}", "a value written by `stress --json`")


def _excerpt(value: Any) -> str:
    """Return the beginning of a value, for a message."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):  # a whole number of thousands of digits; nesting too deep
        text = type(value).__name__
    return text.encode("utf-8", "backslashreplace").decode()[:60]


def _whole(text: str) -> bool:
    """Return whether the text has no lone surrogate, which no file or database can store."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _no_number(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number")


def _refused(got: str, expected: str) -> UserError:
    return UserError("this stress report cannot be read", got=got, expected=expected, hint="Run the stress test again")
