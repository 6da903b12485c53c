"""Campaigns, and what the rest of storage does with their texts."""

import pytest

from core.campaigns.suggestions import Suggestions
from core.data import Dataset, Output, SegmentKey
from core.errors import UserError
from core.ports.campaigns import Campaign, CampaignVersion, RemainingWork
from core.ports.labels import Action
from core.ports.store import Store
from tests.core.services.campaigns.test_suggestions import accept_first, layer
from tests.core.services.campaigns.world import campaign_world
from tests.db.campaigns import (
    DESIGN,
    LEASE,
    NOW,
    SETTINGS,
    Choice,
    assigned,
    created,
    only,
    replaced,
    texts,
    touch,
    unit,
)


@pytest.fixture
def campaign(store: Store, project: int) -> Campaign:
    return created(store, project)


def test_a_campaign_has_its_own_texts_and_settings(store: Store, project: int, campaign: Campaign) -> None:
    assert (campaign.project_id, *campaign[3:6], campaign.created_by) == (project, "pilot", DESIGN, "draft", "ann")
    assert campaign.created.tzinfo is not None
    assert store.campaigns.get(campaign.id) == campaign == store.campaigns.of_texts(campaign.texts)
    assert store.campaigns.of_texts(project) is None
    assert store.campaigns.list(project) == [campaign]
    assert store.projects.dataset(campaign.texts) == texts("u3", "u1", "u2")
    assert store.projects.document(campaign.texts, "u1").segments == texts("u1").segments
    outline = store.projects.index(campaign.texts).outline
    assert list(outline.items()) == [(SegmentKey(name, "0"), ("A", "B")) for name in ("u3", "u1", "u2")]
    assert {name: store.settings.get(campaign.texts, name) for name in SETTINGS} == SETTINGS
    units = store.campaigns.units(campaign.id)
    assert [(u.name, u.position, u.block, u.kind, u.retired) for u in units] == [
        (name, i, i, "item", False) for i, name in enumerate(("u3", "u1", "u2"))
    ]
    assert {(u.of, u.systems, str(u.details)) for u in units} == {
        (SegmentKey("doc", "0"), ("A", "B"), "{'from': [1, None]}")
    }
    store.campaigns.set_state(campaign.id, "running")
    assert store.campaigns.get(campaign.id) == campaign._replace(state="running")


def test_names_of_campaigns_are_unique_per_project(store: Store, project: int, campaign: Campaign) -> None:
    for name in ("pilot", " pilot ", " ", ""):
        with pytest.raises(UserError):
            created(store, project, name)
    assert store.campaigns.list(project) == [campaign]
    other = store.projects.create("other").id
    assert created(store, other).name == "pilot"
    assert created(store, project, "main").id > campaign.id
    assert [c.name for c in store.campaigns.list(project)] == ["pilot", "main"]


def test_texts_projects_are_in_no_list(store: Store, project: int, campaign: Campaign) -> None:
    assert [p.id for p in store.projects.list()] == [project]
    assert store.projects.get(campaign.texts).n_outputs == 6
    assert store.projects.get(campaign.texts).name == "pilot"
    assert store.projects.create("pilot").name == "pilot"
    with pytest.raises(UserError, match="no such project"):
        store.projects.rename(campaign.texts, "mine")


def test_a_campaign_that_cannot_be_created_leaves_nothing(store: Store, project: int) -> None:
    with pytest.raises(UserError):
        created(store, 999)
    with pytest.raises(ValueError, match="unit"):
        store.campaigns.create(project, "pilot", DESIGN, SETTINGS, texts("u1"), [unit("u2")], "ann")
    with pytest.raises(ValueError, match="unit"):
        store.campaigns.create(project, "pilot", DESIGN, SETTINGS, texts("u1"), [unit("u1"), unit("u1")], "ann")
    twice = Dataset(texts("u1").segments, (Output("A", "u1", "0", "x"), Output("A", "u1", "0", "y")))
    with pytest.raises(UserError):
        store.campaigns.create(project, "pilot", DESIGN, SETTINGS, twice, [unit("u1")], "ann")
    assert store.campaigns.list(project) == []
    assert created(store, project).name == "pilot"
    assert [p.name for p in store.projects.list()] == ["p"]


