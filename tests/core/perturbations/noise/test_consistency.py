"""Seven of the eight consistency noises, on the example of He et al. 2023 (Table 16) and on sentences with a known result."""

import gzip
import json
from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.english.analysis import ParsedText, parse_text
from core.english.dictionary import NEGATIVE
from core.english.entity_recognition import entities
from core.perturbations.noise.base import NoiseContext, like_pairs, pairs
from core.perturbations.registry import noise
from core.text.edits import Change, Refused
from core.text.sentences import movable_sentences
from tests.paths import DATA

PAPER = "She went to the office in Boston. And she talked to her staff about Paris."
LONG = (
    "The mayor sold the old house in Berlin. Angela Merkel visited the museum in Paris. The soldiers stole a painting of the "
    "king. They crossed the river near London. She wrote a letter to Barack Obama. The farmers bought six horses."
)
SEEDS = range(5)
SWITCHES = ("sentence-switching", "entity-switching", "verb-switching", "noun-switching")
EVERY = (*SWITCHES, "sentence-replacement", "negated-sentences", "generic-entity")
OTHERS = ("It rained all day. The match was called off.", "Bread is cheap! Who buys it?", LONG, PAPER)
SUMMEVAL = DATA / "summeval.jsonl.gz"


def made(name: str, text: str, strength: float = 1.0, seed: int = 0) -> str:
    """The noised text, or the empty text where it is refused."""
    outcome = noise(name).noised(text, strength, seed, NoiseContext(texts=OTHERS))
    return outcome.text if isinstance(outcome, Change) else ""


def reason(name: str, text: str, *others: str) -> str:
    outcome = noise(name).noised(text, 1.0, 0, NoiseContext(texts=others))
    assert isinstance(outcome, Refused)
    return outcome.reason


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in movable_sentences(text)]


def reading(text: str) -> ParsedText:
    found = parse_text(text)
    assert isinstance(found, ParsedText)
    return found


@pytest.mark.parametrize(
    ("name", "noised"),
    [
        ("sentence-switching", "And she talked to her staff about Paris. She went to the office in Boston."),
        ("negated-sentences", "She did not go to the office in Boston. And she did not talk to her staff about Paris."),
        ("generic-entity", "She went to the office in a place. And she talked to her staff about a place."),
        ("entity-switching", "She went to the office in Paris. And she talked to her staff about Boston."),
        ("verb-switching", "She talked to the office in Boston. And she went to her staff about Paris."),
        ("noun-switching", "She went to the staff in Boston. And she talked to her office about Paris."),
    ],
)
def test_the_example_of_the_paper_at_full_strength(name: str, noised: str) -> None:
    assert {made(name, PAPER, seed=seed) for seed in SEEDS} == {noised}


def test_a_weak_negation_of_the_example_negates_one_sentence() -> None:
    assert {made("negated-sentences", PAPER, 0.5, seed) for seed in SEEDS} == {
        "She did not go to the office in Boston. And she talked to her staff about Paris.",
        "She went to the office in Boston. And she did not talk to her staff about Paris.",
    }


@pytest.mark.parametrize("name", EVERY)
def test_a_stronger_level_holds_the_edits_of_the_weaker_one(name: str) -> None:
    kind = noise(name)
    for seed in (0, 1, 2):
        outcomes = [kind.noised(LONG, level.strength, seed, NoiseContext(texts=OTHERS)) for level in kind.levels]
        edits = [set(outcome.edits) for outcome in outcomes if isinstance(outcome, Change)]
        assert len(edits) == len(kind.levels)
        assert all(weaker <= stronger for weaker, stronger in pairwise(edits))
        assert len(edits[0]) < len(edits[-1])


@pytest.mark.parametrize("name", SWITCHES)
def test_switching_moves_words_and_loses_none(name: str) -> None:
    for seed in SEEDS:
        for text in (PAPER, LONG):
            new = made(name, text, seed=seed)
            assert new != text
            assert Counter(new.lower().replace(".", "").split()) == Counter(text.lower().replace(".", "").split())


