"""Labels that cannot be saved now: the annotator is told, and they are saved once as soon as they can be."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from playwright.sync_api import BrowserContext, Error, Locator, Page, Route, expect

from core.services.people import links
from tests.browser.conftest import Server, serving
from tests.browser.span_editor import HERE, Host, edits, mark, opened, project_to_annotate, saved, spans, text

UNSAVED = "not saved yet; please do not close this page"
POSTS = "**/api/actions"


def quotes(host: Host, name: str) -> list[str]:
    return [span[3] for span in spans(edits(host, name))]


def foot(tab: Page) -> Locator:
    return tab.get_by_test_id("saved-state")


def lose_the_answer(route: Route) -> None:
    """The server saves, but the browser does not hear of it."""
    with suppress(Error):  # the tab was closed meanwhile
        route.fetch()
        route.abort()


def lose_the_request(route: Route) -> None:
    with suppress(Error):
        route.abort()


CUTS: dict[str, Callable[[BrowserContext], None]] = {
    "no network": lambda context: context.set_offline(True),
    "no request arrives": lambda context: context.route(POSTS, lose_the_request),
    "no answer arrives": lambda context: context.route(POSTS, lose_the_answer),
}


@pytest.mark.parametrize("cut", CUTS)
def test_labels_made_while_the_network_is_cut_are_saved_once(link: Host, own: BrowserContext, cut: str) -> None:
    address, tab = link.address(cut), own.new_page()
    tab.goto(address)
    mark(tab, "bad")
    saved(tab)
    CUTS[cut](own)
    with tab.expect_event("requestfailed", lambda request: "home" in (request.post_data or "")):
        mark(tab, "weather")
        mark(tab, "home")
    expect(foot(tab)).to_contain_text(f"2 changes {UNSAVED}")
    assert quotes(link, cut) == (["bad", "weather", "home"] if cut == "no answer arrives" else ["bad"])
    tab.close()
    own.set_offline(False)
    own.unroute_all()
    again = own.new_page()
    again.goto(address)
    expect(again.locator(".esa-p.marked")).to_have_text(["bad", "weather", "home"])
    saved(again)
    assert quotes(link, cut) == ["bad", "weather", "home"]


def test_an_open_page_saves_by_itself_when_the_network_is_back(link: Host, own: BrowserContext) -> None:
    tab = opened(link, own.new_page(), "waits")
    own.set_offline(True)
    mark(tab, "weather")
    expect(foot(tab)).to_contain_text(f"1 change {UNSAVED}")
    tab.keyboard.press("j")
    expect(tab.get_by_role("alert")).to_contain_text("the server does not answer. Your labels are kept in this browser")
    expect(tab.locator(".esa-p.marked")).to_have_text("weather")
    own.set_offline(False)
    saved(tab)
    tab.keyboard.press("j")
    expect(text(tab, "Und dann?")).to_be_visible()
    expect(tab.get_by_role("alert")).to_be_hidden()
    assert quotes(link, "waits") == ["weather"]


def test_a_submission_waits_for_the_server_and_the_page_then_goes_on(link: Host, own: BrowserContext) -> None:
    tab = opened(link, own.new_page(), "gone")
    done, state = tab.locator("#done"), tab.get_by_test_id("submit")

    def submit_all() -> None:
        for card in tab.locator(".esa-output").all():
            card.get_by_role("button", name="No error").click()
        state.click()

    own.set_offline(True)
    submit_all()
    expect(tab.locator(".esa-said")).to_contain_text("Submitted, waiting to send")
    expect(state).to_have_text("Waiting to send")
    tab.keyboard.press("u")
    expect(tab.locator(".esa-said")).to_contain_text("The submission of this segment is withdrawn")
    state.click()
    expect(state).to_have_text("Waiting to send")
    own.set_offline(False)
    expect(text(tab, "Und dann?")).to_be_visible()
    expect(tab.locator(".esa-said")).to_have_text("Submitted · U to undo")
    assert [a.kind for a in edits(link, "gone")] == ["verdict"] * 3 + ["submit", "reopen", "submit"]
    own.set_offline(True)
    submit_all()
    expect(state).to_have_text("Waiting to send")
    expect(foot(tab)).to_contain_text(f"Waiting to send … 4 changes {UNSAVED}")
    expect(tab.locator(".esa-said")).to_contain_text("Submitted, waiting to send")
    expect(done).to_be_hidden()
    own.set_offline(False)
    expect(done).to_be_visible()
    expect(tab.locator(".esa-said")).to_contain_text("All segments are done")
    own.set_offline(True)
    tab.locator(".esa-output").first.get_by_role("button", name="Non-translation").click()
    expect(foot(tab)).to_contain_text(f"1 change {UNSAVED}")
    expect(done).to_be_hidden()
    own.set_offline(False)
    saved(tab)
    expect(done).to_be_hidden()
    tab.keyboard.press("u")
    tab.keyboard.press("Enter")
    expect(done).to_be_visible()


def test_labels_of_another_link_wait_until_it_is_open_again(link: Host, shared: Server, own: BrowserContext) -> None:
    other = Host(shared, project_to_annotate(shared.store(), "same name"), by_link=True)
    first, second = link.address("twice"), other.address("twice")
    tab = own.new_page()
    tab.goto(first)
    own.set_offline(True)
    mark(tab, "weather")
    expect(foot(tab)).to_contain_text(f"1 change {UNSAVED}")
    tab.close()
    own.set_offline(False)
    tab = own.new_page()
    tab.goto(second)
    expect(foot(tab)).to_contain_text("1 change made on another page or with another link waits in this browser")
    mark(tab, "home")
    saved(tab)
    tab.goto(first)
    expect(tab.locator(".esa-p.marked")).to_have_text("weather")
    saved(tab)
    assert (quotes(link, "twice"), quotes(other, "twice")) == (["weather"], ["home"])


def test_a_new_link_saves_labels_made_on_a_revoked_one(link: Host, own: BrowserContext) -> None:
    tab = own.new_page()
    tab.clock.install()
    tab.add_init_script(
        "window.waits = []; const later = setTimeout;"
        "window.setTimeout = (f, ms, ...given) => { if (ms >= 4000) waits.push(ms); return later(f, ms, ...given); }"
    )
    address = link.address("revoked")
    tab.goto(address)
    mark(tab, "weather")
    saved(tab)
    store = link.server.store()
    (made,) = [of for of in store.people.links(link.project) if of.rater == link.rater("revoked")]
    links.revoke(store, "test", made)
    mark(tab, "home")
    expect(foot(tab)).to_have_text(
        "1 change not saved. Your link is no longer valid. Ask the person who sent it for a new one. "
        "Your changes are kept in this browser."
    )
    waits = [4000, 8000, 16000, 30000, 30000]
    for n in range(1, len(waits) + 1):
        tab.wait_for_function("n => waits.length >= n", arg=n)
        assert tab.evaluate("n => waits.slice(0, n)", n) == waits[:n]
        tab.clock.fast_forward(30_000)
    tab.keyboard.press("j")
    expect(tab.get_by_role("alert")).to_contain_text("Your link is no longer valid")
    assert quotes(link, "revoked") == ["weather"]
    tab.goto(address)
    expect(tab.get_by_text("This link was revoked")).to_be_visible()
    tab.goto(link.address("revoked"))
    expect(tab.locator(".esa-p.marked")).to_have_text(["weather", "home"])
    saved(tab)
    assert quotes(link, "revoked") == ["weather", "home"]


class SmallDisk(NamedTuple):
    """A server whose database is in a folder, and whether the folder is a small disk of its own."""

    server: Server
    folder: Path
    mounted: bool


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallDisk]:
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    mounted = not subprocess.run(mount, capture_output=True, check=False).returncode
    try:
        with serving(folder, ERRORSCOPE_WORKER="off", ERRORSCOPE_DB="") as running:
            yield SmallDisk(running, folder, mounted)
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


class Full:
    """The disk of a server's database, which can be filled up."""

    said = "The disk of the database is full"

    def __init__(self, disk: SmallDisk) -> None:
        if not disk.mounted:
            pytest.skip("only root may mount a small disk")
        self.ballast = disk.folder / "ballast"

    def fill(self) -> None:
        with suppress(OSError), self.ballast.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)

    def empty(self) -> None:
        self.ballast.unlink()


