"""A long fit on Calibrate λ shows its progress, and ends when it is cancelled."""

import re

import numpy as np
from playwright.sync_api import Page, expect

from core.data import Dataset, HumanScore, Output, Segment, Value
from core.metrics import registry
from core.ports.store import Store
from core.signature import content_key
from tests.browser.conftest import Server, at_rest

SEGMENTS, SYSTEMS = 500, "ABCDEFGHIJKLMNOP"


def seeded(store: Store) -> int:
    """A project with 8,000 scored and rated outputs: some seconds of fitting."""
    project, rng = store.projects.create("long").id, np.random.default_rng(0)
    segments = tuple(Segment("d", str(i), None, ("r",)) for i in range(SEGMENTS))
    outputs = tuple(Output(s, "d", str(i), f"{s} wrote {i}") for i in range(SEGMENTS) for s in SYSTEMS)
    distances = rng.random((len(outputs), 2))
    human = -distances @ (2, 1) + rng.normal(size=len(outputs))
    rated = tuple(HumanScore(*o.key, "da", float(h)) for o, h in zip(outputs, human, strict=True))
    store.projects.add(project, Dataset(segments, outputs, rated))
    values = {
        content_key(None, o.text, ("r",)): Value(-e - i, parts={"dist_exp": e, "dist_imp": i, "score_hyp": -e})
        for o, (e, i) in zip(outputs, distances.tolist(), strict=True)
    }
    store.scores.put("bartscore++", registry.load_metric("bartscore++").signature(), values, 1.0)
    return project


def test_a_long_fit_is_cancelled_and_run_again(page: Page, shared: Server) -> None:
    project = seeded(shared.store())
    page.goto(f"{shared.url}/calibrate?project={project}")
    fitting = page.get_by_text(re.compile(r"Fitting λ on 8,000 outputs.*\d+%"))
    cancelled = page.get_by_text("Cancelled: Fitting λ on 8,000 outputs")
    cancel = page.get_by_role("button", name="Cancel", exact=True).and_(page.locator(":not(.st-key-errorscope-foot *)"))
    for again in (True, False):
        expect(fitting).to_be_visible()
        expect(cancelled).to_have_count(0)
        cancel.click()
        expect(cancelled).to_be_visible()
        expect(page.get_by_text(re.compile("agrees best with"))).to_have_count(0)
        at_rest(page)
        if again:
            page.get_by_role("button", name="Run again").click()
