"""Storage as one person may use it: each call is checked, and changes of projects are recorded.

A project in which the person has no role does not exist. Pages get storage only like this, so that no page, address or
button can show or change what the person must not see. `RULES` names every method of every port; a test fails for a new
method without a rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, cast

from core.errors import UserError
from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.services.people.identity import Identity


class GuardedCall(NamedTuple):
    """A call of a method of storage: who calls, the store without a guard, and the arguments by name."""

    who: Identity
    store: Store
    method: Callable[..., Any]
    arguments: Mapping[str, Any]

    @property
    def project(self) -> int:
        return int(self.arguments["project_id"])

    def run(self) -> Any:
        return self.method(**self.arguments)

    def need_reader(self, project_id: int) -> None:
        """Raise the error for a project that does not exist, unless the person may see all of it."""
        if not may_read(self.who, project_id):
            raise UserError(
                "there is no such project", got=str(project_id), hint="It may have been deleted; choose another"
            )

    def need_manager(self, project_id: int) -> None:
        self.need_reader(project_id)
        if self.who.role(project_id) != "manager":
            raise UserError("you may not change this project", hint="Ask a manager for another role")

    def campaign(self) -> Campaign:
        """Return the campaign of the arguments. Raises the error for one that does not exist, unless the person may see its project."""
        wanted = int(self.arguments["campaign_id"])
        campaign = self.store.campaigns.get(wanted)
        if not may_read(self.who, campaign.project_id):
            hint = "It may have been deleted; choose another"
            raise UserError("there is no such campaign", got=str(wanted), hint=hint)
        return campaign

    def record(self, act: str, project_id: int | None, **details: Any) -> None:
        self.store.audit.record(self.who.who, act, project_id, **details)


CallRule = Callable[[GuardedCall], Any]


def guarded(store: Store, who: Callable[[], Identity]) -> Store:
    """Return the store with a guard before every method. `who` is called each time: roles change while a page is open."""
    return Store(*(cast(Any, _GuardedPort(name, who, store)) for name in Store._fields))


def may_read(who: Identity, project_id: int) -> bool:
    """Return whether the person may see all of a project. Annotators see their outputs through the task page only."""
    return who.role(project_id) in ("manager", "adjudicator", "viewer")


class _GuardedPort:
    """One port. Methods are found by name, because each has the same guard."""

    def __init__(self, port: str, who: Callable[[], Identity], store: Store) -> None:
        self._port, self._who, self._store = port, who, store

    def __getattr__(self, name: str) -> Callable[..., Any]:
        rule = RULES[self._port].get(name)
        if rule is None:
            raise AttributeError(name)
        method = getattr(getattr(self._store, self._port), name)

        def call(*args: Any, **kwargs: Any) -> Any:
            given = _signature(getattr(method, "__func__", method)).bind(None, *args, **kwargs)
            given.apply_defaults()
            arguments = {k: v for k, v in given.arguments.items() if k != "self"}
            return rule(GuardedCall(self._who(), self._store, method, arguments))

        return call


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _read(call: GuardedCall) -> Any:
    call.need_reader(call.project)
    return call.run()


def _everyone(call: GuardedCall) -> Any:
    """Allow everybody: nothing of a project can be found without knowing its texts."""
    return call.run()


def _nobody(call: GuardedCall) -> Any:
    """Refuse everybody: workers, routes and commands do this, with storage of their own."""
    raise UserError("this is not done from a page", hint="Reload the page")


def _some_manager(call: GuardedCall) -> Any:
    if not (call.who.manager or "manager" in call.who.roles.values()):
        raise UserError("only managers may do this", hint="Ask a manager")
    return call.run()


def _server_manager(call: GuardedCall) -> Any:
    if not call.who.manager:
        raise UserError("only managers of the server may do this", hint="Ask a manager")
    return call.run()


def _managed(call: GuardedCall) -> Any:
    call.need_manager(call.project)
    return call.run()


def _change(act: str, *details: str) -> CallRule:
    """Return the rule of a change of a project, recorded with the arguments (or their names) in `details`."""

    def rule(call: GuardedCall) -> Any:
        done = _managed(call)
        shown = {name: _shown(call.arguments[name]) for name in details}
        call.record(act, call.project, **shown)
        return done

    return rule


def _shown(value: Any) -> Any:
    """Return a value as a detail of the record: things by name, no texts of a project."""
    if isinstance(value, str | int | float | bool | None):
        return value
    for name in ("name", "collection"):
        if hasattr(value, name):
            return getattr(value, name)
    return list(value)


def _projects(call: GuardedCall) -> Any:
    return [project for project in call.run() if may_read(call.who, project.id)]


def _create_project(call: GuardedCall) -> Any:
    project = _server_manager(call)
    call.record("project created", project.id, name=project.name)
    return project


def _delete_project(call: GuardedCall) -> Any:
    call.need_manager(call.project)
    name = call.store.projects.get(call.project).name
    call.run()
    call.record("project deleted", call.project, name=name)


def _import(call: GuardedCall) -> Any:
    report = _managed(call)
    counts = {name: n for name, n in report._asdict().items() if n and name != "unchanged"}
    call.record("data imported", call.project, **counts)
    return report


def _job(call: GuardedCall) -> Any:
    job = call.run()
    call.need_reader(job.project_id)
    return job


def _cancel_job(call: GuardedCall) -> Any:
    job = call.store.jobs.get(call.arguments["job_id"])
    call.need_manager(job.project_id)
    call.run()
    call.record("scoring cancelled", job.project_id, metrics=list(job.metrics))


def _job_progress(call: GuardedCall) -> Any:
    call.need_reader(call.store.jobs.get(call.arguments["job_id"]).project_id)
    return call.run()


def _prioritize_job(call: GuardedCall) -> Any:
    """Managers of the server order the jobs, because a higher priority delays those of other projects."""
    _server_manager(call)
    job = call.store.jobs.get(call.arguments["job_id"])
    call.record("scoring prioritized", job.project_id, priority=call.arguments["priority"])


def _jobs(call: GuardedCall) -> Any:
    if call.arguments["project_id"] is not None:
        return _read(call)
    return [job for job in call.run() if may_read(call.who, job.project_id)]


def _label(call: GuardedCall) -> Any:
    """Managers and adjudicators label, and only under their own name."""
    call.need_reader(call.project)
    if not call.who.may_label(call.project):
        raise UserError("you may not label in this project", hint="Ask a manager for another role")
    if call.who.rater not in (None, call.arguments["rater"]):
        raise UserError(
            "labels are saved under your own name only", got=call.arguments["rater"], hint="Reload the page"
        )
    return call.run()


def _raters(call: GuardedCall) -> Any:
    if call.arguments["project_id"] is not None or call.who.manager:
        return call.run() if call.arguments["project_id"] is None else _read(call)
    visible = [project.id for project in call.store.projects.list() if may_read(call.who, project.id)]
    return list(dict.fromkeys(name for project in visible for name in call.store.labels.raters(project)))


def _revoke(call: GuardedCall) -> Any:
    managed = [p.id for p in call.store.projects.list() if call.who.role(p.id) == "manager"]
    managed += [campaign.texts for project in managed for campaign in call.store.campaigns.list(project)]
    if all(link.id != call.arguments["link_id"] for project in managed for link in call.store.people.links(project)):
        raise UserError("there is no such link", got=str(call.arguments["link_id"]), hint="Reload the page")
    return call.run()


def _record(call: GuardedCall) -> Any:
    if call.arguments["who"] != call.who.who:
        raise UserError("acts are recorded under your own name only", hint="Reload the page")
    if call.arguments["project_id"] is not None:
        call.need_reader(call.project)
    details = call.arguments["details"]
    return call.store.audit.record(call.who.who, call.arguments["act"], call.arguments["project_id"], **details)


def _entries(call: GuardedCall) -> Any:
    return _server_manager(call) if call.arguments["project_id"] is None else _managed(call)


def _of_texts(call: GuardedCall) -> Any:
    campaign = call.run()
    if campaign is None or not (may_read(call.who, campaign.project_id) or call.who.takes_part(campaign.texts)):
        return None
    return campaign


def _read_campaign(call: GuardedCall) -> Any:
    call.campaign()
    return call.run()


def _change_campaign(act: Callable[[GuardedCall], str], *details: str) -> CallRule:
    """Return the rule of a change of a campaign, recorded in its project with its name and the arguments in `details`."""

    def rule(call: GuardedCall) -> Any:
        campaign = call.campaign()
        call.need_manager(campaign.project_id)
        done = call.run()
        shown = {name: _shown(call.arguments[name]) for name in details}
        call.record(act(call), campaign.project_id, campaign=campaign.name, **shown)
        return done

    return rule


_STATES = {"draft": "put back to draft", "running": "started", "paused": "paused", "finished": "finished"}


def _new_state(call: GuardedCall) -> str:
    return f"campaign {_STATES[call.arguments['state']]}"


def _retired(call: GuardedCall) -> str:
    return f"campaign units {'retired' if call.arguments['retired'] else 'assigned again'}"


def _add_units(call: GuardedCall) -> Any:
    campaign = call.campaign()
    call.need_manager(campaign.project_id)
    call.run()
    call.record("campaign units added", campaign.project_id, campaign=campaign.name, units=len(call.arguments["units"]))


def _change_participant(call: GuardedCall) -> Any:
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


RULES: Mapping[str, Mapping[str, CallRule]] = {
    "projects": {
        "list": _projects,
        "get": _read,
        "create": _create_project,
        "rename": _change("project renamed", "name"),
        "delete": _delete_project,
        "add": _import,
        "dataset": _read,
        "document": _read,
        "index": _read,
        "texts": _read,
        "search": _read,
        "human_score": _read,
    },
    "exports": {"texts": _read, "keys": _read, "scores": _read, "most_references": _read},
    "imports": {"add": _import, "stored": _read},
    "scores": {
        "known": _everyone,
        "values": _everyone,
        "put": _some_manager,
        "newest": _everyone,
        "signatures": _read,
        "column": _read,
        "table": _read,
        "detail": _read,
        "external": _read,
        "remove_external": _change("external scores deleted", "name"),
    },
    "jobs": {
        "enqueue": _change("scoring started", "metrics"),
        "get": _job,
        "recent": _jobs,
        "cancel": _cancel_job,
        "progress": _job_progress,
        "prioritize": _prioritize_job,
    },
    "labels": {"append": _label, "events": _read, "raters": _raters, "newest": _read},
    "calibrations": {
        "save": _change("λ saved", "fitted"),
        "list": _read,
        "delete": _change("λ deleted", "name"),
    },
    "batches": {
        "save": _change("calibration set saved", "batch"),
        "list": _read,
        "archive": _change("calibration set archived", "name"),
        "delete": _change("calibration set deleted", "name"),
    },
    "judgements": {"list": _read},
    "cases": {
        "keep": _change("case saved", "case"),
        "list": _read,
        "remove": _change("case deleted", "case_id"),
    },
    "stress": {
        "save": _change("stress test saved", "name"),
        "list": _read,
        "report": _read,
        "rename": _change("stress test renamed", "name"),
        "delete": _change("stress test deleted", "run_id"),
    },
    "timings": {"of": _everyone, "add": _some_manager},
    "settings": {"get": _read, "put": _change("setting changed", "name")},
    "people": {
        "accounts": _some_manager,
        "add_account": _server_manager,
        "password_hash": _nobody,
        "set_password": _server_manager,
        "set_active": _server_manager,
        "roles": _server_manager,
        "set_role": _managed,
        "members": _managed,
        "campaigns": _nobody,
        "taking_part": _managed,
        "start_session": _nobody,
        "session": _nobody,
        "end_session": _nobody,
        "add_link": _managed,
        "link": _nobody,
        "links": _managed,
        "revoke": _revoke,
        "secret": _everyone,  # the wiring makes tokens with it
    },
    "audit": {"record": _record, "entries": _entries},
    "campaigns": {
        "create": _change("campaign created", "name"),
        "replace": _change_campaign(lambda _: "campaign draft changed", "name"),
        "list": _read,
        "get": _read_campaign,
        "of_texts": _of_texts,
        "set_state": _change_campaign(_new_state),
        "delete": _change_campaign(lambda _: "campaign deleted"),
        "units": _read_campaign,
        "add_units": _add_units,
        "retire": _change_campaign(_retired, "unit_ids"),
        "join": _change_campaign(lambda _: "participant added", "rater"),
        "participants": _read_campaign,
        "change": _change_participant,
        "assignments": _read_campaign,
        "assign": _nobody,
        "hand_over": _change_campaign(lambda _: "campaign units handed over", "participant_id"),
        "touch": _nobody,
    },
    "chunks": dict.fromkeys(
        (
            "lease",
            "overtaken",
            "is_finished",
            "beat",
            "holds",
            "window",
            "items",
            "stream",
            "plan",
            "metrics",
            "abandon",
            "finish",
            "is_outdated",
            "plan_again",
            "release",
            "fail",
            "claim",
        ),
        _nobody,
    ),
}
