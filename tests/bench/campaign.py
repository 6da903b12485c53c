"""A simulated campaign over HTTP: `python -m tests.bench.campaign`.

Bots with answer models (careful, careless, copycat, adversarial; `tests.bots`) open their personal links, label and submit what they are
given, while two managers pause, resume, exclude and include at the same time, people drop out, and the server is killed (SIGKILL) and
started again. At the end every acknowledged action is looked up in the database, raters of each unit are counted, and verdicts are
compared with what the bots are.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import secrets
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import httpx

from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.protocol import PROTOCOLS
from core.campaigns.rater_evidence import DEFAULT_THRESHOLDS, verdicts
from core.data import Dataset, Output, Segment, Span, grouped
from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.services.campaigns import people, setup
from core.services.campaigns.answers import read_labels
from core.services.campaigns.quality import submitted_units
from db.store import open_store
from tests import bots
from tests.browser.conftest import Server

SYSTEMS = 6
DOCUMENTS, SEGMENTS = 20, 5
KINDS = ("careful",) * 20 + ("careless",) * 4 + ("copycat",) * 3 + ("adversarial",) * 3
ANSWER_SECONDS, RETRY_SECONDS = 30.0, 0.5
ASK_AGAIN_SECONDS, TIMES_ASKED = 5.0, 16
"""Who has nothing left asks again for longer than a lease: people drop out, and their units are given to others."""
WORDS = (
    "garden house river winter letter market doctor bridge engine island teacher window forest kitchen summer station village mountain "
    "paper silver coffee bottle flower shadow morning evening captain soldier writer painter ocean valley desert storm harbour castle"
).split()
VERBS = "saw found lost bought sold moved opened closed painted repaired carried followed".split()
WRONG = "zebra"
"""The word that stands for a major error; a minor one is a doubled word."""


def sentence(rng: random.Random) -> str:
    names = rng.sample(WORDS, 6)
    return (
        f"The {names[0]} {rng.choice(VERBS)} the {names[1]} near the {names[2]}, and {rng.randint(2, 90)} people {rng.choice(VERBS)} the "
        f"{names[3]} because the {names[4]} was not far from the {names[5]}."
    )


def with_errors(text: str, rate: float, rng: random.Random) -> str:
    """Replace words by a wrong one at this rate."""
    return " ".join(WRONG if rng.random() < rate and len(word) > 4 else word for word in text.split(" "))


def dataset(seed: int = 1) -> Dataset:
    rng = random.Random(seed)
    segments, outputs = [], []
    for d in range(DOCUMENTS):
        for s in range(SEGMENTS):
            text = sentence(rng)
            segments.append(Segment(f"document {d}", str(s), text))
            outputs += [
                Output(f"system {n}", f"document {d}", str(s), with_errors(text, 0.02 + 0.04 * n, rng))
                for n in range(SYSTEMS)
            ]
    return Dataset(tuple(segments), tuple(outputs))


class Participant:
    """One browser of a bot, which sends each action until it is acknowledged."""

    def __init__(self, name: str, kind: str, token: str, answer: Any, units: int | None) -> None:
        self.name, self.kind, self.answer, self.most = name, kind, answer, units
        self.headers = {"Authorization": f"Bearer {token}"}
        self.acknowledged: list[str] = []
        self.refused: dict[str, str] = {}
        self.submitted = 0
        self.retries = 0
        self.code = ""

    async def work(self, client: httpx.AsyncClient) -> None:
        """Label until nothing is left, or until the bot drops out in the middle of a unit."""
        asked_again = 0
        while True:
            unit = await self.ask(client, "/api/unit", {"step": "unlabelled"})
            if "paused" in unit.get("error", ""):
                await asyncio.sleep(1.0)
                continue
            if "campaign" not in unit:
                return
            if unit["campaign"]["finished"]:
                self.code = unit["campaign"]["code"]
                if asked_again == TIMES_ASKED:
                    return
                asked_again += 1
                await asyncio.sleep(ASK_AGAIN_SECONDS)
                continue
            if unit["done"] == unit["total"]:  # paused
                await asyncio.sleep(1.0)
                continue
            asked_again = 0
            actions = self.answer(unit)
            if self.most is not None and self.submitted >= self.most:
                await self.send(client, unit, actions[:1])
                return
            await self.send(client, unit, [*actions, {"kind": "submit", "output": None, "payload": {}}])
            self.submitted += 1

    async def send(self, client: httpx.AsyncClient, unit: dict[str, Any], actions: list[dict[str, Any]]) -> None:
        waiting = [{"id": secrets.token_hex(16), "time": ""} | action for action in actions]
        while waiting:
            batch = {"project": unit["project"], "doc": unit["doc"], "segment": unit["segment"], "actions": waiting}
            answer = await self.ask(client, "/api/actions", {"rater": self.name, "batches": [batch]})
            self.acknowledged += answer.get("acknowledged", ())
            self.refused |= answer.get("refused", {})
            settled = {*answer.get("acknowledged", ()), *answer.get("refused", ())}
            waiting = [a for a in waiting if a["id"] not in settled]

    async def ask(self, client: httpx.AsyncClient, url: str, sent: dict[str, Any]) -> dict[str, Any]:
        while True:
            with suppress(httpx.HTTPError, ValueError):
                response = await client.post(url, headers=self.headers, json=sent)
                if response.status_code < 500 and response.status_code != 429:
                    found: dict[str, Any] = response.json()
                    return found
            self.retries += 1
            await asyncio.sleep(RETRY_SECONDS)


async def managers(store: Store, campaign: Campaign, stop: asyncio.Event) -> int:
    """Two managers who pause and resume, exclude and include, retire and take back, at the same time."""
    done = 0

    def act(rng: random.Random) -> None:
        match rng.randrange(3):
            case 0:
                store.campaigns.set_state(campaign.id, "paused")
                time.sleep(0.2)
                store.campaigns.set_state(campaign.id, "running")
            case 1:
                who = rng.choice(store.campaigns.participants(campaign.id))
                people.exclude(store, "boss", campaign, who.id, "tried out")
                people.exclude(store, "boss", campaign, who.id, "")
            case 2:
                unit = rng.choice(store.campaigns.units(campaign.id))
                store.campaigns.retire(campaign.id, [unit.id])
                store.campaigns.retire(campaign.id, [unit.id], False)

    async def one(number: int) -> None:
        nonlocal done
        rng = random.Random(number)
        await asyncio.sleep(5)
        while not stop.is_set():
            await asyncio.to_thread(act, rng)
            done += 1
            await asyncio.sleep(rng.uniform(2, 8))

    await asyncio.gather(one(1), one(2))
    store.campaigns.set_state(campaign.id, "running")
    return done


async def hand_over(store: Store, campaign: Campaign, working: list[tuple[Participant, asyncio.Task[None]]]) -> None:
    """With fixed lists, give the rest of each person who has dropped out to all others."""
    left = {bot.name: task for bot, task in working if bot.most is not None}
    if design_from_json(campaign.design).assigning != "fixed" or not left:
        return
    await asyncio.wait(left.values())
    gone = {p.rater: p.id for p in store.campaigns.participants(campaign.id)}
    for name in left:
        shares = await asyncio.to_thread(people.hand_over, store, "boss", campaign, gone[name], None, "dropped out")
        print(f"{name} dropped out: {sum(s.units for s in shares)} units handed over to {len(shares)} people")


async def run(store: Store, campaign: Campaign, server: Server, people_of: list[Participant], kills: int) -> int:
    stop = asyncio.Event()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=server.url, timeout=ANSWER_SECONDS, limits=limits) as client:
        working = [asyncio.create_task(bot.work(client)) for bot in people_of]
        managing = asyncio.create_task(managers(store, campaign, stop))
        handing = asyncio.create_task(hand_over(store, campaign, list(zip(people_of, working, strict=True))))
        for _ in range(kills):
            await asyncio.sleep(random.uniform(10, 25))
            server.kill()
            await asyncio.to_thread(server.start)
        await asyncio.gather(*working, handing)
        stop.set()
        return await managing


def report(store: Store, campaign: Campaign, people_of: list[Participant], design: CampaignDesign) -> None:
    events = Counter(e.action.id for e in store.labels.events(campaign.texts))
    acknowledged = [i for bot in people_of for i in bot.acknowledged]
    lost, twice = sum(i not in events for i in acknowledged), sum(n > 1 for n in events.values())
    units = [u for u in store.campaigns.units(campaign.id) if u.kind == "item"]
    slots = {(a.participant_id, a.unit.id): a.slot for a in store.campaigns.assignments(campaign.id)}
    raters = grouped(
        (a.unit.name, (a.rater, slots[a.participant_id, a.unit.id]))
        for a in read_labels(store, campaign).answers
        if a.counts
    )
    short = [u.name for u in units if len({slot for _, slot in raters.get(u.name, ()) if slot}) < design.overlap]
    double = [name for name, given in raters.items() if len({rater for rater, _ in given}) < len(given)]
    extra = sum(len(given) - design.overlap for given in raters.values() if len(given) > design.overlap)
    print(f"{len(units)} units, {len(acknowledged):,} actions acknowledged: lost {lost}, twice {twice}")
    print(
        f"units with fewer than {design.overlap} distinct raters: {len(short)}; a rater twice: {len(double)}; extra ratings: {extra}"
    )
    print(
        f"refused: {Counter(why for bot in people_of for why in bot.refused.values())}; sent again: {sum(b.retries for b in people_of)}"
    )
    orders: dict[tuple[str, int], int] = {}
    for a in store.campaigns.assignments(campaign.id):
        if a.unit.kind == "item" and len(a.order) > 1:
            for place, system in enumerate(a.order):
                orders[system, place] = orders.get((system, place), 0) + 1
    if orders:
        print(f"system × position: {min(orders.values())} to {max(orders.values())}")
    _verdicts(store, campaign, people_of)


def _verdicts(store: Store, campaign: Campaign, people_of: list[Participant]) -> None:
    """Bots do not read, so that the speed of everybody is implausible: it is not counted here."""
    kinds = {bot.name: bot.kind for bot in people_of}
    found = verdicts(
        submitted_units(store, campaign, read_labels(store, campaign).answers),
        replace(DEFAULT_THRESHOLDS, words_per_second=math.inf),
    )
    for kind in dict.fromkeys(KINDS):
        given = Counter(v.verdict for v in found if kinds[v.rater] == kind)
        print(f"{kind}: {given['fine']} fine, {given['look']} to look at, {given['exclude?']} to exclude")
    flagged = {v.rater for v in found if v.verdict != "fine"}
    bad = {name for name, k in kinds.items() if k != "careful"}
    print(f"flagged: precision {len(flagged & bad)}/{len(flagged)}, recall {len(flagged & bad)}/{len(bad)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocol", choices=list(PROTOCOLS), default="esa")
    parser.add_argument("--assigning", choices=("dynamic", "fixed"), default="dynamic")
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--drop", type=int, default=5, help="careful people who drop out")
    parser.add_argument("--database", default="", help="an SQLAlchemy URL; a new SQLite file if it is not given")
    args = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="errorscope-campaign-"))
    url = args.database or f"sqlite:///{home / 'errorscope.db'}"
    store = open_store(url)
    project = store.projects.create(f"campaign {secrets.token_hex(3)}").id
    given = dataset()
    store.projects.add(project, given)
    design = replace(
        CampaignDesign(PROTOCOLS[args.protocol]), overlap=3, people=len(KINDS), assigning=args.assigning, lease_minutes=1,
        checks=0.05, repeats=0.03, seed=7, block_size=5,
    )  # fmt: skip
    campaign = setup.create(store, "boss", project, "simulated", design)
    store.campaigns.set_state(campaign.id, "running")
    names = [f"{kind} {n}" for n, kind in enumerate(KINDS)]
    made = people.invite(store, "boss", campaign, names)
    known = Known()
    everybody = [
        Participant(
            name, kind, link.token, known.answering(kind, n), 3 + n if kind == "careful" and n < args.drop else None
        )
        for n, (name, kind, link) in enumerate(zip(names, KINDS, made, strict=True))
    ]
    server = Server(home, {"ERRORSCOPE_DB": url, "ERRORSCOPE_WORKER": "off"})
    server.start()
    try:
        began = time.monotonic()
        acts = asyncio.run(run(store, campaign, server, everybody, args.kills))
        print(
            f"{args.protocol}, {args.assigning}: {time.monotonic() - began:.0f} s, {acts} acts of managers, servers killed {args.kills}"
        )
        report(store, campaign, everybody, design)
    finally:
        server.kill()


class Known:
    """The true errors of every output shown, and what was answered on it so far."""

    def __init__(self) -> None:
        self.answers: dict[str, list[bots.BotAnswer]] = {}

    def answering(self, kind: str, number: int) -> Any:
        rng = random.Random(number)
        rater = bots.bot_rater(kind, rng)  # type: ignore[arg-type]

        def answer(unit: dict[str, Any]) -> list[dict[str, Any]]:
            shown = {
                o["id"]: bots.BotOutput(o["text"], true_errors(o["text"], unit["source"])) for o in unit["outputs"]
            }
            before = self.answers.setdefault(unit["doc"], [])
            places = [o["id"] for o in unit["outputs"]]
            others = [_renamed(given, places) for given in before]
            given = bots.answer(rater, shown, rng, others)
            before.append(_renamed(given, [str(i) for i in range(len(places))]))
            return actions_of(given, unit)

        return answer


def _renamed(given: bots.BotAnswer, names: list[str]) -> bots.BotAnswer:
    """Return the answer with other names of the outputs, by their place: browsers have different ids for them."""
    new = dict(zip(given.spans, names, strict=True))
    return bots.BotAnswer(
        {new[k]: v for k, v in given.spans.items()}, {new[k]: v for k, v in given.scores.items()},
        tuple(None if winner is None else new[winner] for winner in given.preference),
    )  # fmt: skip


def true_errors(text: str, source: str) -> tuple[Span, ...]:
    """Return where the text differs from the source, which is the right text here; neighbouring words are one error."""
    known, spans, at = Counter(source.split()), [], 0
    for word in text.split(" "):
        if word and not known[word]:
            if spans and spans[-1].end + 1 == at:
                spans[-1] = replace(spans[-1], end=at + len(word), quote=text[spans[-1].start : at + len(word)])
            else:
                spans.append(Span("output", at, at + len(word), word, "Major", "Unspecified"))
        known[word] -= 1
        at += len(word) + 1
    return tuple(spans)


def actions_of(given: bots.BotAnswer, unit: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the actions of the browser for an answer."""
    found: list[dict[str, Any]] = []
    for output, spans in given.spans.items():
        if "spans" in unit["asks"]:
            category = next(c["path"] for c in unit["categories"] if c["where"] != "source")
            marks = [asdict(s) | {"category": category, "mark": secrets.token_hex(8)} for s in dict.fromkeys(spans)]
            found += [{"kind": "add", "output": output, "payload": mark} for mark in marks]
            if not spans and "score" not in unit["asks"]:
                found.append({"kind": "verdict", "output": output, "payload": {"value": "no_error"}})
        if "score" in unit["asks"]:
            found.append({"kind": "score", "output": output, "payload": {"value": given.scores[output]}})
    if "preference" in unit["asks"]:
        found.append({"kind": "prefer", "output": None, "payload": {"winner": given.preference[0]}})
    return found


if __name__ == "__main__":
    main()
