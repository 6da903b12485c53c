from dataclasses import asdict
from datetime import UTC, datetime

import pytest

from core.data import OutputKey, RatedOutput, Segment, SegmentKey, Span
from core.errors import UserError
from core.mqm.actions import label_actions
from core.mqm.log import check, fold_segment
from core.mqm.scores import errors_of, rated_outputs
from core.ports.labels import Action, Event, SegmentLabels

TEXTS = {"A": "one two three", "B": "bla", "C": "fine"}
KEY = SegmentKey("d", "1")
SEGMENT = Segment("d", "1", "eins zwei drei")
TWO = Span("output", 4, 7, "two", "Major", "Accuracy/Mistranslation", "why")
DREI = Span("source", 10, 14, "drei", "Minor", "Accuracy/Omission")
WHOLE = Span("output", 0, 3, "bla", "Major", "Non-translation!")


def rated(system: str, *errors: Span, rater: str = "ann") -> RatedOutput:
    return RatedOutput(OutputKey(system, *KEY), rater, errors)


def applied(actions: tuple[Action, ...], before: tuple[Action, ...] = ()) -> SegmentLabels:
    """The labels after the actions, each of them checked as storage does; ids that are known are passed over."""
    log: list[Event] = []
    seen: set[str] = set()
    for action in (*before, *actions):
        if action.id not in seen:
            seen.add(action.id)
            check(action, fold_segment(log), SEGMENT, TEXTS)
            log.append(Event(len(log), datetime(2024, 1, 1, tzinfo=UTC), "ann", KEY, action))
    return fold_segment(log)


def test_an_import_is_marked_and_submitted() -> None:
    found = label_actions([rated("A", TWO, DREI), rated("B", WHOLE), rated("C")])
    actions = found.actions["ann", KEY]
    assert [a.kind for a in actions] == ["add", "add", "verdict", "verdict", "submit"]
    labels = applied(actions)
    assert labels.submitted
    assert labels.order == ()  # no file says in which order the rater saw the systems
    assert errors_of(labels.of("A")) == (TWO, DREI)
    assert labels.of("B").verdict == "non_translation"
    assert labels.of("C").verdict == "no_error"
    assert not found.notes


def test_a_rater_who_saw_some_systems_only_can_be_imported() -> None:
    labels = applied(label_actions([rated("A", TWO)]).actions["ann", KEY])
    assert labels.submitted
    assert not labels.of("B").complete


def test_a_submit_of_some_outputs_still_needs_these() -> None:
    with pytest.raises(UserError, match="1 of 1 outputs"):
        check(Action("i", "submit", None, {"systems": ["B"]}), SegmentLabels(), SEGMENT, TEXTS)
    with pytest.raises(UserError, match="cannot be read"):
        check(Action("i", "submit", None, {"systems": []}), SegmentLabels(), SEGMENT, TEXTS)


def test_importing_twice_adds_nothing() -> None:
    first = label_actions([rated("A", TWO), rated("C")]).actions["ann", KEY]
    again = label_actions([rated("A", TWO), rated("C")]).actions["ann", KEY]
    assert [a.id for a in first] == [a.id for a in again]
    assert applied(again, first) == applied(first)
    assert not label_actions([rated("A", TWO), rated("C")], {("ann", KEY): applied(first)}).actions


def test_ids_differ_between_raters_segments_and_errors() -> None:
    other = OutputKey("A", "d", "2")
    found = label_actions([rated("A", TWO, DREI), rated("A", TWO, rater="ben"), RatedOutput(other, "ann", (TWO,))])
    ids = [a.id for actions in found.actions.values() for a in actions]
    assert len(ids) == len(set(ids)) == 3 + 2 + 2


def test_what_was_labelled_here_is_kept_and_told() -> None:
    held = {("ann", KEY): applied(label_actions([rated("A", TWO), rated("B"), rated("C")]).actions["ann", KEY])}
    found = label_actions([rated("A", DREI), rated("B"), rated("C")], held)
    assert not found.actions
    assert found.notes == ("ann, A, segment 1: already has different labels here; these are kept",)


def test_more_outputs_of_a_segment_are_added_to_it() -> None:
    first = label_actions([rated("A", TWO)]).actions["ann", KEY]
    more = label_actions([rated("A", TWO), rated("C")], {("ann", KEY): applied(first)}).actions["ann", KEY]
    assert [a.kind for a in more] == ["verdict", "submit"]
    assert applied(more, first).submitted


