"""Rounds and single texts as the model sees them, against whole forward passes and the trace of the engine."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from core.refine.engine import refine
from core.refine.inspect import inspect_text, replay, rounds
from core.refine.result import Options
from tests.core.refine.oracle import Plain
from tests.core.refine.test_engine import sentence
from tests.tiny import tiny_scorer

VARIANTS: list[Any] = ["precision", "recall", "f", "faithfulness"]
OPEN = Options(non_translation="off")


def table(scorer: Any, condition: str, target: list[int]) -> torch.Tensor:
    """Log probabilities (tokens, vocabulary) from the model's own forward pass."""
    return Plain(scorer).forward([scorer.encode(condition).ids], [target])[0]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("text", ["The cat sat on a mat", "", "a", "😀 the house"])
def test_a_text_is_scored_as_by_the_model_itself(variant: Any, text: str) -> None:
    scorer = tiny_scorer()
    seen, ids = inspect_text(scorer, text, "The dog ran", variant), scorer.encode(text).ids
    assert seen.score == pytest.approx(
        Plain(scorer).bartscores([ids], scorer.encode("The dog ran").ids, variant)[0], abs=1e-4
    )
    logps = table(scorer, "The dog ran", ids)[range(len(ids)), ids].tolist()[1:]  # the first is that of <s>
    assert [t.logp for t in seen.tokens] == pytest.approx(logps, abs=1e-4)
    assert seen.step is None


def test_alternatives_are_the_most_probable_tokens() -> None:
    scorer, text = tiny_scorer(), "The cat sat on a mat"
    seen, ids = inspect_text(scorer, text, "The dog ran", "f", k=4), scorer.encode(text).ids
    chances = table(scorer, "The dog ran", ids).exp()
    chances[:, scorer.special] = 0
    best = torch.topk(chances, 4)
    assert len(seen.alternatives) == len(seen.tokens) == len(ids) - 1
    for near, tokens, values in zip(seen.alternatives, best.indices[1:], best.values[1:], strict=True):
        assert [p for _, p in near] == pytest.approx(values.tolist(), abs=1e-5)
        assert [w.strip() for w, _ in near] == [scorer.decode([int(i)]).strip() for i in tokens]


def test_a_token_that_begins_a_word_is_written_with_its_blank() -> None:
    """So that a text may be cut at a token's place and one of them put there."""
    words = {w for near in inspect_text(tiny_scorer(), "The cat", "The dog", "f", k=1000).alternatives for w, _ in near}
    assert {" cat", " dog", "The", "t"} <= words


@pytest.mark.parametrize(
    "text", ["", "a", "😀 the cat 👩‍👩‍👧", "القط على الحصيرة", "the\u2028cat", "<s> a </s>", " two  blanks "]
)
def test_the_tokens_of_any_text_cover_it(text: str) -> None:
    seen = inspect_text(tiny_scorer(), text, "The dog sat on the mat", "f")
    assert seen.text == text
    assert {i for t in seen.tokens for i in range(t.start, t.end)} == set(range(len(text)))
    assert all(text[t.start : t.end] == t.text for t in seen.tokens)
    assert (seen.tokens[-1].start, seen.tokens[-1].end) == (len(text), len(text))


@pytest.mark.parametrize("variant", VARIANTS)
def test_rounds_have_the_texts_and_scores_of_the_refinement(variant: Any) -> None:
    scorer, edits = tiny_scorer(), 0
    for seed in range(2):
        rng = random.Random(f"{variant}{seed}")
        y, r = sentence(rng, 9), sentence(rng, 9)
        done, shown = refine(scorer, y, [r], variant, OPEN), rounds(scorer, y, r, variant, OPEN)
        assert [f.text for f in shown] == [y, *(s.text for s in done.steps)]
        assert [f.step for f in shown] == [*done.steps, None]
        scores = [s.before for s in done.steps] + [done.score_refined]
        assert [f.score for f in shown] == pytest.approx(scores, abs=1e-4)
        for seen in shown[:-1]:
            assert seen.step is not None
            worst = min(range(len(seen.tokens)), key=lambda i: seen.tokens[i].logp)
            assert seen.tokens[seen.step.position].logp == pytest.approx(seen.tokens[worst].logp, abs=1e-4)
        edits += len(done.steps)
    assert edits > 2  # without edits there would be nothing to replay


def test_scores_distinguish_tokens_with_the_same_text() -> None:
    """Bytes of a character all read "�"; which of them an edit put there shows only in what came out."""
    scorer, met = tiny_scorer(), 0
    for y in ("قط على", "الحصيرة", "кот на", "猫在垫子上"):
        done = refine(scorer, y, ["The dog sat on the mat"], "precision", OPEN)
        met += sum("\ufffd" in s.new for s in done.steps)
        scores = replay(scorer, y, "The dog sat on the mat", "precision", done.steps)
        assert [f.score for f in scores[1:]] == pytest.approx([s.after for s in done.steps], abs=1e-4)
    assert met
