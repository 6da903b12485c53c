"""Noises must choose the right words: certain nouns, names of the right kind, verbs that carry tense."""

import gzip
import json
import re
from functools import cache

import pytest

from core.english.dictionary import pos_tags
from core.perturbations.noise.base import NoiseContext
from core.perturbations.registry import noise
from core.text.edits import Change, Edit, Refused
from core.text.sentences import movable_sentences
from tests.paths import DATA

SUMMEVAL = DATA / "summeval.jsonl.gz"
real = pytest.mark.skipif(not SUMMEVAL.exists(), reason="shared/data/summeval.jsonl.gz is not here")


@cache
def references() -> tuple[str, ...]:
    with gzip.open(SUMMEVAL, "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line)["references"][0] for line in lines)


def noised(name: str, text: str, seed: int = 0) -> str:
    outcome = noise(name).noised(text, 1.0, seed, NoiseContext(texts=references() if SUMMEVAL.exists() else ()))
    return outcome.text if isinstance(outcome, Change) else text


def edits(name: str, text: str, seed: int = 0) -> tuple[Edit, ...]:
    outcome = noise(name).noised(text, 1.0, seed)
    return outcome.edits if isinstance(outcome, Change) else ()


def touched(name: str, text: str) -> set[str]:
    return {text[e.start : e.end].lower() for seed in range(6) for e in edits(name, text, seed)}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("He came first in the race and his brother was fourth in the table after a bad start.", "first"),
        ("He came first in the race and his brother was fourth in the table after a bad start.", "fourth"),
        ("The babe and the other left the house before the storm.", "other"),
        ("They count the votes in every city after the election.", "count"),
        ("A third of the players and two thirds of the staff left the club.", "third"),
        ("Hundreds of fans met the team at the airport.", "hundreds"),
        ("The obese are at risk, the doctor told the patient.", "obese"),
        ("Nobody in the town knew anything about the accident.", "anything"),
        ("He was including the driver in the list of suspects.", "including"),
        ("The boy can not swim the lake, his mother said.", "can"),
        ("Tomorrow the mayor will open the bridge over the river.", "tomorrow"),
    ],
)
def test_only_nouns_are_switched_as_nouns(text: str, word: str) -> None:
    assert word not in touched("noun-switching", text)
    assert touched("noun-switching", text)


@real
def test_switched_nouns_are_nouns_by_the_dictionary() -> None:
    words = {word for text in references()[::2] for word in touched("noun-switching", text)}
    assert len(words) > 150
    assert [word for word in words if "NOUN" not in pos_tags(word)] == []


@real
def test_switched_verbs_are_verbs_by_the_dictionary() -> None:
    words = {word for text in references() for word in touched("verb-switching", text)}
    assert len(words) > 200
    assert [word for word in words if "VERB" not in pos_tags(word)] == []


@pytest.mark.parametrize(
    "text",
    [
        "For all the latest Premier League news , CLICK HERE . {} met {} there .",
        "To read more, CLICK HERE. {} met {} there.",
        "CLICK HERE for all the latest news . {} met {} there .",
        "Please SHARE this VIDEO now . {} met {} there .",
        "The NEW rules are BAD for them . {} met {} there .",
    ],
)
@pytest.mark.parametrize("name", ["generic-entity", "entity-switching"])
def test_words_in_capitals_for_emphasis_are_not_names(name: str, text: str) -> None:
    text = text.format("Angela Merkel", "Barack Obama")
    changed = {text[edit.start : edit.end] for seed in range(6) for edit in edits(name, text, seed)}
    assert "Angela Merkel" in changed
    assert not any(word.isupper() for part in changed for word in part.split())


@pytest.mark.parametrize(
    "club", ["Manchester United", "Leicester City", "Real Madrid", "Tottenham Hotspur", "Juventus", "Crystal Palace"]
)
@pytest.mark.parametrize("frame", ["{} beat their rivals in the last match.", "The striker signed for {} last season."])
def test_a_football_club_is_an_organisation(club: str, frame: str) -> None:
    assert noised("generic-entity", frame.format(club)).lower() == frame.format("an organisation").lower()


@pytest.mark.parametrize(
    "text",
    [
        "They liked the Blues.",
        "They read the General Theory at school.",
        "It was built at the port for the MS Ryndam.",
        "England beat Italy in the final match.",
        "The driver bought a Ferrari.",
        "Liverpool won the cup.",
    ],
)
def test_a_kind_that_is_not_certain_is_never_a_person_or_place(text: str) -> None:
    new = noised("generic-entity", text).lower()
    assert "a person" not in new
    assert "a place" not in new


