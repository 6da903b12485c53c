"""String metrics against the packages called directly, and against arithmetic."""

import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu import sentence_bleu, sentence_chrf, sentence_ter

from core.data import Item
from core.metrics import registry
from core.metrics.lexical.rouge import UnicodeWords
from core.progress import no_progress

PAIRS = [
    ("The cat sat on a mat.", ("The cat sat on the mat.",)),
    ("Prices fell in May", ("Prices rose in May.", "In May, prices were up.")),
    ("", ("Something.",)),
]


def value(name: str, hypothesis: str, references: tuple[str, ...]) -> float:
    found = registry.load_metric(name).score([Item(None, hypothesis, references)], no_progress)[0].value
    assert found is not None
    return found


@pytest.mark.parametrize(("hypothesis", "references"), PAIRS)
def test_sacrebleu_metrics_are_sacrebleus(hypothesis: str, references: tuple[str, ...]) -> None:
    for name, call in (("chrf", sentence_chrf), ("bleu", sentence_bleu), ("ter", sentence_ter)):
        assert value(name, hypothesis, references) == pytest.approx(call(hypothesis, list(references)).score)


@pytest.mark.parametrize(("hypothesis", "references"), PAIRS)
def test_options_are_sacrebleus(hypothesis: str, references: tuple[str, ...]) -> None:
    given = [hypothesis, list(references)]
    assert value("chrf|beta:3", hypothesis, references) == pytest.approx(sentence_chrf(*given, beta=3).score)
    assert value("chrf|word_order:2", hypothesis, references) == pytest.approx(
        sentence_chrf(*given, word_order=2).score
    )
    for words in ("intl", "zh", "char", "none"):
        expected = sentence_bleu(*given, tokenize=words).score
        assert value(f"bleu|tokenize:{words}", hypothesis, references) == pytest.approx(expected)


def test_options_do_change_the_score() -> None:
    """Guards the test above: an option that is dropped would pass where it makes no difference."""
    pair = ("the cat sat on mats", ("the cats sit on the mat",))
    for plain, other in (("chrf", "chrf|beta:3"), ("chrf", "chrf|word_order:2"), ("bleu", "bleu|tokenize:char")):
        assert value(plain, *pair) != pytest.approx(value(other, *pair), abs=0.1)


@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL"])
def test_stemmed_rouge_is_rouge_scores_on_english(name: str) -> None:
    hypothesis, reference = "Cats were running 2nd on the mats.", "The cat runs, running in second"
    own = RougeScorer([name], use_stemmer=True).score(reference, hypothesis)[name].fmeasure
    assert value(f"{name}|stem:yes", hypothesis, (reference,)) == pytest.approx(own)
    assert (
        value(f"{name}|stem:yes", hypothesis, (reference,)) > value(name, hypothesis, (reference,)) or name == "rouge2"
    )


def test_stemming_leaves_words_of_other_scripts_alone() -> None:
    assert UnicodeWords(stem=True).tokenize("Running größere القطط") == ["run", "größere", "القطط"]


@pytest.mark.parametrize(("hypothesis", "references"), PAIRS)
@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL"])
def test_rouge_is_rouge_score_on_english(name: str, hypothesis: str, references: tuple[str, ...]) -> None:
    own = RougeScorer([name], use_stemmer=False)
    assert value(name, hypothesis, references) == pytest.approx(
        own.score_multi(list(references), hypothesis)[name].fmeasure
    )


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
