"""The annotator's page: what it needs and nothing it should not have."""

from __future__ import annotations

import json
import posixpath
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.endpoint import RateLimit
from api.task import page
from api.task.page import markdown_html
from core.errors import Unavailable
from core.services.people import accounts, sessions
from core.services.people.sessions import SESSION_COOKIE
from tests.api.conftest import TEXTS, Site, token_hash


def start_of(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="start">(.*?)</script>', page, re.DOTALL)
    start: dict[str, Any] = json.loads(text)
    return start


def test_the_page_has_the_first_segment_and_its_files(site: Site) -> None:
    page = site.client.get(f"/t/{site.token}")
    assert page.status_code == 200
    unit = site.unit().json()
    assert (unit["rater"], unit["segment"], unit["done"], unit["total"]) == ("Ana", "1", 0, 2)
    assert start_of(page.text)["project"] == site.project
    files = re.findall(r'(?:href|src)="\.\./(assets/[^"]+)"', page.text)
    assert [file.rpartition("/")[2] for file in files].count("editor.js") == 1
    for file in files:
        answer = site.client.get(f"/{file}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        for name in re.findall(r'^(?:import|\}) .*from "(.+)";$', answer.text, re.MULTILINE):
            assert posixpath.normpath(posixpath.join(posixpath.dirname(file), name)) in files
    assert page.headers["cache-control"] == "no-store"


def test_the_page_names_no_system_and_cannot_be_broken_by_a_text(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"a key": "</script><script>alert(1)</script><!--"}
    monkeypatch.setattr("api.task.page.catalogue.page_texts", lambda language: texts)
    page = site.client.get(f"/t/{site.token}").text
    assert start_of(page)["texts"] == texts
    answer = site.unit()
    assert not any(name in shown for name in TEXTS for shown in (page, answer.text))
    assert "<b>text</b>" not in page
    assert answer.headers["content-type"] == "application/json"
    assert TEXTS["Aardvark"] in {o["text"] for o in answer.json()["outputs"]}


def test_a_get_of_the_page_changes_nothing(site: Site) -> None:
    before = (site.store.labels.events(site.project), site.store.audit.entries(site.project))
    for method in ("GET", "HEAD"):
        for path in (f"/t/{site.token}", f"/t/{site.token}?doc=news&segment=2", "/api/unit"):
            site.client.request(method, path, headers=site.link)
    assert (site.store.labels.events(site.project), site.store.audit.entries(site.project)) == before
    assert site.client.get("/api/unit", headers=site.link).status_code == 405


def test_steps_lead_to_the_next_and_previous_segment(site: Site) -> None:
    def segment(step: str, here: str = "1") -> str:
        return str(site.unit(doc="news", segment=here, step=step).json()["segment"])

    assert [segment("next"), segment("previous"), segment("here"), segment("unlabelled")] == ["2", "1", "1", "2"]
    assert segment("next", "2") == "2"
    assert site.unit(step="up").status_code == 422


def test_revoked_and_expired_links_open_nothing_and_save_nothing(site: Site) -> None:
    site.store.people.revoke(site.store.people.links(site.project)[0].id)
    past = datetime.now(UTC) - timedelta(seconds=1)
    site.store.people.add_link(site.project, "Ana", None, token_hash("e" * 43), past, "manager")
    for token in (site.token, "e" * 43):
        assert site.client.get(f"/t/{token}").status_code in (403, 404, 410)
        headers = {"Authorization": f"Bearer {token}"}
        assert site.unit(headers).status_code in (401, 403, 404, 410)
        sent = site.client.post("/api/actions", json={"rater": "Ana", "batches": []}, headers=headers)
        assert sent.status_code in (401, 403, 404, 410)


def test_an_annotator_with_an_account_has_the_same_page(site: Site) -> None:
    boss = accounts.add(site.store, "setup", "boss", "a long password 1", manager=True)
    worker = accounts.add(site.store, "setup", "worker", "a long password 2", manager=False)
    assert site.client.get("/tasks", follow_redirects=False).headers["location"] == "/login?next=%2Ftasks"
    cookie = {"Cookie": f"{SESSION_COOKIE}={sessions.start(site.store, worker).token}"}
    assert "no project in which you annotate" in site.client.get("/tasks", headers=cookie).text
    accounts.set_role(site.store, boss.name, site.project, worker, "annotator")
    tasks = site.client.get("/tasks", headers=cookie, follow_redirects=False)
    assert tasks.headers["location"] == f"./tasks/{site.project}"
    page = site.client.get(f"/tasks/{site.project}", headers=cookie)
    start = start_of(page.text)
    assert site.unit(cookie, project=site.project).status_code == 403
    unit = site.unit(cookie | start["headers"], project=site.project).json()
    assert site.unit(cookie | start["headers"]).status_code == 422
    verdict = {"id": "a", "kind": "verdict", "output": unit["outputs"][0]["id"], "payload": {"value": "no_error"}}
    body = {"rater": "worker", "batches": [site.batch(verdict)]}
    assert site.client.post("/api/actions", json=body, headers=cookie).status_code == 403
    answer = site.client.post("/api/actions", json=body, headers=cookie | start["headers"])
    assert answer.json()["acknowledged"] == ["a"]
    other = site.store.projects.create("other").id
    assert site.client.get(f"/tasks/{other}", headers=cookie).status_code == 403
    accounts.set_role(site.store, boss.name, site.project, worker, None)
    assert site.client.get(f"/tasks/{site.project}", headers=cookie).status_code == 403


def test_a_database_that_cannot_be_read_makes_no_link_invalid(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*given: object) -> None:
        raise Unavailable("the database server failed to do this", where="/secret/path", got="closed", hint="Check it")

    monkeypatch.setattr(site.store.people, "link", down)
    page = site.client.get(f"/t/{site.token}")
    assert (page.status_code, "/secret" in page.text) == (503, False)
    assert "This page cannot be opened now" in page.text
    with monkeypatch.context() as patched:
        patched.setattr(site.store.people, "session", down)
        tasks = site.client.get("/tasks", headers={"Cookie": f"{SESSION_COOKIE}={token_hash('s')}"})
    assert (tasks.status_code, "This page cannot be opened now" in tasks.text) == (503, True)
    sent = site.client.post("/api/actions", json={"rater": "Ana", "batches": []}, headers=site.link)
    unit = site.unit()
    assert (sent.status_code, unit.status_code) == (503, 503)
    assert "valid" not in sent.text + unit.text


def test_many_may_share_an_address_and_nobody_may_try_links_quickly(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "GUESSES", RateLimit(0.001, 3))
    assert {site.client.get(f"/t/{site.token}").status_code for _ in range(10)} == {200}
    assert [site.client.get(f"/t/{'x' * 43}").status_code for _ in range(5)] == [404, 404, 404, 429, 429]
    assert site.client.get(f"/t/{site.token}").status_code == 200


GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


def test_refused_links_are_in_the_language_of_the_browser(site: Site) -> None:
    token = "x" * 43
    page = site.client.get(f"/t/{token}", headers=GERMAN)
    assert page.status_code == 404
    assert '<html lang="de">' in page.text
    assert "Dieser Link lässt sich nicht öffnen" in page.text
    assert "Dieser Link ist nicht gültig. Prüfen Sie, ob Sie ihn vollständig kopiert haben." in page.text
    assert "Dieser Link ist nicht gültig" in site.client.get(f"/t/{token}?lang=de").text
    assert "This link is not valid" in site.client.get(f"/t/{token}?lang=en", headers=GERMAN).text


def test_the_list_of_projects_is_in_the_language_of_the_browser(site: Site) -> None:
    boss = accounts.add(site.store, "setup", "boss", "a long password 1", manager=True)
    worker = accounts.add(site.store, "setup", "worker", "a long password 2", manager=False)
    cookie = {"Cookie": f"{SESSION_COOKIE}={sessions.start(site.store, worker).token}"}
    assert "Ihr Konto hat kein Projekt" in site.client.get("/tasks", headers=cookie | GERMAN).text
    for project in (site.project, site.store.projects.create("second").id):
        accounts.set_role(site.store, boss.name, project, worker, "annotator")
    page = site.client.get("/tasks?lang=de", headers=cookie).text
    assert '<html lang="de">' in page
    assert "Ihre Projekte" in page
    assert f'href="tasks/{site.project}?lang=de"' in page
    assert not re.search(r"\b(your|projects?|annotate|choose|log out)\b", re.sub(r"<[^>]*>", " ", page), re.IGNORECASE)


def test_reasons_of_refused_requests_are_in_the_language_of_the_page(site: Site) -> None:
    ended = site.unit({"Authorization": "Bearer none"} | GERMAN)
    assert ended.json()["error"].startswith("Ihr Link gilt nicht mehr")
    wrong = {"id": "a", "kind": "verdict", "output": "o0", "payload": {"value": "no_error"}, "time": ""}
    body = {"rater": "Ana", "batches": [site.batch(wrong)]}
    answer = site.client.post("/api/actions", json=body, headers=site.link | GERMAN).json()
    assert answer["refused"] == {"a": "Die Seite ist für dieses Segment veraltet. Laden Sie die Seite neu"}
    english = site.client.post("/api/actions", json=body, headers=site.link).json()
    assert english["refused"] == {"a": "the page is out of date for this segment. Reload the page"}


def test_hints_for_administrators_are_replaced(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*given: object) -> None:
        raise Unavailable(
            "the database file is gone", hint="Move errorscope.db back here together with the files beside it"
        )

    monkeypatch.setattr(site.store.people, "link", down)
    answer = site.unit(site.link | GERMAN)
    assert answer.status_code == 503
    assert answer.json()["error"] == "Die Datenbank ist nicht mehr da. Versuchen Sie es in einigen Minuten noch einmal"


def test_links_in_instructions_lead_to_pages_and_mail_only() -> None:
    for address in ("https://example.org/a", "HTTP://example.org", "mailto:ann@example.org"):
        assert f'<a href="{address}">' in markdown_html(f"[guide]({address})"), address
    for address in (
        "ftp://example.org",
        "blob:x",
        "ms-word:ofe|u|x",
        "javascript:alert(1)",
        "data:text/html,x",
        "//example.org",
        "/login",
        "&#102;tp://x",
    ):
        for text in (f"[guide]({address})", f"<{address}>"):
            assert "<a" not in markdown_html(text), text
