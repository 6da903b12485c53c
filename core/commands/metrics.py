"""`metrics`: list all metrics with their availability, requirements and options, as a plain table."""

from __future__ import annotations

from collections.abc import Mapping

from core.commands.progress import print_result
from core.data import grouped
from core.formats.write import aligned
from core.metrics import readiness
from core.metrics.base import MetricSpec, Option
from core.metrics.readiness import Readiness
from core.metrics.registry import specs, with_options
from core.models.kinds import MODEL_KINDS

NEEDS: dict[str, str] = {"source": "source", "reference": "reference"} | {
    role.name: role.words for role in MODEL_KINDS.values()
}


def run() -> None:
    print_result(table())


def table() -> str:
    """Return the table. Metrics with the same options share their rows; those that lack the same thing share the command that fixes it."""
    found, ready = specs(), readiness.of_all()
    rows = [_metric(spec, ready[name]) for name, spec in found.items()]
    lines = aligned([("metric", "here", "needs", "better", "paper"), *rows])
    lines += _lacking(ready)
    for names, options in with_options(found.values()):
        lines += ["", f"options of {', '.join(names)}"]
        cells = aligned([(o.name, written(o), o.expected) for o in options], indent=2)
        lines += [line for row, o in zip(cells, options, strict=True) for line in (row, f"      {o.help}")]
    return "\n".join(
        [
            *lines,
            "",
            "Write options as name|option:value|option:value, in quotes. λ is not an option: it is set later, without scoring again.",
        ]
    )


def written(option: Option) -> str:
    """Return the default in the notation of the command line."""
    return option.write(option.default) or "none"


def _metric(spec: MetricSpec, ready: Readiness) -> tuple[str, ...]:
    return (
        spec.name,
        ready.words,
        ", ".join(NEEDS[need] for need in NEEDS if need in spec.needs),
        "higher" if spec.higher_is_better else "lower",
        spec.paper,
    )


def _lacking(ready: Mapping[str, Readiness]) -> list[str]:
    """Return which metrics are unavailable, why, and the command that fixes it."""
    lines = []
    for found, names in grouped((found, name) for name, found in ready.items() if found.state != "ready").items():
        lines += ["", f"{', '.join(names)}: {found.sentence()}"]
        lines += [f"    {line}" for line in found.command.splitlines()]
        lines += [f"  ({found.note})"] if found.note else []
    return lines
