"""The detect–correct engine against a plain implementation, on an untrained model with strong opinions."""

import random

import pytest

from core.refine.engine import Analysis, candidates, refine
from core.refine.result import Refinement, weighted
from tests.core.refine import oracle
from tests.tiny import WORDS, tiny_scorer

VARIANTS = ["precision", "recall", "f", "faithfulness"]


def sentence(rng: random.Random, longest: int = 12) -> str:
    return "".join(w.replace("Ġ", " ") for w in rng.choices(WORDS, k=rng.randint(2, longest))).strip()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(6))
def test_edits_and_scores_equal_the_plain_implementation(variant: str, seed: int) -> None:
    rng = random.Random(f"{variant}{seed}")
    scorer = tiny_scorer(seed % 2)
    y, r = (scorer.encode(sentence(rng)).ids for _ in range(2))
    analysis = Analysis(scorer, scorer.encode(scorer.decode(r)), variant)
    last, steps = analysis.correct(analysis.score(y))
    trace = oracle.refine(scorer, y, r, variant)
    assert [s.text for s in steps] == [scorer.decode(ids) for ids in trace[1:]]
    assert last.ids == trace[-1]
    assert last.score == pytest.approx(oracle.bartscore(scorer, trace[-1], r, variant), abs=1e-4)
    for step, before, after in zip(steps, trace, trace[1:], strict=False):
        assert step.before == pytest.approx(oracle.bartscore(scorer, before, r, variant), abs=1e-4)
        assert step.after == pytest.approx(oracle.bartscore(scorer, after, r, variant), abs=1e-4)
        assert step.after > step.before


def test_the_oracle_problems_do_contain_edits() -> None:
    """Guards the test above: a model that never edits would make it pass without testing anything."""
    scorer, rng = tiny_scorer(0), random.Random(1)
    edits = [len(refine(scorer, sentence(rng), [sentence(rng)], "precision").steps) for _ in range(8)]
    assert sum(edits) >= 4


@pytest.mark.parametrize("variant", VARIANTS)
def test_distances_come_from_the_three_scores(variant: str) -> None:
    found = refine(tiny_scorer(), "The cat sat on a mat", ["The dog sat on the mat"], variant)
    assert found.dist_exp == pytest.approx(found.score_refined - found.score_hyp)
    assert found.dist_imp == pytest.approx(found.score_ref - found.score_refined)
    assert found.dist_exp >= 0


def test_a_hypothesis_that_fails_the_test_is_flagged_and_left_alone() -> None:
    found = refine(tiny_scorer(), "qqq zzz xxx vvv jjj", ["The dog sat on the mat"], "f")
    assert found.non_translation
    assert "overlap" in found.why_non_translation
    assert found.refined == "qqq zzz xxx vvv jjj"
    assert found.steps == ()
    assert found.dist_exp == 0


@pytest.mark.parametrize("text", ["", "<s> a </s>", "😀 the cat", "القط على الحصيرة", "the\u2028cat", "a"])
def test_any_text_is_analysed_and_its_tokens_cover_it(text: str) -> None:
    found = refine(tiny_scorer(), text, ["The dog sat on the mat"], "f")
    covered = set()
    for token in found.tokens:
        assert text[token.start : token.end] == token.text
        covered |= set(range(token.start, token.end))
        assert token.logp <= 0
    assert covered == set(range(len(text)))
    assert (found.tokens[-1].start, found.tokens[-1].end) == (len(text), len(text))


def test_the_best_reference_by_plain_score_is_used_and_recorded() -> None:
    scorer = tiny_scorer()
    references = ["a dog ran", "The cat sat on the mat", "the house"]
    y = "The cat sat on a mat"
    scores = [oracle.bartscore(scorer, scorer.encode(y).ids, scorer.encode(r).ids, "f") for r in references]
    found = refine(scorer, y, references, "f")
    assert found.condition == scores.index(max(scores))
    assert found.score_hyp == pytest.approx(max(scores), abs=1e-4)


def test_a_text_over_the_models_length_says_so() -> None:
    scorer = tiny_scorer(0, positions=16)
    assert refine(scorer, "the cat sat on the mat " * 20, ["the cat"], "precision").truncated
    assert not refine(scorer, "the cat", ["the cat"], "precision").truncated


def test_candidates_at_the_end_only_insert() -> None:
    assert {c.edit for c in candidates([0, 9, 2], 2, [7, 8])} == {"insert"}
    # position 1 holds token 9: two insertions, one deletion, and 7 for 9; 9 for 9 would change nothing
    assert [c.ids for c in candidates([0, 9, 2], 1, [7, 9])] == [[0, 7, 9, 2], [0, 9, 9, 2], [0, 2], [0, 7, 2]]


def test_a_refinement_survives_json() -> None:
    import json

    found = refine(tiny_scorer(), "The cat sat on a mat", ["The dog sat on the mat"], "f")
    assert Refinement.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_table_9_of_the_paper_at_lambda_1_7() -> None:
    # (Dist_exp, Dist_imp) and the printed score of the eight outputs of Lu et al. 2023, Table 9
    rows = [
        (0.000, 0.827, -0.306), (0.348, 0.310, -0.334), (0.000, 0.662, -0.245), (0.231, 0.365, -0.281),
        (0.000, 1.112, -0.412), (0.133, 0.953, -0.437), (0.000, 0.947, -0.351), (0.258, 0.681, -0.415),
    ]  # fmt: skip
    for explicit, implicit, printed in rows:
        assert weighted(explicit, implicit, 1.7) == pytest.approx(printed, abs=1e-3)


def test_lambda_runs_from_implicit_only_to_explicit_only() -> None:
    assert weighted(0.3, 0.5, 0) == pytest.approx(-0.5)
    assert weighted(0.3, 0.5, float("inf")) == pytest.approx(-0.3)
    for bad in (-0.1, float("nan")):
        with pytest.raises(ValueError, match="λ"):
            weighted(0.3, 0.5, bad)
