"""Progress, retired systems and results of campaigns with simulated people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.campaigns.protocol import ProtocolName
from core.errors import UserError
from core.ports.store import Store
from core.reports.campaign_results import difference_legend, difference_rows, sentence, without_z_scores
from core.services.campaigns import comparison, people, running
from core.services.campaigns.monitor import snapshot
from tests.core.services.campaigns import filled

NOW = datetime.now(UTC)
FEW = filled.texts(1, 4)


def test_a_snapshot_counts_ratings_units_and_time(store: Store) -> None:
    campaign = filled.started(store, dataset=FEW)
    filled.work(store, campaign, share=0.5, begin=NOW - timedelta(days=2))
    found = snapshot(store, campaign, NOW)
    assert (found.progress.units, found.progress.planned) == (12, 24)  # 4 segments x 3 systems, 2 raters each
    assert found.progress.ratings == found.ratings_left == 12
    assert found.hours_left == pytest.approx(12 * found.progress.seconds / 3600)
    assert sum(person.work.units for person in found.people) == 12


def test_before_any_rating_the_planned_time_is_used(store: Store) -> None:
    found = snapshot(store, filled.started(store, dataset=FEW, seconds_per_unit=90), NOW)
    assert found.hours_left == pytest.approx(24 * 90 / 3600)
    assert found.complete_share == 0


def test_a_retired_system_is_not_assigned_any_more(store: Store) -> None:
    campaign = filled.started(store, dataset=FEW)
    assert running.retire_system(store, "test", campaign, "Cedar") == 4
    filled.work(store, campaign)
    assert {s for a in store.campaigns.assignments(campaign.id) for s in a.unit.systems} == {"Alder", "Birch"}
    assert [(s.name, s.retired) for s in running.systems(store, campaign)] == [
        ("Alder", False), ("Birch", False), ("Cedar", True),
    ]  # fmt: skip
    running.retire_system(store, "test", campaign, "Cedar", retired=False)
    assert snapshot(store, campaign).progress.planned == 24


def test_the_last_system_cannot_be_retired(store: Store) -> None:
    campaign = filled.started(store, dataset=FEW, systems=("Alder",))
    with pytest.raises(UserError, match="nothing would be left"):
        running.retire_system(store, "test", campaign, "Alder")


def test_no_system_is_retired_where_outputs_are_shown_together(store: Store) -> None:
    campaign = filled.started(store, "cesa", dataset=FEW)
    with pytest.raises(UserError, match="single system"):
        running.retire_system(store, "test", campaign, "Alder")


def test_an_added_system_is_assigned(store: Store) -> None:
    campaign = filled.started(store, dataset=FEW, systems=("Alder", "Birch"))
    assert running.can_add(store, campaign) == ["Cedar"]
    assert running.add_system(store, "test", campaign, "Cedar") == 4
    filled.work(store, campaign)
    assert [row.ratings for row in snapshot(store, campaign).progress.systems] == [8, 8, 8]


@pytest.mark.parametrize("protocol", ["esa", "cesa", "da", "mqm"])
def test_means_order_the_systems(protocol: ProtocolName) -> None:
    store, campaign = filled.completed(protocol)
    found = comparison.compare(store, campaign)
    assert [m.system for m in found.means] == ["Alder", "Birch", "Cedar"]
    best = next(d for d in found.differences if {d.first, d.second} == {"Alder", "Cedar"})
    assert abs(best.test.difference or 0) > 5 if protocol != "mqm" else best.test.difference
    assert best.adjusted is not None
    assert best.adjusted < 0.05
    assert found.basis.ratings == len([a for a in store.campaigns.assignments(campaign.id) if a.unit.kind == "item"])


def test_too_few_segments_for_any_significance_are_named(store: Store) -> None:
    campaign = filled.started(store, dataset=filled.texts(1, 4))
    filled.work(store, campaign)
    found = comparison.compare(store, campaign)
    why = "No difference can be significant with 4 segments: the smallest possible p is .375 (Holm, 3 pairs)"
    assert sentence(found).endswith(f". {why}")
    assert difference_legend(found, difference_rows(found)[1]).startswith(f"{why}.")
    enough = comparison.compare(*filled.completed())
    assert "can be significant" not in sentence(enough)
    assert "Smallest possible p: .023 (Holm)." in difference_legend(enough, difference_rows(enough)[1])


def test_results_name_the_annotators_without_z_scores(store: Store) -> None:
    campaign = filled.started(store, dataset=FEW)
    raters = len(store.campaigns.participants(campaign.id))
    filled.work(store, campaign, share=raters / 24)  # one rating by each
    first = comparison.compare(store, campaign)
    assert (first.basis.ratings, first.without_z) == (raters, raters)
    assert f"{raters} annotators who gave one score, or always the same, cannot be standardised" in without_z_scores(
        first
    )
    filled.work(store, campaign)
    assert comparison.compare(store, campaign).without_z == 0


def test_preferences_give_strengths(store: Store) -> None:
    campaign = filled.started(store, "pairwise", dataset=FEW)
    filled.work(store, campaign)
    found = comparison.compare(store, campaign)
    assert found.votes is not None
    assert not found.means
    rates = {(r.first, r.second): r.rate.value for r in found.votes.rates}
    assert rates["Alder", "Cedar"] is not None
    assert rates["Alder", "Cedar"] > 0.9


def test_excluded_people_do_not_count() -> None:
    store, campaign = filled.completed()
    before = comparison.compare(store, campaign).basis
    ana = store.campaigns.participants(campaign.id)[0]
    people.exclude(store, "test", campaign, ana.id, "too fast")
    after = comparison.compare(store, campaign).basis
    assert after.excluded == {"Ana": "too fast"}
    assert after.ratings < before.ratings
    assert after.raters == before.raters - 1


def test_a_campaign_without_ratings_has_results(store: Store) -> None:
    found = comparison.compare(store, filled.started(store, dataset=FEW))
    assert found.basis.ratings == 0
    assert not found.means
    assert found.agreement.reason
