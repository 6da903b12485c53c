"""Run long computations once and keep their results, with a progress bar and a Cancel button.

Streamlit reruns the script whenever an element is used, and ends the running script at its next call to Streamlit. Reporting
progress is such a call, so work can be stopped there. Streamlit's own caches are not used because cached functions must not draw.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.memory import RecentResults
from core.progress import Progress
from pages._ui.shared import jobs

T = TypeVar("T")
KEPT, KEPT_REFUSED = 96, 8
PATIENCE = 0.4
"""Seconds before the progress bar appears."""
PACE = 0.1
_STOPPED, _REFUSED = "errorscope_stopped", "errorscope_refused"


@st.cache_resource(show_spinner=False)
def _kept() -> RecentResults[object]:
    """Return the newest results of this server, by everything they depend on."""
    return RecentResults(KEPT)


def digest(*what: object) -> str:
    """Return the SHA-256 (hex) of these values, as part of the key of a kept result."""
    return hashlib.sha256(repr(what).encode("utf-8", "surrogatepass")).hexdigest()


def digest_of_many(items: Iterable[object]) -> str:
    """Return the SHA-256 (hex) of any number of values, which are not held together."""
    hasher, left = hashlib.sha256(), iter(items)
    while some := list(islice(left, 10_000)):
        hasher.update(repr(some).encode("utf-8", "surrogatepass"))
    return hasher.hexdigest()


def run_cached(
    key: tuple[Hashable, ...], words: str, work: Callable[[Progress], T], keep: Callable[[T], bool] = lambda _: True
) -> T | None:
    """Return the result of `work`, kept under `key`; None if it was stopped, with a button to run it again.

    `work` gets a callback that reports progress from 0 to 1. Its exceptions are raised, and nothing is kept. A result that
    `keep` rejects (a metric failed) is kept for this session only, until the Retry button or `retry_failed` discards it.
    """
    place = (
        st.empty()
    )  # also where nothing is drawn: what stands below keeps its position, and what is being typed there
    if cached := _kept().get(key):
        return cast(T, cached[0])
    name = str(hash(key))
    stopped: set[str] = st.session_state.setdefault(_STOPPED, set())
    if name in stopped:
        _offer(place, f"Cancelled: {words.rstrip(' …')}.", "Run again", f"again-{name}", lambda: stopped.discard(name))
        return None
    refused: OrderedDict[Hashable, object] = st.session_state.setdefault(_REFUSED, OrderedDict())
    if key not in refused:
        bar = _Bar(place, name, words, stopped)
        result = work(bar.show)
        bar.clear()
        if keep(result):
            return cast(T, _kept().computed(key, lambda: result))
        refused[key] = result
        while len(refused) > KEPT_REFUSED:
            refused.popitem(last=False)
    _offer(place, "Part of this failed. The rest is shown.", "Retry", f"retry-{name}", lambda: refused.pop(key, None))
    return cast(T, refused[key])


def compute(key: tuple[Hashable, ...], words: str, work: Callable[[], T]) -> T:
    """Return the result of `work` with a spinner, kept under `key`. For work without progress; sessions share one computation."""
    with st.spinner(words):
        return cast(T, _kept().computed(key, work))


@contextmanager
def showing_progress(words: str) -> Iterator[Progress]:
    """Give a callback that shows a progress bar while the work lasts. Leaving the page, or using another element, cancels the work."""
    bar = _Bar(None, "", words, None)
    try:
        yield bar.show
    finally:
        bar.clear()


def retry_failed() -> None:
    """Discard the incomplete results of this session, so that the next request computes them again."""
    st.session_state.pop(_REFUSED, None)


def _offer(place: DeltaGenerator, said: str, label: str, key: str, on_click: Callable[[], Any]) -> None:
    with place.container(horizontal=True, vertical_alignment="center"):
        st.markdown(said, width="content")
        st.button(label, key=key, on_click=on_click, icon=":material/replay:")


class _Bar:
    """A progress bar that appears after `PATIENCE` seconds, with a Cancel button if there are names of `stopped` work."""

    def __init__(self, place: DeltaGenerator | None, name: str, words: str, stopped: set[str] | None) -> None:
        self._place, self._name, self._words, self._stopped = place, name, words, stopped
        self._began, self._shown = time.monotonic(), 0.0
        self._bar: DeltaGenerator | None = None

    def show(self, share: float) -> None:
        now = time.monotonic()
        if now - self._began < PATIENCE or now - self._shown < PACE:
            return
        self._shown = now
        share = min(1.0, max(0.0, share))
        left = f" {jobs.in_words((now - self._began) / share * (1 - share))}" if share > 0.02 else ""
        text = f"{self._words} {share:.0%}{',' if left else ''}{left}"
        if self._bar is None:
            self._place = self._place or st.empty()
            with self._place.container(horizontal=True, vertical_alignment="center"):
                self._bar = st.progress(share, text)
                if self._stopped is not None:
                    st.button("Cancel", key=f"stop-{self._name}", on_click=self._stopped.add, args=(self._name,))
        else:
            self._bar.progress(share, text)

    def clear(self) -> None:
        if self._place is not None:
            self._place.empty()
