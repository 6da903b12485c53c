"""A real server on a free port with a home of its own, and a real Chromium. Without a browser these tests are skipped; in CI they fail.

The tests in `journeys` run in `make test`. All others are marked `extended` and run in `make test-all` only.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from core.ports.store import Store
from core.services.people import accounts
from db.store import open_store
from tests import hostile
from tests.browser.span_editor import Host, project_to_annotate
from tests.paths import ROOT
from tests.ports import free_port
from tests.templates import sample_database

# The headless shell is the same engine without windows: a visit takes it a third less processor time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in BROWSERS if (path := shutil.which(name))), None)
QUIET = (
    "--no-sandbox --disable-gpu --disable-software-rasterizer --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage"
).split()
PATIENCE = 120_000  # generous, as other tests may keep the machine busy; what passes does not wait for it
START_SECONDS = 300
PASSWORD = "correct horse battery"  # of all accounts
expect.set_options(timeout=PATIENCE)


JOURNEYS = Path(__file__).parent / "journeys"


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.browser)
    if JOURNEYS not in item.path.parents:
        item.add_marker(pytest.mark.extended)
    if not CHROMIUM and not os.environ.get("CI"):
        item.add_marker(pytest.mark.skip(reason="no Chromium on this machine"))


class Server:
    """One running app. `kill` is SIGKILL to the app and everything it started."""

    def __init__(self, home: Path, environ: dict[str, str], script: str = "app.py") -> None:
        self.home, self.environ, self.script, self.process = home, environ, script, None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable,
            "-m",
            "streamlit",
            "run",
            self.script,
            "--server.port",
            str(self.port),
            "--server.headless",
            "true",
        ]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "ERRORSCOPE_HOME": str(self.home), **self.environ}
        with (self.home / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environ, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.1)  # a server that ends does not start
        raise RuntimeError(self.log())

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def store(self) -> Store:
        """The app's own database, opened beside it."""
        return open_store(f"sqlite:///{self.home / 'errorscope.db'}")

    def project(self, name: str) -> int:
        return next(p.id for p in self.store().projects.list() if p.name == name)

    def processor_seconds(self) -> float:
        """Processor time that the app has taken so far, in all its threads."""
        assert self.process is not None
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def log(self) -> str:
        return (self.home / "server.log").read_text(encoding="utf-8", errors="replace")[-6000:]


@contextmanager
def serving(home: Path, script: str = "app.py", **environ: str) -> Iterator[Server]:
    """A server that is started, and killed at the end."""
    server = Server(home, environ, script)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def cancel_jobs(store: Store) -> None:
    """Cancel the jobs of the sample: each page refreshes the line of running jobs, and workers would compute them."""
    for job in store.jobs.unfinished():
        store.jobs.cancel(job.id)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server with the sample, for all tests that neither restart it nor look at an empty one. Each adds its own project."""
    home = tmp_path_factory.mktemp("home")
    cancel_jobs(open_store(sample_database(home / "errorscope.db")))
    with serving(home, ERRORSCOPE_DB="", ERRORSCOPE_WORKER="off") as running:
        yield running


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with accounts: the manager ann, the viewer vera of the sample, and its annotator anton."""
    home = tmp_path_factory.mktemp("team")
    cancel_jobs(open_store(sample_database(home / "errorscope.db")))
    with serving(home, ERRORSCOPE_DB="", ERRORSCOPE_WORKER="off") as running:
        store = running.store()
        accounts.add(store, "test", "ann", PASSWORD, manager=True)
        for name, role in (("vera", "viewer"), ("anton", "annotator")):
            account = accounts.add(store, "test", name, PASSWORD, manager=False)
            accounts.set_role(store, "test", store.projects.list()[0].id, account, role)
        store.projects.create("hidden from vera")
        yield running


def log_in(page: Page, name: str, password: str = PASSWORD) -> None:
    """Send the form of the login page."""
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


@pytest.fixture(scope="session")
def hostile_project(shared: Server) -> int:
    """A project whose every name is hostile."""
    return hostile.fill(shared.store())


def at_rest(page: Page) -> None:
    """Wait until the page is drawn: what is chosen in Streamlit's own elements before may be drawn over."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


LOADED = """async () => {
  const idle = () => new Promise((done) => requestIdleCallback(done, { timeout: 1000 }));
  await document.fonts.ready;
  await idle();
  await fetch(`${location.origin}/_stcore/health`); // it is answered after everything that was requested before
  await idle();
  return true;
}"""


def settled(page: Page) -> None:
    """Wait until the page is drawn, with what the browser loads after the script has ended."""
    at_rest(page)
    expect(page.locator('[data-testid^="stSkeleton"]')).to_have_count(0)
    expect(page.get_by_text("Loading charts")).to_have_count(0)
    page.wait_for_function(LOADED)
    at_rest(page)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield running
        running.close()


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One for all tests, so that the browser keeps the scripts of Streamlit: they cost a third of each visit.

    Nothing is animated: drawing a page sixty times per second cost a fourth of each visit.
    """
    opened = browser.new_context(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce")
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()


@pytest.fixture
def own(browser: Browser) -> Iterator[BrowserContext]:
    """A browser of its own, whose network can be cut and whose clock can be changed."""
    opened = browser.new_context(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce")
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    """A tab of a phone with a touch screen."""
    opened = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    opened.set_default_timeout(PATIENCE)
    yield opened.new_page()
    opened.close()


@pytest.fixture
def seen(page: Page) -> list[str]:
    """Requests to other hosts and violations of the content security policy, as they come."""
    found: list[str] = []

    def requested(url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).hostname != "127.0.0.1":
            found.append(f"request: {url}")

    def said(text: str) -> None:
        if "Content Security Policy" in text:
            found.append(text)

    page.on("request", lambda request: requested(request.url))
    page.on("console", lambda message: said(message.text))
    return found


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A tab of its own, in a browser that has stored nothing."""
    tab = context.new_page()
    yield tab
    for used in context.pages:
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(used.url))
        context.new_cdp_session(used).send(
            "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage"}
        )
        used.close()
    context.clear_cookies()


@pytest.fixture(scope="module")
def project(shared: Server, request: pytest.FixtureRequest) -> int:
    """A project of two segments, for the tests of one module."""
    return project_to_annotate(shared.store(), request.module.__name__)


@pytest.fixture
def link(shared: Server, project: int) -> Host:
    """The page of a personal link. It costs the browser far less than Annotate, and has the same editor."""
    return Host(shared, project, by_link=True)


@pytest.fixture
def annotate(shared: Server, project: int) -> Host:
    return Host(shared, project, by_link=False)


@pytest.fixture(params=["annotate", "link"])
def host(request: pytest.FixtureRequest, shared: Server, project: int) -> Host:
    """Each of the two pages, for what differs between them: identity, the place that is shown, and the focus."""
    return Host(shared, project, by_link=request.param == "link")
