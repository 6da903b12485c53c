"""Properties of every perturbation in the registry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.perturbations import registry
from core.perturbations.base import Perturbation
from core.text.edits import Change, Edit, Refused, apply, changed

EVERY = registry.chosen()
WORDS = """the a he she they we I was were is are not did n't don't cannot has have 1,500 1989 two 35% Berlin Angela Merkel
Mr. Smith house houses large and in of on because which ( ) , . ? ! “ ” ' 's ’s was sold increased prices gives said that to
win will \u00a0 \u200d 😀 é ＡＢ Ünal -- ... 12th 4.2 U.S. I’ll""".split(" ")
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=24).map(" ".join)
by_name = pytest.mark.parametrize("perturbation", EVERY, ids=lambda p: p.name)


@given(text=st.one_of(st.text(), SENTENCES), seed=st.integers(0, 2**40))
def test_a_change_is_its_edits_and_never_the_original(text: str, seed: int) -> None:
    for perturbation in EVERY:  # in one example, because they share the analysis of its text
        made = perturbation.perturb(text, seed)
        if isinstance(made, Refused):
            assert made.reason
        else:
            assert made.text != text
            assert apply(text, made.edits) == made.text
            assert all(text[e.start : e.end] != e.new for e in made.edits)
        assert perturbation.perturb(text, seed) == made


@by_name
def test_minimal_texts_raise_no_error(perturbation: Perturbation) -> None:
    for text in ("", " ", "\n", "Hello", "?", "😀", "\ud800", "no", "7"):
        assert isinstance(perturbation.perturb(text, 0), Change | Refused)


@by_name
def test_results_do_not_depend_on_earlier_calls(perturbation: Perturbation) -> None:
    texts = [
        "The two men were not in Berlin because they sold the large house.",
        "She has 20 old cars and a boat in Paris.",
    ]
    forward = [perturbation.perturb(t, 3) for t in texts]
    assert [perturbation.perturb(t, 3) for t in reversed(texts)] == forward[::-1]


@by_name
def test_every_perturbation_is_fully_declared(perturbation: Perturbation) -> None:
    assert registry.load_perturbation(perturbation.name) is perturbation
    assert perturbation.kind == ("fluency" if perturbation.name in ("typo", "jumble", "agreement") else "adequacy")
    assert "" not in (perturbation.phenomenon, perturbation.help)


GERMAN = "Der Stadtrat von Ahrfelden hat am Dienstagabend beschlossen, das alte Hallenbad nicht zu schließen und 3 Häuser zu bauen."
FRENCH = "Le conseil a décidé que les deux hommes ne sont pas dans la grande maison avec 20 amis."
CHINESE = "市议会周二晚上决定不关闭旧的室内游泳池，而是进行翻新。"


@pytest.mark.parametrize("text", [GERMAN, FRENCH, CHINESE], ids=["German", "French", "Chinese"])
def test_other_languages_are_refused_with_a_reason(text: str) -> None:
    for perturbation in EVERY:
        if perturbation.name not in ("typo", "jumble"):
            made = perturbation.perturb(text, 0)
            assert isinstance(made, Refused), perturbation.name
            assert "English" in made.reason or "no word" in made.reason, perturbation.name


SPACED = {
    "German": GERMAN,
    "Greek": "Αυτή είναι μια μεγάλη πρόταση με πολλές λέξεις.",
    "Russian": "Это длинное предложение на русском языке.",
    "Arabic": "هذا نص عربي طويل يحتوي على كلمات كثيرة",
    "Hebrew": "זהו משפט ארוך בעברית",
    "Hindi": "यह हिन्दी में एक लंबा वाक्य है",
    "Korean": "오늘은 날씨가 아주좋습니다 그래서 산책했습니다",
}


@pytest.mark.parametrize("text", SPACED.values(), ids=SPACED)
def test_typo_and_jumble_work_in_any_script_with_spaces(text: str) -> None:
    for seed in range(6):
        typo, jumble = (registry.load_perturbation(name).perturb(text, seed) for name in ("typo", "jumble"))
        assert isinstance(typo, Change)
        assert isinstance(jumble, Change)
        assert sorted(typo.text) == sorted(text) == sorted(jumble.text)
        assert sum(a != b for a, b in zip(typo.text.split(), text.split(), strict=True)) == 1
        assert sorted(jumble.text.strip(".").split()) == sorted(text.strip(".").split()) or text == GERMAN


@pytest.mark.parametrize("name", ["typo", "jumble"])
def test_typo_and_jumble_refuse_unspaced_scripts(name: str) -> None:
    assert isinstance(registry.load_perturbation(name).perturb(CHINESE, 0), Refused)


def test_the_twelve_published_phenomena_are_all_here() -> None:
    assert set(registry.MENLI) == {
        "addition", "omission", "negation", "number", "pronoun", "noun", "adjective", "verb", "name", "typo", "jumble", "agreement",
    }  # fmt: skip


def test_an_unknown_name_suggests_a_similar_one() -> None:
    with pytest.raises(UserError, match="Did you mean negation"):
        registry.load_perturbation("negaton")


def test_edits_that_overlap_are_an_error() -> None:
    with pytest.raises(ValueError, match="2:4 after 3"):
        apply("abcdef", [Edit(0, 3, "x"), Edit(2, 4, "y")])


def test_edits_that_change_nothing_are_dropped() -> None:
    assert changed("abc", [Edit(0, 1, "a")]) == Refused("the text would stay the same")
    assert changed("abc", [Edit(2, 3, "d"), Edit(0, 1, "x"), Edit(1, 2, "b")]) == Change(
        "xbd", (Edit(0, 1, "x"), Edit(2, 3, "d"))
    )
