"""Dynamic assignment: what holds in every campaign."""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.campaigns.assignment import draw_block, inclusion_probabilities, inclusion_weights
from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import PROTOCOLS, ProtocolName
from core.campaigns.seeded import arrival_times, display_order, shuffled
from core.campaigns.units import planned_units
from core.data import SegmentKey
from core.ports.campaigns import CampaignUnit, DrawState
from tests.bench.assignment import Setting, bias, simulated
from tests.core.campaigns.examples import NAMES, Simulation, outline, stored

NAMES_OF_PROTOCOLS: tuple[ProtocolName, ...] = ("esa", "cesa", "pairwise")


@st.composite
def campaigns(draw: st.DrawFn) -> tuple[CampaignDesign, list[CampaignUnit]]:
    """A small campaign, with outputs missing here and there."""
    systems = draw(st.integers(2, 4))
    full = outline(draw(st.integers(1, 4)), draw(st.integers(1, 5)), systems)
    gone = draw(st.sets(st.tuples(st.sampled_from(sorted(full)), st.sampled_from(NAMES[:systems])), max_size=4))
    outputs = {key: tuple(s for s in names if (key, s) not in gone) for key, names in full.items()}
    outputs[SegmentKey("last", "0")] = tuple(NAMES[:systems])
    k = draw(st.integers(1, 3))
    design = CampaignDesign(
        PROTOCOLS[draw(st.sampled_from(NAMES_OF_PROTOCOLS))], overlap=k, people=k, block_size=draw(st.integers(1, 3)),
        seed=draw(st.integers(-5, 2**70)), importance={"d0": draw(st.sampled_from([0.5, 1.0, 3.0]))},
    )  # fmt: skip
    return design, stored(outputs, design)


@given(campaigns(), st.integers(0, 10**6))
def test_every_unit_ends_with_k_raters(made: tuple[CampaignDesign, list[CampaignUnit]], seed: int) -> None:
    """People arrive at random and drop out, their leases end, units are retired, others join until nothing is left."""
    design, units = made
    rng, campaign, people = Random(seed), Simulation(units), list(range(design.people))
    for _ in range(2 * len(units)):
        person = rng.choice(people)
        event = rng.random()
        if event < 0.08:  # drops out with a block that is reclaimed, and somebody else joins
            campaign.add(person, draw_block(campaign.state, person, design), submitted=False)
            campaign.reclaim(person)
            people[people.index(person)] = max(people) + 1
        elif event < 0.1 and sum(u.retired for u in campaign.units.values()) < len(units) // 4:
            campaign.retire([rng.choice(units).id])
        drawn = draw_block(campaign.state, person, design)
        assert drawn == draw_block(campaign.state, person, design)
        assert not any(campaign.units[new.unit_id].retired for new in drawn)
        campaign.add(person, drawn)
    for late in range(1000, 1000 + design.overlap):
        while drawn := draw_block(campaign.state, late, design):
            campaign.add(late, drawn)
    for unit in campaign.units.values():
        slots = sorted(a.slot for a in campaign.of(unit.id) if a.slot is not None)
        assert slots == list(range(1, len(slots) + 1)) or unit.retired
        assert len(slots) == design.overlap or unit.retired
    _balanced(campaign)


def _balanced(campaign: Simulation) -> None:
    for shown in {u.systems for u in campaign.units.values()}:
        orders = [a.order for a in campaign.assignments if a.unit.systems == shown]
        counts = Counter((system, place) for order in orders for place, system in enumerate(order))
        every = [counts[system, place] for system in shown for place in range(len(shown))]
        assert max(every) - min(every) <= 1


def test_a_person_gets_other_segments_while_there_are_any() -> None:
    design = CampaignDesign(overlap=2, people=2, block_size=2)
    campaign = Simulation(stored(outline(3, 4, 3), design))
    for _ in range(6):
        campaign.add(1, draw_block(campaign.state, 1, design))
    assert len({a.unit.of for a in campaign.assignments}) == 12
    assert Counter(a.unit.systems for a in campaign.assignments) == {("A",): 4, ("B",): 4, ("C",): 4}
    campaign.add(1, draw_block(campaign.state, 1, design))
    assert len(campaign.assignments) == 14


def test_systems_are_rated_on_the_same_documents_first() -> None:
    design = CampaignDesign(people=20)
    campaign = Simulation(stored(outline(30, 1, 4), design))
    for person in range(40):
        campaign.add(person, draw_block(campaign.state, person, design))
    assert Counter(a.unit.systems[0] for a in campaign.assignments) == dict.fromkeys("ABCD", 10)
    assert len({a.unit.of for a in campaign.assignments}) == 10


def test_a_reclaimed_block_comes_next() -> None:
    design = CampaignDesign(people=3)
    campaign = Simulation(stored(outline(30, 1, 1), design))
    first = draw_block(campaign.state, 1, design)
    campaign.add(1, first, submitted=False)
    campaign.add(2, draw_block(campaign.state, 2, design))
    campaign.reclaim(1)
    assert [new.unit_id for new in draw_block(campaign.state, 3, design)] == [new.unit_id for new in first]
    assert first[0].unit_id not in [new.unit_id for new in draw_block(campaign.state, 1, design)]


def test_a_late_system_catches_up_on_the_same_documents() -> None:
    design = CampaignDesign(people=3)
    campaign = Simulation(stored(outline(30, 1, 1), design))
    for person in range(10):
        campaign.add(person, draw_block(campaign.state, person, design))
    late = planned_units(dict.fromkeys(outline(30, 1, 1), ("Z",)), design, first_block=30)
    campaign.units |= {
        100 + i: CampaignUnit(100 + i, f"z{i}", 100 + i, p.block, "item", p.of, p.systems, {})
        for i, p in enumerate(late)
    }  # fmt: skip
    for person in range(100, 110):
        campaign.add(person, draw_block(campaign.state, person, design))
    of = {s: {a.unit.of for a in campaign.assignments if a.unit.systems == (s,)} for s in "AZ"}
    assert of["A"] == of["Z"]
    assert len(of["Z"]) == 10


