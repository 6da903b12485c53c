"""How pages, memory and reads grow with a project: `python -m tests.bench.scale [--outputs 10000 100000 1000000]`.

A project of 20 systems is made in a database of its own, with three metrics (random numbers) and human scores of 4,000 outputs. Then a
real server and a real browser open every page, and one segment after the other. Times are in seconds, memory is that of the server and of
its model process.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from core.data import Dataset, HumanScore, Value
from core.ports.store import Store
from core.signature import content_key
from db.store import open_store
from tests.bench.imports import dataset
from tests.browser.conftest import CHROMIUM, QUIET, Server, at_rest, serving

SYSTEMS, RATED = 20, 4000
METRICS = {
    "chrf": "chrf|nrefs:1|v:1",
    "bleu": "bleu|nrefs:1|v:1",
    "bartscore++": "bartscore++|variant:f|lambda:1|model:random|v:1",
}
PAGES = {
    "projects": "Projects", "compare": "Compare", "annotate": "Annotate", "labels_and_raters": "Labels and raters",
    "campaigns": "Campaigns", "meta_evaluation": "Meta-evaluation", "calibrate": "Calibrate λ", "robustness": "Robustness",
}  # fmt: skip


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def fill(store: Store, outputs: int) -> float:
    """Make the project; return the seconds of the import."""
    data, rng = dataset(outputs // SYSTEMS, SYSTEMS), np.random.default_rng(0)
    rated = data.outputs[: min(RATED, outputs // 5)]
    human = tuple(HumanScore(*o.key, "adequacy", float(rng.integers(1, 100))) for o in rated)
    data = Dataset(data.segments, data.outputs, human)
    project = store.projects.create(f"{outputs:,} outputs").id
    seconds = timed(lambda: store.projects.add(project, data))
    keys = [content_key(*item) for _, item in data.items()]
    for metric, signature in METRICS.items():
        names = ("dist_exp", "dist_imp", "score_hyp", "score_ref") if metric == "bartscore++" else ()
        for at in range(0, len(keys), 5000):
            some = keys[at : at + 5000]
            numbers = rng.normal(size=(len(some), 5))
            values = {
                key: Value(float(row[0]), parts=dict(zip(names, map(float, row[1:]), strict=False)))
                for key, row in zip(some, numbers, strict=True)
            }
            store.scores.put(metric, signature, values, 1.0)
    return seconds


def first_reads(store: Store) -> dict[str, float]:
    """Seconds of what the first reader after an import or a scoring job reads; afterwards it is kept."""
    project = store.projects.list()[0].id
    return {
        "index": timed(lambda: store.projects.index(project)),
        "counts": timed(lambda: store.scores.signatures(project)),
        "columns": timed(lambda: [store.scores.column(project, s.signature) for s in store.scores.signatures(project)]),
    }


def opened(page: Page, server: Server, path: str, title: str, project: int) -> float:
    """Seconds until the page has its content and rests."""
    began = time.perf_counter()
    page.goto(f"{server.url}/{path}?project={project}", wait_until="commit")
    page.get_by_role("heading", name=title, exact=True).first.wait_for()
    at_rest(page)
    return time.perf_counter() - began


def memory(server: Server) -> str:
    """The memory of the server, and that of its model process while there is one."""
    assert server.process is not None
    running = psutil.Process(server.process.pid)
    models = [child for child in running.children() if "core.models.process_server" in child.cmdline()]
    sizes = [process.memory_info().rss / 2**20 for process in (running, *models)]
    return f"{sizes[0]:6.0f} MiB" + "".join(f", models {size:.0f} MiB" for size in sizes[1:])


def next_segments(page: Page, server: Server, project: int) -> float:
    """Median seconds of a click on *Next* of Annotate until another segment is shown."""
    opened(page, server, "annotate", "Annotate", project)
    name, following = page.get_by_label("Name", exact=True), page.get_by_role("button", name="Next", exact=True)
    name.or_(following).first.wait_for()
    if name.count():
        name.fill("Ann")
        name.press("Enter")
        at_rest(page)
    seconds = []
    for number in range(2, 10):
        began = time.perf_counter()
        following.click()
        page.get_by_text(f"{number} /").first.wait_for()
        seconds.append(time.perf_counter() - began)
    return median(seconds)


def measure(browser: Browser, home: Path, outputs: int) -> None:
    url = f"sqlite:///{home / 'errorscope.db'}"
    store = open_store(url)
    seconds = fill(store, outputs) if not store.projects.list() else float("nan")
    project = store.projects.list()[0].id
    print(f"\n{outputs:,} outputs: import {seconds:.1f} s", flush=True)
    for name, took in first_reads(open_store(url)).items():
        print(f"  first read of {name:28} {took:7.2f}")
    print(f"  list of projects {timed(lambda: open_store(url).projects.list()):24.3f}", flush=True)
    with serving(home, ERRORSCOPE_DB=url, ERRORSCOPE_WORKER="off") as server:
        page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
        page.set_default_timeout(180_000)
        print(f"  server at the start: {memory(server)}")
        for path, title in PAGES.items():
            first, second = (opened(page, server, path, title, project) for _ in range(2))
            print(f"  {title:20} first {first:6.2f}  again {second:6.2f}  {memory(server)}", flush=True)
        print(f"  next segment {next_segments(page, server, project):28.3f}  {memory(server)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--home", type=Path, help="folder in which databases are kept for the next run")
    given = parser.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        for outputs in given.outputs:
            measure(browser, (given.home or Path(folder)) / str(outputs), outputs)
        browser.close()


if __name__ == "__main__":
    main()
