"""Labels as arrays are the same labels: every number and every order is that of the objects they were made from."""

from __future__ import annotations

import random
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np
import pytest

from core.columns import ProjectIndex
from core.data import OutputKey, RatedOutput, SegmentKey, Span, grouped
from core.errors import UserError
from core.mqm.label_columns import LabelColumns, LabelNames
from core.mqm.rated_by_output import RatedByOutput
from core.mqm.schemes import FLAT, GOOGLE, MAROT, Scheme
from core.mqm.scores import rated_outputs, rater_penalty, segment_scores, system_scores
from core.ports.labels import ErrorSpan, FoldedSegment, OutputLabels, SegmentLabels
from tests.labels import by_output, columns

SYSTEMS = ("A", "B", "C")
SEGMENTS = [SegmentKey("d", str(i)) for i in range(5)]
INDEX = ProjectIndex(
    (*SEGMENTS, SegmentKey("d", "new")), ("B", "A"), np.array([[3, 3]] * 4 + [[-1, 3]] + [[3, 3]], dtype=np.int32)
)
"""It has no system C, no output of B in the last labelled segment, and a segment that nobody has labelled."""


def some_labels(seed: int, n: int = 40) -> list[FoldedSegment]:
    """Labels of every kind, each rater and segment once."""
    draw = random.Random(seed)

    def span(i: int) -> ErrorSpan:
        quote = draw.choice(["", "ab", "é😀", "שלום"])
        category = draw.choice(["Accuracy/Omission", "Fluency/Punctuation", "Non-translation!", "Style"])
        side, severity = draw.choice(["output", "source"]), draw.choice(["Major", "Minor", "Neutral"])
        return ErrorSpan(str(i), Span(side, i, i + len(quote), quote, severity, category, draw.choice(["", "note €"])))  # type: ignore[arg-type]

    def output() -> OutputLabels:
        verdict = draw.choice([None, None, "no_error", "non_translation"])
        marks = () if verdict else tuple(span(i) for i in range(draw.randrange(4)))
        return OutputLabels(marks, verdict, draw.choice([None, 50.0]))  # type: ignore[arg-type]

    def segment() -> SegmentLabels:
        return SegmentLabels(
            {s: output() for s in draw.sample(SYSTEMS, draw.randrange(4))}, submitted=draw.random() < 0.8,
            seconds=draw.random(), asks=draw.choice([("spans",), ("spans", "score"), ("spans",), ("score",), ("preference",)]),
            declined=draw.choice(["", "", "", "damaged"]),
        )  # fmt: skip

    places = [(f"rater {r}", key) for r in range(8) for key in SEGMENTS]
    numbers = draw.sample(range(1000), len(places))
    return [FoldedSegment(*place, segment(), first) for place, first in zip(places, numbers, strict=True)][:n]


def objects(labelled: list[FoldedSegment]) -> list[RatedOutput]:
    """Return what the labels mean, without arrays."""
    ordered = sorted(labelled, key=lambda one: one.first)
    return rated_outputs({(one.rater, one.segment): one.labels for one in ordered})


@pytest.mark.parametrize("seed", range(5))
def test_the_rated_outputs_are_those_of_the_objects_in_their_order(seed: int) -> None:
    labelled = some_labels(seed)
    found, expected = LabelColumns.of(labelled), objects(labelled)
    assert len(expected) > 9
    assert list(found) == expected
    assert (len(found), found[0], found[-1], found[3:9]) == (len(expected), expected[0], expected[-1], expected[3:9])
    with pytest.raises(IndexError):
        found[len(expected)]
    ordered = sorted(labelled, key=lambda one: one.first)
    assert found.raters == tuple(dict.fromkeys(one.rater for one in ordered if one.labels.submitted))
    assert found.n_rated() == {rater: len(of) for rater, of in grouped((r.rater, r) for r in expected).items()}
    assert found.n_segments == len({r.key.segment for r in expected})
    two = ["rater 1", "rater 5", "nobody"]
    assert list(found.each(found.rows_by(two))) == [r for r in expected if r.rater in two]


@pytest.mark.parametrize("seed", range(5))
def test_changed_labels_replace_those_of_the_same_rater_and_segment(seed: int) -> None:
    before, later = some_labels(seed), some_labels(seed + 100)
    changed = random.Random(seed).sample(later, 9)
    now = {(one.rater, one.segment): one for one in before}
    for one in changed:  # a place keeps its first event
        now[one.rater, one.segment] = one._replace(first=now[one.rater, one.segment].first)
    new = FoldedSegment("newcomer", SegmentKey("d", "other"), replace(before[0].labels, submitted=True), 5000)
    found = LabelColumns.of(before).with_changes([*(now[c.rater, c.segment] for c in changed), new])
    assert list(found) == objects([*now.values(), new])
    assert found.with_changes([]).digest == found.digest
    begun = FoldedSegment("rater 3", SegmentKey("d", "begun"), SegmentLabels(), 6000)
    assert list(found.with_changes([begun])) == list(found)  # nobody has submitted anything of this segment


