"""Metric expressions that reach every option of every metric, for tests that hold for all of them."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from core.metrics import registry
from core.metrics.base import MetricSpec, Option

BASELINES = "LAYER,P,R,F\n" + "".join(f"{layer},0.1,0.2,0.3\n" for layer in range(13))
MATCHERS = ("chrf|beta:3", "rouge1|stem:yes")


def others(option: Option) -> list[Any]:
    """Values of an option that are not its default."""
    values: list[Any]
    match option.kind:
        case "yes_no":
            values = [True, False]
        case "choice" | "text":
            further = MATCHERS if option.name in ("matcher", "with") else ("other",) if option.name == "judge" else ()
            values = [*option.choices, *further]
        case "several":
            values = [(c,) for c in option.choices]
        case "phrases":
            values = [("Such as",), ("a|b:c", "Such as")]
        case "whole":
            values = [max(int(option.low), 1), max(int(option.low), 1) + 1, *([None] if option.none else [])]
        case "decimal":
            values = [0.25, 0.75]
    return [value for value in values if value != option.default]


def expressions(spec: MetricSpec) -> Iterator[str]:
    """The metric by its name, with each value of each option, with each two options, and with all of them."""
    settings: list[dict[str, Any]] = [{}]
    settings += [{o.name: value} for o in spec.options for value in others(o)]
    settings += [{a.name: others(a)[0], b.name: others(b)[-1]} for a, b in combinations(spec.options, 2)]
    settings += [{a.name: others(a)[-1], b.name: others(b)[0]} for a, b in combinations(spec.options, 2)]
    settings.append({o.name: others(o)[0] for o in spec.options})
    settings.append({o.name: others(o)[-1] for o in spec.options})
    yield from dict.fromkeys(registry.expression(spec.name, options) for options in settings)


def baselines(home: Path, model: str) -> None:
    """Write the baselines of a model, so that BERTScore can be rescaled."""
    (home / "baselines").mkdir(parents=True, exist_ok=True)
    (home / "baselines" / f"{model.rpartition('/')[2]}.tsv").write_text(BASELINES, encoding="utf-8")
