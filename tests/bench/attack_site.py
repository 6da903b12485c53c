"""Servers that `tests.bench.attacks` attacks, and people who have links to them."""

from __future__ import annotations

import io
import re
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
import pyarrow as pa
from playwright.sync_api import Browser
from pyarrow import parquet

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import Protocol
from core.data import OutputKey
from core.ports.calibration import Chosen, SavedBatch
from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.services.campaigns import people, setup
from core.services.people import accounts, links, sessions
from core.services.people.sessions import SESSION_COOKIE
from db.store import open_store
from tests.api.conftest import no_error
from tests.browser.conftest import PASSWORD, Server
from tests.core.services.campaigns.world import SYSTEMS, dataset

PATIENCE = 90.0
FORM_TOKEN = re.compile(r'name="token" value="([0-9a-f]{64})"')


class Annotator:
    """A holder of a personal link, who asks and saves as the page's script does."""

    def __init__(self, url: str, name: str, token: str) -> None:
        self.name, self.token = name, token
        self.client = httpx.Client(base_url=url, timeout=PATIENCE, headers={"Authorization": f"Bearer {token}"})

    def unit(self, **choice: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.post("/api/unit", json=choice).json()
        return answer

    def send(self, unit: dict[str, Any], *actions: dict[str, Any], size: int = 200) -> httpx.Response:
        place = {name: unit[name] for name in ("project", "doc", "segment")}
        parts = [actions[at : at + size] for at in range(0, len(actions), size)]
        sent = {"rater": self.name, "batches": [place | {"actions": part} for part in parts]}
        return self.client.post("/api/actions", json=sent)


def verdict(unit: dict[str, Any], n: int = 0) -> dict[str, Any]:
    return no_error(uuid.uuid4().hex, unit["outputs"][n % len(unit["outputs"])]["id"])


class Site(NamedTuple):
    """The server with accounts, its storage and a project of it; the server without accounts; and a browser."""

    server: Server
    store: Store
    project: int
    plain: Server
    browser: Browser

    def annotator(self, name: str = "", project: int = 0, batch: str | None = None) -> Annotator:
        name = name or f"Annotator {uuid.uuid4().hex[:6]}"
        made = links.create(self.store, "bench", project or self.project, name, batch)
        return Annotator(self.server.url, name, made.token)

    def session(self, name: str) -> str:
        return sessions.start(self.store, accounts.find(self.store.people, name)).token

    def cookie(self, name: str) -> dict[str, str]:
        """Return the header of somebody who is logged in."""
        return {"Cookie": f"{SESSION_COOKIE}={self.session(name)}"}

    def calibration_set(self, name: str, first: int = 0) -> None:
        chosen = tuple(Chosen(OutputKey(SYSTEMS[0], "doc 0", str(first + n)), 0.5) for n in range(3))
        self.store.batches.save(self.project, SavedBatch(name, "uniform", 1, "s", chosen, 12))

    def campaign(self, name: str, protocol: Protocol, *raters: str, **design: Any) -> tuple[Campaign, list[Annotator]]:
        """Start a campaign; return it with the holders of its links."""
        made = setup.create(
            self.store, "bench", self.project, name, CampaignDesign(protocol, overlap=1, people=len(raters), **design)
        )
        self.store.campaigns.set_state(made.id, "running")
        invited = people.invite(self.store, "bench", made, raters)
        return made, [Annotator(self.server.url, r, link.token) for r, link in zip(raters, invited, strict=True)]

    @contextmanager
    def beside(self) -> Iterator[list[float]]:
        """Let somebody save labels one after the other during the block; yield how many seconds each save took."""
        someone, done, took = self.annotator(), threading.Event(), list[float]()
        unit = someone.unit()

        def save() -> None:
            while not done.wait(0.1):
                began = time.monotonic()
                if someone.send(unit, verdict(unit)).json().get("acknowledged"):
                    took.append(time.monotonic() - began)

        thread = threading.Thread(target=save)
        thread.start()
        try:
            yield took
            time.sleep(0.5)
        finally:
            done.set()
            thread.join()


def prepared(home: Path, browser: Browser) -> Site:
    urls = [f"sqlite:///{home}/{name}/errorscope.db" for name in ("team", "plain")]
    servers = [Server(home / str(n), {"ERRORSCOPE_DB": url, "ERRORSCOPE_WORKER": "off"}) for n, url in enumerate(urls)]
    stores = [open_store(url) for url in urls]
    accounts.add(stores[0], "bench", "ann", PASSWORD, manager=True)
    for store in stores:
        store.projects.add(store.projects.create("news").id, dataset(1, 12))
    vera, [project] = accounts.add(stores[0], "bench", "vera", PASSWORD, manager=False), stores[0].projects.list()
    accounts.set_role(stores[0], "bench", project.id, vera, "viewer")
    return Site(servers[0], stores[0], project.id, servers[1], browser)


def bombs() -> dict[str, bytes]:
    """Files of some kB whose texts take gigabytes: one long text in a dictionary, and a page that is well compressed."""
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["x" * 5_000_000]))
    page: dict[str, Any] = {"use_dictionary": False, "data_page_size": 1 << 30}
    made = {}
    for name, column, options in (("dictionary", dictionary, {}), ("page", pa.array(["x" * 100_000] * 3000), page)):
        raw, keys = io.BytesIO(), pa.array([str(n) for n in range(len(column))])
        table = pa.table({"doc_id": keys, "segment_id": keys, "system": keys, "output": column})
        parquet.write_table(table, raw, store_schema=False, compression="zstd", **options)
        made[f"{name}.parquet"] = raw.getvalue()
    return made


def memory(process: psutil.Process) -> int:
    return sum(p.memory_info().rss for p in [process, *process.children(recursive=True)])


def status_of(port: int, path: str, version: str, headers: Sequence[str] = (), host: str = "127.0.0.1") -> int:
    lines = [f"GET {path} HTTP/{version}", f"Host: {host}:{port}", "Connection: close", *headers, "", ""]
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return int(connection.makefile("rb").readline().split()[1])


def log_in(browser: httpx.Client, name: str, password: str, token: str = "") -> httpx.Response:
    token = token or FORM_TOKEN.findall(browser.get("/login").text)[0]
    return browser.post("/login", data={"token": token, "name": name, "password": password, "next": "/tasks"})
