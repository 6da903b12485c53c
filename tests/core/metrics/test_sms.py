"""Sentence Mover's Similarity by hand: given vectors, and weights counted in words."""

import numpy as np
import pytest

from core.data import Item, Value
from core.metrics import registry
from core.models.architectures.encoder import load_encoder
from core.progress import no_progress
from tests.core.tiny_encoder import use_tiny_encoder

FIRST, SECOND, OTHER = "The cat sat on the mat.", "It slept.", "A dog ran away."


@pytest.fixture(autouse=True)
def _encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    use_tiny_encoder(monkeypatch)


def score(output: str, *references: str, expression: str = "sms") -> Value:
    return registry.load_metric(expression).score([Item(None, output, references)], no_progress)[0]


def distance(first: str, second: str) -> float:
    return float(np.linalg.norm(np.subtract(*load_encoder().sentences([first, second]).astype(np.float64))))


def test_one_sentence_per_side_gives_exp_of_minus_distance() -> None:
    assert score(FIRST, OTHER).value == pytest.approx(np.exp(-distance(FIRST, OTHER)), abs=1e-5)


def test_sentences_weigh_as_many_words_as_they_have() -> None:
    # Output of 6 + 2 words, reference of 4: all of it is carried to the one sentence there is, 6/8 and 2/8 of it.
    cost = 6 / 8 * distance(FIRST, OTHER) + 2 / 8 * distance(SECOND, OTHER)
    assert score(f"{FIRST} {SECOND}", OTHER).value == pytest.approx(np.exp(-cost), abs=1e-5)


def test_sentence_order_is_ignored_and_a_copy_is_perfect() -> None:
    assert score(f"{FIRST} {SECOND}", f"{SECOND} {FIRST}").value == pytest.approx(1, abs=1e-9)
    for units in ("sentences", "words", "both"):
        assert score(f"{FIRST} {SECOND}", f"{FIRST} {SECOND}", expression=f"sms|units:{units}").value == pytest.approx(
            1
        )


def test_words_average_tokens_and_units_share_the_weight() -> None:
    # “unbelievable” and “house” are one word each: WMS carries one word, S+WMS the sentence and the word, half the weight each
    # way; neither sentence nor word can stay, so its cost lies at or below the mean of the two.
    def word(text: str) -> np.ndarray:
        mean = load_encoder().tokens([text], [6])[0].states[0][1:-1].mean(axis=0).astype(np.float64)
        return mean / np.linalg.norm(mean)

    far = float(np.linalg.norm(word("unbelievable") - word("house")))
    assert score("unbelievable", "house", expression="sms|units:words").value == pytest.approx(np.exp(-far), abs=1e-5)
    both = score("unbelievable", "house", expression="sms|units:both").value
    assert both is not None
    assert both >= np.exp(-(far + distance("unbelievable", "house")) / 2) - 1e-5


def test_the_splitter_is_an_option_and_the_signature_names_it() -> None:
    text = "Stop!Go on. 好。吃"
    assert score(text, FIRST).value != score(text, FIRST, expression="sms|sentences:point").value
    assert "|units:sentences|sentences:prose|prose:3|" in registry.load_metric("sms").signature()
    assert "|sentences:point|" in registry.load_metric("sms|sentences:point").signature()


def test_the_best_reference_counts_and_empty_texts_are_undefined() -> None:
    best = score(FIRST, OTHER, "", FIRST)
    assert (best.value, best.parts["condition"]) == (pytest.approx(1), 2)
    assert score("", FIRST).status == score(FIRST, " ").status == "undefined"
    assert score("😀", "!!!").value is not None
