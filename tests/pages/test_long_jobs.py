"""Work that takes long: done once and kept, and begun again only when it was stopped."""

import pytest
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from pages._ui.shared import long_jobs


@pytest.fixture(autouse=True)
def fresh():
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def page() -> None:
    import streamlit as st

    from pages._ui.shared.long_jobs import retry_failed, run_cached

    def work(progress) -> str:
        st.session_state["begun"] = st.session_state.get("begun", 0) + 1
        for k in range(6):
            progress(k / 6)
        if st.session_state.get("fails"):
            raise ValueError("broken")
        return "the answer"

    if st.button("do it"):
        retry_failed()
    refused = st.session_state.get("refused")
    found = run_cached(("k", st.session_state.get("input", 1)), "Working …", work, lambda found: found != refused)
    st.write(found or "nothing yet")
    st.button("look again")


def test_results_are_kept_until_there_are_many_or_a_stop() -> None:
    at = AppTest.from_function(page).run()
    at = pressed(at, "look again")
    at = pressed(at, "do it")
    assert [m.value for m in at.markdown] == ["the answer"]
    assert at.session_state["begun"] == 1
    at.session_state["input"] = 2
    at.run()
    assert at.session_state["begun"] == 2
    at.session_state["input"], at.session_state["fails"] = 3, True
    with pytest.raises(AssertionError):
        at.run()
    del at.session_state["fails"]
    at.run()
    assert [m.value for m in at.markdown] == ["the answer"], "what fails is not kept"

    at = AppTest.from_function(page)
    at.session_state["input"], at.session_state["errorscope_stopped"] = 4, {str(hash(("k", 4)))}
    at.run()
    assert [m.value for m in at.markdown] == ["Cancelled: Working.", "nothing yet"]
    assert "begun" not in at.session_state
    at = next(b for b in at.button if b.label == "Run again").click().run()
    assert [m.value for m in at.markdown] == ["the answer"]


def test_a_result_that_is_not_kept_is_shown_until_a_retry() -> None:
    at = AppTest.from_function(page)
    at.session_state["refused"] = "the answer"
    at.run()
    assert [m.value for m in at.markdown] == ["Part of this failed. The rest is shown.", "the answer"]
    at = pressed(at, "look again")
    assert at.session_state["begun"] == 1
    at = pressed(at, "Retry")
    assert at.session_state["begun"] == 2
    at = pressed(at, "do it")
    assert at.session_state["begun"] == 3
    at.session_state["input"] = 2
    at.run()
    assert at.session_state["begun"] == 4, "it is of its input alone"
    other = AppTest.from_function(page)
    other.session_state["input"] = 2
    assert other.run().session_state["begun"] == 1, "it is of its session alone"
    at.session_state["input"], at.session_state["refused"] = 1, "another"
    at.run()
    at = pressed(at, "Retry")
    assert [m.value for m in at.markdown] == ["the answer"]
    at = pressed(at, "do it")
    assert at.session_state["begun"] == 5


def pressed(at: AppTest, label: str) -> AppTest:
    return next(b for b in at.button if b.label == label).click().run()


def test_what_stands_below_keeps_its_position() -> None:
    """An element that moves is made anew in the browser, and what was being typed in it is lost."""
    at = AppTest.from_function(page)
    places = [position(at.run())]  # computed
    places.append(position(at.run()))  # kept
    at.session_state["input"] = 2
    at.session_state["refused"] = "the answer"
    places.append(position(at.run()))  # refused
    at.session_state["input"] = 3
    at.session_state["errorscope_stopped"] = {str(hash(("k", 3)))}
    places.append(position(at.run()))  # stopped
    assert len(set(places)) == 1


def position(at: AppTest) -> int:
    return next(k for k, node in at.main.children.items() if getattr(node, "label", "") == "look again")


def showing() -> None:
    import streamlit as st

    from pages._ui.shared import long_jobs

    try:
        with long_jobs.showing_progress("Reading …") as progress:
            progress(0.0)
            progress(0.5)
            if st.session_state["keeps_bar"]:
                st.stop()
            if st.session_state["fails"]:
                raise ValueError("broken")
    except ValueError:
        st.write("it failed")
    st.write("the end")


def shown_work(monkeypatch: pytest.MonkeyPatch, patience: float, **state: bool) -> AppTest:
    """The page after work of which every report comes after `patience` seconds."""
    monkeypatch.setattr(long_jobs, "PATIENCE", patience)
    monkeypatch.setattr(long_jobs, "PACE", 0.0)
    at = AppTest.from_function(showing)
    for name, value in state.items():
        at.session_state[name] = value
    return at.run()


def test_bars_of_slow_work_are_removed_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for patience in (0.0, 60.0):
        for fails in (False, True):
            at = shown_work(monkeypatch, patience, fails=fails, keeps_bar=False)
            assert not at.get("progress"), (patience, fails)
            assert [m.value for m in at.markdown] == ["it failed"] * fails + ["the end"], (patience, fails)
    assert not shown_work(monkeypatch, 60.0, fails=False, keeps_bar=True).get("progress"), "quick work has no bar"

    monkeypatch.setattr(long_jobs, "PATIENCE", 0.0)
    monkeypatch.setattr(long_jobs, "PACE", 0.0)
    at = AppTest.from_function(page, default_timeout=30).run()
    assert [b.label for b in at.button] == ["do it", "look again"]
    assert not at.get("progress")

    monkeypatch.setattr(DeltaGenerator, "empty", lambda self: self)  # the bar stays on the page
    at = shown_work(monkeypatch, 0.0, fails=False, keeps_bar=True)
    (bar,) = at.get("progress")
    assert bar.proto.text.startswith("Reading … 50%")
    assert not at.button
