from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import SEVERITIES, Segment, SegmentKey
from core.errors import Stale, UserError
from core.mqm.log import check, fold, fold_segment
from core.ports.labels import EDITS, Action, Event, OutputLabels, SegmentLabels

START = datetime(2026, 1, 1, tzinfo=UTC)
KEY = SegmentKey("d", "1")
SEGMENT = Segment("d", "1", "Das 😀 Haus", ("The 😀 house",))
OUTPUTS = {"A": "The 😀 haus", "B": "A home"}
EDIT_KINDS = ("add", "change", "delete", "verdict")


def events(actions: Sequence[Action], seconds: Sequence[float] | None = None, rater: str = "ann") -> list[Event]:
    at = seconds or range(len(actions))
    return [
        Event(i, START + timedelta(seconds=t), rater, KEY, a) for i, (a, t) in enumerate(zip(actions, at, strict=True))
    ]


def labels_after(*actions: Action) -> SegmentLabels:
    """The labels after actions that are each checked first, as storage does."""
    log: list[Event] = []
    for action in actions:
        check(action, fold_segment(log), SEGMENT, OUTPUTS)
        log += events([action])
    return fold_segment(log)


def add(mark: str, start: int = 0, end: int = 3, system: str = "A", kind: str = "add", **more: Any) -> Action:
    side = more.get("side", "output")
    quote = (OUTPUTS[system] if side == "output" else SEGMENT.source or "")[start:end]
    span = {
        "side": side,
        "start": start,
        "end": end,
        "quote": quote,
        "severity": "Major",
        "category": "Fluency/Spelling",
    }
    return Action(f"{kind}-{mark}-{start}", kind, system, {"mark": mark, "note": "", **span, **more})


def simple(kind: str, system: str | None = None, **payload: Any) -> Action:
    return Action(f"{kind}-{payload}", kind, system, payload)  # type: ignore[arg-type]


OPEN = simple("open", order=["A", "B"], seed=1)
UNDO, REDO, SUBMIT, REOPEN = simple("undo"), simple("redo"), simple("submit"), simple("reopen")
FINE_A, FINE_B = simple("verdict", "A", value="no_error"), simple("verdict", "B", value="no_error")


SYSTEMS, MARKS = st.sampled_from(sorted(OUTPUTS)), st.sampled_from(["m1", "m2", "m3"])


@st.composite
def spans(draw: st.DrawFn) -> Action:
    system = draw(SYSTEMS)
    side = draw(st.sampled_from(["output", "source"]))
    text = OUTPUTS[system] if side == "output" else SEGMENT.source or ""
    start = draw(st.integers(0, len(text)))
    return add(
        draw(MARKS),
        start,
        draw(st.integers(start, len(text))),
        system,
        draw(st.sampled_from(["add", "add", "change"])),
        side=side,
        severity=draw(st.sampled_from(SEVERITIES)),
        category=draw(st.sampled_from(["Other", "Accuracy/Omission"])),
    )


ACTIONS = st.one_of(
    spans(),
    spans(),
    st.builds(lambda s, m: simple("delete", s, mark=m), SYSTEMS, MARKS),
    st.builds(
        lambda s, v: simple("verdict", s, value=v), SYSTEMS, st.sampled_from(["no_error", "non_translation", None])
    ),
    st.sampled_from([UNDO, UNDO, REDO, SUBMIT, REOPEN, simple("open", order=["B", "A"], seed=7)]),
)


def accepted(actions: Sequence[Action]) -> list[Action]:
    """Those actions that storage would take, one after the other."""
    taken: list[Action] = []
    for action in actions:
        try:
            check(action, fold_segment(events(taken)), SEGMENT, OUTPUTS)
        except UserError:
            continue
        taken.append(action)
    return taken


@given(st.lists(ACTIONS, max_size=25))
def test_any_accepted_sequence_folds_to_labels_that_hold_together(actions: list[Action]) -> None:
    labels = fold_segment(events(accepted(actions)))
    for system, output in labels.outputs.items():
        assert not (output.marks and output.verdict)
        assert len({m.id for m in output.marks}) == len(output.marks)
        places = [(m.span.side, m.span.start, m.span.end, m.span.severity, m.span.category) for m in output.marks]
        assert len(set(places)) == len(places)
        for m in output.marks:
            m.span.check(OUTPUTS[system] if m.span.side == "output" else SEGMENT.source or "")


