"""What an annotator of a campaign does on the page of the link, for several tests."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

MOST = 100
"""More units than any test has."""


def judge(tab: Page) -> None:
    """Score the outputs of the unit on the screen, and submit it."""
    for slider in tab.get_by_role("slider").all():
        slider.focus()
        tab.keyboard.type("80")
    tab.get_by_test_id("submit").click()


def work(tab: Page) -> str:
    """Label everything that comes, and return the completion code."""
    for done in range(1, MOST):
        expect(tab.get_by_test_id("submit")).to_contain_text("Submit ⏎")
        judge(tab)
        expect(tab.locator("#progress")).to_have_text(re.compile(rf"^{done} done"))
        if tab.locator("#done").is_visible():
            break
    expect(tab.locator("#done")).to_be_visible()
    return tab.locator("#code code").inner_text()
