"""The shared cases of tables and text files, each with the values that its README gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import human_scores
from core.data import Dataset
from core.errors import ImportProblems, UserError
from core.formats.files import file_at
from core.formats.labels.label_formats import guess as label_format
from core.services.projects.importing import load
from tests.paths import CASES

pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not beside the repository")


def case(*files: str) -> Dataset:
    return load([CASES / Path(file) for file in files]).dataset


def test_segment_ids_are_those_of_the_file() -> None:
    for file in ("segment-ids-dropped/disjoint.csv", "segment-ids-dropped/disjoint_ref.csv"):
        assert [s.segment_id for s in case(file).segments] == list("123456")


def test_a_cell_that_is_no_number_is_named() -> None:
    for read in (case, lambda file: human_scores.read_human_scores(CASES / file)):
        with pytest.raises(ImportProblems, match="line 9, adequacy: found “#DIV/0!”"):
            read("score-column-dropped/ratings.csv")
    clean = CASES / "score-column-dropped" / "ratings_clean.csv"
    with pytest.raises(UserError, match="got fluency, adequacy"):
        human_scores.read_human_scores(clean)
    assert len(human_scores.read_human_scores(clean, "adequacy")[0]) == 11


def test_a_system_may_have_the_word_reference_or_source_in_its_name() -> None:
    for file in ("reference-free-mt.txt", "open-source-llm.txt"):
        got = case("file-roles/ref.txt", f"file-roles/{file}", "file-roles/google.txt")
        assert got.systems == (Path(file).stem, "google")
        assert [s.references for s in got.segments] == [("the cat sat",), ("the dog ran",)]


def test_scores_against_a_synthetic_reference_are_those_of_a_metric() -> None:
    for file, kind in (
        ("COMET-synthetic_ref", "mtme-metric"),
        ("COMET-refA", "mtme-metric"),
        ("en-de.mqm", "mtme-score"),
    ):
        assert label_format(file_at(CASES / "mtme-layout" / f"{file}.seg.score")) == kind


def test_lines_and_commas_in_the_header_are_read() -> None:
    assert [o.text for o in case("sep-line/excel.csv").outputs] == ["Hello, world", "Hi world"]
    for file in ("comma", "quoted", "without"):
        got = case(f"header-comma/{file}.csv")
        assert ([o.text for o in got.outputs], [h.value for h in got.human_scores]) == (["hallo", "hullo"], [3, 2])


def test_the_index_of_pandas_is_no_score() -> None:
    assert {h.name for h in case("pandas-index/unnamed0.csv").human_scores} == {"quality"}
