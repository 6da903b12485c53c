"""Summarize a dataset for a preview."""

from __future__ import annotations

from collections import Counter

from core.data import Dataset
from core.formats.problems import counted


def summary(dataset: Dataset) -> str:
    """Return the size of a dataset, such as `412 segments × 5 systems, 2 references, 1 human score`."""
    sizes = {len(s.references) for s in dataset.segments}
    most, fewest = max(sizes, default=0), min(sizes, default=0)
    references = (
        f"{fewest}–{most} references" if most != fewest else counted(most, "reference") if most else "no references"
    )
    parts = [f"{counted(len(dataset.segments), 'segment')} × {counted(len(dataset.systems), 'system')}", references]
    if names := {h.name for h in dataset.human_scores}:
        parts.append(counted(len(names), "human score"))
    return ", ".join(parts)


def notes_on(dataset: Dataset) -> tuple[str, ...]:
    """Return notes on missing references, sources and outputs and on empty outputs, none of which prevent an import."""
    notes = []
    n = len(dataset.segments)
    for what, without in (
        ("reference", sum(not s.references for s in dataset.segments)),
        ("source", sum(s.source is None for s in dataset.segments)),
    ):
        if without == n:
            notes.append(f"No segment has a {what}; metrics that need one cannot be computed.")
        elif without:
            notes.append(f"{without} of {counted(n, 'segment')} have no {what}; metrics that need one leave them out.")
    for system, count in Counter(o.system for o in dataset.outputs).items():
        if count < n:
            notes.append(f"{system} has outputs for {count} of {counted(n, 'segment')}.")
    if empty := sum(not o.text for o in dataset.outputs):
        notes.append(f"{counted(empty, 'output')} {'is' if empty == 1 else 'are'} empty.")
    return tuple(notes)
