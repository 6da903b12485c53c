"""All labels and judgements of a project: those made on Annotate or imported, and the results of its campaigns."""

from __future__ import annotations

from core.data import Judgement, SegmentKey
from core.ports.labels import SegmentLabels
from core.ports.store import Store
from core.services.campaigns import answers


def labels(store: Store, project_id: int) -> dict[tuple[str, SegmentKey], SegmentLabels]:
    """Return the labels by rater and segment. Those of campaigns are submitted ones only."""
    own = sorted(store.labels.folded(project_id), key=lambda of: of.first)
    return {(of.rater, of.segment): of.labels for of in own} | answers.labels(store, project_id)


def judgements(store: Store, project_id: int) -> list[Judgement]:
    """Return the numbers of all raters."""
    return store.judgements.list(project_id) + answers.judgements(store, project_id)