def test_labels_links_and_settings_work_on_texts(store: Store, campaign: Campaign) -> None:
    segment = SegmentKey("u1", "0")
    store.labels.append(campaign.texts, "Rosa", segment, [Action("1", "verdict", "A", {"value": "no_error"})])
    assert [e.segment for e in store.labels.events(campaign.texts)] == [segment]
    assert store.labels.raters(campaign.texts) == ["Rosa"]
    link = store.people.add_link(campaign.texts, "Rosa", None, "a" * 64, None, "ann")
    assert store.people.links(campaign.texts) == [link]
    store.settings.put(campaign.texts, "protocol", {"asks": ["spans"]})
    assert store.settings.get(campaign.texts, "protocol") == {"asks": ["spans"]}


def test_a_deleted_campaign_takes_its_texts_labels_and_links(store: Store, project: int, campaign: Campaign) -> None:
    kept = created(store, project, "kept")
    assigned(store, campaign, "Rosa", "u1")
    assigned(store, kept, "Rosa", "u1")
    test_labels_links_and_settings_work_on_texts(store, campaign)
    for at, hashed in ((campaign, "b" * 64), (kept, "c" * 64)):
        store.shared.add(project, at.id, "Results", False, "<html>", hashed, "ann")
    with pytest.raises(UserError, match="no such campaign"):
        store.shared.add(store.projects.create("other").id, kept.id, "Results", False, "<html>", "d" * 64, "ann")
    store.campaigns.delete(campaign.id)
    assert [store.shared.page(hashed) for hashed in ("b" * 64, "c" * 64)] == [None, "<html>"]
    assert store.campaigns.list(project) == [kept]
    assert store.campaigns.of_texts(campaign.texts) is None
    assert store.labels.events(campaign.texts) == []
    assert store.people.link("a" * 64) is None
    assert len(store.campaigns.assignments(kept.id)) == 1
    assert store.projects.get(project).n_segments == 3
    for gone in (
        lambda: store.campaigns.get(campaign.id),
        lambda: store.campaigns.delete(campaign.id),
        lambda: store.campaigns.units(campaign.id),
        lambda: store.campaigns.join(campaign.id, "Otto", "C"),
        lambda: store.campaigns.set_state(campaign.id, "running"),
        lambda: store.projects.get(campaign.texts),
    ):
        with pytest.raises(UserError, match="no such"):
            gone()
    assert created(store, project).id > kept.id


def test_a_deleted_project_takes_its_campaigns(store: Store, project: int, campaign: Campaign) -> None:
    other = store.projects.create("other").id
    kept = created(store, other)
    assigned(store, campaign, "Rosa", "u1")
    test_labels_links_and_settings_work_on_texts(store, campaign)
    store.projects.delete(project)
    for gone in (project, campaign.texts):
        with pytest.raises(UserError, match="no such project"):
            store.projects.get(gone)
    assert store.campaigns.list(project) == []
    assert store.people.link("a" * 64) is None
    assert store.labels.events(campaign.texts) == []
    assert store.campaigns.list(other) == [kept]
    assert len(store.projects.dataset(kept.texts).segments) == 3


def test_a_replaced_draft_keeps_its_people_and_links(store: Store, project: int, campaign: Campaign) -> None:
    other = created(store, project, "other")
    rosa = store.campaigns.join(campaign.id, "Rosa", "ABC")
    link = store.people.add_link(campaign.texts, "Rosa", None, "a" * 64, None, "ann")
    new = replaced(store, campaign)
    assert new == campaign._replace(name="pilot 2", design={"overlap": 3}, texts=new.texts)
    assert store.campaigns.list(project) == [new, other]
    assert [(u.name, u.position) for u in store.campaigns.units(new.id)] == [("n1", 0), ("n2", 1)]
    assert store.projects.dataset(new.texts) == texts("n1", "n2")
    assert [store.settings.get(new.texts, name) for name in ("setup", "protocol")] == [[1], None]
    assert store.campaigns.participants(new.id) == [rosa]
    assert store.people.link("a" * 64) == link._replace(project_id=new.texts)
    assert store.campaigns.of_texts(campaign.texts) is None
    with pytest.raises(UserError, match="no such project"):
        store.projects.get(campaign.texts)
    assert [p.id for p in store.projects.list()] == [project]


