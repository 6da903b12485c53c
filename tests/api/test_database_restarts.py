"""The database server restarts while people label: what was acknowledged is stored once, and the app goes on."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from db.store import open_store
from tests.bench.saves import ANSWER_SECONDS, Annotator, prepared
from tests.browser.conftest import serving
from tests.postgres import OwnServer, own_server, programs

ANNOTATORS, PATIENCE = 20, 120.0


@pytest.mark.extended
@pytest.mark.postgresql
@pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed; on Debian: apt-get install postgresql")
def test_labels_survive_restarts_of_the_database_server(tmp_path: Path) -> None:
    with own_server() as database:
        store = open_store(database.url)
        annotators = prepared(store, ANNOTATORS, n_segments=1)
        with serving(tmp_path, ERRORSCOPE_DB=database.url, ERRORSCOPE_WORKER="off") as app:
            with ThreadPoolExecutor(1) as thread:  # the browser of other tests has an event loop in this one
                done = thread.submit(asyncio.run, restarted(app.url, database, annotators)).result()
        recorded = Counter(e.action.id for e in store.labels.events(annotators[0].project) if e.action.kind != "open")
    acknowledged = [name for annotator in annotators for name in annotator.acknowledged]
    statuses = sum((annotator.statuses for annotator in annotators), Counter[int]())
    assert set(acknowledged) <= set(recorded)
    assert set(recorded.values()) == {1}
    assert len(set(acknowledged)) == len(acknowledged)
    assert [annotator.refused for annotator in annotators] == [{}] * ANNOTATORS
    assert set(statuses) == {200, 503}  # nobody is told that the link is not valid
    assert all(later > before for before, later in zip(done, done[1:], strict=False))


async def restarted(url: str, database: OwnServer, annotators: list[Annotator]) -> list[int]:
    """Let the annotators work while the database stops and starts; return how many labels were saved before, between and after."""
    done = []

    def saved() -> int:
        return sum(len(annotator.acknowledged) for annotator in annotators)

    def refused() -> int:
        return sum(annotator.statuses[503] for annotator in annotators)

    async def more(count: Callable[[], int]) -> None:
        before, until = count(), time.monotonic() + PATIENCE
        while count() == before and time.monotonic() < until:
            await asyncio.sleep(0.1)

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=ANSWER_SECONDS, limits=limits) as client:
        until = time.monotonic() + 1000
        working = [asyncio.create_task(annotator.work(client, until)) for annotator in annotators]
        await more(saved)
        for mode in ("fast", "immediate"):
            done.append(saved())
            await asyncio.to_thread(database.stop, mode)
            await more(refused)
            await asyncio.to_thread(database.start)
            await more(saved)
        done.append(saved())
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
    return done
