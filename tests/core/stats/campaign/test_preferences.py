import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.stats.campaign.preferences import PreferenceVote, preference_strengths

NAMES = "ABCD"
TRUE = np.array([0.9, 0.2, -0.3, -0.8])


def votes(rng: np.random.Generator, items: int, per_item: int = 3) -> list[PreferenceVote]:
    found = []
    for item in range(items):
        for rater in range(per_item):
            i, j = rng.permutation(4)[:2].tolist()
            wins = rng.random() < 1 / (1 + np.exp(TRUE[j] - TRUE[i]))
            found.append(PreferenceVote(NAMES[i], NAMES[j], NAMES[i] if wins else NAMES[j], item, f"r{rater}"))
    return found


def test_two_systems_have_the_odds_of_their_votes() -> None:
    # A wins 5, B 1, two ties: 6 against 2 wins, strengths ±log(3)/2, rate .75
    winners = ["A"] * 5 + ["B"] + [None] * 2
    found = preference_strengths([PreferenceVote("A", "B", w, i, "x") for i, w in enumerate(winners)], seed=0)
    assert [s.strength.value for s in found.strengths] == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
    (rate,) = found.rates
    assert (rate.wins, rate.losses, rate.ties, rate.rate.value, rate.rate.n) == (5, 1, 2, 0.75, 8)
    assert [s.votes for s in found.strengths] == [8, 8]


def test_the_undefined_share_is_that_of_one_sided_resamples() -> None:
    # 1 loss in 6 votes is absent from a share (5/6)⁶ = .335 of the resamples; without loss the strength is unbounded
    cast = [PreferenceVote("A", "B", "A" if i else "B", i, "x") for i in range(6)]
    found = preference_strengths(cast, seed=0, draws=400)
    assert found.undefined == pytest.approx((5 / 6) ** 6 + (1 / 6) ** 6, abs=4 * np.sqrt(0.335 * 0.665 / 400))
    assert found.strengths[0].strength.value == pytest.approx(np.log(5) / 2)
    assert found.strengths[0].strength.low is None
    assert "undefined in" in found.strengths[0].strength.reason
    assert found.rates[0].rate.low is not None


def test_intervals_cover_the_true_strengths() -> None:
    rng, covered, runs = np.random.default_rng(0), 0, 8
    for run in range(runs):
        found = preference_strengths(votes(rng, 60), seed=run, draws=40)
        for strength, true in zip(found.strengths, TRUE, strict=True):
            assert strength.strength.low is not None
            assert strength.strength.high is not None
            covered += strength.strength.low <= true <= strength.strength.high
    assert 0.83 <= covered / (4 * runs)


def test_votes_on_one_item_are_not_independent() -> None:
    rng = np.random.default_rng(0)
    winners = rng.random(40) < 0.5
    copies = [PreferenceVote("A", "B", "A" if w else "B", i, f"r{k}") for i, w in enumerate(winners) for k in range(9)]
    wide, narrow = (
        preference_strengths(cast, seed=0).rates[0].rate
        for cast in (copies, [v._replace(item=(v.item, v.rater)) for v in copies])
    )
    assert wide.low is not None
    assert narrow.low is not None
    assert wide.high is not None
    assert narrow.high is not None
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


@settings(deadline=None, max_examples=6)
@given(st.integers(0, 1000))
def test_order_of_sides_and_names_of_raters_do_not_count(seed: int) -> None:
    cast = votes(np.random.default_rng(seed), 20)
    turned = [v._replace(first=v.second, second=v.first, rater="x" + v.rater) for v in cast]
    assert preference_strengths(turned, seed=0, draws=8) == preference_strengths(cast, seed=0, draws=8)
    opposite = [v._replace(winner=v.second if v.winner == v.first else v.first) for v in cast]
    plain, flipped = (preference_strengths(some, seed=0, draws=8) for some in (cast, opposite))
    for a, b in zip(plain.strengths, flipped.strengths, strict=True):
        if a.strength.value is not None and b.strength.value is not None:
            assert a.strength.value == pytest.approx(-b.strength.value, abs=1e-6)


def test_a_system_that_never_lost_is_undefined() -> None:
    cast = [PreferenceVote("A", "B", "A", i, "x") for i in range(4)]
    found = preference_strengths(cast, seed=0, draws=50)
    assert found.undefined == 1
    assert found.strengths[0].strength.value is None
    assert "never lost" in found.strengths[0].strength.reason
    assert found.rates[0].rate.value == 1


def test_one_item_has_no_interval_and_no_votes_no_systems() -> None:
    cast = [PreferenceVote("A", "B", w, 1, r) for w, r in (("A", "x"), ("B", "y"))]
    found = preference_strengths(cast, seed=0)
    assert found.strengths[0].strength.value == 0
    assert found.strengths[0].strength.reason == found.rates[0].rate.reason == "an interval needs at least two items"
    assert preference_strengths([], seed=0) == ((), (), 0.0)


def test_impossible_votes_are_refused() -> None:
    with pytest.raises(ValueError, match="itself"):
        preference_strengths([PreferenceVote("A", "A", None, 1, "x")], seed=0)
    with pytest.raises(ValueError, match="winner"):
        preference_strengths([PreferenceVote("A", "B", "C", 1, "x")], seed=0)
