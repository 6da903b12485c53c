"""Labels in real browsers while the server is killed: `python -m tests.bench.outboxes [--kills N] [--database URL] [--seed N]`.

One annotator has six links of the same name: to two projects, two calibration sets of a third one, and two campaigns. Two browsers label
on them at random, change links, close tabs, reload, and lose the network or the answers, while the server is killed (SIGKILL) at random
moments and started again. At the end the network is back, every link is opened once more in both browsers, and all actions are looked up:

- lost: acknowledged, and not in the database
- doubled: more than once in the database
- dropped: made, and neither acknowledged nor refused nor in an outbox. (An undo of a refused action is dropped with it.)
- left: still in an outbox, although the page of its link has been open

The exit status is 1 if any of these is not 0. Actions may be refused as stale, because both browsers change the same labels; the editor
then shows both versions. Other refusals are listed with their reason, and are faults too.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, BrowserContext, Error, Page, Route, sync_playwright

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import PROTOCOLS
from core.data import Dataset, Output, OutputKey, Segment
from core.ports.calibration import Chosen, SavedBatch
from core.ports.store import Store
from core.services.campaigns import people, setup
from core.services.people import links
from db.store import open_store
from tests.browser.conftest import CHROMIUM, QUIET, Server

RATER = "Ana"
SYSTEMS = ("A", "B")
SEGMENTS = 12
OUTBOX = "errorscope.outbox/"
POSTS = "**/api/actions"
KEYS = ("n", "n", "n", "x", "o", "o", "u", "r", "Enter", "Enter", "j", "k", "g")
SECONDS = 5.0
"""The longest wait for one step of a browser, in which the server may be down."""
RECORDING = """(() => {
  const set = Storage.prototype.setItem;
  const note = (kind, id, value) => set.call(localStorage, `bench.${kind}/${id}`, JSON.stringify(value));
  Storage.prototype.setItem = function (key, text) {
    set.call(this, key, text);
    if (!key.startsWith("OUTBOX") || key === "OUTBOXprobe") return;
    const { action, project, doc, segment } = JSON.parse(text);
    note("made", action.id, { kind: action.kind, place: [project, doc, segment] });
  };
  const real = window.fetch;
  window.fetch = async (url, options) => {
    const response = await real(url, options);
    if (!String(url).endsWith("/api/actions") || !response.ok) return response;
    const answer = await response.clone().json();
    for (const id of answer.acknowledged) note("acknowledged", id, true);
    for (const [id, why] of Object.entries(answer.refused)) note("refused", id, answer.stale.includes(id) ? "stale" : why);
    return response;
  };
})()""".replace("OUTBOX", OUTBOX)
"""Notes in the browser what the editor makes and what the server answers, before the editor knows it."""


class Found(NamedTuple):
    """What the browsers have noted, by id of the action, and the ids in outboxes."""

    made: dict[str, dict[str, Any]]
    acknowledged: set[str]
    refused: dict[str, str]
    left: set[str]


def prepared(store: Store) -> list[str]:
    """Return the paths of six links of one name."""
    made = []
    for name in ("first", "second", "sets"):
        project = store.projects.create(f"{name} project").id
        store.projects.add(project, texts(name))
        if name != "sets":
            made.append(links.create(store, "bench", project, RATER).path)
            continue
        for batch, numbers in (("odd", range(1, SEGMENTS, 2)), ("even", range(0, SEGMENTS, 2))):
            chosen = tuple(Chosen(OutputKey(s, "doc", str(n)), 0.5) for n in numbers for s in SYSTEMS)
            store.batches.save(project, SavedBatch(batch, "uniform", 1, "bench", chosen, SEGMENTS * len(SYSTEMS)))
            made.append(links.create(store, "bench", project, RATER, batch).path)
    for name in ("first", "second"):
        project = store.projects.create(f"{name} of a campaign").id
        store.projects.add(project, texts(name))
        campaign = setup.create(store, "bench", project, name, CampaignDesign(PROTOCOLS["mqm"]))
        made += [link.path for link in people.invite(store, "bench", campaign, [RATER])]
        store.campaigns.set_state(campaign.id, "running")
    return made


def texts(name: str) -> Dataset:
    segments = tuple(Segment("doc", str(n), f"Source text {n} of {name}.") for n in range(SEGMENTS))
    outputs = tuple(Output(s, *seg.key, f"{s} wrote this for {seg.source}") for seg in segments for s in SYSTEMS)
    return Dataset(segments, outputs)


class BrowserUser:
    """One browser, whose person does something at random, whether the server answers or not."""

    def __init__(self, browser: Browser, url: str, paths: list[str], seed: int) -> None:
        self.context: BrowserContext = browser.new_context(viewport={"width": 1200, "height": 900})
        self.context.set_default_timeout(SECONDS * 1000)
        self.context.add_init_script(RECORDING)
        self.addresses, self.random = [f"{url}/{path}" for path in paths], random.Random(seed)
        self.steps: Counter[str] = Counter()
        self.tab: Page = self.context.new_page()

    def step(self) -> None:
        """Do one thing: label most of the time."""
        shown = self.tab.locator(".esa-output").count() > 0
        acts = {"label": 60 if shown else 0, "open": 3, "reload": 1, "close": 1, "network": 2, "answers": 1}
        (act,) = self.random.choices(list(acts), list(acts.values()))
        with suppress(Error):
            getattr(self, act)()
            self.steps[act] += 1

    def label(self) -> None:
        self.decide()
        for _ in range(self.random.randint(1, 4)):
            self.tab.keyboard.press(self.random.choice(KEYS))

    def decide(self) -> None:
        """Choose one of two versions if the editor asks."""
        for button in self.tab.locator(".esa-help[open] .esa-choices button").all():
            if self.random.random() < 0.5:
                button.click()
                return

    def open(self) -> None:
        self.tab.goto(self.random.choice(self.addresses), wait_until="commit")

    def reload(self) -> None:
        self.tab.reload(wait_until="commit")

    def close(self) -> None:
        self.tab.close()
        self.tab = self.context.new_page()

    def network(self) -> None:
        """Lose the network, or have it back."""
        self.context.set_offline(self.random.random() < 0.3)

    def answers(self) -> None:
        """Lose the answers of the server, which saves, or hear them again."""
        self.context.unroute_all(behavior="ignoreErrors")
        if self.random.random() < 0.4:
            self.context.route(POSTS, _lose_the_answer)

    def finish(self) -> None:
        """Open every link with the network and the server there, until its outbox is empty."""
        self.context.unroute_all(behavior="ignoreErrors")
        self.context.set_offline(False)
        for address in self.addresses:
            self.tab.goto(address, wait_until="load", timeout=120_000)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                self.tab.wait_for_timeout(200)
                for button in self.tab.locator(".esa-help[open] .esa-choices button").all()[:1]:
                    button.click()  # keep the saved version
                foot = self.tab.get_by_test_id("saved-state")
                if foot.count() and any(text in foot.inner_text() for text in ("saved ✓", "no labels yet")):
                    break

    def outcome(self) -> Found:
        noted: dict[str, dict[str, Any]] = {"made": {}, "acknowledged": {}, "refused": {}}
        self.tab.goto(self.addresses[0], wait_until="commit")
        everything: dict[str, str] = self.tab.evaluate("() => ({ ...localStorage })")
        for key, text in everything.items():
            kind, _, name = key.removeprefix("bench.").partition("/")
            if key.startswith("bench."):
                noted[kind][name] = json.loads(text)
        left = {key.removeprefix(OUTBOX) for key in everything if key.startswith(OUTBOX)}
        return Found(noted["made"], set(noted["acknowledged"]), noted["refused"], left)


def _lose_the_answer(route: Route) -> None:
    with suppress(Error):
        route.fetch(timeout=SECONDS * 1000)
        route.abort()


def kill_often(server: Server, kills: int, seed: int, done: threading.Event) -> None:
    """Kill the server at random moments, and start it again after a while."""
    chance = random.Random(seed)
    for number in range(kills):
        time.sleep(chance.uniform(0.2, 4.0))
        server.kill()
        time.sleep(chance.uniform(0.0, 1.5))
        server.start()
        if (number + 1) % 20 == 0:
            print(f"{number + 1} of {kills} kills", flush=True)
    done.set()


def report(store: Store, browsers: list[BrowserUser], kills: int) -> bool:
    """Print what became of the actions; return whether none is lost, doubled, dropped or left, or refused for another reason than being stale."""
    stored = Counter(e.action.id for p in _with_texts(store) for e in store.labels.events(p) if e.action.kind != "open")
    each = [browser.outcome() for browser in browsers]
    made = {name: action for found in each for name, action in found.made.items()}
    acknowledged = {name for found in each for name in found.acknowledged}
    refused = {name: why for found in each for name, why in found.refused.items() if name not in acknowledged}
    left = {name for found in each for name in found.left}
    broken = {json.dumps(made[name]["place"]) for name in refused if name in made}
    undone = {n for n, of in made.items() if of["kind"] in ("undo", "redo") and json.dumps(of["place"]) in broken}
    unanswered = [name for name in made if name not in acknowledged | left | refused.keys() | stored.keys()]
    dropped = [name for name in unanswered if name not in undone]
    lost = [name for name in acknowledged if name not in stored]
    doubled = [name for name, n in stored.items() if n > 1]
    reasons = Counter(why for name, why in refused.items() if why == "stale" or name not in undone)
    stale = reasons.pop("stale", 0)
    steps = sum((browser.steps for browser in browsers), Counter[str]())
    print(f"{kills} kills; steps: {', '.join(f'{n:,} × {act}' for act, n in steps.most_common())}")
    skipped = len(undone & {*unanswered, *refused})
    print(
        f"{len(made):,} made, {len(acknowledged):,} acknowledged, {stale} refused as stale, {skipped} undone with a refused one"
    )
    print(
        f"lost {len(lost)}, doubled {len(doubled)}, dropped {len(dropped)}, left in an outbox {len(left)}, refused otherwise {dict(reasons)}"
    )
    return not (lost or doubled or dropped or left or reasons)


def _with_texts(store: Store) -> list[int]:
    projects = [p.id for p in store.projects.list()]
    return projects + [c.texts for p in projects for c in store.campaigns.list(p)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--database", default="", help="an SQLAlchemy URL; a new SQLite file if it is not given")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="errorscope-outboxes-"))
    url = args.database or f"sqlite:///{home / 'errorscope.db'}"
    store = open_store(url)
    paths = prepared(store)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server ends too
    server = Server(home, {"ERRORSCOPE_DB": url, "ERRORSCOPE_WORKER": "off"})
    server.start()
    done = threading.Event()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
            users = [BrowserUser(browser, server.url, paths, args.seed + n) for n in range(2)]
            killing = threading.Thread(target=kill_often, args=(server, args.kills, args.seed, done), daemon=True)
            killing.start()
            while not done.is_set() and killing.is_alive():
                for user in users:
                    user.step()
                time.sleep(random.uniform(0.0, 0.1))
            killing.join()
            for user in users:
                user.finish()
            fine = report(store, users, args.kills)
            browser.close()
    finally:
        server.kill()
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
