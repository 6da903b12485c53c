"""Workers on a real Ray cluster of two nodes, one of which is killed."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from sqlalchemy import Engine, make_url

from core.ports.scores import Timing
from core.ports.store import Store
from db import ray_workers
from tests.builders import small_dataset
from tests.cli.program import status_of
from tests.db.raw import scalar
from tests.db.workers.helpers import lines_of, until
from tests.paths import ROOT
from tests.postgres import POSTGRES
from tests.stores import project_with

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs Ray: pip install -r requirements-ray.txt"
)
N = 240
SECRET = "sesame-8f3a"


class TwoNodes(NamedTuple):
    process: "subprocess.Popen[str]"
    address: str
    session: Path
    raylet: int

    def kill_the_second(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()
        assert "killed" in self.process.stdout.readline()


def commands() -> dict[int, str]:
    return {p.pid: " ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"])}


@pytest.fixture
def environment(tmp_path: Path, url: str) -> dict[str, str]:
    address = make_url(url)
    if address.get_backend_name() == "postgresql":
        address = address.set(password=SECRET)
    settings = {"SLOW_LOG": str(tmp_path / "begun.txt"), "SLOW_SECONDS": "0.2", "SLOW_HOLDS_AT": "0"}
    settings |= {"ERRORSCOPE_HOME": str(tmp_path / "home")}
    return os.environ | settings | {"ERRORSCOPE_DB": address.render_as_string(hide_password=False)}


@pytest.fixture
def nodes(environment: dict[str, str]) -> Iterator[TwoNodes]:
    without = {name: value for name, value in environment.items() if name != "ERRORSCOPE_DB"}
    command = [sys.executable, "-m", "tests.db.workers.ray_cluster"]
    started = subprocess.Popen(
        command, cwd=ROOT, env=without, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    below: list[psutil.Process] = []
    session = "no session"
    try:
        assert started.stdout is not None
        words = next(line.split() for line in started.stdout if line.startswith("cluster "))
        session = words[2]
        yield TwoNodes(started, words[1], Path(session), int(words[3]))
        below = psutil.Process(started.pid).children(recursive=True)
        started.communicate("", timeout=60)
        assert psutil.wait_procs(below, timeout=20)[1] == []
    finally:
        for process in [*below, *(psutil.Process(pid) for pid, text in commands().items() if session in text)]:
            if process.is_running():
                process.kill()
        started.kill()
        started.wait()


@needs_ray
@pytest.mark.extended
@pytest.mark.parametrize("database", [POSTGRES], indirect=True)  # nodes of a cluster share a server, not a file
def test_each_output_is_scored_once_when_a_node_is_killed(
    store: Store, engine: Engine, nodes: TwoNodes, environment: dict[str, str], tmp_path: Path
) -> None:
    project = project_with(store, small_dataset(N // 2))
    store.timings.add("slow", "", Timing(100, 1200, 100.0, 12.0))  # 1 s per output, so that chunks are small
    job = store.jobs.enqueue(project, ["slow"])

    def begun_by() -> set[int]:
        return {int(line.partition(" ")[0]) for line in lines_of(tmp_path / "begun.txt")}

    command = [sys.executable, "-m", "tests.db.workers.ray_worker", nodes.address]
    driver = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        until(lambda: len(begun_by()) == 2, 60)
        victims = {pid for pid in begun_by() if psutil.Process(pid).ppid() == nodes.raylet}
        assert len(victims) == 1
        assert not [text for text in commands().values() if SECRET in text]
        nodes.kill_the_second()
        assert store.jobs.get(job.id).state == "running"
        assert driver.wait(timeout=90) == 0
    finally:
        driver.kill()
        driver.wait()
    done = store.jobs.get(job.id)
    assert (done.state, done.done, done.total, done.message) == ("done", N, N, "")
    assert {key: value.value for key, value in store.scores.column(project, "slow|v:1").items()} == {
        key: float(len(item.hypothesis)) for key, item in small_dataset(N // 2).items()
    }  # as one worker scores them
    assert scalar(engine, "SELECT count(*) FROM scores") == scalar(engine, "SELECT sum(n) FROM runs") == N
    assert len(begun_by() - victims) == 2  # the other one, and the one that replaced the victim
    until(lambda: not any(map(psutil.pid_exists, begun_by())), 30)
    logs = [path for path in (*nodes.session.rglob("*"), *(tmp_path / "home").glob("*.log")) if path.is_file()]
    assert len(logs) > 5
    assert not [path for path in logs if SECRET.encode() in path.read_bytes()]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Return the command, which writes no log here."""
    monkeypatch.setattr(ray_workers, "log_to", lambda _: None)
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))

    def run(*arguments: str, url: str = "") -> int:
        monkeypatch.setenv("ERRORSCOPE_DB", url)
        return status_of("workers", "ray", *arguments)

    return run


def test_without_ray_the_command_names_what_to_install(
    command: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert command() == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "pip install -r requirements-ray.txt" in line


def test_what_ray_cannot_do_is_one_clear_line(command: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, url, said in [
        (["--min", "3", "--max", "2"], "", "--min 3 --max 2"),
        (["--gpus", "-1"], "", "must not be negative"),
        (["--address", "ray://head:10001"], "", "PostgreSQL"),
        ([], "sqlite://", "cannot be used"),
    ]:
        assert command(*arguments, url=url) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert said in line
