"""What each role may call, over every method of every port."""

from __future__ import annotations

import inspect
import itertools
import shutil
import typing
from collections.abc import Callable, Hashable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import PROTOCOLS
from core.data import Dataset, Output, OutputKey, Segment, SegmentKey
from core.errors import NotAllowed, UserError
from core.formats.files import Upload
from core.ports.calibration import Chosen, SavedBatch, SavedLambda
from core.ports.campaigns import Campaign, HandOver, NewUnit
from core.ports.labels import Action
from core.ports.people import LOCAL, Account, Identity, Role
from core.ports.robustness import KeptCase
from core.ports.rules import rule_of
from core.ports.scores import Timing
from core.ports.store import Store
from core.services.campaigns import running
from core.services.people import accounts, links
from core.services.people.guard import guarded
from db.engine import connect
from db.store import store_over
from tests.builders import small_dataset
from tests.line_files import stage_lines
from tests.templates import empty_database

FIRST = SegmentKey("doc", "0")
PORTS = typing.get_type_hints(Store)
METHODS = [
    (port, name)
    for port, protocol in PORTS.items()
    for name, value in vars(protocol).items()
    if inspect.isfunction(value) and not name.startswith("_") and name != "_no_init_or_replace_init"
]
NOBODY = {
    *(("chunks", name) for port, name in METHODS if port == "chunks"),
    ("people", "password_hash"), ("people", "campaigns"), ("people", "session"), ("people", "start_session"), ("people", "end_session"),
    ("people", "link"), ("campaigns", "assign"), ("shared", "page"),
}  # fmt: skip
READS = {
    ("exports", "texts"), ("exports", "keys"), ("exports", "scores"), ("exports", "n_references"), ("exports", "most_references"),
    ("projects", "compare"), ("projects", "continues"), ("projects", "present"), ("projects", "get"), ("projects", "dataset"), ("projects", "document"), ("projects", "index"), ("projects", "texts"),
    ("projects", "search"), ("projects", "human_score"), ("scores", "column"), ("scores", "signatures"), ("scores", "detail"), ("scores", "details"),
    ("spans", "list"), ("spans", "load"), ("spans", "of_segment"),
    ("scores", "external"), ("jobs", "get"), ("jobs", "recent"), ("jobs", "unfinished"), ("jobs", "progress"), ("labels", "events"), ("labels", "recorded"), ("labels", "of_rater"), ("labels", "folded"), ("labels", "raters"),
    ("labels", "newest"), ("calibrations", "list"), ("batches", "list"), ("labels", "judgements"), ("cases", "list"),
    ("stress", "list"), ("stress", "report"), ("settings", "get"), ("campaigns", "list"), ("campaigns", "get"), ("campaigns", "units"),
    ("campaigns", "has_any"), ("campaigns", "versions"),
    ("campaigns", "participants"), ("campaigns", "assignments"), ("campaigns", "remaining_work"),
}  # fmt: skip
WRITES = {
    ("projects", "rename"), ("projects", "delete"), ("projects", "add"), ("scores", "remove_external"),
    ("jobs", "enqueue"), ("jobs", "cancel"), ("calibrations", "save"), ("calibrations", "delete"), ("batches", "save"),
    ("batches", "archive"), ("batches", "delete"), ("cases", "keep"), ("cases", "remove"), ("stress", "save"),
    ("stress", "rename"), ("stress", "delete"), ("settings", "put"), ("people", "set_role"), ("people", "members"), ("people", "taking_part"),
    ("people", "add_link"), ("people", "links"), ("people", "revoke"), ("audit", "entries"),
    ("campaigns", "create"), ("campaigns", "set_state"), ("campaigns", "delete"), ("campaigns", "add_units"),
    ("campaigns", "replace"), ("campaigns", "retire"), ("campaigns", "join"), ("campaigns", "change"),
    ("campaigns", "hand_over"), ("shared", "add"), ("shared", "list"), ("shared", "revoke"), ("spans", "add"), ("spans", "remove"),
}  # fmt: skip
SERVER = {
    ("projects", "create"), ("people", "add_account"), ("people", "set_password"), ("people", "set_active"),
    ("people", "roles"), ("people", "has_link"), ("jobs", "prioritize"),
}  # fmt: skip
SOME_MANAGER = {("scores", "put"), ("timings", "add"), ("people", "accounts")}
EVERYONE = {
    ("projects", "list"), ("scores", "known"), ("scores", "values"), ("scores", "newest"), ("timings", "of"),
    ("people", "secret"), ("campaigns", "of_texts"),
}  # fmt: skip
TASKS = {
    ("projects", "document"), ("labels", "append"), ("labels", "events"), ("labels", "recorded"), ("labels", "of_rater"), ("batches", "list"),
    ("settings", "get"), ("campaigns", "join"), ("campaigns", "participants"), ("campaigns", "change"),
    ("campaigns", "assignments"), ("campaigns", "remaining_work"), ("campaigns", "assign"), ("campaigns", "units"),
}  # fmt: skip
CONTEXT = {("projects", "index"), ("projects", "texts")}
OWN_NAME = {("labels", "append"), ("labels", "append_valid"), ("audit", "record")}


