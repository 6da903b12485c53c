"""Each phenomenon on sentences with a known perturbation."""

import re

import pytest

from core.perturbations import registry
from core.text.edits import Change, Refused

SEEDS = range(12)


def every(name: str, text: str) -> set[str]:
    """Return all texts made under a dozen seeds; empty if refused."""
    made = [registry.load_perturbation(name).perturb(text, seed) for seed in SEEDS]
    return {m.text for m in made if isinstance(m, Change)}


def some(name: str, text: str) -> set[str]:
    """Return the same for a text that must not be refused."""
    made = every(name, text)
    assert made
    return made


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("Emerging economies will remain weak.", "Emerging economies will not remain weak."),
        ("The house is old.", "The house is not old."),
        ("She knows him.", "She does not know him."),
        ("They went to the museum.", "They did not go to the museum."),
        ("We like the song.", "We do not like the song."),
        ("The city has a museum.", "The city does not have a museum."),
        ("The city has built a museum.", "The city has not built a museum."),
        ("He had to leave.", "He did not have to leave."),
        ("They can go home.", "They cannot go home."),
        ("They may leave the city.", "They may not leave the city."),
        ("We’re in the house.", "We’re not in the house."),
        ("This did not happen in the city.", "This happened in the city."),
        ("He doesn’t know the man.", "He knows the man."),
        ("They can't see the house.", "They can see the house."),
        ("She won't sell the car.", "She will sell the car."),
        ("Do not forget the keys.", "Forget the keys."),
        ("We cannot see the house.", "We can see the house."),
        ("The man is not in the house.", "The man is in the house."),
        ("She never knew the man.", "She knew the man."),
        ("He did not see anything.", "He saw something."),
        ("' It did n't rain in the city .", "' It rained in the city ."),
    ],
)
def test_negation_comes_and_goes_with_its_auxiliary(text: str, negated: str) -> None:
    assert every("negation", text) == {negated}


@pytest.mark.parametrize(
    "text",
    [
        "No lesson is easy.",
        "She decided not to close the pool.",
        "Is the house old?",
        "The first artist given a prize in the city.",
        "He is not only rich but famous.",
        "Not one of them is here, isn't it?",
    ],
)
def test_negation_is_refused_if_it_would_be_ungrammatical(text: str) -> None:
    assert every("negation", text) == set()


def test_numbers_keep_their_shape() -> None:
    text = "The 1,500 men paid $4.25 each, 30% of 120 euros, on the 3rd floor."
    made = every("number", text)
    assert made
    shape = r"The [1-9],\d00 men paid \$\d\.\d\d each, [1-9]\d% of [1-9]\d0 euros, on the \d+(st|nd|rd|th) floor\."
    for new in made:
        assert re.fullmatch(shape, new)
        for old in ("1,500", "4.25", "30%", "120", "3rd"):
            assert f" {old}" not in new.replace("$", " ")


def test_dates_stay_unless_a_year_is_the_only_number() -> None:
    for new in some("number", "On 8 May 1945 the city had 40 bridges."):
        assert "8 May 1945" in new
    years = {int(new[-5:-1]) for new in some("number", "He left the city in 1989.")}
    assert years
    assert all(1959 <= year <= 1999 and year != 1989 for year in years)


@pytest.mark.parametrize("year", ["1000", "1099", "2000", "2026", "2040", "2080", "2099", "1900s", "2090s"])
def test_any_year_has_another(year: str) -> None:
    made = every("number", f"The city was built in the {year}.")
    assert made
    assert all(re.fullmatch(r"The city was built in the \d{4}s?\.", new) for new in made)


def test_numbers_written_out_stay_written_out() -> None:
    pattern = r"The \w+ men saw (two|three|four|five|six|seven|eight|nine) million birds and (ten|\w+teen|eleven|twelve) cats\."
    for new in some("number", "The seven men saw one million birds and twelve cats."):
        assert re.fullmatch(pattern, new)
        assert "seven men" not in new
        assert "one" not in new
        assert "twelve" not in new


