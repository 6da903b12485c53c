"""`workers` and `jobs`: compute scoring jobs, and change their queue."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from cli.database import Database, group, opened
from cli.progress import print_result
from core.errors import UserError
from db.ray_workers import ROOT, run_ray_workers
from db.worker import run_workers

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
