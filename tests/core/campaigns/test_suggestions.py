"""Arms, withheld and planted suggestions: probabilities, balance within blocks, places."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from core.campaigns.suggestion_effect import layer_agreement, marked_among
from core.campaigns.suggestions import Suggestions, assign_arm, draw_suggestions, moved_suggestions
from core.data import Side, Span
from core.errors import UserError
from core.spans.layers import LayerSpan

DESIGN = Suggestions("judge:x", control_share=0.25, planted_share=0.5, withheld_share=0.2, seed=3)
TEXT = "The quick brown fox jumps over the lazy dog while seven small birds look on from the old roof."


def span(start: int, end: int, text: str = TEXT) -> LayerSpan:
    return LayerSpan(Span("output", start, end, text[start:end], "Major", "Accuracy"), 0.7)


def test_arms_have_their_probability_and_are_balanced_in_blocks() -> None:
    """Eight units at a share of 1/4 always have two controls; five have one or two, 1.25 on average."""
    for size, counts in ((8, {2}), (5, {1, 2}), (1, {0, 1})):
        members = [f"u{i}" for i in range(size)]
        per_unit: Counter[str] = Counter()
        for n in range(2000):
            draws = {u: assign_arm(DESIGN, f"r{n}", u, members, ["A"]) for u in members}
            controls = [u for u, draw in draws.items() if draw.arm == "control"]
            assert len(controls) in counts
            assert len({draw.block for draw in draws.values()}) == 1
            assert all(draw.probability == (0.25 if draw.arm == "control" else 0.75) for draw in draws.values())
            per_unit.update(controls)
        for u in members:  # 500 expected, standard deviation √(2000 · 1/4 · 3/4) = 19.4
            assert abs(per_unit[u] - 500) < 5 * 19.4
    members = ["b", "a", "c"]
    again = [assign_arm(DESIGN, "r", "a", order, ["A"]) for order in (members, sorted(members), ["c", "b"])]
    assert len(set(again)) == 1
    alone = {assign_arm(DESIGN, "r", u, [u], [s]).block for u, s in product("xy", "AB")}
    assert len(alone) == 2, "single units of one rater and system are exchangeable"


def test_suggestions_are_withheld_and_wrong_ones_planted_beside_errors() -> None:
    layer = (span(4, 9), span(20, 25), span(40, 44))
    withheld = planted = 0
    for n in range(3000):
        drawn = draw_suggestions(DESIGN, f"r{n}", "u", "A", TEXT, layer)
        withheld += len(drawn.withheld)
        right = [s for s in drawn.shown if s != drawn.wrong]
        assert {*right, *drawn.withheld} == {*layer}
        assert len(right) + len(drawn.withheld) == len(layer)
        if drawn.wrong is not None:
            planted += 1
            error = drawn.wrong.error
            error.check(TEXT)
            assert 2 <= len(error.quote.split()) <= 6
            assert not any(error.start <= s.error.end and s.error.start <= error.end for s in layer)
            assert (error.severity, error.category, drawn.wrong.confidence) == ("Major", "Accuracy", 0.7)
    assert abs(withheld - 0.2 * 9000) < 5 * (9000 * 0.2 * 0.8) ** 0.5
    assert abs(planted - 1500) < 5 * 750**0.5
    assert draw_suggestions(DESIGN, "r", "u", "A", TEXT, layer) == draw_suggestions(DESIGN, "r", "u", "A", TEXT, layer)
    for text, spans, like in (("Hi", (), layer), (TEXT, (span(0, len(TEXT)),), ()), (TEXT, (), ())):
        assert all(draw_suggestions(DESIGN, f"r{n}", "u", "A", text, spans, like).wrong is None for n in range(20))
    unmarked = [draw_suggestions(DESIGN, f"r{n}", "u", "A", TEXT, (), layer) for n in range(40)]
    assert any(d.wrong is not None for d in unmarked), "outputs without errors can get a wrong suggestion too"


def test_suggestions_move_with_the_text_of_a_check() -> None:
    """TEXT with "jumps" [20, 25) replaced by "was seen to leap", 11 characters longer."""
    after = TEXT.replace("jumps", "was seen to leap")
    moved, left_out = moved_suggestions((span(4, 9), span(20, 25), span(40, 44)), TEXT, after)
    assert [(s.error.start, s.error.end) for s in moved] == [(4, 9), (51, 55)]
    assert left_out == 1
    for one in moved:
        one.error.check(after)
    omission = LayerSpan(Span("source", 0, 3, "Der", "Major", "Accuracy/Omission"))
    assert moved_suggestions((omission,), TEXT, after) == ((omission,), 0)


def test_designs_that_cannot_be_analysed_are_refused() -> None:
    DESIGN.check()
    for wrong in (
        Suggestions(""),
        Suggestions("x", control_share=0.1),
        Suggestions("x", planted_share=0.6),
        Suggestions("x", withheld_share=-0.1),
        Suggestions("x", margin=0),
    ):
        with pytest.raises(UserError):
            wrong.check()


def test_agreement_with_the_layer_counts_characters() -> None:
    """[0, 6) and [3, 5) + [8, 10): 2 shared characters of 6 + 4, F1 = 4/10. An omission at 7 counts as one character."""

    def at(start: int, end: int, side: Side = "output") -> Span:
        return Span(side, start, end, "", "Minor", "")

    assert layer_agreement([at(0, 6)], [at(3, 5), at(8, 10)]) == 0.4
    assert layer_agreement([], []) == 1
    assert layer_agreement([at(0, 2)], []) == 0
    assert layer_agreement([at(0, 3), at(7, 7)], [at(7, 7)]) == 0.4
    assert layer_agreement([at(0, 3)], [at(0, 3, "source")]) == 0
    assert marked_among([at(0, 2), at(4, 6), at(8, 9)], [at(1, 5), at(8, 9, "source")]) == 2
