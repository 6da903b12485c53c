"""The gold texts of a stress test: first references (scored against the others) or the outputs of one system (He et al. 2023, section 2)."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.data import Dataset, Item, SegmentKey
from core.errors import UserError, unknown
from core.metrics.base import MetricSpec

REFERENCE = "reference"


class Gold(NamedTuple):
    """A text to noise: its hypothesis, with the source and references it is scored with. `id` is the segment id, or
    `document:segment` if documents share segment ids."""

    id: str
    item: Item


def from_references(dataset: Dataset) -> list[Gold]:
    """Return the first reference of each segment as the gold text, scored against the other references (there may be none).

    Segments without references, or with a blank first one, are left out.
    """
    return _named(
        (s.key, Item(s.source, s.references[0], s.references[1:]))
        for s in dataset.segments
        if s.references and s.references[0].strip()
    )


def from_system(dataset: Dataset, system: str) -> list[Gold]:
    """Return a system's outputs as gold texts, scored against all references; blank outputs are left out."""
    return _named(
        (key.segment, item) for key, item in dataset.items() if key.system == system and item.hypothesis.strip()
    )


def gold_of(dataset: Dataset, which: str) -> list[Gold]:
    """Return the gold texts by name: `reference` or a system. Raises UserError for an unknown name and if there are no texts."""
    if which == REFERENCE:
        golds, lacking = from_references(dataset), "no segment has a reference"
    elif which in dataset.systems:
        golds, lacking = from_system(dataset, which), f"all outputs of {which} are blank"
    else:
        raise unknown("system", which, [REFERENCE, *dataset.systems])
    if not golds:
        others = [name for name in (REFERENCE, *dataset.systems) if name != which]
        raise UserError(
            "there are no good texts", got=lacking, hint=f"Choose {' or '.join(others)} as good texts" if others else ""
        )
    return golds


def no_references(
    dataset: Dataset, which: str, golds: Sequence[Gold], metrics: Sequence[MetricSpec]
) -> UserError | None:
    """Return an error if every metric needs a reference and the only reference of each segment is the gold text."""
    if which != REFERENCE or any(g.item.references for g in golds) or not metrics:
        return None
    if all("reference" in spec.needs for spec in metrics):
        systems = ", ".join(dataset.systems)
        return UserError(
            "every segment has one reference, which is the good text: no reference is left to compare with",
            where="--gold",
            got=REFERENCE,
            expected=f"a system with good outputs: {systems}" if systems else "data with two references per segment",
            hint=f"For example --gold {shlex.quote(dataset.systems[0])}; or choose metrics that need no reference"
            if systems
            else "Add references, or choose metrics that need none",
        )
    return None


def left_out(dataset: Dataset, which: str) -> int:
    """Return how many segments `gold_of` leaves out because the first reference, or the system's output, is blank or missing."""
    golds = from_references(dataset) if which == REFERENCE else from_system(dataset, which)
    return len(dataset.segments) - len(golds)


def _named(keyed_items: Iterable[tuple[SegmentKey, Item]]) -> list[Gold]:
    keyed = list(keyed_items)
    counted = Counter(key.segment_id for key, _ in keyed)
    return [
        Gold(key.segment_id if counted[key.segment_id] == 1 else f"{key.doc_id}:{key.segment_id}", item)
        for key, item in keyed
    ]
