"""Forms in a real browser keep what was typed and chosen: in another section, on another page, and after a reload."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Server, at_rest


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
