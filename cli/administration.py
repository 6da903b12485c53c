"""`users`, `workers` and `jobs`: manage accounts, compute scoring jobs, and change their queue.

A password is typed twice or read from standard input. It is never an argument, which other users of the machine could see.
"""

from __future__ import annotations

import getpass
import os
import sys
from typing import Annotated

import typer

from cli.database import UNCHANGED, WHO, Database, ProjectName, group, opened, project_of
from cli.options import one_of, print_result
from core.errors import UserError
from core.formatting import format_count
from core.services.people import accounts
from db.ray_workers import ROOT, run_ray_workers
from db.worker import run_workers

NO_ROLE = "none"

Name = Annotated[str, typer.Argument()]
FromStdin = Annotated[bool, typer.Option("--password-stdin", help="read the password from standard input")]

users_command = group()


@users_command.command("add", help="add an account; the password is asked for")
def add_account(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(help="name of the account, and of the annotator in data; an e-mail address for OpenID Connect"),
    ],
    manager: Annotated[
        bool, typer.Option("--manager", help="the person manages every project and all accounts")
    ] = False,
    password_stdin: FromStdin = False,
    no_password: Annotated[bool, typer.Option("--no-password", help="login with OpenID Connect only")] = False,
) -> None:
    if password_stdin and no_password:
        raise typer.BadParameter("not allowed with --password-stdin", param_hint="--no-password")
    with opened(context, UNCHANGED) as store:
        password = None if no_password else _typed_password(password_stdin)
        account = accounts.add(store, WHO, name, password, manager=manager)
        print_result(f"added {account.name}" + (", a manager" if account.manager else ""))


@users_command.command("list", help="list accounts and their roles")
def list_accounts(context: typer.Context) -> None:
    with opened(context, UNCHANGED) as store:
        names = {project.id: project.name for project in store.projects.list()}
        lines = []
        for account in store.people.accounts():
            by_project = store.people.roles(account.id)
            roles = [f"{role} of {names[number]}" for number, role in by_project.items() if number in names]
            campaigns = store.people.campaigns(account.id)
            roles += [f"annotator of the campaign {store.projects.get(c).name}" for c in campaigns]
            state = ["manager"] * account.manager + ["disabled"] * (not account.active)
            lines.append("\t".join([account.name, ", ".join([*state, *roles]) or "no role"]))
        print_result("\n".join([format_count(len(lines), "account"), *lines]))


@users_command.command("password", help="set the password and end all sessions of the account")
def set_password(context: typer.Context, name: Name, password_stdin: FromStdin = False) -> None:
    with opened(context, UNCHANGED) as store:
        account = accounts.find(store.people, name)
        accounts.set_password(store, WHO, account, _typed_password(password_stdin))
        print_result(f"set the password of {account.name} and ended all sessions")


@users_command.command("disable", help="refuse login and end all sessions; labels stay")
def disable_account(context: typer.Context, name: Name) -> None:
    with opened(context, UNCHANGED) as store:
        accounts.set_active(store, WHO, accounts.find(store.people, name), False)
        print_result(f"disabled {name} and ended all sessions")


@users_command.command("enable", help="allow login again")
def enable_account(context: typer.Context, name: Name) -> None:
    with opened(context, UNCHANGED) as store:
        accounts.set_active(store, WHO, accounts.find(store.people, name), True)
        print_result(f"enabled {name}")


@users_command.command("role", help="set the role of an account in a project")
def set_role(
    context: typer.Context,
    name: Name,
    project: ProjectName,
    role: Annotated[
        str,
        typer.Argument(
            parser=one_of([*accounts.ROLES, NO_ROLE]),
            metavar="ROLE",
            help=f"one of {', '.join([*accounts.ROLES, NO_ROLE])}",
        ),
    ],
) -> None:
    with opened(context, UNCHANGED) as store:
        account, of = accounts.find(store.people, name), project_of(store, project)
        chosen = next((known for known in accounts.ROLES if known == role), None)
        accounts.set_role(store, WHO, of.id, account, chosen)
        print_result(f"{account.name}: {role} of {of.name}")


def _typed_password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    first = getpass.getpass("Password: ")
    if getpass.getpass("Repeat the password: ") != first:
        raise UserError("the two passwords differ", hint="Run the command again; nothing was changed")
    return first


Parent = Annotated[int | None, typer.Option(metavar="PID", help="exit when this process ends")]
Once = Annotated[bool, typer.Option("--once", help="exit when no job is left")]
JobNumber = Annotated[int, typer.Argument(help="number of the job")]

workers_command = typer.Typer(invoke_without_command=True)


@workers_command.callback()
def start_workers(
    context: typer.Context,
    database: Database = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="processes that share the cores and GPUs; default: ERRORSCOPE_WORKERS, or 1"),
    ] = None,
    parent: Parent = None,
    once: Once = False,
) -> None:
    if context.invoked_subcommand is not None:
        if database is not None or workers is not None or parent is not None or once:
            raise UserError("options of `workers ray` follow its name", hint="The database is that of ERRORSCOPE_DB")
        return
    if hasattr(os, "nice"):
        os.nice(5)  # pages on the same machine have priority
    run_workers(database, workers, parent, once=once)


@workers_command.command("ray")
def start_ray_workers(
    address: Annotated[
        str, typer.Option(help="of the cluster; auto: the one of this machine; local: start Ray here")
    ] = "auto",
    smallest: Annotated[int, typer.Option("--min", help="actors while nothing is to be done")] = 1,
    largest: Annotated[int, typer.Option("--max", help="actors at most")] = 8,
    cpus: Annotated[float, typer.Option(help="CPUs per actor")] = 1.0,
    gpus: Annotated[float, typer.Option(help="GPUs per actor, such as 0.25")] = 0.0,
    folder: Annotated[
        str, typer.Option(help="folder of Errorscope on the nodes; default: as on this machine", show_default=False)
    ] = str(ROOT),
    parent: Parent = None,
    once: Once = False,
) -> None:
    """Compute scoring jobs with actors on a Ray cluster until you stop it. The database is that of ERRORSCOPE_DB."""
    run_ray_workers(address, smallest, largest, cpus, gpus, folder, parent, once=once)


jobs_command = group()


@jobs_command.command("list", help="list unfinished jobs, newest first")
def list_jobs(context: typer.Context) -> None:
    with opened(context) as store:
        names = {project.id: project.name for project in store.projects.list()}
        lines = [
            f"job {job.id}: {names.get(job.project_id, job.project_id)}, {job.state}, priority {job.priority}, "
            f"{job.workers} workers, {job.done:,} of {job.total:,}{' · ' if job.message else ''}{job.message}"
            for job in reversed(store.jobs.unfinished())
        ]
        print_result("\n".join(lines) or "no unfinished jobs")


@jobs_command.command("cancel", help="cancel a job; its scores so far are kept")
def cancel_job(context: typer.Context, job: JobNumber) -> None:
    with opened(context) as store:
        store.jobs.cancel(store.jobs.get(job).id)
        print_result(f"job {job}: {store.jobs.get(job).state}")


@jobs_command.command("priority", help="set the priority of a job: higher ones go first, 0 is the default")
def set_priority(
    context: typer.Context,
    job: JobNumber,
    priority: Annotated[int, typer.Argument(min=-100, max=100, help="-100 to 100")],
) -> None:
    with opened(context) as store:
        store.jobs.prioritize(store.jobs.get(job).id, priority)
        print_result(f"job {job}: priority {priority}")
