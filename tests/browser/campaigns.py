"""What an annotator of a campaign does on the page of the link, for several tests."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from core.campaigns.protocol import ProtocolName

MOST = 100
"""More units than any test has."""


def judge(tab: Page, name: ProtocolName) -> None:
    """Answer what the protocol asks for the unit on the screen, and submit it."""
    if name == "pairwise":
        tab.keyboard.press("1")
        return
    for output in tab.locator(".esa-output").all():
        if name == "mqm":
            output.get_by_role("button", name="No error").click()
        else:
            output.get_by_role("slider").focus()
            tab.keyboard.type("80")
    tab.get_by_test_id("submit").click()


def work(tab: Page, name: ProtocolName) -> str:
    """Label everything that comes, and return the completion code."""
    for done in range(1, MOST):
        expect(tab.get_by_test_id("submit")).to_contain_text("Submit ⏎")
        judge(tab, name)
        expect(tab.locator("#progress")).to_have_text(re.compile(rf"^{done} done"))
        if tab.locator("#done").is_visible():
            break
    expect(tab.locator("#done")).to_be_visible()
    return tab.locator("#code code").inner_text()
