"""Kept labels are those of `all_labels`, and a saved label makes them read one segment of one rater."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from core.data import SegmentKey, grouped
from core.errors import Unavailable
from core.mqm.log import folded
from core.mqm.scores import rated_outputs
from core.ports.campaigns import Campaign
from core.ports.labels import Action, FoldedSegment
from core.ports.store import Store
from core.progress import Cancelled
from core.services.campaigns import answers, decisions
from core.services.campaigns.answers import key_of
from core.services.labels import kept_labels
from core.services.labels.kept_labels import KeptLabels
from tests.core.services.campaigns import filled

TEXTS = filled.texts(2, 3)
KEYS = [segment.key for segment in TEXTS.segments]


def labelled(store: Store, project: int, rater: str, key: SegmentKey, kind: Any = "submit") -> None:
    n = len(store.labels.events(project))
    given = [Action(f"{n}-{s}", "verdict", s, {"value": "no_error"}) for s in filled.QUALITY]
    store.labels.append(project, rater, key, [*given, Action(f"{n}-end", kind, None, {})])


def check(store: Store, project: int, kept: KeptLabels) -> None:
    """Check that the kept labels count as all labels do, in the same order."""
    found, by_output = kept.read(store, store.campaigns.versions(project))
    wanted = {place: of for place, of in answers.all_labels(store, project).items() if of.submitted}
    assert list(found) == rated_outputs(wanted)
    assert dict(by_output) == grouped((r.key, r) for r in rated_outputs(wanted))
    raters, segments = found.names.raters.values, found.names.segments.values
    places = zip(found.places.rater, found.places.segment, found.places.seconds, strict=True)
    seconds = {(raters[r], segments[s]): float(of) for r, s, of in places}
    assert list(seconds) == list(wanted)
    assert seconds == {place: of.seconds for place, of in wanted.items()}


def counting(store: Store, read: list[FoldedSegment]) -> Store:
    """Return the store, with the labels that were read and folded in `read`."""

    class Labels:
        def __getattr__(self, name: str) -> Any:
            return getattr(store.labels, name)

        def folded(self, *given: Any, **options: Any) -> Any:
            for of in store.labels.folded(*given, **options):
                read.append(of)
                yield of

    return store._replace(labels=Labels())


def test_kept_labels_are_all_labels_after_every_change(store: Store) -> None:
    campaign = filled.started(store, dataset=TEXTS)
    project, kept = campaign.project_id, KeptLabels(campaign.project_id)
    check(store, project, kept)
    for step in (
        lambda: labelled(store, project, "ann", KEYS[0], "reopen"),
        lambda: labelled(store, project, "bob", KEYS[0]),
        lambda: labelled(store, project, "ann", KEYS[1]),
        lambda: labelled(store, project, "bob", KEYS[5], "reopen"),  # the first labels of this segment, not submitted
        lambda: labelled(store, project, "ann", KEYS[0]),
        lambda: filled.work(store, campaign, 0.5),
        lambda: store.labels.append(project, "bob", KEYS[0], [Action("again", "reopen", None, {})]),
        lambda: store.campaigns.change(store.campaigns.participants(campaign.id)[0]._replace(excluded="too fast")),
        lambda: store.campaigns.delete(campaign.id),
    ):
        step()
        check(store, project, kept)


def test_labels_of_a_campaign_replace_those_imported_under_the_same_name() -> None:
    store, campaign = filled.completed()
    project, kept = campaign.project_id, KeptLabels(campaign.project_id)
    (rater, segment), of = next(iter(answers.labels_of(store, campaign).items()))
    labelled(store, project, rater, segment)
    labels, by_output = kept.read(store, store.campaigns.versions(project))
    found = [r for r in labels if (r.rater, r.key.segment) == (rater, segment)]
    assert {r.key.system for r in found} == of.outputs.keys()
    assert len(found) == len(of.outputs)
    assert all(len({r.rater for r in rated}) == len(rated) for rated in by_output.values())
    assert kept.raters(store, store.campaigns.versions(project))


def test_a_second_reader_reports_progress_while_the_first_one_reads(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_labels, "WAIT", 0.01)
    campaign = filled.started(store, dataset=TEXTS)
    project, kept = campaign.project_id, KeptLabels(campaign.project_id)
    labelled(store, project, "ann", KEYS[0])
    began, go_on, waited = Event(), Event(), Event()

    def first(_: float) -> None:
        began.set()
        assert go_on.wait(30)

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(kept.read, store, [], first)
        assert began.wait(30)
        two = pool.submit(kept.read, store, [], lambda _: waited.set())
        assert waited.wait(30)
        go_on.set()
        assert one.result()[0] is two.result()[0]


def test_a_cancelled_reading_is_begun_again(store: Store) -> None:
    campaign = filled.started(store, dataset=TEXTS)
    project, kept = campaign.project_id, KeptLabels(campaign.project_id)
    labelled(store, project, "ann", KEYS[0])

    def cancel(_: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        kept.read(store, [], cancel)
    check(store, project, kept)


def test_only_the_changed_segment_is_read_again(store: Store) -> None:
    campaign = filled.started(store, dataset=TEXTS)
    project, kept = campaign.project_id, KeptLabels(campaign.project_id)
    filled.work(store, campaign, 0.5)
    for key in KEYS:
        labelled(store, project, "ann", key)
    read: list[FoldedSegment] = []
    counted = counting(store, read)
    first = kept.read(counted, store.campaigns.versions(project))[0]
    read.clear()
    assert kept.read(counted, store.campaigns.versions(project))[0] is first
    assert not read
    labelled(store, project, "bob", KEYS[3])
    assert len(kept.read(counted, store.campaigns.versions(project))[0]) == len(first) + len(filled.QUALITY)
    assert [(of.rater, of.segment) for of in read] == [("bob", KEYS[3])]


def test_a_restored_older_log_is_read_from_its_beginning(store: Store) -> None:
    campaign = filled.started(store, dataset=TEXTS)
    project, kept = campaign.project_id, KeptLabels(campaign.project_id)
    for key in KEYS[:2]:
        labelled(store, project, "ann", key)
    check(store, project, kept)
    older: list[Any] = [event for event in store.labels.events(project) if event.segment == KEYS[0]]

    class Restored:
        def __getattr__(self, name: str) -> Any:
            return getattr(store.labels, name)

        def newest(self, project_id: int) -> int:
            return int(older[-1].number)

        def folded(self, project_id: int, after: int = 0, **options: Any) -> Any:
            assert not after
            yield folded(older)

    found, _ = kept.read(store._replace(labels=Restored()), store.campaigns.versions(project))
    assert {(r.rater, r.key.segment) for r in found} == {("ann", KEYS[0])}


@pytest.mark.parametrize("protocol", ["mqm", "esa", "da"])
def test_raters_of_a_campaign_are_those_of_its_labels(store: Store, protocol: Any) -> None:
    campaign = filled.started(store, protocol, dataset=TEXTS)
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


def test_an_adjudicator_is_a_rater_of_the_campaign() -> None:
    store, campaign = filled.completed()
    first = decisions.queue(store, campaign)[0]
    decisions.take_version(store, campaign, "Judy", first.unit, first.versions[0])
    asks = {"asks": ["spans", "score"]}
    store.labels.append(campaign.texts, "Judy", key_of(first.unit.name), [Action("s", "submit", None, asks)])
    versions = store.campaigns.versions(campaign.project_id)
    assert KeptLabels(campaign.project_id).raters(store, versions)[-1] == "Judy, decision (pilot)"


def test_labels_of_a_campaign_that_cannot_be_read_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store, campaign = filled.completed()
    kept, versions = KeptLabels(campaign.project_id), store.campaigns.versions(campaign.project_id)

    def locked(_: object) -> Campaign:
        raise Unavailable("the database is locked")

    with monkeypatch.context() as patched:
        patched.setattr(store.campaigns, "get", locked)
        with pytest.raises(Unavailable):
            kept.read(store, versions)
    assert list(kept.read(store, versions)[0]) == rated_outputs(answers.labels_of(store, campaign))


def test_a_campaign_that_is_deleted_meanwhile_has_no_labels() -> None:
    store, campaign = filled.completed()
    versions = store.campaigns.versions(campaign.project_id)
    store.campaigns.set_state(campaign.id, "finished")
    store.campaigns.delete(campaign.id)
    assert not KeptLabels(campaign.project_id).read(store, versions)[0]
