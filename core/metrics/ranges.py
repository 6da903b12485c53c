"""From where to where a metric's values go, so that two metrics can be put on one scale (min–max, Chen and Eger 2023, eq. 2).

Ranges are frozen: they are stored by what signs the values, never taken from the batch at hand, so that a score is the same
alone and among others. A range is looked for in this order: fitted here (`ranges.json` in the home folder), fitted on the
sample project and shipped (`ranges.json` beside this file), declared by the metric where both ends are finite.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from core.errors import UserError
from core.formats import output
from core.formats.numbers import number as finite
from core.metrics.base import Metric
from core.settings import load as settings
from core.signature import GIVEN, number

SHIPPED = Path(__file__).parent / "ranges.json"
MACHINE = ("torch", "transformers")
"""Fields of a signature that move a value in its last digits only."""
FITTED, DECLARED = "fitted", "declared"
BETWEEN = ".."


class Range(NamedTuple):
    """The values that become 0 and 1; `origin` says where they come from, `n` how many values they were taken from."""

    low: float
    high: float
    origin: str
    n: int = 0

    def scaled(self, value: float, *, higher_is_better: bool = True) -> float:
        """0 at the worse end and 1 at the better one. A value outside is not clamped: it would tie with others there."""
        share = (value - self.low) / (self.high - self.low)
        return share if higher_is_better else 1.0 - share

    @property
    def words(self) -> str:
        """As it stands in a signature, and in an option."""
        return f"{number(self.low)}{BETWEEN}{number(self.high)}"


class NoRange(UserError):  # noqa: N818  (a state, not a fault)
    """The values of a metric have no bounds, and no range is stored for them; `command` fits one."""

    def __init__(self, name: str, label: str) -> None:
        self.command = f"python -m core score FILES --metrics '{name}' --out s.csv\npython -m core ranges s.csv"
        super().__init__(
            f"the values of {label} have no bounds, and no range is stored for them",
            where=name,
            expected="a range to scale them by",
            hint=f"Fit one: {' && '.join(self.command.splitlines())}, or give one as range:LOW..HIGH",
        )


def key(signature: str) -> str:
    """A signature without what leaves the scores as they are: the versions of libraries, and `GIVEN`."""
    return "|".join(p.removesuffix(GIVEN) for p in signature.split("|") if p.partition(":")[0] not in MACHINE)


def of(metric: Metric, wanted: str = FITTED) -> Range:
    """The range of a metric: `fitted`, `declared`, or two numbers joined by “..”.

    Raises NoRange where there is none, and as `metric.signature()` does.
    """
    if wanted not in (FITTED, DECLARED):
        return parse(wanted)
    name, signed = metric.spec.name, key(metric.signature())
    if wanted == FITTED:
        for path, origin in ((own(), "own"), (SHIPPED, "sample")):
            if signed in (found := stored(path)):
                return found[signed]._replace(origin=origin)
    low, high = metric.spec.range
    if not (math.isfinite(low) and math.isfinite(high)):
        raise NoRange(name, metric.spec.label)
    return Range(low, high, DECLARED)


def parse(text: str) -> Range:
    """The range of a text such as “-6..-0.5”. Raises UserError."""
    low, high = (finite(end) for end in text.partition(BETWEEN)[::2])
    if low is None or high is None or not low < high:
        raise UserError("this is no range", got=f"“{text[:60]}”", expected=f"{FITTED}, {DECLARED}, or LOW{BETWEEN}HIGH")
    return Range(low, high, "given")


def own() -> Path:
    """The file of ranges that were fitted here."""
    return settings().home / "ranges.json"


def stored(path: Path) -> dict[str, Range]:
    """The ranges of a file by the key of their signature; none where it does not exist.

    Raises UserError for a file that is none of ranges, and for a range without two different finite ends.
    """
    if not path.exists():
        return {}
    hint = "Remove it and fit the ranges again"
    try:
        rows = json.loads(path.read_text("utf-8"))
        found = {k: Range(float(r["low"]), float(r["high"]), "", int(r["n"])) for k, r in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise UserError("this file of ranges cannot be read", where=str(path), got=str(error), hint=hint) from error
    for name, r in found.items():
        if not _spans(r.low, r.high):
            got = f"{r.low:g}{BETWEEN}{r.high:g} for {name}"
            raise UserError("this is no range", where=str(path), got=got, expected=f"LOW{BETWEEN}HIGH", hint=hint)
    return found


def _spans(low: float, high: float) -> bool:
    return math.isfinite(low) and math.isfinite(high) and low < high


def fit(values: Mapping[str, Iterable[float]], path: Path | None = None) -> dict[str, Range]:
    """Store the least and the greatest of the values under each `key` of a signature, and give them back by it.

    Values under signatures with the same key count as one metric's. Others in the file stay (`own()` unless another is
    named). The larger the data the better: later values outside are not clamped. Raises UserError, and stores nothing, for
    fewer than two different values.
    """
    together: dict[str, list[float]] = {}
    for signature, given in values.items():
        together.setdefault(key(signature), []).extend(map(float, given))
    found: dict[str, Range] = {}
    for signed, there in together.items():
        if len(set(there)) < 2 or not all(map(math.isfinite, there)):
            raise UserError(
                "no range can be fitted",
                where=signed,
                got=f"{len(set(there))} different values",
                expected="at least two, all of them numbers",
                hint="Score more outputs",
            )
        found[signed] = Range(min(there) + 0.0, max(there) + 0.0, "own", len(there))  # no −0
    path = path or own()
    kept = stored(path) | found
    rows = {k: {"low": r.low, "high": r.high, "n": r.n} for k, r in sorted(kept.items())}
    path.parent.mkdir(parents=True, exist_ok=True)
    output.write({path: json.dumps(rows, indent=1, ensure_ascii=False) + "\n"})
    return found
