"""Ranges of metric values, used to put two metrics on one scale (min–max, Chen and Eger 2023, eq. 2).

Ranges are stored by signature and never computed from the current batch, so a score does not depend on the other outputs.
Search order: fitted on this machine (`ranges.json` in the home folder), fitted on the sample project and shipped
(`ranges.json` beside this file), declared by the metric if both ends are finite.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from core.errors import PROGRAM, UserError
from core.formats import output
from core.formats.parsing.numbers import parse_number as finite
from core.metrics.base import Metric
from core.settings import load_settings
from core.signature import GIVEN, format_exact

SHIPPED = Path(__file__).parent / "ranges.json"
MACHINE = ("torch", "transformers")
"""Fields of a signature that change only the last digits of a value."""
FITTED, DECLARED = "fitted", "declared"
BETWEEN = ".."


class Range(NamedTuple):
    """The values that become 0 and 1; `origin` names their source, `n` counts the values they were fitted on."""

    low: float
    high: float
    origin: str
    n: int = 0

    def scaled(self, value: float, *, higher_is_better: bool = True) -> float:
        """Return the value scaled to 0 (worst) … 1 (best). Values outside the range are not clamped, to avoid ties."""
        share = (value - self.low) / (self.high - self.low)
        return share if higher_is_better else 1.0 - share

    @property
    def words(self) -> str:
        """Return the range as written in a signature and an option."""
        return f"{format_exact(self.low)}{BETWEEN}{format_exact(self.high)}"


class NoRange(UserError):  # noqa: N818  (a state, not a fault)
    """A metric without finite bounds has no stored range; `command` fits one."""

    def __init__(self, name: str, label: str) -> None:
        self.command = f"{PROGRAM} score FILES --metrics '{name}' --out s.csv\n{PROGRAM} ranges s.csv"
        super().__init__(
            f"{label} is unbounded and has no stored range",
            where=name,
            expected="a range to scale its values",
            hint=f"Fit one: {' && '.join(self.command.splitlines())}, or give one as range:LOW..HIGH",
        )


def key(signature: str) -> str:
    """Return a signature without the parts that do not change scores: library versions and `GIVEN`."""
    return "|".join(p.removesuffix(GIVEN) for p in signature.split("|") if p.partition(":")[0] not in MACHINE)


def range_of(metric: Metric, which: str = FITTED) -> Range:
    """Return the range of a metric; `which` is `fitted`, `declared`, or two numbers joined by “..”.

    Raises NoRange if there is none, and whatever `metric.signature()` raises.
    """
    if which not in (FITTED, DECLARED):
        return parse(which)
    value_range = of_signature(metric.signature(), metric.spec.range, fitted=which == FITTED)
    if value_range is None:
        raise NoRange(metric.spec.name, metric.spec.label)
    return value_range


def of_signature(signature: str, declared: tuple[float, float], *, fitted: bool = True) -> Range | None:
    """Return the stored range of this signature if `fitted`, else the declared one if it is finite, else None."""
    signed = key(signature)
    if fitted:
        for path, origin in ((own(), "own"), (SHIPPED, "sample")):
            if signed in (stored_ranges := stored(path)):
                return stored_ranges[signed]._replace(origin=origin)
    low, high = declared
    return Range(low, high, DECLARED) if math.isfinite(low) and math.isfinite(high) else None


def parse(text: str) -> Range:
    """Return the range of a text such as “-6..-0.5”. Raises UserError."""
    low, high = (finite(end) for end in text.partition(BETWEEN)[::2])
    if low is None or high is None or not low < high:
        raise UserError(
            "this is not a range", got=f"“{text[:60]}”", expected=f"{FITTED}, {DECLARED}, or LOW{BETWEEN}HIGH"
        )
    return Range(low, high, "given")


def own() -> Path:
    """Return the path of the ranges fitted on this machine."""
    return load_settings().home / "ranges.json"


def stored(path: Path) -> dict[str, Range]:
    """Return the ranges in a file by signature key, or none if the file does not exist.

    Raises UserError if the file is invalid or a range lacks two different finite ends.
    """
    if not path.exists():
        return {}
    hint = "Delete the file and fit the ranges again"
    try:
        rows = json.loads(path.read_text("utf-8"))
        by_signature = {k: Range(float(r["low"]), float(r["high"]), "", int(r["n"])) for k, r in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise UserError("cannot read this file of ranges", where=str(path), got=str(error), hint=hint) from error
    for name, r in by_signature.items():
        if not _spans(r.low, r.high):
            got = f"{r.low:g}{BETWEEN}{r.high:g} for {name}"
            raise UserError("this is not a range", where=str(path), got=got, expected=f"LOW{BETWEEN}HIGH", hint=hint)
    return by_signature


def _spans(low: float, high: float) -> bool:
    return math.isfinite(low) and math.isfinite(high) and low < high


def fit(values: Mapping[str, Iterable[float]], path: Path | None = None) -> dict[str, Range]:
    """Store the minimum and maximum of the values of each signature, and return the new ranges by `key`.

    Values of signatures with the same key are pooled. Other ranges in the file (default `own()`) are kept. Use large data,
    since later values outside the range are not clamped. Raises UserError and stores nothing for fewer than two different
    values.
    """
    together: dict[str, list[float]] = {}
    for signature, signature_values in values.items():
        together.setdefault(key(signature), []).extend(map(float, signature_values))
    new_ranges: dict[str, Range] = {}
    for signed, numbers in together.items():
        if len(set(numbers)) < 2 or not all(map(math.isfinite, numbers)):
            raise UserError(
                "cannot fit a range",
                where=signed,
                got=f"{len(set(numbers))} different values",
                expected="at least two, all finite",
                hint="Score more outputs",
            )
        new_ranges[signed] = Range(min(numbers) + 0.0, max(numbers) + 0.0, "own", len(numbers))  # no −0
    path = path or own()
    kept = stored(path) | new_ranges
    rows = {k: {"low": r.low, "high": r.high, "n": r.n} for k, r in sorted(kept.items())}
    path.parent.mkdir(parents=True, exist_ok=True)
    output.write_files({path: json.dumps(rows, indent=1, ensure_ascii=False) + "\n"})
    return new_ranges
