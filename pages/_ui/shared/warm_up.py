"""Load the modules of all pages once the server accepts requests, so that the first visitor of a page does not wait for them."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import pkgutil
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import Any

from core.errors import UserError
from core.processes import host
from pages import _ui
from pages._ui.shared.open_browser import opens_browser

DELAY = 5.0
"""Seconds from the start of the server. The page that `make run` opens comes first: it would wait for Python's lock."""

REMOVE_SECONDS = 600.0


def load_modules() -> None:
    """Import what the pages are made of. None of it loads torch: models are loaded when a metric needs one."""
    for module in pkgutil.walk_packages(_ui.__path__, f"{_ui.__name__}."):
        import_module(module.name)
    _load_what_is_used_later()
    inspect.stack()  # Streamlit asks for it at the first element: Python looks at the files of all modules, and keeps them
    # Streamlit collects garbage after every run of a page, before the page is sent. Modules are never garbage, and looking at them
    # takes 0.13 s, in which no thread runs.
    gc.collect()
    gc.freeze()


def _load_what_is_used_later() -> None:
    """Load what the first table, chart, picture of a chart, list of metrics and change of a text would load."""
    import altair as alt
    import pandas as pd
    import pyarrow as pa
    from PIL import Image

    from core.metrics import readiness
    from core.reports.picture import picture
    from core.services.robustness.break_metric import perturbed

    readiness.of_all()  # reads the weights of the bundled models, for their signatures
    perturbed("Anna Smith quickly adopted it again in Paris in 2019.")
    frame = pd.DataFrame({"x": [0.0]})
    frame.style.format("{}")
    pa.Table.from_pandas(frame)
    picture(alt.Chart(frame).mark_point().encode(x="x"), "x", "x", "png")
    Image.preinit()


def _cancel_exports() -> None:
    """Cancel the preparation of files: Python waits for their threads."""
    from pages._ui.projects import large_exports

    large_exports.cancel_all()


async def _remove_old_drafts() -> None:
    """Delete drafts and uploaded files that nobody has used for a day, at the start and every ten minutes."""
    from pages._ui.shared import drafts

    while True:
        with suppress(UserError):  # an invalid setting, which the pages show
            await asyncio.to_thread(drafts.folder().remove_old)
        await asyncio.sleep(REMOVE_SECONDS)


@asynccontextmanager
async def prepared(app: Any) -> AsyncIterator[None]:
    """Load the modules in the background and open the browser, while the server runs. Models are run in a process of their own."""
    warm_up = threading.Timer(DELAY, load_modules)
    warm_up.daemon = True
    warm_up.start()
    models = host.new_model_process() if os.name == "posix" else None
    host.use(models)
    removal = asyncio.create_task(_remove_old_drafts())
    async with opens_browser(app):
        yield
    removal.cancel()
    warm_up.cancel()
    host.use(None)
    if models is not None:
        models.stop()
    _cancel_exports()
