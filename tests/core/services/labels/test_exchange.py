"""What the span editor sends is recorded once, or refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import SegmentKey
from core.errors import Unavailable, UserError
from core.ports.labels import Action, SavedActions
from core.ports.store import Store
from core.services.labels.editor import ActionsAnswer, receive
from tests.core.services.labels.exchanged import HERE, IDS, add, drawn, filled, outbox, recorded


def test_a_mark_is_recorded_under_its_system_and_acknowledged() -> None:
    store, project = filled()
    answer = receive(store, "Ana", outbox(project, add(project)))
    assert (answer.acknowledged, answer.refused) == (["a1"], {})
    (mark,) = store.labels.append(project, "Ana", HERE, []).labels.of("Aardvark").marks
    assert (mark.span.start, mark.span.end, mark.span.quote) == (2, 5, "bad")


def test_the_same_outbox_twice_is_acknowledged_twice_and_recorded_once() -> None:
    store, project = filled()
    for _ in range(2):
        assert receive(store, "Ana", outbox(project, add(project))).acknowledged == ["a1"]
    assert [a.id for a in recorded(store, project)] == ["a1"]


def test_only_the_wrong_action_of_a_batch_is_refused() -> None:
    store, project = filled()
    wrong_quote = add(project, 2, start=0, quote="b")
    duplicate = add(project, 3)
    fine = add(project, 4, severity="Minor")
    answer = receive(store, "Ana", outbox(project, add(project), wrong_quote, duplicate, fine))
    assert answer.acknowledged == ["a1", "a4"]
    assert set(answer.refused) == {"a2", "a3"}
    assert "already marked" in answer.refused["a3"]


UNDO = {"id": "u", "kind": "undo", "output": None, "payload": {}}
UNREADABLE = {"id": "x", "kind": "nonsense", "output": None, "payload": {}}


@pytest.mark.parametrize("parted", [False, True])
@pytest.mark.parametrize("readable", [False, True])
def test_an_undo_after_a_refused_action_undoes_nothing_older(readable: bool, parted: bool) -> None:
    store, project = filled()
    receive(store, "Ana", outbox(project, add(project)))
    wrong = add(project, 2) if readable else UNREADABLE
    fine = add(project, 3, severity="Minor")
    second = outbox(project, wrong, UNDO, fine)
    if parted:  # something in another segment was done between the two
        second = [batch for part in ([wrong], [UNDO, fine]) for batch in outbox(project, *part)]
    answer = receive(store, "Ana", second)
    assert (answer.acknowledged, set(answer.refused)) == (["a3"], {wrong["id"], "u"})
    assert "an earlier action was refused" in answer.refused["u"]
    assert [m.id for m in store.labels.append(project, "Ana", HERE, []).labels.of("Aardvark").marks] == ["m1", "m3"]
    # what the browser draws: the events it is sent, and what is left in its outbox, which is nothing
    assert [e["id"] for e in drawn(store, project, "Ana")["events"]] == ["a1", "a3"]


def busy_after(store: Store, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """Storage that takes `n` writes and then none."""
    append, calls = store.labels.append_valid, [0]

    def limited(*given: Any) -> SavedActions:
        calls[0] += 1
        if calls[0] > n:
            raise Unavailable("the database could not be written to", got="database is locked")
        return append(*given)

    monkeypatch.setattr(store.labels, "append_valid", limited)


def test_what_a_busy_database_did_not_take_is_neither_acknowledged_nor_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    store, project = filled()
    sent = outbox(project, add(project), add(project, 2, severity="Minor"))
    sent += outbox(project, add(project, 3, severity="Neutral"))
    with monkeypatch.context() as patched:
        busy_after(store, patched, 1)
        answer = receive(store, "Ana", sent)
        assert (answer.acknowledged, answer.refused) == (["a1", "a2"], {})
        busy_after(store, patched, 0)
        assert receive(store, "Ana", sent) == ActionsAnswer(why="The database could not be written to")
    assert receive(store, "Ana", sent).acknowledged == ["a1", "a2", "a3"]


def test_a_wrong_action_is_refused_again_after_a_busy_database(monkeypatch: pytest.MonkeyPatch) -> None:
    store, project = filled()
    receive(store, "Ana", outbox(project, add(project)))
    sent = outbox(project, add(project, 2), add(project, 3, severity="Minor"), add(project, 4, severity="Neutral"))
    with monkeypatch.context() as patched:
        busy_after(store, patched, 0)
        assert receive(store, "Ana", sent) == ActionsAnswer(why="The database could not be written to")
    answer = receive(store, "Ana", sent)
    assert (answer.acknowledged, set(answer.refused)) == (["a3", "a4"], {"a2"})


@pytest.mark.parametrize(
    "broken",
    [
        {"id": "x", "kind": "open", "output": None, "payload": {"order": ["Aardvark"]}},
        {"id": "x", "kind": "nonsense", "output": None, "payload": {}},
        {"id": "x", "kind": "add", "output": "o-of-another-segment", "payload": {}},
        {"id": "x", "kind": "add", "payload": {}},
        {"id": "x", "kind": "delete", "output": IDS["Aardvark"], "payload": "m1"},
    ],
)
def test_an_action_that_cannot_be_read_is_refused_and_changes_nothing(
    shared_store: Store, broken: dict[str, Any]
) -> None:
    store, project = filled(shared_store)
    answer = receive(store, "Ana", outbox(project, broken))
    assert set(answer.refused) == {"x"}
    assert recorded(store, project) == []


BAD_FIELDS: dict[str, dict[str, Any]] = {
    "half a surrogate pair": {"note": "x\ud83d"},
    "a NUL": {"note": "\0"},
    "five megabytes": {"note": "x" * 5_000_000},
    "no category of the typology": {"category": "Accuracy/Nonsense"},
    "a category of half a pair": {"category": "Other\udc00"},
    "a severity of no scheme": {"severity": "Critical"},
    "a place far away": {"start": 10**30, "end": 10**30},
    "a place before the text": {"start": -1},
    "a place that is no number": {"start": "2"},
    "a place that is a truth": {"start": True},
    "a quote of five megabytes": {"quote": "x" * 5_000_000},
    "a mark of another form": {"mark": "m\n1"},
    "a mark without end": {"mark": "m" * 201},
    "another side": {"side": "reference"},
}


@pytest.mark.parametrize("kind", BAD_FIELDS)
def test_a_bad_field_is_answered_once_and_blocks_nothing(shared_store: Store, kind: str) -> None:
    store, project = filled(shared_store)
    sent = outbox(project, add(project, 1, **BAD_FIELDS[kind]), add(project, 2))
    sent += outbox(project, add(project, 3, severity="Minor"))
    answer = receive(store, "Ana", sent)
    assert (answer.acknowledged, list(answer.refused)) == (["a2", "a3"], ["a1"])
    assert len(answer.refused["a1"]) < 500
    json.dumps(drawn(store, project, "Ana"), ensure_ascii=False).encode()
    for event in store.labels.events(project):
        assert json.dumps(dict(event.action.payload), ensure_ascii=False).encode()


@pytest.mark.parametrize("time", ["yesterday", "x" * 100, "2026-01-01T10:00:00\ud83d"])
@pytest.mark.parametrize("name", ["a\nb", "é", "x" * 201])
def test_ids_and_times_have_a_form(shared_store: Store, time: str, name: str) -> None:
    store, project = filled(shared_store)
    late, named = add(project, 1) | {"time": time}, add(project, 2, severity="Minor") | {"id": name}
    answer = receive(store, "Ana", outbox(project, late, named, add(project, 3, severity="Neutral")))
    assert answer.acknowledged == ["a3"]
    assert "a1" in answer.refused
    assert (name in answer.refused) == (len(name) <= 200)


def test_a_mark_from_an_import_keeps_its_category_when_it_is_changed() -> None:
    store, project = filled()
    imported = {**add(project)["payload"], "category": "Accuracy/Own kind"}
    store.labels.append(project, "Ana", HERE, [Action("i1", "add", "Aardvark", imported)])
    change = add(project, 1, category="Accuracy/Own kind", severity="Minor") | {"kind": "change"}
    assert receive(store, "Ana", outbox(project, change)).acknowledged == ["a1"]


@pytest.mark.parametrize("place", [
    {"project": 10**400}, {"project": "9" * 5000}, {"project": True}, {"project": None}, {"doc": "\ud83d"}, {"segment": "\0"},
    {"doc": None}, {"segment": ["2"]},
])  # fmt: skip
def test_a_batch_about_no_segment_is_refused_and_the_next_recorded(shared_store: Store, place: dict[str, Any]) -> None:
    store, project = filled(shared_store)
    sent = outbox(project, add(project, 1))
    sent = [sent[0] | place, 7, None, {"actions": 3}, *outbox(project, add(project, 2))]
    answer = receive(store, "Ana", sent)
    assert (answer.acknowledged, set(answer.refused)) == (["a2"], {"a1"})


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5) | st.just("\ud83d"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["id", "kind", "output", "payload", "mark", "note", "outputs", "time"]), inner, max_size=4), max_leaves=8,
))  # fmt: skip
def test_whatever_a_browser_sends_the_action_after_it_is_recorded(shared_store: Store, value: object) -> None:
    store, project = filled(shared_store)
    sent = outbox(project, value, add(project))
    sent = [value, {"actions": value, "project": value, "doc": value}, *sent]
    assert receive(store, "Ana", sent).acknowledged == ["a1"]


def test_actions_on_segments_of_others_are_refused_by_name() -> None:
    store, project = filled()

    def refuse(project_id: int, segment: SegmentKey) -> None:
        raise UserError("this segment is not among those that you label")

    answer = receive(store, "Ana", outbox(project, add(project)), refuse)
    assert (answer.acknowledged, list(answer.refused)) == ([], ["a1"])
    assert recorded(store, project) == []


def test_an_output_that_was_never_opened_cannot_be_labelled() -> None:
    store, project = filled()
    answer = receive(store, "Eve", outbox(project, add(project)))
    assert (answer.acknowledged, list(answer.refused)) == ([], ["a1"])
    assert recorded(store, project) == []


NO_ERROR = {"id": "v", "kind": "verdict", "payload": {"value": "no_error", "seen": ""}}


def test_a_stale_verdict_is_refused_and_the_saved_mark_stays() -> None:
    store, project = filled()
    receive(store, "Ana", outbox(project, add(project)))
    verdict = NO_ERROR | {"output": IDS["Aardvark"]}
    other = NO_ERROR | {"id": "w", "output": IDS["Buzzard"]}
    answer = receive(store, "Ana", outbox(project, verdict, other))
    assert (answer.stale, list(answer.refused), answer.acknowledged) == (["v"], ["v"], ["w"])
    labels = store.labels.append(project, "Ana", HERE, []).labels
    assert [m.id for m in labels.of("Aardvark").marks] == ["m1"]
    assert labels.of("Buzzard").verdict == "no_error"


def test_an_action_made_after_a_wrong_one_is_not_stale() -> None:
    store, project = filled()
    wrong = add(project, 1, category="Accuracy/Nonsense", seen="")
    answer = receive(store, "Ana", outbox(project, wrong, add(project, 2, seen="a1")))
    assert (list(answer.refused), answer.stale, answer.acknowledged) == (["a1"], [], ["a2"])


def test_a_submit_names_the_systems_that_were_shown() -> None:
    store, project = filled()
    shown = [IDS["Aardvark"]]
    submit = {"id": "s", "kind": "submit", "output": None, "payload": {"outputs": shown}}
    assert receive(store, "Ana", outbox(project, add(project), submit)).refused == {}
    assert store.labels.events(project)[-1].action.payload == {"systems": ["Aardvark"]}
    clean = {
        "id": "v",
        "kind": "verdict",
        "output": IDS["Buzzard"],
        "payload": {"value": "no_error"},
    }
    both = {"outputs": [*shown, IDS["Buzzard"]]}
    receive(store, "Ana", outbox(project, clean, submit | {"id": "t", "payload": both}))
    assert store.labels.events(project)[-1].action.payload == {"systems": ["Aardvark", "Buzzard"]}
    for wrong in ({"outputs": []}, {"outputs": ["o-unknown"]}, {"outputs": [{}]}, {"outputs": None}):
        other = submit | {"id": "u", "payload": wrong}
        assert set(receive(store, "Ben", outbox(project, other)).refused) == {"u"}
    assert "systems" not in json.dumps(drawn(store, project, "Ana")["events"])
