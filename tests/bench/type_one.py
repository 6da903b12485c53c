"""Type-I error of comparisons of two equal systems in simulated campaigns: ours, and WMT26's rule.

WMT26's rule calls two systems different if the paired or the unpaired t-test gives p < .05. The campaigns have 200 items, effects
of item, document, rater and system × item, and noise (`tests.core.stats.campaign.simulated.Design`).

`python -m tests.bench.type_one` prints all rates, with Wilson intervals.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.stats import ttest_ind, ttest_rel

from core.stats.bootstrap import wilson
from core.stats.campaign.campaign_scores import CampaignScore, Unit, output_means
from core.stats.campaign.paired_differences import compare_campaign_systems
from tests.core.stats.campaign.simulated import Design, simulated

ALPHA = 0.05
COVERAGES = (0.3, 0.5, 1.0)
DESIGNS: dict[str, tuple[Design, Unit]] = {
    "raters drawn for each output, test by item": (Design(items=200), "item"),
    "one rater per item, test by item": (Design(items=200, assignment="item"), "item"),
    "raters and systems differ by document, test by document": (
        Design(items=200, assignment="document", system_document_sd=4.0),
        "document",
    ),
    "the same, test by item (wrong unit)": (Design(items=200, assignment="document", system_document_sd=4.0), "item"),
}


def ours(scores: list[CampaignScore], seed: int, by: Unit, draws: int = 399) -> bool:
    (pair,) = compare_campaign_systems(scores, seed=seed, by=by, draws=draws)
    return pair.test.p is not None and pair.test.p <= ALPHA


def wmt26(scores: list[CampaignScore]) -> bool:
    first, second = output_means(scores).values
    both = ~np.isnan(first) & ~np.isnan(second)
    unpaired = ttest_ind(first[~np.isnan(first)], second[~np.isnan(second)]).pvalue
    paired = ttest_rel(first[both], second[both]).pvalue if both.sum() > 1 else 1.0
    return bool(min(paired, unpaired) < ALPHA)


def rejections(design: Design, by: Unit, runs: int, seed: int = 0) -> tuple[int, int]:
    """Return how often ours and WMT26's rule reject in `runs` campaigns with two equal systems."""
    rng = np.random.default_rng(seed)
    counts = [0, 0]
    for run in range(runs):
        scores = simulated(rng, design)
        counts[0] += ours(scores, run, by)
        counts[1] += wmt26(scores)
    return counts[0], counts[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    args, _ = parser.parse_known_args()
    for number, (name, (design, by)) in enumerate(DESIGNS.items()):
        print(f"{name} ({args.runs:,} campaigns each)")
        for coverage in COVERAGES:
            began = time.perf_counter()
            counts = rejections(design._replace(coverage=coverage), by, args.runs, seed=1 + number)
            texts = []
            for rule, count in zip(("ours", "WMT26"), counts, strict=True):
                rate = wilson(count, args.runs)
                texts.append(f"{rule} {rate.value:.2%} [{rate.low:.2%}, {rate.high:.2%}]")
            print(
                f"  coverage {coverage:4.0%}   {'   '.join(texts)}   ({time.perf_counter() - began:.0f} s)", flush=True
            )


if __name__ == "__main__":
    main()
