"""`metrics`: every metric with what it needs, and its options, as a plain table."""

from __future__ import annotations

from collections.abc import Sequence

from core.metrics.base import MetricSpec, Need, Option
from core.metrics.registry import specs, with_options

NEEDS: dict[Need, str] = {"source": "source", "reference": "reference", "seq2seq": "model"}


def table() -> str:
    """The text of the table; metrics with the same options share their rows."""
    found = specs()
    lines: list[str] = _aligned([("metric", "needs", "better", "paper"), *map(_metric, found.values())])
    for names, options in with_options(found.values()):
        lines += ["", f"options of {', '.join(names)}"]
        rows = _aligned([(o.name, written(o), o.expected) for o in options], indent=2)
        lines += [line for row, o in zip(rows, options, strict=True) for line in (row, f"      {o.help}")]
    return "\n".join(
        [*lines, "", "written as name|option:value|option:value, in quotes; λ is no option, it rescores nothing"]
    )


def written(option: Option) -> str:
    """The default as one would write it."""
    return option.write(option.default) or "none"


def _metric(spec: MetricSpec) -> tuple[str, ...]:
    return (
        spec.name,
        ", ".join(NEEDS[need] for need in NEEDS if need in spec.needs),
        "higher" if spec.higher_is_better else "lower",
        spec.paper,
    )


def _aligned(rows: Sequence[tuple[str, ...]], indent: int = 0) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (" " * indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]