def test_labels_that_a_rater_withdrew_are_left_out_and_told() -> None:
    first = label_actions([rated("A", TWO), rated("B")]).actions["ann", KEY]
    gone = (*first, Action("d", "delete", "A", {"mark": first[0].payload["mark"]}))
    held, known = {("ann", KEY): applied(gone)}, {a.id for a in gone}
    same = label_actions([rated("A", TWO), rated("B")], held, known)
    assert not same.actions
    assert same.notes == ("ann, A, segment 1: imported before and withdrawn here; not imported again",)
    more = label_actions([rated("A", TWO), rated("B"), rated("C")], held, known).actions["ann", KEY]
    assert more[-1].payload == {"systems": ["B", "C"]}
    assert applied(more, gone).submitted


def test_other_labels_for_an_output_that_was_withdrawn_are_submitted_again() -> None:
    first = label_actions([rated("A", TWO)]).actions["ann", KEY]
    gone = (*first, Action("d", "delete", "A", {"mark": first[0].payload["mark"]}))
    second = label_actions([rated("A", DREI)], {("ann", KEY): applied(gone)}, {a.id for a in gone})
    labels = applied(second.actions["ann", KEY], gone)
    assert (labels.submitted, errors_of(labels.of("A"))) == (True, (DREI,))


def test_a_segment_without_new_labels_is_not_submitted_again() -> None:
    first = label_actions([rated("A", TWO)]).actions["ann", KEY]
    reopened = (*first, Action("r", "reopen", None, {}))
    assert not label_actions([rated("A", TWO)], {("ann", KEY): applied(reopened)}, {a.id for a in reopened}).actions


def test_an_import_submits_no_draft_of_the_same_rater() -> None:
    marked = Action("a", "add", "A", {"mark": "m", **asdict(TWO)})
    drafts = (marked, Action("b", "verdict", "B", {"value": "no_error"}))
    file = [rated("B", WHOLE), rated("C")]
    found = label_actions(file, {("ann", KEY): applied(drafts)})
    assert found.notes == ("ann, B, segment 1: already has different labels here; these are kept and not submitted",)
    labels = applied(found.actions["ann", KEY], drafts)
    assert [labels.submits(system) for system in "ABC"] == [False, False, True]
    assert [labels.answered(system) for system in "ABC"] == [False, False, True]
    assert [r.key.system for r in rated_outputs({("ann", KEY): labels})] == ["C"]

    submitted = (*drafts, Action("s", "submit", None, {"systems": ["A", "B"]}))
    more = label_actions(file, {("ann", KEY): applied(submitted)})
    labels = applied(more.actions["ann", KEY], submitted)
    assert [r.key.system for r in rated_outputs({("ann", KEY): labels})] == ["A", "B", "C"]

    for step in (Action("u", "undo", None, {}), Action("r", "reopen", None, {})):
        late = (*submitted, step)
        labels = applied(label_actions([rated("C")], {("ann", KEY): applied(late)}).actions["ann", KEY], late)
        left = ["A", "C"] if step.kind == "undo" else ["C"]
        assert [r.key.system for r in rated_outputs({("ann", KEY): labels})] == left


def test_exact_duplicates_count_once_and_are_told() -> None:
    found = label_actions([rated("A", TWO, TWO)])
    assert [a.kind for a in found.actions["ann", KEY]] == ["add", "submit"]
    assert "more than once" in found.notes[0]


def test_errors_beside_a_non_translation_are_told() -> None:
    found = label_actions([rated("B", TWO, WHOLE)])
    assert [a.kind for a in found.actions["ann", KEY]] == ["verdict", "submit"]
    assert "replaces 1 other" in found.notes[0]


@pytest.mark.parametrize(
    ("error", "rater", "why"),
    [
        (Span("output", 0, 3, "one", "Critical", "Other"), "ann", "Critical"),
        (Span("output", 0, 3, "one", "Major", ""), "ann", "no category"),
        (TWO, " ", "no rater"),
    ],
)
def test_labels_that_the_log_cannot_hold_are_left_out_and_told(error: Span, rater: str, why: str) -> None:
    found = label_actions([rated("A", error, rater=rater)])
    assert not found.actions
    assert why in found.notes[0]
