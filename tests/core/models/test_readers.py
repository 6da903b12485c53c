"""Surprisals of causal and masked language models, compared with their logits."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GPT2LMHeadModel, RobertaForMaskedLM

from core.errors import UserError
from core.models import loading
from core.models.architectures import language_models
from core.models.architectures.language_models import windows
from tests import tiny_checkpoints as tiny
from tests.tiny import tokenizer

TEXTS = ["the cat sat on the mat", "a red dog 😀", "the house", "the cat sat on the mat"]
LOAD: dict[str, Any] = {"causal": language_models.load_causal, "masked": language_models.load_masked}
LONG = "the cat sat on a red mat and the dog ran " * 7


@pytest.fixture
def readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ERRORSCOPE_LM", str(tiny.causal(tmp_path / "lm")))
    monkeypatch.setenv("ERRORSCOPE_MLM", str(tiny.masked(tmp_path / "mlm")))
    return tmp_path


def ids_of(text: str) -> list[int]:
    return list(tokenizer()(text, add_special_tokens=False)["input_ids"])


@cache
def network(kind: Any, folder: Path) -> Any:
    return kind.from_pretrained(folder).eval()


@torch.inference_mode()
def given_before(folder: Path, ids: list[int], first: int) -> float:
    """−Σ log p of the tokens from `first` on, from the logits at the places before them."""
    logits = network(GPT2LMHeadModel, folder)(torch.tensor([ids])).logits[0].double()
    return -sum(float(logits[i - 1].log_softmax(dim=0)[ids[i]]) for i in range(first, len(ids)))


@torch.inference_mode()
def given_others(folder: Path, ids: list[int], place: int) -> float:
    """−log p of one token behind the mask (id 4), among <s> and </s>."""
    row = [0, *ids[:place], 4, *ids[place + 1 :], 2]
    logits = network(RobertaForMaskedLM, folder)(torch.tensor([row])).logits[0, place + 1].double()
    return -float(logits.log_softmax(dim=0)[ids[place]])


def test_every_token_is_scored_given_those_before_it(readers: Path) -> None:
    surprises = language_models.load_causal().surprise(TEXTS)
    for text, one in zip(TEXTS, surprises, strict=True):
        ids = ids_of(text)
        assert one.tokens == len(ids)
        assert one.nats == pytest.approx(given_before(readers / "lm", [0, *ids], 1), abs=1e-4)


def test_windows_score_each_token_once_with_context() -> None:
    assert windows(10, 10) == [(0, 10, 1)]
    assert windows(11, 6) == [(0, 6, 1), (3, 9, 6), (6, 11, 9)]
    assert windows(1, 6) == windows(0, 6) == []
    scored = [i for _, end, first in windows(95, 32) for i in range(first, end)]
    assert scored == list(range(1, 95))
    assert all(first - start >= 16 for start, _, first in windows(95, 32)[1:])


def test_a_long_text_is_read_in_windows_that_overlap_by_half(readers: Path) -> None:
    ids = [0, *ids_of(LONG)]
    assert len(ids) > 2 * tiny.WINDOW
    expected = sum(
        given_before(readers / "lm", ids[start:end], first - start) for start, end, first in windows(len(ids), 32)
    )
    surprise = language_models.load_causal().surprise([LONG])[0]
    assert (surprise.nats, surprise.tokens) == (pytest.approx(expected, abs=1e-3), len(ids) - 1)


def test_each_token_is_masked_and_scored_given_all_others(readers: Path) -> None:
    surprises = language_models.load_masked().surprise(TEXTS)
    for text, one in zip(TEXTS, surprises, strict=True):
        ids = ids_of(text)
        assert one.tokens == len(ids)
        expected = sum(given_others(readers / "mlm", ids, place) for place in range(len(ids)))
        assert one.nats == pytest.approx(expected, abs=1e-4)


def test_a_token_of_a_long_text_is_read_in_the_window_around_it(readers: Path) -> None:
    """30 tokens and two signs fit: around the token at 40 stand 25 to 54, and it is the 15th of them."""
    ids = ids_of(LONG)
    reader = language_models.load_masked()
    assert reader.room == tiny.WINDOW - 2
    row, at = reader.masked(ids, 40)
    assert row.ids == [0, *ids[25:40], 4, *ids[41:55], 2]
    assert at == 16
    expected = sum(
        given_others(readers / "mlm", ids[start : start + 30], place - start)
        for place in range(len(ids))
        for start in [max(0, min(place - 15, len(ids) - 30))]
    )
    assert reader.surprise([LONG])[0].nats == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("kind", ["causal", "masked"])
def test_batch_and_order_change_nothing_empty_text_has_no_token(readers: Path, kind: str) -> None:
    reader = LOAD[kind]()
    together = reader.surprise([*TEXTS, "", LONG])
    assert [s.nats for s in together] == pytest.approx(
        [reader.surprise([t])[0].nats for t in (*TEXTS, "", LONG)], rel=1e-5
    )
    assert together[4] == (0.0, 0)


@pytest.mark.parametrize("kind", ["causal", "masked"])
def test_equal_texts_are_read_once(readers: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    shares: list[float] = []
    in_pieces = loading.in_pieces

    def counted(sizes: list[int], *rest: object) -> object:
        rows.append(len(sizes))
        return in_pieces(sizes, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(loading, "in_pieces", counted)
    LOAD[kind]().surprise(TEXTS, shares.append)
    LOAD[kind]().surprise(TEXTS[:3], shares.append)
    assert rows[0] == rows[1]
    assert shares[-1] == 1


def test_a_mask_that_stands_in_a_text_is_text(readers: Path) -> None:
    assert 4 not in language_models.load_masked().encode("the <mask> cat")


def test_a_causal_model_is_no_masked_one(readers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_MLM", str(readers / "lm"))
    with pytest.raises(UserError, match="cannot be used as a masked language model"):
        language_models.load_masked()
