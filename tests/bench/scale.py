"""How pages, memory and reads grow with a project: `python -m tests.bench.scale [--outputs 10000 100000 1000000] [--labels 1000000]`.

A project of 20 systems is made in a database of its own, with three metrics (random numbers) and human scores of 4,000 outputs; with
`--labels` also so many error spans by ten annotators of the same outputs. Then a real server and a real browser open every page, and one segment after the other. Times are in seconds, memory is that of the server and of
its model process.

*Content* is what a page is for: the cards of Compare, the table of Meta-evaluation, the first scores of Robustness. *At rest* is when
the script of the page has ended and no other begins. Pages are opened by their addresses in one tab, so that each visit loads Streamlit again; `new browser`
is the very first visit. *Next segment* counts in the browser, from the click to the next segment. Pages are looked at every 10 ms: Playwright's
own waiting looks every 500 ms after a while, which is added to the times.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import psutil
from playwright.sync_api import Browser, Locator, Page, sync_playwright
from sqlalchemy import insert, select

from core.data import Dataset, HumanScore, Output, Segment, Value
from core.ports.store import Store
from core.signature import content_key
from db import tables
from db.columns import now
from db.engine import connect, writing
from db.lookup import rater_id
from db.store import open_store
from tests.bench.streams import SYSTEMS, WORDS
from tests.browser.conftest import CHROMIUM, QUIET, Server, at_rest, serving

RATED, ANNOTATORS = 4000, 10
WARM_UP = 10.0
"""Seconds after the start in which the server loads modules."""
LOOK, STILL, LONGEST = 0.01, 0.7, 180.0
"""Seconds between two looks at a page, without a running script until it rests, and after which it is given up."""
AT_REST = '[data-testid="stApp"][data-test-script-state="notRunning"]'
METRICS = {
    "chrf": "chrf|nrefs:1|v:1",
    "bleu": "bleu|nrefs:1|v:1",
    "bartscore++": "bartscore++|variant:f|lambda:1|model:random|v:1",
}
Content = Callable[[Page], Locator]
PAGES: dict[str, Content] = {
    "projects": lambda page: page.get_by_text("currently open"),
    "compare": lambda page: page.locator(".esc-card"),
    "annotate": lambda page: page.locator(".esa-output").or_(page.get_by_label("Name", exact=True)),
    "labels_and_raters": lambda page: page.get_by_role("heading", name="Agreement").or_(
        page.get_by_label("Annotators per output")
    ),
    "campaigns": lambda page: page.get_by_role("button", name="New campaign"),
    "meta_evaluation": lambda page: page.get_by_role("heading", level=4),
    "calibrate": lambda page: page.get_by_role("heading", level=4).or_(page.get_by_text("too many outputs")),
    "robustness": lambda page: page.get_by_test_id("stDataFrame").or_(page.get_by_test_id("stTable")),
}
NEXT = """number => new Promise(done => {
  const began = performance.now(), shown = () => document.body.innerText.includes(`${number} /`)
  const watch = new MutationObserver(() => { if (shown()) { watch.disconnect(); requestAnimationFrame(() => done((performance.now() - began) / 1000)) } })
  watch.observe(document.body, {subtree: true, childList: true, characterData: true});
  [...document.querySelectorAll("button")].find(button => button.innerText.trim().endsWith("Next")).click()
})"""


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def dataset(segments: int, systems: int) -> Dataset:
    """Texts of about 120 characters, and one reference per segment."""
    keys = [(f"document {i // 50}", str(i)) for i in range(segments)]
    return Dataset(
        tuple(Segment(doc, seg, f"Source {seg}: {WORDS}", (f"Reference {seg}: {WORDS}",)) for doc, seg in keys),
        tuple(
            Output(f"system {s}", doc, seg, f"Output {s}/{seg}: {WORDS}") for doc, seg in keys for s in range(systems)
        ),
    )


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


def label(url: str, labels: int) -> None:
    """Submit error spans: ten annotators mark one in each output of the first segments."""
    engine = connect(url)
    with writing(engine) as connection:
        project = connection.execute(select(tables.projects.c.id)).scalar_one()
        raters = [rater_id(connection, f"annotator {i}") for i in range(ANNOTATORS)]
        mine = select(tables.segments.c.id).where(tables.segments.c.project_id == project)
        ids = list(connection.execute(mine.order_by(tables.segments.c.position)).scalars())
        for segment in ids[: labels // (SYSTEMS * ANNOTATORS)]:
            of = select(tables.outputs.c.system, tables.outputs.c.text).where(tables.outputs.c.segment == segment)
            texts = [(row.system, row.text) for row in connection.execute(of.order_by(tables.outputs.c.position))]
            rows = [row for rater in raters for row in _events(project, rater, segment, texts)]
            connection.execute(insert(tables.events), rows)
    engine.dispose()


def _events(project: int, rater: int, segment: int, texts: Sequence[tuple[str, str]]) -> Iterator[dict[str, object]]:
    def event(kind: str, system: str | None, payload: dict[str, object]) -> dict[str, object]:
        name = f"{rater}-{segment}-{kind}-{system}"
        return {
            "project_id": project, "action_id": name, "time": now(), "rater": rater, "segment": segment, "kind": kind,
            "system": system, "payload": payload, "client_time": "",
        }  # fmt: skip

    for place, (system, text) in enumerate(texts):
        draw = random.Random(f"{rater} {segment} {place}")
        start = draw.randrange(len(text) - 8)
        severity, category = draw.choice((("Major", "Accuracy/Mistranslation"), ("Minor", "Fluency/Grammar")))
        where = {"side": "output", "start": start, "end": start + 8, "quote": text[start : start + 8]}
        yield event("add", system, {"mark": f"m{place}", **where, "severity": severity, "category": category})
    yield event("submit", None, {})


def first_reads(store: Store) -> dict[str, float]:
    """Seconds of what the first reader after an import or a scoring job reads; afterwards it is kept."""
    project = store.projects.list()[0].id
    return {
        "index": timed(lambda: store.projects.index(project)),
        "counts": timed(lambda: store.scores.signatures(project)),
        "columns": timed(lambda: [store.scores.column(project, s.signature) for s in store.scores.signatures(project)]),
    }


def opened(page: Page, server: Server, path: str, project: int) -> tuple[float, float]:
    """Seconds until the page has its content, and until it rests."""
    began = time.perf_counter()
    page.goto(f"{server.url}/{path}?project={project}", wait_until="commit")
    content = rest = None
    awaited, resting = PAGES[path](page).first, page.locator(AT_REST)
    while (now := time.perf_counter() - began) < LONGEST:
        if content is None and awaited.is_visible():
            content = now
        if content is None or not resting.is_visible():
            rest = None
        elif rest is None:
            rest = now
        elif now - rest > STILL:
            return content, rest
        time.sleep(LOOK)
    raise TimeoutError(path)


def memory(server: Server) -> str:
    """The memory of the server, and that of its model process while there is one."""
    assert server.process is not None
    running = psutil.Process(server.process.pid)
    models = [child for child in running.children() if "core.processes.child" in child.cmdline()]
    sizes = [process.memory_info().rss / 2**20 for process in (running, *models)]
    return f"{sizes[0]:6.0f} MiB" + "".join(f", models {size:.0f} MiB" for size in sizes[1:])


def next_segments(page: Page, server: Server, project: int) -> float:
    """Median seconds from a click on *Next* of Annotate until another segment is shown."""
    opened(page, server, "annotate", project)
    name = page.get_by_label("Name", exact=True)
    if name.count():
        name.fill("Ann")
        name.press("Enter")
    page.locator(".esa-output").first.wait_for()
    at_rest(page)
    seconds = []
    for number in range(2, 12):
        seconds.append(page.evaluate(NEXT, number))
        at_rest(page)
    return median(seconds)


def measure(browser: Browser, home: Path, outputs: int, labels: int) -> None:
    url = f"sqlite:///{home / 'errorscope.db'}"
    store = open_store(url)
    made = not store.projects.list()
    seconds = fill(store, outputs) if made else float("nan")
    if made and labels:
        label(url, labels)
    project = store.projects.list()[0].id
    print(f"\n{outputs:,} outputs, {labels:,} error spans: import {seconds:.1f} s", flush=True)
    for name, took in first_reads(open_store(url)).items():
        print(f"  first read of {name:28} {took:7.2f}")
    print(f"  list of projects {timed(lambda: open_store(url).projects.list()):24.3f}", flush=True)
    with serving(home, ERRORSCOPE_DB=url, ERRORSCOPE_WORKER="off") as server:
        print(f"  server at the start: {memory(server)}")
        page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
        page.set_default_timeout(180_000)
        content, rest = opened(page, server, "projects", project)
        print(f"  new server, new browser: content {content:5.2f}, at rest {rest:5.2f}  {memory(server)}")
        time.sleep(WARM_UP)  # modules of other pages are loaded in the background
        for path in PAGES:
            visits = [opened(page, server, path, project) for _ in range(2)]
            said = "   ".join(
                f"{when}: content {c:5.2f}, at rest {r:5.2f}"
                for when, (c, r) in zip(("first", "again"), visits, strict=True)
            )
            print(f"  {path:18} {said}  {memory(server)}", flush=True)
        print(f"  next segment {next_segments(page, server, project):28.3f}  {memory(server)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--labels", type=int, default=0, help="error spans")
    parser.add_argument("--home", type=Path, help="folder in which databases are kept for the next run")
    given = parser.parse_args()
    if given.labels and (given.labels % (SYSTEMS * ANNOTATORS) or given.labels > ANNOTATORS * min(given.outputs)):
        parser.error(f"--labels takes a multiple of {SYSTEMS * ANNOTATORS}, at most {ANNOTATORS} times the outputs")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        for outputs in given.outputs:
            name = f"{outputs}-{given.labels}" if given.labels else str(outputs)
            measure(browser, (given.home or Path(folder)) / name, outputs, given.labels)
        browser.close()


if __name__ == "__main__":
    main()
