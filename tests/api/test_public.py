"""Public pages of results: open for everybody with the link, until they are revoked."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from api import public
from api.access import AccessControl
from api.documentation import routes
from api.endpoint import RateLimit
from core.errors import Unavailable
from core.services.people import links
from pages._ui.shared.server import OF_PUBLIC_PAGES, SecurityHeaders
from tests.api.test_login import URL, store

__all__ = ["store"]


def test_a_public_page_opens_without_login_until_it_is_revoked(store, monkeypatch: pytest.MonkeyPatch) -> None:
    project = store.projects.list()[0].id
    html = "<!doctype html><p>Ergebnis für 😀</p>"
    made = links.share_result(store, "ann", project, None, "Pilot", True, html)
    app = Starlette(routes=routes(), middleware=[Middleware(SecurityHeaders), Middleware(AccessControl)])
    with TestClient(app, base_url=URL, follow_redirects=False) as visitor:
        page = visitor.get(f"/{made.path}")
        assert (page.status_code, page.text) == (200, html)
        headers = page.headers
        assert headers["content-security-policy"] == OF_PUBLIC_PAGES
        assert "script" not in OF_PUBLIC_PAGES
        assert OF_PUBLIC_PAGES.startswith("default-src 'none'")
        assert (headers["referrer-policy"], headers["cache-control"]) == ("no-referrer", "no-store")
        assert headers["x-robots-tag"] == "noindex, nofollow"
        assert "set-cookie" not in headers
        assert visitor.head(f"/{made.path}").status_code == 200
        assert visitor.post(f"/{made.path}").status_code == 405
        assert visitor.get("/compare").status_code == 401, "the link opens nothing else"
        assert visitor.get(f"/t/{made.token}").status_code == 404, "it is no link of an annotator"
        store.shared.revoke(project, made.shared.id)
        gone = visitor.get(f"/{made.path}")
        assert gone.status_code == 404
        assert "no longer shared" in gone.text
        assert "pilot" not in gone.text.casefold()
        for wrong in ("x" * 43, made.token[:-1], "é", "%00", made.shared.id, "x" * 500):
            other = visitor.get(f"/r/{wrong}")
            assert (other.status_code, other.text) == (404, gone.text), wrong
            assert other.headers["content-security-policy"] == OF_PUBLIC_PAGES
            assert "set-cookie" not in other.headers
        refused = [e for e in store.audit.entries() if e.act == "request refused"]
        assert {e.details["path"] for e in refused} >= {"/r/…"}
        assert not any(made.token in str(e) for e in store.audit.entries())
        monkeypatch.setattr(public, "GUESSES", RateLimit(0.0, 1))
        assert [visitor.get("/r/x").status_code for _ in range(2)] == [404, 429]

        def fails(hashed: str) -> str:
            raise Unavailable("the database is busy", where="/srv/secret/errorscope.db")

        monkeypatch.setattr(type(store.shared), "page", lambda self, hashed: fails(hashed))
        busy = visitor.get(f"/{made.path}")
        assert busy.status_code == 503
        assert "/srv" not in busy.text
