"""Messages of components: each arrives once, however often it is sent, and only what was meant for what is shown."""

from __future__ import annotations

from typing import Any

import pytest

from pages._ui import components


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the component is given, in order, in a new session."""
    given: list[dict[str, Any]] = []
    monkeypatch.setattr(components.st, "session_state", {})
    monkeypatch.setattr(components, "build", lambda component: lambda **kw: given.append(kw))
    return given


def sent(*messages: Any, at: int = 0) -> dict[str, Any]:
    return {"messages": {"at": at, "list": list(messages)}}


def message(number: int, of: str = "a", name: str = "go", **value: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "of": of, "name": name, "value": {"n": number} | value}


def shown(of: str, drawn: list[dict[str, Any]]) -> dict[str, Any]:
    """What the browser is given for `of`."""
    components.draw_component(components.CARDS, {"text": "x"}, key="k", of=of, handlers={})
    return drawn[-1]["data"]


def test_messages_are_acknowledged_once_for_what_is_shown(drawn: list[dict[str, Any]]) -> None:
    heard: list[Any] = []
    handlers = {"go": lambda value: heard.append(value["n"])}
    assert shown("a", drawn)["messages"] == {"key": "k", "of": "a", "acknowledged": []}
    components.receive("k", sent(message(1)), handlers)
    components.receive("k", sent(message(1), at=1), handlers)  # sent again, as no answer had come yet
    components.receive("k", sent(message(1), message(2), at=2), handlers)
    assert heard == [1, 2]
    assert shown("a", drawn)["messages"]["acknowledged"] == ["m1", "m2"]
    components.receive("k", sent(message(3)), handlers)
    assert heard == [1, 2, 3]
    assert shown("a", drawn)["messages"]["acknowledged"] == ["m3"]

    heard: list[Any] = []
    shown("b", drawn)
    components.receive(
        "k", sent(message(1, of="a"), message(2, of="b")), {"go": lambda value: heard.append(value["n"])}
    )
    assert heard == [2]
    assert shown("b", drawn)["messages"]["acknowledged"] == ["m1", "m2"]
    assert components.last("k", "go", "b") == {"n": 2}
    assert components.last("k", "go", "a") == {}
    shown("a", drawn)
    assert components.last("k", "go", "a") == {}


def test_odd_messages_and_failing_handlers_stop_no_others(
    drawn: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = [
        None, {}, {"messages": None}, {"messages": {"list": [1, {}, {"id": 1}]}}, sent({"id": "x"}),
        sent({"id": "x", "name": "go", "value": 3}),
    ]  # fmt: skip
    for said in odd:
        components.receive("k", said, {"go": lambda value, said=said: pytest.fail(f"nothing was sent: {said}")})

    heard: list[Any] = []
    apologies: list[Exception] = []
    monkeypatch.setattr(components.errors, "apologise", apologies.append)

    def go(value: Any) -> None:
        heard.append(value["n"])
        if value["n"] == 1:
            raise RuntimeError("a fault")

    shown("a", drawn)
    components.receive("k", sent(message(1), message(2)), {"go": go})
    components.receive("k", sent(message(1), message(2), at=1), {"go": go})
    assert heard == [1, 2]
    assert len(apologies) == 1
    assert shown("a", drawn)["messages"]["acknowledged"] == ["m1", "m2"]
