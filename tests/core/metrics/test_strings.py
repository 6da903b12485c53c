"""String metrics, which keep references tokenized, against the packages called for each pair, and against arithmetic."""

import random

import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu import sentence_bleu, sentence_chrf
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from core.data import Item
from core.metrics import registry
from core.metrics.lexical.rouge import UnicodeWords
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
    values = [v.value for v in registry.load_metric(name).score(items, no_progress)]
    assert values == [OWN[name].sentence_score(i.hypothesis, list(i.references)).score for i in items]


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


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL"])
def test_rouge_is_that_of_the_package_precision_and_recall_too(name: str, stem: bool) -> None:
    items, own = ascii_only(drawn(1)), RougeScorer([name], use_stemmer=stem)
    expected = [own.score_multi(list(i.references), i.hypothesis)[name] for i in items]
    values = registry.load_metric(f"{name}|stem:yes" if stem else name).score(items, no_progress)
    assert [(v.parts["precision"], v.parts["recall"]) for v in values] == [(e.precision, e.recall) for e in expected]
    # its last bit may differ
    assert [v.value for v in values] == pytest.approx([e.fmeasure for e in expected], abs=2e-16)


def test_equal_overlaps_are_a_tie() -> None:
    # F = 2·1/(1 + 5) = 2·1/(3 + 3) = 1/3. From the rounded precision and recall, the first would be 0.33333333333333337.
    items = [Item(None, "a", ("a b c d e",)), Item(None, "a x y", ("a b c",))]
    first, second = registry.load_metric("rouge1").score(items, no_progress)
    assert first.value == second.value == 1 / 3


PAIRS = [
    ("The cat sat on a mat.", ("The cat sat on the mat.",)),
    ("Prices fell in May", ("Prices rose in May.", "In May, prices were up.")),
    ("", ("Something.",)),
]


def value(name: str, hypothesis: str, references: tuple[str, ...]) -> float:
    score = registry.load_metric(name).score([Item(None, hypothesis, references)], no_progress)[0].value
    assert score is not None
    return score


@pytest.mark.parametrize(("hypothesis", "references"), PAIRS)
def test_options_are_sacrebleus(hypothesis: str, references: tuple[str, ...]) -> None:
    texts = [hypothesis, list(references)]
    assert value("chrf|beta:3", hypothesis, references) == pytest.approx(sentence_chrf(*texts, beta=3).score)
    assert value("chrf|word_order:2", hypothesis, references) == pytest.approx(
        sentence_chrf(*texts, word_order=2).score
    )
    for words in ("intl", "zh", "char", "none"):
        expected = sentence_bleu(*texts, tokenize=words).score
        assert value(f"bleu|tokenize:{words}", hypothesis, references) == pytest.approx(expected)


def test_options_do_change_the_score() -> None:
    """Guards the test above: an option that is dropped would pass where it makes no difference."""
    pair = ("the cat sat on mats", ("the cats sit on the mat",))
    for plain, other in (("chrf", "chrf|beta:3"), ("chrf", "chrf|word_order:2"), ("bleu", "bleu|tokenize:char")):
        assert value(plain, *pair) != pytest.approx(value(other, *pair), abs=0.1)


def test_stemming_leaves_words_of_other_scripts_alone() -> None:
    assert UnicodeWords(stem=True).tokenize("Running größere القطط") == ["run", "größere", "القطط"]


def test_rouge_1_by_hand() -> None:
    # output {the, cat, sat, on, a, mat}, reference {the, cat, sat, on, the, mat}: 5 shared; P = R = 5/6
    assert value("rouge1", "The cat sat on a mat.", ("The cat sat on the mat.",)) == pytest.approx(5 / 6)


def test_ter_by_hand() -> None:
    # one substitution, six reference words (the full stop is stripped as punctuation of the word it stands at: "mat.")
    assert value("ter", "the cat sat on a mat.", ("the cat sat on the mat.",)) == pytest.approx(100 / 6)


def test_rouge_sees_other_scripts() -> None:
    # rouge-score alone keeps [a-z0-9] only, and would find nothing here
    assert value("rouge1", "القط على الحصيرة", ("القط تحت الحصيرة",)) == pytest.approx(2 / 3)
    assert UnicodeWords().tokenize("Größe_2, naïve!") == ["größe", "2", "naïve"]


def test_the_string_signatures_are_exact() -> None:
    assert registry.load_metric("chrf").signature() == (
        "chrf|v:1|nrefs:var|case:mixed|eff:yes|nc:6|nw:0|space:no|level:segment|sacrebleu:2.6.0"
    )
    assert registry.load_metric("bleu").signature() == (
        "bleu|v:1|nrefs:var|case:mixed|eff:yes|tok:13a|smooth:exp|level:segment|sacrebleu:2.6.0"
    )
    assert registry.load_metric("chrf|beta:3|word_order:2").signature() == (
        "chrf|v:1|nrefs:var|case:mixed|eff:yes|nc:6|nw:2|space:no|beta:3|level:segment|sacrebleu:2.6.0"
    )
    assert registry.load_metric("bleu|tokenize:zh").signature() == (
        "bleu|v:1|nrefs:var|case:mixed|eff:yes|tok:zh|smooth:exp|level:segment|sacrebleu:2.6.0"
    )
    assert registry.load_metric("rougeL").signature() == (
        "rougeL|v:2|nrefs:var|measure:f|stem:no|tok:unicode|rouge-score:0.1.2"
    )
