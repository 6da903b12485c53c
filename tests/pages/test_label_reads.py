"""How often pages read labels and campaigns, which may be a million events and hundreds of campaigns."""

import gc
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Any

import pytest

from core.data import Dataset, SegmentKey
from core.mqm.rated_by_output import RatedByOutput
from core.ports.labels import Action
from core.ports.store import Store
from db.campaigns.repository import SqlCampaigns
from db.labels.repository import SqlLabels
from db.projects.repository import SqlProjects
from tests.core.services.campaigns.filled import QUALITY, started, work
from tests.pages.opened_page import again, opened


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[type, str], Counter[str]]:
    """Return a function that counts the calls of a method from now on, by its name."""
    counted: Counter[str] = Counter()

    def count(of: type, name: str) -> Counter[str]:
        method = getattr(of, name)

        @wraps(method)
        def counting(*given: Any, **named: Any) -> Any:
            counted[name] += 1
            return method(*given, **named)

        monkeypatch.setattr(of, name, counting)
        return counted

    return count


@pytest.mark.extended
def test_pages_read_no_designs_to_find_out_what_changed(
    store: Store, calls: Callable[[type, str], Counter[str]]
) -> None:
    campaign = started(store)
    opened_before = [opened(page, campaign.project_id) for page in ("compare", "meta_evaluation")]
    calls(SqlCampaigns, "list")
    found = calls(SqlCampaigns, "has_any")
    for at in opened_before:
        found.clear()
        again(at)
        assert found["has_any"]
        assert not found["list"]


def with_labels(store: Store) -> int:
    """Return a project with labels of two annotators and of a campaign."""
    campaign = started(store, "mqm")
    work(store, campaign, share=0.2)
    for rater in ("ann", "bob"):
        for segment in ("0", "1"):
            save(store, campaign.project_id, rater, SegmentKey("doc0", segment))
    return campaign.project_id


def save(store: Store, project: int, rater: str, key: SegmentKey) -> None:
    """Submit a segment, in which one output is a non-translation."""
    given = [
        Action(f"{rater}-{key}-{s}", "verdict", s, {"value": "non_translation" if s == "Cedar" else "no_error"})
        for s in QUALITY
    ]
    store.labels.append(project, rater, key, [*given, Action(f"{rater}-{key}-submit", "submit", None, {})])


def test_a_click_reads_new_labels_only(store: Store, calls: Callable[[type, str], Counter[str]]) -> None:
    project = with_labels(store)
    at = opened("labels_and_raters", project)
    before = next(m.value for m in at.markdown if "Still needed" in m.value)
    found = calls(SqlLabels, "events")
    calls(SqlLabels, "raters")
    calls(SqlLabels, "folded")
    again(at)
    assert not found["events"]
    assert not found["folded"]
    assert not found["raters"]
    save(store, project, "zoe", SegmentKey("doc0", "2"))
    again(at)
    assert next(m.value for m in at.markdown if "Still needed" in m.value) != before


@pytest.mark.extended
def test_compare_reads_the_texts_of_the_open_segment_only(
    store: Store, calls: Callable[[type, str], Counter[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = with_labels(store)
    read: set[SegmentKey] = set()
    texts = SqlProjects.texts

    @wraps(texts)
    def reading(
        self: SqlProjects, project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None
    ) -> Dataset:
        read.update(segments if systems != () else ())
        return texts(self, project_id, segments, systems)

    at = opened("compare", project)
    monkeypatch.setattr(SqlProjects, "texts", reading)
    found = calls(SqlLabels, "folded")
    again(at)
    assert not found["folded"]
    save(store, project, "zoe", SegmentKey("doc1", "2"))
    again(at)
    assert found["folded"] == 1
    assert SegmentKey("doc1", "2") not in read
    opened("compare", project, doc="doc1", segment="2")
    assert SegmentKey("doc1", "2") in read


@pytest.mark.extended
def test_labels_of_earlier_versions_are_not_kept(store: Store) -> None:
    project = with_labels(store)
    at = opened("compare", project)

    def versions() -> int:
        gc.collect()
        return sum(type(found) is RatedByOutput for found in gc.get_objects())

    before = versions()
    for number in ("2", "3"):
        save(store, project, "zoe", SegmentKey("doc0", number))
        again(at)
    assert versions() == before > 0
