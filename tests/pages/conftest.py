"""What tests of pages share: a real database that the page opens too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from core.ports import Store
from db.store import open_store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """An empty store of a home folder of its own, without a worker."""
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))
    monkeypatch.setenv("ERRORSCOPE_WORKER", "off")
    monkeypatch.setattr(
        PagesManager, "uses_pages_directory", False
    )  # else the first run starts over, and clicks with it
    st.cache_resource.clear()
    st.cache_data.clear()
    yield open_store(f"sqlite:///{tmp_path / 'errorscope.db'}")
    st.cache_resource.clear()
    st.cache_data.clear()