@given(st.lists(ACTIONS, max_size=15), ACTIONS)
def test_undo_reverts_the_last_edit_and_redo_restores_it(actions: list[Action], last: Action) -> None:
    before = accepted(actions)
    if last.kind not in EDIT_KINDS or accepted([*before, last]) == before:
        return
    done = fold_segment(events([*before, last]))
    undone = fold_segment(events([*before, last, UNDO]))
    assert undone.outputs == fold_segment(events(before)).outputs
    assert done.last
    assert undone.undone
    assert fold_segment(events([*before, last, UNDO, REDO])).outputs == done.outputs


@given(st.lists(ACTIONS, max_size=20))
def test_all_edits_can_be_undone_and_redone(actions: list[Action]) -> None:
    taken = accepted(actions)
    n = len(taken)
    full = fold_segment(events(taken))
    assert fold_segment(events(taken + [UNDO] * n)).outputs == {}
    undos = next(k for k in range(n + 1) if not fold_segment(events(taken + [UNDO] * k)).last)
    assert fold_segment(events(taken + [UNDO] * undos + [REDO] * undos)).outputs == full.outputs


EDITS_OF_ALL = st.one_of(
    ACTIONS,
    st.builds(lambda w: simple("prefer", winner=w), st.sampled_from(["A", "B", None])),
    st.sampled_from([simple("prefer"), simple("decline", reason="unclear"), simple("decline", reason="")]),
    st.builds(lambda s, v: simple("score", s, value=v), SYSTEMS, st.sampled_from([1.0, 50.0, None])),
)


@given(st.lists(EDITS_OF_ALL, max_size=14))
def test_labels_after_undo_are_those_of_the_edits_in_effect(actions: list[Action]) -> None:
    taken, done, undone = accepted(actions), list[Action](), list[Action]()
    for action in taken:
        if action.kind == "undo" and done:
            undone.append(done.pop())
        elif action.kind == "redo" and undone:
            done.append(undone.pop())
        elif action.kind in EDITS:
            done.append(action)
            undone.clear()
    labels, replayed = fold_segment(events(taken)), fold_segment(events(done))
    assert (labels.outputs, labels.versions) == (replayed.outputs, replayed.versions)
    assert (labels.preference, labels.declined, labels.last) == (replayed.preference, replayed.declined, replayed.last)
    assert list(labels.outputs) == list(replayed.outputs)


@given(st.lists(ACTIONS, max_size=12), st.lists(ACTIONS, max_size=12))
def test_two_raters_do_not_touch_each_other(one: list[Action], two: list[Action]) -> None:
    a, b = accepted(one), accepted(two)
    mixed = fold(events(a, rater="ann") + events(b, rater="bob"))
    assert mixed.get(("ann", KEY), SegmentLabels()) == fold_segment(events(a))
    assert mixed.get(("bob", KEY), SegmentLabels()) == fold_segment(events(b))


def test_undo_and_redo_work_across_the_outputs_of_a_segment() -> None:
    labels = labels_after(add("m1"), FINE_B, UNDO, UNDO, REDO)
    assert (labels.of("A").marks[0].id, labels.of("B")) == ("m1", OutputLabels())
    assert labels.last
    assert labels.undone
    assert not labels_after(add("m1"), UNDO, FINE_B).undone
    assert labels_after(add("m1"), UNDO, OPEN).undone
    assert labels_after(FINE_A, FINE_B, SUBMIT, REDO).submitted
    assert labels_after(UNDO, REDO).outputs == {}


def test_error_spans_and_verdict_exclude_each_other() -> None:
    none = simple("verdict", "A", value=None)
    assert labels_after(FINE_A, add("m1")).of("A").verdict is None
    assert labels_after(add("m1"), FINE_A).of("A").marks == ()
    assert labels_after(add("m1"), FINE_A, UNDO).of("A").marks[0].id == "m1"
    assert len(labels_after(add("m1"), none).of("A").marks) == 1
    assert labels_after(FINE_A, none).of("A") == OutputLabels()


