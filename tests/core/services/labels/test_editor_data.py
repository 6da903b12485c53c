"""What the span editor is sent has no name of a system, no label of others, and what the protocol asks."""

from __future__ import annotations

import json
from typing import Any

from core.campaigns.protocol import PROTOCOLS
from core.mqm.typology import TYPOLOGIES
from core.ports.labels import Action
from core.services.labels import editor
from core.services.labels import labels as work
from core.services.labels.editor import receive
from core.services.labels.protocols import protocol_settings
from tests.core.services.labels.exchanged import HERE, IDS, TEXTS, add, drawn, filled, outbox


def test_ids_and_order_are_random_for_each_annotator_and_segment() -> None:
    store, project = filled()
    seen = [work.open_segment(store, project, f"rater {i}", HERE, TEXTS).labels for i in range(40)]
    ids = [name for labels in seen for name in labels.ids.values()]
    assert len(set(ids)) == len(ids) == 80
    assert {labels.order for labels in seen} == {("Aardvark", "Buzzard"), ("Buzzard", "Aardvark")}
    again = work.open_segment(store, project, "rater 0", HERE, TEXTS).labels
    assert (again.ids, again.order) == (seen[0].ids, seen[0].order)


def test_of_two_tabs_that_open_a_segment_at_once_the_first_decides() -> None:
    store, project = filled()
    other = {"order": ["Buzzard", "Aardvark"], "ids": ["o-x", "o-y"], "seed": 4}
    store.labels.append(project, "Ana", HERE, [Action("open-late", "open", None, other)])
    labels = work.open_segment(store, project, "Ana", HERE, TEXTS).labels
    assert (labels.ids, labels.order, labels.seed) == (IDS, tuple(IDS), 3)


def test_the_browser_is_told_no_system() -> None:
    store, project = filled()
    receive(store, "Ana", outbox(project, add(project)))
    told = json.dumps(drawn(store, project, "Ana"), ensure_ascii=False)
    assert not any(name in told for name in TEXTS)
    work.reveal(store, project, "Ana", HERE, list(TEXTS))
    shown = drawn(store, project, "Ana")
    assert {o["name"] for o in shown["outputs"]} == set(TEXTS)
    assert set(shown["locked"]) == {o["id"] for o in shown["outputs"]}
    assert drawn(store, project, "Ben")["locked"] == []


def test_an_annotator_is_sent_no_label_of_another() -> None:
    store, project = filled()
    receive(store, "Ana", outbox(project, add(project)))
    assert [e["id"] for e in drawn(store, project, "Ana")["events"]] == ["a1"]
    assert drawn(store, project, "Ben")["events"] == []


def test_the_neighbours_of_the_document_come_along() -> None:
    store, project = filled()
    data = drawn(store, project, "Ana")
    assert (data["before"], data["source"], data["after"]) == (["Quelle 1"], "Quelle 2", ["Quelle 3"])
    assert {o["before"] for o in data["outputs"]} == {f"{text} 1" for text in TEXTS.values()}


def test_the_order_of_outputs_is_recorded_and_stays() -> None:
    store, project = filled()
    first = [o["id"] for o in drawn(store, project, "Ana")["outputs"]]
    assert [o["id"] for o in drawn(store, project, "Ana")["outputs"]] == first
    assert first == list(IDS.values())


def test_the_editor_gets_the_typology_of_the_project_and_only_its_categories_are_saved() -> None:
    store, project = filled()
    summaries = TYPOLOGIES["summaries"]
    store.settings.put(project, "typology", {"name": "summaries"})
    data = drawn(store, project, "Ana", protocol=PROTOCOLS["mqm"].edited(typology=summaries))
    assert (data["omission"], data["whole"]["name"]) == ("Content/Missing", "Unusable")
    assert all(c["definition"] and c["example"] for c in (*data["categories"], *data["severities"]))
    sent = outbox(project, add(project, 1), add(project, 2, category="Facts/Entity"))
    answer = receive(store, "Ana", sent)
    assert (answer.acknowledged, list(answer.refused)) == (["a2"], ["a1"])


def test_the_editor_gets_what_the_protocol_of_the_project_asks() -> None:
    store, project = filled()
    plain = drawn(store, project, "Ana")
    assert (plain["asks"], plain["anchors"], plain["declines"]) == (["spans"], [], False)
    assert [s["name"] for s in plain["severities"]] == ["Major", "Minor", "Neutral"]
    for name, value in protocol_settings(PROTOCOLS["esa"]).items():
        store.settings.put(project, name, value)
    asked = {HERE: tuple(TEXTS)}
    esa = editor.unit(store, project, "Ana", asked)
    assert (esa["title"], esa["asks"], esa["declines"]) == ("ESA", ["spans", "score"], True)
    assert [s["name"] for s in esa["severities"]] == ["Major", "Minor"]
    assert [a["value"] for a in esa["anchors"]] == [0, 33, 66, 100]
    assert [c["path"] for c in esa["categories"]] == ["Unspecified", "Omission"]


def test_a_segment_counts_as_done_with_what_its_protocol_asks() -> None:
    store, project = filled()
    for name, value in protocol_settings(PROTOCOLS["da"]).items():
        store.settings.put(project, name, value)
    asked = {HERE: tuple(TEXTS)}

    def score(system: str, value: float) -> dict[str, Any]:
        return {"id": f"s-{system}-{value}", "kind": "score", "output": IDS[system], "payload": {"value": value}}

    submit = {"id": "t", "kind": "submit", "output": None, "payload": {"outputs": list(IDS.values())}}
    early = receive(store, "Ana", outbox(project, score("Aardvark", 0), submit))
    assert (early.acknowledged, list(early.refused)) == (["s-Aardvark-0"], ["t"])
    receive(store, "Ana", outbox(project, score("Buzzard", 66), submit))
    assert editor.unit(store, project, "Ana", asked)["done"] == 1
    refusal = {"id": "d", "kind": "decline", "output": None, "payload": {"reason": "The text is missing or broken"}}
    receive(store, "Ben", outbox(project, refusal, submit | {"id": "u"}))
    assert editor.unit(store, project, "Ben", asked)["done"] == 1