def test_columns_follow_each_other_and_keep_the_names() -> None:
    names = LabelNames()
    parts = [LabelColumns.of(some_labels(seed)[10 * seed : 10 * seed + 10], names) for seed in range(3)]
    nothing = LabelColumns.of([], names)
    assert list(nothing.followed_by(*parts)) == [r for part in parts for r in part]
    again = LabelColumns.of(some_labels(9)[5:15], names)
    places = {(r.rater, r.key.segment) for r in again} | {
        (one.rater, one.segment) for one in some_labels(9)[5:15] if one.labels.submitted
    }
    joined = [r for part in parts for r in part if (r.rater, r.key.segment) not in places]
    assert list(parts[0].followed_by(parts[1], parts[2], again)) == [
        *joined,
        *again,
    ]  # the last labels of a place count
    assert nothing.followed_by(nothing) is nothing
    assert nothing.followed_by(parts[0], nothing) is parts[0]
    assert (len(nothing), list(nothing), nothing.raters, nothing.n_rated()) == (0, [], (), {})


def test_a_digest_tells_labels_apart() -> None:
    labelled = [one for one in some_labels(1) if one.labels.submitted]
    assert LabelColumns.of(labelled).digest == LabelColumns.of(labelled).digest
    other = [*labelled[:-1], labelled[-1]._replace(rater="somebody else")]
    assert len({LabelColumns.of(of).digest for of in (labelled, labelled[1:], other)}) == 3


def test_finished_segments_are_those_with_what_the_protocol_asks_for() -> None:
    for labelled in (some_labels(seed) for seed in range(5)):
        found = LabelColumns.of(labelled)
        for rater in {one.rater for one in labelled}:
            mine = {one.segment: one.labels for one in labelled if one.rater == rater and one.labels.submitted}
            finished = found.finished_by(rater)
            assert finished.keys() == mine.keys()
            for key, of in mine.items():
                done = finished[key]
                assert [done is None or system in done for system in SYSTEMS] == [of.answered(s) for s in SYSTEMS]
    assert found.finished_by("nobody") == {}


# ── by output ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(5))
def test_labels_are_grouped_by_output_in_the_order_of_the_first(seed: int) -> None:
    labelled = some_labels(seed)
    found, expected = RatedByOutput(LabelColumns.of(labelled)), grouped((r.key, r) for r in objects(labelled))
    assert list(found.items()) == list(expected.items())
    assert len(found) == len(expected)
    assert sorted(found.raters) == sorted({r.rater for of in expected.values() for r in of})
    assert sorted(found.n_raters.tolist()) == sorted(map(len, expected.values()))
    for key in [*(OutputKey(s, *segment) for s in SYSTEMS for segment in SEGMENTS), OutputKey("Z", "d", "0")]:
        assert (key in found, found.n_raters_of(key)) == (key in expected, len(expected.get(key, [])))
    counts = found.n_raters_in(INDEX)
    assert counts.shape == INDEX.shape
    for key, cell in ((key, INDEX.cell(key)) for key in expected):
        if cell is not None:
            assert counts[cell] == len(expected[key])
    assert counts.sum() == sum(len(of) for key, of in expected.items() if INDEX.cell(key) is not None)


@pytest.mark.parametrize("scheme", [GOOGLE, MAROT, FLAT, replace(GOOGLE, non_translation=None)], ids=lambda s: s.name)
def test_scores_are_those_of_the_objects(scheme: Scheme) -> None:
    for seed in range(4):
        labelled = some_labels(seed)
        found, rated = RatedByOutput(LabelColumns.of(labelled)), objects(labelled)
        expected = segment_scores(rated, scheme)
        assert found.segment_scores(scheme) == expected
        assert found.system_scores(scheme) == system_scores(rated, scheme)
        keys = [s.key for s in expected[::2]]
        assert found.scores_of([*keys, OutputKey("Z", "d", "0")], scheme) == {s.key: s.score for s in expected[::2]}
        inside = found.scores_in(INDEX, scheme)
        for s in expected:
            if (cell := INDEX.cell(s.key)) is not None:
                assert inside[cell] == s.score
        assert (~np.isnan(inside)).sum() == sum(INDEX.cell(s.key) is not None for s in expected)
        raters, segments, table = found.table(scheme)
        assert raters == tuple(dict.fromkeys(r.rater for r in rated))
        assert segments == [key.segment for key in found]
        for r in rated:
            of = table[raters.index(r.rater), list(found).index(r.key)]
            assert of == pytest.approx(-rater_penalty(r.errors, scheme), abs=1e-12)
        assert (~np.isnan(table)).sum() == len(rated)


