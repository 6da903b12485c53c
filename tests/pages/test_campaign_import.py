"""A finished campaign of another tool, imported on *Campaigns*; *Import labels* leads there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Output, OutputKey, Segment, Span
from core.formats.campaigns.campaign_file import CampaignFile, CampaignRating
from core.ports.store import Store
from core.services.campaigns.files import FORMATS
from pages._ui.campaigns.imported import PURPOSE
from tests.pages.opened_page import field, loaded_again, press, run, without_errors
from tests.pages.said import cells, unescaped, words
from tests.pages.test_projects import File, uploaded

SEGMENTS = tuple(Segment("d", str(n), f"Haus {n}") for n in range(3))
OUTPUTS = tuple(Output(system, *s.key, f"a red house {s.segment_id}") for s in SEGMENTS for system in "AB")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ERROR = Span("output", 2, 5, "red", "Minor", "Unspecified")


def campaign() -> CampaignFile:
    """Two annotators of six outputs each, 40 s per output; Ana passes her attention check, and Ben fails his."""
    ratings, at = [], BEGIN
    for rater in ("Ana", "Ben"):
        for o in OUTPUTS:
            at += timedelta(seconds=40)
            score = {"A": 80.0, "B": 60.0}[o.system]
            ratings.append(CampaignRating(rater, o.key, "item", (ERROR,), score, at - timedelta(seconds=5), at))
        at += timedelta(seconds=40)
        broken = OutputKey("A", "d#bad1", "0")
        passed = 10.0 if rater == "Ana" else 90.0
        ratings.append(CampaignRating(rater, broken, "check", (), passed, at, at, "a mouse", "Haus 0", OUTPUTS[0].key))
    return CampaignFile(Dataset(SEGMENTS, OUTPUTS), tuple(ratings))


def files(name: str, file: CampaignFile | None = None) -> list[File]:
    written = FORMATS[name].write(file or campaign()).texts
    names = ("scores", "batches.json") if name == "appraise" else ("scores",)
    return [(given, text.encode()) for given, text in zip(names, written, strict=False)]


def opened(*given: File) -> AppTest:
    at = run("campaigns", campaign="import")
    assert PURPOSE in words(at)
    if given:
        at.file_uploader[0].set_value([(name, data, "text/plain") for name, data in given]).run()  # type: ignore[arg-type]
    return without_errors(at)


def tables(at: AppTest) -> list[list[dict[str, str]]]:
    return [[dict(zip(map(unescaped, t.value), row, strict=True)) for row in cells(t)] for t in at.table]


def test_a_campaign_is_analysed_and_imported(store: Store) -> None:
    for name in ("appraise", "pearmut"):
        at = loaded_again(opened(*files(name)), "campaigns")
        said = words(at)
        assert "12 ratings by 2 annotators: 3 segments × 2 systems, 12 error spans, 2 attention checks" in said
        assert "Median time: 40 s per output" in said
        systems, raters = tables(at)[:2]
        assert [(row["rank"], row["system"]) for row in systems] == [("1", "A"), ("2", "B")]
        assert systems[0]["score ↑ [95 % CI]"].startswith("80.0")
        assert [(row["annotator"], row["checks passed"]) for row in raters] == [("Ana", "1 of 1"), ("Ben", "0 of 1")]
        assert raters[0]["share [95 % CI]"].startswith("1.00 [")
        assert [row["time per output"] for row in raters] == ["40 s", "40 s"]
        assert "stores texts and ratings, but not: attention checks, times. Download them" in said
        assert [b.label for b in at.get("download_button")] == ["Checks and times as CSV"]
        assert all(p.sample for p in store.projects.list())
        press(at, "Import 3 segments × 2 systems, labels of 6 outputs by 2 raters")
        (project,) = [p for p in store.projects.list() if not p.sample]
        assert project.name == "scores"
        assert {(j.rater, j.name) for j in store.labels.judgements(project.id)} == {("Ana", "ESA"), ("Ben", "ESA")}
        assert f"A has the highest mean score: {systems[0]['score ↑ [95 % CI]']}" in words(at)
        assert tables(at) == [systems]
        assert "Imported into “scores”" in at.success[0].value
        assert "*Import a finished campaign* shows them" in words(at)
        listed = run("campaigns", project.id)
        assert "Ratings outside campaigns · imported or given on Annotate · ESA" in words(listed).replace("*", "")
        press(listed, "See results")
        assert tables(listed) == [systems], "what the preview showed can be opened again"
        again = opened(*files(name))
        select = field(again, "Import into")
        select.set_value(project.id).run()
        assert "6 of 6 outputs of the file are in the project with the same text" in words(again)
        assert "Every output of the project is in the file" in words(again)
        store.projects.delete(project.id)


@pytest.mark.usefixtures("store")
def test_campaign_files_say_what_is_odd_missing_or_elsewhere() -> None:
    file = campaign()
    odd = replace(file.ratings[0], errors=(replace(ERROR, severity="undecided"),))
    at = opened(*files("appraise", replace(file, ratings=(odd, *file.ratings[1:]))))
    assert "(1 invalid)" in words(at)
    (row,) = tables(at)[2]
    assert (row["annotator"], row["system"], row["in its rating"]) == ("Ana", "A", "yes")
    assert "Add the JSON file of batches" in opened(files("appraise")[0]).info[0].value
    assert "one file of ratings" in opened(*files("pearmut"), ("more.jsonl", files("wmt25")[0][1])).info[0].value

    for name in ("appraise", "wmt25", "wmt25-spans", "pearmut"):
        at = uploaded(files(name)[0], what="labels")
        said = at.info[0].value
        assert f"({FORMATS[name].label}, `{name}`)" in said, name
        assert "Import a finished campaign" in said, name
        assert any(b.key == "upload-campaign" for b in at.button), name
        assert f"analyse scores --format {name}" in said or name == "pearmut"
        assert [b.label for b in at.button if b.label.startswith("Import ")] == ["Import a finished campaign"], name