@pytest.mark.parametrize(
    "text", ["The G20 met in the city.", "He has 1 house.", "The F-16 is a plane.", "It is one of them."]
)
def test_numbers_in_names_and_single_things_are_refused(text: str) -> None:
    assert every("number", text) == set()


def test_a_name_becomes_another_of_its_kind_wherever_it_stands() -> None:
    from core.english.entity_kinds import CITIES, COUNTRIES, MEN, SURNAMES

    for new in some("name", "Berlin is large. They like Berlin."):
        found = re.fullmatch(r"(\w+) is large\. They like (\w+)\.", new)
        assert found
        assert found[1] == found[2] != "Berlin"
        assert found[1] in CITIES
    for new in some("name", "The trade with France is free."):
        assert new.split()[4 - 1] in COUNTRIES
    people = some("name", "Last week Tony Blair was in the city.")
    assert any("Tony" not in new for new in people)
    for new in people:
        first, last = new.split()[2:4]
        assert (first in MEN and last == "Blair") or (first == "Tony" and last in SURNAMES)


@pytest.mark.parametrize(
    "text", ["The Berlin Wall fell in the city.", "The New York Times is a newspaper.", "We met in the house."]
)
def test_part_of_a_longer_name_is_no_name(text: str) -> None:
    assert every("name", text) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He said he likes his house.", {"She said she likes her house.", "They said they like their house."}),
        ("We must not give in to the lie.", {"They must not give in to the lie."}),
        ("They are in the city with their dog.", {
            "We are in the city with our dog.", "He is in the city with his dog.", "She is in the city with her dog."}),
        ("I am in the city.", {"We are in the city.", "They are in the city."}),
        ("He saw her house and gave her the key.", {
            "She saw his house and gave him the key.", "She saw their house and gave them the key.",
            "They saw his house and gave him the key.", "They saw their house and gave them the key."}),
    ],
)  # fmt: skip
def test_pronouns_keep_their_case_and_the_verb_follows(text: str, expected: set[str]) -> None:
    made = every("pronoun", text)
    assert made
    assert made <= expected


@pytest.mark.parametrize("text", ["They are teachers in the city.", "One of them is old.", "They both know the man."])
def test_pronouns_that_must_be_plural_stay_plural(text: str) -> None:
    assert every("pronoun", text) == {text.replace("They", "We").replace("them", "us")}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("adjective", "This is a new house.", "This is an old house."),
        ("adjective", "The prices are higher.", "The prices are lower."),
        ("noun", "The problem is old.", "The solution is old."),
        ("noun", "The mothers are old.", "The fathers are old."),
        ("verb", "The town council sold the pool.", "The town council bought the pool."),
        ("verb", "The pool was closed by the man in March.", "The pool was opened by the man in March."),
        ("verb", "He refused to leave the house.", "He agreed to leave the house."),
        ("verb", "Prices are rising in the city.", "Prices are falling in the city."),
        ("agreement", "He likes dogs.", "He like dogs."),
        ("agreement", "The men were old and the house was too.", "The men was old and the house were too."),
        ("agreement", "They have seen the man.", "They has seen the man."),
    ],
)
def test_mismatch_takes_the_opposite_in_the_same_form(name: str, text: str, expected: str) -> None:
    assert every(name, text) == {expected}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("agreement", "If he was rich, he would leave."),
        ("agreement", "The police have the man."),
        ("adjective", "Many people have their own car."),
        ("noun", "In fact, it is of course so."),
        ("verb", "She is in the city."),
        ("addition", "The price is high."),
    ],
)
def test_uncertain_changes_are_refused(name: str, text: str) -> None:
    assert every(name, text) == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In recent years, the city has grown by half.", {"The city has grown by half."}),
        ("The man, who is rich, has sold the house.", {"The man has sold the house."}),
        ("The city (in the north) is as old as Rome.", {"The city is as old as Rome."}),
        ("It was an expensive house.", {"It was a house."}),
        ("The men sold the house in Rome because it was raining.", {"The men sold the house in Rome."}),
    ],
)
def test_omission_leaves_a_sentence(text: str, expected: set[str]) -> None:
    assert every("omission", text) == expected