def test_a_draft_that_cannot_be_replaced_stays_as_it_was(store: Store, project: int, campaign: Campaign) -> None:
    created(store, project, "other")
    before = store.campaigns.list(project), store.campaigns.units(campaign.id), store.projects.dataset(campaign.texts)
    for name in ("other", " "):
        with pytest.raises(UserError):
            replaced(store, campaign, name)
    with pytest.raises(ValueError, match="unit"):
        store.campaigns.replace(campaign.id, "pilot", DESIGN, SETTINGS, texts("u1"), [unit("u2")])
    with pytest.raises(UserError, match="no such campaign"):
        replaced(store, campaign._replace(id=999))
    after = store.campaigns.list(project), store.campaigns.units(campaign.id), store.projects.dataset(campaign.texts)
    assert after == before
    assert replaced(store, campaign, "pilot").name == "pilot"


def test_a_started_campaign_is_not_replaced(store: Store, campaign: Campaign) -> None:
    store.campaigns.set_state(campaign.id, "paused")
    with pytest.raises(UserError, match="was started"):
        replaced(store, campaign)
    assigned(store, campaign, "Rosa", "u1")
    store.campaigns.set_state(campaign.id, "draft")
    with pytest.raises(UserError, match="was started"):
        replaced(store, campaign)
    assert len(store.campaigns.units(campaign.id)) == 3


def test_units_are_added_at_the_end(store: Store, campaign: Campaign) -> None:
    before = store.campaigns.units(campaign.id)
    store.campaigns.add_units(campaign.id, texts("u9", "u8"), [unit("u9", 7), unit("u8", 7)])
    after = store.campaigns.units(campaign.id)
    assert after[:3] == before
    assert [(u.name, u.position, u.block) for u in after[3:]] == [("u9", 3, 7), ("u8", 4, 7)]
    assert [key.doc_id for key in store.projects.index(campaign.texts).outline] == ["u3", "u1", "u2", "u9", "u8"]
    now = store.campaigns.units(campaign.id), store.projects.dataset(campaign.texts)
    with pytest.raises(UserError):
        store.campaigns.add_units(campaign.id, texts("u7"), [unit("u7"), unit("u1")])
    with pytest.raises(ValueError, match="unit"):
        store.campaigns.add_units(campaign.id, texts("u7"), [unit("u6")])
    assert (store.campaigns.units(campaign.id), store.projects.dataset(campaign.texts)) == now


def test_units_are_retired_and_assigned_again(store: Store, campaign: Campaign) -> None:
    first, second, _ = store.campaigns.units(campaign.id)
    who = assigned(store, campaign, "Rosa", "u3")
    store.campaigns.retire(campaign.id, [first.id, second.id])
    assert [u.retired for u in store.campaigns.units(campaign.id)] == [True, True, False]
    assert only(store, campaign, who).unit.retired
    store.campaigns.retire(campaign.id, [second.id], retired=False)
    assert [u.retired for u in store.campaigns.units(campaign.id)] == [True, False, False]
    assert store.campaigns.remaining_work(campaign.id) == RemainingWork(units=2, ratings=0, people=1, gone=0)
    store.campaigns.assign(campaign.id, who, NOW, LEASE, Choice("u1", slot=2))
    for name in ("u1", "u3"):  # u3 is retired
        touch(store, campaign, who, name, True)
    assert store.campaigns.remaining_work(campaign.id) == RemainingWork(units=2, ratings=1, people=1, gone=0)


def test_a_participant_joins_once(store: Store, project: int, campaign: Campaign) -> None:
    rosa = store.campaigns.join(campaign.id, "Rosa", "ABC")
    assert (rosa.rater, rosa.code, rosa.excluded, rosa.left, rosa.passed_tutorial) == ("Rosa", "ABC", "", False, None)
    assert store.campaigns.join(campaign.id, "Rosa", "XYZ") == rosa
    otto = store.campaigns.join(campaign.id, "Otto", "DEF")
    assert store.campaigns.participants(campaign.id) == [rosa, otto]
    other = store.campaigns.join(created(store, project, "other").id, "Rosa", "ABC").id
    assert other not in (rosa.id, otto.id)
    with pytest.raises(UserError):
        store.campaigns.join(campaign.id, " ", "ABC")
    for wrong in (other, 999):
        with pytest.raises(UserError, match="no such participant"):
            store.campaigns.assign(campaign.id, wrong, NOW, LEASE, Choice("u1"))
        assert store.campaigns.assignments(campaign.id, wrong) == []


