"""Nothing a user wrote makes the browser ask another host for anything, and the headers would forbid it if it did."""

from __future__ import annotations

import re
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Response, TimeoutError, expect

from tests import hostile
from tests.browser.conftest import Server, at_rest

PAGES = (
    "",
    "compare",
    "annotate",
    "labels_and_raters",
    "meta_evaluation",
    "calibrate",
    "robustness",
    "access",
    "models",
    "help",
)
TABS = "[data-testid=stTab], button[data-testid^=stBaseButton-segmented_control]"
POLICY = ("default-src 'self'", "connect-src 'self'", "object-src 'none'", "base-uri 'self'", "frame-ancestors 'none'")


@pytest.fixture(scope="module")
def server(shared: Server) -> Server:
    return shared


@pytest.fixture(scope="module")
def project(hostile_project: int) -> int:
    return hostile_project


@pytest.fixture
def seen(page: Page) -> list[str]:
    """Requests to other hosts and violations of the policy, as they come."""
    found: list[str] = []

    def asked(url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).hostname != "127.0.0.1":
            found.append(f"request: {url}")

    page.on("request", lambda request: asked(request.url))
    page.on(
        "console", lambda message: found.append(message.text) if "Content Security Policy" in message.text else None
    )
    return found


def still(page: Page, milliseconds: float = 1500) -> None:
    at_rest(page)
    page.wait_for_timeout(milliseconds)  # what is drawn and fetched after the script


def test_every_kind_of_response_carries_the_headers(server: Server, page: Page) -> None:
    script = re.search(r'<script[^>]* src="([^"]+)"', page.request.get(server.url).text())
    assert script
    addresses = [
        "/",
        "/compare",
        "/_stcore/health",
        "/_stcore/host-config",
        f"/{script[1].lstrip('./')}",
        "/media/none",
        "/no/such/page",
    ]
    for address in addresses:
        headers = page.request.get(f"{server.url}{address}").headers
        assert all(rule in headers["content-security-policy"] for rule in POLICY), address
        assert "http:" not in headers["content-security-policy"], address
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer"), address


def test_the_policy_stops_a_picture_a_frame_and_a_request_to_another_host(
    server: Server, page: Page, seen: list[str]
) -> None:
    page.goto(f"{server.url}/_stcore/health")
    assert not seen
    stopped = page.evaluate(
        """async (host) => {
          const found = [];
          document.addEventListener("securitypolicyviolation", (e) => found.push(e.effectiveDirective));
          new Image().src = `http://${host}/x.png`;
          document.body.append(Object.assign(document.createElement("iframe"), { src: `http://${host}/` }));
          document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: `http://${host}/x.css` }));
          await fetch(`http://${host}/x`).catch(() => null);
          for (let k = 0; found.length < 4 && k < 600; k += 1) await new Promise((done) => setTimeout(done, 100));
          await new Promise((done) => setTimeout(done, 500));
          return found.sort();
        }""",
        hostile.HOST,
    )
    assert stopped == ["connect-src", "frame-src", "img-src", "style-src-elem"]


@pytest.mark.parametrize("where", PAGES)
def test_no_page_asks_another_host_or_breaks_the_policy(
    server: Server, page: Page, project: int, seen: list[str], where: str
) -> None:
    page.goto(f"{server.url}/{where}?project={project}")
    still(page, 300)
    if where == "annotate":
        page.get_by_label("Name").fill(hostile.RATERS[0])
        page.get_by_role("button", name="Start").click()
        expect(page.locator(".esa-read").first).to_be_visible()
    for k in range(page.locator(TABS).count()):
        tab = page.locator(TABS).nth(k)
        if tab.is_visible() and tab.is_enabled():
            with suppress(TimeoutError):  # choices within a section go with it, once another one is drawn
                tab.click(timeout=10_000)
            still(page, 300)
    still(page)
    elsewhere = "(all) => all.filter((e) => new URL(e.href || e.src, location).host !== location.host).length"
    assert not page.locator("a[href], img[src]:not([src^=data])").evaluate_all(elsewhere)
    assert not page.get_by_text("Something went wrong").count()
    assert not seen


def test_names_stand_on_compare_as_they_are_and_all_that_is_needed_works(
    server: Server, page: Page, project: int, seen: list[str]
) -> None:
    media: list[Response] = []
    page.on("response", lambda response: media.append(response) if "/media/" in response.url else None)
    page.goto(f"{server.url}/compare?project={project}")
    expect(page.locator("[data-testid=stCaptionContainer] strong").first).to_have_text(f"{hostile.IMAGE} project")
    cards = page.locator(".esc-card")
    expect(cards).to_have_count(len(hostile.SYSTEMS))  # components
    assert sorted(page.locator(".esc-name").all_inner_texts()) == sorted(hostile.SYSTEMS)
    still(page)
    pills = page.locator(".st-key-alignment-tools [data-testid=stButtonGroup] button")
    assert sorted(filter(None, pills.all_inner_texts())) == sorted(hostile.SYSTEMS)
    expect(page.locator("[data-testid=stVegaLiteChart] :is(svg.marks, canvas)").first).to_be_visible()  # charts
    with page.expect_download() as got:
        page.get_by_role("button", name="Scores as CSV").click()
    text = got.value.path().read_text(encoding="utf-8")
    assert hostile.IMAGE in text
    page.goto(f"{server.url}/?project={project}")
    page.get_by_role("button", name="Upload outputs").click()
    page.locator("input[type=file]").first.set_input_files(
        {"name": "![x](http:--a).csv", "mimeType": "text/csv", "buffer": b"doc_id,segment_id,system,output,![x](http://example.invalid/seen.png)\nd,1,A,text,3\n"}
    )  # fmt: skip
    expect(page.get_by_text("no errors, 2 warnings")).to_be_visible()
    page.get_by_text("2 warnings (the import is possible)").click()
    expect(page.get_by_text("No segment has a source")).to_be_visible()
    still(page)
    assert not seen
    assert media
    assert all(POLICY[0] in response.headers["content-security-policy"] for response in media)