def test_sentence_switching_keeps_sentences_and_white_space() -> None:
    text = "One.  Two!\n\nThree? \tFour.\n"
    for seed in SEEDS:
        new = made("sentence-switching", text, seed=seed)
        assert sorted(cut(new)) == sorted(cut(text))
        assert "".join(c for c in new if c.isspace()) == "  \n\n \t\n"
        assert sum(a != b for a, b in zip(cut(text), cut(new), strict=True)) == 4


def test_the_share_counts_pairs_of_sentences() -> None:
    # six sentences make three pairs: a quarter of 3 rounds to 1 pair, a half to 2 (banker's rounding of 1.5), the whole to 3
    for strength, moved in ((0.25, 2), (0.5, 4), (1.0, 6)):
        new = made("sentence-switching", LONG, strength)
        assert sum(a != b for a, b in zip(cut(LONG), cut(new), strict=True)) == moved


def test_sentences_of_any_script_change_places() -> None:
    assert made("sentence-switching", "你好。我走了！") == "我走了！你好。"
    assert made("sentence-switching", "यह घर है। वह गया।") == "वह गया। यह घर है।"


@pytest.mark.parametrize("text", ["", " \n", "One sentence.", "Again. Again.", "?"])
def test_fewer_than_two_different_sentences_are_refused(text: str) -> None:
    assert reason("sentence-switching", text) == "fewer than two different sentences"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Smith left. He wept.", ["Mr. Smith left.", "He wept."]),
        ("George W. Bush won. He smiled.", ["George W. Bush won.", "He smiled."]),
        ("He said: “Go. Stay.” She left.", ["He said: “Go. Stay.”", "She left."]),
        ("“Go. Stay.", ["“Go.", "Stay."]),
        ('He said "Go. Stay." Then he left.', ['He said "Go. Stay."', "Then he left."]),
        ("It ends (so. Really.) there. Yes.", ["It ends (so. Really.) there.", "Yes."]),
        ("The 'epidemic . ' Their study", ["The 'epidemic . '", "Their study"]),
        ('He said " Go . " Then he left .', ['He said " Go . "', "Then he left ."]),
        ("Yahoo! is big. So.", ["Yahoo! is big.", "So."]),
        ("all is small. here, too.", ["all is small.", "here, too."]),
        ("He met Dr.\nThen he left.", ["He met Dr.", "Then he left."]),
        ("Her friend , V . Stiviano , left . He wept .", ["Her friend , V . Stiviano , left .", "He wept ."]),
        ("We like plan B . The end .", ["We like plan B .", "The end ."]),
        ("Library No. 3 shut. It was a u.s. Navy store.", ["Library No. 3 shut.", "It was a u.s. Navy store."]),
        ("Becky of st. louis , missouri left . he wept .", ["Becky of st. louis , missouri left .", "he wept ."]),
        ('It was his vision." "Most of us left early. "', ['It was his vision."', '"Most of us left early. "']),
        ("Then came 2016 . well I left .", ["Then came 2016 .", "well I left ."]),
        ("It hurt. ' I 'm wary , ' he said . He left.", ["It hurt.", "' I 'm wary , ' he said .", "He left."]),
        ("It is over. '' The focus is lost . ''", ["It is over.", "'' The focus is lost . ''"]),
        ("He said : `` We won . We left '' . So .", ["He said : `` We won . We left '' .", "So ."]),
        (
            "The players ' side won . ' It 's fine , ' he said .",
            ["The players ' side won .", "' It 's fine , ' he said ."],
        ),
        (
            "He said : ' I went . We slept . ' Then he left .",
            ["He said : ' I went .", "We slept . '", "Then he left ."],
        ),
    ],
)
def test_quotations_and_abbreviations_do_not_split_sentences(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


def test_replacements_are_sentences_of_other_texts() -> None:
    foreign = {sentence for text in OTHERS if text != LONG for sentence in cut(text)}
    for seed in SEEDS:
        assert set(cut(made("sentence-replacement", LONG, seed=seed))) <= foreign
        kept = Counter(sentence in foreign for sentence in cut(made("sentence-replacement", LONG, 0.5, seed)))
        assert kept == {True: 3, False: 3}


def test_a_replacement_is_never_a_sentence_of_the_text() -> None:
    for seed in SEEDS:
        outcome = noise("sentence-replacement").noised(
            "Yes. No.", 1.0, seed, NoiseContext(texts=("Yes. No.", "No. Perhaps. Yes."))
        )
        assert isinstance(outcome, Change)
        assert outcome.text == "Perhaps. Perhaps."


def test_replacement_needs_another_text_with_another_sentence() -> None:
    assert reason("sentence-replacement", PAPER) == "no other text in the set from which to take a sentence"
    assert (
        reason("sentence-replacement", PAPER, PAPER, PAPER) == "no other text in the set from which to take a sentence"
    )
    assert (
        reason("sentence-replacement", "Yes. No.", "No.")
        == "the other texts contain no sentence that differs from those of this text"
    )
    assert reason("sentence-replacement", " ", PAPER) == "no sentence in the text"


def test_a_negative_sentence_loses_its_negation() -> None:
    text = "She never knew the man. The house is old. He did not go. Is it late? Nobody talked to him."
    assert {made("negated-sentences", text, seed=seed) for seed in SEEDS} == {
        "She knew the man. The house is not old. He went. Is it not late? Somebody talked to him."
    }
    assert reason("negated-sentences", "The old house near the river.") == "no finite verb can be negated"


def test_no_sentence_is_negated_twice() -> None:
    for seed in SEEDS:
        new = reading(made("negated-sentences", LONG, seed=seed))
        denials = [sum(new.low(i) in NEGATIVE for i in range(*span)) for span in new.sentences]
        assert denials == [1] * 6
        assert " not " not in made("negated-sentences", new.text, seed=seed)


@pytest.mark.parametrize(
    ("text", "generic"),
    [
        ("The White House is in Washington.", "A place is in a place."),
        ("She went to the White House.", "She went to a place."),
        ("They live in Paris, France.", "They live in a place, a place."),
        ("They met the striker Radamel Falcao.", "They met a person."),
        ("She was with Chelsea manager José Mourinho.", "She was with a person."),
        ("Mr. Smith said it was late.", "A person said it was late."),
        ("She works for the University of Texas.", "She works for an organisation."),
        ("It was read at Boston’s end.", "It was read at a place’s end."),
        ("She saw the house on Monday, 8 May, in Boston.", "She saw the house on Monday, 8 May, in a place."),
        ("“Boston is large,” said Angela Merkel.", "“A place is large,” said a person."),
    ],
)
def test_names_become_generic_with_what_belongs_to_them(text: str, generic: str) -> None:
    assert made("generic-entity", text) == generic


@pytest.mark.parametrize(
    "text",
    [
        "The Boston office is large.",
        "She came on Monday in May.",
        "The Japanese are here.",
        "It has 40 houses.",
        "The London-based bank is large.",
        "Houses are large here.",
    ],
)
def test_dates_nationalities_numbers_and_names_before_nouns_stay(text: str) -> None:
    assert reason("generic-entity", text) == "no name can be replaced by a generic phrase"


def test_a_part_of_a_name_is_of_its_kind() -> None:
    found = reading("Robert Zyltrow came. The men like Zyltrow. They talked to Zyltrow about the Bank of England.")
    assert [(e.words, e.kind) for e in entities(found)] == [
        (("robert", "zyltrow"), "person"),
        (("zyltrow",), "person"),
        (("zyltrow",), "person"),
        (("bank", "of", "england"), "organisation"),
    ]


def test_names_of_a_kind_are_exchanged_first() -> None:
    text = "Angela Merkel left Berlin. Barack Obama is in Paris."
    assert {made("entity-switching", text, seed=seed) for seed in SEEDS} == {
        "Barack Obama left Paris. Angela Merkel is in Berlin."
    }


def test_an_exchanged_name_takes_its_article_along() -> None:
    assert (
        made("entity-switching", "She left Boston. The White House is near.")
        == "She left the White House. Boston is near."
    )


def test_two_mentions_of_one_name_are_not_exchanged() -> None:
    text = "Angela Merkel is here. They know Merkel."
    assert reason("entity-switching", text) == "fewer than two different names of the same certain kind"


def test_words_take_the_letter_case_of_the_place_they_go_to() -> None:
    assert made("verb-switching", "Says she likes the house.") == "Likes she says the house."


def test_auxiliaries_pronouns_and_forms_of_one_word_stay() -> None:
    assert (
        reason("verb-switching", "She has been here and would have been there.")
        == "fewer than two different full verbs of one form"
    )
    assert reason("verb-switching", "She talks and they talked.") == "fewer than two different full verbs of one form"
    assert (
        reason("noun-switching", "Everyone saw the house and something near the houses.")
        == "fewer than two different common nouns"
    )


def test_only_verbs_of_a_form_are_exchanged() -> None:
    text = "She wanted to see him, and he decided to leave her."
    assert {made("verb-switching", text, seed=seed) for seed in SEEDS} == {
        "She decided to leave him, and he wanted to see her."
    }


@pytest.mark.parametrize(
    "text",
    ["市议会周二晚上决定不关闭旧的室内游泳池。", "Der Stadtrat hat beschlossen, das Haus in Berlin nicht zu bauen."],
)
def test_english_noises_refuse_other_languages(text: str) -> None:
    for name in EVERY[1:4] + EVERY[5:]:
        assert "English" in reason(name, text) or "no word" in reason(name, text), name


@given(keys=st.lists(st.integers(0, 4), max_size=12), seed=st.integers(0, 999))
def test_pairs_are_disjoint_different_and_maximal(keys: list[int], seed: int) -> None:
    found = pairs(range(len(keys)), keys.__getitem__, Random(seed))
    places = [place for pair in found for place in pair]
    assert len(places) == len(set(places))
    assert all(keys[a] != keys[b] for a, b in found)
    most = max(Counter(keys).values(), default=0)
    assert len(found) == min(len(keys) // 2, len(keys) - most)


def test_unlike_places_are_paired_only_where_no_two_are_alike() -> None:
    assert like_pairs(["a1", "b2"], str, [lambda w: w[0]], Random(0)) in ([("a1", "b2")], [("b2", "a1")])
    found = like_pairs(["a1", "a2", "b1", "a3"], str, [lambda w: w[0]], Random(0))
    assert len(found) == 1
    assert {w[0] for w in found[0]} == {"a"}


@pytest.mark.skipif(not SUMMEVAL.exists(), reason="shared/data/summeval.jsonl.gz is not here")
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("sentence-switching", 40),
        ("sentence-replacement", 40),
        ("negated-sentences", 38),
        ("generic-entity", 32),
        ("entity-switching", 16),
        ("verb-switching", 35),
        ("noun-switching", 36),
    ],
)
def test_most_news_summaries_can_be_noised(name: str, least: int) -> None:
    texts: dict[str, None] = {}
    with gzip.open(SUMMEVAL, "rt", encoding="utf-8") as lines:
        for line in lines:
            texts[json.loads(line)["references"][0]] = None
            if len(texts) == 40:
                break
    around = NoiseContext(texts=tuple(texts))
    outcomes = [noise(name).noised(text, 1.0, 0, around) for text in texts]
    assert sum(isinstance(outcome, Change) for outcome in outcomes) >= least