def test_a_submit_needs_every_output_and_is_withdrawn_by_a_change() -> None:
    with pytest.raises(UserError, match="1 of 2 outputs"):
        labels_after(FINE_A, SUBMIT)
    assert labels_after(FINE_A, add("m1", 0, 1, "B"), SUBMIT).submitted
    for change in (add("m1"), UNDO, REOPEN):
        assert not labels_after(FINE_A, FINE_B, SUBMIT, change).submitted
    assert labels_after(FINE_A, FINE_B, SUBMIT, REOPEN, SUBMIT).submitted


def test_error_spans_may_overlap_but_not_repeat() -> None:
    gone = simple("delete", "A", mark="m1")
    assert len(labels_after(add("m1", 0, 3), add("m2", 2, 5), add("m3", 0, 3, severity="Minor")).of("A").marks) == 3
    assert labels_after(add("m1"), add("m1", kind="change", note="now I see why")).of("A").marks[0].span.note
    assert labels_after(add("m1"), gone).of("A").marks == ()
    for actions, message in (
        ((add("m1"), add("m2")), "already marked"),
        ((add("m1", 0, 3), add("m2", 2, 5), add("m2", 0, 3, kind="change")), "already marked"),
        ((add("m1", kind="change"),), "does not exist"),
        ((add("m1"), gone, gone), "does not exist"),
        ((add("m1"), add("m1", 4, 5)), "already exists"),
    ):
        with pytest.raises(UserError, match=message):
            labels_after(*actions)


def test_offsets_are_code_points() -> None:
    # "The 😀 haus": the emoji is one code point at 4, so "haus" begins at 6 (in UTF-16 it would be 7)
    assert labels_after(add("m1", 6, 10)).of("A").marks[0].span.quote == "haus"
    with pytest.raises(UserError, match="differs from the stored text"):
        labels_after(add("m1", 7, 11, quote="haus"))


def test_an_omission_needs_a_source_to_be_marked() -> None:
    omission = add("m1", 4, 5, side="source", category="Accuracy/Omission")
    assert labels_after(omission).of("A").marks[0].span.quote == "😀"
    nothing = add("m1", 0, 0, side="source")
    with pytest.raises(UserError, match="no source"):
        check(nothing, SegmentLabels(), Segment("d", "1", None), OUTPUTS)


@pytest.mark.parametrize(
    "action",
    [
        Action("1", "explode", "A", {}),  # type: ignore[arg-type]
        Action("1", "add", "A", {}),
        Action("1", "add", "A", ["mark"]),  # type: ignore[arg-type]
        Action("1", "delete", "A", {"mark": ""}),
        add("m1", severity="Critical"),
        add("m1", severity=["Major"]),
        add("m1", category=""),
        add("m1", category=None),
        add("m1", note=7),
        add("m1", side="reference"),
        Action("1", "add", "A", dict(add("m1").payload) | {"start": 0.0}),
        Action("1", "add", "A", dict(add("m1", 0, 1).payload) | {"end": True}),
        Action("1", "add", "A", dict(add("m1").payload) | {"start": -3}),
        Action("1", "verdict", "A", {}),
        Action("1", "verdict", "A", {"value": "perfect"}),
        Action("1", "verdict", "Z", {"value": "no_error"}),
        Action("1", "verdict", None, {"value": "no_error"}),
        Action("1", "open", None, {"order": "AB"}),
    ],
)
def test_a_malformed_action_is_a_user_error(action: Action) -> None:
    with pytest.raises(UserError):
        labels_after(action)


def test_time_counts_between_events_but_not_pauses() -> None:
    opened = simple("open", order=["B", "A"], seed=7)
    # 5 s, then 10 s, then a pause of an hour that counts as two minutes; the way to an `open` counts nothing; then 2 s
    labels = fold_segment(events([opened, FINE_A, FINE_B, SUBMIT, opened, REOPEN], [0, 5, 15, 3615, 9000, 9002]))
    assert (labels.seconds, labels.order, labels.seed) == (5 + 10 + 120 + 2, ("B", "A"), 7)
    # a clock that is set back takes no time away
    assert fold_segment(events([FINE_A, FINE_B, SUBMIT], [100, 40, 50])).seconds == 10


