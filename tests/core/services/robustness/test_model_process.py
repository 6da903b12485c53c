"""What pages compute with models: in the model process, the same values, and no model in the process that asks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.data import Item
from core.errors import UserError
from core.metrics import registry
from core.processes import host
from core.processes.child import ProcessEnded
from core.processes.pool import Pool
from core.refine.result import Options
from core.robustness.attack import attack_metric
from core.robustness.stress import token_contributions
from core.robustness.stress.run import StressTestRequest, run_stress_tests
from core.robustness.stress.texts import Gold
from core.scoring.items import score_items
from core.scoring.values import InMemoryScores
from core.services.compare import alignment, inspector
from core.services.robustness import tour
from tests.paths import ROOT

TEXT = "The old house was sold to Anna Smith on Monday."
ITEMS = [
    Item("Das alte Haus wurde am Montag verkauft.", text, ("Anna Smith bought the old house on Monday.", TEXT))
    for text in (TEXT, "Anna Smith sold three houses. She was not happy.", "")
]
LONG = ",".join(f"one of many phrases in a long list, number {n}" for n in range(3))
METRICS = [
    "chrf", f"bartscore-p|prompt:{LONG}", "bertscore", "moverscore", "nli", "menli|with:moverscore", "smart1|matcher:embedding",
]  # fmt: skip


def nothing(share: float) -> None:
    pass


def stress() -> object:
    golds = [Gold(str(i), item) for i, item in enumerate(ITEMS[:2])]
    tests = ("article-removal", "diverge", "token-drop")
    asked = StressTestRequest("run", "A", "p", tests, ("chrf", "bertscore"), seeds=1, draws=100)
    report = run_stress_tests(golds, asked, InMemoryScores())
    return report.tests, report.cells


WORK: dict[str, Callable[[], Any]] = {
    "scores": lambda: [(s.signature, s.values) for s in score_items(ITEMS, registry.chosen(METRICS))],
    "attack": lambda: attack_metric(TEXT, None, "chrf", 0.1, 1, 1, nothing),
    "text": lambda: inspector.look(TEXT, ITEMS[1].hypothesis, "f", 5),
    "rounds": lambda: inspector.rounds(TEXT, ITEMS[1].hypothesis, "f", Options(rounds=1), None),
    "alignment": lambda: alignment.payload(alignment.align(ITEMS[1].hypothesis, TEXT, "embedding", nothing)),
    "tokens": lambda: [token_contributions.strips(name, ITEMS[0]) for name in ("bartscore", "bertscore")],
    "examples": lambda: tour.shown(tour.STOPS[4]),
    "stress tests": stress,
}


def main() -> None:
    """Compute everything elsewhere, then here; print what differs, and what is loaded that should not be."""
    models = host.new_model_process()
    host.use(models)
    elsewhere = {name: work() for name, work in WORK.items()}
    loaded = sorted({"torch", "transformers", "spacy"} & sys.modules.keys())
    host.use(None)
    models.stop()
    here = {name: work() for name, work in WORK.items()}
    print(loaded, [name for name in WORK if repr(elsewhere[name]) != repr(here[name])])
    assert all(value.status == "ok" for _, values in here["scores"] for value in values[:2])


@pytest.mark.extended
def test_values_are_the_same_and_models_are_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", __name__], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[] []", 0), done.stderr


def test_a_metric_whose_process_dies_is_not_tried_text_by_text() -> None:
    asked = list[int]()

    class Dying(Pool):
        def run(self, work: Any, *given: Any, progress: Any = None, on: Any = None) -> Any:
            asked.append(len(given[2]))
            raise ProcessEnded("SIGKILL")

    host.use(Dying(1))
    try:
        with pytest.raises(UserError, match="SIGKILL"):
            score_items(ITEMS, [registry.load_metric("bartscore")])
    finally:
        host.use(None)
    assert asked == [3]


if __name__ == "__main__":
    main()
