"""`campaign`: plan, create, status, export, analyse and import."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from core.campaigns.design import design_from_json
from core.data import Dataset
from core.formats.campaigns.campaign_file import CampaignFile
from core.mqm.typology import TYPOLOGIES
from core.ports.store import Store
from core.services.campaigns import answers
from core.services.campaigns.files import FORMATS, campaign_file
from core.services.labels import protocols
from db.engine import connect
from db.store import open_store, store_over
from tests.cli.program import status_of
from tests.core.services.campaigns.world import CampaignWorld, campaign_world, dataset, scores
from tests.templates import empty_database


def run(database: str, *arguments: str) -> int:
    return status_of("campaign", "--database", database, *arguments)


def test_plan_says_what_a_campaign_takes(database: str, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.projects.add(store.projects.create("cats").id, dataset())
    options = ("--people", "6", "--overlap", "3", "--seconds", "60", "--pay", "20")
    assert run(database, "plan", "cats", "--protocol", "esa", *options) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "ESA: 18 units of 18 outputs in 2 documents"
    assert said[1] == "54 ratings with checks and repeats, 0.9 hours in all, 0.1 hours per person"
    assert said[2] == "pay: 18.00 EUR"
    assert said[3].startswith("minimum detectable difference of two systems (80 % power, default variances): ")
    for protocol, unit in (("mqm", "points of the MQM score"), ("pairwise", "% of the comparisons won")):
        assert run(database, "plan", "cats", "--protocol", protocol) == 0
        assert unit in capsys.readouterr().out.splitlines()[-1]
    assert store.campaigns.list(1) == []


def test_create_prints_a_link_for_each_name(
    database: str, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = store.projects.create("cats").id
    store.projects.add(project, dataset())
    names = tmp_path / "names.txt"
    names.write_text("Ana\n\nBen\n", encoding="utf-8")
    made = ("create", "cats", "pilot", "--people", "2", "--overlap", "2", "--invite", str(names), "--start")
    assert run(database, *made) == 0
    first, *links = capsys.readouterr().out.splitlines()
    assert first == "created pilot: 18 units, running"
    assert [line.split("\t")[0] for line in links] == ["Ana", "Ben"]
    assert all(line.split("\t")[1].startswith("t/") for line in links)
    (campaign,) = store.campaigns.list(project)
    assert campaign.state == "running"
    assert {"campaign created", "campaign started", "link created"} <= {e.act for e in store.audit.entries(None)}
    assert run(database, *made) == 2
    assert "there is a campaign of this name" in capsys.readouterr().err
    protocols.use_bundled_typology(store, project, "data_to_text")
    assert run(database, "create", "cats", "of the project", "--protocol", "mqm") == 0
    assert capsys.readouterr().out == "created of the project: 18 units, error typology Data-to-text\n"
    made_of = design_from_json(store.campaigns.list(project)[-1].design)
    assert made_of.protocol.typology == TYPOLOGIES["data_to_text"]


@pytest.fixture(scope="module")
def finished_file(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CampaignWorld]:
    """A file with a campaign that two people have completed, which each test copies."""
    path = tmp_path_factory.mktemp("campaign") / "errorscope.db"
    engine = connect(empty_database(path))
    world = campaign_world("esa", store_over(engine), overlap=2, people=2, checks=0.2)
    world.work("Ana", scores(80))
    world.work("Ben", scores(60))
    engine.dispose()
    return path, world


@pytest.fixture
def finished(finished_file: tuple[Path, CampaignWorld], database: str) -> CampaignWorld:
    path, world = finished_file
    shutil.copy(path, database.removeprefix("sqlite:///"))
    return replace(world, store=open_store(database))


@pytest.mark.usefixtures("finished")
def test_status_and_pay(database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(database, "status", "cats", "pilot") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "pilot: running, 18 of 18 ratings, 9 of 9 units complete"
    assert said[1].startswith("Ana\t")
    out = tmp_path / "pay.csv"
    assert run(database, "export", "cats", "pilot", "--format", "pay", "--out", str(out)) == 0
    assert out.read_text(encoding="utf-8").startswith("name,completion_code,units")
    assert run(database, "export", "cats", "pilot", "--format", "pay", "--out", str(out)) == 2
    assert run(database, "status", "cats", "other") == 2
    assert run(database, "export", "cats", "pilot", "--format", "appraise", "--out", str(tmp_path / "a.csv")) == 0
    assert json.loads((tmp_path / "a.batches.json").read_text("utf-8"))


def test_an_exported_campaign_is_analysed_and_imported(
    finished: CampaignWorld, database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = finished
    before = answers.judgements(world.store, world.project)
    for name in (name for name in FORMATS if name != "appraise"):
        out = tmp_path / f"{name}.{FORMATS[name].ending}"
        assert run(database, "export", "cats", "pilot", "--format", name, "--out", str(out)) == 0
        capsys.readouterr()
        assert run(database, "analyse", str(out), "--format", name) == 0
        said = capsys.readouterr().out
        assert "Bob: score" in said or name == "wmt25-spans"
        assert run(database, "import", str(out), "--format", name, "--name", f"again {name}") == 0
    again = next(p for p in world.store.projects.list() if p.name == "again pearmut")
    there = answers.judgements(world.store, again.id)
    assert {(j.key.system, j.rater, j.value) for j in there} == {
        (j.key.system, j.rater.removesuffix(" (pilot)"), j.value) for j in before
    }
    out = tmp_path / f"pearmut.{FORMATS['pearmut'].ending}"
    out.write_text(json.dumps(json.loads(out.read_text(encoding="utf-8")) | {"empty": []}), encoding="utf-8")
    capsys.readouterr()
    assert run(database, "analyse", str(out), "--format", "pearmut") == 2
    assert "--campaign NAME" in capsys.readouterr().err
    assert run(database, "analyse", str(out), "--format", "pearmut", "--campaign", "campaign") == 0


def test_a_campaign_is_imported_into_an_existing_project(
    finished: CampaignWorld, database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, given = finished.store, ("--format", "pearmut", "--project")
    exported = campaign_file(store, finished.campaign)

    def written(file: CampaignFile) -> str:
        (tmp_path / "c.json").write_text(FORMATS["pearmut"].write(file).texts[0], encoding="utf-8")
        return str(tmp_path / "c.json")

    def counts(project: int) -> tuple[int, int, int]:
        found = store.projects.get(project)
        return found.n_segments, found.n_outputs, len(store.labels.judgements(project))

    data = dataset()
    other = store.projects.create("other").id
    store.projects.add(other, replace(data, outputs=data.outputs[2:]))
    before = counts(other)
    n, lacking = (
        len(exported.dataset.outputs),
        sum(o.key in {x.key for x in data.outputs[:2]} for o in exported.dataset.outputs),
    )
    assert run(database, "import", written(exported), *given, "other") == 0
    said = capsys.readouterr().out
    assert f"imported {len(exported.of_kind('item'))} ratings into other" in said
    assert f"{n - lacking} of {n} outputs of the file are in the project with the same text" in said
    assert (f"{lacking} are not there" in said or f"{lacking} is not there" in said) == bool(lacking)
    after = counts(other)
    assert after == (before[0], before[1] + lacking, len(exported.of_kind("item")))
    assert run(database, "import", written(exported), *given, "other") == 0
    assert "Nothing is new." in capsys.readouterr().out

    def renamed(segment: str) -> str:
        return f"new {segment}"

    first = exported.dataset.outputs[0]
    changed = replace(
        exported.dataset, outputs=(replace(first, text=f"{first.text} again"), *exported.dataset.outputs[1:])
    )
    moved = replace(
        exported,
        dataset=Dataset(
            tuple(replace(s, segment_id=renamed(s.segment_id)) for s in exported.dataset.segments),
            tuple(replace(o, segment_id=renamed(o.segment_id)) for o in exported.dataset.outputs),
        ),
        ratings=tuple(
            replace(r, key=r.key._replace(segment_id=renamed(r.key.segment_id))) for r in exported.of_kind("item")
        ),
    )
    other_score = replace(
        exported, ratings=tuple(replace(r, score=(r.score or 0) - 1) for r in exported.of_kind("item"))
    )
    for project, file, why in (
        ("other", replace(exported, dataset=changed), "again"),
        ("other", moved, "the texts are in the project under other names"),
        ("other", other_score, "by Ana for"),
        ("cats", exported, "campaign “pilot”: these ratings are in the project already"),
    ):
        (number,) = (p.id for p in store.projects.list() if p.name == project)
        unchanged = counts(number)
        assert run(database, "import", written(file), *given, project) == 2
        assert why in capsys.readouterr().err
        assert counts(number) == unchanged


def test_appraise_needs_its_batches(
    finished: CampaignWorld, database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv, batches = FORMATS["appraise"].write(campaign_file(finished.store, finished.campaign)).texts
    (tmp_path / "a.csv").write_text(csv, encoding="utf-8")
    (tmp_path / "b.json").write_text(batches, encoding="utf-8")
    given = ("analyse", str(tmp_path / "a.csv"), "--format", "appraise")
    assert run(database, *given) == 2
    assert "batches" in capsys.readouterr().err
    assert run(database, *given, "--texts", str(tmp_path / "b.json")) == 0
    assert "18 ratings of items" in capsys.readouterr().out
