"""Summarize a dataset for a preview."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from core.data import Dataset
from core.formats.problems import counted
from core.formatting import isolated


class DatasetCounts(NamedTuple):
    """What a preview says of the texts of an import. `references` are the fewest and the most of a segment, `without` the number of
    segments without a reference and without a source, `systems` the number of outputs by system."""

    segments: int
    references: tuple[int, int]
    without: tuple[int, int]
    systems: Mapping[str, int]
    empty_outputs: int
    human_scores: tuple[str, ...] = ()

    @property
    def outputs(self) -> int:
        return sum(self.systems.values())


def counts_of(dataset: Dataset) -> DatasetCounts:
    sizes = {len(s.references) for s in dataset.segments}
    return DatasetCounts(
        len(dataset.segments),
        (min(sizes, default=0), max(sizes, default=0)),
        (sum(not s.references for s in dataset.segments), sum(s.source is None for s in dataset.segments)),
        Counter(o.system for o in dataset.outputs),
        sum(not o.text for o in dataset.outputs),
        tuple(dict.fromkeys(h.name for h in dataset.human_scores)),
    )


def summary(dataset: Dataset | DatasetCounts) -> str:
    """Return the size of a dataset, such as `412 segments × 5 systems, 2 references, 1 human score`."""
    of = counts_of(dataset) if isinstance(dataset, Dataset) else dataset
    fewest, most = of.references
    references = (
        f"{fewest}–{most} references" if most != fewest else counted(most, "reference") if most else "no references"
    )
    parts = [f"{counted(of.segments, 'segment')} × {counted(len(of.systems), 'system')}", references]
    if of.human_scores:
        parts.append(counted(len(of.human_scores), "human score"))
    return ", ".join(parts)


def notes_on(dataset: Dataset | DatasetCounts) -> tuple[str, ...]:
    """Return notes on missing references, sources and outputs and on empty outputs, none of which prevent an import."""
    of = counts_of(dataset) if isinstance(dataset, Dataset) else dataset
    notes = []
    n = of.segments
    for what, without in zip(("reference", "source"), of.without, strict=True):
        if without == n:
            notes.append(f"No segment has a {what}; metrics that need one cannot be computed.")
        elif without:
            notes.append(f"{without} of {counted(n, 'segment')} have no {what}; metrics that need one leave them out.")
    for system, count in of.systems.items():
        if count < n:
            notes.append(f"{isolated(system)} has outputs for {count} of {counted(n, 'segment')}.")
    if empty := of.empty_outputs:
        notes.append(f"{counted(empty, 'output')} {'is' if empty == 1 else 'are'} empty.")
    return tuple(notes)
