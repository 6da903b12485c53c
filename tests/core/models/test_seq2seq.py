"""Log probabilities do not depend on batch mates, padding or order; special tokens in a text are text."""

import random

import numpy as np
import pytest

from core.errors import UserError
from core.models.checkpoint import resolve
from tests.core.refine import oracle
from tests.core.refine.test_engine import sentence
from tests.tiny import tiny_scorer


def test_pairs_equal_one_at_a_time_whatever_the_batch() -> None:
    scorer, rng = tiny_scorer(), random.Random(3)
    conditions = [scorer.encode(sentence(rng, 30)).ids for _ in range(25)]
    targets = [scorer.encode(sentence(rng, 30)).ids for _ in range(25)]
    for condition, target, got in zip(conditions, targets, scorer.pairs(conditions, targets), strict=True):
        np.testing.assert_allclose(got, oracle.logps(scorer, condition, target), atol=1e-4)


def test_a_shared_prefix_may_be_skipped() -> None:
    scorer, rng = tiny_scorer(), random.Random(4)
    target = scorer.encode(sentence(rng, 20)).ids
    condition = scorer.condition(scorer.encode(sentence(rng)).ids)
    whole = scorer.given(condition, [target])[0]
    np.testing.assert_allclose(scorer.given(condition, [target, target[:5]], skip=3)[0], whole[3:], atol=1e-4)


def test_start_and_end_are_scored_and_the_mean_is_over_all() -> None:
    scorer = tiny_scorer()
    ids = scorer.encode("the cat").ids
    assert (ids[0], ids[-1]) == (0, 2)
    assert len(scorer.pairs([ids], [ids])[0]) == len(ids)


@pytest.mark.parametrize("text", ["<s>", "a </s> b", "<mask>x<pad>"])
def test_a_special_token_in_a_text_is_text(text: str) -> None:
    scorer = tiny_scorer()
    encoded = scorer.encode(text)
    assert not set(encoded.ids[1:-1]) & set(scorer.special)
    assert scorer.decode(encoded.ids) == text


def test_alternatives_are_the_most_probable_tokens_without_special_ones() -> None:
    scorer = tiny_scorer()
    r, y = scorer.encode("the dog ran").ids, scorer.encode("the cat sat").ids
    got = scorer.alternatives(scorer.condition(r), y, 3, 10)
    assert [token for token, _ in got] == oracle.top_k(scorer, r, y, 3)


def test_weights_that_are_not_here_are_named_with_the_command_that_fetches_them() -> None:
    with pytest.raises(UserError, match="hf download some-org/some-bart"):
        resolve("some-org/some-bart")


def test_pickled_weights_are_refused(tmp_path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(UserError, match="safetensors"):
        resolve(str(tmp_path))
