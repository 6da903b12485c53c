"""The metric `nli` beside one forward pass a pair, as MENLI's released code does it, in one run: the same scores, how much faster.

The model is the one in the role `nli`, or else all-MiniLM-L6-v2 with an untrained last layer. Outputs are those of MENLI's cases
(docs/menli.md), where one paraphrase stands in many cases; without that file texts of the same shape are drawn.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from unittest.mock import patch

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification

from core.data import Item
from core.errors import UserError
from core.formats.error_cases import read_cases
from core.formats.files import Upload
from core.metrics import registry
from core.models import loading
from core.models.architectures import nli as classifier
from core.models.architectures.nli import Classifier, NliModel
from core.models.checkpoint import MINILM, resolve
from core.models.configs import NliLabels
from core.progress import no_progress
from tests.paths import DATA

SUITE = DATA / "menli_wmt20_de_adversarial.csv.gz"


def outputs(sources: int) -> list[Item]:
    """Right and wrong texts of all cases made from the first sources."""
    if SUITE.exists():
        cases = read_cases([Upload(SUITE.name, SUITE.read_bytes())]).cases
        first = set(list(dict.fromkeys(case.id for case in cases))[:sources])
        return [item for case in cases if case.id in first for item in (case.good, case.bad)]
    print(f"{SUITE.name} is not here: texts of its shape are drawn", flush=True)
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(400)]

    def text() -> str:
        return " ".join(rng.choices(words, k=rng.randint(6, 40)))

    found = []
    for _ in range(sources):
        reference, paraphrase = text(), text()
        found += [Item(None, t, (reference,)) for _ in range(8) for t in (paraphrase, text())]
    return found


def model() -> NliModel:
    try:
        return classifier.nli()
    except UserError:
        torch.manual_seed(0)
        checkpoint = resolve(MINILM)
        network = AutoModelForSequenceClassification.from_pretrained(checkpoint.path, num_labels=3)
        return NliModel(Classifier(network.to(loading.device()), loading.tokenizer(checkpoint)), NliLabels(0, 1, 2))


def one_by_one(nli: NliModel, items: list[Item]) -> list[float]:
    """e of both directions, averaged; a forward pass for every direction of every output."""
    pairs = [((item.references[0], item.hypothesis), (item.hypothesis, item.references[0])) for item in items]
    return [float(np.mean([nli.judged([pair]).values[0, 0] for pair in both])) for both in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=int, default=40)
    args, _ = parser.parse_known_args()
    nli, items = model(), outputs(args.sources)
    blocks = [items[i::4] for i in range(4)]
    fast = slow = apart = 0.0
    ratios = []
    with patch.object(classifier, "nli", lambda: nli):
        metric = registry.load_metric("nli")
        metric.score(items[:4], no_progress)
        for some in blocks:
            began = time.perf_counter()
            together = [value.value or 0.0 for value in metric.score(some, no_progress)]
            between = time.perf_counter()
            alone = one_by_one(nli, some)
            ended = time.perf_counter()
            fast, slow = fast + between - began, slow + ended - between
            ratios.append((ended - between) / (between - began))
            apart = max(apart, float(np.abs(np.subtract(together, alone)).max()))
    assert apart <= 1e-4, apart
    print(
        f"NLI both ways, {len(items):,} outputs ({len(set(items)):,} different) on {nli.classifier.device.type}"
        f"   in batches {fast:6.2f} s   one by one {slow:6.2f} s   ratio {slow / fast:4.1f}"
        f" (blocks {min(ratios):.1f} … {max(ratios):.1f})   scores apart ≤ {apart:.0e}   (load {os.getloadavg()[0]:.1f})",
        flush=True,
    )


if __name__ == "__main__":
    main()
