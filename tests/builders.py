"""Small data sets, metrics and callbacks that tests of every folder use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from core.data import Dataset, Item, Output, Segment, Value
from core.metrics.base import Metric, MetricSpec
from core.progress import Cancelled, Progress
from core.refine.result import weighted


def counting_metric(
    name: str = "length",
    of: Callable[[Item], Value] = lambda item: Value(float(len(item.hypothesis))),
    *,
    needs: frozenset[Any] = frozenset(),
    seen: list[Item] | None = None,
) -> Metric:
    """Return a metric whose value is `of(item)`; every item that it scores is appended to `seen`."""
    spec = MetricSpec(name, name, "none", "for tests", (0, float("inf")), needs)

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        values = []
        for done, item in enumerate(items):
            progress(done / len(items))
            if seen is not None:
                seen.append(item)
            values.append(of(item))
        return values

    return Metric(spec, lambda: f"{name}|v:1", score)


def refined_value(explicit: float, implicit: float, score: float | None = None) -> Value:
    """Return the score of a refinement with these distances, from an output with this BARTScore."""
    before = -explicit - implicit if score is None else score
    parts = {"dist_exp": explicit, "dist_imp": implicit, "score_hyp": before}
    return Value(weighted(explicit, implicit, 1.0), parts=parts)


def stop_when(unwanted: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return a callback that raises `Cancelled` once `unwanted` of its argument is true."""

    def stop(at: Any) -> None:
        if unwanted(at):
            raise Cancelled

    return stop


def small_dataset(n: int = 3, systems: Sequence[str] = ("A", "B")) -> Dataset:
    """Return `n` segments in one document, each with a source, one reference and an output per system; all texts differ."""
    return Dataset(
        tuple(Segment("doc", str(i), f"source {i}", (f"reference {i}",)) for i in range(n)),
        tuple(Output(system, "doc", str(i), f"{system} output {i}") for i in range(n) for system in systems),
    )
