"""Word metrics on scripts written without spaces, against the packages over texts that were split before."""

import pytest
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import Tokenizer
from sacrebleu import sentence_bleu, sentence_ter
from sacrebleu.tokenizers.tokenizer_char import TokenizerChar
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from core.data import Item
from core.errors import UserError
from core.metrics import registry
from core.progress import no_progress
from core.text.languages import writing
from core.text.words import words
from tests.core.metrics.all_outputs import all_outputs

TEXTS = {
    "han": ("我喜歡 Python 這種語言。", "我非常喜歡 Python 語言!"),
    "japanese": ("東京は日本の首都です。", "東京は首都でした。"),
    "thai": ("ฉันชอบกินข้าวผัด", "ฉันกินข้าวที่บ้าน"),
    "khmer": ("ខ្ញុំស្រឡាញ់ភាសាខ្មែរ", "ខ្ញុំរៀនភាសាខ្មែរ"),
    "lao": ("ຂ້ອຍມັກເຂົ້າໜຽວ", "ຂ້ອຍກິນເຂົ້າ"),
    "burmese": ("ကျွန်တော်ထမင်းစားတယ်", "သူထမင်းစားမယ်"),
}
TOKENIZERS = {name: "zh" if name == "han" else "char" for name in TEXTS}
ENGLISH = Item("die Katze", "The cat sat on a mat, 北京!", ("The cat sat on the mat in 北京.",))
ROUGES = ("rouge1", "rouge2", "rougeL")


class Characters(Tokenizer):  # type: ignore[misc]
    """Words by `core.text.words`, lower-cased: characters in these scripts."""

    def tokenize(self, text: str) -> list[str]:
        return [text[start:end].lower() for start, end in words(text)]


def item(name: str) -> Item:
    hypothesis, reference = TEXTS[name]
    return Item("x", hypothesis, (reference,))


def value(metric: str, of: Item) -> float:
    score = registry.load_metric(metric).score([of], no_progress)[0].value
    assert score is not None
    return score


def signed(metric: str, *items: Item) -> dict[str, str]:
    signature = registry.load_metric(metric).for_outputs(all_outputs(items)).signature()
    return dict(part.split(":", 1) for part in signature.split("|")[1:])


@pytest.mark.parametrize("script", TEXTS)
@pytest.mark.parametrize("name", ROUGES)
def test_rouge_is_rouge_score_over_characters(name: str, script: str) -> None:
    own = RougeScorer([name], tokenizer=Characters()).score(TEXTS[script][1], TEXTS[script][0])[name]
    assert 0 < value(name, item(script)) < 1
    assert value(name, item(script)) == pytest.approx(own.fmeasure)
    assert value(f"{name}|measure:p", item(script)) == pytest.approx(own.precision)
    assert value(f"{name}|measure:r", item(script)) == pytest.approx(own.recall)
    assert signed(name, item(script))["tok"] == "characters"


@pytest.mark.parametrize("script", TEXTS)
def test_bleu_is_sacrebleus_with_the_tokenizer_of_the_script(script: str) -> None:
    hypothesis, reference = TEXTS[script]
    own = sentence_bleu(hypothesis, [reference], tokenize=TOKENIZERS[script]).score
    assert value("bleu", item(script)) == pytest.approx(own)
    assert own > sentence_bleu(hypothesis, [reference]).score
    assert signed("bleu", item(script))["tok"] == TOKENIZERS[script]


@pytest.mark.parametrize("script", TEXTS)
def test_ter_counts_edits_of_the_words_of_the_script(script: str) -> None:
    hypothesis, reference = map(TokenizerZh() if script == "han" else TokenizerChar(), TEXTS[script])
    assert value("ter", item(script)) == pytest.approx(sentence_ter(hypothesis, [reference]).score)
    assert signed("ter", item(script))["tok"] == f"{TOKENIZERS[script]}-tercom"


MARKED = {  # one word differs by its vowel signs or marks alone
    "hindi": ("हिन्दी के किताब", "हिन्दी की किताब"),
    "tamil": ("தமிழ் நூல் ஒன்று", "தமிழ் நால் ஒன்று"),
    "bengali": ("বাংলা বই আছে", "বাংলা বউ আছে"),
    "arabic": ("كَتَبَ زيد الدرس", "كُتِبَ زيد الدرس"),
    "decomposed": ("cafe\u0301 le soir", "cafe\u0300 le soir"),
}


@pytest.mark.parametrize("script", MARKED)
def test_rouge_keeps_the_marks_of_a_letter_in_its_word(script: str) -> None:
    hypothesis, reference = MARKED[script]
    of = Item("x", hypothesis, (reference,))
    assert value("rouge1", of) == value("rougeL", of) == pytest.approx(2 / 3)
    smart = "smart1|matcher:rouge1|against:reference|measure:p"
    assert value(smart, of) == pytest.approx(2 / 3)
    assert "/tok:unicode-marks/" in signed(smart, of)["matcher"]
    assert signed("rouge1", of)["tok"] == "unicode-marks"
    assert signed("rouge1", of, ENGLISH, item("thai"))["tok"] == "unicode+unicode-marks+characters"
    assert signed("rouge1|tokenize:unicode", of)["tok"] == "unicode (given)"


