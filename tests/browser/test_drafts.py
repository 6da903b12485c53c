"""Forms in a real browser keep what was typed and chosen: in another section, on another page, and after a reload."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, at_rest, cancel_jobs, serving


def test_the_form_of_stress_tests_is_there_again(shared: Server, page: Page) -> None:
    project = next(p.id for p in shared.store().projects.list() if p.sample)
    page.goto(f"{shared.url}/robustness?project={project}")
    page.get_by_text("Stress tests", exact=True).click()
    most = page.get_by_label("Largest number of good texts")
    chosen = page.get_by_role("button", name=re.compile(r"^Remove .*\(fluency\)$"))
    others = page.get_by_role("button", name=re.compile(r"^Remove .*\((consistency|special)\)$"))
    expect(others).not_to_have_count(0)  # the buttons above them are drawn first
    at_rest(page)
    page.get_by_role("button", name="Fluency (").click()
    expect(others).to_have_count(0)
    at_rest(page)
    n = chosen.count()
    assert n
    most.fill("15")
    most.press("Enter")
    at_rest(page)

    def there() -> None:
        expect(most).to_have_value("15")
        expect(chosen).to_have_count(n)
        expect(others).to_have_count(0)

    page.get_by_text("Combine", exact=True).click()
    expect(page.get_by_text("NLI metric N")).to_be_visible()
    page.get_by_text("Stress tests", exact=True).click()
    there()
    page.get_by_role("link", name="Models").click()
    expect(page.get_by_role("heading", name="Models")).to_be_visible()
    page.get_by_role("link", name="Robustness").click()
    there()
    page.reload()
    there()


def test_an_upload_outlives_reload_back_and_a_killed_server(tmp_path: Path, page: Page) -> None:
    with serving(tmp_path / "home", ERRORSCOPE_DB="", ERRORSCOPE_WORKER="off") as server:
        cancel_jobs(server.store())
        page.goto(server.url)
        page.get_by_role("button", name="Upload outputs").click()
        expect(page).to_have_url(re.compile("upload=outputs"))
        table = "segment_id,source,system,output,adequacy\n1,Frage,A,answer one,1\n2,Frage 2,A,answer two,2\n"
        chooser = page.get_by_test_id("stFileUploaderDropzoneInput")
        chooser.set_input_files({"name": "t.csv", "mimeType": "text/csv", "buffer": table.encode()})
        expect(page).to_have_url(re.compile("step=preview"))
        scores = page.get_by_text("1 human score")
        expect(scores).to_have_count(1)
        at_rest(page)
        page.get_by_role("combobox", name=re.compile("Role of column adequacy$")).click()
        page.get_by_role("option", name="Not used", exact=True).click()
        expect(scores).to_have_count(0)
        name = page.get_by_label("Name of the new project")
        expect(name).to_be_visible()
        at_rest(page)
        name.fill("kept")
        name.press("Enter")
        button = page.get_by_role("button", name="Import 2 segments × 1 system into “kept”")
        expect(button).to_be_enabled()
        page.reload()
        expect(button).to_be_enabled()
        expect(scores).to_have_count(0)
        expect(page.get_by_text("Kept on the server until imported or discarded")).to_be_visible()
        at_rest(page)
        page.go_back()
        expect(page.get_by_role("button", name="Next")).to_be_visible()
        expect(page.get_by_role("heading", name="Preview")).to_have_count(0)
        page.go_back()
        expect(page.get_by_role("heading", name="Projects")).to_be_visible()
        page.go_forward()
        page.get_by_role("button", name="Next").click()
        expect(button).to_be_enabled()
        at_rest(page)
        server.kill()
        server.start()
        page.reload()
        button.click()
        expect(page.get_by_text("Imported into “kept”.")).to_be_visible()
        at_rest(page)
        page.reload()
        expect(page.get_by_text("Imported into “kept”.")).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("Compute scores")).first).to_be_visible()
        assert not list((server.home / "drafts").glob("*.file"))