class World(typing.NamedTuple):
    """Storage with a project of everything, another project, and people with each role in the first one."""

    store: Store
    project: int
    other: int
    arguments: dict[str, Any]
    people: dict[str, Identity]


TEXTS = Dataset((Segment("u1", "0", "source"),), (Output("A", "u1", "0", "text"),))
UNITS = [NewUnit("u1", 0, "item", FIRST, ("A",), {})]
WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def campaign_in(store: Store, project: int) -> Campaign:
    return store.campaigns.create(
        project, "pilot", {"overlap": 1}, {"protocol": {"asks": ["spans"]}}, TEXTS, UNITS, "ann"
    )


def no_error(id: str) -> Action:
    return Action(id, "verdict", "A", {"value": "no_error"})


def filled(store: Store) -> World:
    project, other = (store.projects.create(name).id for name in ("news", "secret"))
    for at in (project, other):
        store.projects.add(at, small_dataset())
    made = {"ann": accounts.add(store, "test", "ann", None, manager=True)}
    roles: tuple[Role, ...] = ("manager", "adjudicator", "viewer", "annotator")
    for role in roles:
        made[role] = accounts.add(store, "test", role, None, manager=False)
        store.people.set_role(project, made[role].id, role)
    chosen = SavedBatch("first", "random", 0, "s", (Chosen(OutputKey("A", "doc", "0"), 1.0),), 6)
    store.batches.save(project, chosen)
    store.calibrations.save(project, SavedLambda("l", 1.0, "s", "r"))
    store.spans.add(project, "l", {}, {}, {})
    case = KeptCase("c", "p", None, None, "good", "bad")
    arguments = {
        "project_id": project, "doc_id": FIRST.doc_id, "segments": [FIRST], "phrase": "text", "name": "l", "signature": "s", "keys": [], "segment": FIRST, "metric": "chrf",
        "metrics": ["chrf"], "values": {}, "seconds": 1.0, "fitted": SavedLambda("m", 1.0, "s", "r"),
        "batch": SavedBatch("second", "random", 0, "s", chosen.outputs, 6), "case": case, "value": 1, "report": "{}",
        "settings": {}, "model": "", "timing": Timing(1, 1, 1.0, 1.0), "account_id": made["viewer"].id, "role": "viewer",
        "password_hash": "x", "manager": False, "active": False, "token_hash": "a" * 64, "rater": "Rosa", "expires": None,
        "created_by": "x", "worker": "w", "done": 1, "total": 1, "state": "done", "actions": [no_error("1")],
        "job_id": store.jobs.enqueue(project, ["bleu"]).id, "case_id": store.cases.keep(project, case).id,
        "run_id": store.stress.save(project, "run", "{}", {}).id, "who": "x", "act": "tested",
        "link_id": links.create(store, "test", project, "Rosa").link.id,
    }  # fmt: skip
    campaign, _ = (campaign_in(store, at) for at in (project, other))
    arguments |= {
        "campaign_id": campaign.id, "design": {"overlap": 1}, "texts": TEXTS, "units": UNITS, "unit_ids": [], "code": "C",
        "participant_id": 1, "participant": store.campaigns.join(campaign.id, "Rosa", "C"), "now": WHEN,
        "lease_until": WHEN, "unit": "u1", "submitted": True, "draw": lambda state: (), "choose": lambda state: HandOver((), {}),
        "priority": 1, "chunk": None, "chunk_id": 1, "window": None, "chunks": (), "known": {}, "outputs": (), "reason": "",
        "result": None, "message": "", "fold": tuple, "title": "Pilot", "blind": False, "page": "<html>",
        "spans": {}, "provenance": {}, "left_out": {}, "names": ["l"],
        "shared_id": store.shared.add(project, campaign.id, "Pilot", False, "<html>", "b" * 64, "ann").id,
    }  # fmt: skip
    arguments["case"] = KeptCase("c", "p", None, None, "good", "worse")
    people = {name: Identity(account, store.people.roles(account.id)) for name, account in made.items()}
    link = store.people.links(project)[0]
    return World(store, project, other, arguments, people | {"link": Identity(link=link), "local": LOCAL})


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, World]:
    """The file of a world, which each test copies, and the world."""
    path = tmp_path_factory.mktemp("world") / "errorscope.db"
    engine = connect(empty_database(path))
    made = filled(store_over(engine))
    engine.dispose()
    return path, made


