"""Exports over HTTP: two are made at once, and none whose client has gone."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import TypeVar, cast

import pytest
from starlette.requests import ClientDisconnect, Request

from api import exports
from core.formats.write import SPREADSHEET
from core.ports.people import Identity
from core.progress import Cancelled, Progress
from core.services.export import files as prepared
from core.services.export.export import Export, spooled
from core.services.export.files import EXPORTS, PREPARED, PreparedFiles
from tests.api.conftest import Site

WHO = cast(Identity, None)
SECONDS = 20.0

T = TypeVar("T")


class Client:
    gone = False

    async def is_disconnected(self) -> bool:
        return self.gone


class Making:
    """Takes the place of `exports.make`: files that are in work until `end` is set."""

    def __init__(self) -> None:
        self.end, self.lock = Event(), Lock()
        self.began = self.cancelled = self.now = self.most = 0

    def __call__(self, who: Identity, project_id: int, name: str, progress: Progress) -> Export:
        with self.lock:
            self.began += 1
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            while not self.end.wait(0.005):
                progress(0.5)
        except Cancelled:
            self.cancelled += 1
            raise
        finally:
            with self.lock:
                self.now -= 1
        return Export(spooled([name]), "csv", "text/csv", ())


@pytest.fixture
def making(monkeypatch: pytest.MonkeyPatch) -> Making:
    made = Making()
    monkeypatch.setattr(exports, "make", made)
    monkeypatch.setattr(exports, "CHECK_SECONDS", 0.01)
    return made


def in_a_loop(work: Coroutine[None, None, T]) -> T:
    """Run in a thread of its own: the main thread may have the loop of a browser."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


async def until(making: Making, **counts: int) -> None:
    async with asyncio.timeout(SECONDS):
        while any(getattr(making, name) != n for name, n in counts.items()):
            await asyncio.sleep(0.005)


def wanted(client: Client, name: str = "csv") -> asyncio.Task[Export]:
    return asyncio.create_task(exports._while_connected(cast(Request, client), WHO, 1, name))


def test_other_exports_wait_while_two_are_made(making: Making) -> None:
    async def run() -> list[bytes]:
        tasks = [wanted(Client(), str(i)) for i in range(5)]
        await until(making, began=2)
        await asyncio.sleep(0.1)
        assert making.began == prepared.AT_ONCE == 2
        making.end.set()
        return [made.data for made in await asyncio.gather(*tasks)]

    assert in_a_loop(run()) == [b"0", b"1", b"2", b"3", b"4"]
    assert making.most == 2


def test_an_export_ends_when_its_client_has_gone(making: Making) -> None:
    async def run() -> None:
        clients = [Client() for _ in range(4)]
        tasks = [wanted(client) for client in clients]
        await until(making, began=2)
        clients[3].gone = True  # it was still waiting
        with pytest.raises(ClientDisconnect):
            await tasks[3]
        clients[0].gone = True
        with pytest.raises(ClientDisconnect):
            await tasks[0]
        await until(making, cancelled=1, began=3)  # the next one has its place
        making.end.set()
        await asyncio.gather(*tasks[1:3])

    in_a_loop(run())
    assert (making.began, making.cancelled) == (3, 1)


def test_a_file_that_a_page_prepared_is_sent_more_than_once(site: Site) -> None:
    made = EXPORTS["outputs-jsonl"].make(site.store, site.project)
    token = PREPARED.keep(site.project, "outputs-jsonl", made)
    address = f"/api/projects/{site.project}/exports/outputs-jsonl?prepared={token}"
    for _ in range(2):
        answer = site.client.get(address)
        assert answer.content == made.data
        assert answer.headers["content-length"] == str(len(made.data))
    assert [e.act for e in site.store.audit.entries(site.project)] == ["exported"] * 2
    assert site.client.get(address, headers=site.link).status_code == 403


@pytest.mark.parametrize("token", ["", "x", "é", "../x"])
def test_a_file_that_is_no_longer_kept_is_made_again(site: Site, token: str) -> None:
    PREPARED.keep(site.project, "outputs-csv", Export(spooled(["other"]), "csv", "text/csv", ()))
    answer = site.client.get(f"/api/projects/{site.project}/exports/outputs-csv", params={"prepared": token})
    assert answer.content == SPREADSHEET + EXPORTS["outputs-csv"].make(site.store, site.project).data
    assert answer.headers["content-length"] == str(len(answer.content))


def test_prepared_files_of_a_deleted_project_are_not_sent(site: Site) -> None:
    token = PREPARED.keep(site.project, "outputs-csv", Export(spooled(["texts"]), "csv", "text/csv", ()))
    site.store.projects.delete(site.project)
    answer = site.client.get(f"/api/projects/{site.project}/exports/outputs-csv?prepared={token}")
    assert answer.status_code == 422
    assert b"texts" not in answer.content


def test_prepared_files_are_removed_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    now, files = [1000.0], PreparedFiles()
    monkeypatch.setattr(prepared, "monotonic", lambda: now[0])
    made = [Export(spooled(["x"]), "csv", "text/csv", ()) for _ in range(3)]
    first = files.keep(1, "csv", made[0])
    now[0] += prepared.SECONDS_KEPT
    second = files.keep(1, "csv", made[1])
    kept = weakref.ref(files.find(1, "csv", second))
    assert files.find(1, "csv", first) is not None
    now[0] += 1
    assert files.find(1, "csv", first) is None
    now[0] += prepared.SECONDS_KEPT
    assert kept() is not None
    files.keep(1, "csv", made[2])
    assert kept() is None
    assert files.find(1, "csv", second) is None
