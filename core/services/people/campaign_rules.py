"""Rules for calls of storage that name a campaign: its project decides who may call, and changes are recorded there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.services.people.call_rules import detail
from core.services.people.guarded_call import CallRule, GuardedCall, may_read


def campaign_of_texts(call: GuardedCall) -> Any:
    campaign = call.run()
    if campaign is None or not (may_read(call.who, campaign.project_id) or call.who.takes_part(campaign.texts)):
        return None
    return campaign


def read_campaign(call: GuardedCall) -> Any:
    call.campaign()
    return call.run()


def change_campaign(act: Callable[[GuardedCall], str], *details: str) -> CallRule:
    """Return the rule of a change of a campaign, recorded in its project with its name and the arguments in `details`."""

    def rule(call: GuardedCall) -> Any:
        campaign = call.campaign()
        call.need_manager(campaign.project_id)
        done = call.run()
        shown = {name: detail(call.arguments[name]) for name in details}
        call.record(act(call), campaign.project_id, campaign=campaign.name, **shown)
        return done

    return rule


STATES = {"draft": "put back to draft", "running": "started", "paused": "paused", "finished": "finished"}


def new_state(call: GuardedCall) -> str:
    return f"campaign {STATES[call.arguments['state']]}"


def retired(call: GuardedCall) -> str:
    return f"campaign units {'retired' if call.arguments['retired'] else 'assigned again'}"


def add_units(call: GuardedCall) -> Any:
    campaign = call.campaign()
    call.need_manager(campaign.project_id)
    call.run()
    call.record("campaign units added", campaign.project_id, campaign=campaign.name, units=len(call.arguments["units"]))


def change_participant(call: GuardedCall) -> Any:
    """Managers of the campaign change its participants; the campaign is the one that the participant names."""
    new = call.arguments["participant"]
    found = call._replace(arguments={"campaign_id": new.campaign_id})
    campaign = found.campaign()
    call.need_manager(campaign.project_id)
    before = next((p for p in call.store.campaigns.participants(campaign.id) if p.id == new.id), new)
    call.run()
    if new.excluded != before.excluded:
        act = "participant excluded" if new.excluded else "participant included"
        reason = {"reason": new.excluded} if new.excluded else {}
        call.record(act, campaign.project_id, campaign=campaign.name, rater=before.rater, **reason)
    if (new.left, new.passed_tutorial) != (before.left, before.passed_tutorial):
        changes = {"left": new.left, "passed_tutorial": new.passed_tutorial}
        call.record("participant changed", campaign.project_id, campaign=campaign.name, rater=before.rater, **changes)