@pytest.fixture
def worlds(template: tuple[Path, World], tmp_path: Path) -> Iterator[Callable[[], World]]:
    """Return a new world, the same each time."""
    path, world = template
    engines: list[Engine] = []

    def new() -> World:
        copied = shutil.copy(path, tmp_path / f"{len(engines)}.db")
        engines.append(connect(f"sqlite:///{copied}"))
        source = stage_lines(None, [], {"A": Upload("A", b"x\n")})
        return World(
            store_over(engines[-1]), world.project, world.other, {**world.arguments, "source": source}, {**world.people}
        )

    yield new
    for engine in engines:
        engine.dispose()


@pytest.fixture
def world(worlds: Callable[[], World]) -> World:
    return worlds()


def call(world: World, person: str, port: str, name: str, /, tasks: bool = False, **changes: Any) -> Any:
    method = getattr(getattr(guarded(world.store, lambda: world.people[person], tasks=tasks), port), name)
    given = dict(world.arguments) | changes
    if (port, name) in (
        ("projects", "create"),
        ("people", "add_account"),
        ("projects", "rename"),
        ("stress", "rename"),
        ("campaigns", "create"),
    ):
        given["name"] = changes.get("name", "a new name")
    if (port, name) == ("spans", "add"):
        given["name"] = "another layer"
    if (port, name) in (("batches", "archive"), ("batches", "delete")):
        given["name"] = "first"
    if (port, name) == ("scores", "remove_external"):
        given["name"] = "none"
    if (port, name) == ("campaigns", "set_state"):
        given["state"] = "running"
    if (port, name) == ("campaigns", "add_units"):
        given["units"] = ()
    if (port, name) == ("people", "add_link"):
        given["batch"] = None
    protocol = inspect.signature(getattr(PORTS[port], name))
    wanted = [p for p in protocol.parameters.values() if p.name != "self"]
    needed = [
        p for p in wanted
        if (p.default is p.empty or p.name == "project_id" or p.name in changes) and p.kind is not p.VAR_KEYWORD
    ]  # fmt: skip
    return method(**{p.name: given[p.name] for p in needed})


