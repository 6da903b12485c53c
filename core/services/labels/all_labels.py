"""All labels and judgements of a project: those made on Annotate or imported, and the results of its campaigns."""

from __future__ import annotations

from core.data import Judgement, SegmentKey
from core.mqm.log import SegmentLabels, fold
from core.ports.store import Store
from core.services.campaigns import results


def labels(store: Store, project_id: int) -> dict[tuple[str, SegmentKey], SegmentLabels]:
    """Return the labels by rater and segment. Those of campaigns are submitted ones only."""
    return fold(store.labels.events(project_id)) | results.labels(store, project_id)


def judgements(store: Store, project_id: int) -> list[Judgement]:
    """Return the numbers of all raters."""
    return store.judgements.list(project_id) + results.judgements(store, project_id)
