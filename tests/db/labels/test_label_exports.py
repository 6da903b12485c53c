"""Files of labels are the same whether all texts of a project are read or only those of labelled segments."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any

import pytest

from core.data import Dataset, HumanScore, Output, Segment, SegmentKey
from core.mqm.scores import rated_outputs
from core.ports.labels import Action
from core.ports.store import Store
from core.services.campaigns import answers
from core.services.export import export
from core.services.export.files import LABELS
from core.services.projects import texts as stored_texts
from tests.postgres import on_sqlite
from tests.stores import project_with

N = 40
LABELLED = (3, 17, 18, 31)
TEXTS = Dataset(
    tuple(Segment(f"d{i // 10}", f"s{i}", None if i % 9 == 0 else f"source {i}\tx", ("ref", f"ref {i}")[: i % 3]) for i in range(N)),
    tuple(Output(name, f"d{i // 10}", f"s{i}", f"{name} 😀 wrote {i}") for i in range(N) if i != 20 for name in ("A", "B")),
    tuple(HumanScore("A", f"d{i // 10}", f"s{i}", name, i / 7) for i in range(N) if i != 20 for name in ("other", "ESA", "z")),
)  # fmt: skip
FORMATS = [name for name in LABELS if name != "csv"]


@pytest.fixture
def project(store: Store, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(stored_texts, "OUTPUTS_AT_ONCE", 6)
    made = project_with(store, TEXTS)
    for rater in ("Ana", "Ben"):
        for i in LABELLED[:: 1 if rater == "Ana" else 2]:
            span = {
                "mark": "m", "side": "output", "start": 2, "end": 3, "quote": "😀", "severity": "Major",
                "category": "Fluency/Grammar", "note": "why",
            }  # fmt: skip
            actions = [
                Action(f"{rater}{i}a", "add", "A", span),
                Action(f"{rater}{i}b", "verdict", "B", {"value": "non_translation" if i == 17 else "no_error"}),
                Action(f"{rater}{i}c", "submit", None, {}),
            ]
            store.labels.append(made, rater, SegmentKey(f"d{i // 10}", f"s{i}"), actions)
    return made


@on_sqlite
def test_a_file_of_labels_has_the_bytes_of_the_whole_project(store: Store, project: int) -> None:
    for name in FORMATS:
        dataset = store.projects.dataset(project)
        texts = {o.key: o.text for o in dataset.outputs}
        order = {key: i for i, key in enumerate(texts)}
        rated = rated_outputs(answers.all_labels(store, project), texts)
        rated.sort(key=lambda r: (order[r.key], r.rater))
        assert len(rated) == 12
        whole = export.write_labels(dataset, rated, name)
        made = export.labels_as(store, project, name=name)
        assert made.lost == whole.lost
        if len(whole.texts) == 1:
            assert made.data == whole.texts[0].encode()
        else:
            files = {
                f"labels.round{n}.{made.ending.removesuffix('.zip')}": text for n, text in enumerate(whole.texts, 1)
            }
            with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
                assert {name: archive.read(name).decode() for name in archive.namelist()} == files


def test_the_csv_has_all_labels_in_the_order_of_the_project(
    store: Store, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels are read some segments at a time, and those of a campaign are put between them."""
    monkeypatch.setattr("db.labels.repository.SEGMENTS_AT_ONCE", 2)
    unfinished = Action("open work", "verdict", "B", {"value": "no_error"})
    store.labels.append(project, "Cem", SegmentKey("d3", "s39"), [unfinished])
    store.labels.append(project, "Ana", SegmentKey("d2", "s20"), [Action("o", "open", None, {"order": [], "ids": []})])
    own = answers.all_labels(store, project)
    of_campaigns = {
        ("Dia (pilot)", SegmentKey("d0", "s0")): own["Ana", SegmentKey("d0", "s3")],
        ("Dia (pilot)", SegmentKey("d1", "s17")): own["Ana", SegmentKey("d1", "s17")],
        ("Ben", SegmentKey("d0", "s3")): own["Ana", SegmentKey("d1", "s17")],  # a campaign's labels come before
    }
    monkeypatch.setattr("core.services.campaigns.answers.labels", lambda *_: of_campaigns)
    labels = own | of_campaigns
    expected = [
        (*output.key, rater, labels[rater, output.key.segment].submitted)
        for output in store.projects.dataset(project).outputs
        for rater in sorted({rater for rater, _ in labels})
        if (rater, output.key.segment) in labels and labels[rater, output.key.segment].of(output.system).complete
    ]  # each has one error span or verdict
    monkeypatch.setattr(type(store.labels), "events", None)
    rows = list(csv.DictReader(io.StringIO(export.labels_as_csv(store, project).data.decode())))
    assert len(rows) == len(expected) == 17
    assert [(r["system"], r["doc_id"], r["segment_id"], r["rater"], r["submitted"] == "yes") for r in rows] == expected


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "marot"])
@on_sqlite
def test_only_the_texts_of_rated_outputs_are_read(
    store: Store, project: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Action("opened", "verdict", "A", {"value": "no_error"})
    store.labels.append(project, "Ana", SegmentKey("d0", "s0"), [opened])
    texts, read = type(store.projects).texts, list[Dataset]()

    def noted(self: object, *asked: Any, **systems: Any) -> Dataset:
        read.append(texts(store.projects, *asked, **systems))
        return read[-1]

    monkeypatch.setattr(type(store.projects), "texts", noted)
    monkeypatch.setattr(type(store.projects), "dataset", lambda *_: pytest.fail("the whole project is read"))
    shares: list[float] = []
    assert export.labels_as(store, project, shares.append, name=name).data
    assert shares == [0.0, 0.0, 0.75, 1.0]
    assert [[s.segment_id for s in part.segments] for part in read] == [["s3", "s17", "s18"], ["s31"]]
    assert max(len(part.outputs) for part in read) == 6


@on_sqlite
def test_outputs_of_systems_without_labels_are_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    many = Dataset(TEXTS.segments, tuple(Output(f"S{k}", *s.key, "text") for s in TEXTS.segments for k in (2, 0, 1)))
    made = project_with(store, many, "many")
    for i, systems in ((1, ["S0", "S2"]), (2, ["S1"])):
        actions = [Action(f"{i}{system}", "verdict", system, {"value": "no_error"}) for system in systems]
        actions.append(Action(f"{i}", "submit", None, {"systems": systems}))
        store.labels.append(made, "Ana", many.segments[i].key, actions)
    monkeypatch.setattr(stored_texts, "OUTPUTS_AT_ONCE", 2)
    texts, read = type(store.projects).texts, list[str]()

    def noted(self: object, *asked: Any, **systems: Any) -> Dataset:
        part = texts(store.projects, *asked, **systems)
        read.extend(o.system for o in part.outputs)
        return part

    monkeypatch.setattr(type(store.projects), "texts", noted)
    rows = export.labels_as(store, made, name="mtme-jsonl").data.decode().splitlines()
    assert read == ["S2", "S0", "S1"]
    assert [json.loads(row)["system_id"] for row in rows] == ["S2", "S0", "S1"]


def test_references_of_other_projects_are_not_counted(store: Store, project: int) -> None:
    project_with(store, Dataset((Segment("d", "1", "s", ("one", "two")),), ()), "q")
    assert store.exports.n_references(project) == sum(len(s.references) for s in TEXTS.segments)