def test_a_title_after_a_hyphen_keeps_its_name() -> None:
    assert "-a person" not in noised("generic-entity", "The Liverpool vice-captain Jordan Henderson met Angela Merkel.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She sings.", "She does not sing."),
        ("They found the boy.", "They did not find the boy."),
        ("He left home and saw a film.", "He did not leave home and saw a film."),
        ("They have two cars.", "They do not have two cars."),
        ("He had to leave.", "He did not have to leave."),
        ("I 'm happy .", "I 'm not happy ."),
        ("They 've been taken to hospital .", "They 've not been taken to hospital ."),
        ("He can swim.", "He cannot swim."),
        ("He will also be there.", "He will also not be there."),
        ("He almost won.", "He did not almost win."),
        ("There was evidence.", "There was no evidence."),
        ("There were three men.", "There were not three men."),
        ("Did he go home?", "Did he not go home?"),
        ("Is it late?", "Is it not late?"),
        ("Click on the picture.", "Do not click on the picture."),
        ("Says he is happy at the club .", "Says he is not happy at the club ."),
        ('"The house is old," said the man.', '"The house is not old," said the man.'),
        ("He did n't know it .", "He knew it ."),
        ("She doesn't have any money.", "She has some money."),
        ("He cannot swim.", "He can swim."),
        ("They may leave the house.", "They may not leave the house."),
        ("They won't come.", "They will come."),
        ("He has never been there.", "He has been there."),
        ("Nobody was hurt.", "Somebody was hurt."),
        ("No one was hurt .", "Someone was hurt ."),
        ("He no longer works here.", "He still works here."),
        ("There was no water.", "There was some water."),
        ("He has no cars.", "He has some cars."),
        ("Do not touch it.", "Touch it."),
        ("World No 1 Williams won the match.", "World No 1 Williams did not win the match."),
        ("The whale, Varvara, swam to Mexico.", "The whale, Varvara, did not swim to Mexico."),
    ],
)
def test_every_shape_of_sentence_is_negated(text: str, expected: str) -> None:
    assert noised("negated-sentences", text) == expected


@pytest.mark.parametrize(
    "text",
    ["Napoli without a win for five matches .", "Man found in the old house .", "A group believed to be armed ."],
)
def test_a_sentence_without_a_finite_verb_is_refused(text: str) -> None:
    assert noise("negated-sentences").noised(text, 1.0) == Refused("no finite verb can be negated")


_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|would|can|could|should|must|does|did|says|said|wants|scored|claims)\b",
    re.I,
)


@real
def test_nearly_every_real_sentence_with_a_verb_is_negated() -> None:
    found = negated = 0
    for text in references():
        changed = edits("negated-sentences", text)
        for start, end in movable_sentences(text):
            if _FINITE.search(text, start, end):
                found += 1
                negated += any(start <= edit.start < end for edit in changed)
    assert found > 200
    assert negated / found >= 0.92


@real
@pytest.mark.extended
@pytest.mark.parametrize("name", ["negated-sentences", "noun-switching", "verb-lemmatization", "stopword-removal"])
def test_hardly_a_real_summary_is_refused(name: str) -> None:
    outcomes = [noise(name).noised(text, 1.0) for text in references()]
    refused = [outcome.reason for outcome in outcomes if isinstance(outcome, Refused)]
    assert len(refused) <= (0.1 if name == "noun-switching" else 0.02) * len(outcomes)
    assert all(refused)


def test_the_strength_is_a_share_of_all_sentences() -> None:
    text = "He ran. She sang. They left. It rained. A house. Two cars. The end. The sea."
    made = [noise("negated-sentences").noised(text, s) for s in (0.25, 0.5, 1.0)]
    assert [m.text.count(" not ") if isinstance(m, Change) else 0 for m in made] == [2, 4, 4]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("He likes it like a child likes a round of golf.", "like"),
        ("They gave up the house in the town.", "up"),
        ("He wanted to win the match for the club.", "to"),
        ("He would have been better off staying in Monaco.", "off"),
        ("They had to wait in the house before talk returns to the team.", "before"),
        ("He was in the house and fit as a fiddle.", "as"),
    ],
)
def test_particles_and_infinitives_keep_their_small_words(text: str, bare: str) -> None:
    gone = {text[e.start : e.end].strip() for e in edits("preposition-removal", text)}
    assert gone
    assert bare == "like" or bare not in gone


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The respected doctor found the lost boy.", "The respected doctor find the lost boy."),
        ("He left, including the dog.", "He leave, including the dog."),
        ("Leaves fell on the meeting room.", "Leaves fall on the meeting room."),
    ],
)
def test_adjectives_and_prepositions_are_no_verbs(text: str, expected: str) -> None:
    assert noised("verb-lemmatization", text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Leicester city host swansea city on saturday and the manager likes the player .",
            {"city", "host", "manager"},
        ),
        ("He rubs the muscles of the fish, and the fish all but cries when the massage is over.", {"cries"}),
        ("Now Lifetime and the history channel told the manager of a threat to the player.", {"history"}),
        ("Merchant's report caused an answer from the player and the manager.", {"merchant"}),
        ("The player met the manager after claims of a cover - up by the driver.", {"cover", "up"}),
        ("The player praised the manager at the end of march.", {"march"}),
        ("The player of the World Cup finals knew the manager.", {"finals"}),
        ("The 14 year old player knew the manager in public.", {"year", "public"}),
        ("The opening goal pleased the player and the manager.", {"opening"}),
        ("The match between the player and the manager has been called a sell out .", {"sell"}),
    ],
)
def test_names_pieces_and_doubtful_words_are_no_nouns(text: str, words: set[str]) -> None:
    assert not words & touched("noun-switching", text)
    assert "saturday" in text or touched("noun-switching", text)