def test_addition_joins_a_noun_under_the_same_determiner() -> None:
    for new in some("addition", "She bought a bridge in the city."):
        assert re.fullmatch(r"She bought a bridge(?: and an? \w+)? in the city(?: and the \w+)?\.", new)
        assert not re.search(r"\ba [aeio]|\ban [^aeiouh]", new)


def test_a_typo_swaps_two_letters_inside_one_word() -> None:
    for new in some("typo", "worldwide prices"):
        assert sorted(new) == sorted("worldwide prices")
        assert sum(a != b for a, b in zip(new, "worldwide prices", strict=True)) == 2
    assert isinstance(registry.load_perturbation("typo").perturb("a be the aaaa", 0), Refused)


def test_jumble_keeps_every_word_and_all_punctuation() -> None:
    text = "Of course, the fall of the house is near."
    for new in some("jumble", text):
        assert sorted(re.findall(r"\w+", new)) == sorted(re.findall(r"\w+", text))
        assert re.sub(r"\w", "", new) == re.sub(r"\w", "", text)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("The house cost $1,250.50 in the end.", r"The house cost \$[1-9],\d{3}\.\d\d in the end\."),
        ("The early 1970's were hard.", r"The early 19[0-9]0's were hard\."),
        ("The early 1930’s were hard.", r"The early 19[0-9]0’s were hard\."),
        ("1. The man has 3 cars.", r"1\. The man has [2-9] cars\."),
        ("They left.\n(2) The man has 3 cars.", r"They left\.\n\(2\) The man has [2-9] cars\."),
        ("In 5 years he paid USD 50 for it.", r"In [2-9] years he paid USD [1-9]\d for it\."),
    ],
)
def test_numbers_keep_commas_decades_and_list_points(text: str, pattern: str) -> None:
    made = some("number", text)
    assert text not in made
    assert all(re.fullmatch(pattern, new) for new in made)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("They will pay over the next 20 to 40 years.", r"next (\d\d) to (\d\d) years"),
        ("Between 5 and 6 people came to the party.", r"Between (\d) and (\d) people"),
        ("Of these, 4 of the 5 men are here.", r"these, (\d) of the (\d) men"),
    ],
)
def test_the_lower_of_two_numbers_stays_the_lower(text: str, pattern: str) -> None:
    for new in some("number", text):
        found = re.search(pattern, new)
        assert found
        assert int(found[1]) < int(found[2])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("number", f"There were {'1' * 5000} people in the house."),
        ("number", f"It cost 3.{'1' * 5000} dollars in the end."),
        *(
            ("number", text)
            for text in (
                "The G 20 leaders met in the city.",
                "Apollo 11 landed on the moon.",
                "Boeing 737 planes and COVID 19 were in the news.",
                "Group of Seven leaders met the Big Three in the Six Day War.",
                "The Group of 20 met in the city.",
            )
        ),
        *(
            ("negation", text)
            for text in (
                "Any dictator could take pride in this.",
                "Anyone can do this at home.",
                "He has ever been the best of them.",
                "So how many more refugees are there in the city.",
                "The question of how many more men are in the house.",
            )
        ),
        *(
            ("agreement", text)
            for text in (
                "None of them are ready for the exam.",
                "The majority of the voters were against it.",
                "A range of measures have been proposed by the government.",
                "A total of 195 countries have signed it.",
                "Neither of the two proposals is good enough.",
                "The team of experts has found it.",
                "Half of the voters were there.",
                "Most of the water is in the house.",
                "More than one of the suspects was released.",
                "Bread and butter is on the table.",
                "Either he or they are in the house.",
                "Ten years is a long time for them.",
                "The United States is ready to act.",
                "The reform (and others) has been passed in the house.",
                "A couple of men like the house.",
            )
        ),
        ("verb", "He encouraged us to work."),
        ("verb", "They will transform it into gold."),
        ("adjective", "To be sure, he is there."),
        ("adjective", "James grows it in a spare bedroom of the house."),
        ("pronoun", "We Europeans are one."),
        ("pronoun", "It is for us voters to tell."),
        ("omission", "It was often voiced in the United Nations, founded in 1945."),
        ("omission", "It was a house built in 1945."),
        ("addition", "He inherits from his predecessor, Mauricio Macri."),
    ],
)
def test_texts_without_a_certain_change_are_refused(name: str, text: str) -> None:
    assert every(name, text) == set()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("negation", "They had rid themselves of it.", "They had not rid themselves of it."),
        ("negation", "They had put it away.", "They had not put it away."),
        ("negation", "He had let them go.", "He had not let them go."),
        ("negation", "There are men in the house.", "There are no men in the house."),
        ("negation", "There is a cat on the mat.", "There is not a cat on the mat."),
        ("agreement", "The men in the city are old.", "The men in the city is old."),
        ("agreement", "John and Mary are in the house.", "John and Mary is in the house."),
        ("negation", "They know how many more men are there.", "They do not know how many more men are there."),
        ("omission", "The man was elected in 1945.", "The man was elected."),
    ],
)
def test_cases_close_to_refused_ones_are_changed(name: str, text: str, expected: str) -> None:
    assert every(name, text) == {expected}


