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
    imported = label_actions([rated("A", TWO, DREI), rated("B", WHOLE), rated("C")])
    actions = imported.actions["ann", KEY]
    assert [a.kind for a in actions] == ["add", "add", "verdict", "verdict", "submit"]
    labels = applied(actions)
    assert labels.submitted
    assert labels.order == ()  # no file says in which order the rater saw the systems
    assert errors_of(labels.of("A")) == (TWO, DREI)
    assert labels.of("B").verdict == "non_translation"
    assert labels.of("C").verdict == "no_error"
    assert not imported.notes


def test_a_submit_of_some_outputs_needs_only_these() -> None:
    labels = applied(label_actions([rated("A", TWO)]).actions["ann", KEY])
    assert labels.submitted
    assert not labels.of("B").complete
    for systems, message in ((["B"], "1 of 1 outputs"), ([], "cannot be read")):
        with pytest.raises(UserError, match=message):
            check(Action("i", "submit", None, {"systems": systems}), SegmentLabels(), SEGMENT, TEXTS)


def test_importing_twice_adds_nothing() -> None:
    first = label_actions([rated("A", TWO), rated("C")]).actions["ann", KEY]
    again = label_actions([rated("A", TWO), rated("C")]).actions["ann", KEY]
    assert [a.id for a in first] == [a.id for a in again]
    assert applied(again, first) == applied(first)
    assert not label_actions([rated("A", TWO), rated("C")], {("ann", KEY): applied(first)}).actions


def test_ids_differ_between_raters_segments_and_errors() -> None:
    other = OutputKey("A", "d", "2")
    imported = label_actions([rated("A", TWO, DREI), rated("A", TWO, rater="ben"), RatedOutput(other, "ann", (TWO,))])
    ids = [a.id for actions in imported.actions.values() for a in actions]
    assert len(ids) == len(set(ids)) == 3 + 2 + 2


def test_what_was_labelled_here_is_kept_and_told() -> None:
    held = {("ann", KEY): applied(label_actions([rated("A", TWO), rated("B"), rated("C")]).actions["ann", KEY])}
    imported = label_actions([rated("A", DREI), rated("B"), rated("C")], held)
    assert not imported.actions
    assert imported.notes == ("ann, A, segment 1: already has different labels here; these are kept",)


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
    other = applied(label_actions([rated("A", DREI)], held, known).actions["ann", KEY], gone)
    assert (other.submits("A"), errors_of(other.of("A"))) == (True, (DREI,))


def test_a_segment_without_new_labels_is_not_submitted_again() -> None:
    first = label_actions([rated("A", TWO)]).actions["ann", KEY]
    reopened = (*first, Action("r", "reopen", None, {}))
    assert not label_actions([rated("A", TWO)], {("ann", KEY): applied(reopened)}, {a.id for a in reopened}).actions


def test_an_import_submits_no_draft_of_the_same_rater() -> None:
    marked = Action("a", "add", "A", {"mark": "m", **asdict(TWO)})
    drafts = (marked, Action("b", "verdict", "B", {"value": "no_error"}))
    file = [rated("B", WHOLE), rated("C")]
    imported = label_actions(file, {("ann", KEY): applied(drafts)})
    assert imported.notes == ("ann, B, segment 1: already has different labels here; these are kept and not submitted",)
    labels = applied(imported.actions["ann", KEY], drafts)
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


@pytest.mark.parametrize(
    ("rating", "kinds", "note"),
    [
        (rated("A", TWO, TWO), ["add", "submit"], "more than once"),
        (rated("B", TWO, WHOLE), ["verdict", "submit"], "replaces 1 other"),
        (rated("A", Span("output", 0, 3, "one", "Critical", "Other")), [], "Critical"),
        (rated("A", Span("output", 0, 3, "one", "Major", "")), [], "no category"),
        (rated("A", TWO, rater=" "), [], "no rater"),
    ],
)
def test_what_is_not_imported_as_it_is_has_a_note(rating: RatedOutput, kinds: list[str], note: str) -> None:
    imported = label_actions([rating])
    assert [a.kind for actions in imported.actions.values() for a in actions] == kinds
    assert note in imported.notes[0]