def allowed(world: World, person: str, port: str, name: str, /, tasks: bool = False, **changes: Any) -> bool:
    """Whether the guard lets a call through; what storage itself refuses was let through."""
    try:
        call(world, person, port, name, tasks, **changes)
    except NotAllowed:
        return False
    except UserError:
        return True
    return True


def test_every_method_of_every_port_has_a_rule() -> None:
    assert [(port, name) for port, name in METHODS if rule_of(PORTS[port], name) is None] == []
    classes = (NOBODY, READS, WRITES, SERVER, SOME_MANAGER, EVERYONE, OWN_NAME)
    assert sorted(itertools.chain(*classes)) == sorted(METHODS)


def other_campaign(world: World) -> Campaign:
    return world.store.campaigns.list(world.other)[0]


ROLES = ("manager", "adjudicator", "viewer", "annotator", "link")


def elsewhere(world: World) -> dict[str, Any]:
    """Arguments that name the project in which nobody but managers of the server has a role."""
    campaign = other_campaign(world)
    return {
        "project_id": world.other, "campaign_id": campaign.id, "job_id": world.store.jobs.enqueue(world.other, ["ter"]).id,
        "run_id": world.store.stress.save(world.other, "run", "{}", {}).id,
        "link_id": links.create(world.store, "test", world.other, "Otto").link.id,
        "participant": world.arguments["participant"]._replace(campaign_id=campaign.id),
    }  # fmt: skip


def test_readers_read_their_project_and_no_other(world: World) -> None:
    other = elsewhere(world)
    for port, name in sorted(READS):
        for who in ("ann", "local", "manager", "adjudicator", "viewer"):
            assert allowed(world, who, port, name), (who, port, name)
        for who in ("annotator", "link"):
            assert not allowed(world, who, port, name), (who, port, name)
        for who in ROLES:
            assert not allowed(world, who, port, name, **other), (who, port, name)
        assert allowed(world, "ann", port, name, **other), (port, name)


@pytest.mark.parametrize(("port", "name"), sorted(WRITES))
def test_only_managers_change_a_project(worlds: Callable[[], World], port: str, name: str) -> None:
    world = worlds()
    for who in ("adjudicator", "viewer", "annotator", "link"):
        assert not allowed(world, who, port, name), who
    for who in ("ann", "local", "manager"):
        assert allowed(worlds(), who, port, name), who


def test_nobody_changes_a_project_without_a_role_there(world: World) -> None:
    other = elsewhere(world)
    for port, name in sorted(WRITES):
        for who in ROLES:
            assert not allowed(world, who, port, name, **other), (who, port, name)


def test_no_page_does_the_work_of_the_server(world: World) -> None:
    for port, name in sorted(NOBODY):
        for who in world.people:
            assert not allowed(world, who, port, name), (who, port, name)


def test_only_managers_manage_people_and_the_server(worlds: Callable[[], World]) -> None:
    for port, name in sorted(SERVER | SOME_MANAGER):
        world = worlds()
        for who in ("adjudicator", "viewer", "annotator", "link"):
            assert not allowed(world, who, port, name), (who, port, name)
        assert allowed(world, "manager", port, name) == ((port, name) in SOME_MANAGER), (port, name)
        assert allowed(world, "ann", port, name), (port, name)


def test_lists_hold_only_visible_projects(world: World) -> None:
    for who, ids in (
        ("viewer", [world.project]),
        ("annotator", []),
        ("link", []),
        ("ann", [world.project, world.other]),
    ):
        assert sorted(p.id for p in call(world, who, "projects", "list")) == ids
    world.store.jobs.enqueue(world.other, ["ter"])
    world.store.labels.append(world.other, "hidden", FIRST, [no_error("9")])
    seen = guarded(world.store, lambda: world.people["viewer"])
    assert {job.project_id for job in seen.jobs.recent()} == {world.project}
    assert {job.project_id for job in seen.jobs.unfinished()} == {world.project}
    assert seen.labels.raters() == []
    assert guarded(world.store, lambda: world.people["ann"]).labels.raters() == ["hidden"]


