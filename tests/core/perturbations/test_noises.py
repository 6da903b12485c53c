"""Noises on the example of He et al. 2023 (Table 16), on texts with a known result, and on news summaries."""

import gzip
import json
import re
from collections import Counter
from functools import cache

import pytest

from core.english.analysis import ParsedText, parse_text
from core.english.dictionary import NEGATIVE, pos_tags
from core.english.entity_recognition import entities
from core.perturbations.base import NoiseContext, noise_ratio
from core.perturbations.sentences import whole_words
from core.text.edits import Change
from core.text.sentences import movable_sentences
from tests.core.perturbations.made import change, changes, edits, outcome, reason
from tests.paths import DATA

GOLD = "She went to the office."  # 6 tokens: She went to the office .
PAPER = "She went to the office in Boston. And she talked to her staff about Paris."
LONG = (
    "The mayor sold the old house in Berlin. Angela Merkel visited the museum in Paris. The soldiers stole a painting of the "
    "king. They crossed the river near London. She wrote a letter to Barack Obama. The farmers bought six horses."
)
SEEDS = range(5)
OTHERS = NoiseContext(
    texts=("It rained all day. The match was called off.", "Bread is cheap! Who buys it?", LONG, PAPER)
)
SUMMEVAL = DATA / "summeval.jsonl.gz"
real = pytest.mark.skipif(not SUMMEVAL.exists(), reason="shared/data/summeval.jsonl.gz is not here")


@cache
def references() -> tuple[str, ...]:
    with gzip.open(SUMMEVAL, "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line)["references"][0] for line in lines)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in movable_sentences(text)]


def parsed(text: str) -> ParsedText:
    made = parse_text(text)
    assert isinstance(made, ParsedText)
    return made


@pytest.mark.parametrize(
    ("name", "strength", "example", "distance"),
    [
        ("truncation", 0.4, "She went to.", 2),  # 2 of 5 tokens before the final sign: the, office
        ("article-removal", 1.0, "She went to office.", 1),
        ("preposition-removal", 1.0, "She went the office.", 1),
        ("stopword-removal", 1.0, "went office.", 3),  # She, to, the
        ("stopword-removal", 0.5, "She went office.", 2),  # round(0.5 · 3) = 2 of them
        ("verb-lemmatization", 1.0, "She go to the office.", 1),
        ("token-drop", 0.2, "She to the office.", 1),
        ("repeated-token", 0.2, "She went to to the office.", 1),
        ("noised-punctuation", 1.0, "She went to the office,", 1),
        ("local-swap", 0.5, "She to went the office.", 2 / 2),  # two tokens stand wrong: 2 substitutions, halved
        ("middle-swap", 1.0, "To the office she went.", 5 / 2),  # She→To, went→the, to→office, the→she, office→went
    ],
)
def test_the_papers_example_and_its_noise_ratio(name: str, strength: float, example: str, distance: float) -> None:
    assert example in changes(name, GOLD, strength, range(200))
    assert noise_ratio(GOLD, example, switching="swap" in name) == distance / 6


def test_truncation_of_a_tokenised_text_keeps_its_spacing() -> None:
    assert changes("truncation", "She went to the office .", 0.4) == {"She went to ."}
    assert changes("truncation", "She went, then left", 0.5) == {"She went"}
    # 19 characters and a comma: round(9.5) = 10 of them are deleted
    assert changes("truncation", "市议会周二晚上决定，不关闭旧的室内游泳池。", 0.5) == {"市议会周二晚上决定。"}


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("truncation", "Hello.", "only one word"),
        ("truncation", "...", "no word"),
        ("article-removal", "She went to Boston.", "no article"),
        ("preposition-removal", "She went home.", "no preposition"),
        ("stopword-removal", "Cats chase mice.", "no stop word"),
        ("verb-lemmatization", "You can see the house.", "no inflected verb"),
        ("token-drop", "Hello.", "only one word"),
        ("token-drop", "?!", "no word"),
        ("repeated-token", "?!", "no word"),
        ("local-swap", "ho ho ho, Hello", "no two different neighbouring words"),
        ("middle-swap", "Hello. No no.", "no sentence that can be cut"),
        ("noised-punctuation", "She went at 12:30 with 3.5 km left...", "no , . ? !"),
        ("sentence-switching", " \n", "fewer than two different sentences"),
        ("sentence-replacement", PAPER, "no other text in the set from which to take a sentence"),
        ("sentence-replacement", " ", "no sentence in the text"),
        ("negated-sentences", "The old house near the river.", "no finite verb can be negated"),
        ("generic-entity", "The Boston office is large.", "no name can be replaced by a generic phrase"),
        ("entity-switching", "They know Merkel.", "fewer than two different names of the same certain kind"),
        ("verb-switching", "She talks and they talked.", "fewer than two different full verbs of one form"),
        ("noun-switching", "Everyone saw the house.", "fewer than two different common nouns"),
    ],
)
def test_texts_with_nothing_to_change_are_refused(name: str, text: str, why: str) -> None:
    assert reason(name, text).startswith(why)


