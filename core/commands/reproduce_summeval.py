"""`reproduce summeval`: agreement of the string metrics with SummEval's experts, compared with the papers' tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from core.commands.progress import status
from core.commands.reproduce_data import Summary
from core.commands.reproduce_smart import DIMENSIONS, summeval
from core.data import Item
from core.errors import UserError
from core.metrics import registry
from core.progress import no_progress
from core.stats.correlation.correlation import Group, Measure, Statistic, agreement

Array = npt.NDArray[np.float64]
METRICS = ("rouge1", "rouge2", "rougeL", "bleu", "chrf")
"""The string metrics in the tables. TER is left out: with eleven references it takes longer than all others together."""

IN = " (in brackets: documents in which it is defined, of all documents)"

SMART_TABLE_2: Mapping[str, tuple[float, ...]] = {
    "rouge1": (0.350, 0.550, 0.527, 0.583),
    "rouge2": (0.233, 0.600, 0.494, 0.433),
    "rougeL": (0.117, 0.117, 0.259, 0.350),
    "bleu": (0.217, 0.050, 0.326, 0.383),
    "chrf": (0.350, 0.617, 0.561, 0.550),
}
"""Amplayo et al. 2022: Kendall τ at system level."""

BARTSCORE_PP_TABLE_3 = (0.1668, 0.1596, 0.1150, 0.3264)
"""Lu et al. 2023, the row "ROUGE" under SummEval: Spearman ρ. The paper does not say which ROUGE."""


def summeval_strings(path: Path) -> str:
    """Return Kendall τ of system means with SMART's Table 2, and Spearman ρ and τ within documents with BARTScore++'s Table 3.

    Scores are those of the best of the eleven references (as in the registry's metrics), or the mean over references. Raises
    `UserError`.
    """
    rated = summeval(path)
    rows = []
    for name in METRICS:
        for how, score in (("best", _best), ("mean", _mean)):
            status(f"{name}, {how} reference")
            rows.append((name, how, score(name, rated)))
    segments = [r.item.source for r in rated]
    systems = [r.system for r in rated]

    def row(values: Array, measure: Measure, group: Group) -> list[Statistic]:
        found = []
        for dimension in DIMENSIONS.values():
            human = np.array([r.human[dimension] for r in rated])
            one = agreement(measure, values, human, group=group, segments=segments, systems=systems)
            if one.value is None:
                raise UserError("agreement is undefined", where=f"{measure}, {dimension}", got=one.reason)
            found.append(one)
        return found

    return "\n".join(_written(rows, row))


def _best(name: str, rated: Sequence[Summary]) -> Array:
    return _scores(name, [r.item for r in rated])


def _mean(name: str, rated: Sequence[Summary]) -> Array:
    one_each = [Item(r.item.source, r.item.hypothesis, (ref,)) for r in rated for ref in r.item.references]
    flat, counts = _scores(name, one_each), [len(r.item.references) for r in rated]
    return np.array([part.mean() for part in np.split(flat, np.cumsum(counts)[:-1])])


def _scores(name: str, items: Sequence[Item]) -> Array:
    return np.array([v.value for v in registry.load(name).score(items, no_progress)], dtype=np.float64)


def _written(
    rows: Sequence[tuple[str, str, Array]], row: Callable[[Array, Measure, Group], list[Statistic]]
) -> Iterator[str]:
    yield "Kendall τ-b between system means of metrics and experts; in brackets: SMART (Amplayo et al. 2022), Table 2"
    yield " " * 16 + "".join(f"{name:<18}" for name in DIMENSIONS).rstrip()
    for name, how, values in rows:
        theirs = SMART_TABLE_2.get(name, (None,) * 4)
        cells = [
            f"{ours.value:6.3f}" + (f" ({paper:.3f})" if paper is not None else "")
            for ours, paper in zip(row(values, "kendall", "system"), theirs, strict=True)
        ]
        yield f"{name:<8}{how:<8}" + "".join(f"{c:<18}" for c in cells).rstrip()
    lu = " ".join(f"{v:.3f}" for v in BARTSCORE_PP_TABLE_3)
    headings: dict[Measure, str] = {
        "spearman": f"Spearman ρ within each document, averaged{IN}; BARTScore++ (Lu et al. 2023), Table 3, ROUGE: {lu}",
        "kendall": f"Kendall τ-b within each document, averaged{IN}",
    }
    for measure, heading in headings.items():
        yield ""
        yield heading
        for name, how, values in rows:
            yield (
                f"{name:<8}{how:<8}"
                + "".join(f"{v.value:6.3f}{_documents(v):12}" for v in row(values, measure, "segment")).rstrip()
            )


def _documents(found: Statistic) -> str:
    """Return in how many documents an average is defined, as " (98/100)"; "" if in all."""
    return f" ({found.groups}/{found.groups + found.undefined})" if found.undefined else ""
