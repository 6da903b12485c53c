"""Cached references give exactly the values of the packages called for each pair."""

import random

import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from core.data import Item
from core.metrics import registry
from core.metrics.lexical.sacre import words_13a
from core.progress import no_progress

WORDS = ["the", "cat", "sat", "on", "a", "mat", "with", "10", "dogs", "don't", "co-op", "Bär", "😀", ",", "."]
OWN = {"chrf": CHRF(), "bleu": BLEU(effective_order=True), "ter": TER()}


def drawn(seed: int) -> list[Item]:
    """Outputs of segments in mixed order, among them copies of references, empty texts and texts without a word."""
    rng = random.Random(seed)

    def text(most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(0, most)))

    segments = [(text(20), *(text(20) for _ in range(rng.randint(0, 4)))) for _ in range(15)]
    items = [Item(None, rng.choice([text(25), text(3), refs[-1], "", "…"]), refs) for refs in segments * 3]
    rng.shuffle(items)
    return items


def ascii_only(items: list[Item]) -> list[Item]:
    """rouge-score reads [a-z0-9] alone, the metric all scripts."""
    return [i._replace(hypothesis=_ascii(i.hypothesis), references=tuple(map(_ascii, i.references))) for i in items]


def _ascii(text: str) -> str:
    return text.replace("Bär", "bear").replace("_", " ")


@pytest.mark.parametrize("name", list(OWN))
def test_sacrebleu_values_do_not_depend_on_earlier_items(name: str) -> None:
    items = drawn(0)
    found = [v.value for v in registry.load_metric(name).score(items, no_progress)]
    assert found == [OWN[name].sentence_score(i.hypothesis, list(i.references)).score for i in items]


def test_words_13a_are_those_of_sacrebleu() -> None:
    rng, theirs = random.Random(2), Tokenizer13a()
    parts = [
        *map(chr, range(32, 127)),
        *"aB12é语。.,-\n\t\u00a0٣     ....,,,,----",
        "&amp;",
        "&quot;",
        "&lt;",
        "&gt;",
        "<skipped>",
    ]
    texts = ["".join(rng.choices(parts, k=rng.randint(0, 12))) for _ in range(5_000)]
    assert [words_13a(text) for text in texts] == [theirs(text) for text in texts]


@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL"])
def test_rouge_is_that_of_the_package_precision_and_recall_too(name: str) -> None:
    items = ascii_only(drawn(1))
    own = RougeScorer([name], use_stemmer=False)
    expected = [own.score_multi(list(i.references), i.hypothesis)[name] for i in items]
    found = registry.load_metric(name).score(items, no_progress)
    assert [(v.parts["precision"], v.parts["recall"]) for v in found] == [(e.precision, e.recall) for e in expected]
    assert [v.value for v in found] == pytest.approx(
        [e.fmeasure for e in expected], abs=2e-16
    )  # its last bit may differ


def test_stemmed_rouge_too() -> None:
    items = ascii_only(drawn(2))
    own = RougeScorer(["rougeL"], use_stemmer=True)
    found = registry.load_metric("rougeL|stem:yes").score(items, no_progress)
    expected = [own.score_multi(list(i.references), i.hypothesis)["rougeL"].fmeasure for i in items]
    assert [v.value for v in found] == pytest.approx(expected, abs=2e-16)


def test_equal_overlaps_are_a_tie() -> None:
    # F = 2·1/(1 + 5) = 2·1/(3 + 3) = 1/3. From the rounded precision and recall, the first would be 0.33333333333333337.
    items = [Item(None, "a", ("a b c d e",)), Item(None, "a x y", ("a b c",))]
    first, second = registry.load_metric("rouge1").score(items, no_progress)
    assert first.value == second.value == 1 / 3
