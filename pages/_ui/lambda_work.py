"""Long computations on a page: done once and kept, with a bar that says how far they are and a button that stops them.

Streamlit runs a script again when anything on the page is used, and ends the running one where it next speaks to the page.
So telling of progress is also where work can be stopped. Results are kept here and not by Streamlit's caches, whose functions
must not draw.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TypeVar, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.calibration.drawn import Tell
from pages._ui import jobs

T = TypeVar("T")
KEPT, KEPT_REFUSED = 96, 8
PATIENCE = 0.4
"""Seconds before a bar is shown: what is quicker is not worth one."""
PACE = 0.1
_STOPPED, _REFUSED = "errorscope_stopped", "errorscope_refused"


class Kept:
    """The newest results of this server, by all they depend on."""

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, object] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> tuple[object, ...]:
        """The result alone in a tuple; empty where there is none."""
        with self._lock:
            if key not in self._found:
                return ()
            self._found.move_to_end(key)
            return (self._found[key],)

    def put(self, key: Hashable, found: object) -> None:
        with self._lock:
            self._found[key] = found
            self._found.move_to_end(key)
            while len(self._found) > KEPT:
                self._found.popitem(last=False)


@st.cache_resource(show_spinner=False)
def _kept() -> Kept:
    return Kept()


def always(found: object) -> bool:
    """Keeps every result."""
    return True


def worked(
    key: tuple[Hashable, ...], words: str, work: Callable[[Tell], T], keep: Callable[[T], bool] = always
) -> T | None:
    """The result of `work`, which depends on nothing but `key`; None where it was stopped, with a button to begin again.

    `work` is given what to tell its progress to. What it raises is raised, and nothing kept. A result that `keep` refuses, as
    where a metric failed, is this session's alone and stands until it is asked for again: by the button that is drawn with
    it, or by `afresh`.
    """
    if there := _kept().get(key):
        return cast(T, there[0])
    name = str(hash(key))
    stopped: set[str] = st.session_state.setdefault(_STOPPED, set())
    if name in stopped:
        _offer(f"Stopped: {words.rstrip(' …')}.", "Begin again", f"again-{name}", lambda: stopped.discard(name))
        return None
    refused: OrderedDict[Hashable, object] = st.session_state.setdefault(_REFUSED, OrderedDict())
    if key not in refused:
        place = st.empty()
        found = work(_Bar(place, name, words, stopped).tell)
        place.empty()
        if keep(found):
            _kept().put(key, found)
            return found
        refused[key] = found
        while len(refused) > KEPT_REFUSED:
            refused.popitem(last=False)
    _offer(
        "Something failed here; what did not is shown.", "Try it again", f"retry-{name}", lambda: refused.pop(key, None)
    )
    return cast(T, refused[key])


def afresh() -> None:
    """What failed in this session is tried again when it is next asked for: for the button that starts work."""
    st.session_state.pop(_REFUSED, None)


def _offer(said: str, label: str, key: str, on_click: Callable[[], object]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(said, width="content")
        st.button(label, key=key, on_click=on_click, icon=":material/replay:")


class _Bar:
    """Drawn once the work has taken a moment, then moved a few times a second."""

    def __init__(self, place: DeltaGenerator, name: str, words: str, stopped: set[str]) -> None:
        self._place, self._name, self._words, self._stopped = place, name, words, stopped
        self._began, self._told = time.monotonic(), 0.0
        self._bar: DeltaGenerator | None = None

    def tell(self, share: float) -> None:
        now = time.monotonic()
        if now - self._began < PATIENCE or now - self._told < PACE:
            return
        self._told = now
        share = min(1.0, max(0.0, share))
        left = f" {jobs.in_words((now - self._began) / share * (1 - share))}" if share > 0.02 else ""
        text = f"{self._words} {share:.0%}{',' if left else ''}{left}"
        if self._bar is None:
            with self._place.container(horizontal=True, vertical_alignment="center"):
                self._bar = st.progress(share, text)
                st.button("Stop", key=f"stop-{self._name}", on_click=self._stopped.add, args=(self._name,))
        else:
            self._bar.progress(share, text)
