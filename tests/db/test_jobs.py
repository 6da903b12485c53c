import subprocess
import sys
import threading
import time

import pytest

from core.ports.jobs import Job
from core.ports.store import Store
from db.jobs import ATTEMPTS
from db.store import open_store
from tests.paths import ROOT

TAKE_ALL = """
import sys
from db.store import open_store
store = open_store(sys.argv[1])
sys.stdin.readline()
while job := store.jobs.lease(sys.argv[2]):
    print(job.id, flush=True)
"""


@pytest.fixture
def queue(store: Store) -> list[Job]:
    project = store.projects.create("p").id
    return [store.jobs.enqueue(project, [f"metric{i}"]) for i in range(30)]


def test_two_processes_never_lease_the_same_job(queue: list[Job], url: str) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", TAKE_ALL, url, name],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in ("w1", "w2")
    ]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    taken = [int(line) for worker in workers for line in worker.communicate(timeout=60)[0].split()]
    assert sorted(taken) == [job.id for job in queue]


def test_threads_never_lease_the_same_job(queue: list[Job], url: str) -> None:
    taken: list[int] = []
    start = threading.Barrier(4)

    def take(name: str) -> None:
        store = open_store(url)
        start.wait()
        while job := store.jobs.lease(name):
            taken.append(job.id)

    threads = [threading.Thread(target=take, args=(f"w{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [job.id for job in queue]


def test_the_oldest_job_comes_first(store: Store, queue: list[Job]) -> None:
    leased = store.jobs.lease("w")
    assert leased is not None
    assert leased.id == queue[0].id


def test_a_job_that_kills_its_workers_is_given_up(store: Store) -> None:
    job = store.jobs.enqueue(store.projects.create("p").id, ["m"])
    for attempt in range(ATTEMPTS):
        leased = store.jobs.lease(f"w{attempt}", 0.01)
        assert leased is not None
        assert store.jobs.beat(job.id, f"w{attempt}", 5, 10)
        time.sleep(0.03)
    # the first attempt got further (0 → 5 items) and does not count, so one more is granted
    assert store.jobs.lease("last", 0.01) is not None
    time.sleep(0.03)
    assert store.jobs.lease("never", 0.01) is None
    assert store.jobs.get(job.id).state == "failed"
    assert "worker died" in store.jobs.get(job.id).message


def test_a_job_that_gets_further_each_time_is_not_given_up(store: Store) -> None:
    job = store.jobs.enqueue(store.projects.create("p").id, ["m"])
    for attempt in range(3 * ATTEMPTS):
        assert store.jobs.lease(f"w{attempt}", 0.01) is not None
        store.jobs.beat(job.id, f"w{attempt}", attempt + 1, 100)
        time.sleep(0.03)
    assert store.jobs.get(job.id).state == "running"
