"""Properties of every perturbation and noise in the registry."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import UserError
from core.perturbations import registry
from core.perturbations.base import Noise, NoiseContext, Perturbation, TextPool, noise_ratio, pairs, sample_share
from core.perturbations.mismatch import like_pairs
from core.text.edits import Change, Refused, apply
from tests.core.perturbations.made import change, changes, outcome, reason

HEAVY = "diverge"
"""The noise that runs the bundled weights."""
NOISES = [name for name in registry.NOISES if name != HEAVY]
LIGHT = [*registry.PERTURBATIONS, *NOISES]
HEAVY_TOO = pytest.param(HEAVY, marks=pytest.mark.models)
every = pytest.mark.parametrize("name", [*LIGHT, HEAVY_TOO])
every_noise = pytest.mark.parametrize("name", [*NOISES, HEAVY_TOO])

STORIES = (
    "The council of Ahrfelden decided on Tuesday evening, after a long debate, not to close the old pool. "
    "Angela Weber said that the building was loved by the families of the town: they had paid for it in 1974. "
    "Her rival Peter Klein wanted a new library in Berlin. The repairs will cost 3.5 million euros! "
    "John Smith had seen such pools in London, Paris and Rome, and Anna Brown in Madrid. Mary Jones never swims.",
    "She went to the office in Boston. And she talked to her staff about Paris. Was the journey to France really needed? "
    "Nobody knew, but John Miller, who had been writing letters since May, asked the director for a ticket.",
    "Two men in a small boat were rescued by a helicopter near Dover on Sunday and taken to London. They had lost the engine in heavy rain. "
    "A spokesman for the coast guard told the BBC that both were tired and cold. The boat was left to the sea.",
)
SOURCE = "Der Stadtrat von Ahrfelden beschloss am Dienstag, das alte Hallenbad nicht zu schließen. Es kostet viel Geld."
BESIDE = NoiseContext(SOURCE, STORIES)
WORDS = """the a he she they we I was were is are not did n't don't cannot has have 1,500 1989 two 35% Berlin Angela Merkel
Mr. Smith U.S. house houses large and in of on because which ( ) , . ? ! : “ ” ' 's ’s - … was sold increased said that to win will
gives prices 12th 4.2 -- \u00a0 \u200d \u200f \u2028 \ud800 😀 👩‍🚀 🇫🇷 é e\u0301 ＡＢ Ünal 市议会 。 ， สวัสดี مرحبا ، ؟ नमस्ते । שלום ... I’ll""".split(
    " "
)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=80),
    st.lists(st.sampled_from(WORDS), max_size=24).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=12).map("".join),
)
AT, SEEDS = st.integers(0, 4), st.integers(0, 2**40)
NEXT_TO_NOTHING = ("", " ", "\n", "Hello", "Hello.", "?", "...", "😀", "👩‍🚀👩‍🚀", "\ud800", "\ud800 \udfff", "no", "7", "市", "مرحبا بالعالم", "a a a a")  # fmt: skip


def stories(name: str) -> tuple[str, ...]:
    return (STORIES[1][:74],) if name == HEAVY else STORIES


def at(name: str, level: int) -> float:
    levels = registry.NOISES[name].levels if name in registry.NOISES else ((1.0, ""),)
    return levels[min(level, len(levels) - 1)][0]


def check(name: str, text: str, level: int, seed: int) -> None:
    context = NoiseContext(SOURCE, (*STORIES, text))
    made = outcome(name, text, at(name, level), seed, context)
    assert outcome(name, text, at(name, level), seed, context) == made
    if isinstance(made, Refused):
        assert made.reason
        return
    assert made.text != text
    assert made.edits
    assert apply(text, made.edits) == made.text
    assert all(text[e.start : e.end] != e.new for e in made.edits)


@given(text=TEXTS, level=AT, seed=SEEDS)
def test_a_change_is_its_edits_and_never_the_original(text: str, level: int, seed: int) -> None:
    for name in LIGHT:  # in one example, because they share the analysis of its text
        check(name, text, level, seed)


@pytest.mark.models
@settings(max_examples=6, deadline=None)
@given(text=TEXTS, level=AT, seed=SEEDS)
def test_changes_by_a_model_match_their_edits(text: str, level: int, seed: int) -> None:
    check(HEAVY, text, level, seed)


@every
def test_minimal_texts_raise_no_error(name: str) -> None:
    for text in NEXT_TO_NOTHING:
        check(name, text, 0, 0)
        check(name, text, 4, 1)


@every
def test_results_do_not_depend_on_earlier_calls(name: str) -> None:
    texts = (*stories(name), "The two men did not know that she has 20 old cars in Paris.")
    forward = [outcome(name, text, at(name, 2), 3, BESIDE) for text in texts]
    assert [outcome(name, text, at(name, 2), 3, BESIDE) for text in reversed(texts)] == forward[::-1]


@every
def test_all_are_fully_declared(name: str) -> None:
    if name in registry.PERTURBATIONS:
        perturbation = registry.load_perturbation(name)
        assert perturbation.name == name
        assert perturbation.kind == ("fluency" if name in ("typo", "jumble", "agreement") else "adequacy")
        assert "" not in (perturbation.phenomenon, perturbation.help)
        return
    noise, place = registry.noise(name), list(registry.NOISES).index(name)
    assert noise.name == name
    assert noise.aspect == ("fluency" if place < 10 else "consistency" if place < 18 else "special")
    assert "" not in (noise.label, noise.help)
    assert len({label for _, label in noise.levels}) == len(noise.levels)
    assert all(strength > 0 and label for strength, label in noise.levels)
    assert all(a.strength < b.strength for a, b in pairwise(noise.levels))
    assert len(noise.levels) == 5 or noise.aspect != "fluency"
    assert len(noise.levels) >= 3 or not noise.graded
    assert noise.graded == (noise.aspect != "special")
    assert noise.seeded != (name in ("truncation", "injection", "repetition", "copy-source"))
    assert noise.models().startswith("spacy ") == noise.english
    assert noise.switching == ("swap" in name or "switching" in name)


def test_the_published_phenomena_and_levels_are_all_here() -> None:
    assert set(registry.MENLI) == {
        "addition", "omission", "negation", "number", "pronoun", "noun", "adjective", "verb", "name", "typo", "jumble", "agreement",
    }  # fmt: skip
    assert {name: [label for _, label in registry.noise(name).levels] for name in list(registry.NOISES)[18:]} == {
        "positioned-random": ["start", "middle", "end"],
        "positioned-shuffle": ["start", "middle", "end"],
        "injection": ["Inj-1", "Inj-2", "Inj-3", "Inj-4", "Inj-5", "Inj-1 + another text"],
        "frequent-4gram": ["top-10", "top-50", "top-100"],
        "frequent-3gram": ["top-10", "top-50", "top-100"],
        "repetition": ["Rep-10", "Rep-20", "Rep-30"],
        "copy-source": ["copy"],
    }


def test_an_unknown_name_suggests_a_similar_one() -> None:
    with pytest.raises(UserError, match="Did you mean negation"):
        registry.load_perturbation("negaton")
    with pytest.raises(UserError, match="Did you mean truncation"):
        registry.noise("truncatoin")


def test_a_rule_without_edits_refuses_with_its_reason() -> None:
    text = "The house is old."
    for nothing in ("", "no house"):
        made = Perturbation("x", "x", "adequacy", "x", lambda parsed, random: [], nothing).perturb(text)
        assert made == Refused(nothing or "the text would stay the same")


GERMAN = "Der Stadtrat von Ahrfelden hat am Dienstagabend beschlossen, das alte Hallenbad nicht zu schließen und 3 Häuser zu bauen."
FRENCH = "Le conseil a décidé que les deux hommes ne sont pas dans la grande maison avec 20 amis."
CHINESE = "市议会周二晚上决定，不关闭旧的室内游泳池。"
ARABIC = "قرر المجلس، بعد نقاش طويل، عدم إغلاق المسبح القديم. هل كان ذلك صحيحا؟"
SPACED = (
    GERMAN,
    "Αυτή είναι μια μεγάλη πρόταση με πολλές λέξεις.",
    "Это длинное предложение на русском языке.",
    "هذا نص عربي طويل يحتوي على كلمات كثيرة",
    "זהו משפט ארוך בעברית",
    "यह हिन्दी में एक लंबा वाक्य है",
    "오늘은 날씨가 아주좋습니다 그래서 산책했습니다",
)
IN_ENGLISH = [one.name for one in (*registry.chosen(), *registry.noises()) if one.english]
ANY_SCRIPT = [one.name for one in registry.noises(registry.NOISE_TYPES[:10]) if not one.english]


@pytest.mark.parametrize("name", IN_ENGLISH)
def test_other_languages_and_long_texts_are_refused(name: str) -> None:
    for text in (GERMAN, FRENCH, CHINESE):
        assert "English" in reason(name, text) or "no word" in reason(name, text)
    assert "longer than" in reason(name, "The house is old. " * 2000)


@pytest.mark.parametrize("text", SPACED)
def test_typo_and_jumble_work_in_any_script_with_spaces(text: str) -> None:
    for seed in range(6):
        typo, jumble = (change(name, text, seed=seed).text for name in ("typo", "jumble"))
        assert sorted(typo) == sorted(text) == sorted(jumble)
        assert sum(a != b for a, b in zip(typo.split(), text.split(), strict=True)) == 1
        assert sorted(jumble.strip(".").split()) == sorted(text.strip(".").split()) or text == GERMAN
    assert not changes("typo", CHINESE) | changes("jumble", CHINESE)


@pytest.mark.parametrize("name", ANY_SCRIPT)
def test_other_noises_take_any_script_and_long_documents(name: str) -> None:
    noise = registry.noise(name)
    for text in (GERMAN, CHINESE, ARABIC):
        ratios = [noise_ratio(text, change(name, text, s).text, switching=noise.switching) for s, _ in noise.levels]
        assert 0 < ratios[0] <= ratios[-1]
    text = " ".join(f"In {year}, the old mayor of the town sold {year % 7} boats." for year in range(1300))
    assert len(text) > 60_000
    assert change(name, text, 0.5).text != text


@every_noise
def test_english_prose_is_noised_at_every_level(name: str) -> None:
    for text in stories(name):
        for strength, _ in registry.noise(name).levels:
            change(name, text, strength, context=BESIDE)


@every_noise
def test_noise_ratios_of_a_graded_noise_ascend_with_its_levels(name: str) -> None:
    noise, seeds = registry.noise(name), range(1 if name == HEAVY else 3)
    ratios = [
        fmean(
            noise_ratio(text, change(name, text, s, seed, BESIDE).text, switching=noise.switching)
            for text in stories(name)
            for seed in seeds
        )
        for s, _ in noise.levels
    ]
    assert all(ratio > 0 for ratio in ratios)
    if noise.graded:
        assert all(a <= b + 1e-9 for a, b in pairwise(ratios)), ratios
        assert ratios[0] < ratios[-1]


@pytest.mark.parametrize("name", [*registry.NOISE_TYPES[:17], HEAVY_TOO])
def test_a_stronger_graded_level_contains_the_weaker_one(name: str) -> None:
    for text in stories(name):
        touched = [_touched(text, change(name, text, s, 5, BESIDE)) for s, _ in registry.noise(name).levels]
        assert all(weaker <= stronger for weaker, stronger in pairwise(touched))


def _touched(text: str, made: Change) -> set[tuple[int, str]]:
    """Return the deleted or replaced characters, except white space, and the places of insertions."""
    gone = {(i, "gone") for e in made.edits for i in range(e.start, e.end) if not text[i].isspace()}
    return gone | {(e.start, "in") for e in made.edits if e.start == e.end}


@every_noise
def test_only_seeded_noises_depend_on_the_seed(name: str) -> None:
    text, seeds = stories(name)[0], range(4 if name == HEAVY else 12)
    made = {change(name, text, at(name, 0), seed, BESIDE).text for seed in seeds}
    assert (len(made) > 1) == registry.noise(name).seeded


@every_noise
def test_an_impossible_strength_is_an_error(name: str) -> None:
    noise = registry.noise(name)
    for strength in (0, -0.1) if noise.graded else (0, -0.1, 0.123456):
        with pytest.raises(ValueError, match=name):
            noise.noised(STORIES[0], strength, 0, BESIDE)


@every_noise
def test_a_missing_source_is_refused_if_needed(name: str) -> None:
    noise: Noise = registry.noise(name)
    if "source" in noise.needs:
        assert reason(name, stories(name)[0], at(name, 0)) == "no source text"
    elif "others" not in noise.needs:
        change(name, stories(name)[0], at(name, 0))


PROSE = st.lists(
    st.sampled_from("the a in to she don't it's went office , . ? house of is was by ( ) “ ” - 市 议 。".split()),
    max_size=30,
).map(
    lambda pieces: (
        "".join(p if p in ",.?)”。-" else f" {p}" for p in pieces).replace("( ", "(").replace("“ ", "“").strip()
    )
)


@given(text=PROSE, level=st.integers(0, 4), seed=st.integers(0, 1000))
def test_no_two_spaces_meet_and_none_stands_before_a_full_stop(text: str, level: int, seed: int) -> None:
    for name in registry.NOISE_TYPES[:10]:
        made = outcome(name, text, at(name, level), seed)
        if isinstance(made, Change):
            for pair in ("  ", " .", " ,"):
                assert (pair in made.text) <= (pair in text), name


def test_the_noise_ratio_is_token_distance_per_original_token() -> None:
    # the / big / cat / . → a / cat / . / . : 1 substitution, 1 deletion, 1 insertion; 4 tokens
    assert noise_ratio("The big cat.", "A cat..") == 3 / 4
    assert noise_ratio("The big cat.", "A cat..", switching=True) == 3 / 4 / 2
    assert noise_ratio("市议会", "议市会") == 2 / 3
    assert noise_ratio("", "two words") == 2
    assert noise_ratio("same", "  same\n") == 0


@given(n=st.integers(0, 30), share=st.floats(0.01, 1), more=st.floats(0.01, 1), seed=SEEDS)
def test_a_larger_share_contains_the_smaller_one(n: int, share: float, more: float, seed: int) -> None:
    weak, strong = (sample_share(range(n), s, Random(seed)) for s in sorted((share, more)))
    assert set(weak) <= set(strong)
    assert strong == sorted(strong)
    assert len(weak) == (max(1, round(min(share, more) * n)) if n else 0)


@given(keys=st.lists(st.integers(0, 4), max_size=12), seed=st.integers(0, 999))
def test_pairs_are_disjoint_different_and_maximal(keys: list[int], seed: int) -> None:
    made = pairs(range(len(keys)), keys.__getitem__, Random(seed))
    places = [place for pair in made for place in pair]
    assert len(places) == len(set(places))
    assert all(keys[a] != keys[b] for a, b in made)
    most = max((keys.count(key) for key in keys), default=0)
    assert len(made) == min(len(keys) // 2, len(keys) - most)


def test_unlike_places_are_paired_only_where_no_two_are_alike() -> None:
    assert like_pairs(["a1", "b2"], str, [lambda w: w[0]], Random(0)) in ([("a1", "b2")], [("b2", "a1")])
    (pair,) = like_pairs(["a1", "a2", "b1", "a3"], str, [lambda w: w[0]], Random(0))
    assert {w[0] for w in pair} == {"a"}


def test_the_other_texts_of_a_set_are_computed_once() -> None:
    seen: list[str] = []

    class Counted(TextPool):
        def __iter__(self) -> Iterator[str]:
            seen.append("all")
            return super().__iter__()

    texts = Counted(("a", "b", "a", " ", "c"))
    context = NoiseContext(None, texts)
    assert [context.others(text) for text in ("a", "b", "c", "d", " ")] == [
        ["b", "c"], ["a", "c"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c"],
    ]  # fmt: skip
    assert len(seen) == 1
    assert NoiseContext(None, ("a", "b")).others("a") == ["b"]
    assert (texts, hash(texts)) == (tuple(texts), hash(tuple(texts)))
