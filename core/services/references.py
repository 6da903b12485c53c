"""Outputs of a system as references: files of labels hold human translations among the outputs, and no references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.data import Dataset
from core.errors import UserError
from core.ports import ImportReport, Store


def of_system(dataset: Dataset, system: str) -> Dataset:
    """The segments that `system` has an output of, each with that output as its reference; no outputs.

    An empty output is no reference. Raises `UserError` when the system is not there, or has nothing to give.
    """
    if system not in dataset.systems:
        raise UserError("there is no such system", got=f"“{system}”", expected=", ".join(dataset.systems) or "none yet")
    written = {o.key.segment: o.text for o in dataset.outputs if o.system == system and o.text.strip()}
    found = tuple(replace(s, references=(written[s.key],)) for s in dataset.segments if s.key in written)
    if not found:
        raise UserError("this system wrote nothing", where=f"system “{system}”", hint="Choose another")
    return Dataset(found, ())


def with_references(dataset: Dataset, systems: Sequence[str]) -> Dataset:
    """The dataset with the outputs of some systems as further references; the outputs stay. Raises `UserError` as `of_system`."""
    for system in systems:
        more = of_system(dataset, system).segment_of()
        segments = tuple(
            replace(
                s, references=tuple(dict.fromkeys((*s.references, *(more[s.key].references if s.key in more else ()))))
            )
            for s in dataset.segments
        )
        dataset = replace(dataset, segments=segments)
    return dataset


def use(store: Store, project_id: int, system: str) -> ImportReport:
    """Add the outputs of a system to the references of a project; those that are there already stay as they are.

    Scores belong to texts: metrics that read references are scored anew for segments that gain one. Raises `UserError`.
    """
    return store.projects.add(project_id, of_system(store.projects.dataset(project_id), system))