def test_labels_are_saved_under_the_own_name_only(world: World) -> None:
    for who in ("ann", "manager", "adjudicator"):
        assert not allowed(world, who, "labels", "append", rater="Rosa")
        assert allowed(world, who, "labels", "append", rater=who)


def test_annotators_reach_their_own_tasks_and_nothing_else(world: World) -> None:
    project, other = world.store.campaigns.list(world.project)[0], other_campaign(world)
    rosa = world.people["link"].link
    assert rosa
    link = Identity(link=rosa._replace(project_id=project.texts, rater="Rosa"))
    account = world.people["annotator"]._replace(campaigns=(project.texts,))
    assert account.account
    for name, who in (("Rosa", link), ("annotator", account)):
        participant = world.store.campaigns.join(project.id, name, "C")
        mine = {"project_id": project.texts, "campaign_id": project.id, "rater": name, "participant": participant}
        strange = participant._replace(campaign_id=other.id)
        theirs = mine | {"project_id": other.texts, "campaign_id": other.id, "participant": strange}
        world.people["at work"] = who
        for port, method in sorted(TASKS | CONTEXT):
            assert allowed(world, "at work", port, method, tasks=True, **mine), (name, port, method)
            assert not allowed(world, "at work", port, method, tasks=True, **theirs), (name, port, method)
            assert not allowed(world, "at work", port, method, **mine), (name, port, method)
            other_name = mine | {"rater": "Eve", "participant": participant._replace(rater="Eve")}
            named = {"rater", "participant"} & {*inspect.signature(getattr(PORTS[port], method)).parameters}
            assert not named or not allowed(world, "at work", port, method, tasks=True, **other_name), (port, method)
        for port, method in sorted((READS | WRITES | SERVER | SOME_MANAGER | NOBODY) - TASKS - CONTEXT):
            assert not allowed(world, "at work", port, method, tasks=True, **mine), (name, port, method)
        at_work = guarded(world.store, lambda who=who: who, tasks=True)
        assert name != "Rosa" or not allowed(world, "at work", "projects", "index", tasks=True)
        assert at_work.campaigns.of_texts(project.texts) == project
        assert at_work.projects.index(world.project).segments, "the texts around a unit"
        with pytest.raises(NotAllowed):
            at_work.projects.dataset(world.project)
        with pytest.raises(NotAllowed):
            at_work.labels.events(world.project, rater="Eve")


def test_tasks_add_no_rights_to_projects(world: World) -> None:
    other = elsewhere(world)
    for port, name in sorted(READS | WRITES):
        for who in ROLES:
            assert not allowed(world, who, port, name, tasks=True, **other), (who, port, name)


def test_viewers_label_under_no_name(world: World) -> None:
    for who in ("viewer", "annotator", "link"):
        for rater in (who, "Rosa"):
            assert not allowed(world, who, "labels", "append", rater=rater)
    assert world.store.labels.events(world.project) == []


def test_the_local_manager_labels_under_any_name(world: World) -> None:
    assert allowed(world, "local", "labels", "append", rater="Rosa")


def test_acts_are_recorded_under_the_own_name_only(world: World) -> None:
    assert not allowed(world, "viewer", "audit", "record", who="ann")
    assert allowed(world, "viewer", "audit", "record", who="viewer")
    assert not allowed(world, "viewer", "audit", "record", who="viewer", project_id=world.other)


def test_all_entries_are_for_managers_of_the_server(world: World) -> None:
    assert not allowed(world, "manager", "audit", "entries", project_id=None)
    assert allowed(world, "ann", "audit", "entries", project_id=None)


