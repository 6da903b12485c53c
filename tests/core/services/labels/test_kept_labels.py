"""Kept labels are those of `all_labels`, and a saved label makes them read one segment of one rater."""

from collections.abc import Callable
from typing import Any

import pytest

from core.data import SegmentKey
from core.errors import Unavailable
from core.mqm.scores import rated_outputs
from core.ports.campaigns import Campaign
from core.ports.labels import Action
from core.ports.store import Store
from core.services.campaigns import adjudication, results
from core.services.campaigns.answers import key_of
from core.services.labels import all_labels, kept_labels
from core.services.labels.kept_labels import KeptLabels
from core.services.labels.labels import save
from tests.core.services.campaigns import filled
from tests.fakes import memory_store

KEYS = [SegmentKey(f"doc{d}", str(s)) for d in range(3) for s in range(4)]


@pytest.fixture
def store() -> Store:
    return memory_store()


def labelled(store: Store, project: int, rater: str, key: SegmentKey, kind: Any = "submit") -> None:
    n = len(store.labels.events(project))
    given = [Action(f"{n}-{s}", "verdict", s, {"value": "no_error"}) for s in filled.QUALITY]
    store.labels.append(project, rater, key, [*given, Action(f"{n}-end", kind, None, {})])


def check(store: Store, project: int, kept: KeptLabels) -> None:
    """Check that the kept labels count as all labels do, in the same order."""
    found, wanted = kept.read(store, store.campaigns.versions(project)), all_labels.labels(store, project)
    assert list(found) == list(wanted)
    assert rated_outputs(found) == rated_outputs(wanted)
    assert {p: of.seconds for p, of in found.items() if of.submitted} == {
        p: of.seconds for p, of in wanted.items() if of.submitted
    }


def counting(store: Store, read: list[dict[str, Any]]) -> Store:
    """Return the store, with the arguments of each reading of events in `read`."""
    events: Callable[..., Any] = store.labels.events

    class Labels:
        def __getattr__(self, name: str) -> Any:
            return getattr(store.labels, name)

        def events(self, project_id: int, **given: Any) -> Any:
            read.append({"project_id": project_id} | given)
            return events(project_id, **given)

    return store._replace(labels=Labels())


def test_kept_labels_are_all_labels_after_every_change(store: Store) -> None:
    campaign = filled.started(store)
    project, kept = campaign.project_id, KeptLabels(campaign.project_id)
    check(store, project, kept)
    for step in (
        lambda: labelled(store, project, "ann", KEYS[0], "reopen"),
        lambda: labelled(store, project, "bob", KEYS[0]),
        lambda: labelled(store, project, "ann", KEYS[1]),
        lambda: labelled(store, project, "ann", KEYS[0]),
        lambda: filled.work(store, campaign, 0.5),
        lambda: store.labels.append(project, "bob", KEYS[0], [Action("again", "reopen", None, {})]),
        lambda: store.campaigns.change(store.campaigns.participants(campaign.id)[0]._replace(excluded="too fast")),
        lambda: store.campaigns.delete(campaign.id),
    ):
        step()
        check(store, project, kept)


def test_many_changes_are_read_together(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_labels, "MOST_PLACES", 2)
    campaign = filled.started(store)
    project, kept = campaign.project_id, KeptLabels(campaign.project_id)
    labelled(store, project, "ann", KEYS[0])
    check(store, project, kept)
    for key in KEYS:
        labelled(store, project, "bob", key)
    check(store, project, kept)


def test_only_the_changed_segment_is_read_again(store: Store) -> None:
    campaign = filled.started(store)
    project, kept = campaign.project_id, KeptLabels(campaign.project_id)
    filled.work(store, campaign, 0.5)
    for key in KEYS:
        labelled(store, project, "ann", key)
    read: list[dict[str, Any]] = []
    counted = counting(store, read)
    first = kept.read(counted, store.campaigns.versions(project))
    newest = store.labels.newest(project)
    read.clear()
    assert kept.read(counted, store.campaigns.versions(project)) is first
    assert not read
    labelled(store, project, "bob", KEYS[3])
    assert kept.read(counted, store.campaigns.versions(project)) != first
    changed = {"project_id": project, "rater": "bob", "segment": KEYS[3]}
    assert read == [{"project_id": project, "after": newest}, changed]


def test_a_restored_older_log_is_read_from_its_beginning(store: Store) -> None:
    campaign = filled.started(store)
    project, kept = campaign.project_id, KeptLabels(campaign.project_id)
    for key in KEYS[:2]:
        labelled(store, project, "ann", key)
    check(store, project, kept)
    older: list[Any] = [event for event in store.labels.events(project) if event.segment == KEYS[0]]

    class Restored:
        def newest(self, project_id: int) -> int:
            return int(older[-1].number)

        def events(self, project_id: int, **given: Any) -> Any:
            return older

    found = kept.read(store._replace(labels=Restored()), store.campaigns.versions(project))
    assert list(found) == [("ann", KEYS[0])]


@pytest.mark.parametrize("protocol", ["mqm", "esa", "da"])
def test_raters_of_a_campaign_are_those_of_its_labels(store: Store, protocol: Any) -> None:
    campaign = filled.started(store, protocol)
    kept = KeptLabels(campaign.project_id)

    def raters() -> list[str]:
        return kept.raters(store, store.campaigns.versions(campaign.project_id))

    assert raters() == []
    filled.work(store, campaign, 0.6)
    everyone = [] if protocol == "da" else [f"{name} (pilot)" for name in filled.SEVERITY]
    assert raters() == everyone
    people = store.campaigns.participants(campaign.id)
    store.campaigns.change(people[0]._replace(excluded="too fast"))
    assert raters() == everyone[1:]
    for given in store.campaigns.assignments(campaign.id, people[1].id):  # nothing of this person counts any more
        reopened = Action(f"reopen-{given.unit.name}", "decline", None, {"reason": "Damaged text"})
        store.labels.append(campaign.texts, people[1].rater, key_of(given.unit.name), [reopened])
    assert raters() == everyone[2:]


def test_an_adjudicator_is_a_rater_of_the_campaign(store: Store) -> None:
    campaign = filled.started(store)
    filled.work(store, campaign)
    first = adjudication.queue(store, campaign)[0]
    adjudication.take_version(store, campaign, "Judy", first.unit, first.versions[0])
    asks = {"asks": ["spans", "score"]}
    save(store, campaign.texts, "Judy", key_of(first.unit.name), [Action("s", "submit", None, asks)])
    versions = store.campaigns.versions(campaign.project_id)
    assert KeptLabels(campaign.project_id).raters(store, versions)[-1] == "Judy, decision (pilot)"


def test_labels_of_a_campaign_that_cannot_be_read_are_read_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = filled.started(store)
    filled.work(store, campaign)
    kept, versions = KeptLabels(campaign.project_id), store.campaigns.versions(campaign.project_id)

    def locked(_: object) -> Campaign:
        raise Unavailable("the database is locked")

    with monkeypatch.context() as patched:
        patched.setattr(store.campaigns, "get", locked)
        with pytest.raises(Unavailable):
            kept.read(store, versions)
    assert kept.read(store, versions) == results.labels_of(store, campaign)


def test_a_campaign_that_is_deleted_meanwhile_has_no_labels(store: Store) -> None:
    campaign = filled.started(store)
    filled.work(store, campaign)
    versions = store.campaigns.versions(campaign.project_id)
    store.campaigns.set_state(campaign.id, "finished")
    store.campaigns.delete(campaign.id)
    assert KeptLabels(campaign.project_id).read(store, versions) == {}
