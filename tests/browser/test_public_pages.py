"""A result is shared in a real browser, read by somebody without an account, and revoked."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Server, at_rest
from tests.core.services.campaigns import filled

SYSTEMS = ("Alder", "نظام <b>x</b>", "Cedar")


def test_a_result_is_shared_read_without_an_account_and_revoked(shared: Server, page: Page, browser: Browser) -> None:
    store = shared.store()
    made = filled.started(store, name="shared", dataset=filled.texts(2, 3, SYSTEMS), block_size=3)
    filled.work(store, made)
    page.goto(f"{shared.url}/campaigns?project={made.project_id}&campaign={made.id}&tab=Results")
    at_rest(page)
    page.get_by_text("Public page", exact=True).click()
    page.get_by_role("textbox", name="Title").fill("Spring <i>pilot</i>")
    page.get_by_role("button", name="Create public page").click()
    expect(page.get_by_text("The address is shown only once. Copy it now.")).to_be_visible()
    address = page.get_by_test_id("stCode").filter(has_text="/r/").inner_text().strip()
    assert address.startswith(f"{shared.url}/r/")
    assert page.get_by_role("link", name="Open page").get_attribute("href") in address

    for width, scheme in ((1200, "light"), (420, "dark")):
        visitor = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        reader, said, asked = visitor.new_page(), list[str](), list[str]()
        reader.on("console", lambda message, said=said: said.append(message.text))
        reader.on("request", lambda request, asked=asked: asked.append(request.url))
        answer = reader.goto(address)
        assert answer is not None
        assert answer.status == 200
        expect(reader.get_by_role("heading", level=1)).to_have_text("Spring <i>pilot</i>")
        expect(reader.get_by_role("cell", name=SYSTEMS[1], exact=False).first).to_be_visible()
        shown = reader.locator(".chart:visible svg")
        assert shown.count() == 2
        for i in range(2):
            box = shown.nth(i).bounding_box()
            assert box is not None
            assert 150 < box["width"] <= width, box
            assert box["x"] + box["width"] <= width, box
        assert reader.evaluate("document.documentElement.scrollWidth") <= width
        assert asked == [address], "nothing else is loaded"
        assert said == []
        assert visitor.cookies() == []
        visitor.close()

    page.get_by_test_id("stPopover").filter(has_text="Revoke").get_by_role("button").first.click()
    page.get_by_role("button", name="Revoke this page").click()
    expect(page.get_by_text("Revoked", exact=True)).to_be_visible()
    answer = page.goto(address)
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_text("no longer shared")).to_be_visible()
