"""Public pages of results: those who manage a project create and revoke them, others do not see them."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from core.ports.store import Store
from core.services.people.sessions import token_hash
from pages._ui.campaigns.campaign_data import screen_key
from tests.core.services.campaigns.filled import QUALITY, SEVERITY
from tests.pages.opened_page import opened, press
from tests.pages.said import words
from tests.pages.team import TeamServer, log_in, serve


def results(world: TeamServer) -> AppTest:
    shown: dict[str, object] = {screen_key(world.campaign): "Results"}
    return opened("campaigns", world.project, shown, campaign=str(world.campaign.id))


def create(at: AppTest, project: int, of: int | None, title: str, *, blind: bool = False) -> str | None:
    """Create a public page; return the token of its address, or None if there was an error."""
    at.text_input(key=f"public-page-{project}-{of}-title").set_value(title)
    at.checkbox(key=f"public-page-{project}-{of}-blind").set_value(blind)
    press(at, "Create public page")
    if at.error:
        return None
    return next(c.value.rpartition("r/")[2] for c in at.code if re.search(r"(^|/)r/[\w-]{43}$", c.value))


def test_a_result_is_shared_listed_and_revoked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    world = serve(store)
    project, campaign = world.project, world.campaign.id
    for shared in store.shared.list(project):
        store.shared.revoke(project, shared.id)
    log_in(store, monkeypatch, "vera")
    for at in (results(world), opened("meta_evaluation", project)):
        assert "Text for your paper" in [e.label for e in at.expander]
        assert "Public page" not in [e.label for e in at.expander]
    log_in(store, monkeypatch, "mia")
    at = results(world)
    title = "1. Pilot *now* ![x](http://example.invalid/a.png)"
    token = create(at, project, campaign, title, blind=True)
    assert token
    page = store.shared.page(token_hash(token) or "")
    assert page
    assert '<h1 dir="auto">1. Pilot *now* ![x](http://example.invalid/a.png)</h1>' in page
    assert [name for name in (*QUALITY, *SEVERITY, "mia") if name in page] == []
    assert "System A has the highest mean" in page
    assert "public" in words(at).casefold()
    assert "![x](" not in "".join(m.value for m in at.markdown)
    assert create(at, project, campaign, "Alder wins", blind=True) is None
    assert "would name a system" in at.error[0].value
    assert create(at, project, campaign, " ") is None
    assert [s.title for s in store.shared.list(project) if not s.revoked] == [title]

    at = opened("meta_evaluation", project)
    other = create(at, project, None, "Metrics")
    assert other
    made = store.shared.page(token_hash(other) or "") or ""
    assert "agrees best with" in made or "agree equally well" in made
    at = opened("access", project)
    assert "by mia" in words(at)
    at = results(world)
    assert other not in words(at)
    press(at, "Revoke this page")
    assert store.shared.page(token_hash(token) or "") is None
    assert store.shared.page(token_hash(other) or "") == made
    acts = [(e.act, e.who, e.details) for e in store.audit.entries(project) if "shared" in e.act]
    assert [(act, who) for act, who, _ in acts] == [
        ("shared result revoked", "mia"), ("result shared", "mia"), ("result shared", "mia"),
    ]  # fmt: skip
    assert acts[2][2] == {"title": title, "blind": True}
    assert "Revoke this page" not in [b.label for b in results(world).button]