def test_rouge_divides_no_word_at_a_letter_that_lower_case_lengthens() -> None:
    composed, decomposed = "İzmir çok güzel", "i\u0307zmir çok güzel"
    for reference, hypothesis, right in [
        (composed, composed, 1), (composed, decomposed, 1), (decomposed, composed, 1), (composed, composed.upper(), 1),
        (composed, "İstanbul çok güzel", 2 / 3), (composed, "izmir çok güzel", 2 / 3), ("izmir çok güzel", composed, 2 / 3),
        ("İşte İzmir", "İşte izmir", 1 / 2), ("हिन्दी İzmir", "हिन्दी İzmit", 1 / 2),
    ]:  # fmt: skip
        of = Item("x", hypothesis, (reference,))
        for name in ("rouge1", "rougeL"):
            assert value(name, of) == pytest.approx(right), (name, reference, hypothesis)
        assert signed("rouge1", of)["dotted-i"] == "letter"
        assert value("smart1|matcher:rouge1|against:reference|measure:p", of) == pytest.approx(right)
    assert "dotted-i" not in signed("rouge1", ENGLISH)


@pytest.mark.parametrize("reference", ["Größe naïve 5️⃣ ❤️ is", "İstanbul is", "한국의 수도"])
def test_rouge_without_marks_on_letters_stays(reference: str) -> None:
    of = Item("x", "cafe\u0301 is हिन्दी 5️⃣ İstanbul", (reference,))
    assert signed("rouge1", of)["tok"] == "unicode"
    for name in ROUGES:
        assert value(name, of) == value(f"{name}|tokenize:unicode", of)


@pytest.mark.parametrize("metric", ["bleu", *ROUGES])
@pytest.mark.parametrize("script", TEXTS)
def test_smart_matches_sentences_by_the_same_words(metric: str, script: str) -> None:
    matched = f"smart1|matcher:{metric}|against:reference|measure:p"
    assert value(matched, item(script)) == pytest.approx(value(metric, item(script)) / (100 if metric == "bleu" else 1))
    words_of = "characters" if metric != "bleu" else TOKENIZERS[script]
    assert f"/tok:{words_of}/" in signed(matched, item(script))["matcher"]


@pytest.mark.parametrize(
    "metric", ["bleu", "ter", *ROUGES, "smart1|matcher:rouge1|against:reference", "menli|with:bleu"]
)
def test_spaced_texts_keep_score_and_signature_beside_others(metric: str) -> None:
    loaded = registry.load_metric(metric)
    mixed = [ENGLISH, *map(item, TEXTS)]
    assert loaded.for_outputs(all_outputs([ENGLISH])).signature() == loaded.signature()
    assert loaded.for_outputs(all_outputs(mixed)).signature() != loaded.signature()
    together = [v.value for v in loaded.score(mixed, no_progress)]
    assert together == pytest.approx([v.value for one in mixed for v in loaded.score([one], no_progress)])


def test_the_signature_lists_every_tokenizer_once() -> None:
    items = [item("thai"), ENGLISH, item("han"), item("lao")]
    assert signed("bleu", *items)["tok"] == "13a+zh+char"
    assert signed("rouge1", *items)["tok"] == "unicode+characters"
    assert signed("bleu|tokenize:13a", *items)["tok"] == "13a (given)"
    assert signed("rouge1|tokenize:unicode", *items)["tok"] == "unicode (given)"


@pytest.mark.parametrize(
    ("texts", "script"),
    [
        (("Tokyo (東京) is a city",), "spaced"),
        (("使用 Python 和 PyTorch 訓練模型",), "han"),
        (("私はPythonが好きです",), "unspaced"),
        (("서울은 한국의 수도이다",), "spaced"),
        (("भारत की राजधानी",), "spaced"),
        (("", "!?"), "spaced"),
        ((), "spaced"),
    ],
)
def test_how_references_are_written(texts: tuple[str, ...], script: str) -> None:
    assert writing(texts) == script


@pytest.mark.parametrize("name", ROUGES)
def test_rouge_is_undefined_where_no_reference_has_a_word(name: str) -> None:
    metric = registry.load_metric(name)
    unread, half, empty = (
        Item("x", "cats 😀", ("😀", "!?")),
        Item("x", "cats", ("😀", "cats ran")),
        Item("x", "cats", ("",)),
    )
    first, second, third = metric.score([unread, half, empty], no_progress)
    assert (first.value, first.status, first.reason) == (
        None,
        "undefined",
        "no reference contains a word (letters or digits)",
    )
    assert (second.status, third.status, third.value) == ("ok", "ok", 0)
    assert signed(name, unread, half)["unread"] == "undefined"
    assert "unread" not in signed(name, half, empty)


def test_mecab_is_used_where_it_is_installed() -> None:
    metric = registry.load_metric("bleu|tokenize:ja-mecab")
    try:
        import MeCab  # noqa: F401
    except ImportError:
        with pytest.raises(UserError, match="MeCab is not installed"):
            metric.score([item("japanese")], no_progress)
    else:
        own = sentence_bleu(*TEXTS["japanese"][:1], [TEXTS["japanese"][1]], tokenize="ja-mecab").score
        assert metric.score([item("japanese")], no_progress)[0].value == pytest.approx(own)


def test_the_reference_with_the_best_measure_counts() -> None:
    of = Item(None, "the cat sat", ("the cat sat on the mat", "the cat"))
    assert value("rouge1|measure:r", of) == 1
    assert value("rouge1|measure:p", of) == 1
    assert value("rouge1", of) == pytest.approx(0.8)
