"""Work that takes long: done once and kept, and begun again only when it was stopped."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages._ui.shared.long_jobs import KEPT, ResultCache


@pytest.fixture(autouse=True)
def fresh():
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def page() -> None:
    import time

    import streamlit as st

    from pages._ui.shared.long_jobs import retry_failed, run_cached

    def work(progress) -> str:
        st.session_state["begun"] = st.session_state.get("begun", 0) + 1
        for k in range(6):
            time.sleep(st.session_state.get("pause", 0.0))
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


def test_what_was_worked_out_is_kept() -> None:
    at = AppTest.from_function(page).run()
    at = pressed(at, "look again")
    at = pressed(at, "do it")
    assert [m.value for m in at.markdown] == ["the answer"]
    assert at.session_state["begun"] == 1


def test_something_else_is_worked_out_anew() -> None:
    at = AppTest.from_function(page).run()
    at.session_state["input"] = 2
    at.run()
    assert at.session_state["begun"] == 2


def test_after_a_stop_nothing_begins_until_it_is_asked_for() -> None:
    at = AppTest.from_function(page)
    at.session_state["errorscope_stopped"] = {str(hash(("k", 1)))}
    at.run()
    assert [m.value for m in at.markdown] == ["Cancelled: Working.", "nothing yet"]
    assert "begun" not in at.session_state
    at = next(b for b in at.button if b.label == "Run again").click().run()
    assert [m.value for m in at.markdown] == ["the answer"]


def test_quick_and_slow_work_leave_no_bar_behind() -> None:
    at = AppTest.from_function(page, default_timeout=30)
    at.session_state["pause"] = 0.15
    at.run()
    assert not at.exception
    assert [b.label for b in at.button] == ["do it", "look again"]


def test_what_fails_is_not_kept() -> None:
    at = AppTest.from_function(page)
    at.session_state["fails"] = True
    assert at.run().exception
    del at.session_state["fails"]
    at.run()
    assert [m.value for m in at.markdown] == ["the answer"]


def test_a_result_that_is_not_to_be_kept_stands_until_it_is_asked_for_again() -> None:
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
    at.session_state["refused"] = "another"
    at = pressed(at, "Retry")
    assert [m.value for m in at.markdown] == ["the answer"]
    at = pressed(at, "do it")
    assert at.session_state["begun"] == 4


def test_a_result_that_is_not_to_be_kept_is_of_its_session_and_input_alone() -> None:
    at = AppTest.from_function(page)
    at.session_state["refused"] = "the answer"
    at.run()
    at.session_state["input"] = 2
    at.run()
    assert at.session_state["begun"] == 2
    other = AppTest.from_function(page).run()
    assert other.session_state["begun"] == 1


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


def test_only_the_newest_results_are_kept() -> None:
    kept = ResultCache()
    for k in range(KEPT + 1):
        kept.put(k, k)
    assert (kept.get(0), kept.get(1), kept.get(KEPT)) == ((), (1,), (KEPT,))


def showing() -> None:
    import time

    import streamlit as st

    from pages._ui.shared import long_jobs

    try:
        with long_jobs.showing_progress("Reading …") as progress:
            progress(0.0)
            time.sleep(st.session_state["pause"])
            progress(0.5)
            if st.session_state["keeps_bar"]:
                st.stop()
            if st.session_state["fails"]:
                raise ValueError("broken")
    except ValueError:
        st.write("it failed")
    st.write("the end")


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("pause", [0.0, 0.6])
def test_a_bar_is_gone_after_the_work(pause: float, fails: bool) -> None:
    at = AppTest.from_function(showing)
    for name, value in {"pause": pause, "fails": fails, "keeps_bar": False}.items():
        at.session_state[name] = value
    at.run()
    assert not at.get("progress")
    assert [m.value for m in at.markdown] == ["it failed"] * fails + ["the end"]


def test_a_bar_of_slow_work_has_no_cancel_button(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages._ui.shared.long_jobs._Bar.clear", lambda self: None)
    at = AppTest.from_function(showing)
    for name, value in {"pause": 0.6, "fails": False, "keeps_bar": True}.items():
        at.session_state[name] = value
    at.run()
    (bar,) = at.get("progress")
    assert bar.proto.text.startswith("Reading … 50%")
    assert not at.button
