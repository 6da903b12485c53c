"""Perturbations whose results are known up to a choice; `cases.txt` has those that are known exactly."""

import re

import pytest

from core.english.entity_kinds import CITIES, COUNTRIES, MEN, SURNAMES
from tests.core.perturbations.made import changes, reason

PATTERNS = [
    ("The 1,500 men paid $4.25 each, 30% of 120 euros, on the 3rd floor.",
     r"The (?!1,5)[1-9],\d00 men paid \$(?!4\.25)\d\.\d\d each, (?!30)[1-9]\d% of (?!120)[1-9]\d0 euros, on the (?!3rd)\d+(st|nd|rd|th) floor\."),
    ("On 8 May 1945 the city had 40 bridges.", r"On 8 May 1945 the city had (?!40)\d\d bridges\."),
    ("He left the city in 1989.", r"He left the city in (?!1989)19(59|[6-9]\d)\."),
    ("The seven men saw one million birds and twelve cats.",
     r"The (?!seven)\w+ men saw (two|three|four|five|six|seven|eight|nine) million birds and (ten|\w+teen|eleven) cats\."),
    ("The house cost $1,250.50 in the end.", r"The house cost \$[1-9],\d{3}\.\d\d in the end\."),
    ("The early 1970's were hard.", r"The early (?!1970)19[0-9]0's were hard\."),
    ("The early 1930’s were hard.", r"The early (?!1930)19[0-9]0’s were hard\."),
    ("1. The man has 3 cars.", r"1\. The man has (?!3)[2-9] cars\."),
    ("They left.\n(2) The man has 3 cars.", r"They left\.\n\(2\) The man has (?!3)[2-9] cars\."),
    ("In 5 years he paid USD 50 for it.", r"In (?!5)[2-9] years he paid USD (?!50)[1-9]\d for it\."),
    *((f"The city was built in the {year}.", rf"The city was built in the (?!{year})\d{{4}}s?\.")
      for year in ("1000", "1099", "2000", "2026", "2040", "2080", "2099", "1900s", "2090s")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "pattern"), PATTERNS)
def test_numbers_and_years_keep_their_shape(text: str, pattern: str) -> None:
    made = changes("number", text)
    assert made
    assert [new for new in made if not re.fullmatch(pattern, new)] == []


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("They will pay over the next 20 to 40 years.", r"next (\d\d) to (\d\d) years"),
        ("Between 5 and 6 people came to the party.", r"Between (\d) and (\d) people"),
        ("Of these, 4 of the 5 men are here.", r"these, (\d) of the (\d) men"),
    ],
)
def test_the_lower_of_two_numbers_stays_the_lower(text: str, pattern: str) -> None:
    matches = [re.search(pattern, new) for new in changes("number", text)]
    assert matches
    assert all(match and int(match[1]) < int(match[2]) for match in matches)


def test_strings_of_many_digits_are_no_numbers() -> None:
    assert not changes("number", f"There were {'1' * 5000} people in the house.")
    assert not changes("number", f"It cost 3.{'1' * 5000} dollars in the end.")
    assert reason("number", "We left.") == "no number"
    assert reason("number", "Apollo 11 landed on the moon.") == "no number outside dates and names"


def test_a_new_ordinal_has_the_ending_of_its_number() -> None:
    endings = dict.fromkeys(range(10, 31), "th") | {21: "st", 22: "nd", 23: "rd"}
    ordinals = {new.split()[4] for new in changes("number", "They live on the 14th floor.", seeds=range(60))}
    assert {"11th", "12th", "13th", "22nd"} <= ordinals
    assert ordinals <= {f"{n}{ending}" for n, ending in endings.items()}


def test_a_name_becomes_another_of_its_kind_at_every_mention() -> None:
    cities = [re.fullmatch(r"(\w+) is large\. They like \1\.", new) for new in changes("name", "Berlin is large. They like Berlin.")]  # fmt: skip
    assert cities
    assert all(match and match[1] in CITIES and match[1] != "Berlin" for match in cities)
    countries = {new.split()[3] for new in changes("name", "The trade with France is free.")}
    assert countries
    assert countries <= set(COUNTRIES)
    people = {tuple(new.split()[2:4]) for new in changes("name", "Last week Tony Blair was in the city.")}
    assert {first for first, _ in people} > {"Tony"}
    assert all((f in MEN and s == "Blair") or (f == "Tony" and s in SURNAMES) for f, s in people)
    made = changes("name", "It triumphed with Charles Maurras’ movement and its war in the old house.")
    assert made
    assert all("Maurras’" in new for new in made)


def test_an_added_noun_has_the_same_determiner() -> None:
    pattern = r"She bought a bridge(?: and (?:a [^aeio]\w*|an [aeiouh]\w*))? in the city(?: and the \w+)?\."
    made = changes("addition", "She bought a bridge in the city.")
    assert made
    assert all(re.fullmatch(pattern, new) for new in made)


def test_persons_in_the_plural_become_certain_persons() -> None:
    assert not any("politician" in new for new in changes("noun", "The leaders are here."))


def test_a_typo_swaps_two_letters_and_makes_no_other_word() -> None:
    made = changes("typo", "worldwide prices")
    assert made
    for new in made:
        assert sorted(new) == sorted("worldwide prices")
        assert sum(a != b for a, b in zip(new, "worldwide prices", strict=True)) == 2
    assert not changes("typo", "a be the aaaa") | changes("typo", "from")
    for word in ("trial", "diary", "causal", "united"):
        assert changes("typo", word)
        assert changes("typo", word).isdisjoint({"trail", "dairy", "casual", "untied"})


@pytest.mark.parametrize(
    "text",
    [
        "Of course, the fall of the house is near.",
        "the 1930’s and the 1960's were good",
        "The $20 talks of rich-country leaders (face-to-face) rose 5% in trade — slowly.",
    ],
)
def test_jumble_keeps_joined_words_together_and_signs_in_place(text: str) -> None:
    def pieces(text: str) -> tuple[list[str], str]:
        return sorted(re.findall(r"[^\s()—,.]+", text)), re.sub(r"[^()—,.]", "", text)

    made = changes("jumble", text)
    assert made
    assert all(pieces(new) == pieces(text) for new in made)
    assert all(" 's" in new for new in changes("jumble", "Iran 's men saw the old house"))
