from itertools import permutations

from core.data import OutputKey, RatedOutput, Span
from core.mqm.schemes import SCHEMES
from core.mqm.scores import segment_scores, system_scores


def test_equal_errors_in_another_order_give_equal_scores() -> None:
    punctuation, minor, major = ("Minor", "Fluency/Punctuation"), ("Minor", "Style/Awkward"), ("Major", "Accuracy")
    kinds = [punctuation, punctuation, punctuation, minor, major]
    spans = [Span("output", k, k + 1, "x", *kind) for k, kind in enumerate(kinds)]
    orders = list(permutations(spans))
    rated = [RatedOutput(OutputKey(f"s{k}", "d", "1"), "Ann", order) for k, order in enumerate(orders)]
    assert {s.score for s in segment_scores(rated, SCHEMES["google"])} == {-6.3}
    shared = [
        RatedOutput(OutputKey("s", "d", str(k)), rater, part)
        for k, order in enumerate(orders)
        for rater, part in (("Ann", order[:2]), ("Bo", order[2:]))
    ]
    assert {s.score for s in segment_scores(shared, SCHEMES["google"])} == {-3.15}
    assert [s.score for s in system_scores(shared, SCHEMES["google"])] == [-3.15]