def test_changes_are_recorded_with_names_and_counts(world: World) -> None:
    store = guarded(world.store, lambda: world.people["manager"])
    before = len(world.store.audit.entries(world.project))
    store.projects.rename(world.project, "renamed")
    store.projects.add(world.project, small_dataset(4))
    store.batches.delete(world.project, "first")
    store.projects.delete(world.project)
    found = world.store.audit.entries(world.project)[:-before]
    assert [(e.who, e.act, dict(e.details)) for e in reversed(found)] == [
        ("manager", "project renamed", {"name": "renamed"}),
        ("manager", "data imported", {"segments": 1, "outputs": 2, "references": 1}),
        ("manager", "calibration set deleted", {"name": "first"}),
        ("manager", "project deleted", {"name": "renamed"}),
    ]


def test_texts_of_campaigns_have_the_roles_of_their_project(world: World) -> None:
    (campaign,) = world.store.campaigns.list(world.project)
    for who, sees in (("viewer", True), ("adjudicator", True), ("annotator", False), ("link", False)):
        seen = guarded(world.store, lambda who=who: world.people[who])
        assert seen.campaigns.of_texts(campaign.texts) == (campaign if sees else None)
        assert seen.campaigns.of_texts(other_campaign(world).texts) is None
        assert allowed(world, who, "projects", "dataset", project_id=campaign.texts) == sees
        assert not allowed(world, who, "projects", "dataset", project_id=other_campaign(world).texts)
        assert not allowed(world, who, "settings", "put", project_id=campaign.texts)
    assert allowed(world, "manager", "settings", "put", project_id=campaign.texts)


def test_people_who_take_part_find_their_campaign_and_nothing_else_of_it(world: World) -> None:
    campaign = other_campaign(world)
    world.people["viewer"] = world.people["viewer"]._replace(campaigns=(campaign.texts,))
    seen = guarded(world.store, lambda: world.people["viewer"])
    assert seen.campaigns.of_texts(campaign.texts) == campaign
    for name in ("get", "units", "participants", "assignments"):
        assert not allowed(world, "viewer", "campaigns", name, campaign_id=campaign.id)
    for port, name in (
        ("projects", "dataset"),
        ("labels", "events"),
        ("people", "taking_part"),
        ("people", "set_role"),
    ):
        assert not allowed(world, "viewer", port, name, project_id=campaign.texts)


def test_managers_revoke_links_of_their_campaigns(world: World) -> None:
    link = world.store.people.add_link(
        world.store.campaigns.list(world.project)[0].texts, "Eva", None, "b" * 64, None, "x"
    )
    other = world.store.people.add_link(other_campaign(world).texts, "Eva", None, "c" * 64, None, "x")
    assert allowed(world, "manager", "people", "revoke", link_id=link.id)
    assert not allowed(world, "manager", "people", "revoke", link_id=other.id)


def test_a_manager_of_a_project_starts_a_campaign_and_invites_at_once(worlds: Callable[[], World]) -> None:
    world = worlds()
    store = guarded(world.store, lambda: world.people["manager"])  # looked up before the campaign exists
    design = CampaignDesign(PROTOCOLS["mqm"], overlap=2, people=2, checks=0.0)
    viewer = world.people["viewer"].account
    assert viewer
    before = store.campaigns.list(world.project)
    gone = Account(9999, "gone", manager=False, active=True, created=WHEN)
    with pytest.raises(UserError):
        running.start(store, "manager", world.project, "main", design, ["Eva"], accounts=[gone])
    assert store.campaigns.list(world.project) == before
    made = running.start(store, "manager", world.project, "main", design, ["Eva"], accounts=[viewer])
    assert made.campaign.state == "running"
    assert [link.link.rater for link in made.links] == ["Eva"]
    assert running.invited(store, made.campaign) == ["Eva", "viewer"]
    assert not allowed(world, "adjudicator", "people", "links", project_id=made.campaign.texts)
    assert not allowed(world, "link", "people", "links", project_id=made.campaign.texts)
    assert not allowed(world, "manager", "people", "links", project_id=other_campaign(world).texts)


