"""Which partly scored metrics can be finished on this machine, and how far a metric has scored some outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from core.data import Dataset
from core.errors import UserError
from core.metrics import external, registry
from core.scoring.dataset import for_dataset
from core.services.projects.view import Column, View


class Finishable(NamedTuple):
    """`metrics` are expressions whose missing outputs a scoring job can compute; `others` are (label, reason)."""

    metrics: tuple[str, ...]
    others: tuple[tuple[str, str], ...]


def finishable(dataset: Dataset, columns: Iterable[Column]) -> Finishable:
    """Return which columns can be continued: those that would get the same signature on this machine."""
    metrics, others = list[str](), list[tuple[str, str]]()
    for column in columns:
        if column.labelled:
            others.append((column.label, "label the other outputs on Annotate"))
            continue
        if external.is_external(column.metric):
            others.append((column.label, "import the missing scores"))
            continue
        try:
            signed = for_dataset(registry.load(column.metric), dataset).signature()
        except (UserError, ImportError) as error:
            others.append((column.label, str(error)))
            continue
        if signed == column.signature:
            metrics.append(column.metric)
        else:
            others.append((column.label, "scored with another model or version; compute it again"))
    return Finishable(tuple(metrics), tuple(others))


def incomplete(view: View, names: Collection[str] = ()) -> list[tuple[Column, int]]:
    """Return the metrics (of `names`, or all) that lack results of outputs, with the number of outputs that have one."""
    columns = [c for c in view.columns if not c.human and (not names or c.name in names)]
    counted = [(c, view.table(c.name).n) for c in columns]
    return [(c, n) for c, n in counted if n < view.index.n_outputs]
