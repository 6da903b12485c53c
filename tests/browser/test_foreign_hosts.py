"""Nothing a user wrote makes the browser ask another host for anything, and the headers would forbid it if it did."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Response, expect

from tests import hostile
from tests.browser.conftest import Server, settled

POLICY = ("default-src 'self'", "connect-src 'self'", "object-src 'none'", "base-uri 'self'", "frame-ancestors 'none'")


def test_every_kind_of_response_carries_the_headers(shared: Server, page: Page) -> None:
    script = re.search(r'<script[^>]* src="([^"]+)"', page.request.get(shared.url).text())
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
        headers = page.request.get(f"{shared.url}{address}").headers
        assert all(rule in headers["content-security-policy"] for rule in POLICY), address
        assert "http:" not in headers["content-security-policy"], address
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer"), address


def test_the_policy_stops_every_request_to_another_host(shared: Server, page: Page, seen: list[str]) -> None:
    page.goto(f"{shared.url}/_stcore/health")
    assert not seen
    stopped = page.evaluate(
        """async (host) => {
          const found = [];
          const stopped = new Promise((done) => document.addEventListener("securitypolicyviolation", (e) => {
            if (found.push(e.effectiveDirective) === 4) done();
          }));
          new Image().src = `http://${host}/x.png`;
          document.body.append(Object.assign(document.createElement("iframe"), { src: `http://${host}/` }));
          document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: `http://${host}/x.css` }));
          await fetch(`http://${host}/x`).catch(() => null);
          await stopped;
          return found.sort();
        }""",
        hostile.HOST,
    )
    assert stopped == ["connect-src", "frame-src", "img-src", "style-src-elem"]


def test_compare_shows_hostile_names_as_they_are(
    shared: Server, page: Page, hostile_project: int, seen: list[str]
) -> None:
    media: list[Response] = []
    page.on("response", lambda response: media.append(response) if "/media/" in response.url else None)
    page.goto(f"{shared.url}/compare?project={hostile_project}")
    expect(page.locator("[data-testid=stCaptionContainer] strong").first).to_have_text(f"{hostile.IMAGE} project")
    cards = page.locator(".esc-card")
    expect(cards).to_have_count(len(hostile.SYSTEMS))  # components
    assert sorted(page.locator(".esc-name").all_inner_texts()) == sorted(hostile.SYSTEMS)
    settled(page)
    pills = page.locator(".st-key-alignment-tools [data-testid=stButtonGroup] button")
    assert sorted(filter(None, pills.all_inner_texts())) == sorted(hostile.SYSTEMS)
    expect(page.locator("[data-testid=stVegaLiteChart] :is(svg.marks, canvas)").first).to_be_visible()  # charts
    with page.expect_download() as got:
        page.get_by_role("button", name="Scores as CSV").click()
    text = got.value.path().read_text(encoding="utf-8")
    assert hostile.IMAGE in text
    page.goto(f"{shared.url}/?project={hostile_project}")
    page.get_by_role("button", name="Upload outputs").click()
    page.locator("input[type=file]").first.set_input_files(
        {"name": "![x](http:--a).csv", "mimeType": "text/csv", "buffer": b"doc_id,segment_id,system,output,![x](http://example.invalid/seen.png)\nd,1,A,text,3\n"}
    )  # fmt: skip
    expect(page.get_by_text("no errors, 2 warnings")).to_be_visible()
    page.get_by_text("2 warnings (the import is possible)").click()
    expect(page.get_by_text("No segment has a source")).to_be_visible()
    settled(page)
    assert not seen
    assert media
    assert all(POLICY[0] in response.headers["content-security-policy"] for response in media)
