"""The annotator's page for participants with an account: the same page as with a link, and nothing more."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Connection, event

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import PROTOCOLS
from core.campaigns.suggestions import Suggestions
from core.data import OutputKey, SegmentKey, Span
from core.mqm.log import SegmentFold
from core.ports.campaigns import Campaign
from core.ports.labels import Event
from core.services.campaigns import people, setup
from core.services.people import accounts
from core.services.spans.layers import add_layer
from core.spans.layers import LayerSpan
from tests.api.conftest import HERE, NEXT, TEXTS, Site, session_headers

NAME = "secret-name-of-the-campaign"


class Taking(NamedTuple):
    """A running campaign on the project of the site, with eva taking part; zoe only annotates in the project."""

    site: Site
    campaign: Campaign

    def headers(self, name: str) -> dict[str, str]:
        return session_headers(self.site.store, name)

    def get(self, name: str, path: str) -> Any:
        return self.site.client.get(path, headers=self.headers(name), follow_redirects=False)

    def unit(self, name: str, project: int | None = None, **choice: Any) -> Any:
        of = self.campaign.texts if project is None else project
        return self.site.unit(self.headers(name), project=of, **choice)

    def save(self, name: str, unit: dict[str, Any]) -> Any:
        score = {"kind": "score", "payload": {"value": 60}, "time": ""}
        actions = [
            score | {"id": f"{name}-{unit['doc']}-{i}", "output": o["id"]} for i, o in enumerate(unit["outputs"])
        ]
        actions.append(
            {"id": f"{name}-{unit['doc']}-submit", "kind": "submit", "output": None, "payload": {}, "time": ""}
        )
        place = {"project": unit["project"], "doc": unit["doc"], "segment": unit["segment"], "actions": actions}
        sent = {"rater": name, "batches": [place]}
        return self.site.client.post("/api/actions", json=sent, headers=self.headers(name)).json()

    def raters(self) -> list[str]:
        return [p.rater for p in self.site.store.campaigns.participants(self.campaign.id)]


@pytest.fixture
def taking(site: Site) -> Taking:
    for name in ("boss", "eva", "zoe"):
        accounts.add(site.store, "test", name, None, manager=name == "boss")
    campaign = setup.create(site.store, "boss", site.project, NAME, CampaignDesign(PROTOCOLS["da"]))
    site.store.campaigns.set_state(campaign.id, "running")
    zoe = accounts.find(site.store.people, "zoe")
    accounts.set_role(site.store, "boss", site.project, zoe, "annotator")
    people.add_account(site.store, "boss", campaign, accounts.find(site.store.people, "eva"))
    return Taking(site, site.store.campaigns.get(campaign.id))


def test_a_participant_finds_the_campaign_and_continues(taking: Taking) -> None:
    start = taking.get("eva", "/tasks")
    assert start.status_code == 200
    (address,) = re.findall(r'href="(tasks/\d+)\?lang=en">Start<', start.text)
    page = taking.get("eva", f"/{address}")
    assert page.status_code == 200
    assert re.search(r'href="\.\./tasks\?lang=en">All tasks<', page.text), "no way back"
    assert ">Log out<" in taking.get("zoe", f"/tasks/{taking.site.project}").text, "her only task"
    unit = taking.unit("eva").json()
    assert (unit["rater"], unit["project"]) == ("eva", taking.campaign.texts)
    saved = taking.save("eva", unit)
    assert (saved["refused"], len(saved["acknowledged"])) == ({}, len(unit["outputs"]) + 1)
    after = taking.unit("eva", step="unlabelled").json()
    assert after["done"] == 1
    assert "1 submitted" in taking.get("eva", "/tasks").text
    assert ">Continue<" in taking.get("eva", "/tasks").text

    store, boss = taking.site.store, "boss"
    design = CampaignDesign(PROTOCOLS["da"], title="Spring <news>", finish_by=date(2027, 3, 9))
    for state in ("draft", "paused", "finished"):
        made = setup.create(store, boss, taking.site.project, state, design)
        people.add_account(store, boss, made, accounts.find(store.people, "eva"))
        store.campaigns.set_state(made.id, state)
    items = re.findall(r"<li>(.*?)</li>", taking.get("eva", "/tasks").text, re.DOTALL)
    words = [" ".join(re.sub("<[^>]*>", " ", item).split()).partition(" · since")[0] for item in items]
    assert words[0].startswith("Direct assessment")
    assert sorted(words[1:]) == [
        "Spring &lt;news&gt; finished, thank you 0 submitted",
        "Spring &lt;news&gt; not started yet finish by Mar 9, 2027",
        "Spring &lt;news&gt; paused finish by Mar 9, 2027 · 0 submitted",
    ]
    buttons = [re.findall(r'class="task-button".*?>(\w+)<', item) for item in items]
    assert [len(of) for of in buttons].count(1) == 3, "one button per campaign that can be opened"
    german = taking.site.client.get("/tasks?lang=de", headers=taking.headers("eva")).text
    assert "bis 09.03.2027 fertig" in german
    named = made.texts
    assert "<h1>Spring &lt;news&gt;</h1>" in taking.get("eva", f"/tasks/{named}").text


def test_a_get_of_a_page_neither_joins_nor_takes_units(taking: Taking) -> None:
    (link,) = people.invite(taking.site.store, "boss", taking.campaign, ["Lin"])
    invited = taking.site.store.campaigns.participants(taking.campaign.id)
    for method in ("GET", "HEAD"):
        for path, headers in ((f"/{link.path}", {}), (f"/tasks/{taking.campaign.texts}", taking.headers("eva"))):
            assert taking.site.client.request(method, path, headers=headers).status_code == 200
    assert taking.site.store.campaigns.participants(taking.campaign.id) == invited
    assert taking.site.store.campaigns.assignments(taking.campaign.id) == []
    assert taking.site.store.labels.events(taking.campaign.texts) == []
    taking.site.store.campaigns.set_state(taking.campaign.id, "draft")
    assert "has not started yet" in taking.site.client.get(f"/{link.path}").text
    taking.site.store.campaigns.set_state(taking.campaign.id, "running")
    assert taking.site.unit({"Authorization": f"Bearer {link.token}"}).status_code == 200
    assert {a.participant_id for a in taking.site.store.campaigns.assignments(taking.campaign.id)} == {
        who.id for who in invited if who.rater == "Lin"
    }


def test_the_page_shows_what_the_page_of_a_link_shows(taking: Taking) -> None:
    (link,) = people.invite(taking.site.store, "boss", taking.campaign, ["Lin"])
    by_link = taking.site.unit({"Authorization": f"Bearer {link.token}"}).json()
    by_account = taking.unit("eva").json()
    assert by_account.keys() == by_link.keys()
    assert by_account["campaign"].keys() == by_link["campaign"].keys()
    pages = [taking.get("eva", path) for path in ("/tasks", f"/tasks/{taking.campaign.texts}")]
    for shown in (*pages, taking.unit("eva")):
        assert shown.status_code == 200
        assert not any(word in shown.text for word in (*TEXTS, NAME, "pilot", "boss", "Lin"))


@pytest.mark.parametrize("name", ["zoe", "boss"])
def test_accounts_that_were_not_added_do_not_join(taking: Taking, name: str) -> None:
    texts = taking.campaign.texts
    assert taking.get(name, f"/tasks/{texts}").status_code == 403
    assert taking.unit(name).status_code == 403
    unit = taking.unit("eva").json()
    assert taking.save(name, unit)["acknowledged"] == []
    leave = {"project": texts, "left": True}
    headers = taking.headers(name)
    assert taking.site.client.post("/api/leave", json=leave, headers=headers).status_code == 404
    assert taking.raters() == ["eva"]


def test_participants_reach_no_project_and_no_other_campaign(taking: Taking) -> None:
    store, project = taking.site.store, taking.site.project
    other = setup.create(store, "boss", project, "other", CampaignDesign(PROTOCOLS["da"]))
    store.campaigns.set_state(other.id, "running")
    for at in (project, other.texts):
        assert taking.get("eva", f"/tasks/{at}").status_code == 403
        assert taking.unit("eva", at).status_code == 403
    for name in ("csv", "scores-csv", "judgements-csv"):
        for at in (project, taking.campaign.texts):
            assert taking.get("eva", f"/api/projects/{at}/exports/{name}").status_code in (403, 404)


def test_a_removed_account_can_neither_open_nor_save(taking: Taking) -> None:
    texts = taking.campaign.texts
    unit = taking.unit("eva").json()
    store = taking.site.store
    eva = accounts.find(store.people, "eva")
    accounts.set_role(store, "boss", taking.site.project, eva, "adjudicator")
    people.remove_account(store, "boss", taking.campaign, eva)
    assert taking.get("eva", f"/tasks/{texts}").status_code == 403
    assert taking.save("eva", unit)["acknowledged"] == []
    assert "Continue" not in taking.get("eva", "/tasks").text


def test_members_with_any_role_take_part(taking: Taking) -> None:
    store, texts = taking.site.store, taking.campaign.texts
    eva = accounts.find(store.people, "eva")
    for role in ("viewer", "adjudicator", "manager", "annotator"):
        accounts.set_role(store, "boss", taking.site.project, eva, role)
        assert taking.get("eva", f"/tasks/{texts}").status_code == 200
    accounts.set_role(store, "boss", taking.site.project, eva, "viewer")
    unit = taking.unit("eva").json()
    assert taking.save("eva", unit)["refused"] == {}


def test_a_participant_finishes_for_good(taking: Taking) -> None:
    texts, headers = taking.campaign.texts, taking.headers("eva")
    taking.unit("eva")
    answer = taking.site.client.post(
        "/api/leave",
        content=json.dumps({"project": texts, "left": True}),
        headers=headers | {"Content-Type": "application/json"},
    )
    (who,) = taking.site.store.campaigns.participants(taking.campaign.id)
    assert (answer.json(), who.left) == ({"code": who.code}, True)


def test_an_annotator_of_one_project_goes_straight_to_it_also_with_campaigns(taking: Taking) -> None:
    answer = taking.get("zoe", "/tasks")
    assert (answer.status_code, answer.headers["location"]) == (303, f"./tasks/{taking.site.project}")


def test_a_save_in_a_campaign_is_one_transaction_and_folds_each_event_once(
    taking: Taking, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert taking.unit("eva").status_code == 200
    unit, who = taking.unit("eva").json(), taking.headers("eva")
    store, add = taking.site.store, SegmentFold.add
    written, folded = list[bool](), list[str]()

    def counting(fold: SegmentFold, event: Event) -> None:
        folded.append(event.action.id)
        add(fold, event)

    def begun(connection: Connection) -> None:
        written.append("until" in connection.get_execution_options())

    monkeypatch.setattr(Taking, "headers", lambda *_: who)
    monkeypatch.setattr(SegmentFold, "add", counting)
    event.listen(store.labels._engine, "begin", begun)  # type: ignore[attr-defined]
    saved = taking.save("eva", unit)["acknowledged"]
    assert saved == folded
    (given, *_) = store.campaigns.assignments(taking.campaign.id)
    assert (sum(written), given.state) == (1, "submitted")
    folded.clear()
    again = taking.unit("eva", doc=unit["doc"], segment=unit["segment"]).json()
    assert [e["id"] for e in again["events"]] == saved
    assert folded == [], "the page shows the fold of the save"
    with monkeypatch.context() as broken:
        broken.setattr("db.campaigns.assigning._extend", None)
        withdrawn = {"id": "eva-late", "kind": "reopen", "output": None, "payload": {}, "time": ""}
        place = {name: unit[name] for name in ("project", "doc", "segment")}
        sent = {"rater": "eva", "batches": [place | {"actions": [withdrawn]}]}
        assert taking.site.client.post("/api/actions", json=sent, headers=who).status_code == 500
    assert "eva-late" not in [e.action.id for e in store.labels.events(taking.campaign.texts)], "all or nothing"


def test_a_control_unit_has_no_suggestion_in_any_answer_and_decisions_are_saved(site: Site) -> None:
    """Two segments of a system are a block: with a share of 1/2, one of them is a control."""
    accounts.add(site.store, "test", "boss", None, manager=True)
    accounts.add(site.store, "test", "eva", None, manager=False)
    spans = {
        OutputKey(name, *key): (LayerSpan(Span("output", 0, 1, text[0], "Minor", "secret-category"), 0.5),)
        for key in (HERE, NEXT) for name, text in TEXTS.items()
    }  # fmt: skip
    add_layer(site.store, site.project, "secret-layer", spans, {"file": "secret-file"}, {})
    design = CampaignDesign(suggestions=Suggestions("file:secret-layer", 0.5, 0.0, 0.0))
    campaign = setup.create(site.store, "boss", site.project, NAME, design)
    site.store.campaigns.set_state(campaign.id, "running")
    people.add_account(site.store, "boss", campaign, accounts.find(site.store.people, "eva"))
    taking = Taking(site, campaign)
    arms = set()
    for _ in range(4):
        answer = taking.unit("eva", step="unlabelled")
        unit = answer.json()
        (output,) = unit["outputs"]
        recorded = site.store.labels.recorded(campaign.texts, "eva", SegmentKey(unit["doc"], unit["segment"]))
        arms.add(recorded.labels.arm)
        assert "secret" not in answer.text
        page = taking.get("eva", f"/tasks/{campaign.texts}?doc={unit['doc']}&segment={unit['segment']}")
        place = {"project": unit["project"], "doc": unit["doc"], "segment": unit["segment"], "actions": []}
        asked = taking.site.client.post(
            "/api/actions", json={"rater": "eva", "batches": [place]}, headers=taking.headers("eva")
        )
        if recorded.labels.arm == "control":
            assert not any('"suggestions"' in text or '"arm"' in text for text in (answer.text, page.text, asked.text))
            assert taking.save("eva", unit)["refused"] == {}
            continue
        (shown,) = output["suggestions"]
        rejected = {"id": f"r-{unit['doc']}", "kind": "reject", "output": output["id"], "time": ""}
        place["actions"] = [rejected | {"payload": {"suggestion": shown["id"]}}]
        said = taking.site.client.post(
            "/api/actions", json={"rater": "eva", "batches": [place]}, headers=taking.headers("eva")
        ).json()
        assert (said["acknowledged"], said["refused"]) == ([f"r-{unit['doc']}"], {})
        assert taking.save("eva", unit)["refused"] == {}
    assert arms == {"suggested", "control"}