def test_changes_of_campaigns_are_recorded_in_their_project(world: World) -> None:
    campaigns = guarded(world.store, lambda: world.people["manager"]).campaigns
    before = len(world.store.audit.entries(world.project))
    made = campaigns.create(world.project, "main", {"overlap": 1}, {}, TEXTS, UNITS, "manager")
    campaigns.replace(made.id, "main", {"overlap": 2}, {}, TEXTS, UNITS)
    campaigns.set_state(made.id, "running")
    more = Dataset((Segment("u2", "0", None),), (Output("A", "u2", "0", "text"),))
    campaigns.add_units(made.id, more, [UNITS[0]._replace(name="u2")])
    second = campaigns.units(made.id)[1]
    campaigns.retire(made.id, [second.id])
    campaigns.retire(made.id, [second.id], retired=False)
    rosa = campaigns.join(made.id, "Rosa", "CODE")
    campaigns.change(rosa._replace(excluded="too fast"))
    campaigns.change(rosa._replace(left=True))
    campaigns.change(rosa._replace(left=True))
    campaigns.hand_over(made.id, rosa.id, WHEN, lambda state: HandOver((), {}))
    campaigns.set_state(made.id, "paused")
    campaigns.delete(made.id)
    found = world.store.audit.entries(world.project)[:-before]
    assert {e.who for e in found} == {"manager"}
    assert found[-1].details == {"name": "main"}
    assert {e.details["campaign"] for e in found[:-1]} == {"main"}
    assert [
        (e.act, {k: v for k, v in e.details.items() if k not in ("campaign", "name")}) for e in reversed(found)
    ] == [
        ("campaign created", {}),
        ("campaign draft changed", {}),
        ("campaign started", {}),
        ("campaign units added", {"units": 1}),
        ("campaign units retired", {"unit_ids": [second.id]}),
        ("campaign units assigned again", {"unit_ids": [second.id]}),
        ("participant added", {"rater": "Rosa"}),
        ("participant excluded", {"rater": "Rosa", "reason": "too fast"}),
        ("participant included", {"rater": "Rosa"}),
        ("participant changed", {"rater": "Rosa", "left": True, "passed_tutorial": None}),
        ("campaign units handed over", {"participant_id": rosa.id}),
        ("campaign paused", {}),
        ("campaign deleted", {}),
    ]


def test_a_refused_change_is_not_recorded_and_changes_nothing(world: World) -> None:
    before = world.store.audit.entries()
    with pytest.raises(UserError):
        guarded(world.store, lambda: world.people["viewer"]).projects.rename(world.project, "x")
    assert world.store.audit.entries() == before
    assert world.store.projects.get(world.project).name == "news"


def test_what_is_no_method_of_a_port_cannot_be_reached(world: World) -> None:
    store = guarded(world.store, lambda: world.people["ann"])
    assert hasattr(world.store.projects, "_engine")
    for name in ("_engine", "__dict__x"):
        with pytest.raises(AttributeError):
            getattr(store.projects, name)


def test_kept_answers_are_given_again_until_something_changes(world: World) -> None:
    answers: dict[Hashable, Any] = {}
    store = guarded(world.store, lambda: world.people["ann"], lambda: answers)
    project = store.projects.list()[0]
    store.projects.list().clear()
    world.store.projects.rename(project.id, "renamed by another process")
    assert store.projects.list()[0] == store.projects.get(project.id)._replace(name=project.name) == project
    store.settings.put(project.id, "color", "blue")
    assert store.projects.list()[0].name == "renamed by another process"
    world.store.projects.rename(project.id, "renamed again")
    with pytest.raises(UserError):
        store.projects.rename(project.id, "")
    assert store.projects.list()[0].name == "renamed again"


def test_no_change_keeps_answers() -> None:
    rules = {(port, name): rule for port, name in METHODS if (rule := rule_of(PORTS[port], name))}
    changes = WRITES | SERVER | SOME_MANAGER | OWN_NAME
    assert {method for method in changes if rules[method].reads} == {("audit", "entries")}
    assert {method for method, rule in rules.items() if rule.keeps} <= READS | EVERYONE
