"""Texts reach no host that is not allowed, and keys reach nothing but the server."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.score import score_command
from core.data import Dataset, Output, Segment
from core.errors import UserError
from core.judges import client
from core.judges.endpoints import endpoint, endpoints
from core.metrics import readiness, registry
from core.scoring.dataset import for_dataset, score_dataset
from core.scoring.values import InMemoryScores
from db.store import open_store
from tests.judge_server import Fault, by_prompt, judge_server

KEY = "sk-SECRET-0123456789-key"
TEXTS = "system,doc_id,segment_id,source,output\nA,d,1,die Katze,the cat\nA,d,2,der Hund,a dog\n"


@contextmanager
def listener(address: str) -> Iterator[tuple[int, list[str]]]:
    """Listen on another address of this machine; yield the port and the connections that were made."""
    connections = list[str]()
    with socket.create_server((address, 0)) as listening:

        def accept() -> None:
            try:
                while True:
                    connection, peer = listening.accept()
                    connections.append(str(peer))
                    connection.close()
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1], connections
        listening.shutdown(socket.SHUT_RDWR)


def refused(setting: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ERRORSCOPE_JUDGE", setting)
    metric = registry.load_metric("judge-da")
    state = readiness.readiness_of(metric)
    data = Dataset((Segment("d", "1", "x", ()),), (Output("A", "d", "1", "y"),))
    with pytest.raises(UserError):
        score_dataset(data, [metric], InMemoryScores())
    with pytest.raises(UserError):
        client.Session(endpoint())
    return state.reason


def test_no_connection_is_opened_to_a_host_that_is_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of this very machine is refused too: what counts is the name in the address, before anything is looked up."""
    looked_up = list[object]()
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *more, **options: looked_up.append(host) or resolve(host, *more, **options)
    )
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with listener("0.0.0.0") as (port, connections):
        for host in (
            socket.gethostname(),
            "0.0.0.0",
            "127.1",
            "2130706433",
            "localhost.example",
            "127.0.0.1.example",
            "[::ffff:127.0.0.1]",
        ):
            assert "texts may not be sent to this host" in refused(f"http://{host}:{port}/v1 m", monkeypatch), host
        assert connections == []
        assert looked_up == []
        monkeypatch.setenv("ERRORSCOPE_JUDGE_HOSTS", f"other.example, {socket.gethostname().upper()}")
        monkeypatch.setenv("ERRORSCOPE_JUDGE", f"http://{socket.gethostname()}:{port}/v1 m")
        assert "cannot be reached" in readiness.readiness_of(registry.load_metric("judge-da")).reason
        assert looked_up
        monkeypatch.setenv("ERRORSCOPE_JUDGE_KEY", KEY)
        with pytest.raises(UserError, match="without encryption"):
            endpoint().check_allowed()


def test_a_redirect_is_not_followed_and_a_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with listener("127.0.0.1") as (port, connections), judge_server() as server:
        monkeypatch.setenv("ERRORSCOPE_JUDGE", server.setting)
        metric = registry.load_metric("judge-da")
        server.faults += [Fault(307, {"Location": f"http://127.0.0.1:{port}/v1/chat/completions"})]
        data = Dataset((Segment("d", "1", "x", ()),), (Output("A", "d", "1", "y"),))
        (result,) = score_dataset(data, [metric], InMemoryScores())
        assert result.reason == "the server refused the request with status 307"
        assert connections == []


def test_a_key_is_in_no_database_export_log_or_error(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(client, "BACK_OFF", 0.005)
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path / "home"))
    (tmp_path / "in.csv").write_text(TEXTS, encoding="utf-8")
    with judge_server() as server:
        monkeypatch.setenv("ERRORSCOPE_JUDGE", server.setting)
        monkeypatch.setenv("ERRORSCOPE_JUDGE_KEY", KEY)
        server.answer = lambda body: f"Your key is {KEY}" if body["seed"] == 1 else by_prompt(body)
        server.faults += [Fault(401, text=f"the key {KEY} is wrong")]
        score_command(
            [tmp_path / "in.csv"], tmp_path / "out.csv", "judge-da,judge-mqm", replies=tmp_path / "replies.jsonl"
        )
        assert server.keys == {f"Bearer {KEY}"}
        store = open_store(f"sqlite:///{tmp_path}/test.db")
        project = store.projects.create("p").id
        data = Dataset((Segment("d", "1", "x", ()),), (Output("A", "d", "1", "y"),))
        store.projects.add(project, data)
        metric = for_dataset(registry.load_metric("judge-mqm"), data)
        score_dataset(data, [metric], store.scores)
        assert dict(store.scores.column(project, metric.signature()))
        shown = [
            repr(endpoint()),
            repr(endpoints()),
            metric.signature(),
            repr(metric.judge),
            caplog.text,
            *capsys.readouterr(),
        ]
        rows = [json.loads(line) for line in (tmp_path / "replies.jsonl").read_text(encoding="utf-8").splitlines()]
        assert any("***" in row["text"] for row in rows)
    for wrong in (
        "sk-SECRET-0123456789-key",
        f"http://user:{KEY}@127.0.0.1/v1 m",
        f"http://127.0.0.1/v1?key={KEY} m",
        f"http://127.0.0.1/ m {KEY}",
    ):
        monkeypatch.setenv("ERRORSCOPE_JUDGE", wrong)
        shown.append(readiness.readiness_of(registry.load_metric("judge-da")).reason)
    monkeypatch.setenv("ERRORSCOPE_JUDGE_KEY", f"{KEY}\n\u2028")
    for text in (
        f'[judges.x]\naddress = "http://127.0.0.1/v1"\nmodel = "m"\nkey = "{KEY}"',
        f"[judges.x]\nkey = {KEY}",
        f'["{KEY}"',
    ):
        (tmp_path / "judges.toml").write_text(text, encoding="utf-8")
        monkeypatch.setenv("ERRORSCOPE_JUDGES", str(tmp_path / "judges.toml"))
        with pytest.raises(UserError) as error:
            endpoints()
        shown += [str(error.value), repr(error.value.__cause__)]
    for text in shown:
        assert KEY not in text
    (tmp_path / "judges.toml").unlink()
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 3
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    assert os.environ["ERRORSCOPE_JUDGE_KEY"].startswith(KEY)
