"""Simulated campaigns: score = system + item + document + system × document + rater + system × item and noise."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from core.stats.campaign.campaign_scores import CampaignScore

Assignment = Literal["output", "item", "document"]


class Design(NamedTuple):
    """Size of a campaign, and standard deviations on a scale of 0 to 100.

    Raters are drawn anew for each output, for each item (they score all its systems), or for each document and system. Outputs
    are drawn with probability `coverage`, each on its own unless `together`.
    """

    items: int = 100
    systems: int = 2
    raters: int = 10
    per_output: int = 1
    coverage: float = 1.0
    together: bool = False
    assignment: Assignment = "output"
    document_size: int = 5
    item_sd: float = 10.0
    document_sd: float = 5.0
    system_document_sd: float = 0.0
    rater_sd: float = 6.0
    system_item_sd: float = 7.0
    noise_sd: float = 8.0


def simulated(rng: np.random.Generator, design: Design, gain: float = 0.0) -> list[CampaignScore]:
    """Return the scores of a campaign in which the first system is better by `gain` and the others are equal."""
    d = design
    document = np.arange(d.items) // d.document_size
    n_documents = int(document[-1]) + 1
    true = rng.normal(0, d.item_sd, d.items) + rng.normal(0, d.document_sd, n_documents)[document]
    true = true + rng.normal(0, d.system_item_sd, (d.systems, d.items))
    true = true + rng.normal(0, d.system_document_sd, (d.systems, n_documents))[:, document]
    true[0] += gain
    severity = rng.normal(0, d.rater_sd, d.raters)
    drawn = rng.random((1 if d.together else d.systems, d.items)) < d.coverage
    drawn = np.broadcast_to(drawn, (d.systems, d.items))
    order = rng.random((d.systems, d.items, d.raters))
    if d.assignment == "item":
        order = np.broadcast_to(order[:1], order.shape)
    elif d.assignment == "document":
        order = order[:, document * d.document_size]
    chosen = np.argsort(order, axis=2)[:, :, : d.per_output]
    values = true[:, :, None] + severity[chosen] + rng.normal(0, d.noise_sd, chosen.shape)
    return [
        CampaignScore(f"S{s}", i, f"r{chosen[s, i, k]}", float(values[s, i, k]), 1.0, int(document[i]))
        for s, i in np.argwhere(drawn).tolist()
        for k in range(d.per_output)
    ]