def test_nouns_that_mean_the_same_are_not_exchanged() -> None:
    assert touched("noun-switching", "Experts left the hotel before the match and the game.") <= {
        "hotel",
        "match",
        "game",
    }
    assert not touched("noun-switching", "They praised the game after the match.")


@pytest.mark.parametrize(
    "text",
    [
        "He took the car and has scored a goal.",
        "They attract all people excepting the class chronicling the life.",
        "The fans are disappointed and he was praised.",
        "He praised them, thanks to coach Patrick.",
        "It is about the distorting of facts by allowing them.",
        "Roma beat them and he sold it.",
    ],
)
def test_verbs_of_different_or_uncertain_forms_stay(text: str) -> None:
    assert not touched("verb-switching", text)


def test_past_tense_and_participle_spelled_alike_are_one_form() -> None:
    assert (
        noised("verb-switching", "He praised the goal that Kane has scored.")
        == "He scored the goal that Kane has praised."
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The fires are big, RIA Novosti reports.", "The fires are not big, RIA Novosti reports."),
        (
            "She was unable to move , she said , and was still holding it .",
            "She was not unable to move , she said , and was still holding it .",
        ),
        ("'' It is late , '' they mocked .", "'' It is not late , '' they mocked ."),
        (
            "The focus shows that the committee has n't come far .",
            "The focus does not show that the committee has n't come far .",
        ),
        ("The soldier hastily scrambled to his feet .", "The soldier did not hastily scramble to his feet ."),
        ("He fell when he did n't have money .", "He did not fall when he did n't have money ."),
        (
            "Koeman will remind them the rules ca n't be broken .",
            "Koeman will not remind them the rules ca n't be broken .",
        ),
        ("The team , who were late , played well .", "The team , who were late , did not play well ."),
        (
            "The light had gone on the day before Jackson joined the team .",
            "The light had not gone on the day before Jackson joined the team .",
        ),
        ("The snakes , not to worry , had left .", "The snakes , not to worry , had not left ."),
    ],
)
def test_the_main_clause_is_negated_not_a_subordinate_one(text: str, expected: str) -> None:
    assert noised("negated-sentences", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "There was no whipped cream.",
        "The coach Ze Maria fired on Wednesday after poor run .",
        "Stating that the reports are being examined .",
        "Who did it is a mystery , but the city is aware of it .",
        "Ella , 19 , announced as face of the new campaign .",
        "The boy slipped and fell .",
        "The police immediately pursued and attacked the suspect .",
        "The frequency is not as well studied as others, but it caused some deaths.",
    ],
)
def test_uncertain_negations_are_refused(text: str) -> None:
    assert noise("negated-sentences").noised(text, 1.0) == Refused("no finite verb can be negated")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("They were the result of raging wildfires.", "raging"),
        ("They are disappointed since he left.", "disappointed"),
        ("They attract all people excepting the middle class.", "excepting"),
        ("The boundary between sharing and economy is blurred.", "sharing"),
        ("He saw some limp tackling by the side.", "tackling"),
        ("Downton 's sacking on wednesday has paved the way .", "sacking"),
        ("They were found guilty on all 30 charges related to the bombings .", "related"),
        ("The nests become caked with faeces when they are used .", "caked"),
        ("The men are still missing after the flood.", "missing"),
    ],
)
def test_adjectives_gerunds_and_prepositions_keep_their_form(text: str, kept: str) -> None:
    assert f" {kept}" in noised("verb-lemmatization", text)


def test_a_base_form_has_no_hyphen_that_the_word_lacks() -> None:
    assert noised("verb-lemmatization", "Work was undertaken by them.") == "Work be undertake by them."