def test_a_severity_without_weight_is_refused_only_where_it_counts() -> None:
    strange = Span("output", 0, 1, "a", "Critical", "Style")
    whole = Span("output", 0, 0, "", "Major", "Non-translation!")
    key = OutputKey("A", "d", "1")
    with pytest.raises(UserError, match="no weight for this severity"):
        by_output([RatedOutput(key, "ann", (strange,))]).scores(GOOGLE)
    # a non-translation replaces the other errors
    assert by_output([RatedOutput(key, "ann", (strange, whole))]).scores(GOOGLE).tolist() == [-25.0]
    nothing = by_output([])
    assert (len(nothing), nothing.segment_scores(GOOGLE), nothing.system_scores(GOOGLE)) == (0, [], [])
    assert np.isnan(nothing.scores_in(INDEX, GOOGLE)).all()
    assert not nothing.having(INDEX, lambda _: True, None).any()


def test_outputs_are_found_by_rater_and_error() -> None:
    for seed in range(4):
        labelled = some_labels(seed)
        found, rated = RatedByOutput(LabelColumns.of(labelled)), objects(labelled)
        for error in (None, lambda kind: kind[1] == "Major", lambda kind: "translation" in kind[2]):
            for raters in ({"rater 1", "rater 2"}, {"nobody"}):
                expected = {
                    INDEX.cell(r.key)
                    for r in rated
                    if r.rater in raters
                    and (error is None or any(error((e.side, e.severity, e.category)) for e in r.errors))
                }
                mask = found.having(INDEX, raters.__contains__, error)
                assert {(i, j) for i, j in np.argwhere(mask).tolist()} == expected - {None}


def test_a_span_takes_few_bytes() -> None:
    spans = [Span("output", i, i + 4, "word", "Minor", "Fluency/Grammar") for i in range(50)]
    rated = [RatedOutput(OutputKey("A", "d", str(i)), "ann", tuple(spans)) for i in range(400)]
    columns(rated[:1])
    tracemalloc.start()
    try:
        labels = columns(rated)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(labels) == 400
    assert kept / 20_000 < 50


def test_columns_are_read_while_others_are_made() -> None:
    """Threads share the names: a digest and the work of raters are computed while labels of new kinds come in."""
    names, stop, failed = LabelNames(), Event(), list[BaseException]()
    found = LabelColumns.of(some_labels(2), names)
    rows, digest = RatedByOutput(found).rater_rows(GOOGLE), found.digest

    def read() -> None:
        while not stop.is_set():
            try:
                same = found.with_changes([])
                assert RatedByOutput(same).rater_rows(GOOGLE) == rows
                assert same.digest
                assert list(same.each(same.rows_by(["rater 1"]))) == list(found.each(found.rows_by(["rater 1"])))
            except BaseException as error:
                failed.append(error)
                return

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as pool:
            pool.submit(read)
            pool.submit(read)
            for i in range(150):
                spans = ErrorSpan("m", Span("output", 0, 1, "x", "Minor", f"Style/{i}"))
                of = SegmentLabels({f"new {i}": OutputLabels((spans,))}, submitted=True)
                found.with_changes([FoldedSegment(f"rater new {i}", SegmentKey("new", str(i)), of, i)])
            stop.set()
    finally:
        stop.set()
        sys.setswitchinterval(interval)
    assert not failed
    assert found.digest == digest


def test_texts_of_replaced_labels_are_not_kept() -> None:
    def labelled(note: str, segment: SegmentKey) -> FoldedSegment:
        mark = ErrorSpan("1", Span("output", 0, 3, "€uo", "Major", "Style", note))
        return FoldedSegment("ann", segment, SegmentLabels({"A": OutputLabels((mark,))}, submitted=True))

    found = LabelColumns.of([labelled(f"note {k}" * 10, key) for k, key in enumerate(SEGMENTS)])
    size, others = len(found._texts), list(found)[1:]
    for k in range(50):
        found = found.with_changes([labelled(f"note {k}" * 10, SEGMENTS[0])])
        assert len(found._texts) <= 2 * size + 100
    assert sorted(r.key for r in found) == sorted(OutputKey("A", *key) for key in SEGMENTS)
    by_key = {r.key: r for r in found}
    assert by_key[OutputKey("A", *SEGMENTS[0])].errors[0].note == "note 49" * 10
    assert [by_key[r.key] for r in others] == others
