"""What leaves a project, and files that several requests read."""

from __future__ import annotations

import csv
import io
import zipfile
from typing import Any

import pytest

from core.data import Dataset, Output, OutputKey, Segment, SegmentKey, Value
from core.errors import UserError
from core.formats.files import Upload
from core.formats.labels.label_formats import FORMATS
from core.formats.write import SPREADSHEET
from core.ports.labels import Action, ActionKind
from core.ports.store import Store
from core.services.export.export import (
    Export,
    labels_as,
    labels_as_csv,
    scores_as_mtme,
)
from core.services.export.files import KEPT, PIECE, PreparedFile, PreparedFiles
from core.services.projects.label_import import read_label_files
from core.signature import content_key
from tests.stores import new_store

ONE, TWO = SegmentKey("d", "1"), SegmentKey("d", "2")
DATASET = Dataset(
    (Segment("d", "1", "Quelle", ("ref",)), Segment("d", "2", "zwei")),
    (Output("A", "d", "1", "=😀 bad text"), Output("B", "d", "1", "fine"), Output("A", "d", "2", "x")),
)


def act(number: int, kind: ActionKind, system: str | None, **payload: Any) -> Action:
    return Action(str(number), kind, system, payload)


MARK = {
    "mark": "m", "side": "output", "start": 3, "end": 6, "quote": "bad", "severity": "Major", "category": "Fluency/Grammar",
    "note": "-",
}  # fmt: skip
SCORED = {
    "chrf|v": {OutputKey("A", "d", "2"): Value(3.0), OutputKey("A", "d", "1"): Value(-1.5)},
    "bleu|v": {OutputKey("B", "d", "1"): Value(None, "needs", "no reference")},
}


def store() -> Store:
    """A store whose project 1 has texts, labels and scores."""
    made = new_store()
    project = made.projects.create("p").id
    made.projects.add(project, DATASET)
    verdict = act(2, "verdict", "B", value="no_error")
    made.labels.append(project, "ann", ONE, [act(1, "add", "A", **MARK), verdict, act(3, "submit", None)])
    made.labels.append(project, "bob", TWO, [act(4, "verdict", "A", value="non_translation")])
    items = dict(DATASET.items())
    for signature, values in SCORED.items():
        found = {content_key(*items[key]): value for key, value in values.items()}
        made.scores.put(signature.split("|")[0], signature, found, 0.1)
    return made


def test_labels_are_written_one_row_per_mark_or_verdict() -> None:
    rows = list(csv.DictReader(io.StringIO(labels_as_csv(store(), 1).data.decode())))
    assert [(r["rater"], r["system"], r["quote"], r["verdict"], r["submitted"]) for r in rows] == [
        ("ann", "A", "bad", "", "yes"),
        ("ann", "B", "", "no_error", "yes"),
        ("bob", "A", "", "non_translation", "no"),
    ]
    assert (rows[0]["start"], rows[0]["end"], rows[0]["note"]) == ("3", "6", "'-")


@pytest.mark.parametrize("name", [f.name for f in FORMATS.values() if f.write])
def test_every_label_format_holds_the_submitted_labels_and_reads_back(name: str) -> None:
    made = labels_as(store(), 1, name=name)
    assert made.ending == FORMATS[name].ending
    assert made.lost[0] == "Left out: 1 label not submitted yet."
    back = read_label_files([Upload(f"x.{made.ending}", made.data)], {f"x.{made.ending}": name}, DATASET)
    assert [(r.rater, r.key.system, [(e.start, e.end, e.quote, e.note) for e in r.errors]) for r in back.rated] == [
        ("ann", "A", [(3, 6, "bad", "-")]), ("ann", "B", []),
    ]  # fmt: skip


def test_mqm_scores_are_written_for_mt_metrics_eval_and_labels_not_as_judgements() -> None:
    made = labels_as(store(), 1, name="mtme-score")
    assert made.data.decode() == "A\t-5.0\nA\tNone\nB\t0.0\nB\tNone\n"
    assert "one MQM score per output" in made.lost[1]
    with pytest.raises(UserError, match="not written in this format"):
        labels_as(store(), 1, name="judgements")


def test_several_ratings_of_an_output_make_a_zip_of_rating_files() -> None:
    twice = store()
    verdict = act(9, "verdict", "A", value="no_error")
    twice.labels.append(1, "bob", ONE, [verdict, act(10, "submit", None, systems=["A"])])
    made = labels_as(twice, 1, name="mtme")
    assert (made.ending, made.mime) == ("seg.rating.zip", "application/zip")
    with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
        names = archive.namelist()
        assert names == ["labels.round1.seg.rating", "labels.round2.seg.rating"]
        assert archive.read(names[1]).decode() == 'A\t{"errors": []}\tbob\nA\tNone\nB\tNone\nB\tNone\n'


def test_seg_scores_have_one_file_per_signature() -> None:
    made = scores_as_mtme(store(), 1)
    with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
        files = {n: archive.read(n).decode() for n in archive.namelist()}
    assert files == {
        "metric-scores/chrf.seg.score": "A\t-1.5\nA\t3.0\n",
        "signatures.tsv": "file\tmetric\tsignature\nmetric-scores/chrf.seg.score\tchrf\tchrf|v\n",
    }
    assert made.lost == (
        "1 score undefined, with the reason: None in the file.",
        "Only partly scored: chrf (2 of 3 outputs), bleu (1 of 3 outputs).",
    )


CONTENT = bytes(range(256)) * (3 * PIECE // 256) + b"end"


def made(content: bytes = CONTENT) -> Export:
    return Export(io.BytesIO(content), "csv", "text/csv", ())


def test_two_requests_read_one_file_at_the_same_time() -> None:
    file = PreparedFile(made())
    first, second = file.pieces(), file.pieces()
    begun = next(first)
    assert b"".join(second) == SPREADSHEET + CONTENT
    assert begun + b"".join(first) == SPREADSHEET + CONTENT
    assert file.size == len(SPREADSHEET) + len(CONTENT)


def test_a_file_is_found_by_project_name_and_token_until_newer_ones_replace_it() -> None:
    files = PreparedFiles()
    token = files.keep(1, "labels", made())
    assert files.find(1, "labels", token) is not None
    for other in ((2, "labels", token), (1, "scores", token), (1, "labels", "guessed")):
        assert files.find(*other) is None
    for _ in range(KEPT):
        files.keep(1, "labels", made(b""))
    assert files.find(1, "labels", token) is None
