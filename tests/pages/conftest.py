"""What tests of pages share: a real database that the page opens too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from altair.utils import schemapi
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from core.ports.store import Store
from core.services.calibrate.calibration import LambdaFitOptions
from db.store import shared_store
from pages._ui.calibrate import calibration_form, lambda_sensitivity
from pages._ui.shared import wiring
from tests.templates import empty_database, sample_database

PATIENCE = 300.0
"""Seconds a run of a page may take: AppTest gives up after 3 by default, which a busy machine exceeds."""


@pytest.fixture(scope="session", autouse=True)
def _app_tests() -> Iterator[None]:
    """Let every AppTest be patient, and fail if the page does. Look through the installed packages and compile each page once, as a server does.

    AppTest asks a thousand times per second whether the page is done, which keeps the page from running; a thread is joined.

    The stand-in for the runtime, which AppTest fills before every run, is made once.

    Of equal parts of charts, only the first is checked against the schema of Vega-Lite. Garbage is collected when there is much of it:
    Streamlit does so after every run, and the modules of a test process are many more than those of a server that freezes them.
    """
    compiled, collects = ScriptCache(), config.get_option("runner.postScriptGC")
    check, valid = schemapi.validate_jsonschema, {}

    def checked(spec: Any, schema: Any, *more: Any, **options: Any) -> Any:
        key = repr(spec), id(schema)
        if key in valid:
            return None
        if (wrong := check(spec, schema, *more, **options)) is None:
            valid[key] = schema  # kept, so that its id stays its own
        return wrong

    made, pages, run_page = AppTest.__init__, PagesManager.__init__, AppTest._run

    def run_without_faults(self: AppTest, *given: Any, **more: Any) -> AppTest:
        run_page(self, *given, **more)
        assert not self.exception, self.exception
        return self

    def patient(self: AppTest, *given: Any, default_timeout: float, **more: Any) -> None:
        made(self, *given, default_timeout=max(default_timeout, PATIENCE), **more)

    def listed_by_app(self: PagesManager, *given: Any, **more: Any) -> None:
        pages(self, *given, **more)
        PagesManager.uses_pages_directory = False  # as app.py says at the start of a server; AppTest forgets it

    def wait(runner: local_script_runner.LocalScriptRunner, timeout: float) -> None:
        assert runner._script_thread is not None
        runner._script_thread.join(timeout)
        if not runner.script_stopped():
            runner.request_stop()
            raise RuntimeError(f"The page ran for more than {timeout} seconds")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AppTest, "__init__", patient)
        patch.setattr(AppTest, "_run", run_without_faults)
        patch.setattr(PagesManager, "__init__", listed_by_app)
        patch.setattr(schemapi, "validate_jsonschema", checked)
        patch.setattr(app_test, "ScriptCache", lambda: compiled)
        patch.setattr(local_script_runner, "ScriptCache", lambda: compiled)
        patch.setattr(app_test, "MagicMock", cache(app_test.MagicMock))
        patch.setattr(local_script_runner, "require_widgets_deltas", wait)
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        config.set_option("runner.postScriptGC", False)
        yield
        config.set_option("runner.postScriptGC", collects)


@pytest.fixture
def database(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The URL of a database without rows, or with the sample project for the parameter `sample`."""
    make = sample_database if getattr(request, "param", "") == "sample" else empty_database
    return make(tmp_path / "errorscope.db")


@pytest.fixture
def store(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store that the pages open, in a home folder of its own, without a worker; the sample project is there if `database` has it."""
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))
    monkeypatch.setenv("ERRORSCOPE_WORKER", "off")
    monkeypatch.delenv("ERRORSCOPE_DB", raising=False)
    monkeypatch.setattr(wiring, "sample", SimpleNamespace(ensure=lambda opened: None))
    st.cache_resource.clear()
    st.cache_data.clear()
    yield shared_store(database)
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.fixture
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let Calibrate draw few resamples, and return how many. How many it takes by default is tested in tests/core/calibration."""
    monkeypatch.setattr(lambda_sensitivity, "DRAWS", 20)
    monkeypatch.setattr(calibration_form, "LambdaFitOptions", partial(LambdaFitOptions, draws=20))
    return 20
