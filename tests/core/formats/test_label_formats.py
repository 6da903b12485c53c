"""Every format of labels: what is written is read again, and what a format cannot hold is said."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.data import Dataset, HumanScore, Output, RatedOutput, Segment, Span
from core.errors import ImportProblems, UserError
from core.formats.files import Upload
from core.formats.labels.label_file import Severities
from core.formats.labels.label_formats import FORMATS, guess, label_format
from tests.core.formats.label_cases import (
    KEY,
    NAME,
    PLAIN_NAME,
    SEVERITIES,
    TEXT,
    again,
    dataset,
    labelled,
    rating,
    written,
)
from tests.core.formats.problems import problems_of

WRITERS = [name for name, f in FORMATS.items() if f.write]
WITH_TEXTS = [name for name in WRITERS if not FORMATS[name].needs_texts]


@pytest.mark.parametrize("name", WITH_TEXTS)
@given(case=labelled(NAME))
@example(case=(dataset(None, ""), (RatedOutput(KEY, '"', ()),)))
def test_written_labels_are_read_back_unchanged(name: str, case: tuple[Dataset, tuple[RatedOutput, ...]]) -> None:
    data, rated = case
    _, (back,) = again(name, data, rated)
    assert set(back.rated) == set(rated)
    assert len(back.rated) == len(rated)
    stored = {r.key for r in rated} if name != "marot" else {o.key for o in data.outputs}
    assert set(back.dataset.outputs) == {o for o in data.outputs if o.key in stored}
    sources = {s.key: s.source for s in back.dataset.segments}
    assert sources == {s.key: s.source for s in data.segments if s.key in {k.segment for k in stored}}
    if name in ("marot", "label-studio"):  # which store them
        references = {s.key: s.references for s in data.segments}
        assert all(s.references == references[s.key] for s in back.dataset.segments)


@given(labelled(PLAIN_NAME))
def test_each_rating_file_has_one_rating_per_output(
    case: tuple[Dataset, tuple[RatedOutput, ...]],
) -> None:
    data, rated = case
    _, back = again("mtme", data, rated)
    most = max(sum(r.key == o.key for r in rated) for o in data.outputs)
    assert len(back) == most
    assert all(len({r.key for r in one.rated}) == len(one.rated) for one in back)
    assert {r for one in back for r in one.rated} == set(rated)
    assert sum(len(one.rated) for one in back) == len(rated)


RICH = Dataset(
    (Segment("d", "7", "ein altes Haus", ("an old house",)), Segment("d", "8", "zwei")),
    (Output(*KEY, "an old home"), Output("T", "d", "8", "too")),
    (HumanScore(*KEY, "adequacy", 4.0),),
)
LABELS = (
    rating(Span("output", 3, 6, "old", "Minor", "Style", "a note"), Span("output", 11, 11, "", "Major", "Fluency")),
    rating(Span("source", 4, 9, "altes", "Major", "Accuracy/Omission"), rater="q"),
)


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("google", ["1 unrated output", "1 reference", "human scores (adequacy)"]),
        ("marot", ["human scores (adequacy)"]),
        ("mtme", ["Texts: not in the file", "1 note:", "2 files", "1 unrated output", "1 reference", "adequacy"]),
        ("mtme-jsonl", ["1 note:", "Segment ids:", "1 unrated output", "1 reference", "adequacy"]),
        ("esa", ["1 error span in the source", "1 empty error span", "1 note", "2 ratings without a score", "1 unrated", "1 ref", "adeq"]),
        ("label-studio", ["1 empty error span", "Raters:", "1 unrated output", "human scores (adequacy)"]),
    ],
)  # fmt: skip
def test_what_a_format_does_not_hold_is_said_with_its_number(name: str, lost: list[str]) -> None:
    said = written(name, RICH, LABELS).lost
    assert len(said) == len(lost), said
    assert [part in line for part, line in zip(lost, said, strict=True)] == [True] * len(lost)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_is_recognised_from_what_it_writes(name: str) -> None:
    text = written(name, RICH, LABELS).texts[0].encode()
    assert guess(Upload("labels.txt", text)) == name
    assert guess(Upload("labels.txt.gz", gzip.compress(text))) == name


def test_files_are_said_apart_by_what_they_hold() -> None:
    for name, data, expected in (
        ("en-de.mqm.seg.score", b"A\t-1.0\n", "mtme-score"),
        ("en-de.mqm.seg.score", b"A\tNone\nA\t-1\n", "mtme-score"),
        ("da.csv", b"system,segment,rater,score\nA,1,r,70\n", "judgements"),
        ("da.csv", b"sep=;\nsystem;segment;rater;score, human\nA;1;r;70\n", "judgements"),
        ("da.jsonl", b'{"system": "A", "segment": "1", "annotator": "r", "score": 70}\n', "judgements"),
        ("marot.tsv", b's\td\t1\t0\tr\tsrc\t<v>t</v>\tStyle\tMajor\t{"timestamp": 1}\n', "marot"),
        ("old.tsv", b"s\td\t1\t0\tr\tsrc\t<v>t</v>\tStyle\tMajor\ta note\n", "marot"),
        ("old.tsv", b"s\td\t1\t0\tr\tsrc\tt\tno-error\tno-error\t\n", "marot"),
        ("log.jsonl", b'{"user_id": "u", "item_i": 0, "annotation": {"A": {"score": 1}}}\n', "esa"),
        ("log.jsonl", b'{"annotator": "u", "source_text": "x", "targets": []}\n', "esa"),
        ("log.jsonl", b'{"user_id": "u", "item": [{"src": "x"}]}\n', None),
        ("ls.json", b'[{"id": 0, "data": {"text": "x"}, "completions": []}]', "label-studio"),
        ("outputs.csv", b"system,segment,output\nA,1,x\n", None),
        ("labels.csv", b"system,doc_id,segment_id,rater,side,start,end,quote,severity,category\n", None),
        *((name, data, None) for name, data in {"x.json": b"[", "x.jsonl": b"{}", "y.json": b"[" * 100_000, "z.tsv": b""}.items()),
    ):  # fmt: skip
        assert guess(Upload(name, data)) == expected, (name, data[:80])


@pytest.mark.parametrize("name", WRITERS)
def test_labels_that_do_not_fit_their_texts_are_not_written(name: str) -> None:
    with pytest.raises(UserError, match="differs from the stored text"):
        written(name, dataset(), (rating(Span("output", 0, 3, "xyz", "Minor", "Style")),))
    with pytest.raises(UserError, match="unknown output"):
        written(name, dataset(), (RatedOutput(KEY._replace(system="T"), "r", ()),))


@pytest.mark.parametrize("name", [n for n in WRITERS if n != "google"])
def test_an_unknown_severity_is_a_problem_and_can_be_renamed(name: str) -> None:
    labels = (rating(Span("output", 3, 6, "old", "Critical", "Style")),)
    upload = Upload("x", written(name, dataset(), labels).texts[0].encode())
    assert any("critical" in p.got.lower() for p in problems_of(FORMATS[name].read, upload, SEVERITIES, dataset()))
    back = FORMATS[name].read(upload, Severities({"critical": "major"}), dataset())
    assert [e.severity for r in back.rated for e in r.errors] == ["Major"]


def test_severities_are_only_renamed_to_ours_and_an_unknown_format_is_named_with_those_there_are() -> None:
    with pytest.raises(UserError, match="Neutral"):
        Severities({"critical": "Terrible"})
    with pytest.raises(UserError, match="label-studio"):
        label_format("xliff")


VALUES = st.sampled_from(
    [None, True, -1, 10**400, 0.5, "", "x", "missing", [], [1], [[]], {}, {"text": 5}, "\ud800", "\0"]
)


@pytest.mark.parametrize("name", ["mtme", "mtme-jsonl", "esa", "label-studio", "marot"])
@given(seed=st.randoms(use_true_random=False), value=VALUES)
def test_a_mutated_record_gives_labels_or_problems(name: str, seed: Random, value: object) -> None:
    text = written(name, RICH, LABELS).texts[0]
    start = text.index("{")
    record, end = json.JSONDecoder().raw_decode(text, start)
    seed.choice(list(_places(record)))(value)
    exchanged = text[:start] + json.dumps(record) + text[end:]
    with suppress(ImportProblems):
        FORMATS[name].read(Upload("x", exchanged.encode()), SEVERITIES, RICH)


def _places(value: object) -> Iterator[Callable[[object], None]]:
    """For each place inside a JSON value, what puts another value there."""
    if isinstance(value, dict | list):
        for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield partial(value.__setitem__, key)
            yield from _places(inner)


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.binary(max_size=40) | TEXT.map(str.encode) | st.just(b'{"errors": 1, "item": [2], "annotation": [{}]}'))
def test_no_file_brings_anything_but_problems(name: str, data: bytes) -> None:
    with suppress(ImportProblems):
        FORMATS[name].read(Upload("x.csv", data), SEVERITIES, dataset())
    assert guess(Upload("x", data)) in (None, *FORMATS)


@pytest.mark.parametrize("name", ["google", "marot"])
def test_an_unknown_severity_is_named_with_its_line(name: str) -> None:
    header = "system doc doc_id seg_id rater source target category severity"
    if name == "marot":
        header = "system doc docSegId globalSegId rater source target category severity metadata"
    rows = [header.split()]
    for i, severity in enumerate(("Major", "Severe", "Minor", "severe")):
        cells = ["A", "d", str(i), str(i), "r", "s", f"<v>text</v> {i}", "Style", severity, "{}"]
        rows.append(cells[: len(rows[0])])
    upload = Upload("labels.tsv", "".join("\t".join(row) + "\n" for row in rows).encode())
    try:
        said = FORMATS[name].read(upload, Severities(), None).warnings
    except ImportProblems as error:
        said = error.problems
    assert [(p.file, p.row) for p in said] == [("labels.tsv", 3), ("labels.tsv", 5)]
    assert all("severity" in p.column and "evere" in p.got and "Major" in p.expected for p in said)
    assert not FORMATS[name].read(upload, Severities({"severe": "Major"}), None).warnings