def test_an_import_that_is_a_verb_is_no_noun() -> None:
    made = some("noun", "The US alone imports 1.5 million barrels a day.")
    assert all("imports" in new for new in made)


def test_only_certain_person_nouns_and_additions_are_made() -> None:
    assert not any("politician" in new for new in some("noun", "The leaders are here."))
    assert every("verb", "They joined the club in the city.") == set()


def test_a_typo_makes_no_other_english_word() -> None:
    assert every("typo", "from") == set()
    for word in ("trial", "diary", "causal", "united"):
        assert some("typo", word).isdisjoint({"trail", "dairy", "casual", "untied"})


def test_jumble_keeps_a_clitic_at_its_number() -> None:
    made = some("jumble", "the 1930’s and the 1960's were good")
    assert all({"1930’s", "1960's"} <= set(new.split()) for new in made)
    assert all(" 's" in new for new in some("jumble", "Iran 's men saw the old house"))


def test_jumble_keeps_joined_words_together() -> None:
    text = "The $20 talks of rich-country leaders (face-to-face) rose 5% in trade — slowly."
    made = some("jumble", text)
    for new in made:
        assert sorted(re.findall(r"[^\s()—]+", new.rstrip("."))) == sorted(re.findall(r"[^\s()—]+", text.rstrip(".")))
        assert (new.count("("), new.count(" — "), new[-1]) == (1, 1, ".")


def test_a_possessive_before_way_stays() -> None:
    assert isinstance(
        registry.load_perturbation("pronoun").perturb("It takes long for changes to work their way through Congress."),
        Refused,
    )


def test_a_name_before_a_bare_apostrophe_stays() -> None:
    for new in some("name", "It triumphed with Charles Maurras’ movement and its war in the old house."):
        assert "Maurras’" in new


def test_a_new_ordinal_has_the_ending_of_its_number() -> None:
    endings = dict.fromkeys(range(10, 31), "th") | {21: "st", 22: "nd", 23: "rd"}
    made = {registry.load_perturbation("number").perturb("They live on the 14th floor.", seed) for seed in range(60)}
    ordinals = {m.text.split()[4] for m in made if isinstance(m, Change)}
    assert {"11th", "12th", "13th", "22nd"} <= ordinals
    assert ordinals <= {f"{n}{ending}" for n, ending in endings.items()}
