"""Sentences side by side on Compare, over a real database, without a browser."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Output, Segment
from core.ports.store import Store
from core.services.compare.alignment import GOOD
from pages._ui import components
from tests.pages.opened_page import run


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the component is given, in order."""
    given: list[dict[str, Any]] = []
    drawn = {components.CARDS: lambda **kw: None, components.ALIGNMENT: lambda **kw: given.append(kw["data"])}
    monkeypatch.setattr(components, "build", drawn.__getitem__)
    return given


@pytest.fixture
def project(store: Store) -> int:
    segments = (
        Segment("d", "1", "Der Fluss stieg. Es regnete.", ("The river rose. It rained.", "It poured.")),
        Segment("d", "2", None, ()),
    )
    outputs = tuple(
        Output(s, "d", n, t)
        for n, texts in (("1", ("It rained. The river rose.", "")), ("2", ("One. Two.", "x")))
        for s, t in zip(("sys10", "sys2"), texts, strict=True)
    )
    made = store.projects.create("rivers").id
    store.projects.add(made, Dataset(segments, outputs))
    return int(made)


def chosen(project: int, name: str, segment: str = "1", **more: str) -> AppTest:
    at = run(project=str(project), doc="d", segment=segment, **more)
    at.button_group(key=f"alignment-of-{project}").set_value(name).run()
    assert not at.exception
    assert not at.error, at.error[0].value
    return at


def test_an_output_is_matched_with_what_is_chosen_or_a_reason(store: Store, project: int, drawn: list[Any]) -> None:
    at = run(project=str(project), doc="d", segment="1")
    assert not at.exception
    assert not drawn, "nothing is matched until an output is chosen"
    outputs = at.button_group(key=f"alignment-of-{project}")
    assert outputs.options == ["sys2", "sys10"]
    outputs.set_value("sys10").run()
    assert not at.error
    data = drawn[-1]
    assert (data["name"], data["the"], data["matched"], data["good"]) == ("sys10", "reference 1", "chrF", GOOD["chrf"])
    assert data["of_output"] == (1, 0)
    at.selectbox(key=f"alignment-against-{project}").set_value("source").run()
    assert (drawn[-1]["the"], drawn[-1]["target"][0]) == ("the source", "Der Fluss stieg.")
    at.selectbox(key=f"alignment-by-{project}").set_value("rouge1").run()
    assert (drawn[-1]["matched"], drawn[-1]["good"]) == ("ROUGE-1", GOOD["rouge1"])
    assert not at.exception
    at.toggle(key="compare-blind").set_value(True).run()
    assert at.button_group(key=f"alignment-of-{project}").options == ["Output A", "Output B"]
    at.button_group(key=f"alignment-of-{project}").set_value("Output A").run()
    assert drawn[-1]["name"] == "Output A"
    assert "sys" not in repr(drawn[-1])

    chosen(project, "sys2")
    assert (drawn[-1]["reason"], drawn[-1]["matrix"]) == ("the output is empty", [])
    n = len(drawn)
    at = chosen(project, "sys2", "2")
    assert any("no reference and no source" in i.value for i in at.info)
    assert len(drawn) == n
