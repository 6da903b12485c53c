"""Prism on a tiny M2M100, with the arithmetic written out from its logits."""

import pytest
import torch

from core.data import Item
from core.errors import UserError
from core.metrics import registry
from core.progress import no_progress
from tests import tiny_checkpoints as tiny
from tests.tiny import tiny_m2m100, tokenizer

ITEM = Item("die Katze", "the cat sat", ("the cat sat on the mat", "a red dog"))
GERMAN, ENGLISH, END = 5, 6, 2


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in tiny.environment_of("prism").items():
        monkeypatch.setenv(name, value)


@torch.inference_mode()
def h(read: str, written: str, language: int = ENGLISH) -> float:
    """Mean log p of the pieces of `written` and its end; read: language, pieces, end; begun with the end sign and English."""
    x, y = (list(tokenizer()(text, add_special_tokens=False)["input_ids"]) for text in (read, written))
    y = [*y, END]
    logits = tiny_m2m100().model(
        input_ids=torch.tensor([[language, *x, END]]), decoder_input_ids=torch.tensor([[END, ENGLISH, *y[:-1]]])
    ).logits[0]  # fmt: skip
    table = logits[1:].double().log_softmax(dim=1)
    return sum(float(table[i, token]) for i, token in enumerate(y)) / len(y)


def test_prism_ref_averages_directions_of_the_best_reference() -> None:
    values = [(h(r, ITEM.hypothesis) + h(ITEM.hypothesis, r)) / 2 for r in ITEM.references]
    value = registry.load_metric("prism").score([ITEM], no_progress)[0]
    assert value.value == pytest.approx(max(values), abs=1e-4)
    assert value.parts["condition"] == values.index(max(values))


def test_prism_src_reads_the_source_in_its_own_language() -> None:
    value = registry.load_metric("prism-src").score([ITEM], no_progress)[0]
    assert value.value == pytest.approx(h("die Katze", ITEM.hypothesis, GERMAN), abs=1e-4)


def test_prism_equals_bartscore_f_with_the_same_model() -> None:
    prism, bartscore = (
        registry.load_metric(name).score([ITEM], no_progress)[0].value for name in ("prism", "bartscore")
    )
    assert prism == pytest.approx(bartscore, abs=1e-5)


@pytest.mark.parametrize("name", ["prism", "prism-src"])
def test_a_model_of_one_language_is_refused_with_what_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_SEQ2SEQ", "bundled")
    with pytest.raises(UserError, match="multilingual"):
        registry.load_metric(name).signature()
    with pytest.raises(UserError, match="multilingual"):
        registry.load_metric(name).score([ITEM], no_progress)


def test_languages_that_are_not_set_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ERRORSCOPE_LANGUAGES")
    with pytest.raises(UserError, match="languages of the multilingual model are not configured"):
        registry.load_metric("prism").signature()
