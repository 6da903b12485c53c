"""BARTScore's four directions and BARTScore++'s arithmetic, on an untrained model."""

import numpy as np
import pytest

from core.data import Item
from core.metrics import bartscore, bartscore_pp, registry
from core.metrics.base import no_progress
from core.refine.result import Refinement, weighted
from tests.core.refine import oracle
from tests.tiny import tiny_scorer

ITEM = Item("the house", "The cat sat on a mat", ("The dog sat on the mat", "a red cat"))


@pytest.fixture(autouse=True)
def _untrained_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bartscore, "scorer", tiny_scorer)
    monkeypatch.setattr(bartscore_pp, "scorer", tiny_scorer)


def plain(condition: str, target: str) -> float:
    scorer = tiny_scorer()
    return oracle.mean(oracle.logps(scorer, scorer.encode(condition).ids, scorer.encode(target).ids))


def test_directions_are_those_of_table_6() -> None:
    there = [plain(r, ITEM.hypothesis) for r in ITEM.references]
    back = [plain(ITEM.hypothesis, r) for r in ITEM.references]
    expected = {
        "bartscore-p": max(there),
        "bartscore-r": max(back),
        "bartscore": max((p + r) / 2 for p, r in zip(there, back, strict=True)),
        "bartscore-faithfulness": plain("the house", ITEM.hypothesis),
    }
    for name, value in expected.items():
        assert registry.load(name).score([ITEM], no_progress)[0].value == pytest.approx(value, abs=1e-4)


def test_bartscore_is_the_mean_over_start_tokens_and_end() -> None:
    scorer = tiny_scorer()
    logps = scorer.pairs([scorer.encode("the cat").ids], [scorer.encode("the dog").ids])[0]
    assert plain("the cat", "the dog") == pytest.approx(
        float(np.sum(logps)) / len(scorer.encode("the dog").ids), abs=1e-4
    )


@pytest.mark.parametrize("name", ["bartscore++", "bartscore++-p", "bartscore++-r", "bartscore++-faithfulness"])
def test_bartscore_pp_is_stored_at_lambda_1_with_its_distances(name: str) -> None:
    value = registry.load(name).score([ITEM], no_progress)[0]
    assert value.value == pytest.approx(-(value.parts["dist_exp"] + value.parts["dist_imp"]) / 2)
    assert value.value == weighted(value.parts["dist_exp"], value.parts["dist_imp"], 1.0)
    assert value.detail is not None
    assert Refinement.from_json(value.detail).score_hyp == value.parts["score_hyp"]


def test_lambda_stands_in_the_signature_and_nothing_else_of_it_changes() -> None:
    refinement = bartscore_pp.refinement_signature("f")
    assert "lambda" not in refinement
    assert bartscore_pp.at_lambda(refinement, 1.7) == refinement.replace("refinement|", "bartscore++|lambda:1.7|")
    assert registry.load("bartscore++").signature() == bartscore_pp.at_lambda(refinement, 1.0)
