"""Rules for calls of storage: each returns what the method returns, or raises `UserError` if the person may not call it.

Reading asks for a role in the project, changes ask for its managers and are recorded.
"""

from __future__ import annotations

from typing import Any

from core.errors import UserError
from core.services.people.guarded_call import CallRule, GuardedCall, may_read


def read(call: GuardedCall) -> Any:
    call.need_reader(call.project)
    return call.run()


def everyone(call: GuardedCall) -> Any:
    """Allow everybody: nothing of a project can be found without knowing its texts."""
    return call.run()


def nobody(call: GuardedCall) -> Any:
    """Refuse everybody: workers, routes and commands do this, with storage of their own."""
    raise UserError("this is not done from a page", hint="Reload the page")


def by_some_manager(call: GuardedCall) -> Any:
    if not (call.who.manager or "manager" in call.who.roles.values()):
        raise UserError("only managers may do this", hint="Ask a manager")
    return call.run()


def by_server_manager(call: GuardedCall) -> Any:
    if not call.who.manager:
        raise UserError("only managers of the server may do this", hint="Ask a manager")
    return call.run()


def by_manager(call: GuardedCall) -> Any:
    call.need_manager(call.project)
    return call.run()


def change(act: str, *details: str) -> CallRule:
    """Return the rule of a change of a project, recorded with the arguments (or their names) in `details`."""

    def rule(call: GuardedCall) -> Any:
        done = by_manager(call)
        shown = {name: detail(call.arguments[name]) for name in details}
        call.record(act, call.project, **shown)
        return done

    return rule


def detail(value: Any) -> Any:
    """Return a value as a detail of the record: things by name, no texts of a project."""
    if isinstance(value, str | int | float | bool | None):
        return value
    for name in ("name", "collection"):
        if hasattr(value, name):
            return getattr(value, name)
    return list(value)


def visible_projects(call: GuardedCall) -> Any:
    return [project for project in call.run() if may_read(call.who, project.id)]


def create_project(call: GuardedCall) -> Any:
    project = by_server_manager(call)
    call.record("project created", project.id, name=project.name)
    return project


def delete_project(call: GuardedCall) -> Any:
    call.need_manager(call.project)
    name = call.store.projects.get(call.project).name
    call.run()
    call.record("project deleted", call.project, name=name)


def import_data(call: GuardedCall) -> Any:
    report = by_manager(call)
    counts = {name: n for name, n in report._asdict().items() if n and name != "unchanged"}
    call.record("data imported", call.project, **counts)
    return report


def read_job(call: GuardedCall) -> Any:
    job = call.run()
    call.need_reader(job.project_id)
    return job


def cancel_job(call: GuardedCall) -> Any:
    job = call.store.jobs.get(call.arguments["job_id"])
    call.need_manager(job.project_id)
    call.run()
    call.record("scoring cancelled", job.project_id, metrics=list(job.metrics))


def read_job_progress(call: GuardedCall) -> Any:
    call.need_reader(call.store.jobs.get(call.arguments["job_id"]).project_id)
    return call.run()


def prioritize_job(call: GuardedCall) -> Any:
    """Managers of the server order the jobs, because a higher priority delays those of other projects."""
    by_server_manager(call)
    job = call.store.jobs.get(call.arguments["job_id"])
    call.record("scoring prioritized", job.project_id, priority=call.arguments["priority"])


def visible_jobs(call: GuardedCall) -> Any:
    if call.arguments["project_id"] is not None:
        return read(call)
    return [job for job in call.run() if may_read(call.who, job.project_id)]


def label_own(call: GuardedCall) -> Any:
    """Managers and adjudicators label, and only under their own name."""
    call.need_reader(call.project)
    if not call.who.may_label(call.project):
        raise UserError("you may not label in this project", hint="Ask a manager for another role")
    if call.who.rater not in (None, call.arguments["rater"]):
        raise UserError(
            "labels are saved under your own name only", got=call.arguments["rater"], hint="Reload the page"
        )
    return call.run()


def visible_raters(call: GuardedCall) -> Any:
    if call.arguments["project_id"] is not None or call.who.manager:
        return call.run() if call.arguments["project_id"] is None else read(call)
    visible = [project.id for project in call.store.projects.list() if may_read(call.who, project.id)]
    return list(dict.fromkeys(name for project in visible for name in call.store.labels.raters(project)))


def revoke_link(call: GuardedCall) -> Any:
    managed = [p.id for p in call.store.projects.list() if call.who.role(p.id) == "manager"]
    managed += [campaign.texts for project in managed for campaign in call.store.campaigns.list(project)]
    if all(link.id != call.arguments["link_id"] for project in managed for link in call.store.people.links(project)):
        raise UserError("there is no such link", got=str(call.arguments["link_id"]), hint="Reload the page")
    return call.run()


def record_own(call: GuardedCall) -> Any:
    if call.arguments["who"] != call.who.who:
        raise UserError("acts are recorded under your own name only", hint="Reload the page")
    if call.arguments["project_id"] is not None:
        call.need_reader(call.project)
    details = call.arguments["details"]
    return call.store.audit.record(call.who.who, call.arguments["act"], call.arguments["project_id"], **details)


def read_entries(call: GuardedCall) -> Any:
    return by_server_manager(call) if call.arguments["project_id"] is None else by_manager(call)
