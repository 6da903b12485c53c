"""BARTScore's four directions and BARTScore++'s arithmetic, on an untrained model."""

import numpy as np
import pytest

from core.data import Item
from core.metrics import registry
from core.metrics.generation import bartscore, bartscore_pp
from core.progress import no_progress
from core.refine.engine import Task, refine_all
from core.refine.result import Options, Refinement, weighted
from tests.core.refine.oracle import Plain
from tests.tiny import tiny_scorer

ITEM = Item("the house", "The cat sat on a mat", ("The dog sat on the mat", "a red cat"))


@pytest.fixture(autouse=True)
def _untrained_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bartscore, "scorer", tiny_scorer)
    monkeypatch.setattr(bartscore_pp, "scorer", tiny_scorer)


def plain(condition: str, target: str) -> float:
    scorer = tiny_scorer()
    return Plain(scorer).means([scorer.encode(condition).ids], [scorer.encode(target).ids])[0]


def test_directions_are_those_of_table_6() -> None:
    precisions = [plain(r, ITEM.hypothesis) for r in ITEM.references]
    recalls = [plain(ITEM.hypothesis, r) for r in ITEM.references]
    expected = {
        "bartscore-p": max(precisions),
        "bartscore-r": max(recalls),
        "bartscore": max((p + r) / 2 for p, r in zip(precisions, recalls, strict=True)),
        "bartscore-faithfulness": plain("the house", ITEM.hypothesis),
    }
    for name, value in expected.items():
        assert registry.load_metric(name).score([ITEM], no_progress)[0].value == pytest.approx(value, abs=1e-4)


PROMPTS = ("the house", "a dog")


def prompted(direction: str, reference: str, side: str, prompt: str) -> float:
    """METHODS section 1 by hand: the condition ends, or the scored text begins, with the prompt."""
    hypothesis = ITEM.hypothesis
    x, y = (reference, hypothesis) if direction == "there" else (hypothesis, reference)
    return plain(f"{x} {prompt},", y) if side == "encoder" else plain(x, f"{prompt}, {y}")


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_prompted_score_is_the_mean_over_prompts(side: str) -> None:
    item = Item("the house", ITEM.hypothesis, ITEM.references[:1])
    precision, recall = (
        [prompted(direction, item.references[0], side, p) for p in PROMPTS] for direction in ("there", "back")
    )
    faithful = [
        plain(f"the house {p},", item.hypothesis)
        if side == "encoder"
        else plain("the house", f"{p}, {item.hypothesis}")
        for p in PROMPTS
    ]
    expected = {
        "bartscore-p": np.mean(precision),
        "bartscore-r": np.mean(recall),
        "bartscore": np.mean([precision, recall]),
        "bartscore-faithfulness": np.mean(faithful),
    }
    for name, value in expected.items():
        metric = registry.load_metric(registry.expression(name, {"prompt": PROMPTS, "side": side}))
        assert metric.score([item], no_progress)[0].value == pytest.approx(value, abs=1e-4)


def test_which_reference_is_used_is_decided_without_prompts() -> None:
    plain_scores = [plain(r, ITEM.hypothesis) for r in ITEM.references]
    best = plain_scores.index(max(plain_scores))
    value = registry.load_metric("bartscore-p|prompt:the house").score([ITEM], no_progress)[0]
    assert value.parts["condition"] == best
    assert value.value == pytest.approx(prompted("there", ITEM.references[best], "encoder", "the house"), abs=1e-4)


def test_the_place_of_the_best_reference_counts_empty_ones() -> None:
    """The best of the two references is the second or the third of these three."""
    plain_at = registry.load_metric("bartscore-p").score([ITEM], no_progress)[0].parts["condition"]
    beside = Item(ITEM.source, ITEM.hypothesis, ("  ", *ITEM.references))
    assert registry.load_metric("bartscore-p").score([beside], no_progress)[0].parts["condition"] == plain_at + 1


def test_progress_of_a_prompted_score_ends_at_one() -> None:
    shares: list[float] = []

    registry.load_metric("bartscore|prompt:a;b;c").score([ITEM] * 5, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_bartscore_pp_refines_under_its_options() -> None:
    options = Options(k=3, rounds=1, edits=("insert",), non_translation="off", prompts=("a dog",), side="decoder")
    expected = refine_all(tiny_scorer(), [Task(ITEM.hypothesis, ITEM.references)], "precision", options)[0]
    metric = registry.load_metric("bartscore++-p|k:3|rounds:1|edits:insert|nt:off|prompt:a dog|side:decoder")
    value = metric.score([ITEM], no_progress)[0]
    assert value.detail is not None
    refinement = Refinement.from_json(value.detail)
    assert refinement.refined == expected.refined
    assert [s.edit for s in refinement.steps] == [s.edit for s in expected.steps] == ["insert"]
    assert value.parts == pytest.approx(expected.parts(), abs=1e-4)
    assert metric.signature().split("|")[5:10] == ["nt:off", "k:3", "rounds:1", "edits:insert", "prompt:decoder(a dog)"]


@pytest.mark.parametrize("name", ["bartscore++", "bartscore++-p", "bartscore++-r", "bartscore++-faithfulness"])
def test_bartscore_pp_is_stored_at_lambda_1_with_its_distances(name: str) -> None:
    value = registry.load_metric(name).score([ITEM], no_progress)[0]
    assert value.value == pytest.approx(-(value.parts["dist_exp"] + value.parts["dist_imp"]) / 2)
    assert value.value == weighted(value.parts["dist_exp"], value.parts["dist_imp"], 1.0)
    assert value.detail is not None
    assert Refinement.from_json(value.detail).score_hyp == value.parts["score_hyp"]


def test_lambda_changes_one_field_of_the_signature() -> None:
    refinement = bartscore_pp.refinement_signature("f")
    assert "lambda" not in refinement
    assert bartscore_pp.at_lambda(refinement, 1.7) == refinement.replace("refinement|", "bartscore++|lambda:1.7|")
    assert registry.load_metric("bartscore++").signature() == bartscore_pp.at_lambda(refinement, 1.0)
