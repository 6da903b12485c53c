"""The submitted labels of a project, kept in memory: after a label is saved in the project, only its segment is read again.

The labels of a campaign are read again as a whole when the campaign has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from core.errors import UserError
from core.mqm.label_columns import LabelColumns, LabelNames
from core.mqm.rated_by_output import RatedByOutput
from core.ports.campaigns import CampaignVersion
from core.ports.labels import FoldedSegment
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.campaigns import answers

WAIT = 0.2
"""Seconds between two reports of progress while another thread reads the labels."""


class KeptLabels:
    """The submitted labels of a project, those of its campaigns last. Threads may share an object."""

    def __init__(self, project_id: int) -> None:
        self._project_id = project_id
        self._lock = Lock()
        self._newest, self._share = 0, 0.0
        self._names = LabelNames()
        self._own = LabelColumns.of([], self._names)
        self._campaigns: dict[int, tuple[CampaignVersion, LabelColumns]] = {}
        self._all, self._made_of = self._own, (self._own, self._campaigns)
        self._by_output = RatedByOutput(self._all)

    def read(
        self, store: Store, versions: Sequence[CampaignVersion], progress: Progress = no_progress
    ) -> tuple[LabelColumns, RatedByOutput]:
        """Return the labels, with those of the campaigns at these versions. They are the same objects as before if nothing has changed.

        `progress` is called while all labels of a project are read, also by another thread.
        """
        while not self._lock.acquire(timeout=WAIT):  # another thread reads them
            progress(self._share)
        try:
            self._read_own(store, progress)
            self._read_campaigns(store, versions)
            own, campaigns = self._made_of
            if self._own is not own or self._campaigns is not campaigns:
                self._all = self._own.followed_by(*(labels for _, labels in self._campaigns.values()))
                self._by_output = RatedByOutput(self._all)
                self._made_of = self._own, self._campaigns
            return self._all, self._by_output
        finally:
            self._lock.release()

    def raters(self, store: Store, versions: Sequence[CampaignVersion]) -> list[str]:
        """Return the raters who have labelled errors, submitted or not; then those whose labels count in these campaigns."""
        with self._lock:
            self._read_campaigns(store, versions)
            of_campaigns = (rater for _, labels in self._campaigns.values() for rater in labels.raters)
            return [*store.labels.raters(self._project_id), *dict.fromkeys(of_campaigns)]

    def _read_own(self, store: Store, progress: Progress) -> None:
        newest = store.labels.newest(self._project_id)
        if newest == self._newest:
            return

        def report(share: float) -> None:
            self._share = share
            progress(share)

        if 0 < self._newest < newest:
            self._own = self._own.with_changes(store.labels.folded(self._project_id, self._newest, report))
        else:  # nothing was read yet, or a backup was restored
            names = LabelNames()
            self._own = LabelColumns.of(store.labels.folded(self._project_id, progress=report), names)
            self._names, self._campaigns = names, {}
        self._newest = newest

    def _read_campaigns(self, store: Store, versions: Sequence[CampaignVersion]) -> None:
        if [version for version, _ in self._campaigns.values()] == list(versions):
            return
        campaigns: dict[int, tuple[CampaignVersion, LabelColumns]] = {}
        for version in versions:
            kept = self._campaigns.get(version.id)
            same = kept is not None and kept[0] == version
            campaigns[version.id] = kept if kept and same else (version, self._of_campaign(store, version.id))
        self._campaigns = campaigns

    def _of_campaign(self, store: Store, campaign_id: int) -> LabelColumns:
        try:
            labels = answers.labels_of(store, store.campaigns.get(campaign_id))
        except UserError:
            if any(version.id == campaign_id for version in store.campaigns.versions(self._project_id)):
                raise
            labels = {}  # it was deleted meanwhile
        return LabelColumns.of((FoldedSegment(*place, of) for place, of in labels.items()), self._names)
