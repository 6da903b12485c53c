"""Simulated dynamic campaigns: the bias of means with and without weights, common documents of systems, and the speed of a draw.

The quality of a document rises with its importance, so documents that are drawn first are better than the rest.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.campaigns.assignment import draw_block, inclusion_weights
from core.campaigns.design import CampaignDesign
from core.campaigns.fixed_lists import fixed_lists
from core.campaigns.units import planned_units
from core.data import SegmentKey, grouped
from core.ports.campaigns import Assignment, CampaignUnit, DrawState, NewAssignment

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("A", "B", "C", "D", "E", "F", "G", "H", "I", "J")


class Setting(NamedTuple):
    """A campaign at `coverage` of its ratings, with `unequal` importance of documents (1 to 4) or the same for all."""

    systems: int = 2
    documents: int = 50
    people: int = 8
    overlap: int = 1
    coverage: float = 0.4
    unequal: bool = True


class MeanErrors(NamedTuple):
    """Errors of means in SD of the outputs, one row per campaign and one column per system."""

    plain: NDArray[np.float64]
    weighted: NDArray[np.float64]
    common: float  # share of the documents rated for the first system that are rated for the second one too


def assigned(units: Mapping[int, CampaignUnit], new: NewAssignment, n: int, person: int) -> Assignment:
    unit = units[new.unit_id]
    return Assignment(
        n, unit, person, new.slot, n, new.order, new.probability, "submitted", NOW, None, NOW, NOW
    )  # fmt: skip


def simulated(setting: Setting, campaigns: int, seed: int = 0) -> MeanErrors:
    """Return the errors of means over simulated campaigns, to which people come in random order."""
    quality = np.random.default_rng(seed).normal(size=(setting.documents, setting.systems))
    importance = np.geomspace(1, 4, setting.documents) if setting.unequal else np.ones(setting.documents)
    quality += np.linspace(-1, 1, setting.documents)[:, None] + np.random.default_rng(seed + 1).normal(
        size=(setting.documents, 1)
    )
    quality /= quality.std()
    outline = {SegmentKey(f"d{d:03}", "0"): NAMES[: setting.systems] for d in range(setting.documents)}
    by_document = dict(zip([key.doc_id for key in outline], importance.tolist(), strict=True))
    plain, weighted, common = [], [], []
    for campaign in range(campaigns):
        design = CampaignDesign(overlap=setting.overlap, people=setting.people, seed=campaign, importance=by_document)
        units = {
            i: CampaignUnit(i, str(i), i, p.block, "item", p.of, p.systems, {})
            for i, p in enumerate(planned_units(outline, design))
        }
        state = DrawState(list(units.values()), [])
        arrivals, wanted = Random(campaign), round(setting.coverage * setting.overlap * len(units))
        while len(state.assignments) < wanted:
            person = int(arrivals.random() * setting.people)
            new = draw_block(state, person, design)
            found = [assigned(units, a, len(state.assignments) + i, person) for i, a in enumerate(new)]
            state = DrawState(state.units, [*state.assignments, *found])
        rated = {a.unit.id for a in state.assignments}
        weights = inclusion_weights(state.units, rated, design)
        of_system = grouped((units[i].systems[0], i) for i in sorted(rated))
        values = {i: quality[int(unit.of.doc_id[1:]), NAMES.index(unit.systems[0])] for i, unit in units.items()}
        means = quality.mean(axis=0)
        plain.append([np.mean([values[i] for i in of_system[s]]) for s in NAMES[: setting.systems]] - means)
        weighted.append(
            [
                np.average([values[i] for i in of_system[s]], weights=[weights[i] for i in of_system[s]])
                for s in NAMES[: setting.systems]
            ]
            - means
        )
        first, second = ({units[i].of for i in of_system[s]} for s in NAMES[:2])
        common.append(len(first & second) / len(first))
    return MeanErrors(np.array(plain), np.array(weighted), float(np.mean(common)))


def bias(errors: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean error of the first system, and its standard error."""
    return float(errors[:, 0].mean()), float(errors[:, 0].std(ddof=1) / np.sqrt(len(errors)))


def speed(segments: int, systems: int, overlap: int) -> None:
    design = CampaignDesign(overlap=overlap, people=50)
    outline = {SegmentKey(f"d{s // 10}", str(s)): NAMES[:systems] for s in range(segments)}
    units = {
        i: CampaignUnit(i, str(i), i, p.block, "item", p.of, p.systems, {})
        for i, p in enumerate(planned_units(outline, design))
    }
    began = time.process_time()
    lists = fixed_lists(list(units.values()), design)
    print(f"fixed lists for {len(units):,} units × {overlap}   {time.process_time() - began:6.2f} s")
    everything = [(person, new) for person, listed in enumerate(lists) for new in listed]
    for share in (0.0, 0.5, 0.98):
        some = everything[: round(share * len(everything))]
        state = DrawState(list(units.values()), [assigned(units, new, i, p) for i, (p, new) in enumerate(some)])
        times = []
        for _ in range(9):
            began = time.process_time()
            draw_block(state, 25, design)
            times.append(time.process_time() - began)
        print(f"draw with {len(some):6,} assignments   {sorted(times)[4] * 1000:6.1f} ms (median of 9, CPU time)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=1000)
    args, _ = parser.parse_known_args()
    print(f"{args.campaigns:,} campaigns each; errors in SD of the outputs   (load {os.getloadavg()[0]:.1f})")
    for setting in (
        Setting(), Setting(unequal=False), Setting(overlap=2), Setting(systems=4), Setting(systems=4, people=2),
        Setting(people=2), Setting(people=1),
    ):  # fmt: skip
        found = simulated(setting, args.campaigns)
        (a, sa), (b, sb) = bias(found.plain), bias(found.weighted)
        difference = found.weighted[:, 0] - found.weighted[:, 1]
        apart = np.sqrt(found.weighted[:, 0].var() + found.weighted[:, 1].var())
        print(
            f"{setting.systems} systems, {setting.people:2} people, k = {setting.overlap}, "
            f"{'unequal' if setting.unequal else 'equal'} importance: bias of the mean {a:+.4f} (SE {sa:.4f}), "
            f"weighted {b:+.4f} (SE {sb:.4f}); SD of a difference {difference.std():.3f}, "
            f"if drawn separately {apart:.3f}; documents in common {found.common:.0%}",
            flush=True,
        )
    speed(2000, 10, 3)


if __name__ == "__main__":
    main()