@pytest.mark.parametrize("name", ["sentence-switching", "entity-switching", "verb-switching", "noun-switching"])
def test_switching_moves_words_and_loses_none(name: str) -> None:
    for text in (PAPER, LONG):
        for new in changes(name, text, seeds=SEEDS):
            assert new != text
            assert Counter(new.lower().replace(".", "").split()) == Counter(text.lower().replace(".", "").split())


def test_sentence_switching_keeps_sentences_and_white_space() -> None:
    text = "One.  Two!\n\nThree? \tFour.\n"
    for new in changes("sentence-switching", text):
        assert sorted(sentences(new)) == sorted(sentences(text))
        assert "".join(c for c in new if c.isspace()) == "  \n\n \t\n"
        assert sum(a != b for a, b in zip(sentences(text), sentences(new), strict=True)) == 4


def test_the_share_counts_pairs_of_sentences() -> None:
    # six sentences make three pairs: a quarter of 3 rounds to 1 pair, a half to 2 (banker's rounding of 1.5), the whole to 3
    for strength, moved in ((0.25, 2), (0.5, 4), (1.0, 6)):
        new = change("sentence-switching", LONG, strength).text
        assert sum(a != b for a, b in zip(sentences(LONG), sentences(new), strict=True)) == moved


def test_replacements_are_sentences_of_other_texts() -> None:
    foreign = {sentence for text in OTHERS.texts if text != LONG for sentence in sentences(text)}
    for seed in SEEDS:
        whole, half = (change("sentence-replacement", LONG, s, seed, OTHERS).text for s in (1.0, 0.5))
        assert set(sentences(whole)) <= foreign
        assert Counter(sentence in foreign for sentence in sentences(half)) == {True: 3, False: 3}
        around = NoiseContext(texts=("Yes. No.", "No. Perhaps. Yes."))
        assert change("sentence-replacement", "Yes. No.", 1.0, seed, around).text == "Perhaps. Perhaps."
    why = "the other texts contain no sentence that differs from those of this text"
    assert reason("sentence-replacement", "Yes. No.", 1.0, NoiseContext(texts=("No.",))) == why


def test_no_sentence_is_negated_twice() -> None:
    new = parsed(change("negated-sentences", LONG).text)
    assert [sum(new.low(i) in NEGATIVE for i in range(*span)) for span in new.sentences] == [1] * 6
    assert " not " not in change("negated-sentences", new.text).text


def test_the_strength_is_a_share_of_all_sentences() -> None:
    text = "He ran. She sang. They left. It rained. A house. Two cars. The end. The sea."
    assert [change("negated-sentences", text, s).text.count(" not ") for s in (0.25, 0.5, 1.0)] == [2, 4, 4]


def test_a_part_of_a_name_is_of_its_kind() -> None:
    text = parsed("Robert Zyltrow came. The men like Zyltrow. They talked to Zyltrow about the Bank of England.")
    assert [(e.words, e.kind) for e in entities(text)] == [
        (("robert", "zyltrow"), "person"),
        (("zyltrow",), "person"),
        (("zyltrow",), "person"),
        (("bank", "of", "england"), "organisation"),
    ]


@pytest.mark.parametrize("name", ["generic-entity", "entity-switching"])
def test_words_in_capitals_for_emphasis_are_not_names(name: str) -> None:
    for text in (
        "For all the latest Premier League news , CLICK HERE .", "To read more, CLICK HERE.",
        "CLICK HERE for all the latest news .", "Please SHARE this VIDEO now .", "The NEW rules are BAD for them .",
    ):  # fmt: skip
        text += " Angela Merkel met Barack Obama there ."
        changed = {text[edit.start : edit.end] for seed in range(6) for edit in edits(name, text, seed=seed)}
        assert "Angela Merkel" in changed
        assert not any(word.isupper() for part in changed for word in part.split())