def test_participants_are_changed(store: Store, campaign: Campaign) -> None:
    rosa = store.campaigns.join(campaign.id, "Rosa", "ABC")
    changed = rosa._replace(excluded="too fast", left=True, passed_tutorial=False)
    store.campaigns.change(changed._replace(rater="other", code="other"))
    assert store.campaigns.participants(campaign.id) == [changed]
    for gone in (rosa._replace(excluded="too fast"), rosa._replace(left=True), rosa._replace(passed_tutorial=False)):
        store.campaigns.change(gone)
        assert store.campaigns.remaining_work(campaign.id) == RemainingWork(units=3, ratings=0, people=1, gone=1)
    store.campaigns.change(rosa)
    assert store.campaigns.remaining_work(campaign.id).gone == 0
    assert store.campaigns.participants(campaign.id) == [rosa]
    for wrong in (rosa._replace(id=999), rosa._replace(campaign_id=999)):
        with pytest.raises(UserError, match="no such"):
            store.campaigns.change(wrong)


def test_versions_change_with_labels_and_exclusions(store: Store, project: int, campaign: Campaign) -> None:
    later = created(store, project, "later")
    assert store.campaigns.versions(project) == [CampaignVersion(campaign.id, 0, ()), CampaignVersion(later.id, 0, ())]
    who = store.campaigns.join(later.id, "ann", "CODE")
    store.labels.append(later.texts, "ann", SegmentKey("u1", "0"), [Action("e1", "score", "A", {"value": 50})])
    newest = store.labels.newest(later.texts)
    assert store.campaigns.versions(project)[1] == CampaignVersion(later.id, newest, ())
    store.campaigns.change(who._replace(excluded="too fast"))
    assert store.campaigns.versions(project)[1] == CampaignVersion(later.id, newest, (who.id,))
    assert store.campaigns.has_any(project)
    for left in (later, campaign):
        store.campaigns.delete(left.id)
    assert (store.campaigns.has_any(project), store.campaigns.versions(project)) == (False, [])


def test_accounts_take_part_in_a_campaign_without_a_role_in_its_project(
    store: Store, project: int, campaign: Campaign
) -> None:
    eva, ann = (store.people.add_account(name, None, manager=False) for name in ("eva", "ann"))
    later = created(store, project, "later")
    for texts_id, account in ((later.texts, eva), (campaign.texts, eva), (campaign.texts, ann)):
        store.people.set_role(texts_id, account.id, "annotator")
    assert store.people.campaigns(eva.id) == [campaign.texts, later.texts]
    assert store.people.taking_part(campaign.texts) == [ann, eva]
    assert store.people.taking_part(project) == store.people.members(campaign.texts) == []
    assert store.people.roles(ann.id) == {campaign.texts: "annotator"}
    with pytest.raises(UserError, match="roles of its project"):
        store.people.set_role(campaign.texts, ann.id, "manager")
    store.people.set_role(project, ann.id, "viewer")
    assert store.people.members(campaign.texts) == store.people.members(project) == [(ann, "viewer")]
    assert store.people.roles(ann.id) == {project: "viewer", campaign.texts: "viewer", later.texts: "viewer"}
    assert store.people.campaigns(ann.id) == [campaign.texts]
    assert store.people.taking_part(project) == []
    store.people.set_role(campaign.texts, eva.id, None)
    assert store.people.campaigns(eva.id) == [later.texts]
    store.campaigns.delete(later.id)
    assert store.people.campaigns(eva.id) == []
    assert store.people.roles(eva.id) == {}


def test_suggestions_of_a_campaign_are_kept_shown_and_decided(store: Store) -> None:
    """Both arms of six units of one rater; what was recorded folds to the same labels when it is read again."""
    world = campaign_world(
        store=store, layer=layer(), overlap=1, people=1, suggestions=Suggestions("file:x", 0.5, 0.0, 0.0)
    )
    assert world.work("Ana", accept_first) == 9
    labels = store.labels.of_rater(world.campaign.texts, "Ana")
    assert labels == {of.segment: of for of in store.labels.folded(world.campaign.texts)}
    suggested = [of.labels for of in labels.values() if of.labels.arm == "suggested"]
    assert suggested
    for of in suggested:
        ((system, shown),) = of.suggestions.items()
        assert ([m.suggestion for m in of.of(system).marks], of.submitted) == ([shown[0].id], True)
        assert (of.undecided(system), of.of(system).decided) == ((), tuple(s.id for s in shown))
    arms = [of.labels.arm for of in labels.values()]
    assert (arms.count(""), arms.count("control")) == (3, 6 - len(suggested))