class Quota:
    """Files of the server cannot grow, as with a quota of a file system. Needs no rights."""

    said = "The disk of the database cannot be read or written"

    def __init__(self, disk: SmallDisk) -> None:
        self.server = disk.server

    def limit(self, size: int) -> None:
        assert self.server.process is not None
        process = psutil.Process(self.server.process.pid)
        process.rlimit(psutil.RLIMIT_FSIZE, (size, process.rlimit(psutil.RLIMIT_FSIZE)[1]))

    def fill(self) -> None:
        self.limit((self.server.home / "errorscope.db-wal").stat().st_size)

    def empty(self) -> None:
        self.limit(psutil.RLIM_INFINITY)


@pytest.mark.parametrize("shortage", [Full, Quota])
def test_labels_made_while_the_disk_is_full_are_saved_once(
    small_disk: SmallDisk, own: BrowserContext, shortage: type[Full] | type[Quota]
) -> None:
    server, disk, name = small_disk.server, shortage(small_disk), shortage.__name__
    host, tab = Host(server, project_to_annotate(server.store(), name), by_link=True), own.new_page()
    address = host.address(name)
    tab.goto(address)
    mark(tab, "bad")
    saved(tab)
    disk.fill()
    try:
        mark(tab, "weather")
        mark(tab, "home")
        expect(foot(tab)).to_have_text(f"Waiting to send … 2 changes {UNSAVED}. {disk.said}.")
        assert quotes(host, name) == ["bad"]
        tab.keyboard.press("j")  # a segment that was never opened: opening it is saved too
        expect(tab.get_by_role("alert")).to_contain_text(disk.said)
        assert not [shown for shown in (str(server.home), "errorscope.db") if shown in tab.content()]
        tab.close()
        again = own.new_page()
        again.goto(f"{address}?doc=news&segment={HERE.segment_id}")
        expect(again.locator(".esa-p.marked")).to_have_text(["bad", "weather", "home"])
        expect(foot(again)).to_contain_text(UNSAVED)
    finally:
        disk.empty()
    saved(again)
    assert quotes(host, name) == ["bad", "weather", "home"]
    again.keyboard.press("j")
    expect(text(again, "Und dann?")).to_be_visible()
