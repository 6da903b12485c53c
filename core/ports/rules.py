"""Who may call the methods of storage: each method of a port has its rule as a decorator, which `core.services.people.guard` applies.

Reading asks for a role in the project that a call names. Changes ask for its managers and are recorded. A project in which the person has no
role does not exist.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from core.errors import NotAllowed

if TYPE_CHECKING:
    from core.ports.campaigns import Campaign
    from core.ports.people import Identity, Role
    from core.ports.store import Store

READERS: Collection[Role | None] = ("manager", "adjudicator", "viewer")
_DELETED = "It may have been deleted; choose another"


class StorageCall(NamedTuple):
    """A call of a method of storage: who calls, the store without a guard, what carries the call out, and its arguments by name.

    `known` are the campaigns that the person has looked up. With `tasks`, a route calls for the tasks of an annotator.
    """

    who: Identity
    store: Store
    run: Callable[[], Any]
    arguments: Mapping[str, Any]
    known: dict[int, Campaign]
    tasks: bool = False

    @property
    def project(self) -> int:
        return int(self.arguments["project_id"])

    def role(self, project_id: int) -> Role | None:
        """Return the role in a project. The texts of a campaign have the roles of its project, also of one created after the person was looked up."""
        if (role := self.who.role(project_id)) is None and (campaign := self.store.campaigns.of_texts(project_id)):
            role = self.who.role(campaign.project_id)
        return role

    def need_reader(self, project_id: int) -> None:
        """Raise the error for a project that does not exist, unless the person may see all of it."""
        if self.role(project_id) not in READERS:
            raise NotAllowed("there is no such project", got=str(project_id), hint=_DELETED)

    def need_manager(self, project_id: int) -> None:
        self.need_reader(project_id)
        if self.role(project_id) != "manager":
            raise NotAllowed("you may not change this project", hint="Ask a manager for another role")

    def campaign(self, campaign_id: int) -> Campaign:
        """Return the campaign, as it was when the person looked it up first: its project never changes."""
        if campaign_id not in self.known:
            self.known[campaign_id] = self.store.campaigns.get(campaign_id)
        return self.known[campaign_id]

    def need_campaign(self, campaign_id: int) -> Campaign:
        """Return the campaign. Raises the error for one that does not exist, unless the person may see its project."""
        campaign = self.campaign(campaign_id)
        if not self.who.may_read(campaign.project_id):
            raise NotAllowed("there is no such campaign", got=str(campaign_id), hint=_DELETED)
        return campaign

    def record(self, act: str, project_id: int | None, **details: Any) -> None:
        self.store.audit.record(self.who.who, act, project_id, **details)

    def is_own_task(self, tasks: Tasks) -> bool:
        """Return whether the call is for what the person annotates, and under no other name."""
        participant, campaign_id = self.arguments.get("participant"), self.arguments.get("campaign_id")
        rater = participant.rater if participant else self.arguments.get("rater", self.who.rater)
        if self.who.rater not in (None, rater):
            return False
        if participant:
            campaign_id = participant.campaign_id
        if campaign_id is not None:
            return self.who.local or self.who.takes_part(self.campaign(campaign_id).texts)
        shown = (c.project_id for c in self.known.values() if tasks == "context" and self.who.takes_part(c.texts))
        return self.who.annotates(self.project) or self.project in shown


M = TypeVar("M", bound=Callable[..., Any])
Decide = Callable[[StorageCall], Any]
Tasks = Literal["none", "own", "context"]


@dataclass(frozen=True, eq=False)
class Rule:
    """`decide` returns what the method returns, or raises `NotAllowed`. `first` is the argument that the method must begin with, "" for any;
    `details` are arguments that the record of a change names.

    `reads`: the method changes nothing. `keeps`: several parts of a page call it with the same arguments, so its answer is given again until
    something changes. `tasks`: routes may call it for the tasks of an annotator too, or also for the project around a campaign.
    """

    decide: Decide
    first: str = ""
    details: tuple[str, ...] = ()
    reads: bool = False
    keeps: bool = False
    tasks: Tasks = "none"

    def __call__(self, method: M) -> M:
        names = [] if isinstance(method, type) else [*inspect.signature(method).parameters][1:]
        if (self.first and self.first not in names[:1]) or not {*self.details} <= {*names}:
            raise TypeError(f"{method.__qualname__} lacks one of: {', '.join((self.first, *self.details))}")
        method.rule = self  # type: ignore[attr-defined]
        return method

    @property
    def kept(self) -> Rule:
        return replace(self, keeps=True)

    @property
    def or_own_tasks(self) -> Rule:
        return replace(self, tasks="own")

    @property
    def or_context_of_tasks(self) -> Rule:
        return replace(self, tasks="context")


def _rule(first: str = "", *, reads: bool = False) -> Callable[[Decide], Rule]:
    """Return what makes a rule of a function that decides."""
    return lambda decide: Rule(decide, first, reads=reads)


def rule_of(port: type, name: str) -> Rule | None:
    """Return the rule of a method of a port, or that of the whole port; None for everything else, which nobody can reach."""
    method = getattr(port, name, None)
    if name.startswith("_") or not inspect.isfunction(method):
        return None
    rule = getattr(method, "rule", None) or getattr(port, "rule", None)
    return rule if isinstance(rule, Rule) else None


@_rule("project_id", reads=True)
def read_project(call: StorageCall) -> Any:
    call.need_reader(call.project)
    return call.run()


@_rule(reads=True)
def everyone(call: StorageCall) -> Any:
    """Allow everybody: nothing of a project can be found without knowing its texts."""
    return call.run()


@_rule(reads=True)
def server_only(call: StorageCall) -> Any:
    """Refuse everybody: workers, login and commands do this, with storage without a guard."""
    raise NotAllowed("this is not done from a page", hint="Reload the page")


@_rule()
def by_some_manager(call: StorageCall) -> Any:
    if not call.who.manages:
        raise NotAllowed("only managers may do this", hint="Ask a manager")
    return call.run()


@_rule()
def by_server_manager(call: StorageCall) -> Any:
    if not call.who.manager:
        raise NotAllowed("only managers of the server may do this", hint="Ask a manager")
    return call.run()


@_rule("project_id")
def by_manager(call: StorageCall) -> Any:
    call.need_manager(call.project)
    return call.run()


def change_project(act: str, *details: str) -> Rule:
    """Return the rule of a change of a project, recorded with the arguments (or their names) in `details`."""

    def decide(call: StorageCall) -> Any:
        done = by_manager.decide(call)
        call.record(act, call.project, **_shown(call, details))
        return done

    return Rule(decide, "project_id", details)


def change_campaign(act: str | Callable[[Mapping[str, Any]], str], *details: str) -> Rule:
    """Return the rule of a change of a campaign, recorded in its project with its name and the arguments in `details`.

    `act` may depend on the arguments.
    """

    def decide(call: StorageCall) -> Any:
        campaign = _managed_campaign(call, call.arguments["campaign_id"])
        done = call.run()
        text = act if isinstance(act, str) else act(call.arguments)
        call.record(text, campaign.project_id, campaign=campaign.name, **_shown(call, details))
        return done

    return Rule(decide, "campaign_id", details)


def _managed_campaign(call: StorageCall, campaign_id: int) -> Campaign:
    """Return the campaign with its present name."""
    call.known.pop(campaign_id, None)
    campaign = call.need_campaign(campaign_id)
    call.need_manager(campaign.project_id)
    return campaign


def _shown(call: StorageCall, details: Collection[str]) -> dict[str, Any]:
    return {name: _detail(call.arguments[name]) for name in details}


def _detail(value: Any) -> Any:
    """Return a value as a detail of the record: things by name, no texts of a project."""
    if isinstance(value, str | int | float | bool | None):
        return value
    for name in ("name", "collection"):
        if hasattr(value, name):
            return getattr(value, name)
    return list(value)


@_rule(reads=True)
def visible_projects(call: StorageCall) -> Any:
    who = call.who
    return [p for p in call.run() if who.may_read(p.id) or (call.tasks and who.annotates(p.id))]


@_rule()
def create_project(call: StorageCall) -> Any:
    project = by_server_manager.decide(call)
    call.record("project created", project.id, name=project.name)
    return project


@_rule("project_id")
def delete_project(call: StorageCall) -> Any:
    call.need_manager(call.project)
    name = call.store.projects.get(call.project).name
    call.run()
    call.record("project deleted", call.project, name=name)


@_rule("project_id")
def import_data(call: StorageCall) -> Any:
    report = by_manager.decide(call)
    counts = {name: n for name, n in report._asdict().items() if n and name != "unchanged"}
    call.record("data imported", call.project, **counts)
    return report


@_rule("job_id", reads=True)
def read_job(call: StorageCall) -> Any:
    job = call.run()
    call.need_reader(job.project_id)
    return job


@_rule("job_id", reads=True)
def read_job_progress(call: StorageCall) -> Any:
    call.need_reader(call.store.jobs.get(call.arguments["job_id"]).project_id)
    return call.run()


@_rule("job_id")
def cancel_job(call: StorageCall) -> Any:
    job = call.store.jobs.get(call.arguments["job_id"])
    call.need_manager(job.project_id)
    call.run()
    call.record("scoring cancelled", job.project_id, metrics=list(job.metrics))


@_rule("job_id")
def prioritize_job(call: StorageCall) -> Any:
    """Managers of the server order the jobs, because a higher priority delays those of other projects."""
    by_server_manager.decide(call)
    job = call.store.jobs.get(call.arguments["job_id"])
    call.record("scoring prioritized", job.project_id, priority=call.arguments["priority"])


@_rule(reads=True)
def visible_jobs(call: StorageCall) -> Any:
    if call.arguments["project_id"] is not None:
        return read_project.decide(call)
    return [job for job in call.run() if call.who.may_read(job.project_id)]


@_rule("project_id")
def label_own(call: StorageCall) -> Any:
    """Managers and adjudicators label on pages, and everybody only under their own name."""
    call.need_reader(call.project)
    if not call.who.may_label(call.project):
        raise NotAllowed("you may not label in this project", hint="Ask a manager for another role")
    if call.who.rater not in (None, call.arguments["rater"]):
        raise NotAllowed(
            "labels are saved under your own name only", got=call.arguments["rater"], hint="Reload the page"
        )
    return call.run()


@_rule(reads=True)
def visible_raters(call: StorageCall) -> Any:
    if call.arguments["project_id"] is not None:
        return read_project.decide(call)
    if call.who.manager:
        return call.run()
    visible = [project.id for project in call.store.projects.list() if call.who.may_read(project.id)]
    return list(dict.fromkeys(name for project in visible for name in call.store.labels.raters(project)))


@_rule()
def revoke_link(call: StorageCall) -> Any:
    managed = [p.id for p in call.store.projects.list() if call.who.role(p.id) == "manager"]
    managed += [campaign.texts for project in managed for campaign in call.store.campaigns.list(project)]
    if all(link.id != call.arguments["link_id"] for project in managed for link in call.store.people.links(project)):
        raise NotAllowed("there is no such link", got=str(call.arguments["link_id"]), hint="Reload the page")
    return call.run()


@_rule()
def record_own(call: StorageCall) -> Any:
    if call.arguments["who"] != call.who.who:
        raise NotAllowed("acts are recorded under your own name only", hint="Reload the page")
    if call.arguments["project_id"] is not None:
        call.need_reader(call.project)
    return call.run()


@_rule(reads=True)
def read_entries(call: StorageCall) -> Any:
    return by_server_manager.decide(call) if call.arguments["project_id"] is None else by_manager.decide(call)


@_rule("project_id", reads=True)
def read_campaigns(call: StorageCall) -> Any:
    campaigns = read_project.decide(call)
    call.known.update((campaign.id, campaign) for campaign in campaigns)
    return campaigns


@_rule("campaign_id", reads=True)
def read_campaign(call: StorageCall) -> Any:
    call.need_campaign(call.arguments["campaign_id"])
    return call.run()


@_rule("project_id", reads=True)
def campaign_of_texts(call: StorageCall) -> Any:
    """Return the campaign to readers of its project and to who takes part; a route with `tasks` asks for who annotates there."""
    campaign: Campaign | None = call.run()
    if campaign is None:
        return None
    who = call.who
    seen = who.may_read(campaign.project_id) or who.takes_part(campaign.texts)
    if not (seen or (call.tasks and who.annotates(campaign.texts))):
        return None
    call.known[campaign.id] = campaign
    return campaign


@_rule("campaign_id")
def extend_campaign(call: StorageCall) -> Any:
    campaign = _managed_campaign(call, call.arguments["campaign_id"])
    call.run()
    call.record("campaign units added", campaign.project_id, campaign=campaign.name, units=len(call.arguments["units"]))


@_rule()
def change_participant(call: StorageCall) -> Any:
    """Managers of the campaign change its participants; the campaign is the one that the participant names."""
    new = call.arguments["participant"]
    campaign = _managed_campaign(call, new.campaign_id)
    before = next((p for p in call.store.campaigns.participants(campaign.id) if p.id == new.id), new)
    call.run()
    if new.excluded != before.excluded:
        act = "participant excluded" if new.excluded else "participant included"
        reason = {"reason": new.excluded} if new.excluded else {}
        call.record(act, campaign.project_id, campaign=campaign.name, rater=before.rater, **reason)
    if (new.left, new.passed_tutorial) != (before.left, before.passed_tutorial):
        changes = {"left": new.left, "passed_tutorial": new.passed_tutorial}
        call.record("participant changed", campaign.project_id, campaign=campaign.name, rater=before.rater, **changes)
