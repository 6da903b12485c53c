"""Messages of components: each arrives once, however often it is sent, and only what was meant for what is shown."""

from __future__ import annotations

from typing import Any

import pytest

from pages._ui.components import shared


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(shared.st, "session_state", kept)
    return kept


def sent(*messages: Any, at: int = 0) -> dict[str, Any]:
    return {"messages": {"at": at, "list": list(messages)}}


def message(number: int, of: str = "a", name: str = "go", **value: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "of": of, "name": name, "value": {"n": number} | value}


def shown(of: str, drawn: list[dict[str, Any]]) -> dict[str, Any]:
    """What the browser is given for `of`."""
    shared.draw_component(lambda **kw: drawn.append(kw), {"text": "x"}, key="k", of=of, handlers={})
    return drawn[-1]["data"]


def test_messages_are_acknowledged_once_for_what_is_shown(state: dict[str, Any]) -> None:
    drawn: list[dict[str, Any]] = []
    heard: list[Any] = []
    handlers = {"go": lambda value: heard.append(value["n"])}
    assert shown("a", drawn)["messages"] == {"key": "k", "of": "a", "acknowledged": []}
    shared.receive("k", sent(message(1)), handlers)
    shared.receive("k", sent(message(1), at=1), handlers)  # sent again, as no answer had come yet
    shared.receive("k", sent(message(1), message(2), at=2), handlers)
    assert heard == [1, 2]
    assert shown("a", drawn)["messages"]["acknowledged"] == ["m1", "m2"]
    shared.receive("k", sent(message(3)), handlers)
    assert heard == [1, 2, 3]
    assert shown("a", drawn)["messages"]["acknowledged"] == ["m3"]

    drawn: list[dict[str, Any]] = []
    heard: list[Any] = []
    shown("b", drawn)
    shared.receive("k", sent(message(1, of="a"), message(2, of="b")), {"go": lambda value: heard.append(value["n"])})
    assert heard == [2]
    assert shown("b", drawn)["messages"]["acknowledged"] == ["m1", "m2"]
    assert shared.last("k", "go", "b") == {"n": 2}
    assert shared.last("k", "go", "a") == {}
    shown("a", drawn)
    assert shared.last("k", "go", "a") == {}


def test_odd_messages_and_failing_handlers_stop_no_others(
    state: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = [
        None, {}, {"messages": None}, {"messages": {"list": [1, {}, {"id": 1}]}}, sent({"id": "x"}),
        sent({"id": "x", "name": "go", "value": 3}),
    ]  # fmt: skip
    for said in odd:
        shared.receive("k", said, {"go": lambda value, said=said: pytest.fail(f"nothing was sent: {said}")})

    drawn: list[dict[str, Any]] = []
    heard: list[Any] = []
    apologies: list[Exception] = []
    monkeypatch.setattr(shared.errors, "apologise", apologies.append)

    def go(value: Any) -> None:
        heard.append(value["n"])
        if value["n"] == 1:
            raise RuntimeError("a fault")

    shown("a", drawn)
    shared.receive("k", sent(message(1), message(2)), {"go": go})
    shared.receive("k", sent(message(1), message(2), at=1), {"go": go})
    assert heard == [1, 2]
    assert len(apologies) == 1
    assert shown("a", drawn)["messages"]["acknowledged"] == ["m1", "m2"]
