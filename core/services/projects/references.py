"""Use outputs of a system as references, because label files have human translations among the outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.data import Dataset
from core.errors import UserError
from core.ports.projects import ImportReport
from core.ports.store import Store


def of_system(dataset: Dataset, system: str) -> Dataset:
    """Return the segments of a system's non-empty outputs, each with the output as reference, without outputs.

    Raises `UserError` if the system does not exist or has no such output.
    """
    if system not in dataset.systems:
        raise UserError("there is no such system", got=f"“{system}”", expected=", ".join(dataset.systems) or "none yet")
    written = {o.key.segment: o.text for o in dataset.outputs if o.system == system and o.text.strip()}
    found = tuple(replace(s, references=(written[s.key],)) for s in dataset.segments if s.key in written)
    if not found:
        raise UserError("this system has no outputs with text", where=f"system “{system}”", hint="Choose another")
    return Dataset(found, ())


def with_references(dataset: Dataset, systems: Sequence[str]) -> Dataset:
    """Return the dataset with the outputs of these systems as additional references. Raises `UserError` as `of_system`."""
    for system in systems:
        more = {s.key: s.references for s in of_system(dataset, system).segments}
        segments = []
        for segment in dataset.segments:
            references = dict.fromkeys((*segment.references, *more.get(segment.key, ())))
            segments.append(replace(segment, references=tuple(references)))
        dataset = replace(dataset, segments=tuple(segments))
    return dataset


def use(store: Store, project_id: int, system: str) -> ImportReport:
    """Add the outputs of a system to the references of a project; existing references stay. Raises `UserError`.

    Scores are cached by text, so reference-based metrics must be computed again for segments with a new reference.
    """
    return store.projects.add(project_id, of_system(store.projects.dataset(project_id), system))
