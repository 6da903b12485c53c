"""What tests run in other processes. Nothing here imports pytest, which takes long."""

import io
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from datetime import UTC, datetime
from itertools import count
from multiprocessing.connection import Connection

from sqlalchemy import event

from core.data import SegmentKey, Value
from core.errors import Unavailable
from core.ports.campaigns import Draw, DrawState, NewAssignment
from core.ports.jobs import ChunkResult
from core.ports.labels import Action
from core.ports.store import Store
from core.services.projects.adding import ImportTarget
from db.engine import connect, migrate
from db.imports import adding, slices
from db.store import open_store, store_over
from tests.builders import small_dataset
from tests.cli.program import status_of
from tests.stores import add_dataset, project_with

IMPORTED = small_dataset(30)
K = 3
"""Raters per unit of a campaign."""


def append_labels(connection: Connection, url: str, rater: str, prefix: str, n: int) -> None:
    """Record labels of the first segment: some of this process only, and some that others record too."""
    store, segment = open_store(url), SegmentKey("doc", "0")
    connection.send("ready")
    connection.recv()
    for i in range(n):
        actions = [Action(f"{prefix}{i}", "verdict", "A", {"value": "no_error" if i % 2 else None})]
        actions += [Action(f"both{i}", "verdict", "B", {"value": "no_error"})]
        assert store.labels.append(1, rater, segment, actions).ids == [action.id for action in actions]
    connection.send("done")


def save_and_wait(connection: Connection, url: str) -> None:
    """Record labels, send the ids of what was acknowledged, and wait to be killed."""
    store, segment = open_store(url), SegmentKey("doc", "0")
    span = {"mark": "m1", "side": "output", "start": 0, "end": 1, "quote": "A", "severity": "Major"}
    mark = Action("e1", "add", "A", span | {"category": "Other", "note": "😀"})
    verdict = Action("e2", "verdict", "B", {"value": "no_error"})
    for actions in ([mark, verdict], [Action("e3", "submit", None, {})]):
        connection.send(store.labels.append(1, "ann", segment, actions).ids)
    connection.recv()


def claim_values(connection: Connection, url: str, worker: str) -> None:
    """Claim and store values, and send the keys that were granted."""
    store, keys = open_store(url), list[str]()
    connection.send("ready")
    connection.recv()
    chunk = store.chunks.lease(worker)
    assert chunk is not None
    for start in range(0, 160, 8):
        granted = store.chunks.claim(chunk, worker, "s", [f"{i:064}" for i in range(start, start + 8)])
        granted -= store.scores.known("s", granted)
        keys += sorted(granted)
        store.scores.put("m", "s", {key: Value(1.0) for key in granted}, 0.1)
    connection.send(keys)


def take_chunks(connection: Connection, url: str, worker: str) -> None:
    """Lease and finish chunks until none is left, and send their ids."""
    store, taken = open_store(url), list[int]()
    connection.send("ready")
    connection.recv()
    while not store.chunks.is_finished():
        if chunk := store.chunks.lease(worker):
            taken.append(chunk.id)
            store.chunks.finish(chunk, worker, ChunkResult(len(chunk.outputs), 0, 0, "", 0.1))
    connection.send(taken)


def next_free(who: int, n: int) -> Draw:
    """Return a draw of the first `n` units that a participant has not had and that have fewer than K raters."""

    def draw(state: DrawState) -> list[NewAssignment]:
        mine = {a.unit.id for a in state.assignments if a.participant_id == who}
        taken = {(a.unit.id, a.slot) for a in state.assignments}
        free = {u.id: [slot for slot in range(1, K + 1) if (u.id, slot) not in taken] for u in state.units}
        return [NewAssignment(u, slots[0], ("A", "B"), 1.0) for u, slots in free.items() if slots and u not in mine][:n]

    return draw


def assign_units(connection: Connection, url: str, n: int, *names: str) -> None:
    """Give the participants two units each, `n` times."""
    store = open_store(url)
    connection.send("ready")
    connection.recv()
    for _ in range(n):
        for name in names:
            who = store.campaigns.join(1, name, "C").id
            store.campaigns.assign(1, who, datetime.now(UTC), None, next_free(who, 2))


def exit_while_assigning(url: str, name: str) -> None:
    """Exit with status 7 after units are drawn and before they are stored."""
    store = open_store(url)

    def draw(state: DrawState) -> list[NewAssignment]:
        assert next_free(who, 2)(state)
        sys.exit(7)

    who = store.campaigns.join(1, name, "C").id
    store.campaigns.assign(1, who, datetime.now(UTC), None, draw)


def list_projects(connection: Connection, url: str) -> None:
    connection.send("ready")
    connection.recv()
    connection.send(open_store(url).projects.list())


def import_project(store: Store) -> None:
    add_dataset(store, ImportTarget("p"), IMPORTED)


def delete_project(store: Store) -> None:
    store.projects.delete(store.projects.list()[0].id)


def kill_at_statement(url: str, work: Callable[[Store], object], statement: str, number: int) -> None:
    """Work in slices of 20 rows, and kill this process at the n-th statement that begins so."""
    adding.SMALL, slices.FIRST, slices.MOST = 60, 20, 20
    engine, seen = connect(url), list[str]()

    def strike(connection: object, cursor: object, executed: str, *rest: object) -> None:
        if executed.startswith(statement):
            seen.append(executed)
        if len(seen) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(engine, "after_cursor_execute", strike)
    work(store_over(engine))


def open_database(url: str) -> None:
    migrate(connect(url))


def run_workers(connection: Connection, home: str, settings: Sequence[tuple[Sequence[str], str]]) -> None:
    """Start a worker with each of these arguments and numbers of workers; send the status and the errors of each."""
    os.environ["ERRORSCOPE_HOME"] = home
    ends: list[tuple[int, str]] = []
    for arguments, number in settings:
        os.environ["ERRORSCOPE_WORKERS"] = number
        errors = io.StringIO()
        with redirect_stderr(errors):
            ends.append((status_of("workers", "--once", *arguments), errors.getvalue()))
    connection.send(ends)


def record_labels(connection: Connection, url: str) -> None:
    """Record labels without end. Send "saved ID" once a label is acknowledged, else "refused REASON"; it is sent again, as the browser does."""
    store = open_store(url)
    projects = store.projects.list()
    project = projects[0].id if projects else project_with(store)
    for number in count(len(store.labels.events(project))):
        action = Action(f"a{number}", "verdict", "A", {"value": "no_error" if number % 2 else None})
        while True:
            try:
                store.labels.append(project, "ann", SegmentKey("doc", "0"), [action])
                connection.send(f"saved {action.id}")
                break
            except Unavailable as error:
                connection.send(f"refused {error}")
                time.sleep(0.02)
