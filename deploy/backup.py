"""Back up the database each night and keep the newest files. The service `backup` of compose.yaml runs it.

    python deploy/backup.py            # one backup at once if the newest is older than a day, then one per night
    python deploy/backup.py --now      # one backup at once, and exit
    python deploy/backup.py --check    # exit with 1 if the newest backup is older than 26 hours

Environment: BACKUP_FOLDER, BACKUP_KEEP (how many files), BACKUP_TIME (HH:MM, UTC).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

DAY, LATE = timedelta(hours=24), timedelta(hours=26)
RETRY_SECONDS = 600.0
FORMAT = "errorscope-%Y%m%dT%H%M%SZ.db"
NAME = re.compile(r"errorscope-\d{8}T\d{6}Z\.db")
ROOT = Path(__file__).resolve().parents[1]


class Plan(NamedTuple):
    """Where backups are, how many are kept, and the time of day (UTC) at which one is made."""

    folder: Path
    keep: int
    hour: int
    minute: int


def load(environ: Mapping[str, str] = os.environ) -> Plan:
    """Return the plan from the environment. Raises `ValueError` for an invalid setting."""
    keep, at = environ.get("BACKUP_KEEP") or "14", environ.get("BACKUP_TIME") or "02:30"
    if not re.fullmatch(r"[1-9]\d{0,3}", keep):
        raise ValueError(f"BACKUP_KEEP is {keep!r}; expected a whole number from 1 to 9999")
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", at):
        raise ValueError(f"BACKUP_TIME is {at!r}; expected HH:MM, such as 02:30")
    return Plan(Path(environ.get("BACKUP_FOLDER") or "/backups"), int(keep), int(at[:2]), int(at[3:]))


def backups(folder: Path) -> list[tuple[datetime, Path]]:
    """Return the backups in a folder with the times in their names, oldest first. Other files are left out."""
    found = [path for path in folder.iterdir() if NAME.fullmatch(path.name)]
    return sorted((datetime.strptime(path.name, FORMAT).replace(tzinfo=UTC), path) for path in found)


def is_fresh(folder: Path, now: datetime, limit: timedelta) -> bool:
    """Return whether the newest backup is at most `limit` old."""
    found = backups(folder)
    return bool(found) and now - found[-1][0] <= limit


def next_time(plan: Plan, now: datetime) -> datetime:
    """Return the next time of a nightly backup after `now`."""
    today = now.replace(hour=plan.hour, minute=plan.minute, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


def back_up(plan: Plan, now: datetime) -> bool:
    """Write one backup, then delete the oldest files beyond `keep`. After a failure nothing is deleted."""
    target = plan.folder / now.strftime(FORMAT)
    done = subprocess.run([sys.executable, "-m", "core", "db", "backup", str(target)], cwd=ROOT, check=False)
    if done.returncode:
        return False
    for _, path in backups(plan.folder)[: -plan.keep]:
        path.unlink()
        print(f"deleted {path}", flush=True)
    return True


def run(plan: Plan) -> None:
    """Back up each night until the process is ended; after a failure try again in ten minutes."""
    due = next_time(plan, _now()) if is_fresh(plan.folder, _now(), DAY) else _now()
    while True:
        time.sleep(max(0.0, (due - _now()).total_seconds()))
        if back_up(plan, _now()):
            due = next_time(plan, _now())
            print(f"next backup: {due:%Y-%m-%d %H:%M} UTC", flush=True)
        else:
            due = _now() + timedelta(seconds=RETRY_SECONDS)


def main(arguments: Sequence[str]) -> int:
    try:
        plan = load()
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if "--check" in arguments:
        return 0 if is_fresh(plan.folder, _now(), LATE) else 1
    if "--now" in arguments:
        return 0 if back_up(plan, _now()) else 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    run(plan)
    return 0


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
