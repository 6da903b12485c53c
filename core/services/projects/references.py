"""Use outputs of a system as references, because label files have human translations among the outputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from core.data import Dataset, Segment, SegmentKey
from core.errors import UserError
from core.ports.files import ImportPart, StagedMetric
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.projects.adding import Imported

SEGMENTS, OUTPUTS, CHARACTERS = 2000, 20_000, 4_000_000
"""Most segments of a part, and most outputs and characters that these have (unless one segment has more): an import compares each part
with all stored outputs of its segments."""


def of_system(dataset: Dataset, system: str) -> Dataset:
    """Return the segments of a system's non-empty outputs, each with the output as reference, without outputs.

    Raises `UserError` if the system does not exist or has no such output.
    """
    _check(system, dataset.systems)
    segments = _segments(dataset, system)
    if not segments:
        raise _without_text(system)
    return Dataset(segments, ())


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


def use(store: Store, project_id: int, system: str, progress: Progress = no_progress) -> Imported:
    """Add the outputs of a system to the references of a project, in parts; existing references stay.

    All or nothing, also if `progress` raises. Scores are cached by text, so reference-based metrics must be computed again for
    segments with a new reference. Raises `UserError` as `of_system`.
    """
    report = store.imports.add(project_id, _OutputsAsReferences(store, project_id, system), progress)
    return Imported(store.projects.get(project_id), report, references_of=system)


class _OutputsAsReferences:
    """The outputs of a system of a project as an import of references (`core.ports.files.ImportSource`)."""

    metrics: Sequence[StagedMetric] = ()

    def __init__(self, store: Store, project_id: int, system: str) -> None:
        index = store.projects.index(project_id)
        _check(system, index.systems)
        self._texts, self._project_id, self._system = store.projects.texts, project_id, system
        has_text = index.lengths[:, index.column[system]] > 0
        self._keys = [key for key, present in zip(index.segments, has_text, strict=True) if present]
        self._characters = index.lengths[has_text].clip(0).sum(axis=1).tolist()
        self._most = min(SEGMENTS, max(1, OUTPUTS // len(index.systems)))

    @property
    def n_rows(self) -> int:
        return 2 * len(self._keys)

    def parts(self, rows: Callable[[], int]) -> Iterator[ImportPart]:
        """Yield the segments with the outputs as references. Raises `UserError` at the end if no output has text."""
        any_text = False
        for keys in self._parts_of_keys():
            segments = _segments(self._texts(self._project_id, keys, {self._system}), self._system)
            any_text = any_text or bool(segments)
            yield ImportPart(Dataset(segments, ()))
        if not any_text:
            raise _without_text(self._system)

    def _parts_of_keys(self) -> Iterator[list[SegmentKey]]:
        part, held = list[SegmentKey](), 0
        for key, characters in zip(self._keys, self._characters, strict=True):
            if part and (len(part) == self._most or held + characters > CHARACTERS):
                yield part
                part, held = [], 0
            part.append(key)
            held += characters
        if part:
            yield part


def _segments(dataset: Dataset, system: str) -> tuple[Segment, ...]:
    written = {o.key.segment: o.text for o in dataset.outputs if o.system == system and o.text.strip()}
    return tuple(replace(s, references=(written[s.key],)) for s in dataset.segments if s.key in written)


def _check(system: str, systems: Collection[str]) -> None:
    if system not in systems:
        raise UserError("there is no such system", got=f"“{system}”", expected=", ".join(systems) or "none yet")


def _without_text(system: str) -> UserError:
    return UserError("this system has no outputs with text", where=f"system “{system}”", hint="Choose another")
