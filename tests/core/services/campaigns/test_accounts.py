"""People with an account who take part in a campaign: added by name, and closed out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.errors import UserError
from core.mqm.log import fold_segment
from core.ports.labels import Action
from core.ports.people import Identity
from core.services.campaigns import people
from core.services.campaigns.answers import key_of
from core.services.people import accounts, sessions
from tests.core.services.campaigns.world import CampaignWorld, campaign_world, scores


@pytest.fixture
def world() -> CampaignWorld:
    made = campaign_world("da", overlap=1, people=2)
    accounts.add(made.store, "test", "boss", None, manager=True)
    accounts.add(made.store, "test", "eva", None, manager=False)
    return made


def identity(world: CampaignWorld, name: str) -> Identity:
    token = sessions.start(world.store, accounts.find(world.store.people, name)).token
    found = sessions.resolve(world.store.people, token)
    assert found is not None
    return found


def add(world: CampaignWorld, name: str) -> None:
    people.add_account(world.store, "boss", world.campaign, accounts.find(world.store.people, name))


def acts(world: CampaignWorld) -> list[tuple[str, object]]:
    found = reversed(world.store.audit.entries(world.project))
    return [(e.act, e.details.get("account")) for e in found if e.act.startswith("account")]


def test_an_added_account_takes_part_and_gets_no_other_role(world: CampaignWorld) -> None:
    assert identity(world, "eva").campaigns == ()
    add(world, "eva")
    eva = identity(world, "eva")
    assert eva.takes_part(world.campaign.texts)
    assert not eva.takes_part(world.project)
    assert eva.role(world.project) is None
    assert not eva.sees_pages
    assert not identity(world, "boss").takes_part(world.campaign.texts)
    assert [p.rater for p in world.store.campaigns.participants(world.campaign.id)] == ["eva"]
    assert acts(world) == [("account takes part", "eva")]


def test_a_removed_account_is_closed_out_and_can_come_back(world: CampaignWorld) -> None:
    add(world, "eva")
    world.work("eva", scores(), units=3)
    eva = accounts.find(world.store.people, "eva")
    people.remove_account(world.store, "boss", world.campaign, eva)
    assert not identity(world, "eva").takes_part(world.campaign.texts)
    assert people.addable(world.store, world.campaign)[-1] == eva
    add(world, "eva")
    assert identity(world, "eva").takes_part(world.campaign.texts)
    assert [w.units for w in people.work_done(world.store, world.campaign)] == [3]
    assert [act for act, _ in acts(world)] == ["account takes part", "account removed", "account takes part"]


def test_accounts_that_cannot_take_part_change_nothing(world: CampaignWorld) -> None:
    people.invite(world.store, "boss", world.campaign, ["Zoe"])
    for name in ("zoe", "judge", "gone"):  # earlier versions let an account have the name of a link
        world.store.people.add_account(name, None, manager=False)
    accounts.set_active(world.store, "test", accounts.find(world.store.people, "gone"), False)
    unit = world.store.campaigns.units(world.campaign.id)[0]
    verdict = Action("j1", "verdict", unit.systems[0], {"value": "no_error"})
    world.store.labels.append(world.campaign.texts, "judge", key_of(unit.name), [verdict])
    for name, why in (("zoe", "with a link"), ("judge", "has decided"), ("gone", "disabled")):
        with pytest.raises(UserError, match=why):
            add(world, name)
        assert identity_campaigns(world, name) == []
    assert "gone" not in [a.name for a in people.addable(world.store, world.campaign)]
    assert fold_segment(world.store.labels.events(world.campaign.texts, rater="judge")).of(unit.systems[0]).verdict


def identity_campaigns(world: CampaignWorld, name: str) -> list[int]:
    return world.store.people.campaigns(accounts.find(world.store.people, name).id)


def test_members_of_the_project_are_offered_first(world: CampaignWorld) -> None:
    zoe = accounts.add(world.store, "test", "zoe", None, manager=False)
    accounts.set_role(world.store, "test", world.project, zoe, "viewer")
    assert [a.name for a in people.addable(world.store, world.campaign)] == ["zoe", "boss", "eva"]


def test_own_campaigns_say_how_far_they_are_and_not_what_they_compare(world: CampaignWorld) -> None:
    add(world, "eva")
    world.work("eva", scores(), units=2)
    (mine,) = people.campaigns(world.store, identity(world, "eva"))
    assert (mine.texts, mine.opens, mine.says) == (world.campaign.texts, True, "2 units submitted")
    assert world.campaign.name not in mine.title
    assert mine.has_work
    world.work("eva", scores())
    (mine,) = people.campaigns(world.store, identity(world, "eva"))
    assert not mine.has_work, "whoever has finished is asked to continue"
    world.store.campaigns.set_state(world.campaign.id, "draft")
    (mine,) = people.campaigns(world.store, identity(world, "eva"))
    assert (mine.opens, mine.says) == (False, "not started yet")
    assert mine.created < datetime.now(UTC)