def test_important_documents_are_drawn_earlier() -> None:
    first = Counter()
    for seed in range(2000):
        design = CampaignDesign(seed=seed, importance={"d0": 3.0})
        units = stored(outline(2, 1, 1), design)
        (drawn,) = draw_block(DrawState(units, []), 1, design)
        first[units[drawn.unit_id - 1].of.doc_id, drawn.probability] += 1
    assert set(first) == {("d0", 0.75), ("d1", 0.25)}
    assert first["d0", 0.75] == pytest.approx(1500, abs=3 * 19.4)


def test_draws_are_the_same_on_every_machine() -> None:
    design = CampaignDesign(PROTOCOLS["cesa"], overlap=2, people=4, block_size=2, seed=7)
    units = stored(outline(5, 4, 3), design)
    drawn = draw_block(DrawState(units, []), 1, design)
    assert [(new.unit_id, "".join(new.order)) for new in drawn] == EXPECTED
    times = arrival_times(7, np.arange(3), np.array([0, 1, 2]), np.array([1.0, 1.0, 2.0]))
    assert times == pytest.approx(TIMES, rel=1e-12)


@pytest.mark.parametrize("m", range(2, 9))
def test_orders_are_a_williams_design(m: int) -> None:
    systems = tuple(NAMES[:m])
    orders = [display_order(systems, n, 3) for n in range(4 * m)]
    for n in range(len(orders) + 1):
        counts = Counter((system, place) for order in orders[:n] for place, system in enumerate(order))
        every = [counts[s, place] for s in systems for place in range(m)]
        assert max(every) - min(every) <= 1
    follows = Counter(pair for order in orders[: 2 * m] for pair in zip(order, order[1:], strict=False))
    assert set(follows.values()) == {2}
    assert len(follows) == m * (m - 1)


def test_shuffling_is_uniform() -> None:
    assert len({display_order(("A", "B", "C", "D"), 0, seed) for seed in range(200)}) == 24
    counts = Counter(tuple(shuffled("abc", Random(seed))) for seed in range(6000))
    assert len(counts) == 6
    assert max(abs(n - 1000) for n in counts.values()) < 120


def test_retired_and_other_kinds_are_not_drawn() -> None:
    design = CampaignDesign()
    units = [replace_kind(u, i) for i, u in enumerate(stored(outline(4, 1, 1), design))]
    drawn = [new.unit_id for new in draw_block(DrawState(units, []), 1, replace(design, seed=5))]
    assert drawn == [4]


def replace_kind(unit: CampaignUnit, i: int) -> CampaignUnit:
    return unit._replace(kind=("check", "tutorial", "item", "item")[i], retired=i == 2)  # type: ignore[arg-type]


EXPECTED = [(17, "ABC"), (18, "BCA")]
TIMES = [0.9400572426351856, 1.6914851594147964, 1.3137514180438932]


@pytest.mark.parametrize("n", [0, 1, 5, 9, 10])
def test_probabilities_sum_to_the_number_drawn(n: int) -> None:
    for weights in (np.ones(10), np.geomspace(1, 50, 10)):
        probabilities = inclusion_probabilities(weights, n)
        assert probabilities.sum() == pytest.approx(n, abs=1e-9)
        assert (np.diff(probabilities) >= 0).all()
        assert probabilities.max(initial=0) <= 1


def test_importance_and_coverage_decide_the_weights() -> None:
    design = CampaignDesign(block_size=2)
    units = stored(outline(5, 2, 1), design)
    weights = inclusion_weights(units, [units[0].id, units[1].id, units[4].id], design)
    assert weights == {i: pytest.approx(5 / 2) for i in (units[0].id, units[1].id, units[4].id)}
    design = CampaignDesign(importance={"d0": 5.0})
    units = stored(outline(4, 1, 2), design)
    assert set(inclusion_weights(units, [u.id for u in units], design).values()) == {1.0}
    units = stored(outline(10, 1, 1), design)
    weights = inclusion_weights(units, [units[0].id, units[1].id], design)
    assert weights[units[0].id] < 5 < weights[units[1].id]


def test_weights_are_of_each_system() -> None:
    design = CampaignDesign()
    units = stored(outline(4, 1, 2), design)
    of = {s: [u.id for u in units if u.systems == (s,)] for s in "AB"}
    weights = inclusion_weights(units, [*of["A"], of["B"][0]], design)
    assert [weights[i] for i in of["A"]] == [1.0] * 4
    assert weights[of["B"][0]] == pytest.approx(4.0)


def test_retired_blocks_count_only_if_rated() -> None:
    design = CampaignDesign()
    units = stored(outline(4, 1, 1), design)
    some = [units[0], units[1]._replace(retired=True), *units[2:]]
    assert inclusion_weights(some, [1], design)[1] == pytest.approx(3.0)
    assert inclusion_weights(some, [1, 2], design)[2] == pytest.approx(2.0)
    everything = [unit._replace(retired=True) for unit in units]
    assert inclusion_weights(everything, [1], design)[1] == pytest.approx(4.0)


def test_weighted_means_of_dynamic_campaigns_are_unbiased() -> None:
    result = simulated(Setting(documents=24), campaigns=150)
    unweighted, error = bias(result.plain)
    assert unweighted > 5 * error
    weighted, error = bias(result.weighted)
    assert abs(weighted) < 3 * error
