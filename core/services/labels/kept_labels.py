"""The submitted labels of a project, kept in memory: after a label is saved in the project, only its segment is read again.

The labels of a campaign are read again as a whole when the campaign has changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock

from core.data import SegmentKey
from core.errors import UserError
from core.mqm.log import SegmentLabels, fold, fold_segment
from core.ports.campaigns import CampaignVersion
from core.ports.store import Store
from core.services.campaigns import results

LabelsByPlace = Mapping[tuple[str, SegmentKey], SegmentLabels]
"""Labels by rater and segment."""
MOST_PLACES = 500
"""Above this number of changed segments, all events are read: one query instead of one per rater and segment."""
UNSUBMITTED = SegmentLabels()


class KeptLabels:
    """The labels of a project as `all_labels.labels` returns them, in the same order, but those that are not submitted are empty.

    Submitted ones lack `order`, `ids` and `versions`, which only the editor needs. Threads may share an object.
    """

    def __init__(self, project_id: int) -> None:
        self._project_id = project_id
        self._lock = Lock()
        self._newest = 0
        self._own: dict[tuple[str, SegmentKey], SegmentLabels] = {}
        self._campaigns: dict[int, tuple[CampaignVersion, LabelsByPlace]] = {}
        self._all: LabelsByPlace = {}
        self._outdated = False

    def read(self, store: Store, versions: Sequence[CampaignVersion]) -> LabelsByPlace:
        """Return the labels, with those of the campaigns at these versions. It is the same object as before if nothing has changed."""
        with self._lock:
            self._read_own(store)
            self._read_campaigns(store, versions)
            if self._outdated:
                everything = dict(self._own)
                for _, labels in self._campaigns.values():
                    everything |= labels
                self._all, self._outdated = everything, False
            return self._all

    def raters(self, store: Store, versions: Sequence[CampaignVersion]) -> list[str]:
        """Return the raters who have labelled errors, submitted or not; then those whose labels count in these campaigns."""
        with self._lock:
            self._read_campaigns(store, versions)
            of_campaigns = (rater for _, labels in self._campaigns.values() for rater, _ in labels)
            return [*store.labels.raters(self._project_id), *dict.fromkeys(of_campaigns)]

    def _read_own(self, store: Store) -> None:
        newest = store.labels.newest(self._project_id)
        if newest == self._newest:
            return
        self._outdated = True
        if newest < self._newest:  # a backup was restored
            self._newest, self._own = 0, {}
        new = store.labels.events(self._project_id, after=self._newest)
        places = dict.fromkeys((event.rater, event.segment) for event in new)
        if not self._newest or len(places) > MOST_PLACES:
            new = new if not self._newest else store.labels.events(self._project_id)
            self._own = {place: _slim(labels) for place, labels in fold(new).items()}
        else:
            for rater, segment in places:
                events = store.labels.events(self._project_id, rater=rater, segment=segment)
                self._own[rater, segment] = _slim(fold_segment(events))
        self._newest = max((event.number for event in new), default=self._newest)

    def _read_campaigns(self, store: Store, versions: Sequence[CampaignVersion]) -> None:
        if [version for version, _ in self._campaigns.values()] == list(versions):
            return
        found: dict[int, tuple[CampaignVersion, LabelsByPlace]] = {}
        for version in versions:
            kept = self._campaigns.get(version.id)
            same = kept is not None and kept[0] == version
            found[version.id] = kept if kept and same else (version, self._of_campaign(store, version.id))
        self._campaigns, self._outdated = found, True

    def _of_campaign(self, store: Store, campaign_id: int) -> LabelsByPlace:
        try:
            return results.labels_of(store, store.campaigns.get(campaign_id))
        except UserError:
            if any(version.id == campaign_id for version in store.campaigns.versions(self._project_id)):
                raise
            return {}  # it was deleted meanwhile


def _slim(labels: SegmentLabels) -> SegmentLabels:
    return replace(labels, order=(), ids={}, versions={}) if labels.submitted else UNSUBMITTED
