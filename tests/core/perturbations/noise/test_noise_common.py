"""Properties of every noise in the registry."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import UserError
from core.perturbations import registry
from core.perturbations.noise.base import Noise, NoiseContext, TextPool, noise_ratio, sample_share
from core.text.edits import Change, Refused, apply

HEAVY = ("diverge",)
"""Noises that run the bundled weights."""
LIGHT = tuple(name for name in registry.NOISES if name not in HEAVY)
BY_NAME = [*LIGHT, *(pytest.param(name, marks=pytest.mark.models) for name in HEAVY)]
every = pytest.mark.parametrize("name", BY_NAME)

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
Mr. Smith U.S. house houses large and in of on because which ( ) , . ? ! : “ ” ' 's ’s - … was sold said that to win will
\u00a0 \u200d \u200f \u2028 \ud800 😀 👩‍🚀 🇫🇷 é e\u0301 ＡＢ Ünal 市议会 。 ， สวัสดี مرحبا ، ؟ नमस्ते । שלום ... I’ll""".split(
    " "
)
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=24).map(" ".join)
GLUED = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)
ANYTHING = st.text(st.characters(exclude_categories=()), max_size=80)
TEXTS = st.one_of(ANYTHING, SENTENCES, GLUED)
AT, SEEDS = st.integers(0, 4), st.integers(0, 2**40)
NEXT_TO_NOTHING = [
    "",
    " ",
    "\n",
    "Hello",
    "Hello.",
    "?",
    "...",
    "😀",
    "👩‍🚀👩‍🚀",
    "\ud800",
    "\ud800 \udfff",
    "no",
    "7",
    "市",
    "مرحبا بالعالم",
    "a a a a",
]


def stories(name: str) -> tuple[str, ...]:
    return STORIES if name in LIGHT else ("She went to the office in Boston. And she talked to her staff about Paris.",)


def at(noise: Noise, level: int) -> float:
    return noise.levels[min(level, len(noise.levels) - 1)].strength


def check(name: str, text: str, level: int, seed: int) -> None:
    noise = registry.noise(name)
    context = NoiseContext(SOURCE, (*STORIES, text))
    made = noise.noised(text, at(noise, level), seed, context)
    assert noise.noised(text, at(noise, level), seed, context) == made
    if isinstance(made, Refused):
        assert made.reason
        return
    assert made.text != text
    assert made.edits
    assert apply(text, made.edits) == made.text
    assert all(text[e.start : e.end] != e.new for e in made.edits)
    assert all(0 <= e.start <= e.end <= len(text) for e in made.edits)


@given(text=TEXTS, level=AT, seed=SEEDS)
def test_a_change_is_its_edits_and_never_the_original(text: str, level: int, seed: int) -> None:
    for name in LIGHT:  # in one example, because they share the analysis of its text
        check(name, text, level, seed)


@pytest.mark.models
@pytest.mark.parametrize("name", HEAVY)
@settings(max_examples=6, deadline=None)
@given(text=TEXTS, level=AT, seed=SEEDS)
def test_changes_by_a_model_match_their_edits(name: str, text: str, level: int, seed: int) -> None:
    check(name, text, level, seed)


@every
def test_minimal_texts_raise_no_error(name: str) -> None:
    for text in NEXT_TO_NOTHING:
        check(name, text, 0, 0)
        check(name, text, 4, 1)


@every
def test_results_do_not_depend_on_earlier_calls(name: str) -> None:
    noise = registry.noise(name)
    texts = (*stories(name), "Nobody knew the man.")
    forward = [noise.noised(text, at(noise, 2), 3, BESIDE) for text in texts]
    assert [noise.noised(text, at(noise, 2), 3, BESIDE) for text in reversed(texts)] == forward[::-1]


@every
def test_english_prose_is_noised_at_every_level(name: str) -> None:
    noise = registry.noise(name)
    assert all(isinstance(noise.noised(text, s, 0, BESIDE), Change) for text in stories(name) for s, _ in noise.levels)


@every
def test_noise_ratios_of_a_graded_noise_ascend_with_its_levels(name: str) -> None:
    noise = registry.noise(name)
    ratios = [
        fmean(
            noise_ratio(text, _text(noise, text, s, seed), switching=noise.switching)
            for text in stories(name)
            for seed in range(3 if name in LIGHT else 1)
        )
        for s, _ in noise.levels
    ]
    assert all(ratio > 0 for ratio in ratios)
    if noise.graded:
        assert all(a <= b + 1e-9 for a, b in pairwise(ratios)), ratios
        assert ratios[0] < ratios[-1]


@every
def test_a_stronger_graded_level_contains_the_weaker_one(name: str) -> None:
    noise = registry.noise(name)
    if not noise.graded:
        return
    for text in stories(name):
        touched = [_touched(text, noise.noised(text, s, 5, BESIDE)) for s, _ in noise.levels]
        assert all(weaker <= stronger for weaker, stronger in pairwise(touched))


@every
def test_only_seeded_noises_depend_on_the_seed(name: str) -> None:
    noise = registry.noise(name)
    outcomes = {_text(noise, stories(name)[0], at(noise, 0), seed) for seed in range(12 if name in LIGHT else 4)}
    assert (len(outcomes) > 1) == noise.seeded


@every
def test_every_noise_is_fully_declared(name: str) -> None:
    noise = registry.noise(name)
    place = list(registry.NOISES).index(name)
    assert noise.name == name
    assert noise.aspect == ("fluency" if place < 10 else "consistency" if place < 18 else "special")
    assert "" not in (noise.label, noise.help)
    assert noise.version >= 1
    assert noise.levels
    assert len({label for _, label in noise.levels}) == len(noise.levels)
    assert all(strength > 0 and label for strength, label in noise.levels)
    assert all(a.strength < b.strength for a, b in pairwise(noise.levels))
    assert len(noise.levels) >= 3 or not noise.graded
    assert isinstance(noise.models(), str)
    assert noise.switching == ("swap" in name or "switching" in name)


@every
def test_an_impossible_strength_is_an_error(name: str) -> None:
    noise = registry.noise(name)
    for strength in (0, -0.1) if noise.graded else (0, -0.1, 0.123456):
        with pytest.raises(ValueError, match=name):
            noise.noised(STORIES[0], strength, 0, BESIDE)


@every
def test_a_missing_source_is_refused_if_needed(name: str) -> None:
    noise = registry.noise(name)
    if "source" in noise.needs:
        assert noise.noised(stories(name)[0], at(noise, 0)) == Refused("no source text")
    elif "others" not in noise.needs:
        assert isinstance(noise.noised(stories(name)[0], at(noise, 0)), Change)


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


def test_an_unknown_name_suggests_a_similar_one() -> None:
    with pytest.raises(UserError, match="Did you mean truncation"):
        registry.noise("truncatoin")


def _text(noise: Noise, text: str, strength: float, seed: int) -> str:
    made = noise.noised(text, strength, seed, BESIDE)
    assert isinstance(made, Change), made
    return made.text


def _touched(text: str, made: Change | Refused) -> set[tuple[int, str]]:
    """Return the deleted or replaced characters, except white space, and the places of insertions."""
    assert isinstance(made, Change), made
    gone = {(i, "gone") for e in made.edits for i in range(e.start, e.end) if not text[i].isspace()}
    return gone | {(e.start, "in") for e in made.edits if e.start == e.end}


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
