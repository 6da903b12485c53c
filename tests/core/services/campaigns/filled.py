"""Campaigns in which simulated people have labelled."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.protocol import PROTOCOLS, ProtocolName
from core.data import Dataset, Output, Segment
from core.ports.campaigns import Assignment, Campaign, Participant
from core.ports.labels import Action, ActionKind, UnitTouch
from core.ports.store import Store
from core.services.campaigns import setup
from core.services.campaigns.answers import key_of
from core.services.campaigns.work import draw_for, participant
from core.services.labels.labels import open_segment
from tests.stores import new_store
from tests.templates import database_with

QUALITY = {"Alder": 88.0, "Birch": 76.0, "Cedar": 60.0}
SEVERITY = {"Ana": 6.0, "Ben": 0.0, "Chi": -7.0}
WORDS = "the council approved a new plan for the harbour after long talks with residents of the old town".split()


def texts(documents: int = 3, segments: int = 4, systems: Sequence[str] = tuple(QUALITY)) -> Dataset:
    """Texts of some length, all different."""
    rng = Random(7)
    keys = [(f"doc{d}", str(s)) for d in range(documents) for s in range(segments)]
    return Dataset(
        tuple(Segment(d, s, f"Quelle {d} {s} über den Hafen und die Altstadt.") for d, s in keys),
        tuple(
            Output(system, d, s, f"In {d} {s} {' '.join(rng.sample(WORDS, 14))}.") for d, s in keys for system in systems
        ),
    )  # fmt: skip


def started(
    store: Store, protocol: ProtocolName = "esa", *, people: Sequence[str] = tuple(SEVERITY), dataset: Dataset | None = None,
    name: str = "pilot", **design: object,
) -> Campaign:  # fmt: skip
    """Return a running campaign of a new project. `design` are fields of `CampaignDesign`."""
    project = store.projects.create(f"news, {name}").id
    store.projects.add(project, dataset or texts())
    wanted = {"overlap": 2, "people": max(2, len(people)), "block_size": 4, "pay_per_hour": 15.0} | design
    made = CampaignDesign(protocol=PROTOCOLS[protocol], **wanted)  # type: ignore[arg-type]
    campaign = setup.create(store, "test", project, name, made)
    store.campaigns.set_state(campaign.id, "running")
    for rater in people:
        participant(store, campaign, rater)
    return store.campaigns.get(campaign.id)


def assigned(store: Store, campaign: Campaign, who: Participant, at: datetime) -> list[Assignment]:
    """Give a participant the next units."""
    people = [p.id for p in store.campaigns.participants(campaign.id)]
    design = design_from_json(campaign.design)
    lease = at + timedelta(hours=1) if design.assigning == "dynamic" else None
    return store.campaigns.assign(campaign.id, who.id, at, lease, draw_for(design, who, people.index(who.id)))


def label(
    store: Store, campaign: Campaign, who: Participant, given: Assignment, at: datetime, rng: Random,
    *, submit: bool = True,
) -> None:  # fmt: skip
    """Label a unit as this person would, and submit it."""
    asks, key, n = design_from_json(campaign.design).protocol.asks, key_of(given.unit.name), 0
    open_segment(store, campaign.texts, who.rater, key, given.order, order=given.order)
    written = {o.system: o.text for o in store.projects.document(campaign.texts, given.unit.name).outputs}
    actions: list[Action] = []

    def add(kind: ActionKind, system: str | None, **payload: object) -> None:
        nonlocal n
        n += 1
        actions.append(Action(f"{who.rater}-{given.unit.name}-{n}", kind, system, payload))

    scores = {
        s: QUALITY.get(s, 70.0) + SEVERITY.get(who.rater, 0.0) + rng.gauss(0, 8) for s in given.unit.systems
    }  # fmt: skip
    for system, score in scores.items():
        score = min(100.0, max(0.0, round(score)))
        if "spans" in asks:
            text = written[system]
            start = text.index(" ", rng.randrange(len(text) // 2)) + 1
            end = text.index(" ", start) if " " in text[start:] else len(text)
            if score < 82:
                add("add", system, mark=f"m{n}", side="output", start=start, end=end, quote=text[start:end],
                    severity="Major" if score < 60 else "Minor", category="Accuracy/Mistranslation", note="")  # fmt: skip
            elif "score" not in asks:
                add("verdict", system, value="no_error")
        if "score" in asks:
            add("score", system, value=score)
    if "preference" in asks:
        first, second = given.unit.systems
        add(
            "prefer",
            None,
            winner=None if abs(scores[first] - scores[second]) < 4 else max(scores, key=scores.__getitem__),
        )
    if submit:
        add("submit", None, **({} if asks == ("spans",) else {"asks": list(asks)}))
    store.labels.append(campaign.texts, who.rater, key, actions, UnitTouch(at, at + timedelta(hours=1)))


def work(
    store: Store, campaign: Campaign, share: float = 1.0, begin: datetime | None = None, per_day: int = 12, seed: int = 1
) -> None:  # fmt: skip
    """Let the participants label in turn until this share of the ratings is submitted, so many per day and person."""
    rng, people = Random(seed), store.campaigns.participants(campaign.id)
    start = begin or datetime.now(UTC) - timedelta(days=4)
    items = sum(u.kind == "item" and not u.retired for u in store.campaigns.units(campaign.id))
    wanted, done = round(share * items * design_from_json(campaign.design).overlap), 0
    waiting: dict[int, list[Assignment]] = {p.id: [] for p in people}
    counts = dict.fromkeys(waiting, 0)
    while done < wanted:
        before = done
        for who in people:
            at = start + timedelta(days=counts[who.id] // per_day, minutes=2 * (counts[who.id] % per_day))
            waiting[who.id] = waiting[who.id] or assigned(store, campaign, who, at)
            if waiting[who.id] and done < wanted:
                given = waiting[who.id].pop(0)
                label(store, campaign, who, given, at, rng)
                counts[who.id] += 1
                done += given.unit.kind == "item"
        if done == before and not any(waiting.values()):
            return


def completed(protocol: ProtocolName = "esa") -> tuple[Store, Campaign]:
    """Return a campaign on 2 documents × 4 segments with all ratings, made once per process, and the store over a copy."""

    def write(store: Store) -> None:
        work(store, started(store, protocol, dataset=texts(2, 4)))

    def put_database(path: Path) -> str:
        return database_with(f"completed-{protocol}", write, path)

    store = new_store(put_database)
    (project,) = store.projects.list()
    (campaign,) = store.campaigns.list(project.id)
    return store, campaign