def seeing(action: Action, seen: str) -> Action:
    return action._replace(id=f"{action.id}-seen-{seen}", payload={**action.payload, "seen": seen})


def test_an_action_on_labels_that_changed_since_is_stale() -> None:
    first = add("m1")
    labels_after(first, seeing(FINE_A, first.id))
    for stale in (seeing(FINE_A, ""), seeing(add("m2"), "other"), seeing(UNDO, ""), seeing(REDO, first.id)):
        with pytest.raises(Stale):
            labels_after(first, stale)
    labels_after(first, seeing(FINE_B, ""))  # another output: nothing of it has changed
    with pytest.raises(Stale):
        labels_after(first, FINE_B, seeing(SUBMIT, first.id))
    labels_after(first, FINE_B, seeing(SUBMIT, FINE_B.id))


def test_an_undo_and_a_redo_restore_the_version() -> None:
    first, second = add("m1"), add("m2", 4, 5)
    before = labels_after(first, second)
    again = labels_after(first, second, UNDO, REDO)
    assert (before.versions, before.last, before.undone) == (again.versions, again.last, again.undone)
    assert labels_after(first, second, UNDO).version("redo", None) == second.id
    assert labels_after(first, second, UNDO).version("add", "A") == first.id


def test_outputs_whose_systems_were_shown_are_locked() -> None:
    reveal = simple("reveal", systems=["A"])
    assert labels_after(FINE_A, FINE_B, SUBMIT, reveal).submitted
    for late in (add("m1"), simple("verdict", "A", value=None), UNDO, REOPEN):
        with pytest.raises(UserError, match="locked"):
            labels_after(FINE_A, FINE_B, SUBMIT, reveal, late)
    assert labels_after(FINE_A, reveal, FINE_B, SUBMIT).submitted  # B was added later, and is still blind


def test_suggestions_are_decided_once_and_before_the_submit() -> None:
    fields = {"side": "output", "start": 0, "end": 3, "quote": "The", "severity": "Major", "category": "Other"}
    shown = {"A": [{"id": "s1", **fields}, {"id": "s2", **fields, "severity": "Minor"}]}
    opened = simple("open", order=["A", "B"], seed=1, arm="suggested", probability=0.75, suggestions=shown)._replace(
        id="open"
    )
    accept, reject = add("m1", suggestion="s1"), simple("reject", "A", suggestion="s2")
    with pytest.raises(UserError, match="2 of 2 suggestions are not decided"):
        labels_after(opened, FINE_B, SUBMIT)
    with pytest.raises(UserError, match="1 of 2 suggestions are not decided"):
        labels_after(opened, accept, FINE_B, SUBMIT)
    labels = labels_after(opened, accept, reject, FINE_B, SUBMIT)
    assert (labels.submitted, labels.arm, labels.probability) == (True, "suggested", 0.75)
    assert [s.id for s in labels.suggestions["A"]] == ["s1", "s2"]
    assert (labels.of("A").marks[0].suggestion, labels.of("A").decided) == ("s1", ("s1", "s2"))
    edited = labels_after(opened, accept, add("m1", 4, 5, kind="change"))
    assert edited.of("A").marks[0].suggestion == "s1"
    assert [s.id for s in labels_after(opened, accept, UNDO).undecided("A")] == ["s1", "s2"]
    assert [s.id for s in labels_after(opened, accept, simple("delete", "A", mark="m1")).undecided("A")] == ["s2"]
    assert labels_after(opened, FINE_A).undecided("A") == ()
    assert len(labels_after(opened, accept, FINE_A, simple("verdict", "A", value=None)).undecided("A")) == 2
    with pytest.raises(UserError, match="decided already"):
        labels_after(opened, reject, simple("reject", "A", suggestion="s2")._replace(id="again"))
    with pytest.raises(UserError, match="decided already"):
        labels_after(opened, accept, add("m2", 4, 5, suggestion="s1"))
    for wrong in (add("m1", suggestion="s9"), simple("reject", "B", suggestion="s1"), simple("reject", "A")):
        with pytest.raises(UserError, match=r"does not exist|expected the id of a suggestion"):
            labels_after(opened, wrong)