def test_a_football_club_is_an_organisation() -> None:
    for frame in ("{} beat their rivals in the last match.", "The striker signed for {} last season."):
        for club in "Manchester United|Leicester City|Real Madrid|Tottenham Hotspur|Juventus|Crystal Palace".split("|"):
            new = change("generic-entity", frame.format(club)).text
            assert new.lower() == frame.format("an organisation").lower()


def test_a_kind_that_is_not_certain_is_never_a_person_or_place() -> None:
    for text in (
        "They liked the Blues.", "They read the General Theory at school.", "It was built at the port for the MS Ryndam.",
        "England beat Italy in the final match.", "The driver bought a Ferrari.", "Liverpool won the cup.",
    ):  # fmt: skip
        assert not [new for new in changes("generic-entity", text) if re.search("a person|a place", new, re.IGNORECASE)]
    text = "The Liverpool vice-captain Jordan Henderson met Angela Merkel."
    assert "-a person" not in change("generic-entity", text).text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The fish 's fin ; they ca n't swim .", ["The", "fish 's", "fin", "they", "ca n't", "swim"]),
        ("The u.s. planes at 3 a.m. in the U.S., stuff.co.nz", "The u.s. planes at 3 a.m. in the U.S. stuff.co.nz".split()),
        ("He left the U.S. She stayed.", ["He", "left", "the", "U.S", "She", "stayed"]),
        ("It ended.Then he met Mr. Smith", ["It", "ended", "Then", "he", "met", "Mr.", "Smith"]),
        ("A 2-1 win ( 3 - 0 ) in the semi-final", ["A", "2-1", "win", "3 - 0", "in", "the", "semi-final"]),
        ("$ 12 or $5 , # 400million and 9 %", ["$ 12", "or", "$5", "# 400million", "and", "9 %"]),
        ("the players ' side of the '90s", ["the", "players '", "side", "of", "the", "'90s"]),
        ("a ' rabbit in headlights ' after all", ["a", "rabbit", "in", "headlights", "after", "all"]),
        ("he was ' a man '", ["he", "was", "a", "man"]),
        ("增长100%，上海-北京", [*"增长", "100%", *"上海北京"]),
    ],
)  # fmt: skip
def test_words_are_whole(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in whole_words(text)] == words


@real
@pytest.mark.parametrize(
    ("name", "part", "texts", "least"),
    [("noun-switching", "NOUN", slice(None, None, 2), 150), ("verb-switching", "VERB", slice(None), 200)],
)
def test_switched_words_are_of_their_kind_in_the_dictionary(name: str, part: str, texts: slice, least: int) -> None:
    words = {
        text[e.start : e.end].lower()
        for text in references()[texts]
        for seed in range(6)
        for e in edits(name, text, seed=seed)
    }
    assert len(words) > least
    assert [word for word in words if part not in pos_tags(word)] == []


_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|would|can|could|should|must|does|did|says|said|wants|scored|claims)\b",
    re.I,
)


@real
def test_nearly_every_real_sentence_with_a_verb_is_negated() -> None:
    finite = negated = 0
    for text in references():
        changed = edits("negated-sentences", text)
        for start, end in movable_sentences(text):
            if _FINITE.search(text, start, end):
                finite += 1
                negated += any(start <= edit.start < end for edit in changed)
    assert finite > 200
    assert negated / finite >= 0.92


@real
def test_most_news_summaries_can_be_noised() -> None:
    least = {
        "sentence-switching": 40, "sentence-replacement": 40, "negated-sentences": 38, "generic-entity": 32,
        "entity-switching": 16, "verb-switching": 35, "noun-switching": 36, "verb-lemmatization": 39, "stopword-removal": 39,
    }  # fmt: skip
    texts = references()[:40]
    around = NoiseContext(texts=texts)
    made = {name: sum(isinstance(outcome(name, text, context=around), Change) for text in texts) for name in least}
    assert {name: n for name, n in made.items() if n < least[name]} == {}
