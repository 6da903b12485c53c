"""Work that takes long: done once and kept, and begun again only when it was stopped."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages._ui.lambda_work import KEPT, Kept


@pytest.fixture(autouse=True)
def fresh():
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def page() -> None:
    import time

    import streamlit as st

    from pages._ui.lambda_work import worked

    def work(tell) -> str:
        st.session_state["begun"] = st.session_state.get("begun", 0) + 1
        for k in range(6):
            time.sleep(st.session_state.get("pause", 0.0))
            tell(k / 6)
        if st.session_state.get("fails"):
            raise ValueError("broken")
        return "the answer"

    st.write(worked(("k", st.session_state.get("input", 1)), "Working …", work) or "nothing yet")
    st.button("look again")


def test_what_was_worked_out_is_kept() -> None:
    at = AppTest.from_function(page).run()
    at = at.button[0].click().run()
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
    assert [m.value for m in at.markdown] == ["Stopped: Working.", "nothing yet"]
    assert "begun" not in at.session_state
    at = next(b for b in at.button if b.label == "Begin again").click().run()
    assert [m.value for m in at.markdown] == ["the answer"]


def test_quick_and_slow_work_leave_no_bar_behind() -> None:
    at = AppTest.from_function(page, default_timeout=30)
    at.session_state["pause"] = 0.15
    at.run()
    assert not at.exception
    assert [b.label for b in at.button] == ["look again"]


def test_what_fails_is_not_kept() -> None:
    at = AppTest.from_function(page)
    at.session_state["fails"] = True
    assert at.run().exception
    del at.session_state["fails"]
    at.run()
    assert [m.value for m in at.markdown] == ["the answer"]


def test_only_the_newest_results_are_kept() -> None:
    kept = Kept()
    for k in range(KEPT + 1):
        kept.put(k, k)
    assert (kept.get(0), kept.get(1), kept.get(KEPT)) == ((), (1,), (KEPT,))
