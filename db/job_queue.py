"""The command of the queue, `python -m db.job_queue`. `python -m core jobs` runs it too."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from core.ports.store import Store
from core.settings import load as settings
from db.command import exit_status
from db.store import open_store


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status, 2 for invalid input."""
    parser = argparse.ArgumentParser(
        prog="python -m core jobs", description="Show and change the queue of scoring jobs."
    )
    parser.add_argument("--database", help="SQLAlchemy URL; default: ERRORSCOPE_DB, or the file in ERRORSCOPE_HOME")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list unfinished jobs, newest first")
    cancel = commands.add_parser("cancel", help="cancel a job; its scores so far are kept")
    priority = commands.add_parser("priority", help="set the priority of a job: higher ones go first, 0 is the default")
    for command in (cancel, priority):
        command.add_argument("job", type=int, help="number of the job")
    priority.add_argument("priority", type=int, choices=range(-100, 101), metavar="PRIORITY", help="-100 to 100")
    given = parser.parse_args(arguments)
    return exit_status(lambda _: _done(open_store(given.database or settings().database), given))


def _done(store: Store, given: argparse.Namespace) -> str:
    if given.command == "list":
        return _list(store)
    job = store.jobs.get(given.job)
    if given.command == "cancel":
        store.jobs.cancel(job.id)
        return f"job {job.id}: {store.jobs.get(job.id).state}"
    store.jobs.prioritize(job.id, given.priority)
    return f"job {job.id}: priority {given.priority}"


def _list(store: Store) -> str:
    names = {project.id: project.name for project in store.projects.list()}
    lines = [
        f"job {job.id}: {names.get(job.project_id, job.project_id)}, {job.state}, priority {job.priority}, "
        f"{job.workers} workers, {job.done:,} of {job.total:,}{' · ' if job.message else ''}{job.message}"
        for job in reversed(store.jobs.unfinished())
    ]
    return "\n".join(lines) or "no unfinished jobs"


if __name__ == "__main__":
    sys.exit(main())
